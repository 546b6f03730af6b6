# Push right, the path goes along.
sh "$COPPICE/figures/traces/draw.sh" 04-follow kernel
