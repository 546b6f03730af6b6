set title "Blocks shadowed for a change, by the number of changes in a commit"
set datafile separator ","
set datafile columnheaders
set datafile missing NaN
data = "data/05-shadowed.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"; grey = "#999999"
set logscale xy
set xrange [0.8:13000]
set yrange [0.004:12]
set format x "%.0f"
set xtics ("1" 1, "10" 10, "100" 100, "1,000" 1000, "10,000" 10000)
set ytics (0.01, 0.1, 1, 2, 5, 10)
set xlabel "changes in a commit, at random places (log scale)"
set ylabel "blocks shadowed for a change (log scale)"
set grid lc rgb "#dddddd" lt 1
set key bottom left Left reverse samplen 3
of(h) = column("height") == h ? column("changes") : NaN
first(h) = column("height") == h && column("changes") == 1 ? 1 : NaN
plot data using (of(4)):(column("per_change")) with linespoints pt 9 ps 0.9 lw 2 lc rgb orange title "4 levels, 767 leaves", \
     data using (of(3)):(column("per_change")) with linespoints pt 7 ps 0.8 lw 2 lc rgb dark title "3 levels, 767 leaves", \
     data using (of(2)):(column("per_change")) with linespoints pt 5 ps 0.7 lw 2 lc rgb middle title "2 levels, 58 leaves", \
     data using (of(1)):(column("per_change")) with linespoints pt 4 ps 0.8 lw 2 dt 2 lc rgb grey title "1 level, 1 leaf", \
     data using (column("changes") == 1 ? 1 : NaN):(column("height") + 1) with points pt 6 ps 2 lw 1.5 lc rgb "#b00000" title "height and the root tree's leaf"
