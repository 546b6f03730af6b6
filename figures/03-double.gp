# size 800,400
set datafile separator ","
set datafile columnheaders
data = "data/03-double.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"
at(size) = column("node_size") == size ? column("percent") : NaN
set multiplot layout 1,2 title "10,000 items with keys and sizes at random, policy split"
set grid lc rgb "#dddddd" lt 1
set lmargin 9
set rmargin 2
set xrange [0:105]
set xtics 20
set xlabel "largest item, in percent of a leaf"

set title "double splits" font ",12"
set ylabel "double splits per 100 leaves made" offset 1,0
set yrange [0:16]
set key top left samplen 2 Left reverse
plot data using (at(4096)):(100.0 * column("double_splits") / column("splits")) with linespoints pt 9 ps 1.2 lw 2 lc rgb orange title "4 KiB", \
     data using (at(16384)):(100.0 * column("double_splits") / column("splits")) with linespoints pt 6 lc rgb dark title "16 KiB", \
     data using (at(4096)):(100.0 * column("needless") / column("splits")) with linespoints pt 9 ps 1.2 dt 3 lc rgb orange title "needless, 4 KiB", \
     data using (at(16384)):(100.0 * column("needless") / column("splits")) with linespoints pt 6 dt 3 lc rgb dark title "needless, 16 KiB"

set title "fill of the leaves" font ",12"
set ylabel "used bytes / room"
set yrange [0.5:0.8]
set key top right
plot log(2) with lines lw 1.5 dt 2 lc rgb "#000000" title "ln 2", \
     data using (at(4096)):(column("fill")) with linespoints pt 9 ps 1.2 lw 2 lc rgb orange title "4 KiB", \
     data using (at(16384)):(column("fill")) with linespoints pt 6 lc rgb dark title "16 KiB"
unset multiplot
