set title "Tree blocks read to open an image and to commit one change, by its block groups"
set datafile separator ","
set datafile columnheaders
set datafile missing NaN
data = "data/06-open.counts.csv"
dark = "#12304d"; middle = "#2f6fa8"; orange = "#dd9433"; grey = "#888888"
set logscale xy
set xrange [0.8:1400]
set yrange [0.7:60000]
set xtics ("1" 1, "3" 3, "10" 10, "30" 30, "100" 100, "300" 300, "1,000" 1000)
unset mxtics
set ytics ("1" 1, "10" 10, "100" 100, "1,000" 1000, "10,000" 10000)
set xlabel "data groups of 1 GiB, each with 128 extents (log scale); nodes of 16 KiB"
set ylabel "tree blocks read (log scale)"
set grid y lc rgb "#dddddd" lt 1
set key top left Left reverse samplen 3
of(w) = strcol("group_items") eq w ? column("data_groups") : NaN
plot data using (of("extent tree")):(column("first_blocks")) with linespoints pt 7 ps 0.9 lw 2 lc rgb dark title "the first commit, group items in the extent tree", \
     data using (of("tree 11")):(column("first_blocks")) with linespoints pt 9 ps 1.1 lw 2 lc rgb orange title "the first commit, group items in tree 11", \
     data using (of("extent tree")):(column("second_blocks")) with linespoints pt 6 ps 0.9 lw 2 dt 2 lc rgb middle title "the second commit", \
     data using (of("extent tree")):(column("open_blocks")) with linespoints pt 4 ps 0.9 lw 2 dt 3 lc rgb grey title "opening: the chunk tree"
