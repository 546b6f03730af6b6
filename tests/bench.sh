#!/bin/sh
# bench.sh PROGRAM...: runs each benchmark build/bench/NN-WHAT and writes figures/data/NN-WHAT.counts.csv
# and .times.csv. A program is called with the kind of data, counts or times, and prints CSV; status 3
# and nothing printed: it has no such kind. A file is replaced only when the run succeeded.
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT || exit 1
mkdir -p figures/data
failed=0

for program; do
    for kind in counts times; do
        file=figures/data/$(basename "$program").$kind.csv
        "$program" $kind > "$work/csv" < /dev/null
        status=$?
        if [ $status -eq 0 ] && [ -s "$work/csv" ]; then
            cat "$work/csv" > "$file" && echo "wrote $file"
        elif [ $status -ne 3 ] || [ -s "$work/csv" ]; then
            echo "$program $kind: status $status, $file stays as it was" >&2
            failed=1
        fi
    done
done
exit $failed
