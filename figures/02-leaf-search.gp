# size 800,500
set datafile separator ","
set datafile columnheaders
counts = "data/02-leaf-search.counts.csv"
times = "data/02-leaf-search.times.csv"
dark = "#12304d"; orange = "#dd9433"
stats times using (column("binary_wins") == 1 ? column("items") : NaN) nooutput
crossing = STATS_min
set multiplot layout 1,2 title "Search in one leaf: from the front, and binary"
set logscale xy
set xrange [0.9:230]
set xtics (1, 2, 5, 10, 20, 50, 100, 200)
set xlabel "items in the leaf (log scale)"
set grid lc rgb "#dddddd" lt 1
set lmargin 9
set key top left reverse Left samplen 2

# Of the counts, fewer points the closer they come to each other.
step(n) = n < 5 ? 1 : n < 16 ? 2 : n < 32 ? 4 : n < 64 ? 8 : n < 128 ? 16 : 32
some(n) = int(n) % step(n) ? NaN : n
set title "comparisons, mean of all items" font ",12"
set ylabel "comparisons (log scale)"
set yrange [0.8:500]
set ytics (1, 2, 5, 10, 20, 50, 100, 200, 500)
plot counts using (column("items")):(column("linear_formula")) with lines lc rgb "#888888" title "(n + 1) / 2", \
     counts using (column("items")):(column("log2_items")) with lines dt 2 lc rgb "#888888" title "log2 n", \
     counts using (some(column("items"))):(column("linear")) with points pt 6 ps 0.9 lc rgb orange title "from the front", \
     counts using (some(column("items"))):(column("binary")) with points pt 7 ps 0.7 lc rgb dark title "binary"

set title "time (leaf in the cache, keys at random)" font ",12"
set ylabel "ns for one search (log scale)"
set yrange [2:500]
set arrow 1 from crossing,5 to crossing,60 nohead dt 3 lw 1.5 lc rgb "#444444" front
set label 1 sprintf("binary is faster\nfrom %d items on", crossing) at graph 0.97,0.13 right font ",12"
plot times using (column("items")):(column("linear_low")):(column("linear_high")) \
         with filledcurves fc rgb orange fs transparent solid 0.3 noborder notitle, \
     times using (column("items")):(column("binary_low")):(column("binary_high")) \
         with filledcurves fc rgb dark fs transparent solid 0.3 noborder notitle, \
     times using (column("items")):(column("linear_ns")) with lines lw 2 lc rgb orange title "from the front", \
     times using (column("items")):(column("binary_ns")) with lines lw 2 lc rgb dark title "binary", \
     NaN with filledcurves fc rgb "#888888" fs transparent solid 0.3 noborder title "quartiles of the rounds"
unset multiplot
