# What overwriting does at the border of two full leaves.
sh "$COPPICE/figures/traces/draw.sh" 04-reuse 2013 kernel
