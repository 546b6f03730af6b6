# Owns what the scripts here share: sourced by them. Finds the tool (COPPICE, else build/coppice), the
# sbin folders, a place to work in, and cleans up behind whatever happens: unmounts what is mounted
# under $work (loop devices go with their mounts) and removes it.
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL=C
oracle=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$oracle/../.." && pwd)
coppice=${COPPICE:-$root/build/coppice}
failed=0

# Why real images cannot be made here; empty when they can.
why_no_kernel() {
    if [ "$(id -u)" != 0 ]; then echo "not root: no images can be mounted"
    elif ! command -v mkfs.btrfs > /dev/null; then echo "mkfs.btrfs is not installed"
    elif ! losetup -f > /dev/null 2>&1; then echo "there is no loop device"
    elif ! grep -qw btrfs /proc/filesystems && ! modprobe -q btrfs; then echo "the kernel has no btrfs"
    fi
}

# need_kernel NAME: ends the script with a skipped test where images cannot be made.
need_kernel() {
    reason=$(why_no_kernel)
    [ -z "$reason" ] || { echo "ok - $1 # SKIP $reason"; exit 0; }
}

# Makes $work: in memory where there is room for 2 GiB, else in TMPDIR.
open_work() {
    room=$(df -Pk /dev/shm 2> /dev/null | awk 'NR == 2 { print $4 }')
    place=${TMPDIR:-/tmp}
    [ "${room:-0}" -lt 2097152 ] || [ ! -w /dev/shm ] || place=/dev/shm
    work=$(mktemp -d "$place/oracle.XXXXXX") || exit 1
    on_exit 'unmount_under "$work"; rm -rf "$work"'
}
# Runs a command when the script ends, also when a signal ends it.
on_exit() {
    trap "$1" EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}
# Unmounts all under a folder, inner mounts first, and detaches the loop devices of the files there.
unmount_under() {
    awk -v folder="$1/" 'index($2, folder) == 1 { print $2 }' /proc/mounts | sort -r |
        while read -r mount; do
            fsfreeze -u "$mount" 2> /dev/null
            umount "$mount" || umount -l "$mount"
        done
    losetup -l -n -O NAME,BACK-FILE 2> /dev/null | awk -v folder="$1/" 'index($2, folder) == 1 { print $1 }' |
        while read -r loop; do losetup -d "$loop"; done
}

# check NAME FILE: "ok - NAME" when FILE is empty; else "not ok - NAME" with its first lines.
check() {
    if [ -s "$2" ]; then
        echo "not ok - $1"
        head -n 20 "$2" | cut -c 1-400 | sed 's/^/# /'
        failed=1
    else
        echo "ok - $1"
    fi
}
