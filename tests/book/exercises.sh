#!/bin/sh
# exercises.sh: every exercise can be solved, and its answer solves it. TAP. One with a stub: the stub
# compiles, the test fails with it (else the test has no teeth), the patch applies, and the test passes
# with the answer. One that changes the book's files: the patch applies to the source, and the unit tests
# of the chapter pass with the changed files. exercise.sh says what an exercise is.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
cd "$here/../.." || exit 1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT || exit 1

# try WANTED NAME [DIR]: notes an error when the exercise ends with another status.
try() {
    wanted=$1
    shift
    sh "$here/exercise.sh" "$@" > "$work/output" 2>&1
    status=$?
    [ $status -eq "$wanted" ] && return
    echo "status $status, not $wanted:" >> "$work/errors"
    grep -v '^ok ' "$work/output" >> "$work/errors"
}
apply() {
    patch -f -s -F0 "$@" >> "$work/errors" 2>&1 || echo "the patch does not apply" >> "$work/errors"
}
for exercise in tests/[0-9][0-9]-*/exercises/*; do
    [ -d "$exercise" ] || continue
    name=$(basename "$exercise")
    rm -rf "${work:?}"/* && mkdir "$work/mine" "$work/tree" && : > "$work/errors"
    if [ -e "$exercise/$name.c" ]; then
        try 1 "$name"
        grep -q '^not ok' "$work/output" || echo "its test does not fail with the stub" >> "$work/errors"
        report "exercise $name: the stub compiles, its test fails" "$work/errors"
        : > "$work/errors"
        apply -o "$work/mine/$name.c" "$exercise/$name.c" "$exercise/$name.patch"
    else
        cp -R src "$work/tree"
        apply -p1 -d "$work/tree" < "$exercise/policy.patch"
        for file in $(sed -n 's|^+++ b/\([^	 ]*\).*|\1|p' "$exercise/policy.patch"); do
            cp "$work/tree/$file" "$work/mine/"
        done
    fi
    [ -s "$work/errors" ] || try 0 "$name" "$work/mine"
    report "exercise $name: the answer passes" "$work/errors"
done
exit $failed
