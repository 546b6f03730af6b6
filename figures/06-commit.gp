set title "Blocks that a commit of one changed item writes: the height of the fs tree, and 3 to 9 more"
set datafile separator ","
set datafile columnheaders
data = "data/06-commit.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; light = "#bcd3ea"; orange = "#e8b060"
set logscale x
set xrange [55:1900000]
set yrange [0:16]
set xtics ("100" 100, "1,000" 1000, "10,000" 10000, "100,000" 100000, "1,000,000" 1000000)
unset mxtics
set ytics 2
set xlabel "items in the tree, of 53 bytes (log scale); nodes of 16 KiB"
set ylabel "blocks written in a commit, mean of 200"
set grid y lc rgb "#dddddd" lt 1
set key top left Left reverse samplen 2
set style fill solid 1 border lc rgb "#333333"
array names[4] = ["fs tree: the way to the item, its height", "root tree", "free-space tree", "extent tree"]
array colours[4] = ["#12304d", "#ffffff", "#bcd3ea", "#e8b060"]
part(n) = n == 1 ? column("fs") : n == 2 ? column("root") : n == 3 ? column("free_space") : column("extent")
from(n) = n == 1 ? 0 : n == 2 ? column("fs") : n == 3 ? column("fs") + column("root") : column("fs") + column("root") + column("free_space")
wide = 1.35
varies(v) = column("least") < column("most") ? v : NaN
set datafile missing NaN
plot data using (varies(column("items"))):(column("least")):(0):(column("most") - column("least")) with vectors heads size graph 0.008,90 lw 2.5 lc rgb "#b00000" title "all: least and most of the 200", \
     for [n = 4:1:-1] data using (column("items")):(from(n)):(column("items") / wide):(column("items") * wide):(from(n)):(from(n) + part(n)) with boxxyerror lc rgb colours[n] title names[n], \
     data using (varies(column("items"))):(column("least")):(0):(column("most") - column("least")) with vectors heads size graph 0.008,90 lw 2.5 lc rgb "#b00000" notitle
