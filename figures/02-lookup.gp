# size 800,560
set datafile separator ","
set datafile columnheaders
data = "data/02-lookup.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"

# Items in a leaf and pointers in a node, for each node size, from the data.
array in_leaf[3]
array in_node[3]
do for [i = 1:3] {
    stats data using (column("node_size") == 1024 * 4**i ? column("in_leaf") : NaN) nooutput
    in_leaf[i] = STATS_min
    stats data using (column("node_size") == 1024 * 4**i ? column("in_node") : NaN) nooutput
    in_node[i] = STATS_min
}
# The smallest h with in_leaf * in_node^(h - 1) >= items.
height(items, i) = items <= in_leaf[i] ? 1 : 1 + ceil(log(items / in_leaf[i]) / log(in_node[i]))
of(size) = column("node_size") == size ? column("items") : NaN

set multiplot layout 2,1 title "Comparisons and blocks of one lookup, by the number of items in the tree"
set logscale x
set xrange [80:13000000]
set xtics ("100" 1e2, "1,000" 1e3, "10,000" 1e4, "100,000" 1e5, "1 million" 1e6, "10 million" 1e7)
unset mxtics
set samples 1000
set grid lc rgb "#dddddd" lt 1
set lmargin 9
set key top left reverse Left samplen 2

set ylabel "comparisons"
set yrange [0:30]
plot data using (column("items")):(column("log2_items")) with lines lw 2 lc rgb "#bbbbbb" title "log2 of the items", \
     data using (of(4096)):(column("comparisons_per_lookup")) with points pt 8 ps 1.3 lc rgb orange title "nodes of 4 KiB", \
     data using (of(16384)):(column("comparisons_per_lookup")) with points pt 6 lc rgb middle title "nodes of 16 KiB", \
     data using (of(65536)):(column("comparisons_per_lookup")) with points pt 2 ps 0.7 lc rgb dark title "nodes of 64 KiB"

set ylabel "blocks"
set xlabel "items in the tree, 53 bytes of data each (log scale)"
set yrange [0:5.8]
set ytics 1
plot height(x, 1) with lines lw 5 lc rgb orange title "height by formula, 4 KiB", \
     height(x, 2) with lines lw 3 lc rgb middle title "16 KiB", \
     height(x, 3) with lines lw 1.2 lc rgb dark title "64 KiB", \
     data using (of(4096)):(column("blocks_per_lookup")) with points pt 8 ps 1.3 lc rgb orange notitle, \
     data using (of(16384)):(column("blocks_per_lookup")) with points pt 6 lc rgb middle notitle, \
     data using (of(65536)):(column("blocks_per_lookup")) with points pt 2 ps 0.7 lc rgb dark notitle
unset multiplot
