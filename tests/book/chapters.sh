#!/bin/sh
# chapters.sh [ROOT]: the chapters in their order, as paths from ROOT. The list of links in book.md is
# the only place that states the order.
awk '/^ *([-*]|[0-9]+\.) / {
    while (match($0, /\]\(chapters\/[^)#]+\.md/)) {
        name = substr($0, RSTART + 2, RLENGTH - 2)
        if (!(name in seen)) print name
        seen[name] = 1
        $0 = substr($0, RSTART + RLENGTH)
    }
}' "${1:-.}/book.md"
