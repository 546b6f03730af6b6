#!/bin/sh
# make-book.sh OUT [ROOT]: the forms of the book. OUT/book.html, one page that needs no other file;
# OUT/html/, a page for each chapter, index.html first; OUT/book.epub; OUT/book.pdf. Title and order come
# from book.md. The same text gives the same bytes: the date is SOURCE_DATE_EPOCH where that is set, else
# that of the last commit.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "${2:-$here/../..}"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1767225600)}
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chapters=$(sh "$here/chapters.sh")

title_of() { sed -n 's/^# //p' "$1" | head -n 1 | tr -d '`'; }
# prepare PAGE [split]: the page's Markdown with the book's own anchors, links and captions.
prepare() {
    LC_ALL=C awk -v split_pages="${2-}" -f "$here/pages.awk" -f "$here/book.awk" book.md $chapters pass=2 "$1"
}
convert() {
    pandoc -f gfm+attributes-emoji -s --metadata lang=en --toc --toc-depth=2 --highlight-style=monochrome "$@"
}

# One page, and from it the PDF and the EPUB.
title=$(title_of book.md)
for page in book.md $chapters; do
    prepare "$page"
    echo
done > "$work/book.md"
convert --metadata title="$title" --self-contained --css="$here/book.css" -t html5 \
    -o "$out/book.html" "$work/book.md"
weasyprint -q "$out/book.html" "$out/book.pdf"
convert --metadata title="$title" --metadata identifier="$title" --css="$here/book.css" -t epub3 \
    --epub-chapter-level=1 -o "$out/book.epub" "$work/book.md"

# A page for each chapter, with links to its neighbours.
page_of() { [ "$1" = book.md ] && echo index.html || echo "$(basename "$1" .md).html"; }
link() { # link BEFORE PAGE AFTER
    [ -z "$2" ] && echo '<span></span>' || echo "<a href=\"$(page_of "$2")\">$1$(title_of "$2")$3</a>"
}
rm -rf "$out/html"
mkdir -p "$out/html/figures"
cp "$here/book.css" "$out/html/"
for picture in figures/*.svg; do [ ! -e "$picture" ] || cp "$picture" "$out/html/figures/"; done
previous=
set -- book.md $chapters
while [ $# -gt 0 ]; do
    {
        echo '<nav class="pages">'
        link '← ' "$previous" ''
        [ "$previous" = book.md ] || [ "$1" = book.md ] || link '' book.md ''
        link '' "${2-}" ' →'
        echo '</nav>'
    } > "$work/nav"
    sed 's/class="pages"/class="pages end"/' "$work/nav" > "$work/nav.end"
    prepare "$1" split > "$work/page.md"
    convert --metadata pagetitle="$(title_of "$1")" --css=book.css -B "$work/nav" -A "$work/nav.end" \
        -t html5 -o "$out/html/$(page_of "$1")" "$work/page.md"
    previous=$1
    shift
done
