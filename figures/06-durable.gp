# size 900,440
set datafile separator ","
set datafile columnheaders
set datafile missing NaN
data = "data/06-durable.times.csv"
stats data using (column("per_second")) nooutput
fastest = STATS_max
stats data using (column("bytes")) nooutput
largest = STATS_max
middle = "#2f6fa8"; orange = "#dd9433"
set multiplot layout 1,2 title "10,000 durable commits of one insertion each, on a file on a disk, beside LMDB"
set grid y lc rgb "#dddddd" lt 1
set lmargin 10
set rmargin 2
set bmargin 4
set xrange [0.4:2.6]
set xtics ("10,000" 1, "100,000" 2)
set xlabel "items in the tree before"
set style fill solid 1 border lc rgb "#333333"
set boxwidth 0.24
place(s, size, shift) = strcol("store") eq s && column("node_size") == size ? (column("items") == 10000 ? 1 : 2) + shift : NaN
set title "commits a second; above the bars: to those of LMDB" font ",12"
set ylabel "commits a second, of all 10,000" offset 1,0
set yrange [0:fastest * 1.45]
set key top right Right samplen 2 font ",11"
plot data using (place("coppice", 4096, -0.26)):(column("per_second")) with boxes lc rgb middle title "coppice, nodes of 4 KiB", \
     data using (place("coppice", 16384, 0)):(column("per_second")) with boxes lc rgb "#bcd3ea" title "coppice, nodes of 16 KiB", \
     data using (place("LMDB", 4096, 0.26)):(column("per_second")) with boxes lc rgb orange title "LMDB, pages of 4 KiB", \
     data using (place("coppice", 4096, -0.26)):(column("per_second")):(sprintf("%.2f", column("ratio"))) with labels offset 0,0.6 font ",10" notitle, \
     data using (place("coppice", 16384, 0)):(column("per_second")):(sprintf("%.2f", column("ratio"))) with labels offset 0,0.6 font ",10" notitle, \
     data using (place("LMDB", 4096, 0.26)):(column("per_second")):("1") with labels offset 0,0.6 font ",10" notitle
set title "bytes written for a commit" font ",12"
set ylabel "KiB, mean"
set yrange [0:largest / 1024 * 1.2]
unset key
plot data using (place("coppice", 4096, -0.26)):(column("bytes") / 1024) with boxes lc rgb middle, \
     data using (place("coppice", 16384, 0)):(column("bytes") / 1024) with boxes lc rgb "#bcd3ea", \
     data using (place("LMDB", 4096, 0.26)):(column("bytes") / 1024) with boxes lc rgb orange, \
     data using (place("coppice", 4096, -0.26)):(column("bytes") / 1024):(sprintf("%.0f", column("bytes") / 1024)) with labels offset 0,0.6 font ",10", \
     data using (place("coppice", 16384, 0)):(column("bytes") / 1024):(sprintf("%.0f", column("bytes") / 1024)) with labels offset 0,0.6 font ",10", \
     data using (place("LMDB", 4096, 0.26)):(column("bytes") / 1024):(sprintf("%.0f", column("bytes") / 1024)) with labels offset 0,0.6 font ",10"
unset multiplot
