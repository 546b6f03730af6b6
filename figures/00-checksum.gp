# size 800,460
set title "Checksum of one block in the cache: the four of Btrfs, and crc32c by a table of bytes"
set datafile separator ","
set datafile columnheaders
set style data histogram
set style histogram clustered gap 1
set style fill solid border rgb "#000000"
set boxwidth 0.9
set logscale y
set yrange [0.1:200]
set ylabel "10^9 bytes a second (log scale)"
set grid ytics lc rgb "#cccccc" lt 1
set xtics nomirror scale 0
set key top right horizontal
set bmargin 3.5
data = "data/00-checksum.times.csv"
plot data using (column("gb_s_4k")):xticlabels(strcol("checksum") . "\n" . strcol("library")) \
         title "block of 4 KiB" lc rgb "#a6cbe3", \
     data using (column("gb_s_16k")) title "block of 16 KiB" lc rgb "#2b5c8a", \
     data using ($0 - 0.17):(column("gb_s_4k")):(sprintf("%.3g", column("gb_s_4k"))) \
         with labels offset 0,0.7 font ",11" notitle, \
     data using ($0 + 0.17):(column("gb_s_16k")):(sprintf("%.3g", column("gb_s_16k"))) \
         with labels offset 0,0.7 font ",11" notitle
