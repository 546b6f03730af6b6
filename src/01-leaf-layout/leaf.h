/* Leaves: where the items are.
 *
 *   0        101                                                                     node size
 *   | header | item 0 | item 1 | item 2 |   free   | data of 2 | data of 1 | data of 0 |
 *              key, offset, size (25 bytes each)    ^ offset of item 2, counted from byte 101
 *
 * Item headers grow up from the block header in the order of their keys; the data grows down from
 * the end, in the same order read backwards. The free space is one hole between the two, so an item
 * may take any split of it into header and data, and nothing has to be known about item sizes
 * beforehand.
 *
 * What must hold in a leaf (leaf_check reports the number):
 *   L1  the level is 0
 *   L2  the item headers fit into the block
 *   L3  keys ascend strictly
 *   L4  the data of item 0 ends at the end of the block; that of each further item ends where
 *       that of the item before it begins
 *   L5  the data does not reach into the item headers
 *   L6  the data of each item has the shape that its type asks for (item.h)
 *
 * The functions that change a leaf keep L2 to L5, and change nothing when they fail. They mirror
 * the kernel's btrfs_setup_item_for_insert, btrfs_del_items, btrfs_extend_item,
 * btrfs_truncate_item.
 */
#ifndef LEAF_H
#define LEAF_H

#include "block.h"
#include "key.h"

/* The bytes of a leaf behind its header: for item headers and data together. */
static inline uint32_t leaf_room(const struct block *leaf)
{
    return leaf->size - (uint32_t)sizeof(struct block_header);
}

static inline struct item_header *leaf_item(const struct block *leaf, uint32_t slot)
{
    return (struct item_header *)(leaf->data + sizeof(struct block_header)) + slot;
}

static inline struct key leaf_key(const struct block *leaf, uint32_t slot)
{
    return key_from_disk(&leaf_item(leaf, slot)->key);
}

/* Where the data of an item begins, counted from the end of the block header, and its bytes. */
static inline uint32_t item_offset(const struct block *leaf, uint32_t slot)
{
    return from_le32(leaf_item(leaf, slot)->offset);
}

static inline uint32_t item_size(const struct block *leaf, uint32_t slot)
{
    return from_le32(leaf_item(leaf, slot)->size);
}

static inline void *item_data(const struct block *leaf, uint32_t slot)
{
    return leaf->data + sizeof(struct block_header) + item_offset(leaf, slot);
}

/* Where the data of slots 0 .. slot - 1 begins, and so that of `slot` ends, or would end. */
static inline uint32_t leaf_data_end(const struct block *leaf, uint32_t slot)
{
    return slot ? item_offset(leaf, slot - 1) : leaf_room(leaf);
}

/* Bytes of the hole between item headers and data. An item of n bytes of data needs
 * n + sizeof(struct item_header). */
static inline uint32_t leaf_free_space(const struct block *leaf)
{
    uint32_t nritems = block_nritems(leaf);
    return leaf_data_end(leaf, nritems) - nritems * (uint32_t)sizeof(struct item_header);
}

/* Makes an empty leaf of what lies in leaf->data: a zeroed header with this address, generation and
 * owner, revision and WRITTEN flag as they are in every block of ours, no items. */
void leaf_init(struct block *leaf, uint64_t generation, uint64_t owner);

/* Opens a gap before `slot`, in both halves of the leaf: `count` item headers, which the caller
 * must fill in, and `bytes` of data for them. The room must be there. Returns where the data of the
 * gap ends. */
uint32_t leaf_open_gap(struct block *leaf, uint32_t slot, uint32_t count, uint32_t bytes);

/* Puts an item into `slot`, before what is there now. The caller knows that the key belongs there.
 * `data` NULL means zeros. 0, or ENOSPC when the free space is too small. */
int leaf_insert(struct block *leaf, uint32_t slot, const struct key *key, const void *data,
                uint32_t size);

/* Takes out the items slot .. slot + count - 1; the caller knows that they exist. */
void leaf_remove(struct block *leaf, uint32_t slot, uint32_t count);

/* Makes the data of an item longer by `bytes` zeros at its end. 0 or ENOSPC. */
int leaf_grow(struct block *leaf, uint32_t slot, uint32_t bytes);

/* Cuts `bytes` off the end of the data of an item, at most all. */
void leaf_shrink(struct block *leaf, uint32_t slot, uint32_t bytes);

/* What the check of an item's shape must know beyond the item itself. */
struct item_context {
    uint32_t sectorsize;
    uint32_t csum_size; /* bytes of one checksum */
};

/* L1 to L6; 0, or EUCLEAN with address, slot and rule. With context NULL the data of items is not
 * looked at (L6). Touches nothing outside of the block, whatever is in it. */
int leaf_check(const struct block *leaf, const struct item_context *context);

#endif
