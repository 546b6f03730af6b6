# SPLIT_TWICE as the tool carries it out: the last operation of the trace, with the policy that only splits.
coppice replay --trace "$COPPICE/figures/traces/03-twice.trace" --policy split --node-size 4K --dot |
    sed 's/03-twice.trace/SPLIT_TWICE/'
