# Owns the place where the book's commands run: sourced by transcripts.sh and figures.sh.
#
# make_place TOOL DIR: DIR gets bin/coppice, which is TOOL, and an empty folder room.
# in_place DIR COMMAND...: runs COMMAND there, in an environment that holds nothing of the caller's:
# the C locale, UTC, COPPICE = the checkout, no standard input.
checkout=$(cd "$(dirname "$0")/../.." && pwd)

make_place() {
    [ -x "$1" ] || { echo "$1: not an executable" >&2; return 1; }
    mkdir -p "$2/bin" "$2/room" && ln -sf "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")" "$2/bin/coppice"
}
in_place() {
    place=$1; shift
    (umask 022 && cd "$place/room" && exec env -i PATH="$place/bin:$PATH:/usr/sbin:/sbin" HOME="$place/room" \
        LC_ALL=C TZ=UTC0 COPPICE="$checkout" "$@" < /dev/null)
}
