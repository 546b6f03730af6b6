# Where the copies of the superblock lie, as `coppice info` tells of first.img. Places on a log scale.
xz -dc "$COPPICE/tests/images/first.img.xz" > first.img || exit 1
coppice info first.img > info || exit 1
awk '
    $1 == "total_bytes" { size = $2 }
    $1 == "mirror" { number = $3; place[number] = $5; state[number] = $7 }
    function across(bytes) { return log(bytes / 16384) / log(2) * 0.36 }
    function text(bytes) {
        return bytes < 2^20 ? bytes / 2^10 " KiB" : bytes < 2^30 ? bytes / 2^20 " MiB" : bytes / 2^30 " GiB"
    }
    function box(from, to, style) {
        printf "  box%d [shape=box, fixedsize=true, pos=\"%.3f,0!\", width=%.3f, height=0.6, %s, label=\"\"];\n",
            ++boxes, (from + to) / 2, to - from, style
    }
    function words(at, y, label) {
        printf "  words%d [shape=plaintext, style=\"\", pos=\"%.3f,%.2f!\", label=\"%s\"];\n", ++texts, at, y, label
    }
    # Words below the bar, `rows` rows down, and a line from the bar to them.
    function tick(bytes, rows, label) {
        ticks++
        printf "  top%d [shape=point, width=0.005, pos=\"%.3f,-0.3!\"];\n", ticks, across(bytes)
        printf "  foot%d [shape=point, width=0.005, pos=\"%.3f,%.2f!\"];\n", ticks, across(bytes), -0.12 - 0.33 * rows
        printf "  top%d -- foot%d;\n", ticks, ticks
        words(across(bytes), -0.27 - 0.33 * rows, label)
    }
    END {
        if (!size || !(2 in place)) exit 1
        print "graph layout {\n  graph [layout=neato, splines=line, outputorder=nodesfirst, labelloc=t, fontsize=13,"
        print "    label=\"Where the copies of the superblock lie (log scale; the copies, 4 KiB each, are drawn wider)\\n \"];"
        print "  node [fontsize=11, style=filled, penwidth=0.6]; edge [color=\"#666666\", penwidth=0.6];"
        end = across(2^40)
        box(0, across(2^20), "fillcolor=\"#d8d8d8\"")
        box(across(2^20), across(size), "fillcolor=\"#f4dca8\"")
        box(across(size), end, "style=dashed")
        words(across(2^20) / 2, 1.0, "the first MiB:\\nno chunk lies here")
        words((across(2^20) + across(place[1])) / 2, 1.0, "chunks: tree blocks\\nand data")
        words((across(size) + across(place[2])) / 2, 1.0, "only on a longer device")
        for (number = 0; number < 3; number++) {
            good = state[number] == "good"
            at = across(place[number])
            box(at - 0.1, at + 0.1, good ? "fillcolor=\"#12304d\"" : "fillcolor=\"#ffffff\", penwidth=1.5, color=\"#12304d\"")
            words(at, 0.48, "copy " number)
            tick(place[number], 1, text(place[number]))
        }
        tick(2^20, 1, text(2^20))
        tick(size, 2, "end of first.img: " text(size))
        words(across(place[2]), -0.93, "first.img ends before it")
        words(0, -0.6, "0")
        words(end, -0.6, "1 TiB")
        print "}"
    }' info
