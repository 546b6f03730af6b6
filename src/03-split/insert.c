#include "insert.h"

#include "change.h"
#include "fail.h"
#include "split.h"

#include <assert.h>
#include <string.h>

int tree_make_room(struct tree *tree, struct path *path, const struct room *room)
{
    struct growth *growth = tree->growth;
    int result = split_possible(tree, path, room);
    /* A leaf may be split twice; so every node on the way takes two pointers more. It is made to
     * before the one below it is split, which adds a pointer to it. */
    for (unsigned level = tree->level; level > 0 && result == 0; level--) {
        const struct block *node = path->nodes[level];
        if (block_nritems(node) + 3 >= tree_max_ptrs(tree, node))
            result = growth->policy->node(tree, path, level);
    }
    if (result == 0)
        result = growth->policy->leaf(tree, path, room);
    assert(result < 0 || leaf_left(tree, path->nodes[0]) >= room->cost); /* S5 */
    return result;
}

/* A search has ended with `result`: in the kernel's order the path is claimed now. */
static int claim_early(struct tree *tree, struct path *path, int result)
{
    if (result < 0 || !tree->growth->shadow_first)
        return result;
    int claimed = path_claim(tree, path, 0);
    return claimed < 0 ? claimed : result;
}

/* The search that every change begins with: as tree_search. */
static int search_to_change(struct tree *tree, const struct key *key, struct path *path)
{
    return claim_early(tree, path, tree_search(tree, key, path));
}

/* --- insertion ---------------------------------------------------------------------- */

/* The key of what is at this slot of the leaf, or behind the leaf; NULL where there is nothing. */
static const struct disk_key *key_behind(const struct tree *tree, const struct path *path,
                                         uint32_t slot)
{
    const struct block *leaf = path->nodes[0];
    return slot < block_nritems(leaf) ? &leaf_item(leaf, slot)->key : path_bound(tree, path, 0);
}

static bool is_before(const struct key *key, const struct disk_key *bound)
{
    if (!bound)
        return true;
    struct key other = key_from_disk(bound);
    return key_compare(key, &other) < 0;
}

/* How many of the items go between what is at the slot of the path and what is before it, and into
 * one leaf; and what they cost. */
static size_t run_length(const struct tree *tree, const struct path *path, const struct item *items,
                         size_t count, uint32_t *cost)
{
    const struct block *leaf = path->nodes[0];
    const struct disk_key *bound = key_behind(tree, path, path->slots[0]);
    size_t run = 0;
    for (*cost = 0; run < count; run++) {
        assert(run == 0 || key_compare(&items[run - 1].key, &items[run].key) < 0);
        uint32_t next =
            items[run].size < leaf->size ? item_cost(tree, leaf, items[run].size) : leaf->size;
        bool fits = *cost + next <= leaf_room(leaf);
        if (run > 0 && (!fits || !is_before(&items[run].key, bound)))
            break;
        *cost += next;
    }
    return run;
}

/* Puts a run into the leaf of the path, which is claimed and has room. */
static void put_run(struct tree *tree, struct path *path, const struct item *items, size_t count)
{
    struct block *leaf = path->nodes[0];
    uint32_t slot = path->slots[0], bytes = 0;
    uint64_t moved = leaf->bytes_moved;
    for (size_t i = 0; i < count; i++)
        bytes += items[i].size;
    uint32_t end = leaf_open_gap(leaf, slot, (uint32_t)count, bytes);
    for (size_t i = 0; i < count; i++, slot++) {
        end -= items[i].size;
        *leaf_item(leaf, slot) = (struct item_header){
            .key = key_to_disk(&items[i].key),
            .offset = to_le32(end),
            .size = to_le32(items[i].size),
        };
        if (items[i].data)
            memcpy(item_data(leaf, slot), items[i].data, items[i].size);
        else
            memset(item_data(leaf, slot), 0, items[i].size);
    }
    tree_dirty(tree, leaf);
    tree->growth->counters.items_inserted += count;
    tree->growth->counters.bytes_within += leaf->bytes_moved - moved;
    if (path->slots[0] == 0 && tree->level > 0)
        path_set_low_key(tree, path, 1, &items[0].key);
}

/* Does `key` belong right behind the item that the path leads to? */
static bool is_next(const struct tree *tree, const struct path *path, const struct key *key)
{
    struct key before = path_key(path);
    return key_compare(key, &before) > 0 &&
           is_before(key, key_behind(tree, path, path->slots[0] + 1));
}

/* To the place where the key belongs: as search_to_change. */
static int find_place(struct tree *tree, const struct key *key, struct path *path)
{
    if (path->nodes[0] && is_next(tree, path, key)) {
        path->slots[0]++;
        return claim_early(tree, path, 1);
    }
    path_release(tree, path);
    return search_to_change(tree, key, path);
}

/* Inserts as many of the items as one leaf takes: *run of them. The path is at an item next to
 * which the first may belong, or released; afterwards it is at the last one that was inserted. */
