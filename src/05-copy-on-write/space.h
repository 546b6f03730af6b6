/* Where blocks lie: the space.
 *
 * A transaction needs addresses for its shadows and gives back those of the blocks they replace.
 * Which addresses are free is written down in trees that are themselves copied on write. So the
 * two are parted by a seam, and this is it: the transaction asks, the space answers at once from
 * memory, and what it has promised it writes into its trees when the transaction settles.
 *
 * What must hold of every space:
 *   W1  an address that it gives out is of no block that the newest superblock on the device
 *       reaches: what a transaction frees is pinned until it is committed
 *   W2  nothing is allocated over a superblock, or below 1 MiB of the device
 *
 * The stand-in of this chapter, bump_space, counts up in one chunk. Chapter 06 brings the extent
 * allocator.
 */
#ifndef SPACE_H
#define SPACE_H

#include "tree.h"

struct transaction;

struct space {
    /* The address of a new block of the tree, which is its one reference. ENOSPC; an error. */
    int (*alloc)(struct space *space, struct tree *tree, uint8_t level, uint64_t *bytenr);

    /* The tree gives up a block. Where the running transaction made the block (its generation
     * tells) its address may be used again at once, else when `committed` is called. */
    int (*free)(struct space *space, struct tree *tree, const struct block *block);

    /* Before the tree gives up a block that an older transaction made, for its shadow or for good:
     * other trees may hold it too. Sees to the references of what the block points to. */
    int (*shared)(struct space *space, struct tree *tree, const struct block *block);

    /* Writes into trees, by the transaction, and into transaction->super what is not yet there. 1:
     * something has changed; 0: nothing was left to write. */
    int (*settle)(struct space *space);

    /* The transaction is on the device, or (false) will never be: what it freed, or what it
     * allocated, is free. */
    void (*committed)(struct space *space, bool is_on_device);

    struct transaction *transaction; /* the running one; transaction_begin sets it */
};

#endif
