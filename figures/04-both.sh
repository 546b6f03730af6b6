# A merge to both sides.
sh "$COPPICE/figures/traces/draw.sh" 04-both kernel
