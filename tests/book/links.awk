# Reads Markdown files (needs pages.awk), prints "file:line<tab>path" for each relative link and image, the
# path from the root; writes to -v errors=FILE what is wrong: an anchor that no heading has, an attribute
# {#id}, a link that does not stand inline, prose that refers to a line or a listing by its number.
function wrong(message) { print FILENAME ":" FNR ": " message >> errors }
function link(target,    path) {
    sub(/^ *<?/, "", target); sub(/[ >].*/, "", target)
    if ((path = path_of(target, FILENAME)) == "") return
    print FILENAME ":" FNR "\t" path
    if (target ~ /#/ && path ~ /\.md$/) {
        sub(/[^#]*#/, "", target)
        wanted[path, target] = FILENAME ":" FNR ": no heading for #" target " in " path
    }
}
FNR == 1 { fence = "" }
fence != "" { if ($0 ~ "^ *" fence "+ *$") fence = ""; next }
/^ *(```|~~~)/ { match($0, /(`+|~+)/); fence = substr($0, RSTART, RLENGTH); next }
/^#+ / { anchors[FILENAME, slug($0, FILENAME)] = 1 }
{
    while (match($0, /`+[^`]*`+/)) $0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
    if (/\{#[A-Za-z]/) wrong("an attribute {#id}")
    if (/^\[[^]]+\]:/) wrong("a link definition; links stand inline")
    if (match($0, /(^|[^A-Za-z])([Ll]istings?|[Ll]ines?) [0-9]+/)) wrong("refers to a number:" substr($0, RSTART, RLENGTH))
    for (rest = $0; match(rest, /\]\([^)]*\)/); ) {
        target = substr(rest, RSTART + 2, RLENGTH - 3); rest = substr(rest, RSTART + RLENGTH); link(target)
    }
    for (rest = $0; match(rest, /(src|href)="[^"]*"/); ) {
        target = substr(rest, RSTART, RLENGTH - 1); rest = substr(rest, RSTART + RLENGTH); sub(/.*"/, "", target); link(target)
    }
}
END { for (key in wanted) if (!(key in anchors)) print wanted[key] >> errors }
