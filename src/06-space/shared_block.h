/* Blocks that several trees hold, and the references of what they point to. */
#ifndef SHARED_BLOCK_H
#define SHARED_BLOCK_H

#include "extent_allocator.h"

/* The tree is about to give up a block that an older transaction made: sees to it that what the
 * block points to has the references that it should have when this is done, both the block's own,
 * where other trees go on holding it, and those of the tree's shadow of it. 0, or an error. */
int share_block(struct extent_allocator *allocator, struct tree *tree, const struct block *block);

#endif
