#!/bin/sh
# test_space.sh [CASE...]: ours on theirs. Images that mkfs.btrfs and the kernel have made and aged, with snapshots of
# snapshots, reflinks, compression and deletions, are changed by our transactions (06-churn: xattrs, truncated
# files, preallocated and shared extents), hundreds of them, some aborted. After each hundred btrfs check
# looks, besides the auditor within 06-churn. Then the kernel mounts: what no transaction of ours touched is as it was;
# it deletes snapshots, balances, writes; check; and all of it once more. One TAP line an image.
# LONG=1: thousands of transactions, more seeds. CHURN names the program, else make builds it.
. "$(dirname "$0")/oracle.sh"
need_kernel "our transactions on images of the kernel"
churn=${CHURN-$root/build/tools/06-churn}
if [ -z "${CHURN-}" ] && ! make -s -C "$root" SANITIZE= MINE= build/tools/06-churn build/coppice > /dev/null; then
    echo "not ok - making 06-churn"
    exit 1
fi
open_work
. "$oracle/judges.sh"
image=$work/image
hundreds=${HUNDREDS-$([ -n "${LONG-}" ] && echo 10 || echo 3)}
seeds=${SEEDS-$([ -n "${LONG-}" ] && echo "1 2 3" || echo 1)}
only=" $* "
transactions=0

# --- images ----------------------------------------------------------------------------------------------

# Files of all sizes, the same for the same seed; xattrs of others between which ours will be.
files() {
    mkdir -p "$1/deep/er"
    for i in $(seq 1 "$2"); do
        head -c $((i * i * 7 % 90001)) /dev/urandom > "$1/f$i"
    done
    for i in 1 2 3; do head -c $((i * 1500007)) /dev/urandom > "$1/deep/large$i"; done
    for i in $(seq 1 40); do seq 1 $((i * 300)) > "$1/deep/er/text$i"; done
    truncate -s 5M "$1/sparse"
    printf x | dd of="$1/sparse" bs=1 seek=3000000 conv=notrunc 2> /dev/null
    fallocate -l 1M "$1/prealloc"
    head -c 100000 /dev/urandom | dd of="$1/prealloc" bs=4096 seek=20 conv=notrunc 2> /dev/null
    setfattr -n user.other -v value "$1/f1"
    setfattr -n user.other -v value "$1/deep"
    sync -f "$1"
}
reflinks() {
    for i in $(seq 2 5 "$2"); do cp --reflink=always "$1/f$i" "$1/again$i"; done
    for i in 1 2 3; do cp --reflink=always "$1/deep/large1" "$1/share$i"; done
    for i in $(seq 0 9 300); do
        head -c 4096 /dev/urandom | dd of="$1/share1" bs=4096 seek="$i" conv=notrunc 2> /dev/null
    done
    sync -f "$1"
}
# Changes part of what is there: some deleted, some written over, some longer. NTH tells which.
changes() {
    for i in $(seq "$2" 11 300); do [ ! -e "$1/f$i" ] || rm "$1/f$i"; done
    for i in $(seq $(($2 + 1)) 11 300); do [ ! -e "$1/f$i" ] || seq 1 900 >> "$1/f$i"; done
    for i in $(seq "$2" 17 300); do
        head -c 8192 /dev/urandom | dd of="$1/deep/large2" bs=4096 seek="$i" conv=notrunc 2> /dev/null
    done
    for i in $(seq 1 30); do seq "$i" 500 > "$1/new$2-$i"; done
    sync -f "$1"
}
# Subvolume a; two snapshots that nobody changes; one that changes, and one of that; a deleted one.
age() {
    must btrfs subvolume create "$mnt/a"
    files "$mnt/a" ${1-200}
    reflinks "$mnt/a" ${1-200}
    must btrfs subvolume snapshot -r "$mnt/a" "$mnt/frozen"
    must btrfs subvolume snapshot "$mnt/a" "$mnt/kept"
    changes "$mnt/a" 1
    must btrfs subvolume snapshot "$mnt/a" "$mnt/b"
    changes "$mnt/b" 2
    must btrfs subvolume snapshot "$mnt/a" "$mnt/deleted"
    changes "$mnt/deleted" 3
    must btrfs subvolume snapshot "$mnt/b" "$mnt/c"
    changes "$mnt/b" 4
    changes "$mnt/a" 5
    delete_subvolumes "$mnt/deleted"
    files "$mnt/top" 30
}
# Free space in so many pieces that the kernel goes over to bitmaps.
holes() {
    mkdir "$mnt/holes"
    (cd "$mnt/holes" && head -c 12000000 /dev/urandom | split -b 6000 -a 4 -d)
    sync -f "$mnt"
    rm "$mnt"/holes/x*[13579]
    sync -f "$mnt"
}
tree_of() { btrfs inspect-internal rootid "$mnt/$1"; }

format() {
    rm -f "$image"
    truncate -s "$1" "$image"
    shift
    must mkfs.btrfs -q -f "$@" "$image"
}
ours() { rm -f "$image"; must "$coppice" mkfs "$image" "$@"; }

# --- judgement -------------------------------------------------------------------------------------------

