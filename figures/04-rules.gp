# size 860,620
set datafile separator ","
set datafile columnheaders
data = "data/04-rules.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"; grey = "#777777"
array mix[5] = ["overwrite", "relog", "rndwr", "seqwr", "streams"]
array rule[5] = ["2013 +need", "2013 +left-discount", "2013 +shortcut", "kernel", "coppice"]
array colour[5] = ["#ffffff", "#d4d4d4", orange, middle, dark]
array ink[5] = [grey, grey, orange, middle, dark]
array mark[5] = [8, 4, 7, 5, 9]
array base[5]; array dirtied[5]
cell(m, p, name) = strcol("mix") eq m && strcol("policy") eq p && column("node_size") == 4096 ? column(name) : NaN
set print $bars
do for [m = 1:5] {
    stats data using (cell(mix[m], "2013", "splits")) nooutput
    base[m] = STATS_min
    stats data using (cell(mix[m], "2013", "dirtied_per_operation")) nooutput
    dirtied[m] = STATS_min
    do for [p = 1:5] {
        stats data using (cell(mix[m], rule[p], "splits")) nooutput
        splits = 100.0 * STATS_min / base[m]
        stats data using (cell(mix[m], rule[p], "dirtied_per_operation")) nooutput
        print m + (p - 3) * 0.16, p, splits, 100.0 * STATS_min / dirtied[m]
    }
}
unset print
unset datafile
set multiplot layout 2,1 title "What each rule does to each mix: 100,000 requests, nodes of 4 KiB"
set grid y lc rgb "#dddddd" lt 1
set lmargin 9
set rmargin 2
set xrange [0.4:5.6]
set style fill solid 1 border lc rgb "#333333"
set boxwidth 0.15
of(p) = column(2) == p ? column(1) : NaN

set ylabel "splits, percent of 2013"
set yrange [0:185]
set ytics 0,25,125
set key top right horizontal samplen 1.5 width 1
set xtics ()
do for [m = 1:5] { set xtics add (sprintf("%s: %d", mix[m], base[m]) m) }
set xlabel "mix, and its splits by the rules of 2013" offset 0,0.3
plot for [p = 1:5] $bars using (of(p)):3 with boxes lc rgb colour[p] title rule[p]

set ylabel "leaves changed per\nitem, percent of 2013"
set yrange [92:101]
set ytics 2
unset key
set xtics ()
do for [m = 1:5] { set xtics add (sprintf("%s: %.4f", mix[m], dirtied[m]) m) }
set xlabel "mix, and the leaves changed per item by the rules of 2013 (the axis does not begin at 0)"
plot 100 with lines lc rgb "#888888" notitle, \
     for [p = 1:5] $bars using (of(p)):4 with points pt mark[p] ps 1.6 lc rgb ink[p] notitle
unset multiplot
