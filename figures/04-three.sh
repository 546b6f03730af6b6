# Two leaves into three.
sh "$COPPICE/figures/traces/draw.sh" 04-three kernel kernel,+three
