# size 900,460
set datafile separator ","
set datafile columnheaders
rules = "data/04-rules.counts.csv"
life = "data/04-log-life.counts.csv"
middle = "#2f6fa8"; orange = "#dd9433"
patch = 100.0 * 2571 / 4802 # the mail that came with the patch
array mix[5] = ["overwrite", "relog", "rndwr", "seqwr", "streams"]
set print $bars
do for [m = 1:5] {
    do for [s = 0:1] {
        stats rules using (strcol("mix") eq mix[m] && strcol("policy") eq "kernel" && column("node_size") == 4096 * 4**s \
                           ? column("share_percent") : NaN) nooutput
        print m + (s - 0.5) * 0.36, s, STATS_min
    }
}
unset print
unset datafile
set multiplot layout 1,2 title "Share of the shortcut in the pushes to the right that splits made"
set grid y lc rgb "#dddddd" lt 1
set lmargin 9
set rmargin 2
set yrange [0:112]
set ytics 20
set ylabel "percent" offset 1,0

set title "by mix, the log kept where there is one" font ",12"
set xrange [0.4:5.6]
set style fill solid 1 border lc rgb "#333333"
set boxwidth 0.34
set xlabel "mix"
set xtics ()
do for [m = 1:5] { set xtics add (mix[m] m) }
set key top right samplen 1.5
of(s) = column(2) == s ? column(1) : NaN
plot $bars using (of(0)):3 with boxes lc rgb orange title "nodes of 4 KiB", \
     $bars using (of(1)):3 with boxes lc rgb middle title "nodes of 16 KiB", \
     $bars using (of(0)):3:(sprintf("%.1f", $3)) with labels offset 0,0.6 font ",9" notitle, \
     $bars using (of(1)):3:(sprintf("%.1f", $3)) with labels offset 0.6,0.6 font ",9" notitle

set title "relog, by how long a log lives (five seeds)" font ",12"
set logscale x
set xrange [0.8:1300]
set xtics auto
set xlabel "rounds of 100 requests (log scale)"
set key top left reverse Left samplen 2
set label 1 sprintf("the mail: 2571 of 4802, %.1f %%", patch) at 1,patch offset 0,0.6 font ",11"
set datafile separator ","
set datafile columnheaders
lives(size) = column("node_size") == size ? column("log_rounds") : NaN
plot patch with lines dt 2 lc rgb "#444444" notitle, \
     life using (lives(4096)):(column("low")):(column("high")) with filledcurves fs transparent solid 0.3 noborder lc rgb orange notitle, \
     life using (lives(16384)):(column("low")):(column("high")) with filledcurves fs transparent solid 0.3 noborder lc rgb middle notitle, \
     life using (lives(4096)):(column("share_percent")) with linespoints pt 8 ps 1.2 lw 2 lc rgb orange title "nodes of 4 KiB", \
     life using (lives(16384)):(column("share_percent")) with linespoints pt 7 ps 0.8 lw 2 lc rgb middle title "nodes of 16 KiB"
unset multiplot
