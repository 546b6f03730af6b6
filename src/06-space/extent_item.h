/* The items of the extent tree: an extent, and who refers to it.
 *
 * An extent is a tree block or a stretch of data. Its item counts the references to it and lists
 * them. A reference names a tree, or where the tree's own name does not say enough any more, the
 * block (the parent) that the pointer lies in:
 *
 *                          of a block               of data
 *   by tree      176 TREE_BLOCK_REF  root    178 EXTENT_DATA_REF  root, objectid, offset; count
 *   by parent    182 SHARED_BLOCK_REF parent 184 SHARED_DATA_REF  parent; count
 *
 * The first ones are inline, behind the head of the extent's item, while that is short; the others
 * are items of their own, keyed items:
 *
 *   (bytenr METADATA_ITEM level)       | refs generation flags | 176 root | 176 root | 182 parent |
 *   (bytenr EXTENT_ITEM num_bytes)     | refs generation flags | 178 root objectid offset count |
 *                                                              | 184 parent count | ...
 *   (bytenr 176 root)                  |                                       no data
 *   (bytenr 178 hash)                  | root objectid offset count |
 *   (bytenr 182 parent)                |                                       no data
 *   (bytenr 184 parent)                | count |
 *
 * Before SKINNY_METADATA a block's item was (bytenr EXTENT_ITEM num_bytes) with a tree_block_info
 * between head and references; converted images have some of them still. They are found, read and
 * changed; new ones are not made. With simple quota an EXTENT_OWNER_REF comes first, which counts
 * for nothing; it stays where it is.
 *
 * What must hold of an extent at rest:
 *   E1  refs is the sum of what its references count, one for each reference of a block; never 0
 *   E2  inline references ascend by type; within a type their offset (extent_ref_offset) descends
 *   E3  no reference is listed twice
 *   E4  an extent without references has no item, and so no keyed ones
 *
 * All functions that change a tree find out first whether they can: EUCLEAN names the extent and
 * the reference, and nothing has changed. After another error (ENOSPC, EIO, ENOMEM) the references
 * of this one extent may have changed without its refs, where they are keyed; the transaction
 * cannot be committed then.
 *
 * The kernel's names: lookup_inline_extent_backref, insert_inline_extent_backref,
 * lookup_extent_backref, insert_extent_backref, __btrfs_inc_extent_ref, __btrfs_free_extent,
 * alloc_reserved_tree_block, alloc_reserved_file_extent, run_delayed_extent_op.
 */
#ifndef EXTENT_ITEM_H
#define EXTENT_ITEM_H

#include "tree.h"

/* A block's num_bytes is the node size. */
struct extent {
    uint64_t bytenr;
    uint64_t num_bytes;
    bool is_block;
    uint8_t level; /* of a block */
};

/* Fields that the type does not name are not looked at. */
struct extent_ref {
    uint8_t type; /* TREE_BLOCK_REF_KEY, SHARED_BLOCK_REF_KEY and so on */
    uint64_t root;
    uint64_t parent;
    uint64_t objectid;
    uint64_t offset;
};

struct extent_info {
    uint64_t refs;
    uint64_t generation;
    uint64_t flags;
};

/* The offset in the key of the keyed item: the root, the parent, or of an EXTENT_DATA_REF the
 * hash, where it is not taken (hash_extent_data_ref). */
uint64_t extent_ref_offset(const struct extent_ref *ref);

/* Less than 0, 0 or more than 0, as a is before b in the item, the same, or behind. Where two
 * EXTENT_DATA_REFs have the same hash the item may hold them the other way round. */
int extent_ref_compare(const struct extent_ref *a, const struct extent_ref *b);

/* 0 and what its item says; 1 where there is none. EUCLEAN where the item is not this extent's. */
int extent_lookup(struct tree *tree, const struct extent *extent, struct extent_info *info);

/* Makes the item of a new extent with its first reference, which counts `count`. The flags are
 * EXTENT_FLAG_DATA or EXTENT_FLAG_TREE_BLOCK, and BLOCK_FLAG_FULL_BACKREF. */
int extent_insert(struct tree *tree, const struct extent *extent, uint64_t generation,
                  uint64_t flags, const struct extent_ref *ref, uint32_t count);

/* One reference more; or, of data, a reference that counts `count` more. A reference of a block
 * counts 1. */
int extent_add_ref(struct tree *tree, const struct extent *extent, const struct extent_ref *ref,
                   uint32_t count);

/* Takes `count` away from a reference, which goes when nothing is left of it; with the last one
 * the extent's item goes. *refs_left is the extent's refs afterwards. */
int extent_drop_ref(struct tree *tree, const struct extent *extent, const struct extent_ref *ref,
                    uint32_t count, uint64_t *refs_left);

/* Sets flags of a block beside those that are set. */
int extent_set_flags(struct tree *tree, const struct extent *extent, uint64_t flags);

#endif
