#!/bin/sh
# judge-dump.sh IMAGE [NAME]: is `coppice dump` right about this image? The judge is dump-tree of
# btrfs-progs: both dumps go into one normal form (theirs.awk tells which), line for line the same.
# Besides: the blocks of all trees are those of the extent tree (sums.awk); a sound image gives exit 0
# and no warning; and where the image is small, the JSON form has the same keys in the same order, and
# the trees asked for one by one (those that one name tells) give together what all give at once.
# One TAP line with what was compared. JUDGE_KEEP=DIR keeps the normal form there, as NAME.
. "$(dirname "$0")/oracle.sh"
image=${1:?usage: judge-dump.sh IMAGE [NAME]}
name=${2:-$(basename "$image" .img)}
open_work

# In lines of the normal form: jq reads some 20,000 a second.
small=30000

# Both dumps at once: there are two processors.
{ btrfs inspect-internal dump-tree --dfs "$image" 2> "$work/their-errors"; echo $? > "$work/their-status"; } |
    awk -f "$oracle/theirs.awk" > "$work/theirs" &
{ "$coppice" dump "$image" 2> "$work/our-errors"; echo $? > "$work/our-status"; } |
    awk -f "$oracle/ours.awk" > "$work/ours"
wait

if grep -q 'unsupported .*features' "$work/their-errors"; then
    echo "ok - dump of $name # SKIP dump-tree cannot read it: $(grep -m 1 unsupported "$work/their-errors")"
    exit 0
fi

{
    [ "$(cat "$work/our-status")" = 0 ] || echo "coppice dump: exit status $(cat "$work/our-status")"
    [ "$(cat "$work/their-status")" = 0 ] || echo "dump-tree: exit status $(cat "$work/their-status")"
    head -n 3 "$work/our-errors"
    [ -s "$work/theirs" ] || echo "dump-tree: nothing to compare with"
    if ! cmp -s "$work/theirs" "$work/ours"; then
        echo "the dumps differ (-: dump-tree, +: coppice):"
        diff -a -U 0 "$work/theirs" "$work/ours" | grep -av '^\(---\|+++\|@@\)' | head -n 12
        head -n 3 "$work/their-errors"
    fi
} > "$work/faults"

awk -f "$oracle/sums.awk" "$work/ours" > "$work/sums"
grep '^#' "$work/sums" | sed 's/^# //' >> "$work/faults"
sums=$(grep -v '^#' "$work/sums")

# The other ways to ask, of small images.
if [ "$(wc -l < "$work/ours")" -le $small ]; then
    "$coppice" dump --json "$image" > "$work/json" || echo "coppice dump --json failed" >> "$work/faults"
    jq -r 'select(.what != "pointer") | .key' "$work/json" > "$work/json-keys" 2>> "$work/faults" ||
        echo "jq cannot read the JSON form" >> "$work/faults"
    sed -n 's/^[^|]*|\(([^)]*)\)|item slot=.*/\1/p' "$work/theirs" | diff - "$work/json-keys" > "$work/json-diff" || {
        echo "the keys of the JSON form differ (<: dump-tree, >: coppice):"
        head -n 5 "$work/json-diff"
    } >> "$work/faults"
    "$coppice" dump "$image" | awk '/^tree name / { one = $3 !~ /^(log|reloc)/; if (one) print $3 > names } one' \
        names="$work/names" - > "$work/at-once"
    while read -r tree; do "$coppice" dump "$image" "$tree"; done < "$work/names" > "$work/one-by-one"
    cmp -s "$work/at-once" "$work/one-by-one" || echo "the trees one by one differ from all at once" >> "$work/faults"
    sums="$sums; JSON, tree by tree"
fi

[ -z "${JUDGE_KEEP-}" ] || cp "$work/ours" "$JUDGE_KEEP/$name"
check "dump of $name: $sums" "$work/faults"
exit $failed
