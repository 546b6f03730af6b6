#include "extent_allocator.h"

#include "checksum.h"
#include "csum_delete.h"
#include "fail.h"
#include "new_group.h"
#include "shared_block.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct extent_allocator *allocator_of(struct space *space)
{
    return (struct extent_allocator *)space; /* its first member */
}

/* --- opening ------------------------------------------------------------------------ */

int extent_allocator_load(struct extent_allocator *allocator)
{
    uint64_t grow_to = allocator->groups.grow_to; /* the caller's, and it lasts */
    if (allocator->is_open)
        return 0;
    int result = block_groups_open(&allocator->groups, allocator->volume);
    allocator->groups.grow_to = grow_to;
    allocator->is_open = result == 0;
    return result;
}

/* --- blocks ------------------------------------------------------------------------- */

static struct extent block_extent(const struct extent_allocator *allocator, uint64_t bytenr,
                                  uint8_t level)
{
    uint32_t node_size = from_le32(allocator->volume->super.nodesize);
    return (struct extent){bytenr, node_size, true, level};
}

/* So many nodes of metadata are left for the transactions that free some, and for settling. */
enum { RESERVE_NODES = 64 };

static int check_reserve(struct extent_allocator *allocator, uint32_t node_size)
{
    const struct block_groups *groups = &allocator->groups;
    uint64_t reserve = RESERVE_NODES * (uint64_t)node_size;
    if (allocator->is_settling || allocator->may_use_reserve ||
        block_groups_free(groups, GROUP_METADATA) +
                block_groups_unallocated(groups, GROUP_METADATA) >=
            reserve)
        return 0;
    return fail(ENOSPC, "no space for metadata is left but the reserve");
}

static int alloc_block(struct space *space, struct tree *tree, uint8_t level, uint64_t *bytenr)
{
    struct extent_allocator *allocator = allocator_of(space);
    uint32_t node_size = from_le32(allocator->volume->super.nodesize);
    enum group_type type = tree->id == CHUNK_TREE_OBJECTID ? GROUP_SYSTEM : GROUP_METADATA;
    struct extent_ref ref = {.type = TREE_BLOCK_REF_KEY, .root = tree->id};
    int result = extent_allocator_load(allocator);
    if (result == 0)
        result = check_reserve(allocator, node_size);
    if (result == 0)
        result = block_groups_alloc(&allocator->groups, space->transaction, type, node_size,
                                    node_size, bytenr);
    if (result < 0)
        return fail_within(result, "tree %" PRId64, (int64_t)tree->id);
    struct extent extent = block_extent(allocator, *bytenr, level);
    return delayed_refs_add(&allocator->refs, &extent, &ref, 1, true);
}

static int free_block(struct space *space, struct tree *tree, const struct block *block)
{
    struct extent_allocator *allocator = allocator_of(space);
    struct extent extent = block_extent(allocator, block->bytenr, block_level(block));
    struct extent_ref ref = {.type = TREE_BLOCK_REF_KEY, .root = tree->id};
    struct delayed_extent *waiting = delayed_refs_find(&allocator->refs, block->bytenr);
    if (waiting && waiting->is_new) {
        /* The trees know nothing of it. */
        delayed_refs_forget(&allocator->refs, waiting);
        allocator->counters.refs_cancelled++;
        return block_groups_return(&allocator->groups, block->bytenr, block->size);
    }
    return delayed_refs_add(&allocator->refs, &extent, &ref, -1, false);
}

static int shared(struct space *space, struct tree *tree, const struct block *block)
{
    return share_block(allocator_of(space), tree, block);
}

/* --- data --------------------------------------------------------------------------- */

