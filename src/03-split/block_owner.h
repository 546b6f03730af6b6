/* Who may change a block: the block_owner.
 *
 * A tree is changed in transactions, and a block that an earlier transaction has written must not
 * be overwritten. So whoever wants to change a block claims it first. The owner answers with a
 * block that may be changed: the same one, where it belongs to the running transaction already, or
 * its shadow, a copy at another address. With the address the pointer in the parent changes, so
 * blocks are claimed from the root down.
 *
 * This is a seam. The stand-in of this chapter is the heap (heap.h), which only counts what copy on
 * write would cost; chapter 05 brings the real one.
 *
 * The kernel's names: btrfs_cow_block, btrfs_alloc_tree_block, btrfs_free_tree_block.
 */
#ifndef BLOCK_OWNER_H
#define BLOCK_OWNER_H

#include "tree.h"

struct block_owner {
    /* Makes *block, which the caller holds, one that may be changed; the hold passes to the shadow,
     * if there is one. The caller sets the pointer that leads to it (tree_claim does). On failure
     * nothing has changed. ENOSPC, ENOMEM, EIO. */
    int (*claim)(struct block_owner *owner, struct tree *tree, struct block **block);

    /* A new block of the tree, without items, of the running transaction; the caller holds it. */
    int (*allocate)(struct block_owner *owner, struct tree *tree, uint8_t level,
                    struct block **block);

    /* Gives up a block to which no pointer leads any more; the caller's hold ends with it. */
    void (*free)(struct block_owner *owner, struct tree *tree, struct block *block);
};

#endif
