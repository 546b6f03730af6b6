# The same for the left neighbour.
sh "$COPPICE/figures/traces/draw.sh" 04-discount 2013 2013,+left-discount
