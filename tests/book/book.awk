# Prints Markdown of the book for pandoc (needs pages.awk): awk ... PAGES pass=2 PAGE..., where PAGES are book.md
# and all chapters. Headings get anchors that are their own in the whole book; links between the pages
# follow them, into one page or with -v split_pages=1 from page to page; links to other files of the tree
# become plain text; an excerpt comment becomes a caption. The headings of book.md rise by a
# level, and its title goes: it is the title of the book.
function name_of(path) { sub(/.*\//, "", path); sub(/\.md$/, "", path); return path }
function anchor_of(path, heading) {
    return name_of(path) (heading == "" || heading == title[path] ? "" : "--" heading)
}
# [text](target), or ![text](target), in the book's own terms.
function place_of(text, target, is_image,    path, heading) {
    path = path_of(target, FILENAME)
    if (path == "") return text "(" target ")"
    if (is_image) return text "(" path ")"
    if (!(path in title)) return substr(text, 2, length(text) - 2)
    heading = target
    if (!sub(/[^#]*#/, "", heading)) heading = ""
    return text "(" (split_pages && path != FILENAME ? (path == "book.md" ? "index" : name_of(path)) ".html" : "") \
        (split_pages && heading == "" && path != FILENAME ? "" : "#" anchor_of(path, heading)) ")"
}
function with_links(line,    out, text) {
    while (match(line, /!?\[(`[^`]*`|[^]])*\]\([^)]*\)/)) {
        out = out substr(line, 1, RSTART - 1)
        text = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        match(text, /\]\([^)]*\)$/)
        out = out place_of(substr(text, 1, RSTART), substr(text, RSTART + 2, RLENGTH - 3), text ~ /^!/)
    }
    return out line
}
FNR == 1 { fence = ""; titled = 0 }
fence != "" { if ($0 ~ "^" fence "+ *$") fence = ""; if (pass == 2) print; next }
/^(```|~~~)/ { match($0, /^(`+|~+)/); fence = substr($0, RSTART, RLENGTH); if (pass == 2) print; next }
pass != 2 { if (/^# / && !(FILENAME in title)) title[FILENAME] = slug($0, FILENAME "title"); next }
/^#+ / {
    heading = slug($0, FILENAME)
    if (FILENAME == "book.md" && !titled++) next
    if (FILENAME == "book.md") sub(/^#/, "")
    print with_links($0) " {#" anchor_of(FILENAME, heading) "}"
    next
}
/^<!-- excerpt / {
    caption = $4; for (i = 5; i < NF; i++) caption = caption (caption ~ /^(struct|union|enum)$|[ ](struct|union|enum)$/ ? " " : ", ") $i
    print "<p class=\"excerpt\"><code>" $3 "</code>" (caption == "-->" ? "" : ": " caption) "</p>\n"
    next
}
{ print with_links($0) }
