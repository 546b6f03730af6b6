# The mirror image of the shortcut.
sh "$COPPICE/figures/traces/draw.sh" 04-mirror kernel kernel,+shortcut-left
