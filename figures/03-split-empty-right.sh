# SPLIT_EMPTY_RIGHT: the last operation of the trace, by the policy that only splits.
coppice replay --trace "$COPPICE/figures/traces/03-empty-right.trace" --policy split --node-size 4K --dot
