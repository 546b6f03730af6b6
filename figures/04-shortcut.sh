# The shortcut: before the patch, and after it.
sh "$COPPICE/figures/traces/draw.sh" 04-shortcut 2013 kernel
