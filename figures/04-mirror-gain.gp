# size 900,440
set datafile separator ","
set datafile columnheaders
data = "data/04-mirror.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"
array most[10] = [53, 200, 400, 800, 1200, 1600, 2000, 2400, 3000, 3900]
set print $points
is(m, p, s) = column("most_size") == m && strcol("policy") eq p && (s == 0 || column("seed") == s)
with = "kernel +shortcut-left"
do for [m = 1:10] {
    stats data using (is(most[m], with, 0) ? 1000.0 * column("after_push") / column("calls") : NaN) nooutput
    push = STATS_mean
    stats data using (is(most[m], with, 0) ? 1000.0 * column("after_split") / column("calls") : NaN) nooutput
    cut = STATS_mean
    low = 100; high = -100; sum = 0
    do for [s = 1:3] {
        stats data using (is(most[m], "kernel", s) ? column("leaves") : NaN) nooutput
        before = STATS_min
        stats data using (is(most[m], with, s) ? column("leaves") : NaN) nooutput
        gain = 100.0 * (before - STATS_min) / before
        sum = sum + gain
        if (gain < low) { low = gain }
        if (gain > high) { high = gain }
    }
    print most[m], push, cut, sum / 3, low, high
}
unset print
unset datafile
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
plot $points using 1:2 with linespoints pt 7 lw 2 lc rgb middle title "after a push to the left", \
     $points using 1:3 with linespoints pt 8 ps 1.2 lw 2 lc rgb orange title "after half a double split"
set title "what it saves: mean and range of three seeds" font ",12"
set ylabel "leaves saved, percent"
set yrange [-3:5]
unset key
plot 0 with lines lc rgb "#888888", \
     $points using 1:4:5:6 with yerrorbars pt 5 lw 1.5 lc rgb dark, \
     $points using 1:4 with lines lw 2 lc rgb dark
unset multiplot
