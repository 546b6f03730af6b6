# size 800,420
set title "Bytes that an insertion at random moves within a leaf, as a part of the leaf's room"
set datafile separator ","
set datafile columnheaders
data = "data/04-moved.counts.csv"
set logscale x 2
set xrange [22:460]
set xtics ("25" 25, "53" 53, "100" 100, "200" 200, "400" 400)
unset mxtics
set yrange [0:0.8]
set ytics 0.2
set xlabel "bytes of data of an item (log scale)"
set ylabel "bytes moved / (node size - 101)"
set grid lc rgb "#dddddd" lt 1
set key bottom left reverse Left samplen 3 maxrows 3 width -1
set arrow from 22,0.3607 to 460,0.3607 nohead dt 2 lc rgb "#444444"
set label "1 / (4 ln 2)" at 445,0.395 right font ",10"
of(p, size) = strcol("policy") eq p && column("node_size") == size ? column("data") : NaN
plot data using (of("split", 4096)):(column("share")) with linespoints pt 9 ps 1.3 lw 1.5 lc rgb "#dd9433" title "split, nodes of 4 KiB", \
     data using (of("split", 16384)):(column("share")) with linespoints pt 7 lw 1.5 lc rgb "#2f6fa8" title "split, 16 KiB", \
     data using (of("split", 65536)):(column("share")) with linespoints pt 5 ps 0.8 lw 1.5 lc rgb "#12304d" title "split, 64 KiB", \
     data using (of("kernel", 4096)):(column("share")) with linespoints pt 8 ps 1.3 lw 1.5 lc rgb "#dd9433" title "kernel, nodes of 4 KiB", \
     data using (of("kernel", 16384)):(column("share")) with linespoints pt 6 lw 1.5 lc rgb "#2f6fa8" title "kernel, 16 KiB", \
     data using (of("kernel", 65536)):(column("share")) with linespoints pt 4 ps 0.8 lw 1.5 lc rgb "#12304d" title "kernel, 64 KiB"
