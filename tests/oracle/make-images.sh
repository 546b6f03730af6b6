#!/bin/sh
# make-images.sh DIR [NAME...]: makes real Btrfs images, DIR/NAME.img, with mkfs.btrfs and the mounted
# kernel: all, or those named. Needs root and loop devices. DIR/skipped says, a line each, what could
# not be made here and why; DIR/failed what should have been.
#
# An image that shows a moment is copied while it is mounted. Such a copy is sound when nothing commits
# meanwhile (commit=300, and nobody writes), or when the file system is frozen, or when the one below
# it is: then the copy is what a power cut would have left.
. "$(dirname "$0")/oracle.sh"
dir=${1:?usage: make-images.sh DIR [NAME...]}
shift
mkdir -p "$dir" || exit 1
dir=$(cd "$dir" && pwd)
mnt=$dir/mounts/image host=$dir/mounts/host scratch=$dir/mounts/scratch
mkdir -p "$mnt" "$host"
: > "$dir/skipped"
: > "$dir/failed"
on_exit 'unmount_under "$dir/mounts"; rm -rf "$dir/mounts"'

# --- steps ------------------------------------------------------------------------------------------

# format SIZE OPTION...: the image $image, empty.
format() {
    truncate -s "$1" "$image"
    shift
    mkfs.btrfs -q -f "$@" "$image" > /dev/null
}
on() { mount -o "loop${1:+,$1}" "$image" "$mnt"; }
off() { umount "$mnt"; }
# Not to be had here, and why.
skip() {
    echo "$name $*" >> "$dir/skipped"
    rm -f "$image"
    exit 0
}
quietly() { "$@" > /dev/null; }
subvolume() { quietly btrfs subvolume "$@"; }

# Never freezes what lies below a folder where nothing is mounted.
freeze() { mountpoint -q "$1" && fsfreeze -f "$1"; }
# The image mounted where the file system that holds it can be frozen; copy_frozen copies it at once.
on_host() {
    truncate -s 1G "$scratch"
    quietly mkfs.btrfs -q -f -m single "$scratch"
    mount -o loop,nodatacow "$scratch" "$host"
    mv "$image" "$host/image"
    mount -o "loop${1:+,$1}" "$host/image" "$mnt"
}
copy_frozen() {
    freeze "$host"
    cp --sparse=always "$host/image" "$image"
    fsfreeze -u "$host"
}
off_host() {
    umount "$mnt" "$host"
    rm "$scratch"
}

# Does the image show what it was made for? holds PATTERN...: dump-tree prints each.
holds() {
    btrfs inspect-internal dump-tree "$image" > "$scratch"
    for pattern; do grep -q "$pattern" "$scratch" || { echo "it holds no $pattern"; exit 1; }; done
    rm "$scratch"
}
# small_files COUNT FOLDER: so many files of a few bytes.
small_files() { (mkdir -p "$2" && cd "$2" && seq 1 "$1" | split -l 1 -a 5 -d); }
patch_byte() { printf x | dd of="$1" bs=1 seek="$2" conv=notrunc 2> /dev/null; }

