# Push right.
sh "$COPPICE/figures/traces/draw.sh" 04-right kernel
