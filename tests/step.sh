#!/bin/sh
# step.sh NAME SECONDS COMMAND...: one step of a test run, for tally.awk. Runs the command with a time
# limit and prints its TAP between two marks. A step that ends with a status other than 0 and no "not ok"
# line has died: it gets one. So does a step that printed no test at all.
name=$1 limit=$2
shift 2
output=$(mktemp) && trap 'rm -f "$output"' EXIT || exit 1

echo "#: step $name"
start=$(date +%s)
timeout -k 10 "$limit" "$@" > "$output" 2>&1 < /dev/null
status=$?
cat "$output"
[ -z "$(tail -c 1 "$output" | tr '\0' x)" ] || echo
if [ $status -ne 0 ] && ! grep -aq '^not ok' "$output"; then
    [ $status -ne 124 ] || status="$status: no end within $limit s"
    echo "not ok - $name (exit status $status)"
elif ! grep -aqE '^(not )?ok ' "$output"; then
    echo "not ok - $name (no tests)"
fi
echo "#: end $(($(date +%s) - start))"
