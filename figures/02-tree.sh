# The fs tree of tall.img as `coppice dump --dot` draws it, with the keys of the pointers written into
# the blocks they lead to, and of the leaves below a node only the first and the last.
xz -dc "$COPPICE/tests/images/tall.img.xz" > tall.img || exit 1
coppice dump tall.img fs --dot > tree.dot || exit 1
awk '
    { child = $3; sub(/;$/, "", child) }
    # The first time through: the keys, how many leaves hang from each node, which are left out.
    NR == FNR {
        if (/label="leaf/) is_leaf[$1] = 1
        if (/ -> /) { child_of[++links] = child; parent_of[links] = $1 }
        if (/ -> .*label=/) { key = $0; sub(/.*label="/, "", key); sub(/".*/, "", key); key_of[child] = key }
        next
    }
    FNR == 1 {
        for (i = 1; i <= links; i++) if (is_leaf[child_of[i]]) number[child_of[i]] = ++count[parent_of[i]]
        for (i = 1; i <= links; i++) {
            child = child_of[i]
            if (number[child] > 1 && number[child] < count[parent_of[i]]) dropped[child] = 1
        }
    }
    /nodesep=/ { sub(/ranksep=[0-9.]*/, "ranksep=0.5, labelloc=t, fontsize=13, label=\"The fs tree of tall.img: all nodes, and the first and last leaf below each\\n \"") }
    / -> / && dropped[child] {
        if (number[child] == 2) {
            printf "  more%s [shape=plaintext, style=\"\", label=\"... %d more leaves ...\"];\n", $1, count[$1] - 2
            printf "  %s -> more%s [style=dashed, arrowhead=none];\n", $1, $1
        }
        next
    }
    dropped[$1] { next }
    / -> / { sub(/ \[label=.*/, ";") }
    $1 in key_of && / \[label=/ { sub(/", fillcolor/, "\\nfrom " key_of[$1] "&") }
    { print }' tree.dot tree.dot
