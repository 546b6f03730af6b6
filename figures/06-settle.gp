# size 900,440
set datafile separator ","
set datafile columnheaders
set datafile missing NaN
data = "data/06-settle.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"; grey = "#999999"
set multiplot layout 1,2 title "Settling: each pass writes down what the one before has taken (an image of 100,000 items)"
set logscale y
set xrange [-0.4:4.4]
set yrange [0.3:8000]
set ytics ("0" 0.4, "1" 1, "10" 10, "100" 100, "1,000" 1000)
set xtics ("the changes" 0, "1" 1, "2" 2, "3" 3, "4" 4)
set grid y lc rgb "#dddddd" lt 1
set lmargin 9
set rmargin 2
set bmargin 4
set xlabel "pass of settling"
shown(v) = v > 0 ? v : 0.4
of(size, n) = column("node_size") == size && column("changes") == n ? column("pass") : NaN
taken(v) = shown(column("shadowed") + column("allocated"))
set title "nodes of 4 KiB" font ",12"
set ylabel "blocks shadowed and allocated (log scale)"
set key top right Right samplen 3 title "changes" font ",11"
plot data using (of(4096, 10000)):(taken(0)) with linespoints pt 7 ps 1.0 lw 2 lc rgb dark title "10,000", \
     data using (of(4096, 1000)):(taken(0)) with linespoints pt 5 ps 0.9 lw 2 lc rgb middle title "1,000", \
     data using (of(4096, 100)):(taken(0)) with linespoints pt 9 ps 1.1 lw 2 lc rgb orange title "100", \
     data using (of(4096, 10)):(taken(0)) with linespoints pt 6 ps 1.1 lw 2 dt 2 lc rgb middle title "10", \
     data using (of(4096, 1)):(taken(0)) with linespoints pt 4 ps 1.3 lw 2 dt 3 lc rgb grey title "1"
set title "nodes of 16 KiB" font ",12"
unset ylabel
plot data using (of(16384, 10000)):(taken(0)) with linespoints pt 7 ps 1.0 lw 2 lc rgb dark title "10,000", \
     data using (of(16384, 1000)):(taken(0)) with linespoints pt 5 ps 0.9 lw 2 lc rgb middle title "1,000", \
     data using (of(16384, 100)):(taken(0)) with linespoints pt 9 ps 1.1 lw 2 lc rgb orange title "100", \
     data using (of(16384, 10)):(taken(0)) with linespoints pt 6 ps 1.1 lw 2 dt 2 lc rgb middle title "10", \
     data using (of(16384, 1)):(taken(0)) with linespoints pt 4 ps 1.3 lw 2 dt 3 lc rgb grey title "1"
unset multiplot
