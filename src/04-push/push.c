#include "push.h"

#include "change.h"
#include "leaf_move.h"

#include <assert.h>

/* --- the decision ------------------------------------------------------------------- */

uint32_t push_plan(const struct push_question *question)
{
    const struct push_question *q = question;
    uint32_t count = 0, cost = q->gap < 0 ? q->need : 0;
    for (; count < q->count; count++) {
        int32_t item = (int32_t)count;
        if (!q->empty && count > 0) {
            /* The new item is over there: that was the purpose. */
            if (item > q->gap)
                break;
            /* It is about to go. Better not, if it leaves more room here than remains there. */
            if (item == q->gap && q->own_left + 2 * cost > q->other_left)
                break;
        }
        if (item == q->gap)
            cost += q->need;
        if (cost + q->costs[count] > q->other_left)
            break;
        cost += q->costs[count];
    }
    return count;
}

/* --- to the right ------------------------------------------------------------------- */

/* How many items of the leaf go to the right. */
static uint32_t plan_right(const struct tree *tree, const struct path *path,
                           const struct push *push, const struct block *right)
{
    const struct block *leaf = path->nodes[0];
    uint32_t nritems = block_nritems(leaf), costs[ITEMS_MOST];
    uint32_t stay = push->empty ? 0 : push->limit > 1 ? push->limit : 1; /* P3, P4 */
    if (stay >= nritems)
        return 0;
    for (uint32_t i = 0; i < nritems - stay; i++)
        costs[i] = item_cost(tree, leaf, item_size(leaf, nritems - 1 - i));
    struct push_question question = {
        .costs = costs,
        .count = nritems - stay,
        .gap = (int32_t)nritems - 1 - (int32_t)path->slots[0],
        .need = push->need,
        .own_left = leaf_left(tree, leaf),
        .other_left = leaf_left(tree, right),
        .empty = push->empty,
    };
    return push_plan(&question);
}

/* Moves the last `count` items of the leaf to `right`, whose hold is the caller's. */
static int move_right(struct tree *tree, struct path *path, uint32_t count, struct block **right)
{
    int result = path_claim(tree, path, 0);
    if (result == 0)
        result = tree_claim(tree, path->nodes[1], path->slots[1] + 1, right);
    if (result < 0)
        return result;
    leaf_move_right(tree, path->nodes[0], *right, count);
    /* The right one is not the first of its node: this ends here. */
    struct key key = leaf_key(*right, 0);
    node_ptr(path->nodes[1], path->slots[1] + 1)->key = key_to_disk(&key);
    tree_dirty(tree, path->nodes[1]);
    return 0;
}

/* The outcome; *right is held where a path may go there. */
static int try_right(struct push_policy *rules, struct tree *tree, struct path *path,
                     const struct push *push, struct block **right)
{
    uint32_t nritems = block_nritems(path->nodes[0]);
    int result = path_neighbour(tree, path, 0, 1, right);
    if (result != 0)
        return result < 0 ? result : PUSH_NO_NEIGHBOUR;
    if (leaf_left(tree, *right) < push->ticket)
        return PUSH_NO_ROOM;
    if (tree->growth->shadow_first)
        result = tree_claim(tree, path->nodes[1], path->slots[1] + 1, right);
    if (result < 0)
        return result;
    if (rules->shortcut && !push->empty && path->slots[0] == nritems)
        return PUSH_SHORTCUT;
    uint32_t count = plan_right(tree, path, push, *right);
    if (count == 0)
        return PUSH_NOTHING_FITS;
    result = move_right(tree, path, count, right);
    return result < 0 ? result : PUSH_MOVED;
}

int push_leaf_right(struct push_policy *rules, struct tree *tree, struct path *path,
                    const struct push *push)
{
    struct block *right = NULL;
    int outcome = try_right(rules, tree, path, push, &right);
    if (outcome >= 0)
        rules->counters.right[push->reason][outcome]++;
    uint32_t left_nritems = block_nritems(path->nodes[0]); /* as it is now */
    bool follows = outcome == PUSH_SHORTCUT ||
                   (outcome == PUSH_MOVED && !push->empty && path->slots[0] >= left_nritems);
    if (!follows) {
        tree_put(tree, right);
        return outcome;
    }
    path->slots[0] -= left_nritems;
    path->slots[1]++;
    path_replace(tree, path, 0, right);
    return outcome;
}

