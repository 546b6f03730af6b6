# size 900,760
set datafile separator ","
set datafile columnheaders
data = "data/04-shrink.counts.csv"
border = "data/04-pingpong.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"; grey = "#888888"
set multiplot layout 2,2 title "When a leaf is merged: below a half, a third (the kernel), a quarter (btrfs-progs), a ninth; nodes of 4 KiB"
set grid lc rgb "#dddddd" lt 1
set lmargin 9
set rmargin 2
set xrange [0:100]
set xtics 20
set xlabel "deleted of 200,000 items, at random; percent"
of(p) = strcol("policy") eq p && column("deleted_percent") > 0 ? column("deleted_percent") : NaN
set title "how full the leaves stay" font ",12"
set ylabel "fill, percent"
set yrange [0:100]
set ytics 20
set key bottom left reverse Left samplen 2
plot data using (of("kernel merge=2")):(100 * column("fill")) with linespoints pt 8 lw 2 lc rgb orange title "1/2", \
     data using (of("kernel")):(100 * column("fill")) with linespoints pt 7 lw 2 lc rgb middle title "1/3", \
     data using (of("kernel merge=4")):(100 * column("fill")) with linespoints pt 4 lw 2 lc rgb dark title "1/4", \
     data using (of("kernel merge=9")):(100 * column("fill")) with linespoints pt 2 lw 2 lc rgb grey title "1/9"
set title "moved from leaf to leaf, up to here" font ",12"
set ylabel "bytes moved, a deletion"
set yrange [0:50]
set ytics 10
unset key
plot data using (of("kernel merge=2")):(column("between")) with linespoints pt 8 lw 2 lc rgb orange, \
     data using (of("kernel")):(column("between")) with linespoints pt 7 lw 2 lc rgb middle, \
     data using (of("kernel merge=4")):(column("between")) with linespoints pt 4 lw 2 lc rgb dark, \
     data using (of("kernel merge=9")):(column("between")) with linespoints pt 2 lw 2 lc rgb grey
set title "leaves changed, up to here" font ",12"
set ylabel "leaves, a deletion"
set yrange [1:1.06]
set ytics 0.01
plot data using (of("kernel merge=2")):(column("dirtied")) with linespoints pt 8 lw 2 lc rgb orange, \
     data using (of("kernel")):(column("dirtied")) with linespoints pt 7 lw 2 lc rgb middle, \
     data using (of("kernel merge=4")):(column("dirtied")) with linespoints pt 4 lw 2 lc rgb dark, \
     data using (of("kernel merge=9")):(column("dirtied")) with linespoints pt 2 lw 2 lc rgb grey
set title "at the border: one item comes and goes" font ",12"
set ylabel "splits and merges, 100 pairs"
set xlabel "items in the tree; a leaf holds 51"
set xrange [30:110]
set yrange [-10:230]
set ytics 50
set key top left reverse Left samplen 2
at(p) = strcol("what") eq "leaves" && strcol("policy") eq p ? column("n") : NaN
plot border using (at("kernel merge=2")):(column("per_100")) with linespoints pt 8 lw 1.5 lc rgb orange title "1/2", \
     border using (at("kernel")):(column("per_100")) with lines lw 3 lc rgb middle title "1/3", \
     border using (at("kernel merge=4")):(column("per_100")) with lines lw 1.5 dt 2 lc rgb dark title "1/4"
unset multiplot
