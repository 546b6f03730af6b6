#!/bin/sh
# suites.sh RUNNER FOLDER: runs those suites of a test runner whose files FOLDER/test_NAME.c lie in one room;
# TAP. The suite of test_NAME.c is called NAME; one of another name would never run, and fails here.
runner=$1
failed=0
for file in "$2"/test_*.c; do
    name=$(basename "$file" .c)
    output=$(CK_RUN_SUITE=${name#test_} "$runner") || failed=1
    echo "$output"
    case $output in
    *ok\ *) ;;
    *) echo "not ok - $file: the runner died, or has no suite ${name#test_}" && failed=1 ;;
    esac
done
exit $failed
