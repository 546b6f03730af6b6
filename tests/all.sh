#!/bin/sh
# all.sh [STEP...]: make test. Runs every step, or those named, whatever happens to the others; everything
# speaks TAP; tally.awk shows what failed and ends with "N passed, N failed, N skipped". The whole
# output stays in build/test.log. Each step has a time limit (its second word). FUZZ_SECONDS, 60, is
# shared among the fuzzers. A part of the house that has no file yet is a skipped test, and says so.
#
# Unit tests: each chapter runs those of its own room, linked with what stands at that point; the last one
# runs all, and once more under the sanitizers. (make chapter-N runs 0..N; for every N that would repeat the
# first rooms many times over.)
cd "$(dirname "$0")/.." || exit 1
only=$*
make="make -s -j2 --no-print-directory SANITIZE= MINE="
rooms=$(ls src | sed -n 's/^\([0-9][0-9]\)-.*/\1/p')
last=$(echo "$rooms" | tail -n 1)
chapters=$([ ! -e book.md ] || sh tests/book/chapters.sh)
transcripts="sh tests/book/transcripts.sh check"
with_console=$([ -z "$chapters" ] || grep -l '^```console' $chapters)

chosen() {
    for step in $only; do [ "$step" != "${1%% *}" ] || return 0; done
    [ -z "$only" ]
}
step() { ! chosen "$1" || sh tests/step.sh "$@"; }
absent() { ! chosen "$1" || echo "ok - $1 # SKIP nothing of this kind in the tree yet"; }
exists() { [ -e "$1" ]; } # given a pattern: does a file match?

# A target of make as a test.
build() {
    step "build $1" 1200 sh -c 'what=$1; shift; "$@" && echo "ok - build $what"' sh "$1" $make $2
}

all() {
    for room in $rooms; do
        build "$room" "build/$room/coppice build/$room/tests"
    done
    build coppice build/coppice
    build sanitized "SANITIZE=1 build/sanitize/$last/tests"
    for room in $rooms; do
        [ "$room" = "$last" ] || step "unit $room" 600 sh tests/suites.sh "build/$room/tests" tests/"$room"-*
    done
    step "unit all" 1200 "build/$last/tests"
    step "unit sanitized" 1200 env ASAN_OPTIONS=detect_leaks=1 CK_TIMEOUT_MULTIPLIER=8 \
        "build/sanitize/$last/tests"

    # The book: transcripts with the tool of their own chapter and with the final one.
    [ -n "$with_console" ] || absent transcripts
    for chapter in $with_console; do
        room=$(expr "$chapter" : 'chapters/\([0-9][0-9]\)-')
        [ -z "$room" ] ||
            step "transcripts $room" 600 $transcripts "build/$room/coppice" "$chapter"
    done
    [ -z "$with_console" ] || step "transcripts final" 1200 $transcripts build/coppice $with_console
    if exists book.md; then step book 300 sh tests/book/check-book.sh; else absent book; fi
    step "faults planted" 300 sh tests/book/test_book.sh
    if exists tests/[0-9]*/exercises; then
        step exercises 1200 sh tests/book/exercises.sh
    else absent exercises; fi

    # The figures: their data and their drawings.
    if exists tests/[0-9]*/bench_*.c; then
        build benchmarks bench-programs
        eval "$($make print-BENCH_PROGRAMS)"
        step counts 600 sh tests/book/counts.sh figures/data $BENCH_PROGRAMS
    else absent counts; fi
    if exists figures/[0-9]*; then
        step figures 300 sh tests/book/figures.sh --check figures
    else absent figures; fi

    # The command line.
    step cli 300 sh tests/cli/test_cli.sh build/coppice

    # The judges: btrfs check, the kernel, other readers.
    exists tests/oracle/test_*.sh || absent oracle
    for oracle in tests/oracle/test_*.sh; do
        ! exists "$oracle" || step "oracle $(basename "$oracle" .sh)" 900 "$oracle"
    done

    if ! exists tests/[0-9]*/fuzz_*.c; then
        absent fuzz
    elif ! command -v clang > /dev/null; then
        echo "ok - fuzz # SKIP clang is not installed"
    else
        eval "$($make print-FUZZ_PROGRAMS)"
        build fuzzers "$FUZZ_PROGRAMS"
        share=$((${FUZZ_SECONDS:-60} / $(echo "$FUZZ_PROGRAMS" | wc -w)))
        step fuzz 1200 sh tests/fuzz.sh $((share > 0 ? share : 1)) $FUZZ_PROGRAMS
    fi
    echo '#: done'
}
mkdir -p build
all | tee build/test.log | awk -f tests/tally.awk
