# A double split, and the push that avoids it.
sh "$COPPICE/figures/traces/draw.sh" 04-double split kernel
