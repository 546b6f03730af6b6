# size 900,440
set datafile separator ","
set datafile columnheaders
data = "data/04-wasted.counts.csv"
rules = "data/04-rules.counts.csv"
middle = "#2f6fa8"; orange = "#dd9433"
array mix[5] = ["overwrite", "relog", "rndwr", "seqwr", "streams"]
set print $bars
array rule[2] = ["kernel", "kernel -need -left-discount"]
do for [m = 1:5] {
    do for [s = 0:3] {
        stats rules using (strcol("mix") eq mix[m] && strcol("policy") eq rule[1 + s % 2] \
                           && column("node_size") == (s < 2 ? 4096 : 16384) ? column("wasted") : NaN) nooutput
        print m + (s - 1.5) * 0.21, s, STATS_min
    }
}
unset print
unset datafile
set multiplot layout 1,2 title "Shadows of blocks that nobody changed: the kernel's order (deciding first makes none)"
set grid y lc rgb "#dddddd" lt 1
set lmargin 9
set rmargin 2
set title "by mix" font ",12"
set ylabel "wasted, in 100,000 requests" offset 1,0
set yrange [0:950]
set xrange [0.4:5.6]
set style fill solid 1 border lc rgb "#333333"
set boxwidth 0.2
set xlabel "mix"
set xtics ()
do for [m = 1:5] { set xtics add (mix[m] m) }
set key top left reverse Left samplen 1.5
of(s) = column(2) == s ? column(1) : NaN
plot $bars using (of(0)):3 with boxes lc rgb orange title "4 KiB, kernel", \
     $bars using (of(1)):3 with boxes lc rgb "#f6e0bd" title "4 KiB, without the discounts", \
     $bars using (of(2)):3 with boxes lc rgb middle title "16 KiB, kernel", \
     $bars using (of(3)):3 with boxes lc rgb "#bcd3ea" title "16 KiB, without the discounts", \
     $bars using 1:3:(sprintf("%d", $3)) with labels offset 0,0.5 font ",8" notitle

set title "random insertions, by the length of a transaction" font ",12"
set ylabel "wasted for 1,000 insertions"
set yrange [0:62]
set ytics 10
set logscale x
set xrange [0.8:26000]
set xtics ("1" 1, "10" 10, "100" 100, "1,000" 1000, "10,000" 10000)
set xlabel "insertions in a transaction (log scale)"
set key top right noreverse Right samplen 2
set datafile separator ","
set datafile columnheaders
set datafile missing NaN
length(size, p) = column("node_size") == size && strcol("policy") eq p ? column("transaction") : NaN
plot data using (length(16384, "kernel")):(column("wasted_per_1000")) with linespoints pt 7 lw 2 lc rgb middle title "kernel, 16 KiB", \
     data using (length(4096, "kernel")):(column("wasted_per_1000")) with linespoints pt 8 ps 1.2 lw 2 lc rgb orange title "kernel, 4 KiB", \
     data using (length(16384, "kernel -need -left-discount")):(column("wasted_per_1000")) with linespoints pt 6 ps 0.8 lw 1.5 dt 3 lc rgb middle title "without the discounts, 16 KiB", \
     data using (length(16384, "kernel +decide-first")):(column("wasted_per_1000")) with lines lw 2 dt 2 lc rgb "#444444" title "decide first, both"
unset multiplot
