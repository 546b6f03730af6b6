# size 800,440
set datafile separator ","
set datafile columnheaders
data = "data/03-fill.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"
ratio(size) = column("node_size") == size ? column("items") / column("in_leaf") : NaN
set title "Fill of the leaves of a tree that grows from keys at random, policy split (mean of 8 trees)"
set logscale x 2
set xrange [0.9:2400]
set yrange [0.48:1.02]
set xlabel "items in the tree, as a multiple of what one leaf holds (log scale)"
set ylabel "used bytes / room"
set grid lc rgb "#dddddd" lt 1
set key top right samplen 3
plot log(2) with lines lw 1.5 dt 2 lc rgb "#000000" title "ln 2", \
     data using (ratio(65536)):(column("fill")) with lines lw 4 lc rgb dark title "64 KiB, 838 items in a leaf", \
     data using (ratio(16384)):(column("fill")) with lines lw 2 lc rgb middle title "16 KiB, 208 items in a leaf", \
     data using (ratio(4096)):(column("fill")) with lines lw 2 lc rgb orange title "4 KiB, 51 items in a leaf"
