# size 800,480
set datafile separator ","
set datafile columnheaders
data = "data/01-insert.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"
set multiplot layout 1,2 title "Bytes moved by one insertion into a leaf: counted (points), formula (lines)"
set grid lc rgb "#dddddd" lt 1
set lmargin 10
set rmargin 2
set ylabel offset 1,0
set key top right samplen 1
set label 1 font ",12"; set label 2 font ",12"; set label 3 font ",12"

# One leaf of 16 KiB at three fills; items of 53 bytes of data (filled) and of 0 to 300 (open).
is(fill, kind) = column("node_size") == 16384 && column("fill_percent") == fill \
                 && strcol("data") eq kind && strcol("slot_percent") ne "mean"
at(fill, kind) = is(fill, kind) ? 100.0 * column("slot") / column("n") : NaN
set title "leaf of 16 KiB, by slot" font ",12"
set xlabel "items before the slot, percent"
set ylabel "bytes moved"
set xrange [-4:104]
set yrange [0:20000]
set label 1 "full" at 13,11000 tc rgb dark
set label 2 "70 % full" at 10,6900 tc rgb middle
set label 3 "30 % full" at 4,2500 tc rgb "#a86400"
plot data using (at(100, "53")):(column("formula")) with lines lc rgb "#888888" notitle, \
     data using (at(70, "53")):(column("formula")) with lines lc rgb "#888888" notitle, \
     data using (at(30, "53")):(column("formula")) with lines lc rgb "#888888" notitle, \
     NaN with points pt 7 lc rgb "#000000" title "53 bytes of data each", \
     NaN with points pt 6 ps 1.3 lc rgb "#000000" title "0 to 300 bytes each", \
     data using (at(100, "53")):(column("moved")) with points pt 7 lc rgb dark notitle, \
     data using (at(100, "0-300")):(column("moved")) with points pt 6 ps 1.3 lc rgb dark notitle, \
     data using (at(70, "53")):(column("moved")) with points pt 7 lc rgb middle notitle, \
     data using (at(70, "0-300")):(column("moved")) with points pt 6 ps 1.3 lc rgb middle notitle, \
     data using (at(30, "53")):(column("moved")) with points pt 7 lc rgb orange notitle, \
     data using (at(30, "0-300")):(column("moved")) with points pt 6 ps 1.3 lc rgb orange notitle

# The mean over all slots of a leaf, for three node sizes.
fill(size, kind) = column("node_size") == size && strcol("data") eq kind && strcol("slot_percent") eq "mean" \
                   ? 100.0 * column("used") / (size - 101) : NaN
half(size, x) = 0.5 * x / 100 * (size - 101)
set title "mean of all slots, by fill (log scales)" font ",12"
set xlabel "used bytes of the leaf, percent"
set ylabel "bytes moved"
set logscale xy
set xrange [8:125]
set xtics (10, 20, 40, 60, 80, 100)
set yrange [100:400000]
set label 1 "64 KiB" at 28,16000 right tc rgb dark
set label 2 "16 KiB" at 28,4000 right tc rgb middle
set label 3 "4 KiB" at 28,1000 right tc rgb "#a86400"
plot half(65536, x) with lines lc rgb "#888888" notitle, \
     half(16384, x) with lines lc rgb "#888888" notitle, \
     half(4096, x) with lines lc rgb "#888888" notitle, \
     NaN with points pt 7 lc rgb "#000000" title "53 bytes of data each", \
     NaN with points pt 6 ps 1.3 lc rgb "#000000" title "0 to 300 bytes each", \
     NaN with lines lc rgb "#888888" title "half of the used bytes", \
     data using (fill(65536, "53")):(column("moved")) with points pt 7 lc rgb dark notitle, \
     data using (fill(65536, "0-300")):(column("moved")) with points pt 6 ps 1.3 lc rgb dark notitle, \
     data using (fill(16384, "53")):(column("moved")) with points pt 7 lc rgb middle notitle, \
     data using (fill(16384, "0-300")):(column("moved")) with points pt 6 ps 1.3 lc rgb middle notitle, \
     data using (fill(4096, "53")):(column("moved")) with points pt 7 lc rgb orange notitle, \
     data using (fill(4096, "0-300")):(column("moved")) with points pt 6 ps 1.3 lc rgb orange notitle
unset multiplot
