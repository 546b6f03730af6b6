# How the logical addresses of first.img lie on its device, as `coppice dump` tells of its chunk tree.
# Both columns have one scale.
xz -dc "$COPPICE/tests/images/first.img.xz" > first.img || exit 1
coppice dump first.img chunk > chunks && coppice info first.img > info || exit 1
awk '
    BEGIN { MiB = 2^20; inch = 6 / (128 * MiB); left = 0; right = 4.3; width = 1.7
            colour["DATA"] = "#f4dca8"; colour["SYSTEM"] = "#c0c0c0"; colour["METADATA"] = "#88b0d8" }
    function y(bytes) { return -bytes * inch }
    function box(name, x, from, to, style, label) {
        printf "  %s [shape=box, fixedsize=true, pos=\"%.3f,%.4f!\", width=%.2f, height=%.4f, %s, label=\"%s\"];\n",
            name, x, y((from + to) / 2), width, (to - from) * inch, style, label
    }
    function words(name, x, bytes, label) {
        printf "  %s [shape=plaintext, style=\"\", pos=\"%.3f,%.4f!\", fixedsize=true, width=2, height=0.2, label=\"%s\"];\n",
            name, x, y(bytes), label
    }
    function tick(x, side, bytes) {
        ticks++
        words("tick" ticks, x + side * (width / 2 + 1.06), bytes, bytes / MiB " MiB" (side > 0 ? "\\l" : "\\r"))
    }
    $1 == "total_bytes" { device_bytes = $2 }
    $1 == "mirror" && $7 == "good" { copy[++copies] = $5 }
    $1 == "item" { logical = $7; sub(/\)/, "", logical) }
    $1 == "chunk" { bytes = $3; type = $9; base = type; sub(/\|.*/, "", base); stripes = 0; chunks++
        first[chunks] = logical; length_of[chunks] = bytes; name[chunks] = type; kind[chunks] = base }
    $1 == "stripe" { count[chunks]++; physical[chunks, count[chunks]] = $5 }
    END {
        if (!chunks || !device_bytes) exit 1
        print "graph chunks {\n  graph [layout=neato, splines=line, outputorder=edgesfirst, labelloc=t, fontsize=13,"
        print "    label=\"The chunks of first.img: logical addresses, and where their bytes lie (to scale)\\n \"];"
        print "  node [fontsize=11, style=filled, penwidth=0.6]; edge [penwidth=1.2, color=\"#444444\"];"
        words("logical", left, -5 * MiB, "logical addresses")
        words("device", right, -5 * MiB, "the device")
        end = first[chunks] + length_of[chunks]
        box("space", left, 0, device_bytes, "style=dashed", "")
        box("disk", right, 0, device_bytes, "fillcolor=\"#ffffff\"", "")
        tick(left, -1, 0); tick(left, -1, end); tick(right, 1, device_bytes)
        for (c = 1; c <= chunks; c++) {
            shade = "fillcolor=\"" colour[kind[c]] "\""
            box("chunk" c, left, first[c], first[c] + length_of[c], shade, name[c])
            tick(left, -1, first[c])
            for (s = 1; s <= count[c]; s++) {
                from = physical[c, s]
                box("stripe" c "_" s, right, from, from + length_of[c], shade,
                    kind[c] (count[c] > 1 ? ", copy " s : ""))
                tick(right, 1, from)
                print "  chunk" c ":e -- stripe" c "_" s ":w" (s > 1 ? " [style=dashed]" : "") ";"
                if (from + length_of[c] > last) last = from + length_of[c]
            }
        }
        tick(right, 1, last)
        for (s = 1; s <= copies; s++) {
            printf "  super%d [shape=box, fixedsize=true, pos=\"%.3f,%.4f!\", width=%.2f, height=0.03, "\
                "fillcolor=\"#b00000\", color=\"#b00000\", label=\"\"];\n", s, right, y(copy[s]), width + 0.1
            words("super_words" s, right + width / 2 + 1.06, copy[s], "superblock copy " s - 1 "\\l")
        }
        print "}"
    }' info chunks
