#!/bin/sh
# chapter.sh NN BUILD: what make chapter-N runs once BUILD/NN/coppice and BUILD/NN/tests are built: the
# unit tests of chapters 0..N, then the transcripts of chapters 0..N with this chapter's tool.
cd "$(dirname "$0")/.." || exit 1
number=$1 build=$2

chapters=$(for chapter in $(sh tests/book/chapters.sh 2>/dev/null); do
    case $chapter in
    chapters/[0-9][0-9]-*) [ "$(expr "$chapter" : 'chapters/\(..\)')" -gt "$number" ] || echo "$chapter" ;;
    esac
done)
run() {
    sh tests/step.sh "unit tests" 600 "$build/$number/tests"
    [ -z "$chapters" ] || sh tests/step.sh transcripts 1200 \
        sh tests/book/transcripts.sh check "$build/$number/coppice" $chapters
    echo '#: done'
}
run | awk -f tests/tally.awk || { echo "Chapter $number does not stand yet."; exit 1; }
echo "Chapter $number stands; its tool is $build/$number/coppice"