# round SEED OPTION...: a hundred transactions.
round() {
    number=$1
    shift
    [ -z "${KEEP-}" ] || cp --sparse=always "$image" "$KEEP/$name-$number.img"
    "$churn" "$image" "$number" 100 30 --abort 9 --audit 25 "$@" > "$work/churn" 2>&1 ||
        fault "churn $number: $(tail -n 1 "$work/churn")"
    sed -n "s|^wrong before|# $what, $number: &|p" "$work/churn"
    count=$(sed -n 's/.* \([0-9]*\) committed,.*/\1/p' "$work/churn")
    transactions=$((transactions + ${count:-0}))
    fsck
}
# same FOLDER...: as the kernel reads them, they are what they were.
same() {
    for folder; do
        contents "$mnt/$folder" | cmp -s - "$work/contents-$folder" || fault "$folder has changed"
    done
}
remember() { for folder; do contents "$mnt/$folder" > "$work/contents-$folder"; done; }

# kernel NAME SUBVOLUME BALANCE-OPTIONS: reads all, goes on with what we wrote, deletes the subvolume.
kernel() {
    up "$mount_options" || return
    find "$mnt" -type f -exec cat {} + > /dev/null 2> "$work/read" || fault "reading: $(head -n 3 "$work/read")"
    must getfattr -R -m - "$mnt"
    same frozen $untouched
    changes "$mnt/a" 6
    delete_subvolumes "$mnt/$2"
    must btrfs subvolume snapshot "$mnt/b" "$mnt/$1"
    must btrfs balance start $3 "$mnt"
    must btrfs scrub start -B "$mnt"
    changes "$mnt/b" 7
    same frozen $untouched
    remember $untouched
    down
    fsck --check-data-csum
}

# judge NAME: the aged image. In every third round the subvolume alone is changed, in the next one
# its snapshots alone; two snapshots stay as they are, to the end, when the subvolume is gone.
judge() {
    for seed in $seeds; do
        what="$1, seed $seed"
        [ "$seed" = "${seeds%% *}" ] || cp --sparse=always "$work/aged" "$image"
        up "$mount_options" || return
        a=$(tree_of a) kept=$(tree_of kept)
        untouched=kept
        remember frozen kept
        down
        for hundred in $(seq 1 $hundreds); do
            case $((hundred % 3)) in
            1) round $((seed * 1000 + hundred)) --except "$kept" ;;
            2) round $((seed * 1000 + hundred)) --only "$a" ;;
            0) round $((seed * 1000 + hundred)) --except "$kept" --except "$a" --value 16000 ;;
            esac
        done
        fsck --mode=lowmem
        kernel d c "-d -m"
        round $((seed * 1000 + 900)) --except "$kept" --kinds insert,prealloc,reflink
        round $((seed * 1000 + 901)) --except "$kept" --kinds delete,truncate,punch
        kernel e a --full-balance
        round $((seed * 1000 + 902)) --except "$kept"
        fsck --check-data-csum
        mirrors
        [ ! -s "$work/faults" ] || return
    done
}

# image NAME MOUNT-OPTIONS STEPS...: ages what `format` made, and judges it.
image() {
    name=$1 what="making $1" mount_options=$2
    shift 2
    if up "$mount_options"; then
        for step; do $step; done
        down
        [ "$name" != bitmaps ] || btrfs inspect-internal dump-tree -t 10 "$image" |
            grep -q FREE_SPACE_BITMAP || fault "no bitmaps"
        cp --sparse=always "$image" "$work/aged"
        fsck
        [ -s "$work/faults" ] || judge "$name"
    fi
    check "our transactions on $name" "$work/faults"
}
# Until there is no space: transactions that find none change nothing; after that there is some again.
full() {
    up || return
    must btrfs subvolume create "$mnt/a"
    (cd "$mnt/a" && seq 1 3000 | split -l 10 -a 5 -d)
    must btrfs subvolume snapshot "$mnt/a" "$mnt/b"
    must btrfs subvolume snapshot -r "$mnt/a" "$mnt/frozen"
    remember frozen
    down
    for kinds in insert,prealloc,reflink insert insert,delete delete,truncate; do
        "$churn" "$image" 7 60 600 --audit 10 --kinds $kinds --value 4000 > "$work/churn" 2>&1 ||
            fault "churn of $kinds: $(tail -n 1 "$work/churn")"
        [ $kinds != insert ] || ! grep -q ' 0 without space' "$work/churn" ||
            fault "there was space to the end"
        fsck
    done
    up || return
    same frozen
    changes "$mnt/b" 1 2> /dev/null
    down
    fsck --check-data-csum
}

# Whether a case is to be run; all without words.
chosen() {
    : > "$work/faults"
    what="making $1"
    case $only in *" $1 "* | '  ') return 0 ;; esac
    return 1
}

chosen n16k && format 700M -m dup && image n16k '' age
chosen n4k && format 512M -n 4096 -m single && image n4k '' age
chosen n64k && format 700M -n 65536 -m single --csum sha256 && image n64k '' age
chosen no_tree && format 700M -n 4096 -R ^free-space-tree -m dup && image no_tree space_cache=v1 age
chosen compressed && format 512M -n 4096 -m single --csum xxhash && image compressed compress-force=zstd age
chosen with_holes && format 512M -n 8192 -O ^no-holes -m single && image with_holes compress=lzo age
chosen mixed && format 400M -M -n 4096 -m single -d single --csum blake2 && image mixed '' age
chosen bitmaps && format 512M -n 4096 -m single && image bitmaps '' holes age
chosen group_tree && ours --size 1G --node-size 4K --metadata dup --data dup --block-group-tree &&
    image group_tree '' age
chosen ours_n16k && ours --size 512M --csum blake2 && image ours_n16k compress=zstd age holes
for options in '--size 64M' '--size 32M --mixed'; do
    if chosen full; then
        what="no space"
        ours --node-size 4K $options && full
        check "our transactions until there is no space, $options" "$work/faults"
    fi
done
echo "# $transactions transactions, $judgements times btrfs check"
exit $failed
