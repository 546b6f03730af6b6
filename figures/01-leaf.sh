# The first leaf of first.img's fs tree.
xz -dc "$COPPICE/tests/images/first.img.xz" > first.img || exit 1
leaf=$(coppice find first.img fs 256 INODE_ITEM 0 | awk '$1 == "leaf" { print $3 }') &&
    coppice leaf first.img "$leaf" --dot
