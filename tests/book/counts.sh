#!/bin/sh
# counts.sh DATA PROGRAM...: the seeded data of the figures are what the benchmarks print today: compares
# DATA/NN-WHAT.counts.csv byte for byte with `PROGRAM counts`, a line of TAP for each. Times are samples
# and never compared.
. "$(dirname "$0")/tap.sh"
data=$1
shift
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT || exit 1

for program; do
    file=$data/$(basename "$program").counts.csv
    echo "$file" >> "$work/made"
    "$program" counts > "$work/csv" < /dev/null 2> "$work/errors"
    status=$?
    if [ $status -eq 3 ] && [ ! -s "$work/csv" ]; then
        [ ! -e "$file" ] || echo "$program has no counts" >> "$work/errors"
        [ ! -e "$file" ] || report "$file" "$work/errors"
        continue
    fi
    [ $status -eq 0 ] || echo "$program counts: status $status" >> "$work/errors"
    diff "$file" "$work/csv" >> "$work/errors" 2>&1
    report "$file is what $program prints" "$work/errors"
done
for file in "$data"/*.counts.csv; do
    [ ! -e "$file" ] || grep -qxF "$file" "$work/made" || echo "$file: no benchmark makes it"
done > "$work/wrong"
report "every file of counts has its benchmark" "$work/wrong"
exit $failed
