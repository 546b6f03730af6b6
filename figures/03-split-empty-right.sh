# SPLIT_EMPTY_RIGHT as the tool carries it out: the last operation of the trace, with the policy that only splits.
coppice replay --trace "$COPPICE/figures/traces/03-empty-right.trace" --policy split --node-size 4K --dot |
    sed 's/03-empty-right.trace/SPLIT_EMPTY_RIGHT/'
