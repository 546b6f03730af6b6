# What the chapters show of the source (needs definitions.awk): awk -v sources="FILES" -v errors=FILE ...
# CHAPTERS. Prints "file shown total", in the order of the sources; what is wrong goes to errors as
# "file message". The files of the heart are shown whole, but for those named cmd_*.c and
# lab*.[ch], the commands and what they measure and draw with; in every other file each function that is
# not static is shown whole or stands in its chapter's list:
#   **Not shown**
#   - `file.c`: `name`, `name`: the reason.
#   - `file.c`: whole file: the reason.
BEGIN { heart = " 01 02 03 04 05 07 " }
FNR == 1 { chapter = substr(FILENAME, 10, 2); has_chapter[chapter] = 1; in_list = in_fence = 0; take_item() }
/^```/ { in_fence = !in_fence }
in_fence { next }
/^<!-- excerpt / { excerpt($0) }
/^\*\*Not shown\*\*/ { take_item(); in_list = 1; next }
/^#/ { take_item(); in_list = 0 }
in_list && /^- / { take_item(); item = $0; item_chapter = chapter; next }
in_list && /^ +[^ ]/ { sub(/^ +/, " "); item = item $0; next }

# One item of a list: listed[chapter/file] has the names, "*" for the whole file.
function take_item(    part, names, place) {
    if (item == "") return
    if (item !~ /^- `[^`]+`: (whole file|`[^`]+`(, `[^`]+`)*): ./)
        print "chapters/" item_chapter " not a list item - `file`: `name`, `name`: reason: " item >> errors
    split(item, part, /: /)
    gsub(/[-` ]/, "", part[1])
    names = (part[2] == "whole file") ? "*" : part[2]
    gsub(/[`,]/, "", names)
    place = item_chapter "/" part[1]
    listed[place] = listed[place] " " names " "
    item = ""
}

function is_shown(file, range,    bound, i) {
    if (range == "") return 0
    split(range, bound, " ")
    for (i = bound[1] + 0; i <= bound[2] + 0; i++)
        if ((file, i) in counts && !((file, i) in shown)) return 0
    return 1
}

function check(file,    room, base, place, names, n, name, i, seen, total, missing) {
    load(file)
    base = file; sub(/.*\//, "", base)
    room = file ~ /^src\/[0-9]/ ? substr(file, 5, 2) : "00"
    place = room "/" base
    if (file in broken) print file " " broken[file] >> errors
    for (i = 1; i <= lines[file]; i++)
        if ((file, i) in counts) {
            total++
            if ((file, i) in shown) seen++
            else missing[++n] = i
        }
    print file, seen + 0, total + 0
    names = listed[place]
    delete listed[place]
    if (index(heart, " " room " ") && (base !~ /^(cmd_|lab)/ || names == "")) {
        if (names != "") print file " a file of the heart cannot be listed as not shown" >> errors
        for (i = 1; i <= n && i <= 5; i++)
            print file " line " missing[i] " is not shown: " text[file, missing[i]] >> errors
        if (n > 5) print file " and " (n - 5) " more lines are not shown" >> errors
        return
    }
    n = split(names, name, " ")
    for (i = 1; i <= n; i++) {
        if (name[i] == "*" ? seen == total : is_shown(file, span(file, name[i])))
            print file " " name[i] " is listed as not shown, but is shown" >> errors
        else if (name[i] != "*" && fault != "") print fault " (in the list of what is not shown)" >> errors
    }
    for (i = 1; i <= function_count[file] && names !~ / \* /; i++)
        if (!is_shown(file, span(file, functions[file, i])) && index(names, " " functions[file, i] " ") == 0)
            print file " function " functions[file, i] " is neither shown nor listed as not shown" >> errors
}

END {
    take_item()
    n = split(sources, source, " ")
    for (i = 1; i <= n; i++) {
        room = source[i] ~ /^src\/[0-9]/ ? substr(source[i], 5, 2) : "00"
        if (room in has_chapter) check(source[i])
        else without[room] = 1
    }
    for (room in without) print "src/" room " has no chapter in book.md" >> errors
    for (place in listed)
        if (listed[place] != "") print "chapters/" place " is listed as not shown, but does not exist" >> errors
}
