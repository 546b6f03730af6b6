# size 800,480
set title "Time of one insertion into a leaf 70 % full, by node size and place"
set datafile separator ","
set datafile columnheaders
set datafile missing NaN
data = "data/01-insert.times.csv"
set logscale xy
set xrange [3500:77000]
set xtics ("4 KiB" 4096, "8 KiB" 8192, "16 KiB" 16384, "32 KiB" 32768, "64 KiB" 65536)
unset mxtics
set xlabel "node size (log scale)"
set yrange [5:2000]
set ylabel "ns for one insertion (log scale)"
set grid lc rgb "#dddddd" lt 1
set key top left reverse Left samplen 3
in(place) = strcol("place") eq place ? column("node_size") : NaN
plot data using (in("front")):(column("ns")) with linespoints pt 7 lw 2 lc rgb "#12304d" title "at the front", \
     data using (in("front")):(column("memmove_ns")) with linespoints pt 6 dt 2 lc rgb "#12304d" title "  its moves alone", \
     data using (in("middle")):(column("ns")) with linespoints pt 5 lw 2 lc rgb "#2f6fa8" title "in the middle", \
     data using (in("middle")):(column("memmove_ns")) with linespoints pt 4 dt 2 lc rgb "#2f6fa8" title "  its moves alone", \
     data using (in("end")):(column("ns")) with linespoints pt 9 lw 2 lc rgb "#dd9433" title "at the end: moves nothing"
