# Reads Markdown files (needs pages.awk), prints "file:line<tab>path" for each relative link and image, the
# path from the root; writes to -v errors=FILE what is wrong: an anchor that no heading has, an attribute
# {#id}, a link that does not stand inline, prose that refers to a line or a listing by its number, a comment
# that is no excerpt. The line it names is the first of the paragraph.
function wrong(message) { print where ": " message >> errors }
function note_link(target,    path) {
    sub(/^ *<?/, "", target); sub(/[ >].*/, "", target)
    if ((path = path_of(target, page)) == "") return
    print where "\t" path
    if (target ~ /#/ && path ~ /\.md$/) {
        sub(/[^#]*#/, "", target)
        wanted[path, target] = where ": no heading for #" target " in " path
    }
}
# A paragraph, its rows joined: code and links may run over the end of a row.
function flush(    text, target) {
    text = paragraph
    paragraph = ""
    while (match(text, /`+[^`]*`+/)) text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
    if (text ~ /\{#[A-Za-z]/) wrong("an attribute {#id}")
    if (text ~ /^ ?\[[^]]+\]:/) wrong("a link definition; links stand inline")
    if (match(text, /(^|[^A-Za-z])([Ll]istings?|[Ll]ines?) [0-9]+/))
        wrong("refers to a number:" substr(text, RSTART, RLENGTH))
    while (match(text, /\]\([^)]*\)|(src|href)="[^"]*"/)) {
        target = substr(text, RSTART, RLENGTH - 1)
        text = substr(text, RSTART + RLENGTH)
        sub(/^\]\(|^[a-z]+="/, "", target)
        note_link(target)
    }
}
/^ *(```|~~~)|^#+ |^[ \t]*$/ || FNR == 1 { flush() }
FNR == 1 { fence = ""; page = FILENAME }
fence != "" { if ($0 ~ "^ *" fence "+ *$") fence = ""; next }
/^ *(```|~~~)/ { match($0, /(`+|~+)/); fence = substr($0, RSTART, RLENGTH); next }
/<!--/ && !/^<!-- excerpt / { print FILENAME ":" FNR ": a comment that is no excerpt: " $0 >> errors }
/^#+ / { anchors[FILENAME, slug($0, FILENAME)] = 1 }
{ if (paragraph == "") where = FILENAME ":" FNR; paragraph = paragraph " " $0 }
END {
    flush()
    for (key in wanted) if (!(key in anchors)) print wanted[key] >> errors
}
