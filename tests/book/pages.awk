# What headings and links mean on a web page, for links.awk and book.awk.

# The anchor of a heading line as GitHub makes it ("## The middle" -> "the-middle"), for headings in ASCII;
# the second of a name in a file gets "-1".
function slug(heading, file,    n) {
    sub(/^#+ +/, "", heading)
    while (match(heading, /\]\([^)]*\)/)) heading = substr(heading, 1, RSTART) substr(heading, RSTART + RLENGTH)
    heading = tolower(heading)
    gsub(/[^a-z0-9 _-]/, "", heading); gsub(/ /, "-", heading)
    n = slug_count[file, heading]++
    return heading (n ? "-" n : "")
}

# The path from the root that a link in `file` leads to; "" for one that leaves the tree (https:).
function path_of(link, file,    path) {
    if (link ~ /^[a-z]+:/) return ""
    path = link; sub(/#.*/, "", path)
    if (path == "") return file
    if (match(file, /^.*\//)) path = substr(file, 1, RLENGTH) path
    while (sub(/[^\/.]+\/\.\.\//, "", path)) ;
    return path
}