int data_alloc(struct extent_allocator *allocator, uint64_t length, uint64_t *bytenr, uint64_t *got)
{
    uint32_t sector_size = from_le32(allocator->volume->super.sectorsize);
    int result = extent_allocator_load(allocator);
    if (result < 0)
        return result;
    assert(length > 0 && length % sector_size == 0);
    /* By halves: a long extent if there is one, a short one rather than none. */
    for (*got = length;; *got = *got / 2 / sector_size * sector_size) {
        result = block_groups_alloc(&allocator->groups, allocator->space.transaction, GROUP_DATA,
                                    *got, sector_size, bytenr);
        if (result != -ENOSPC || *got == sector_size)
            return result;
    }
}

static struct extent_ref data_ref(uint64_t root, uint64_t objectid, uint64_t offset)
{
    return (struct extent_ref){
        .type = EXTENT_DATA_REF_KEY,
        .root = root,
        .objectid = objectid,
        .offset = offset,
    };
}

int data_add_ref(struct extent_allocator *allocator, uint64_t bytenr, uint64_t num_bytes,
                 uint64_t root, uint64_t objectid, uint64_t offset, bool is_new)
{
    struct extent extent = {.bytenr = bytenr, .num_bytes = num_bytes};
    struct extent_ref ref = data_ref(root, objectid, offset);
    return delayed_refs_add(&allocator->refs, &extent, &ref, 1, is_new);
}

int data_drop_ref(struct extent_allocator *allocator, uint64_t bytenr, uint64_t num_bytes,
                  uint64_t root, uint64_t objectid, uint64_t offset)
{
    struct extent extent = {.bytenr = bytenr, .num_bytes = num_bytes};
    struct extent_ref ref = data_ref(root, objectid, offset);
    return delayed_refs_add(&allocator->refs, &extent, &ref, -1, false);
}

/* --- what the trees are told -------------------------------------------------------- */

/* The free-space tree, and the range of the group that holds the extent. */
static int free_space_of(struct extent_allocator *allocator, const struct extent *extent,
                         struct tree **tree, struct free_space_group *range)
{
    const struct block_group *group = block_groups_find(&allocator->groups, extent->bytenr);
    assert(group);
    *range = block_groups_range(&allocator->groups, group);
    return transaction_tree(allocator->space.transaction, FREE_SPACE_TREE_OBJECTID, tree);
}

/* An extent has got its item: what it takes is used. */
static int extent_is_used(struct extent_allocator *allocator, const struct extent *extent)
{
    struct free_space_group range;
    struct tree *tree;
    int result = block_groups_use(&allocator->groups, extent->bytenr, extent->num_bytes);
    if (result < 0 || !has_free_space_tree(&allocator->volume->super))
        return result;
    result = free_space_of(allocator, extent, &tree, &range);
    return result < 0 ? result : free_space_remove(tree, &range, extent->bytenr, extent->num_bytes);
}

static int delete_csums(struct extent_allocator *allocator, const struct extent *extent)
{
    const struct superblock *super = &allocator->volume->super;
    struct tree *csums;
    int result = transaction_tree(allocator->space.transaction, CSUM_TREE_OBJECTID, &csums);
    return result < 0
               ? result
               : csum_delete(csums, (uint32_t)csum_size(from_le16(super->csum_type)),
                             from_le32(super->sectorsize), extent->bytenr, extent->num_bytes);
}

/* It has lost its item: what it took is free, in the trees at once, for us when it is committed. */
static int extent_is_free(struct extent_allocator *allocator, const struct extent *extent)
{
    struct free_space_group range;
    struct tree *tree;
    int result = block_groups_release(&allocator->groups, extent->bytenr, extent->num_bytes);
    if (result == 0 && !extent->is_block)
        result = delete_csums(allocator, extent);
    if (result < 0 || !has_free_space_tree(&allocator->volume->super))
        return result;
    result = free_space_of(allocator, extent, &tree, &range);
    return result < 0 ? result : free_space_add(tree, &range, extent->bytenr, extent->num_bytes);
}

