#!/bin/sh
# Makes the images that the book's transcripts and the unit tests look at, first.img.xz and
# tall.img.xz, anew. Needs root, a loop device, mkfs.btrfs and the kernel's btrfs. mkfs.btrfs does not
# repeat byte for byte, so after a run the transcripts have to be filled again (make sync).
#
#   first.img  4 KiB nodes, metadata DUP, 128 MiB: a handful of files of every type
#   tall.img   4 KiB nodes, metadata single: 3,000 empty files, an fs tree of three levels
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'mountpoint -q "$work/mnt" && umount "$work/mnt"; rm -rf "$work"' EXIT
mkdir "$work/mnt"
cd "$work"

truncate -s 128M first.img
mkfs.btrfs -q -n 4096 -m dup -L first -U c0991ce0-0000-4000-8000-000000000001 first.img
mount -o loop first.img mnt
(
    cd mnt
    printf 'Hello, Btrfs.\n' > hello.txt
    setfattr -n user.wood -v hazel hello.txt
    mkdir forest
    for wood in ash beech hazel oak willow; do printf '%s\n' "$wood" > "forest/$wood"; done
    ln forest/oak hardlink
    ln -s forest/oak symlink
    mkfifo fifo
    mknod null c 1 3
    head -c 20000 /dev/zero | tr '\0' 'w' > wood
)
umount mnt

truncate -s 64M tall.img
mkfs.btrfs -q -n 4096 -m single -L tall -U c0991ce0-0000-4000-8000-000000000002 tall.img
mount -o loop tall.img mnt
(cd mnt && seq -f 'file%04.0f' 0 2999 | xargs touch)
umount mnt

for image in first tall; do
    xz -9e -c "$image.img" > "$here/$image.img.xz"
done
ls -l "$here"/*.xz
