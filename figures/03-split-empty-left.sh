# SPLIT_EMPTY_LEFT: the last operation of the trace, by the policy that only splits.
coppice replay --trace "$COPPICE/figures/traces/03-empty-left.trace" --policy split --node-size 4K --dot
