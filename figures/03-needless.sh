# A double split where one new leaf would have done.
coppice replay --trace "$COPPICE/figures/traces/03-needless.trace" --policy split --node-size 4K --dot
