#!/bin/sh
# test_book.sh: the proof that the machinery of the book catches what it is there to catch. A miniature book
# passes each check; then, for each fault, the fault is planted in a copy, and the same check must fail and
# say why. TAP.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT || exit 1
book=$work/book

# The miniature: a room of the heart, one that is not, two chapters, a tool, two figures, a benchmark, a step.
make_book() {
    mkdir -p "$book/src/01-leaf" "$book/src/06-space" "$book/chapters" "$book/figures/data"
    cd "$book" || exit 1
    printf '%s\n' '# Mini' '' 'See [part one](chapters/01-leaf.md#the-size).' '' \
        '1. [Leaf](chapters/01-leaf.md)' '2. [Space](chapters/06-space.md)' > book.md
    cat > src/01-leaf/leaf.c <<'END'
/* Owns the size of a leaf. */
#include "leaf.h"

/* Sizes. */
#define LEAF_SIZE 4096
#define LEAF_TWICE \
    (2 * LEAF_SIZE)

/* A row of names; "{" in a string and '}' in a character are no braces. */
static const char *const names[] = {
    "{", /* } */
};

/* The size. */
int leaf_size(int n)
{
    /* excerpt leaf_sum */
    if (n)
        return LEAF_SIZE + '}';
    /* end leaf_sum */
    return 0;
}
END
    printf '%s\n' 'int space_all(void)' '{' '    return 1;' '}' '' 'static int hidden(void)' '{' '    return 2;' '}' > src/06-space/space.c
    printf '%s\n' '# Leaf' '' '## The size' '' '![Tree](../figures/01-tree.svg) ![Plot](../figures/01-plot.svg)' '' \
        '<!-- excerpt src/01-leaf/leaf.c top-comment LEAF_TWICE names leaf_size -->' '```c' '```' '' \
        '<!-- excerpt src/01-leaf/leaf.c leaf_sum -->' '```c' '```' '' '```console' '$ x=3; cd /' \
        '$ coppice one; \' '> echo $x' '$ coppice fail' '```' > chapters/01-leaf.md
    printf '%s\n' '# Space' '' 'See [the leaf](01-leaf.md).' '' '**Not shown**' '' '- `space.c`: `space_all`: it is plain.' > chapters/06-space.md
    printf '%s\n' '#!/bin/sh' 'case $1 in fail) echo "coppice: no" >&2; exit 2 ;; hang) sleep 50 ;; *) echo "$1 told" ;; esac' > tool
    printf '%s\n' 'coppice dot > /dev/null; echo "digraph { a -> b_c }"' > figures/01-tree.sh
    printf '%s\n' "plot 'data/01-split.counts.csv' using 1:2 with linespoints" > figures/01-plot.gp
    printf '%s\n' '#!/bin/sh' '[ "$1" = counts ] || exit 3; echo "1 2"; echo "3 4"' > 01-split
    printf '%s\n' '#!/bin/sh' 'echo "ok 1 - fine"' > step
    chmod +x tool 01-split step
    ./01-split counts > figures/data/01-split.counts.csv
    { sh "$here/excerpts.sh" fill . && sh "$here/transcripts.sh" fill ./tool chapters/*.md &&
        TOOL=./tool sh "$here/figures.sh" figures; } > /dev/null
}

excerpts() { sh "$here/excerpts.sh" check .; }
book() { sh "$here/check-book.sh" .; }
transcripts() { LIMIT=2 sh "$here/transcripts.sh" check ./tool chapters/01-leaf.md; }
figures() { TOOL=./tool sh "$here/figures.sh" --check figures; }
counts() { sh "$here/counts.sh" figures/data ./01-split; }
steps() { { sh "$here/../step.sh" mini 2 ./step; [ -e cut ] || echo '#: done'; } | awk -f "$here/../tally.awk"; }

# fault CHECK WHAT MESSAGE PLANT: PLANT is shell, run in a copy of the miniature.
fault() {
    rm -rf "$work/copy" && cp -R "$book" "$work/copy" && cd "$work/copy" || exit 1
    eval "$4"
    ! $1 > "$work/output" 2>&1 || echo "the fault passes" >> "$work/wrong"
    grep -q '^not ok' "$work/output" && grep -qF -- "$3" "$work/output" ||
        { echo "nothing says: $3"; cat "$work/output"; } >> "$work/wrong"
    report "$1: $2" "$work/wrong"
    : > "$work/wrong"
}
edit() { sed "$1" "$2" > "$work/edited" && cat "$work/edited" > "$2"; }

make_book
: > "$work/wrong"
for check in excerpts book transcripts figures counts steps; do
    $check > "$work/output" 2>&1 || cat "$work/output" > "$work/wrong"
    report "$check: the miniature without a fault" "$work/wrong"
    : > "$work/wrong"
done

fault excerpts 'code changed by a byte' '+    return 1;' "edit 's/return 0;/return 1;/' src/01-leaf/leaf.c"
fault excerpts 'chapter changed by a byte' '-    return 7;' "edit 's/return 0;/return 7;/' chapters/01-leaf.md"
fault excerpts 'a space at the end of a row' '+}' "edit 's/^}\$/} /' chapters/01-leaf.md"
fault excerpts 'a name missing' 'no definition named leaf_big' "edit 's/names leaf_size/names leaf_big/' chapters/01-leaf.md"
fault excerpts 'a name found twice' 'name leaf_size found twice' "printf '\n%s\n' 'static int leaf_size;' >> src/01-leaf/leaf.c"
fault excerpts 'a definition named twice' 'LEAF_SIZE stands with LEAF_TWICE, which is shown already' "edit 's/LEAF_TWICE names/LEAF_TWICE LEAF_SIZE names/' chapters/01-leaf.md"
fault excerpts 'a file missing' 'leaf.h: no such file' "edit 's/leaf.c leaf_sum/leaf.h leaf_sum/' chapters/01-leaf.md"
fault excerpts 'a marker without end' 'marker leaf_sum has no end' "edit '/end leaf_sum/d' src/01-leaf/leaf.c"
fault excerpts 'a block filled by hand' 'c block without an excerpt comment' "printf '%s\n' '\`\`\`c' 'int x;' '\`\`\`' >> chapters/06-space.md"
fault excerpts 'a block filled by hand, indented' 'C block without an excerpt comment' "printf '%s\n' '- x' '  \`\`\`C' '  int x;' '  \`\`\`' >> chapters/06-space.md"
fault excerpts 'an excerpt without a fence' 'no fence after it' "echo '<!-- excerpt src/01-leaf/leaf.c names -->' >> chapters/06-space.md"
fault transcripts 'output off by a byte' '+one told' "edit 's/^one told/one tolt/' chapters/01-leaf.md"
fault transcripts 'the tool prints another thing' '+one says' "edit 's/told/says/' tool"
fault transcripts 'a wrong exit status' '+[exit 2]' "edit 's/exit 2/exit 1/' chapters/01-leaf.md"
fault transcripts 'a missing exit line' '+[exit 2]' "edit '/^.exit 2/d' chapters/01-leaf.md"
fault transcripts 'a command that hangs' 'no end within 2 s' "edit 's/coppice fail/coppice hang/' chapters/01-leaf.md"
fault transcripts 'output before the first command' 'output before the first command' "edit 's/^\`\`\`console/&\nhello/' chapters/01-leaf.md"
fault transcripts 'no tool' 'not an executable' "rm tool"
fault book 'a line of the heart not shown' 'is not shown: static int more;' "printf '\n%s\n' 'static int more;' >> src/01-leaf/leaf.c"
fault book 'a function neither shown nor listed' 'function space_more is neither shown' "printf '%s\n' '' 'int space_more(void)' '{' '}' >> src/06-space/space.c"
fault book 'a list item without a reason' 'not a list item' "edit 's/: it is plain.//' chapters/06-space.md"
fault book 'listed, but no such name' 'no definition named space_none' "edit 's/space_all/space_all\`, \`space_none/' chapters/06-space.md"
fault book 'listed, but shown' 'space_all is listed as not shown, but is shown' "echo '<!-- excerpt src/06-space/space.c space_all -->' >> chapters/01-leaf.md"
fault book 'a file of the heart listed' 'cannot be listed' "printf '%s\n' '**Not shown**' '- \`leaf.c\`: whole file: dull.' >> chapters/01-leaf.md"
fault book 'a room without a chapter' 'src/07 has no chapter' "mkdir src/07-x && echo 'int y;' > src/07-x/x.c"
fault book 'a dead link' 'no such file: chapters/02-none.md' "echo 'See [it](02-none.md).' >> chapters/06-space.md"
fault book 'a dead anchor' 'no heading for #the-sizes' "edit 's/#the-size/#the-sizes/' book.md"
fault book 'an image missing' 'no such file: figures/01-plot.svg' "rm figures/01-plot.svg"
fault book 'a figure not used' 'figures/01-old.svg: nothing links to it' "cp figures/01-plot.svg figures/01-old.svg"
fault book 'a chapter not in the list' 'chapters/09-x.md: nothing links to it' "echo '# X' > chapters/09-x.md"
fault book 'an attribute' 'an attribute {#id}' "edit 's/^## The size/& {#size}/' chapters/01-leaf.md"
fault book 'a comment that is no excerpt' 'a comment that is no excerpt: <!-- to do' "echo '<!-- to do -->' >> chapters/06-space.md"
fault book 'the number of a line' 'refers to a number' "echo 'As line 12 says.' >> chapters/06-space.md"
fault figures 'a drawing that differs' '01-tree.svg differ' "edit 's/b_c/bxc/' figures/01-tree.svg"
fault figures 'data that differ' '01-plot.svg differ' "echo 5 6 >> figures/data/01-split.counts.csv"
fault figures 'a source that fails' 'cannot be drawn' "echo 'digraph {' > figures/01-bad.dot"
fault figures 'a figure without a source' '01-old.svg: has no source' "cp figures/01-plot.svg figures/01-old.svg"
fault counts 'data that differ' '> 3 4' "edit 's/3 4/3 5/' figures/data/01-split.counts.csv"
fault counts 'a benchmark that dies' 'status 1' "echo 'exit 1' >> 01-split"
fault counts 'data that no benchmark makes' 'no benchmark makes it' "cp figures/data/01-split.counts.csv figures/data/02-x.counts.csv"
fault steps 'a test that fails' '0 passed, 1 failed, 0 skipped' "echo 'echo \"not ok 1 - bad\"; exit 1' > step"
fault steps 'a step that dies' 'not ok - mini (exit status 7)' "echo 'exit 7' >> step"
fault steps 'a step that is killed' 'not ok - mini (exit status 137)' "echo 'kill -9 \$\$' >> step"
fault steps 'a step that hangs' 'no end within 2 s' "echo 'exec sleep 50' >> step"
fault steps 'a step without tests' 'not ok - mini (no tests)' "echo 'echo hello' > step"
fault steps 'a run that stops half way' 'did not come to its end' "touch cut"
exit $failed
