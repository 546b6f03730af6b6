# Push left.
sh "$COPPICE/figures/traces/draw.sh" 04-left kernel
