# SPLIT_BEHIND_SLOT as the tool carries it out: the last operation of the trace, with the policy that only splits.
coppice replay --trace "$COPPICE/figures/traces/03-behind-slot.trace" --policy split --node-size 4K --dot |
    sed 's/03-behind-slot.trace/SPLIT_BEHIND_SLOT/'
