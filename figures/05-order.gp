# size 1000,430
set title "One commit as the device sees it, and what is left when the power fails there"
set datafile separator ","
set datafile columnheaders
data = "data/05-crash.counts.csv"
dark = "#12304d"; middle = "#6f9fcf"; orange = "#e8b060"; grey = "#d4d4d4"; green = "#7fbf7f"; white = "#ffffff"
stats data using (column("least")) nooutput
old = STATS_min; new = STATS_max
unset key
unset border
unset ytics
unset xtics
set lmargin 2
set rmargin 2
set tmargin 2.5
set bmargin 4
set xrange [-1.75:9.25]
set yrange [0:3.35]
set style fill solid 1 border lc rgb "#444444"
kind(k) = strcol("kind") eq k ? column("event") : NaN
torn_at(g) = strcol("torn") ne "-" && column("torn") == g ? column("event") : NaN
cut(l, m) = column("least") == l && column("most") == m ? column("event") - 0.5 : NaN
name(k) = k eq "block" ? sprintf("block\n%s tree\nlevel %s", strcol("tree"), strcol("level_or_mirror")) \
        : k eq "superblock" ? (strcol("level_or_mirror") eq "0" ? "super-\nblock" : sprintf("mirror\n%s", strcol("level_or_mirror"))) \
        : k eq "flush" ? "flush" : ""
cut_name(l, m) = l != m ? "old or\nnew" : l == old ? "old" : "new"
torn_name(g, m) = g eq "-" ? "" : (g + 0 == old ? "old" : "new") . (m eq "0" ? "" : ",\nby its\nmirror")
set label 1 "the device\nis asked" at -1.7,2.8 left font ",12"
set label 2 "a cut in\nbetween\nleaves" at -1.7,1.72 left font ",12"
set label 3 "a write torn\nin the middle\nleaves" at -1.7,0.73 left font ",12"
set label 4 "time" at -0.45,3.2 right font ",11"
set arrow 1 from -0.4,3.2 to 9,3.2 lw 1.5 lc rgb "#444444" filled
set xlabel sprintf("old: generation %d; new: generation %d. In each state all blocks of all trees were read.\nblue: a block; orange: a superblock; dark: the device has made safe what was written before", old, new) font ",11"
plot data using (kind("block")):(2.6):(0.42):(0.42) with boxxyerror lc rgb middle, \
     data using (kind("superblock")):(2.6):(0.42):(0.42) with boxxyerror lc rgb orange, \
     data using (kind("flush")):(2.6):(0.3):(0.42) with boxxyerror lc rgb dark, \
     data using (cut(old, old)):(1.55):(0.46):(0.32) with boxxyerror lc rgb grey, \
     data using (cut(old, new)):(1.55):(0.46):(0.32) with boxxyerror lc rgb orange, \
     data using (cut(new, new)):(1.55):(0.46):(0.32) with boxxyerror lc rgb green, \
     data using (torn_at(old)):(0.55):(0.42):(0.35) with boxxyerror lc rgb grey, \
     data using (torn_at(new)):(0.55):(0.42):(0.35) with boxxyerror lc rgb green, \
     data using (strcol("kind") eq "flush" ? NaN : column("event")):(strcol("kind") eq "block" ? 2.77 : 2.68):(name(strcol("kind"))) with labels font ",9", \
     data using (kind("flush")):(2.6):(name(strcol("kind"))) with labels font ",10" textcolor rgb white, \
     data using (column("event") - 0.5):(column("least") == column("most") ? 1.55 : 1.64):(cut_name(column("least"), column("most"))) with labels font ",11", \
     data using (column("event")):(strcol("mirror") eq "1" ? 0.72 : 0.55):(torn_name(strcol("torn"), strcol("mirror"))) with labels font ",10"
