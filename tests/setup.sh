#!/bin/sh
# setup.sh [--packages-only]: installs with apt-get what this project needs and this machine lacks (nothing,
# when all is there), then builds the tool and shows it at work on a real image. Runs from any folder.
set -eu
cd "$(dirname "$0")/.."

packages='gcc make check libsubunit-dev pkg-config libc6-dev
libisal-dev libxxhash-dev libgcrypt20-dev libyajl-dev libblkid-dev uuid-dev libunistring-dev
liblmdb-dev libsqlite3-dev
btrfs-progs grub-common util-linux fdisk attr acl xz-utils jq patch
gnuplot-nox graphviz fonts-dejavu-core pandoc weasyprint
clang libclang-rt-14-dev clang-format'

missing=
for package in $packages; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
    installed) ;;
    *) missing="$missing $package" ;;
    esac
done
if [ -n "$missing" ]; then
    sudo=
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
fi
[ "${1-}" != --packages-only ] || exit 0

make -j2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
show() { echo "\$ $*"; "$@"; }
PATH=$PATH:/usr/sbin:/sbin
truncate -s 128M "$work/src.img"
show mkfs.btrfs -q --rootdir src "$work/src.img"
show build/coppice info "$work/src.img"
show build/coppice find "$work/src.img" fs 256 INODE_ITEM 0
