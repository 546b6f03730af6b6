# A merge that does not come off.
sh "$COPPICE/figures/traces/draw.sh" 04-stays kernel