/* --- to the left -------------------------------------------------------------------- */

/* How many items of the leaf go to the left. */
static uint32_t plan_left(const struct tree *tree, const struct path *path, const struct push *push,
                          const struct block *left)
{
    const struct block *leaf = path->nodes[0];
    uint32_t nritems = block_nritems(leaf), costs[ITEMS_MOST];
    uint32_t most = push->empty ? nritems : nritems - 1; /* P3 */
    if (most > push->limit)
        most = push->limit; /* P4 */
    for (uint32_t i = 0; i < most; i++)
        costs[i] = item_cost(tree, leaf, item_size(leaf, i));
    struct push_question question = {
        .costs = costs,
        .count = most,
        .gap = (int32_t)path->slots[0],
        .need = push->need,
        .own_left = leaf_left(tree, leaf),
        .other_left = leaf_left(tree, left),
        .empty = push->empty,
    };
    return push_plan(&question);
}

/* Moves the first `count` items of the leaf to `left`. Here it is the leaf's own key that changes;
 * an empty leaf has none, and its pointer will be removed. */
static int move_left(struct tree *tree, struct path *path, uint32_t count, struct block **left)
{
    int result = path_claim(tree, path, 0);
    if (result == 0)
        result = tree_claim(tree, path->nodes[1], path->slots[1] - 1, left);
    if (result < 0)
        return result;
    struct block *leaf = path->nodes[0];
    leaf_move_left(tree, *left, leaf, count);
    if (block_nritems(leaf) > 0) {
        struct key key = leaf_key(leaf, 0);
        path_set_low_key(tree, path, 1, &key);
    }
    return 0;
}

/* The outcome; *left is held where a path may go there, *count items went. */
static int try_left(struct tree *tree, struct path *path, const struct push *push,
                    struct block **left, uint32_t *count)
{
    int result = path_neighbour(tree, path, 0, -1, left);
    if (result != 0)
        return result < 0 ? result : PUSH_NO_NEIGHBOUR;
    if (leaf_left(tree, *left) < push->ticket)
        return PUSH_NO_ROOM;
    if (tree->growth->shadow_first)
        result = tree_claim(tree, path->nodes[1], path->slots[1] - 1, left);
    if (result < 0)
        return result;
    *count = plan_left(tree, path, push, *left);
    if (*count == 0)
        return PUSH_NOTHING_FITS;
    result = move_left(tree, path, *count, left);
    return result < 0 ? result : PUSH_MOVED;
}

int push_leaf_left(struct push_policy *rules, struct tree *tree, struct path *path,
                   const struct push *push)
{
    struct block *left = NULL;
    uint32_t count = 0;
    int outcome = try_left(tree, path, push, &left, &count);
    if (outcome >= 0)
        rules->counters.left[push->reason][outcome]++;
    bool follows = outcome == PUSH_MOVED && !push->empty && path->slots[0] < count;
    if (!follows) {
        if (outcome == PUSH_MOVED)
            path->slots[0] = path->slots[0] > count ? path->slots[0] - count : 0;
        tree_put(tree, left);
        return outcome;
    }
    path->slots[0] += block_nritems(left) - count;
    path->slots[1]--;
    path_replace(tree, path, 0, left);
    return outcome;
}

int push_shortcut_left(struct push_policy *rules, struct tree *tree, struct path *path,
                       const struct room *room)
{
    struct block *left;
    if (!rules->shortcut_left || path->slots[0] > 0 || room->extends)
        return 0;
    int result = path_neighbour(tree, path, 0, -1, &left);
    if (result != 0)
        return result < 0 ? result : 0;
    if (leaf_left(tree, left) < room->cost) {
        tree_put(tree, left);
        return 0;
    }
    path->slots[0] = block_nritems(left);
    path->slots[1]--;
    path_replace(tree, path, 0, left);
    rules->counters.shortcuts_left++;
    return 1;
}
