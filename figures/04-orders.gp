# size 860,620
set datafile separator ","
set datafile columnheaders
data = "data/04-orders.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"
array order[4] = ["ascending", "descending", "streams", "random"]
array rule[5] = ["split", "append", "kernel", "coppice", "kernel +three"]
array colour[5] = ["#ffffff", "#d4d4d4", middle, dark, orange]
set print $bars
cell(o, p, name) = strcol("order") eq o && strcol("policy") eq p && column("node_size") == 4096 ? column(name) : NaN
do for [o = 1:4] {
    do for [p = 1:5] {
        stats data using (cell(order[o], rule[p], "fill")) nooutput
        fill = 100 * STATS_min
        stats data using (cell(order[o], rule[p], "between_per_item")) nooutput
        print o + (p - 3) * 0.16, p, fill, STATS_min
    }
}
unset print
unset datafile
set multiplot layout 2,1 title "100,000 insertions by the order of their keys: nodes of 4 KiB, items of 53 bytes"
set grid y lc rgb "#dddddd" lt 1
set lmargin 9
set rmargin 2
set xrange [0.4:4.6]
set style fill solid 1 border lc rgb "#333333"
set boxwidth 0.15
of(p) = column(2) == p ? column(1) : NaN
set xtics ()
do for [o = 1:4] { set xtics add (order[o] o) }

set ylabel "fill of the leaves, percent"
set yrange [0:150]
set ytics 0,20,100
set key top right horizontal samplen 1.5 width 1
plot for [p = 1:5] $bars using (of(p)):3 with boxes lc rgb colour[p] title rule[p], \
     for [p = 1:5] $bars using (of(p)):3:(sprintf("%.0f", $3)) with labels offset 0,0.6 font ",9" notitle

set ylabel "bytes moved from leaf to\nleaf for one insertion"
set yrange [0:320]
set ytics 50
unset key
set xlabel "order of the keys (streams: 8 ascending ones, in turn)"
plot for [p = 1:5] $bars using (of(p)):4 with boxes lc rgb colour[p] notitle, \
     for [p = 1:5] $bars using (of(p)):4:(sprintf("%.0f", $4)) with labels offset 0,0.6 font ",9" notitle
unset multiplot
