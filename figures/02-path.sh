# The path of one search in tall.img: `coppice find` tells block and slot of each level, `coppice dump`
# the keys beside them.
xz -dc "$COPPICE/tests/images/tall.img.xz" > tall.img || exit 1
coppice find tall.img fs 1757 INODE_ITEM 0 > found || exit 1
coppice dump tall.img fs > dump || exit 1
awk '
    # found: tree fs key (1757 INODE_ITEM 0)
    NR == FNR && $1 == "find" { wanted = $0; sub(/.* key /, "", wanted); sub(/ found.*/, "", wanted) }
    NR == FNR && ($1 == "node" || $1 == "leaf") {
        block[++blocks] = $3; level[$3] = $5; nritems[$3] = $7; slot[$3] = $9
    }
    NR == FNR { next }
    # dump
    $1 == "node" || $1 == "leaf" { now = $3 }
    (now in slot) && ($1 == "pointer" || $1 == "item") && $2 == "slot" {
        key = $0; sub(/.* key /, "", key); sub(/\).*/, ")", key)
        keys[now, $3] = key
    }
    function row(text, port, colour) {
        return sprintf("<tr><td align=\"left\" port=\"%s\" bgcolor=\"%s\">%s</td></tr>", port, colour, text)
    }
    function table(b,    rows, s, first, last, at, name) {
        at = slot[b]; first = at - 3; last = at + 3
        if (first < 0) first = 0
        if (last > nritems[b] - 1) last = nritems[b] - 1
        name = level[b] ? "node" : "leaf"
        rows = row("<b>" name " " b "</b>", "top", "#d8d8d8") \
               row("level " level[b] ", " nritems[b] (level[b] ? " pointers" : " items"), "sub", "#d8d8d8")
        if (first > 0) rows = rows row("... " first " before", "before", "#ffffff")
        for (s = first; s <= last; s++)
            rows = rows row(s == at ? "<b>" s "  " keys[b, s] "</b>" : s "  " keys[b, s], s == at ? "hit" : "s" s,
                            s == at ? (level[b] ? "#88b0d8" : "#e8c070") : "#ffffff")
        if (last < nritems[b] - 1) rows = rows row("... " nritems[b] - 1 - last " behind", "behind", "#ffffff")
        return "<table border=\"0\" cellborder=\"1\" cellspacing=\"0\" cellpadding=\"4\">" rows "</table>"
    }
    END {
        if (!blocks) exit 1
        print "digraph path {\n  graph [rankdir=LR, nodesep=0.2, ranksep=0.45, labelloc=t, fontsize=12,"
        print "    label=\"The way to " wanted " in the fs tree of tall.img: slot and key at each level\\n \"];"
        print "  node [shape=plaintext, fontsize=10]; edge [color=\"#12304d\", penwidth=1.4, arrowsize=0.7];"
        for (i = 1; i <= blocks; i++) {
            printf "  b%d [label=<%s>];\n", block[i], table(block[i])
            if (i > 1) printf "  b%d:hit:e -> b%d:top:w;\n", block[i - 1], block[i]
        }
        print "}"
    }' found dump
