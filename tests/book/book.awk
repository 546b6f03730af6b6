# Prints a page of the book as Markdown for pandoc (needs pages.awk): awk ... PAGES pass=2 PAGE, where
# PAGES are book.md and all chapters. Headings get anchors of their own in the whole book; links between
# the pages follow them, within one page or, with -v split_pages=1, from page to page; a link to another
# file of the tree becomes plain text; an excerpt comment becomes a caption. The first heading of book.md
# goes: it is the title of the book.
function name_of(path) { sub(/.*\//, "", path); sub(/\.md$/, "", path); return path }
function anchor_of(path, heading) {
    return name_of(path) (heading == "" || heading == title[path] ? "" : "--" heading)
}

# The target of a link in this page, in the book's own terms; "" where it leads to another file.
function target_of(target, is_image,    path, heading, page) {
    path = path_of(target, FILENAME)
    if (path == "") return target
    if (is_image) return path
    if (!(path in title)) return ""
    heading = index(target, "#") ? substr(target, index(target, "#") + 1) : ""
    if (!split_pages || path == FILENAME) return "#" anchor_of(path, heading)
    page = (path == "book.md" ? "index" : name_of(path)) ".html"
    return page (heading == "" ? "" : "#" anchor_of(path, heading))
}
function with_links(line,    out, text, target) {
    while (match(line, /`+[^`]*`+|!?\[(`[^`]*`|[^]`])*\]\([^)]*\)/)) {
        out = out substr(line, 1, RSTART - 1)
        text = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        if (text !~ /^`/) {
            match(text, /\]\([^)]*\)$/)
            target = substr(text, RSTART + 2, RLENGTH - 3)
            text = substr(text, 1, RSTART)
            target = target_of(target, text ~ /^!/)
            text = (target == "") ? substr(text, 2, length(text) - 2) : text "(" target ")"
        }
        out = out text
    }
    return out line
}
# A paragraph goes out whole, since a link may run over the end of a row.
function flush() { if (paragraph != "") printf "%s", with_links(paragraph); paragraph = "" }
FNR == 1 { fence = "" }
fence != "" { if ($0 ~ "^ *" fence "+ *$") fence = ""; if (pass == 2) print; next }
/^ *(```|~~~)|^#+ |^<!-- excerpt |^[ \t]*$/ { flush() }
/^ *(```|~~~)/ { match($0, /(`+|~+)/); fence = substr($0, RSTART, RLENGTH); if (pass == 2) print; next }
pass != 2 { if (/^# / && !(FILENAME in title)) title[FILENAME] = slug($0, FILENAME " title"); next }
/^#+ / {
    heading = slug($0, FILENAME)
    if (FILENAME != "book.md" || heading != title[FILENAME])
        print with_links($0) " {#" anchor_of(FILENAME, heading) "}"
    next
}
/^<!-- excerpt / {
    names = ""
    for (i = 4; i < NF; i++) {
        sub(/^top-comment$/, "top comment", $i)
        names = names (names ~ /(struct|union|enum)$/ ? " " : i > 4 ? ", " : ": ") $i
    }
    print "<p class=\"excerpt\"><code>" $3 "</code>" names "</p>\n"
    next
}
{ paragraph = paragraph $0 "\n" }
END { flush() }
