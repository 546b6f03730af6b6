#!/bin/sh
# test_mkfs.sh: empty file systems of `coppice mkfs`, with every combination of options, before their judges:
# btrfs check in both modes, the same bytes for the same --uuid and --time, the mirrors; the kernel mounts
# it and writes 1 MiB, check looks at that, and grub-fstest reads it, where there is one. Then, with some of
# them, the kernel works hard: thousands of files, snapshots, deletions, balance, scrub, no space left.
# LONG=1: more sizes, and all of them worked hard. One TAP line a combination.
. "$(dirname "$0")/oracle.sh"
need_kernel "mkfs before its judges"
open_work
. "$oracle/judges.sh"
image=$work/image
head -c 1048576 /dev/urandom > "$work/mebibyte"

uuid=5e8a3c1c-0c1f-4b0e-9d1a-6f1f5a1f0d3b
make() { "$coppice" mkfs "$@" --uuid $uuid --time 1700000000.123456789; }
# What is in an image, without reading its holes.
digest() { tar -c --sparse --hole-detection=seek --mtime=@0 -f - -C "$work" image | sha256sum; }

# --- an empty file system --------------------------------------------------------------------------------

# The kernel's part: 1 MiB, some small files.
use() {
    up || return
    must cp "$work/mebibyte" "$mnt/file"
    must sync "$mnt/file"
    mkdir "$mnt/folder" && for i in 1 2 3 4 5; do echo $i > "$mnt/folder/$i"; done
    must sync -f "$mnt"
    down
    fsck --check-data-csum
    if command -v grub-fstest > /dev/null; then
        must grub-fstest "$image" ls /
        grub-fstest "$image" cat /file 2>&1 | cmp -s - "$work/mebibyte" || fault "grub reads other bytes"
    fi
}
sector_of() { case " $* " in *" --sector-size "[!4]*) echo other ;; esac; }

# try OPTION...
try() {
    what="mkfs"
    : > "$work/faults"
    rm -f "$image"
    make "$image" "$@" 2> /dev/null && first=$(digest)
    rm -f "$image"
    if must make "$image" "$@"; then
        [ "$(digest)" = "$first" ] || fault "other bytes the second time"
        mirrors
        fsck
        fsck --mode=lowmem
        what="used"
        [ -n "$(sector_of "$@")" ] || use
    fi
    check "mkfs $*" "$work/faults"
}

for node in 4K 8K 16K 32K 64K; do
    for csum in crc32c xxhash sha256 blake2; do
        try --node-size $node --csum $csum
        try --node-size $node --csum $csum --size 1G --metadata single --data dup --block-group-tree
    done
    try --node-size $node --metadata dup --size 300M
done
for metadata in single dup; do
    for data in single dup; do
        for tree in '' --block-group-tree; do
            for size in 64M 200M 40G ${LONG:+127M 128M 256M 1G 10G 50G 100G 256G 257G}; do
                try --metadata $metadata --data $data $tree --size $size
            done
            try --metadata $metadata --data $data $tree
        done
    done
done
try --size 2T --metadata dup
for tree in '' --block-group-tree; do
    for csum in crc32c sha256; do
        try --mixed $tree --csum $csum
        try --mixed $tree --csum $csum --size 100M
    done
    try --mixed $tree --metadata dup --data dup
    try --mixed $tree --metadata dup --data dup --size 1G
done
try --label 'a label'
for sector in 8K 16K 32K; do
    try --sector-size $sector --node-size $sector
    try --sector-size $sector --node-size 64K --metadata dup --data dup --block-group-tree
done
try --sector-size 64K --node-size 64K
try --sector-size 8K --node-size 8K --mixed

# --- hard work -------------------------------------------------------------------------------------------

# So many files of a line, some larger ones.
fill() {
    mkdir -p "$1/small" "$1/large"
    (cd "$1/small" && seq 1 "$2" | split -l 1 -a 5 -d)
    for i in 1 2 3 4 5 6; do head -c $((i * 300007)) /dev/urandom > "$1/large/$i"; done
    cp --reflink=always "$1/large/6" "$1/large/again"
}
# Until there is no space; then a part of it goes again, and there is.
exhaust() {
    mkdir "$mnt/full"
    cat /dev/urandom > "$mnt/full/data" 2> /dev/null
    (cd "$mnt/full" && seq 1 20000 | split -l 2 -a 5 -d) 2> /dev/null
    sync -f "$mnt"
    must rm -r "$mnt/full"
    must sync -f "$mnt"
    must cp "$work/mebibyte" "$mnt/after"
}

# hard OPTION...
hard() {
    what="hard work"
    : > "$work/faults"
    rm -f "$image"
    if must make "$image" "$@" && up; then
        must btrfs subvolume create "$mnt/a"
        fill "$mnt/a" 3000
        contents "$mnt/a" > "$work/contents"
        must btrfs subvolume snapshot -r "$mnt/a" "$mnt/kept"
        must btrfs subvolume snapshot "$mnt/a" "$mnt/b"
        rm -r "$mnt"/a/small/x000* "$mnt"/b/small/x001* "$mnt/a/large/3"
        fill "$mnt/b/more" 500
        must btrfs subvolume snapshot "$mnt/b" "$mnt/c"
        must btrfs balance start --full-balance "$mnt"
        must btrfs scrub start -B -R "$mnt"
        delete_subvolumes "$mnt/a" "$mnt/b"
        exhaust
        must btrfs balance start -dusage=60 -musage=60 "$mnt"
        contents "$mnt/kept" | cmp -s - "$work/contents" || fault "the snapshot has changed"
        down
        mirrors
        fsck --check-data-csum
        [ -z "${LONG-}" ] || fsck --mode=lowmem
        if up ro; then
            contents "$mnt/kept" | cmp -s - "$work/contents" || fault "the snapshot has changed on the device"
            down
        fi
    fi
    check "the kernel at work on mkfs $*" "$work/faults"
}

hard --size 500M
hard --size 400M --node-size 4K --metadata dup --block-group-tree
hard --size 500M --node-size 64K --csum sha256
hard --size 600M --metadata dup --data dup --csum blake2
hard --size 300M --mixed
hard --size 300M --mixed --block-group-tree --metadata dup --data dup
hard --size 500M --node-size 8K --csum xxhash --block-group-tree
hard --size 1G --node-size 32K --metadata dup
if [ -n "${LONG-}" ]; then
    for node in 4K 8K 16K 32K 64K; do
        for csum in crc32c xxhash sha256 blake2; do
            for tree in '' --block-group-tree; do
                for profiles in '--metadata single --data single' '--metadata dup --data single' \
                    '--metadata dup --data dup'; do
                    hard --size 600M --node-size $node --csum $csum $tree $profiles
                done
            done
        done
    done
fi
echo "# $judgements times btrfs check"
exit $failed
