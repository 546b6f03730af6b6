# size 900,440
set datafile separator ","
set datafile columnheaders
data = "data/04-shrink.counts.csv"
border = "data/04-pingpong.counts.csv"
middle = "#2f6fa8"; orange = "#dd9433"
set multiplot layout 1,2 title "When a node is balanced: at a half or at a quarter of its 121 pointers"
set grid lc rgb "#dddddd" lt 1
set lmargin 9
set rmargin 2
of(p) = strcol("policy") eq p ? column("deleted_percent") : NaN
set title "nodes that are left" font ",12"
set ylabel "nodes" offset 1,0
set yrange [0:70]
set xrange [0:100]
set xlabel "deleted of 200,000 items, at random; percent"
set key bottom left reverse Left samplen 2
plot data using (of("kernel balance=2")):(column("nodes")) with linespoints pt 8 lw 2 lc rgb orange title "1/2", \
     data using (of("kernel")):(column("nodes")) with linespoints pt 7 lw 2 lc rgb middle title "1/4 (the kernel)"
set title "at the border: one leaf comes and goes" font ",12"
set ylabel "pushes and balances, 100 pairs" offset 0,0
set yrange [-10:270]
set ytics 50
set xrange [95:265]
set xlabel "leaves in the tree; a node points to 121"
set key top right noreverse Right samplen 2
at(p) = strcol("what") eq "nodes" && strcol("policy") eq p ? column("n") : NaN
plot border using (at("kernel balance=2")):(column("per_100")) with linespoints pt 8 lw 2 lc rgb orange title "1/2", \
     border using (at("kernel")):(column("per_100")) with lines lw 3 lc rgb middle title "1/4 (the kernel)"
unset multiplot
