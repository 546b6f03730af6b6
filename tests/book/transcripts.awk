# The console blocks of a chapter. With -v mode=commands it writes each command to dir/N.command; with
# mode=render it prints the chapter, each command followed by dir/N.output and dir/N.status.
function wrong(message) { if (mode == "commands") print FILENAME ":" FNR ": " message >> errors }
function finish(    line, file, status) {
    if (mode == "commands") { close(dir "/" n ".command"); return }
    file = dir "/" n ".output"
    while ((getline line < file) > 0) print line
    close(file)
    if ((getline status < (dir "/" n ".status")) > 0 && status != "0") print "[exit " status "]"
    close(dir "/" n ".status")
}
in_block && /^```[ \t]*$/ { if (started) finish(); in_block = started = 0; print; next }
in_block && (continued || /^\$ /) {
    if (continued && !/^> /) wrong("a command that goes on: the next line begins with \"> \"")
    if (!continued) { if (started) finish(); n++; started = 1 }
    print
    if (mode == "commands") print substr($0, 3) > (dir "/" n ".command")
    continued = /\\$/
    next
}
in_block { if (!started) wrong("output before the first command"); next }
/^```console[ \t]*$/ { in_block = 1 }
/^[ \t>]*(```+|~~~+)[ \t]*console/ && !in_block { wrong("a console block begins with ```console at the margin") }
{ print }
END { if (in_block) wrong("a console block is not closed") }
