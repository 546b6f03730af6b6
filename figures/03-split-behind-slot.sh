# SPLIT_BEHIND_SLOT: the last operation of the trace, by the policy that only splits.
coppice replay --trace "$COPPICE/figures/traces/03-behind-slot.trace" --policy split --node-size 4K --dot
