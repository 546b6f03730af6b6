# SPLIT_EMPTY_LEFT as the tool carries it out: the last operation of the trace, with the policy that only splits.
coppice replay --trace "$COPPICE/figures/traces/03-empty-left.trace" --policy split --node-size 4K --dot |
    sed 's/03-empty-left.trace/SPLIT_EMPTY_LEFT/'
