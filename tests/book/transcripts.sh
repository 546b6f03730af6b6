#!/bin/sh
# transcripts.sh check|fill TOOL CHAPTER.md...: runs the console blocks of each chapter in order, in one
# fresh folder, with coppice = TOOL. check compares byte for byte, a line of TAP for each chapter; fill
# rewrites the outputs. A block holds `$ command` lines (a line that ends in a backslash goes on after
# "> "), what they print on both outputs, and `[exit N]` where the status is not 0. Folder and variables
# stay from one command to the next. Each has 60 seconds (LIMIT).
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
. "$here/place.sh"
mode=$1 tool=$2 limit=${LIMIT:-60}
shift 2
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT || exit 1

pass() {
    awk -v mode="$1" -v dir="$work/commands" -v errors="$work/errors" -f "$here/transcripts.awk" "$chapter"
}
run_commands() {
    while [ -e "$work/commands/$n.command" ]; do
        in_place "$work/place" timeout -k 1 "$limit" sh "$here/command.sh" "$work/state" \
            "$work/commands/$n.command" > "$work/commands/$n.output" 2>&1
        status=$?
        echo $status > "$work/commands/$n.status"
        [ $status -ne 124 ] && [ $status -ne 137 ] ||
            { echo "no end within $limit s:"; cat "$work/commands/$n.command"; } >> "$work/errors"
        [ -z "$(tail -c 1 "$work/commands/$n.output" | tr '\0' x)" ] ||
            printf '\n[no newline at the end]\n' >> "$work/commands/$n.output"
        n=$((n + 1))
    done
}

for chapter; do
    n=1
    rm -rf "${work:?}"/* && mkdir "$work/commands" && : > "$work/errors"
    make_place "$tool" "$work/place" 2>> "$work/errors" &&
        pass commands > "$work/new" && run_commands && pass render > "$work/new" ||
        echo "$chapter: not run" >> "$work/errors"
    if [ "$mode" = check ]; then
        diff -u "$chapter" "$work/new" | sed 1,2d >> "$work/errors"
        report "transcripts of $chapter with $tool ($((n - 1)) commands)" "$work/errors"
    elif [ -s "$work/errors" ]; then
        cat "$work/errors" >&2
        failed=1
    elif ! cmp -s "$chapter" "$work/new"; then
        cat "$work/new" > "$chapter"
        echo "refilled $chapter"
    fi
done
exit $failed