static int insert_run(struct tree *tree, struct path *path, const struct item *items, size_t count,
                      size_t *run)
{
    int result = find_place(tree, &items[0].key, path);
    if (result == 1) {
        struct room room = {.key = &items[0].key};
        *run = run_length(tree, path, items, count, &room.cost);
        result = 0;
        if (leaf_left(tree, path->nodes[0]) < room.cost)
            result = tree_make_room(tree, path, &room);
        if (result == 0)
            result = path_claim(tree, path, 0);
        if (result == 0) {
            put_run(tree, path, items, *run);
            path->slots[0] += (uint32_t)*run - 1;
            return 0;
        }
    } else if (result == 0) {
        char text[KEY_TEXT_SIZE];
        result = fail(EEXIST, "tree %" PRIu64 " has an item %s already", tree->id,
                      key_format(&items[0].key, text));
    }
    path_release(tree, path);
    return result;
}

int tree_insert(struct tree *tree, const struct key *key, const void *data, uint32_t size)
{
    struct path path = {0};
    int result = tree_insert_next(tree, &path, key, data, size);
    path_release(tree, &path);
    return result;
}

int tree_insert_next(struct tree *tree, struct path *path, const struct key *key, const void *data,
                     uint32_t size)
{
    struct item item = {*key, data, size};
    size_t run;
    return insert_run(tree, path, &item, 1, &run);
}

int tree_insert_batch(struct tree *tree, const struct item *items, size_t count, size_t *inserted)
{
    struct path path = {0};
    int result = 0;
    for (*inserted = 0; *inserted < count && result == 0;) {
        size_t run = 0;
        result = insert_run(tree, &path, items + *inserted, count - *inserted, &run);
        *inserted += result == 0 ? run : 0;
    }
    path_release(tree, &path);
    return result;
}

/* --- changes of one item ------------------------------------------------------------ */

int tree_no_item(const struct tree *tree, const struct key *key)
{
    char text[KEY_TEXT_SIZE];
    return fail(ENOENT, "tree %" PRIu64 " has no item %s", tree->id, key_format(key, text));
}

int tree_change(struct tree *tree, const struct key *key, struct path *path)
{
    int result = search_to_change(tree, key, path);
    if (result == 0)
        result = path_claim(tree, path, 0);
    if (result != 0)
        path_release(tree, path);
    return result;
}

int tree_make_longer(struct tree *tree, const struct key *key, struct path *path, uint32_t bytes)
{
    const struct block *leaf = path->nodes[0];
    uint32_t size = item_size(leaf, path->slots[0]);
    if (bytes > leaf->size)
        bytes = leaf->size; /* too much, and the sum cannot wrap around */
    struct room room = {
        .key = key,
        .cost = item_cost(tree, leaf, size + bytes) - item_cost(tree, leaf, size),
        .extends = true,
    };
    int result = 0;
    if (leaf_left(tree, leaf) < room.cost)
        result = tree_make_room(tree, path, &room);
    return result < 0 ? result : path_claim(tree, path, 0);
}

int tree_extend(struct tree *tree, const struct key *key, const void *data, uint32_t bytes)
{
    struct path path = {0};
    int result = search_to_change(tree, key, &path);
    if (result == 1)
        result = tree_no_item(tree, key);
    else if (result == 0)
        result = tree_make_longer(tree, key, &path, bytes);
    if (result == 0) {
        struct block *leaf = path.nodes[0];
        uint32_t slot = path.slots[0], size = item_size(leaf, slot);
        uint64_t moved = leaf->bytes_moved;
        result = leaf_grow(leaf, slot, bytes);
        assert(result == 0);
        if (data)
            memcpy((unsigned char *)item_data(leaf, slot) + size, data, bytes);
        tree_dirty(tree, leaf);
        tree->growth->counters.items_changed++;
        tree->growth->counters.bytes_within += leaf->bytes_moved - moved;
    }
    path_release(tree, &path);
    return result;
}

int tree_truncate(struct tree *tree, const struct key *key, uint32_t size)
{
    struct path path = {0};
    int result = tree_change(tree, key, &path);
    if (result == 1)
        return tree_no_item(tree, key);
    if (result == 0) {
        struct block *leaf = path.nodes[0];
        uint64_t moved = leaf->bytes_moved;
        assert(size <= item_size(leaf, path.slots[0]));
        leaf_shrink(leaf, path.slots[0], item_size(leaf, path.slots[0]) - size);
        tree_dirty(tree, leaf);
        tree->growth->counters.items_changed++;
        tree->growth->counters.bytes_within += leaf->bytes_moved - moved;
    }
    path_release(tree, &path);
    return result;
}

int tree_rekey(struct tree *tree, const struct key *key, const struct key *new_key)
{
    struct path path = {0};
    int result = tree_change(tree, key, &path);
    if (result == 1)
        return tree_no_item(tree, key);
    if (result == 0) {
        leaf_item(path.nodes[0], path.slots[0])->key = key_to_disk(new_key);
        tree_dirty(tree, path.nodes[0]);
        tree->growth->counters.items_changed++;
        if (path.slots[0] == 0 && tree->level > 0)
            path_set_low_key(tree, &path, 1, new_key);
    }
    path_release(tree, &path);
    return result;
}
