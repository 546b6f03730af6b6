#include "delete.h"

#include "change.h"
#include "insert.h"
#include "push.h"

#include <assert.h>

/* --- merging ------------------------------------------------------------------------ */

/* Removes the leaf of the path. */
static void remove_leaf(struct tree *tree, struct path *path)
{
    struct growth *growth = tree->growth;
    struct block *leaf = path->nodes[0];
    path->nodes[0] = NULL;
    path_remove_ptr(tree, path, 1);
    growth->owner->free(growth->owner, tree, leaf);
}

int delete_merge(struct tree *tree, struct path *path)
{
    struct push_policy *rules = (struct push_policy *)tree->growth->policy;
    const struct block *leaf = path->nodes[0];
    uint32_t used = leaf_used(tree, leaf, 0, block_nritems(leaf));
    if (used >= leaf_room(leaf) / rules->merge)
        return 0;
    struct push push = {
        .reason = PUSH_FOR_DELETE,
        .ticket = item_cost(tree, leaf, item_size(leaf, 0)),
        .limit = UINT32_MAX,
        .empty = true,
    };
    uint32_t before = block_nritems(leaf), slot = path->slots[0];
    int outcome = push_leaf_left(rules, tree, path, &push);
    uint32_t nritems = block_nritems(path->nodes[0]);
    /* The kernel's path would have gone left with the place of the deletion, and it ends there. */
    bool stays = slot >= before - nritems;
    if (outcome >= 0 && nritems > 0 && stays) {
        push.ticket = leaf_used(tree, path->nodes[0], 0, nritems); /* D2 */
        push.limit = 0;
        outcome = push_leaf_right(rules, tree, path, &push);
    }
    if (outcome < 0)
        return outcome;
    if (block_nritems(path->nodes[0]) == 0) {
        remove_leaf(tree, path);
        rules->counters.merged++;
    }
    return 0;
}

/* --- deletion ----------------------------------------------------------------------- */

/* Balances the nodes of a path to what will be deleted, from the root down. */
static int balance_path(struct tree *tree, struct path *path)
{
    const struct room_policy *policy = tree->growth->policy;
    int result = tree->growth->shadow_first ? path_claim(tree, path, 0) : 0;
    for (unsigned level = tree->level; level > 0 && result == 0 && policy->balance; level--)
        result = policy->balance(tree, path, level);
    return result;
}

/* Deletes `count` items from the slot of the path on; the nodes are balanced. Releases the path. */
static int delete_run(struct tree *tree, struct path *path, uint32_t count)
{
    struct growth *growth = tree->growth;
    uint32_t slot = path->slots[0];
    bool all = count == block_nritems(path->nodes[0]) && tree->level > 0;
    int result = path_claim(tree, path, all ? 1 : 0); /* what goes needs no shadow */
    if (result < 0)
        return result;
    growth->counters.items_deleted += count;
    if (all) {
        remove_leaf(tree, path);
        return 0;
    }
    struct block *leaf = path->nodes[0];
    uint64_t moved = leaf->bytes_moved;
    leaf_remove(leaf, slot, count);
    tree_dirty(tree, leaf);
    growth->counters.bytes_within += leaf->bytes_moved - moved;
    if (tree->level == 0)
        return 0;
    if (slot == 0) {
        struct key key = leaf_key(leaf, 0);
        path_set_low_key(tree, path, 1, &key);
    }
    return growth->policy->merge ? growth->policy->merge(tree, path) : 0;
}

int tree_delete(struct tree *tree, const struct key *key)
{
    struct path path = {0};
    int result = tree_search(tree, key, &path);
    if (result == 1)
        result = tree_no_item(tree, key);
    if (result == 0)
        result = balance_path(tree, &path);
    if (result == 0)
        result = delete_run(tree, &path, 1);
    path_release(tree, &path);
    return result;
}

int tree_delete_range(struct tree *tree, const struct key *first, const struct key *last,
                      uint64_t *deleted)
{
    uint64_t before = tree->growth->counters.items_deleted;
    int result = 0;
    for (*deleted = 0; result == 0;) {
        struct path path = {0};
        result = tree_seek(tree, first, &path);
        if (result != 0)
            break;
        const struct block *leaf = path.nodes[0];
        uint32_t count = 0;
        for (; path.slots[0] + count < block_nritems(leaf); count++) {
            struct key key = leaf_key(leaf, path.slots[0] + count);
            if (key_compare(&key, last) > 0)
                break;
        }
        if (count == 0) {
            path_release(tree, &path);
            break;
        }
        result = balance_path(tree, &path);
        if (result == 0)
            result = delete_run(tree, &path, count);
        *deleted = tree->growth->counters.items_deleted - before;
        path_release(tree, &path);
    }
    return result < 0 ? result : 0;
}
