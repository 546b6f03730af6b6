# A merge to the left.
sh "$COPPICE/figures/traces/draw.sh" 04-merge kernel
