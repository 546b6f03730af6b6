# SPLIT_TWICE: the last operation of the trace, by the policy that only splits.
coppice replay --trace "$COPPICE/figures/traces/03-twice.trace" --policy split --node-size 4K --dot
