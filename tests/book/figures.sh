#!/bin/sh
# figures.sh DIR [OUT]: draws DIR/NN-name.svg (or OUT/NN-name.svg) from each DIR/NN-name.gp (gnuplot, run
# in DIR), .dot, and .sh (prints DOT; runs as a transcript does, with coppice = TOOL, build/coppice if
# not set). A plot is 800 by 480 unless it has a line `# size 800,640`.
# figures.sh --check DIR: draws in a temporary folder, compares byte for byte with DIR/*.svg; TAP.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
. "$here/place.sh"
check=
[ "$1" != --check ] || { check=1; shift; }
dir=$(cd "$1" && pwd) || exit 1
tool=${TOOL:-$checkout/build/coppice}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT || exit 1
out=${check:+$work}; out=${out:-${2:-$dir}}
mkdir -p "$out"

# draw SOURCE RAW: the picture as gnuplot or dot makes it.
draw() {
    case $1 in
    *.gp)
        size=$(sed -n 's/^# size \([0-9]*,[0-9]*\)$/\1/p' "$1")
        (cd "$dir" && LC_ALL=C TZ=UTC0 gnuplot -e "set encoding utf8; set terminal svg size ${size:-800,480} \
            noenhanced font 'DejaVu Sans Mono,13' background '#ffffff'; set output '$2'" "$1") ;;
    *.sh)
        rm -rf "$work/place"
        make_place "$tool" "$work/place" && in_place "$work/place" sh "$1" > "$work/drawing" &&
            draw_dot "$work/drawing" "$2" ;;
    *.dot)
        draw_dot "$1" "$2" ;;
    esac
}
draw_dot() {
    dot -Tsvg -Gfontname='DejaVu Sans Mono' -Nfontname='DejaVu Sans Mono' -Efontname='DejaVu Sans Mono' \
        -Gbgcolor=white -o "$2" "$1"
}

for source in "$dir"/[0-9]*.gp "$dir"/[0-9]*.dot "$dir"/[0-9]*.sh; do
    [ -e "$source" ] || continue
    name=$(basename "${source%.*}")
    : > "$work/wrong"
    if draw "$source" "$work/raw" 2> "$work/errors" && awk -f "$here/svg.awk" "$work/raw" > "$work/svg"; then
        mv "$work/svg" "$out/$name.svg"
        [ -z "$check" ] || cmp "$dir/$name.svg" "$out/$name.svg" > "$work/wrong" 2>&1
    else
        { cat "$work/errors"; echo "$source: cannot be drawn"; } > "$work/wrong"
    fi
    if [ -n "$check" ]; then
        report "figure $name.svg is what its source draws" "$work/wrong"
    elif [ -s "$work/wrong" ]; then
        cat "$work/wrong" >&2
        failed=1
    fi
done
[ -n "$check" ] || exit $failed
for picture in "$dir"/*.svg; do
    [ ! -e "$picture" ] || [ -e "$work/$(basename "$picture")" ] || echo "$picture: has no source that draws it"
done > "$work/wrong"
report "every figure has its source" "$work/wrong"
exit $failed
