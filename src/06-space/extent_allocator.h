/* The extent allocator: the real space, an account of every byte.
 *
 * It gives out addresses from block groups, and keeps for every extent, block or data, who refers
 * to it. What it has given out and taken back it tells the trees when the transaction settles:
 *
 *     alloc, free, shared            settle
 *     ----------------------         ------------------------------------------------------------
 *     block groups, in memory   +->  new chunks, their items
 *     delayed references      --+    extent items, free space, checksums of data that is gone
 *                                    `used` of block groups      and again, until nothing is new
 *
 * It ends, since each change of a tree shadows blocks, a block is shadowed once in a transaction
 * (W5), and the trees that are changed here do not grow faster than they are written: an extent
 * item for each block, and dozens or hundreds of items to a block.
 *
 * Shared blocks. After a snapshot two trees hold the same blocks, and a block's pointers are
 * counted once, as references of the block's own tree. When one of the two gives up such a block
 * for a shadow, what the block points to is from then on pointed to by the shadow too:
 *   - the tree that owns the block leaves it: its references stay, with the shadow; the old block
 *     gets references of its own, by its address, and a flag says so (FULL_BACKREF);
 *   - another tree leaves it: the shadow's references are added, by the name of that tree;
 *   - the last tree leaves a block with that flag: the shadow's references are added, those by
 *     address are taken away.
 *
 * The kernel's names: btrfs_alloc_tree_block, btrfs_free_tree_block, update_ref_for_cow,
 * btrfs_inc_ref, btrfs_dec_ref, btrfs_reserve_extent, btrfs_free_extent, __btrfs_free_extent,
 * btrfs_block_rsv (the reserve).
 */
#ifndef EXTENT_ALLOCATOR_H
#define EXTENT_ALLOCATOR_H

#include "block_group.h"
#include "delayed_ref.h"

struct allocator_counters {
    uint64_t refs_run;       /* delayed extents worked off */
    uint64_t refs_cancelled; /* blocks taken and given up before that */
};

struct extent_allocator {
    struct space space; /* must be first */
    struct volume *volume;
    struct block_groups groups;
    struct delayed_refs refs;
    bool is_open;         /* block groups are read at the first need */
    bool is_settling;     /* the reserve may be used */
    bool may_use_reserve; /* by a transaction that will free more than it takes */
    struct allocator_counters counters;
};

/* An allocator for the volume, which must outlive it. Reads nothing yet. */
void extent_allocator_open(struct extent_allocator *allocator, struct volume *volume);
void extent_allocator_close(struct extent_allocator *allocator);

/* Reads the block groups, where that was not done. For whoever wants to look at them. */
int extent_allocator_load(struct extent_allocator *allocator);

/* Gives out data space: `length` bytes if there is a range so long, else as much as the longest has
 * (*got), at least a sector. ENOSPC. */
int data_alloc(struct extent_allocator *allocator, uint64_t length, uint64_t *bytenr,
               uint64_t *got);

/* A file extent item refers to data: EXTENT_DATA_REF of the tree `root`, inode `objectid`, at file
 * offset minus offset in the extent. is_new: right after data_alloc. */
int data_add_ref(struct extent_allocator *allocator, uint64_t bytenr, uint64_t num_bytes,
                 uint64_t root, uint64_t objectid, uint64_t offset, bool is_new);

/* It does no more. With the last reference go the space and the checksums. */
int data_drop_ref(struct extent_allocator *allocator, uint64_t bytenr, uint64_t num_bytes,
                  uint64_t root, uint64_t objectid, uint64_t offset);

#endif
