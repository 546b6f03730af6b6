# Owns the way from `coppice dump` to the normal form that judge-dump.sh compares; theirs.awk tells
# what that form is and comes to it from the dump-tree of btrfs-progs. LC_ALL=C.
#
# The text of `coppice dump` is the normal form but for its layout: an indented line for each record,
# names and values alternating. So all lines go over by the same rule, and only what dump-tree does
# not show is left out:
#   root          all behind generation_v2, where that differs from generation
#   file_extent   encryption, other_encoding; of a prealloc extent ram_bytes and compression
#   and what is in free space bitmaps, verity and device replacement items and those of unknown types

# The bytes of a quoted string, up to the first NUL; how many there are in all goes to `size`, what
# stands behind the string to `rest`.
function unquote(s,    text, at, c, ended) {
    s = substr(s, 2)
    size = 0
    while ((at = match(s, /["\\]/)) > 0) {
        if (!ended) text = text substr(s, 1, at - 1)
        size += at - 1
        c = substr(s, at + 1, 1)
        if (substr(s, at, 1) == "\"") {
            rest = substr(s, at + 1)
            return text
        }
        if (c == "x") {
            if (substr(s, at + 2, 2) == "00") ended = 1
            c = byte[substr(s, at + 2, 2)]
            at += 2
        }
        if (!ended) text = text c
        size++
        s = substr(s, at + 2)
    }
    rest = ""
    return "? no end of the string"
}
function escape(s) {
    if (s ~ /[\\\n]/) {
        gsub(/\\/, "\\\\", s)
        gsub(/\n/, "\\n", s)
    }
    return s
}

# "a 1 b (2 3 4) c "x"" to " a=1 b=(2 3 4) c=x".
function list(s,    out, n, i, word, name, text, at) {
    if (s !~ /["(]/) {
        n = split(s, word, " ")
        for (i = 1; i < n; i += 2) out = out " " word[i] "=" word[i + 1]
        return out
    }
    while (match(s, /^ *[a-z_0-9]+ /)) {
        name = substr(s, 1, RLENGTH - 1)
        sub(/^ */, "", name)
        s = substr(s, RLENGTH + 1)
        if (s ~ /^"/) {
            text = unquote(s)
            s = rest
            if (name == "data") out = out " data_size=" size " data=" escape(substr(text, 1, 255))
            else out = out " " name "=" escape(text)
            continue
        }
        at = s ~ /^\(/ ? index(s, ")") : index(s " ", " ") - 1
        out = out " " name "=" substr(s, 1, at)
        s = substr(s, at + 1)
    }
    return s ~ /^ *$/ ? out : out " ?" s
}
function minus(n) { return "18446744073709551" (616 - n) }

BEGIN {
    for (i = 0; i < 256; i++) byte[sprintf("%02x", i)] = sprintf("%c", i)
    split("free_space_bitmap verity_descriptor dev_replace persistent bytes", words, " ")
    for (i = 1; i in words; i++) is_left_out[words[i]] = 1
}

/^tree name / {
    tree = $5
    sub(/^-/, "", tree)
    if ($5 ~ /^-/) tree = minus(tree)
    if ($3 ~ /\//) tree = tree substr($3, index($3, "/"))
    print tree "|tree|bytenr=" $7 " level=" $9 " generation=" $11
    next
}
/^(leaf|node) bytenr / { print tree "|" $1 "|" substr(list(substr($0, 6)), 2); next }
/^  pointer slot / { print tree "|pointer|" substr(list(substr($0, 11)), 2); next }
/^  item slot / {
    match($0, /\([^)]*\)/)
    key = substr($0, RSTART, RLENGTH)
    print tree "|" key "|item slot=" $3 list(substr($0, RSTART + RLENGTH))
    next
}
/^    / {
    if ($1 in is_left_out) next
    text = list(substr($0, index($0, $1) + length($1)))
    if ($1 == "root" && $3 != $27) sub(/ uuid=.*/, "", text)
    if ($1 == "file_extent") {
        sub(/ encryption=[0-9]+ other_encoding=[0-9]+/, "", text)
        if ($5 == "prealloc") sub(/ ram_bytes=[0-9]+ compression=[a-z]+/, "", text)
    }
    print tree "|" key "|" $1 text
    next
}
{ print "? " $0 }
