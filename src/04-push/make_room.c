/* room_policy.leaf: what is tried, in which order, before a leaf is split and when it is. */
#include "delete.h"
#include "push_node.h"
#include "split_three.h"

#include <assert.h>

/* --- the rules ---------------------------------------------------------------------- */

struct push_policy push_policy_2013(void)
{
    return (struct push_policy){
        .policy = {.leaf = push_make_leaf_room,
                   .node = push_make_node_room,
                   .merge = delete_merge,
                   .balance = push_balance},
        .merge = 3,
        .balance = 4,
    };
}

struct push_policy push_policy_kernel(void)
{
    struct push_policy policy = push_policy_2013();
    policy.shortcut = policy.need = policy.left_discount = true;
    return policy;
}

struct push_policy push_policy_coppice(void)
{
    struct push_policy policy = push_policy_kernel();
    policy.shortcut_left = policy.append = true;
    return policy;
}

/* --- pushing for room --------------------------------------------------------------- */

/* What a neighbour must take for this to be worth while: what is lacking, if what the leaf has left
 * counts, else all. */
static uint32_t need_of(const struct tree *tree, const struct path *path, const struct room *room,
                        bool counts_own)
{
    return counts_own ? room->cost - leaf_left(tree, path->nodes[0]) : room->cost;
}

/* An item behind all goes over to the right in any case; what its leaf has left is no use to it. */
static uint32_t need_right(const struct push_policy *rules, const struct tree *tree,
                           const struct path *path, const struct room *room)
{
    bool is_behind_all = path->slots[0] == block_nritems(path->nodes[0]);
    return need_of(tree, path, room, rules->need && !is_behind_all);
}

/* The patch of 2013 took the need of the push to the right for that to the left too; since 2017 it
 * is the item before all that goes over in any case. */
static uint32_t need_left(const struct push_policy *rules, const struct tree *tree,
                          const struct path *path, const struct room *room)
{
    if (!rules->left_discount)
        return need_right(rules, tree, path, room);
    return need_of(tree, path, room, path->slots[0] > 0);
}

static bool has_room(const struct tree *tree, const struct path *path, const struct room *room)
{
    return leaf_left(tree, path->nodes[0]) >= room->cost;
}

/* To the right, and where nothing comes of it, to the left. */
static int push_for_split(struct push_policy *rules, struct tree *tree, struct path *path,
                          const struct room *room)
{
    struct push push = {.reason = PUSH_FOR_SPLIT};
    push.need = push.ticket = need_right(rules, tree, path, room);
    int outcome = push_leaf_right(rules, tree, path, &push);
    if (outcome < 0 || outcome == PUSH_MOVED || outcome == PUSH_SHORTCUT)
        return outcome;
    push.need = push.ticket = need_left(rules, tree, path, room);
    push.limit = UINT32_MAX;
    return push_leaf_left(rules, tree, path, &push);
}

/* A double split is near. If all from the slot on go right, or all before it left, the slot is at
 * an edge, and one new leaf will do. */
static int push_for_double_split(struct push_policy *rules, struct tree *tree, struct path *path,
                                 const struct room *room)
{
    struct push push = {
        .reason = PUSH_FOR_DOUBLE,
        .need = 1,
        .ticket = need_right(rules, tree, path, room),
        .limit = path->slots[0],
    };
    int outcome = push_leaf_right(rules, tree, path, &push);
    bool is_at_edge = path->slots[0] == 0 || path->slots[0] == block_nritems(path->nodes[0]);
    if (outcome < 0 || is_at_edge || has_room(tree, path, room))
        return outcome;
    push.ticket = need_left(rules, tree, path, room);
    push.limit = path->slots[0];
    return push_leaf_left(rules, tree, path, &push);
}

/* --- splitting ---------------------------------------------------------------------- */

/* One round: 1 when the leaf of the path may have room now, 0 when it has been divided, or an
 * error. */
static int push_or_split(struct push_policy *rules, struct tree *tree, struct path *path,
                         const struct room *room, bool *tried)
{
    int result = push_shortcut_left(rules, tree, path, room);
    if (result != 0)
        return result;
    struct split_question question = split_ask(tree, path, room);
    struct split_plan plan = split_plan(&question);
    if (plan.way == SPLIT_TWICE && !*tried) {
        *tried = true;
        result = push_for_double_split(rules, tree, path, room);
        return result < 0 ? result : 1;
    }
    tree->growth->counters.double_splits += plan.way == SPLIT_TWICE;
    return split_carry_out(tree, path, room, &plan);
}

int push_make_leaf_room(struct tree *tree, struct path *path, const struct room *room)
{
    struct push_policy *rules = (struct push_policy *)tree->growth->policy;
    int result = 0;
    if (rules->append && block_nritems(path->nodes[0]) > 0 && path_is_at_end(tree, path))
        return split_append(tree, path, room);

    if (tree->level > 0)
        result = push_for_split(rules, tree, path, room);
    if (result >= 0 && rules->three && !has_room(tree, path, room))
        result = split_three(rules, tree, path, room);
    unsigned rounds = 0;
    for (bool tried = false; result >= 0 && !has_room(tree, path, room); rounds++) {
        assert(rounds < 3); /* push, split, split again */
        result = push_or_split(rules, tree, path, room, &tried);
    }
    return result < 0 ? result : 0;
}
