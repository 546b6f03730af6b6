#!/bin/sh
# bench-dump.sh [ROUNDS]: how fast `coppice dump` prints all trees, against dump-tree of btrfs-progs on
# the same image of 100,000 files, both to /dev/null, in 7 alternating rounds: medians, the median of the
# ratios, and the peak memory of both; the peak of ours on 50,000 files too. Not part of the tests.
. "$(dirname "$0")/oracle.sh"
reason=$(why_no_kernel)
[ -z "$reason" ] || { echo "bench-dump.sh: $reason" >&2; exit 1; }
rounds=${1:-7}
open_work
"$oracle/make-images.sh" "$work/images" hundred_thousand many || exit 1

# seconds and KiB of a run
measure() { /usr/bin/time -f '%e %U %M' -o "$work/time" "$@" > /dev/null && cat "$work/time"; }
ours() { measure "$coppice" dump "$1"; }
theirs() { measure btrfs inspect-internal dump-tree "$1"; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

image=$work/images/hundred_thousand.img
ours "$image" > /dev/null
theirs "$image" > /dev/null
for round in $(seq "$rounds"); do
    echo "$(ours "$image") $(theirs "$image")"
done > "$work/rounds"
awk '{ printf "round %d: coppice %s s, dump-tree %s s, ratio %.3f\n", NR, $1, $4, $1 / $4 }' "$work/rounds"
"$coppice" dump --stats "$image" | tail -n 1
echo "median: coppice $(awk '{ print $1 }' "$work/rounds" | median) s (user $(awk '{ print $2 }' "$work/rounds" | median) s)," \
    "dump-tree $(awk '{ print $4 }' "$work/rounds" | median) s (user $(awk '{ print $5 }' "$work/rounds" | median) s)," \
    "ratio $(awk '{ printf "%.3f\n", $1 / $4 }' "$work/rounds" | median)"
echo "peak memory, 100,000 files: coppice $(awk '{ print $3 }' "$work/rounds" | median) KiB," \
    "dump-tree $(awk '{ print $6 }' "$work/rounds" | median) KiB"
ours "$work/images/many.img" > "$work/rounds"
echo "peak memory, 50,000 files: coppice $(awk '{ print $3 }' "$work/rounds") KiB"
