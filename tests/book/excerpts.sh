#!/bin/sh
# excerpts.sh fill|check [ROOT]: the excerpts of book.md, README.md and the chapters. fill rewrites the
# blocks from the source; check compares and speaks TAP. excerpts.awk says what is an error,
# definitions.awk what a name stands for. fill leaves a chapter with an error as it was, exits 1.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
cd "${2:-$here/../..}" || exit 1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT || exit 1

for chapter in book.md README.md $(sh "$here/chapters.sh"); do
    [ "$chapter" != README.md ] || [ -e README.md ] || continue
    : > "$work/errors"
    awk -v errors="$work/errors" -f "$here/definitions.awk" -f "$here/excerpts.awk" "$chapter" \
        > "$work/new" || echo "$chapter: cannot be read" >> "$work/errors"
    if [ "$1" = check ]; then
        diff -u "$chapter" "$work/new" | sed 1,2d >> "$work/errors"
        report "excerpts of $chapter ($(grep -c '^<!-- excerpt' "$work/new"))" "$work/errors"
    elif [ -s "$work/errors" ]; then
        cat "$work/errors" >&2
        failed=1
    elif ! cmp -s "$chapter" "$work/new"; then
        cat "$work/new" > "$chapter"
        echo "refilled $chapter"
    fi
done
exit $failed