# Three names of one hash; so are user.NAME as names of xattrs, and links of one folder.
same_hash='oakwquuxghd oakodcfejqe oakclvatjaf'
long_name() { printf '%s%0*d' "$1" $((255 - ${#1})) 0; }

# Every kind of file, name, xattr and time.
zoo() (
    cd "$mnt"
    printf 'Hello.\n' > inline
    : > empty
    head -c 300000 /dev/urandom > regular
    head -c 8000000 /dev/urandom > large
    truncate -s 10M sparse
    patch_byte sparse 5000000
    fallocate -l 1M prealloc
    patch_byte prealloc 400000
    : > beyond-the-end
    fallocate -n -l 1M beyond-the-end
    cp regular punched
    fallocate -p -o 65536 -l 65536 punched
    cp --reflink=always regular reflink
    mkdir -m 1777 folder
    ln -s inline symlink
    ln -s "$(head -c 2000 /dev/zero | tr '\0' s)" long-symlink
    mkfifo fifo
    perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, pack_sockaddr_un("socket")) or die'
    mknod null c 1 3
    mknod large-char c 511 1048575
    mknod large-block b 4095 1048575

    # Links: too many for INODE_REF items, some with one hash.
    mkdir links
    printf 'linked\n' > links/first
    if [ "${1-}" != few-links ]; then
        perl -e 'link "links/first", sprintf("links/%d%0252d", $_, 0) for 100..400'
        for hash in $same_hash; do ln links/first "links/$hash"; done
    fi
    ln links/first folder/elsewhere

    mkdir names
    for odd in "$(long_name x)" "$(printf 'bad\377\376utf8')" "$(printf 'new\nline')" 'q"uote\back' \
        "$(printf 'control\001\033\177')" "$(printf 'caf\303\251 \302\205')" ' space ' 'a name: b' \
        "$(printf 'new\n\titem 0 key (1 INODE_ITEM 0) itemoff 0 itemsize 0')" $same_hash; do
        printf '%s\n' "$odd" > "names/$odd"
    done
    mkdir -p "deep/$(printf 'd/%.0s' $(seq 200))"

    setfattr -n user.short -v hazel inline
    setfattr -n user.empty inline
    setfattr -n user.binary -v 0xff0a5c220a09016100ff inline
    setfattr -n user.long -v "$(head -c 700 /dev/zero | tr '\0' v)" inline
    setfattr -n "user.$(long_name x | cut -c 6-)" -v long-name inline
    for hash in $same_hash; do setfattr -n "user.$hash" -v "$hash" inline; done
    setfattr -n trusted.oak -v tree folder
    setfacl -m u:1000:rw,g:4294967294:r inline
    setfacl -d -m u:1000:rwx folder

    mkdir flags
    for flag in C c A a i d S m; do
        : > "flags/$flag"
        chattr "+$flag" "flags/$flag" 2> /dev/null || :
    done
    head -c 100000 /dev/zero > flags/C
    chattr +D flags

    : > "old-times"
    touch -d '1901-12-14 UTC' old-times
    touch -d '2446-05-10 22:38:55.123456789 UTC' empty
    chown 4294967294:4294967293 empty
    chmod 6711 empty
)

# --- the images ---------------------------------------------------------------------------------------

zoo_image() {
    format 256M "$@"
    on
    zoo
    off
    holds INODE_EXTREF 'new$' 'prealloc data' 'type XATTR' 'type SOCK'
}
image_n4k_crc32c()   { zoo_image -n 4096 --csum crc32c -m dup; }
image_n8k_xxhash()   { zoo_image -n 8192 --csum xxhash -m single; }
image_n16k_sha256()  { zoo_image -n 16384 --csum sha256 -m dup -d dup; }
image_n32k_blake2()  { zoo_image -n 32768 --csum blake2; }
image_n64k_crc32c()  { zoo_image -n 65536 --csum crc32c -d dup; }
image_mixed()        { zoo_image -M -n 4096; }
image_mixed_dup()    { zoo_image -M -n 4096 -m dup -d dup; }
image_holes() {
    zoo_image -O ^no-holes
    holds 'disk byte 0 nr 0'
}
image_fat_metadata() {
    zoo_image -O ^skinny-metadata
    holds 'tree block key'
}
image_raid0() {
    format 256M -m raid0 -d raid0 || skip "mkfs.btrfs makes no raid0 of one device"
    on || skip "the kernel mounts no raid0 of one device"
    zoo
    off
}
image_no_extref() {
    format 256M -O ^extref
    on
    zoo few-links
    off
}

# By mkfs.btrfs alone, never mounted; the kernel here takes sectors of 4 KiB only.
image_unmounted()      { format 128M -n 4096 --rootdir "$root/tests/oracle"; }
image_sectors_of_16k() { format 256M -s 16384 -n 16384 --rootdir "$root/tests/oracle"; }
image_sectors_of_64k() { format 256M -s 65536 -n 65536 --rootdir "$root/tests/oracle"; }

# Free space kept in files (space cache v1): only block groups of 100 MiB and more have one.
image_space_cache() {
    format 2G -R ^free-space-tree
    on space_cache=v1 || skip "the kernel has no space_cache=v1"
    for i in $(seq 60); do head -c 600000 /dev/urandom > "$mnt/file$i"; done
    sync -f "$mnt"
    rm "$mnt"/file?
    off
    holds '(FREE_SPACE UNTYPED '
}

# Many small holes: the free space tree goes over to bitmaps.
image_bitmaps() {
    format 128M -n 4096
    on
    for i in $(seq 100 299); do head -c 12288 /dev/urandom > "$mnt/$i"; done
    sync -f "$mnt"
    rm "$mnt"/*[13579]
    off
    holds FREE_SPACE_BITMAP
}

image_many() {
    format 1G -n 4096 -m single
    on
    small_files 50000 "$mnt/files"
    off
}

image_compressed() {
    format 256M
    for method in zlib lzo zstd; do
        on compress-force=$method
        mkdir "$mnt/$method"
        seq 1 300 > "$mnt/$method/inline"
        seq 1 60000 > "$mnt/$method/regular"
        sync -f "$mnt"
        patch_byte "$mnt/$method/regular" 200000
        off
    done
    holds 'inline.*(zlib)' 'inline.*(lzo)' 'inline.*(zstd)' 'extent compression 3 (zstd)'
}

# More references to an extent or block than fit into its item: keyed ones. Blocks of snapshots whose
# origin has gone its own way, and then gone: references by parent.
image_shared() {
    format 256M -n 4096
    on
    subvolume create "$mnt/origin"
    small_files 1100 "$mnt/origin/files"
    head -c 40960 /dev/urandom > "$mnt/origin/extent"
    for i in $(seq 20); do
        cp --reflink=always "$mnt/origin/extent" "$mnt/origin/copy$i"
        cp --reflink=always "$mnt/origin/extent" "$mnt/copy$i"
    done
    subvolume create "$mnt/base"
    small_files 100 "$mnt/base/files"
    for i in $(seq 26); do
        subvolume snapshot "$mnt/base" "$mnt/alike$i"
        subvolume snapshot "$mnt/origin" "$mnt/snapshot$i"
        touch "$mnt/origin/files/x00500"
        patch_byte "$mnt/origin/extent" 5000
    done
    subvolume delete "$mnt/origin" "$mnt/snapshot7"
    off
    on commit=1
    quietly btrfs filesystem sync "$mnt"
    subvolume sync -s 1 "$mnt"
    off
    holds ' EXTENT_DATA_REF ' ' SHARED_DATA_REF ' ' TREE_BLOCK_REF ' ' SHARED_BLOCK_REF ' 'FULL_BACKREF'
}

image_snapshots() {
    format 256M
    on
    subvolume create "$mnt/outer"
    subvolume create "$mnt/outer/inner"
    subvolume create "$mnt/$(printf 'odd\nname')"
    printf 'x\n' > "$mnt/outer/inner/file"
    subvolume snapshot "$mnt/outer" "$mnt/writable"
    subvolume snapshot -r "$mnt/outer" "$mnt/readonly"
    printf 'y\n' > "$mnt/writable/more"
    mv "$mnt/outer/inner" "$mnt/moved"
    mkdir "$mnt/received"
    btrfs -q send "$mnt/readonly" 2> /dev/null | quietly btrfs receive "$mnt/received"
    quietly btrfs subvolume set-default "$mnt/writable"
    off
    holds UUID_KEY_RECEIVED_SUBVOL 'flags 0x1(RDONLY)' '(FS_TREE ROOT_REF 257)'
}

# A subvolume and a file that are deleted but still open: ORPHAN items of both kinds.
image_orphans() {
    format 128M
    on commit=300
    subvolume create "$mnt/sub"
    printf 'x\n' > "$mnt/sub/file"
    printf 'y\n' > "$mnt/file"
    exec 8< "$mnt/sub/file" 9< "$mnt/file"
    rm "$mnt/file"
    subvolume delete "$mnt/sub"
    sync -f "$mnt"
    cp --sparse=always "$image" "$image.copy"
    exec 8<&- 9<&-
    off
    mv "$image.copy" "$image"
    holds '(ORPHAN ORPHAN_ITEM 256)' '(ORPHAN ORPHAN_ITEM 257)'
}

# Subvolumes, partly deleted: the cleaner goes to work at the mount, and is stopped by freezing.
image_dropping() {
    format 512M -n 4096 -m single
    on
    subvolume create "$mnt/shared"
    subvolume create "$mnt/alone"
    small_files 16000 "$mnt/shared"
    small_files 16000 "$mnt/alone"
    subvolume snapshot "$mnt/shared" "$mnt/kept"
    rm "$mnt"/shared/x00*
    subvolume delete "$mnt/shared" "$mnt/alone"
    off
    copies=0
    on commit=1
    for i in $(seq 100); do
        quietly btrfs filesystem sync "$mnt"
        freeze "$mnt"
        if btrfs inspect-internal dump-tree -t root "$image" | grep -q 'drop_progress key ([^0]'; then
            copies=$((copies + 1))
            cp --sparse=always "$image" "$dir/dropping_$copies.img"
        fi
        fsfreeze -u "$mnt"
        [ $copies -lt 2 ] && [ -n "$(btrfs subvolume list -d "$mnt")" ] || break
    done
    off
    [ $copies -gt 0 ] || skip "the deletion was over before it could be copied"
}

# What fsync wrote since the last commit: log trees, one of each subvolume.
image_log() {
    format 256M -n 4096
    on commit=300
    subvolume create "$mnt/sub"
    small_files 300 "$mnt/files"
    small_files 300 "$mnt/sub/files"
    sync -f "$mnt"
    for folder in "$mnt" "$mnt/sub"; do
        seq 1 9000 > "$folder/new"
        mv "$folder/files/x00001" "$folder/files/moved"
        setfattr -n user.oak -v tree "$folder/files/moved"
        ln "$folder/files/x00002" "$folder/linked"
        for i in $(seq 200); do : > "$folder/files/also$i"; done
        rm "$folder"/files/x0001*
        sync "$folder/new" "$folder/files/moved" "$folder/linked" "$folder/files"
    done
    cp --sparse=always "$image" "$image.copy"
    off
    mv "$image.copy" "$image"
    holds '(TREE_LOG ROOT_ITEM 5)' '(TREE_LOG ROOT_ITEM 256)' 'DIR_LOG_INDEX'
}

image_quota() {
    format 256M
    on
    quietly btrfs quota enable "$mnt"
    subvolume create "$mnt/sub"
    subvolume snapshot "$mnt/sub" "$mnt/snapshot"
    btrfs qgroup create 1/100 "$mnt"
    btrfs qgroup create 2/4294967296 "$mnt"
    btrfs qgroup assign --no-rescan 0/256 1/100 "$mnt"
    btrfs qgroup assign --no-rescan 1/100 2/4294967296 "$mnt"
    btrfs qgroup limit 1G 1/100 "$mnt"
    btrfs qgroup limit -e -c 500M "$mnt/sub"
    head -c 200000 /dev/urandom > "$mnt/sub/file"
    quietly btrfs quota rescan -w "$mnt"
    off
    holds QGROUP_RELATION QGROUP_STATUS 'max_referenced 1073741824'
}

image_balanced() {
    format 512M -n 4096
    on
    small_files 2000 "$mnt/files"
    head -c 30000000 /dev/urandom > "$mnt/data"
    subvolume snapshot "$mnt" "$mnt/snapshot"
    quietly btrfs balance start --full-balance "$mnt"
    off
}

image_balance_paused() {
    format 512M -n 4096 -m single
    on
    small_files 4000 "$mnt/files"
    head -c 60000000 /dev/urandom > "$mnt/data"
    paused=
    for i in $(seq 30); do
        quietly btrfs balance start --full-balance --bg "$mnt"
        ! btrfs balance pause "$mnt" || { paused=yes; break; }
    done
    [ -n "$paused" ] || skip "no balance could be paused before it was over"
    off
    holds '(BALANCE TEMPORARY_ITEM 0)'
}

# Relocation trees live for moments.
image_relocating() {
    format 256M -n 4096 -m single
    on_host
    small_files 4000 "$mnt/files"
    for i in 1 2 3 4; do
        subvolume snapshot "$mnt" "$mnt/snapshot$i"
        rm "$mnt/snapshot$i"/files/x00${i}1*
    done
    sync -f "$mnt"
    for i in $(seq 20); do quietly btrfs balance start -m "$mnt" || break; done &
    balance=$!
    found=
    while [ -z "$found" ] && kill -0 $balance 2> /dev/null; do
        copy_frozen
        found=$(btrfs inspect-internal dump-tree -t root "$image" | grep 'key (TREE_RELOC ') || :
    done
    kill $balance 2> /dev/null || :
    btrfs balance cancel "$mnt" 2> /dev/null || :
    wait $balance || :
    off_host
    [ -n "$found" ] || skip "no moment with a relocation tree was caught"
}

# Two writers who fsync, commits and snapshots in between; any moment must be as good as another.
image_power_cut() {
    format 256M -n 4096
    on_host commit=1
    subvolume create "$mnt/sub"
    for folder in "$mnt" "$mnt/sub"; do
        (cd "$folder" && for i in $(seq 100000); do
            echo "$i" > "file$((i % 150))"
            sync "file$((i % 150))"
            [ $((i % 40)) != 0 ] || { rm "file$((i % 11))"; btrfs -q subvolume snapshot . "snapshot$i"; }
            [ ! -e "$dir/mounts/stop" ] || break
        done) &
    done
    sleep 2
    copy_frozen
    : > "$dir/mounts/stop"
    wait
    off_host
}

# A data block that has rotted: reading it counts an error in the device's statistics.
image_dev_stats() {
    format 128M -d single
    on
    head -c 20000 /dev/zero | tr '\0' r > "$mnt/file"
    off
    at=$(grep -abo -m 1 rrrrrrrr "$image" | head -n 1 | cut -d : -f 1)
    patch_byte "$image" "$at"
    on
    cat "$mnt/file" > /dev/null 2>&1 || :
    touch "$mnt/file"
    off
    holds 'corruption_errs [1-9]'
}

# The image was once of another device: replaced by this one, or removed after this one was added (then
# its devid is 2).
with_second_device() {
    format 256M
    truncate -s 320M "$scratch"
    on
    cp -r "$root/tests/oracle" "$mnt"
    second=$(losetup -f --show "$scratch")
    first=$(awk -v mnt="$mnt" '$2 == mnt { print $1 }' /proc/mounts)
    "$@"
    off
    losetup -d "$second"
    mv "$scratch" "$image"
}
replace_device() { quietly btrfs replace start -B -f "$first" "$second" "$mnt"; }
change_device() {
    quietly btrfs device add -f "$second" "$mnt"
    quietly btrfs device remove "$first" "$mnt"
}
image_replaced() {
    with_second_device replace_device
    holds DEV_REPLACE
}
image_second_device() {
    with_second_device change_device
    holds '(DEV_ITEMS DEV_ITEM 2)'
}

image_metadata_uuid() {
    format 128M
    btrfstune -m "$image"
    on
    cp -r "$root/tests/oracle" "$mnt"
    off
}

image_seed() {
    format 128M
    on
    cp -r "$root/tests/oracle" "$mnt"
    off
    btrfstune -S 1 "$image"
}

image_converted() {
    command -v btrfs-convert > /dev/null && command -v mke2fs > /dev/null ||
        skip "btrfs-convert or mke2fs is not installed"
    truncate -s 256M "$image"
    mke2fs -q -t ext4 -b 4096 -d "$root/src" "$image"
    quietly btrfs-convert "$image"
}

# Some hundred changes in no order.
image_aged() {
    format 320M -n 4096
    on
    mkdir "$mnt/d0" "$mnt/d1" "$mnt/d2"
    awk 'function r(n) { seed = seed * 16807 % 2147483647; return seed % n }
        function f() { return "d" r(3) "/f" r(120) }
        BEGIN {
            for (seed = 42; i < 1500; i++) {
                what = r(12)
                if (what < 5) print "printf %0" r(9000) + 1 "d 0 > " f()
                else if (what == 5) print "rm -f " f()
                else if (what == 6) print "mv -fT " f() " " f()
                else if (what == 7) print "ln -fT " f() " " f()
                else if (what == 8) print "truncate -s " r(300000) " " f()
                else if (what == 9) print "cp --reflink=always " f() " " f()
                else if (what == 10) print "fallocate -p -o " r(4) * 4096 " -l 4096 " f()
                else if (r(9) == 0) print "btrfs -q subvolume snapshot . ./s" i
                else if (r(4) == 0) print "sync -f ."
            }
        }' > "$scratch"
    (cd "$mnt" && sh "$scratch" > /dev/null 2>&1) || :
    rm "$scratch"
    quietly btrfs filesystem resize -32M "$mnt"
    off
}

image_verity() {
    [ -e /sys/fs/btrfs/features/verity ] && command -v fsverity > /dev/null ||
        skip "the kernel has no fs-verity, or fsverity is not installed"
    format 128M
    on
    seq 1 60000 > "$mnt/file"
    fsverity enable "$mnt/file"
    off
}

# For bench-dump.sh.
image_hundred_thousand() {
    format 2G -m single
    on
    small_files 50000 "$mnt/a"
    small_files 50000 "$mnt/b"
    off
}

# --- making them ----------------------------------------------------------------------------------------

reason=$(why_no_kernel)
[ -z "$reason" ] || { echo "make-images.sh: $reason" >&2; exit 1; }
[ $# -gt 0 ] || set -- n4k_crc32c n8k_xxhash n16k_sha256 n32k_blake2 n64k_crc32c mixed mixed_dup holes \
    fat_metadata raid0 no_extref unmounted sectors_of_16k sectors_of_64k space_cache bitmaps many \
    compressed shared snapshots orphans dropping log quota balanced balance_paused relocating power_cut dev_stats \
    replaced second_device metadata_uuid seed converted aged verity
for name; do
    image=$dir/$name.img
    (set -eu; "image_$name") > "$dir/mounts/output" 2>&1
    status=$?
    unmount_under "$dir/mounts"
    if [ $status != 0 ]; then
        echo "$name (exit status $status): $(tail -n 3 "$dir/mounts/output" | tr '\n' ' ')" >> "$dir/failed"
        rm -f "$image"
    fi
done
[ ! -s "$dir/failed" ] || { cat "$dir/failed" >&2; exit 1; }
