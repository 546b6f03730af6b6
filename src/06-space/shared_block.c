#include "shared_block.h"

#include "fail.h"

/* --- whether ------------------------------------------------------------------------ */

/* A block that was made after the last snapshot is in this tree alone. */
static bool may_be_shared(const struct tree *tree, const struct block *block)
{
    const struct transaction_tree *at = (const struct transaction_tree *)tree;
    uint64_t flags = from_le64(block_header(block)->flags);
    return is_subvolume(tree->id) &&
           (block_generation(block) <= at->last_snapshot || (flags & HEADER_FLAG_RELOC));
}

/* What the extent tree says of the block, and what still waits to be told to it. */
static int look_up(struct extent_allocator *allocator, const struct block *block,
                   struct extent_info *info)
{
    struct extent extent = {block->bytenr, block->size, true, block_level(block)};
    const struct delayed_extent *waiting = delayed_refs_find(&allocator->refs, block->bytenr);
    struct tree *extents;
    int result = transaction_tree(allocator->space.transaction, EXTENT_TREE_OBJECTID, &extents);
    if (result == 0)
        result = extent_lookup(extents, &extent, info);
    if (result == 1)
        result = fail(EUCLEAN, "block %" PRIu64 " has no extent item", block->bytenr);
    if (result < 0)
        return result;
    if (waiting) {
        info->refs += (uint64_t)delayed_extent_sum(waiting);
        info->flags |= waiting->flags;
    }
    return info->refs > 0
               ? 0
               : fail(EUCLEAN, "block %" PRIu64 " has no reference, and is in tree %" PRId64,
                      block->bytenr, (int64_t)block_owner_id(block));
}

/* --- the references of what a block points to --------------------------------------- */

/* Who refers: a tree by its name, or a block by its address. */
struct referrer {
    uint64_t root, parent;
    bool by_parent;
    int64_t delta; /* 1: the references come; -1: they go */
};

static int move_data_ref(struct extent_allocator *allocator, const struct block *leaf,
                         uint32_t slot, const struct referrer *referrer)
{
    struct key key = leaf_key(leaf, slot);
    const struct file_extent_item *item = item_data(leaf, slot);
    if (key.type != EXTENT_DATA_KEY || item->type == FILE_EXTENT_INLINE ||
        from_le64(item->disk_bytenr) == 0)
        return 0;
    struct extent extent = {
        .bytenr = from_le64(item->disk_bytenr),
        .num_bytes = from_le64(item->disk_num_bytes),
    };
    struct extent_ref ref = {
        .type = referrer->by_parent ? SHARED_DATA_REF_KEY : EXTENT_DATA_REF_KEY,
        .root = referrer->root,
        .parent = referrer->parent,
        .objectid = key.objectid,
        .offset = key.offset - from_le64(item->offset),
    };
    return delayed_refs_add(&allocator->refs, &extent, &ref, referrer->delta, false);
}

static int move_block_ref(struct extent_allocator *allocator, const struct block *node,
                          uint32_t slot, const struct referrer *referrer)
{
    struct extent extent = {
        .bytenr = from_le64(node_ptr(node, slot)->blockptr),
        .num_bytes = node->size,
        .is_block = true,
        .level = (uint8_t)(block_level(node) - 1),
    };
    struct extent_ref ref = {
        .type = referrer->by_parent ? SHARED_BLOCK_REF_KEY : TREE_BLOCK_REF_KEY,
        .root = referrer->root,
        .parent = referrer->parent,
    };
    return delayed_refs_add(&allocator->refs, &extent, &ref, referrer->delta, false);
}

static int move_refs(struct extent_allocator *allocator, const struct block *block,
                     const struct referrer *referrer)
{
    int result = 0;
    for (uint32_t slot = 0; slot < block_nritems(block) && result == 0; slot++)
        result = block_level(block) ? move_block_ref(allocator, block, slot, referrer)
                                    : move_data_ref(allocator, block, slot, referrer);
    return result;
}

/* --- what is to be done -------------------------------------------------------------- */

int share_block(struct extent_allocator *allocator, struct tree *tree, const struct block *block)
{
    struct referrer add_parent = {.parent = block->bytenr, .by_parent = true, .delta = 1};
    struct referrer drop_parent = {.parent = block->bytenr, .by_parent = true, .delta = -1};
    struct referrer add_root = {.root = tree->id, .delta = 1};
    struct extent extent = {block->bytenr, block->size, true, block_level(block)};
    struct extent_info info;
    if (!may_be_shared(tree, block))
        return 0;
    int result = look_up(allocator, block, &info);
    if (result < 0)
        return result;

    bool is_full = info.flags & BLOCK_FLAG_FULL_BACKREF;
    if (info.refs > 1 && block_owner_id(block) == tree->id && !is_full) {
        /* Its references go on with the shadow. */
        result = move_refs(allocator, block, &add_parent);
        return result < 0
                   ? result
                   : delayed_refs_set_flags(&allocator->refs, &extent, BLOCK_FLAG_FULL_BACKREF);
    }
    if (info.refs > 1 || is_full)
        result = move_refs(allocator, block, &add_root);
    if (result == 0 && info.refs == 1 && is_full)
        result = move_refs(allocator, block, &drop_parent);
    return result;
}
