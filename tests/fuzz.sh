#!/bin/sh
# fuzz.sh SECONDS PROGRAM...: runs each libFuzzer program build/fuzz/NAME for SECONDS, two at a time. A line
# of TAP for each, with its number of executions. Seeds come from tests/NN-*/fuzz_NAME.corpus where there
# is one; what it learns stays in build/fuzz/NAME.corpus, an input that kills it in build/fuzz/NAME-*.
cd "$(dirname "$0")/.." || exit 1
seconds=$1
shift

fuzz() {
    name=$(basename "$1")
    mkdir -p "build/fuzz/$name.corpus"
    "$1" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 -verbosity=1 \
        -artifact_prefix="build/fuzz/$name-" "build/fuzz/$name.corpus" \
        $(ls -d tests/[0-9][0-9]-*/fuzz_"$name".corpus 2>/dev/null) > "build/fuzz/$name.log" 2>&1 < /dev/null
    echo $? > "build/fuzz/$name.status"
}
tell() {
    name=$(basename "$1")
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/$name.log")
    if [ "$(cat "build/fuzz/$name.status")" = 0 ] && [ "${executions:-0}" -gt 0 ]; then
        echo "ok - fuzz $name: $executions executions"
    else
        echo "not ok - fuzz $name: ${executions:-no} executions, status $(cat "build/fuzz/$name.status")"
        grep -aE 'ERROR|SUMMARY|runtime error|Assertion|^ +#[0-9]|Test unit written' "build/fuzz/$name.log" |
            head -n 25 | sed 's/^/# /'
        failed=1
    fi
}

failed=0
while [ $# -gt 0 ]; do
    fuzz "$1" &
    [ $# -lt 2 ] || fuzz "$2"
    wait
    tell "$1"
    [ $# -lt 2 ] || tell "$2"
    shift; [ $# -eq 0 ] || shift
done
exit $failed
