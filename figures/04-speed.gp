# size 900,480
set title "Time of one operation on a million items of 17 bytes of key and 53 of data, in memory"
set datafile separator ","
set datafile columnheaders
set datafile missing NaN
data = "data/04-speed.times.csv"
set logscale y
set xrange [-0.5:4.5]
set yrange [20:20000]
set xtics ("in order, from\nplace to place" 0, "in order,\neach by itself" 1, "at random" 2, "look up" 3, "look up\nand read" 4)
unset mxtics
set bmargin 4
set ylabel "ns, median and quartiles (log scale)"
set grid y lc rgb "#dddddd" lt 1
set key top left reverse Left samplen 2 maxrows 3
way(w) = w eq "append" ? 0 : w eq "ascending" ? 1 : w eq "random" ? 2 : w eq "lookup" ? 3 : 4
of(s, p, size, shift) = strcol("store") eq s && strcol("setup") eq p && column("node_size") == size && column("items") == 1000000 ? way(strcol("way")) + shift : NaN
plot data using (of("coppice", "coppice", 16384, -0.3)):(column("ns")):(column("low")):(column("high")) with yerrorbars pt 7 ps 1.1 lw 1.5 lc rgb "#12304d" title "coppice, 16 KiB", \
     data using (of("coppice", "kernel", 16384, -0.15)):(column("ns")):(column("low")):(column("high")) with yerrorbars pt 5 ps 1.0 lw 1.5 lc rgb "#2f6fa8" title "the kernel's rules, 16 KiB", \
     data using (of("coppice", "append", 4096, 0)):(column("ns")):(column("low")):(column("high")) with yerrorbars pt 4 ps 1.0 lw 1.5 lc rgb "#2f6fa8" title "append, 4 KiB", \
     data using (of("LMDB", "writemap", 4096, 0.1)):(column("ns")):(column("low")):(column("high")) with yerrorbars pt 9 ps 1.3 lw 1.5 lc rgb "#dd9433" title "LMDB, MDB_WRITEMAP" noenhanced, \
     data using (of("LMDB", "malloc", 4096, 0.2)):(column("ns")):(column("low")):(column("high")) with yerrorbars pt 8 ps 1.3 lw 1.5 lc rgb "#dd9433" title "LMDB", \
     data using (of("SQLite", "16 KiB", 16384, 0.3)):(column("ns")):(column("low")):(column("high")) with yerrorbars pt 6 ps 1.1 lw 1.5 lc rgb "#888888" title "SQLite, 16 KiB"
