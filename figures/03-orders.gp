# size 800,440
set datafile separator ","
set datafile columnheaders
data = "data/03-orders.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"
order(n) = word("ascending descending random streams", n)
place(name) = name eq "ascending" ? 1 : name eq "descending" ? 2 : name eq "random" ? 3 : 4
is(size, policy) = column("node_size") == size && strcol("policy") eq policy
at(size, policy, shift) = is(size, policy) ? place(strcol("order")) + shift : NaN

set multiplot layout 1,2 title "200,000 single insertions, items of 53 bytes of data; bars: nodes of 16 KiB"
set grid ytics lc rgb "#dddddd" lt 1
set style fill solid 1.0 border lc rgb "#000000"
set boxwidth 0.34
set lmargin 9
set rmargin 2
set bmargin 5
set xrange [0.4:4.6]
set xtics nomirror font ",10" ("ascending" 1, "descending" 2, "random" 3, "streams" 4)
set key outside bottom center horizontal samplen 1 width -2 font ",11"

set title "fill of the leaves" font ",12"
set yrange [0:1.05]
set ylabel "used bytes / room" offset 1,0
plot data using (at(16384, "split", -0.18)):(column("fill")) with boxes lc rgb middle title "split", \
     data using (at(16384, "append", 0.18)):(column("fill")) with boxes lc rgb "#f4dca8" title "append", \
     data using (at(4096, "split", -0.18)):(column("fill")) with points pt 9 ps 1.1 lc rgb "#000000" title "nodes of 4 KiB", \
     data using (at(65536, "split", -0.18)):(column("fill")) with points pt 6 ps 1.1 lc rgb "#000000" title "nodes of 64 KiB", \
     data using (at(4096, "append", 0.18)):(column("fill")) with points pt 9 ps 1.1 lc rgb "#000000" notitle, \
     data using (at(65536, "append", 0.18)):(column("fill")) with points pt 6 ps 1.1 lc rgb "#000000" notitle

set title "moved from leaf to leaf" font ",12"
set yrange [0:90]
set ylabel "bytes per insertion"
plot data using (at(16384, "split", -0.18)):(column("between")) with boxes lc rgb middle title "split", \
     data using (at(16384, "append", 0.18)):(column("between")) with boxes lc rgb "#f4dca8" title "append", \
     data using (at(4096, "split", -0.18)):(column("between")) with points pt 9 ps 1.1 lc rgb "#000000" title "nodes of 4 KiB", \
     data using (at(65536, "split", -0.18)):(column("between")) with points pt 6 ps 1.1 lc rgb "#000000" title "nodes of 64 KiB", \
     data using (at(4096, "append", 0.18)):(column("between")) with points pt 9 ps 1.1 lc rgb "#000000" notitle, \
     data using (at(65536, "append", 0.18)):(column("between")) with points pt 6 ps 1.1 lc rgb "#000000" notitle
unset multiplot
