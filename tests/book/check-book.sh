#!/bin/sh
# check-book.sh [ROOT [TOOL]]: does the book tell the truth? Excerpts, coverage of the source, links and
# figures used; with a TOOL also the transcripts and the figures themselves. TAP; exits 1 on a fault.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
cd "${1:-$here/../..}" || exit 1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT || exit 1
chapters=$(sh "$here/chapters.sh")

sh "$here/excerpts.sh" check . || failed=1

# Coverage: a line for each file of the source.
: > "$work/errors"
awk -v errors="$work/errors" -v sources="$(echo $(find src -name '*.[ch]' | LC_ALL=C sort))" \
    -f "$here/definitions.awk" -f "$here/coverage.awk" $chapters > "$work/coverage" ||
    echo "coverage cannot be read" >> "$work/errors"
while read -r file shown total; do
    grep -F "$file " "$work/errors" > "$work/wrong"
    report "$file: $shown of $total lines shown" "$work/wrong"
done < "$work/coverage"
awk 'NR == FNR { seen[$1]; next } !($1 in seen)' "$work/coverage" "$work/errors" > "$work/wrong"
report "every room has its chapter, every list its file" "$work/wrong"

# Links: every target exists, every chapter is in the list, every figure is used.
: > "$work/errors"
pages="book.md $(ls README.md 2>/dev/null) $chapters"
awk -v errors="$work/errors" -f "$here/pages.awk" -f "$here/links.awk" $pages > "$work/links" ||
    echo "links cannot be read" >> "$work/errors"
report "anchors exist, no attributes, no numbers of lines or listings, no comments but excerpts" "$work/errors"
while IFS='	' read -r where path; do
    [ -e "$path" ] || echo "$where: no such file: $path"
done < "$work/links" > "$work/wrong"
report "every link leads to a file" "$work/wrong"
cut -f 2 "$work/links" > "$work/targets"
for file in chapters/*.md figures/*.svg; do
    [ ! -e "$file" ] || grep -qxF "$file" "$work/targets" || echo "$file: nothing links to it"
done > "$work/wrong"
report "every chapter and every figure has its place in the book" "$work/wrong"

if [ -n "$2" ]; then
    sh "$here/transcripts.sh" check "$2" $chapters || failed=1
    TOOL=$2 sh "$here/figures.sh" --check figures || failed=1
fi
exit $failed
