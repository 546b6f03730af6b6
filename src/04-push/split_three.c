#include "split_three.h"

#include "change.h"
#include "leaf_move.h"

#include <assert.h>

bool split_three_plan(const uint32_t *costs, uint32_t count, uint32_t room, uint32_t *left,
                      uint32_t *right)
{
    uint64_t total = 0, left_cost = 0, right_cost = 0;
    for (uint32_t i = 0; i < count; i++)
        total += costs[i];
    *left = *right = 0;
    while (*left < count && 3 * (left_cost + costs[*left]) <= total)
        left_cost += costs[(*left)++];
    while (*left + *right < count && 3 * (right_cost + costs[count - 1 - *right]) <= total)
        right_cost += costs[count - 1 - (*right)++];
    return total - left_cost - right_cost <= room;
}

/* The costs of both leaves' items and the new one's, which is number `index`; their count. */
static uint32_t gather(const struct tree *tree, const struct block *left, const struct block *right,
                       uint32_t index, uint32_t cost, uint32_t *costs)
{
    uint32_t left_nritems = block_nritems(left), count = 0;
    uint32_t total = left_nritems + block_nritems(right);
    for (uint32_t i = 0; i <= total; i++) {
        if (i == index)
            costs[count++] = cost;
        if (i == total)
            break;
        const struct block *leaf = i < left_nritems ? left : right;
        costs[count++] =
            item_cost(tree, leaf, item_size(leaf, i < left_nritems ? i : i - left_nritems));
    }
    return count;
}

/* The two leaves, and what is to become of them. */
struct thirds {
    struct block *left, *right;
    uint32_t slot;                            /* of the pointer to the left one */
    uint32_t index;                           /* of the new item, counted through both leaves */
    uint32_t to_middle_left, to_middle_right; /* items that go to the new leaf */
    uint32_t stay;                            /* what is in the left one then, with the new item */
    uint32_t middle;                          /* likewise in the new one */
};

static bool plan_thirds(const struct tree *tree, uint32_t cost, struct thirds *thirds)
{
    uint32_t costs[2 * ITEMS_MOST + 1], stay, stay_right;
    uint32_t left_nritems = block_nritems(thirds->left);
    uint32_t count = gather(tree, thirds->left, thirds->right, thirds->index, cost, costs);
    if (!split_three_plan(costs, count, leaf_room(thirds->left), &stay, &stay_right))
        return false;
    thirds->stay = stay;
    thirds->middle = count - stay - stay_right;
    uint32_t in_left = stay - (thirds->index < stay);
    uint32_t in_right = stay_right - (thirds->index >= stay + thirds->middle);
    thirds->to_middle_left = left_nritems - in_left;
    thirds->to_middle_right = block_nritems(thirds->right) - in_right;
    /* Each keeps something, and gives something. */
    return in_left > 0 && in_right > 0 && in_left < left_nritems &&
           in_right < block_nritems(thirds->right);
}

static int carry_out(struct tree *tree, struct path *path, struct thirds *thirds,
                     struct block **fresh)
{
    struct growth *growth = tree->growth;
    int result = growth->owner->allocate(growth->owner, tree, 0, fresh);
    if (result < 0)
        return result;
    result = tree_claim(tree, path->nodes[1], thirds->slot, &thirds->left);
    if (result == 0)
        result = tree_claim(tree, path->nodes[1], thirds->slot + 1, &thirds->right);
    if (result < 0) {
        growth->owner->free(growth->owner, tree, *fresh);
        return result;
    }
    leaf_move_right(tree, thirds->left, *fresh, thirds->to_middle_left);
    leaf_move_left(tree, *fresh, thirds->right, thirds->to_middle_right);
    struct key key = leaf_key(thirds->right, 0), middle = leaf_key(*fresh, 0);
    node_ptr(path->nodes[1], thirds->slot + 1)->key = key_to_disk(&key);
    path_insert_ptr(tree, path, 1, thirds->slot + 1, &middle, *fresh);
    growth->counters.splits++;
    return 0;
}

/* Sets the path to where the new item goes: a leaf of the three, which are all held. */
static void path_find_third(struct tree *tree, struct path *path, const struct thirds *thirds,
                            struct block *fresh)
{
    struct block *leaves[] = {thirds->left, fresh, thirds->right};
    uint32_t index = thirds->index, in = 0;
    if (index >= thirds->stay + thirds->middle) {
        in = 2;
        index -= thirds->stay + thirds->middle;
    } else if (index >= thirds->stay) {
        in = 1;
        index -= thirds->stay;
    }
    for (uint32_t i = 0; i < 3; i++)
        if (i != in)
            tree_put(tree, leaves[i]);
    path->nodes[0] = leaves[in];
    path->slots[0] = index;
    path->slots[1] = thirds->slot + in;
}

int split_three(struct push_policy *rules, struct tree *tree, struct path *path,
                const struct room *room)
{
    struct block *other, *fresh;
    int side = 1, result = path_neighbour(tree, path, 0, side, &other);
    if (result == 1)
        result = path_neighbour(tree, path, 0, side = -1, &other);
    if (result != 0)
        return result < 0 ? result : 0;
    struct block *leaf = path->nodes[0];
    struct thirds thirds = {
        .left = side < 0 ? other : leaf,
        .right = side < 0 ? leaf : other,
        .slot = path->slots[1] - (side < 0),
        .index = path->slots[0] + (side < 0 ? block_nritems(other) : 0),
    };
    if (room->extends || !plan_thirds(tree, room->cost, &thirds)) {
        tree_put(tree, other);
        return 0;
    }
    result = path_claim(tree, path, 1);
    if (result == 0)
        result = carry_out(tree, path, &thirds, &fresh);
    if (result < 0) {
        path->nodes[0] = side < 0 ? thirds.right : thirds.left;
        tree_put(tree, side < 0 ? thirds.left : thirds.right);
        return result;
    }
    path_find_third(tree, path, &thirds, fresh);
    rules->counters.threes++;
    return 0;
}
