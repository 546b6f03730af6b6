# Owns what is asked of the normal form of one dump (theirs.awk tells its lines), beyond equality:
# prints what was counted, and as "# ..." what is wrong with the whole:
#   - the blocks that the walk met and the blocks that have an extent item are the same. The extent tree
#     is a second witness to what is a tree's and what is gone. Blocks of log trees have no items.
function strange(text) { if (strangers++ < 5) print "# " text }
function value(name) {
    match(rest, name "=[^ ]*")
    return substr(rest, RSTART + length(name) + 1, RLENGTH - length(name) - 1)
}
{
    at = index($0, "|")
    tree = substr($0, 1, at - 1)
    rest = substr($0, at + 1)
}
rest ~ /^tree\|/ { trees++; next }
rest ~ /^(leaf|node)\|/ {
    blocks++
    if (tree !~ /^18446744073709551610/) met[value("bytenr")] = 1
    next
}
rest ~ /^pointer\|/ { next }
rest ~ /^\([^)]*\)\|item slot=/ {
    keys++
    split(rest, word, /[( )]/)
    if (tree == 2 && word[3] == "METADATA_ITEM") has_extent[word[2]] = 1
    next
}
{
    contents++
    if (tree == 2 && rest ~ /EXTENT_ITEM [0-9]*\)\|extent .*TREE_BLOCK/) has_extent[word[2]] = 1
}
END {
    for (b in met) if (!(b in has_extent)) strange("block " b " is in a tree and has no extent item")
    for (b in has_extent) if (!(b in met)) strange("block " b " has an extent item and is in no tree")
    printf "%.0f trees, %.0f blocks, %.0f keys, %.0f contents\n", trees, blocks, keys, contents
}
