# The way to one item before and after one change, in a tree of 20,000 items and height 3.
coppice commits --space bump --items 20000 --dot