/* The first reference comes with the item. */
static int insert_extent(struct extent_allocator *allocator, struct tree *tree,
                         struct delayed_extent *at)
{
    uint64_t flags = at->extent.is_block ? EXTENT_FLAG_TREE_BLOCK : EXTENT_FLAG_DATA;
    for (size_t i = 0; i < at->count; i++) {
        if (at->refs[i].delta <= 0)
            continue;
        int result =
            extent_insert(tree, &at->extent, allocator->space.transaction->generation,
                          flags | at->flags, &at->refs[i].ref, (uint32_t)at->refs[i].delta);
        at->refs[i].delta = 0;
        at->flags = 0;
        return result < 0 ? result : extent_is_used(allocator, &at->extent);
    }
    /* Data that was given up again: nothing was ever used, but it may have got checksums. */
    int result = delete_csums(allocator, &at->extent);
    return result < 0
               ? result
               : block_groups_return(&allocator->groups, at->extent.bytenr, at->extent.num_bytes);
}

/* Those that are added come first, so that an extent that stays is never without. */
static int run_extent(struct extent_allocator *allocator, struct delayed_extent *at)
{
    struct tree *tree;
    uint64_t refs_left = 1;
    int result = transaction_tree(allocator->space.transaction, EXTENT_TREE_OBJECTID, &tree);
    if (result == 0 && at->is_new)
        result = insert_extent(allocator, tree, at);
    if (result == 0 && at->flags)
        result = extent_set_flags(tree, &at->extent, at->flags);
    for (size_t i = 0; i < at->count && result == 0; i++)
        if (at->refs[i].delta > 0)
            result =
                extent_add_ref(tree, &at->extent, &at->refs[i].ref, (uint32_t)at->refs[i].delta);
    for (size_t i = 0; i < at->count && result == 0; i++)
        if (at->refs[i].delta < 0)
            result = extent_drop_ref(tree, &at->extent, &at->refs[i].ref,
                                     (uint32_t)-at->refs[i].delta, &refs_left);
    allocator->counters.refs_run++;
    return result == 0 && refs_left == 0 ? extent_is_free(allocator, &at->extent) : result;
}

/* 1 where there were any. */
static int run_refs(struct extent_allocator *allocator)
{
    struct delayed_extent **list;
    size_t count;
    if (allocator->refs.count == 0)
        return 0;
    int result = delayed_refs_take(&allocator->refs, &list, &count);
    if (result < 0)
        return result;
    for (size_t i = 0; i < count; i++) {
        if (result == 0)
            result = run_extent(allocator, list[i]);
        delayed_extent_free(list[i]);
    }
    free(list);
    return result < 0 ? result : 1;
}

/* A new group's items come before those of what lies in it. */
static int settle(struct space *space)
{
    struct extent_allocator *allocator = allocator_of(space);
    int changed = 0, result;
    allocator->is_settling = true;
    do {
        result = extent_allocator_load(allocator);
        if (result == 0)
            result = block_groups_write_new(&allocator->groups, space->transaction);
        if (result == 0)
            result = run_refs(allocator);
        if (result == 0)
            result = block_groups_write_used(&allocator->groups, space->transaction);
        changed |= result > 0;
    } while (result > 0);
    space->transaction->super.bytes_used = to_le64(allocator->groups.bytes_used);
    return result < 0 ? result : changed;
}

/* --- the end of a transaction ------------------------------------------------------- */

static void committed(struct space *space, bool is_on_device)
{
    struct extent_allocator *allocator = allocator_of(space);
    delayed_refs_close(&allocator->refs);
    allocator->is_settling = false;
    if (!allocator->is_open)
        return;
    if (is_on_device)
        block_groups_commit(&allocator->groups);
    else
        block_groups_roll_back(&allocator->groups);
    allocator->is_open = is_on_device;
}

void extent_allocator_open(struct extent_allocator *allocator, struct volume *volume)
{
    *allocator = (struct extent_allocator){
        .space = {alloc_block, free_block, shared, settle, committed, NULL},
        .volume = volume,
    };
}

void extent_allocator_close(struct extent_allocator *allocator)
{
    delayed_refs_close(&allocator->refs);
    if (allocator->is_open)
        block_groups_close(&allocator->groups);
    allocator->is_open = false;
}
