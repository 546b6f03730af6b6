# size 800,440
set title "Time of one lookup at random in a tree in memory, by the number of items"
set datafile separator ","
set datafile columnheaders
set datafile missing NaN
data = "data/02-lookup.times.csv"
set logscale xy
set xrange [80:13000000]
set xtics ("100" 1e2, "1,000" 1e3, "10,000" 1e4, "100,000" 1e5, "1 million" 1e6, "10 million" 1e7)
unset mxtics
set xlabel "items in the tree, 53 bytes of data each (log scale)"
set ylabel "ns for one lookup (log scale)"
set grid lc rgb "#dddddd" lt 1
set key top left reverse Left samplen 3
of(size) = column("node_size") == size ? column("items") : NaN
plot data using (of(4096)):(column("ns")) with linespoints pt 8 ps 1.3 lw 1.5 lc rgb "#dd9433" title "nodes of 4 KiB", \
     data using (of(16384)):(column("ns")) with linespoints pt 6 lw 1.5 lc rgb "#2f6fa8" title "nodes of 16 KiB", \
     data using (of(65536)):(column("ns")) with linespoints pt 2 ps 0.8 lw 1.5 lc rgb "#12304d" title "nodes of 64 KiB"
