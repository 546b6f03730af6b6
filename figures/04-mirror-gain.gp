# size 900,440
set datafile separator ","
set datafile columnheaders
set datafile missing NaN
data = "data/04-mirror.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"
with(name) = strcol("policy") eq "kernel +shortcut-left" ? column(name) : NaN
set multiplot layout 1,2 title "The shortcut to the left, by the size of the items: 10,000 at random, nodes of 4 KiB"
set grid lc rgb "#dddddd" lt 1
set lmargin 9
set rmargin 2
set xrange [0:4000]
set xtics 1000
set xlabel "data of the largest item, bytes"
set title "when it is taken" font ",12"
set ylabel "of 1,000 full leaves" offset 1,0
set yrange [0:80]
set key top left reverse Left samplen 2
plot data using (with("most_size")):(1000 * column("after_push") / column("calls")) with linespoints pt 7 lw 2 lc rgb middle title "after a push to the left", \
     data using (with("most_size")):(1000 * column("after_split") / column("calls")) with linespoints pt 8 ps 1.2 lw 2 lc rgb orange title "after half a double split"
set title "what it saves (16 seeds, with standard error)" font ",12"
set ylabel "leaves saved, percent"
set yrange [-1:4]
unset key
plot 0 with lines lc rgb "#888888", \
     data using (with("most_size")):(column("saved_percent")):(column("saved_error")) with yerrorbars pt 5 ps 0.7 lw 1.5 lc rgb dark, \
     data using (with("most_size")):(column("saved_percent")) with lines lw 2 lc rgb dark
unset multiplot
