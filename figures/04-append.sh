# Appending.
sh "$COPPICE/figures/traces/draw.sh" 04-append kernel kernel,+append
