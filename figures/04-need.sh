# The need, without and with what the leaf has left itself.
sh "$COPPICE/figures/traces/draw.sh" 04-need 2013 2013,+need
