#!/bin/sh
# exercise.sh NAME [DIR]: builds the test of an exercise with DIR/NAME.c (no DIR: with the stub) and the
# objects of its chapter, runs it, prints TAP. Status 0: solved; 1: not yet; 2: it cannot be built.
#
# An exercise is a folder tests/NN-room/exercises/NAME. One that adds code holds NAME.c, the stub; NAME.h
# with its prototype; test_NAME.c with suite_NAME; NAME.patch, the answer. One that changes a file of the
# book holds policy.patch, the answer, alone: DIR then has the changed files, and the unit tests of chapter
# NN are the judge.
cd "$(dirname "$0")/../.." || exit 2
name=$1 mine=${2:+$(cd "$2" && pwd)}
make="make -s -j2 --no-print-directory SANITIZE="
exercise=$(ls -d tests/[0-9][0-9]-*/exercises/"$name" 2>/dev/null)
[ -n "$exercise" ] || { echo "no exercise $name; there are:" tests/[0-9]*/exercises/* >&2; exit 2; }
number=$(expr "$exercise" : 'tests/\(..\)')

if [ ! -e "$exercise/$name.c" ]; then
    tests=build${mine:+/mine}/$number/tests
    $make MINE="$mine" "$tests" >&2 || exit 2
    "$tests" || exit 1
    exit 0
fi

answer=${mine:-$exercise}/$name.c
[ -e "$answer" ] || { echo "no $answer: copy $exercise/$name.c there and fill it in" >&2; exit 2; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT || exit 2
eval "$($make MINE= print-CC print-COMPILE print-CHECK_LIBS print-LIBS "print-INCLUDES_$number" \
    "print-OBJECTS_$number" "print-SUPPORT_$number")"
eval "includes=\$INCLUDES_$number objects=\"\$OBJECTS_$number \$SUPPORT_$number\""
objects="build/obj/runner.o build/$number/tables.o $objects"
echo "$exercise/test_$name.c" | awk -f src/tables.awk > "$work/suites.c"
$make MINE= $objects >&2 || exit 2
for source in "$answer" "$exercise/test_$name.c" "$work/suites.c"; do
    $COMPILE $includes -I"$exercise" -DTEST_IMAGES="\"$PWD/tests/images\"" -MF "$work/depends" \
        -c -o "$work/$(basename "$source" .c).o" "$source" || exit 2
done
$CC -o "$work/tests" "$work"/*.o $objects $CHECK_LIBS $LIBS || exit 2
"$work/tests" || exit 1
