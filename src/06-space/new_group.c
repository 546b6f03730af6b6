#include "new_group.h"

#include "blank.h"
#include "change.h"
#include "fail.h"
#include "insert.h"

#include <string.h>

/* --- a new chunk -------------------------------------------------------------------- */

/* The device's item says what the superblock says of it. */
static int write_dev_item(struct transaction *transaction, struct tree *chunks)
{
    const struct dev_item *item = &transaction->super.dev_item;
    struct path path = {0};
    struct key key = {DEV_ITEMS_OBJECTID, DEV_ITEM_KEY, from_le64(item->devid)};
    int result = tree_change(chunks, &key, &path);
    if (result == 1)
        return tree_insert(chunks, &key, item, sizeof *item);
    if (result < 0)
        return result;
    memcpy(item_data(path.nodes[0], path.slots[0]), item, sizeof *item);
    tree_dirty(chunks, path.nodes[0]);
    path_release(chunks, &path);
    return 0;
}

static int write_chunk_item(struct transaction *transaction, const struct chunk *chunk)
{
    struct chunk_bytes bytes = chunk_describe(transaction->volume, chunk);
    struct key key = {FIRST_CHUNK_TREE_OBJECTID, CHUNK_ITEM_KEY, chunk->logical};
    struct tree *chunks;
    int result = transaction_tree(transaction, CHUNK_TREE_OBJECTID, &chunks);
    if (result == 0)
        result = tree_insert(chunks, &key, &bytes, bytes.size);
    return result < 0 ? result : write_dev_item(transaction, chunks);
}

static int write_dev_extents(struct transaction *transaction, const struct chunk *chunk)
{
    struct volume *volume = transaction->volume;
    struct dev_extent extent = {
        .chunk_tree = to_le64(CHUNK_TREE_OBJECTID),
        .chunk_objectid = to_le64(FIRST_CHUNK_TREE_OBJECTID),
        .chunk_offset = to_le64(chunk->logical),
        .length = to_le64(chunk->length),
    };
    memcpy(extent.chunk_tree_uuid, volume->chunk_tree_uuid, UUID_SIZE);
    struct tree *devices;
    int result = transaction_tree(transaction, DEV_TREE_OBJECTID, &devices);
    for (unsigned copy = 0; copy < chunk->copies && result == 0; copy++) {
        struct key key = {volume->chunks.devid, DEV_EXTENT_KEY, chunk->physical[copy]};
        result = tree_insert(devices, &key, &extent, sizeof extent);
    }
    return result;
}

/* --- the group's own items ---------------------------------------------------------- */

static int group_tree(struct transaction *transaction, struct tree **tree)
{
    return transaction_tree(transaction, block_group_tree_id(&transaction->super), tree);
}

static int write_group_item(struct transaction *transaction, const struct block_group *group)
{
    struct key key = {group->start, BLOCK_GROUP_ITEM_KEY, group->length};
    struct block_group_item item = {
        .chunk_objectid = to_le64(FIRST_CHUNK_TREE_OBJECTID),
        .flags = to_le64(group->flags),
    };
    struct tree *tree;
    int result = group_tree(transaction, &tree);
    return result < 0 ? result : tree_insert(tree, &key, &item, sizeof item);
}

static int write_free_space(struct block_groups *groups, struct transaction *transaction,
                            const struct block_group *group)
{
    struct free_space_group range = block_groups_range(groups, group);
    struct tree *tree;
    if (!has_free_space_tree(&transaction->super))
        return 0;
    int result = transaction_tree(transaction, FREE_SPACE_TREE_OBJECTID, &tree);
    return result < 0 ? result : free_space_create(tree, &range);
}

/* The group is no longer new before it is written: a failure ends the transaction. */
static int write_new(struct block_groups *groups, struct transaction *transaction,
                     struct block_group *group)
{
    const struct chunk *chunk;
    int result = chunk_map_find(&transaction->volume->chunks, group->start, group->length, &chunk);
    struct chunk copy = result == 0 ? *chunk : (struct chunk){0}; /* the map may move meanwhile */
    group->is_new = false;
    if (result == 0)
        result = write_chunk_item(transaction, &copy);
    if (result == 0)
        result = write_dev_extents(transaction, &copy);
    if (result == 0)
        result = write_group_item(transaction, group);
    return result < 0 ? result : write_free_space(groups, transaction, group);
}

static int write_used(struct transaction *transaction, struct block_group *group)
{
    struct key key = {group->start, BLOCK_GROUP_ITEM_KEY, group->length};
    struct path path = {0};
    struct tree *tree;
    int result = group_tree(transaction, &tree);
    if (result == 0)
        result = tree_change(tree, &key, &path);
    if (result != 0)
        return result < 0 ? result : tree_no_item(tree, &key);
    struct block_group_item *item = item_data(path.nodes[0], path.slots[0]);
    item->used = to_le64(group->used);
    tree_dirty(tree, path.nodes[0]);
    path_release(tree, &path);
    group->written_used = group->used;
    return 0;
}

/* --- all groups --------------------------------------------------------------------- */

static int written(const struct block_group *group, int result)
{
    return result < 0 ? fail_within(result, "block group %" PRIu64, group->start) : 1;
}

int block_groups_write_new(struct block_groups *groups, struct transaction *transaction)
{
    for (size_t i = 0; i < groups->count; i++)
        if (groups->groups[i]->is_new)
            return written(groups->groups[i], write_new(groups, transaction, groups->groups[i]));
    return 0;
}

int block_groups_write_used(struct block_groups *groups, struct transaction *transaction)
{
    for (size_t i = 0; i < groups->count; i++)
        if (groups->groups[i]->used != groups->groups[i]->written_used)
            return written(groups->groups[i], write_used(transaction, groups->groups[i]));
    return 0;
}
