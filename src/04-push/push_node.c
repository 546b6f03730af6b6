#include "push_node.h"

#include "change.h"

#include <assert.h>
#include <string.h>

/* --- decisions ---------------------------------------------------------------------- */

uint32_t push_node_plan(uint32_t from, uint32_t to, uint32_t max_ptrs, bool empty)
{
    uint32_t slack = node_slack(max_ptrs), room = max_ptrs - to;
    if (!empty)
        return from <= slack ? 0 : room < from - slack ? room : from - slack;
    if (from <= room)
        return from;
    if (from - room >= slack)
        return room;
    return room > slack ? room - slack : 0;
}

uint32_t push_half_plan(uint32_t from, uint32_t to, uint32_t max_ptrs)
{
    uint32_t half = from / 2 + 1, room = max_ptrs - to;
    if (from < 4)
        return 0;
    return half < room ? half : room;
}

struct balance_plan balance_plan(uint32_t left, uint32_t middle, uint32_t right, uint32_t max_ptrs)
{
    struct balance_plan plan = {0};
    if (left > 0)
        plan.middle_to_left = push_node_plan(middle, left, max_ptrs, true);
    left += plan.middle_to_left;
    middle -= plan.middle_to_left;
    if (right > 0)
        plan.right_to_middle = push_node_plan(right, middle, max_ptrs, true);
    middle += plan.right_to_middle;
    /* One pointer is too few: the child may be about to go. (Where the left has fewer than four,
     * the middle would have gone there when it became sparse.) */
    if (middle == 1)
        plan.left_to_middle = push_half_plan(left, middle, max_ptrs);
    return plan;
}

/* --- motion ------------------------------------------------------------------------- */

/* Copies pointers and sets the numbers; both nodes are claimed. */
static void move_ptrs(struct tree *tree, struct block *from, uint32_t first, uint32_t count,
                      struct block *to, uint32_t slot)
{
    uint32_t from_nritems = block_nritems(from), to_nritems = block_nritems(to);
    assert(first + count <= from_nritems);
    assert(to_nritems + count <= tree_max_ptrs(tree, to));
    memmove(node_ptr(to, slot + count), node_ptr(to, slot),
            (to_nritems - slot) * sizeof(struct key_ptr));
    memcpy(node_ptr(to, slot), node_ptr(from, first), count * sizeof(struct key_ptr));
    memmove(node_ptr(from, first), node_ptr(from, first + count),
            (from_nritems - first - count) * sizeof(struct key_ptr));
    block_header(from)->nritems = to_le32(from_nritems - count);
    block_header(to)->nritems = to_le32(to_nritems + count);
    tree_dirty(tree, from);
    tree_dirty(tree, to);
}

static void move_ptrs_left(struct tree *tree, struct block *left, struct block *right,
                           uint32_t count)
{
    if (count > 0)
        move_ptrs(tree, right, 0, count, left, block_nritems(left));
}

static void move_ptrs_right(struct tree *tree, struct block *left, struct block *right,
                            uint32_t count)
{
    if (count > 0)
        move_ptrs(tree, left, block_nritems(left) - count, count, right, 0);
}

/* The key of the pointer at `slot` of nodes[level + 1], which leads to `node`, is set anew. */
static void set_key_above(struct tree *tree, struct path *path, unsigned level, uint32_t slot,
                          const struct block *node)
{
    struct path above = *path;
    above.slots[level + 1] = slot;
    struct key key = node_key(node, 0);
    path_set_low_key(tree, &above, level + 1, &key);
}

/* Where a path that stood at pointer `index` of two nodes side by side, counted through both,
 * stands now; `other` is the one that is not in the path, on this side of it; its hold ends. */
static void path_find_ptr(struct tree *tree, struct path *path, unsigned level, uint32_t index,
                          int side, struct block *other)
{
    struct block *node = path->nodes[level];
    uint32_t left_nritems = block_nritems(side < 0 ? other : node);
    bool is_left = index < left_nritems;
    path->slots[level] = is_left ? index : index - left_nritems;
    if (is_left == (side < 0)) {
        path->slots[level + 1] += (uint32_t)side;
        path_replace(tree, path, level, other);
    } else {
        tree_put(tree, other);
    }
}

/* --- before a split ----------------------------------------------------------------- */

/* Moves pointers of nodes[level] to a neighbour: 1 when it did, 0 when none may go, or an error. */
static int push_node(struct tree *tree, struct path *path, unsigned level, int side)
{
    struct block *other;
    int result = path_neighbour(tree, path, level, side, &other);
    if (result != 0)
        return result < 0 ? result : 0;
    struct block *node = path->nodes[level];
    uint32_t max_ptrs = tree_max_ptrs(tree, node), slot = path->slots[level + 1] + (uint32_t)side;
    uint32_t from = block_nritems(node), to = block_nritems(other), index = path->slots[level];
    uint32_t count = 0;
    if (to < max_ptrs - 1) {
        if (tree->growth->shadow_first)
            result = tree_claim(tree, path->nodes[level + 1], slot, &other);
        count = side < 0 ? push_node_plan(from, to, max_ptrs, false)
                         : push_half_plan(from, to, max_ptrs);
    }
    if (result == 0 && count > 0)
        result = path_claim(tree, path, level);
    if (result == 0 && count > 0)
        result = tree_claim(tree, path->nodes[level + 1], slot, &other);
    if (result < 0 || count == 0) {
        tree_put(tree, other);
        return result;
    }

    node = path->nodes[level];
    if (side < 0) {
        move_ptrs_left(tree, other, node, count);
        set_key_above(tree, path, level, path->slots[level + 1], node);
        index += to;
    } else {
        move_ptrs_right(tree, node, other, count);
        set_key_above(tree, path, level, slot, other);
    }
    path_find_ptr(tree, path, level, index, side, other);
    return 1;
}

int push_make_node_room(struct tree *tree, struct path *path, unsigned level)
{
    struct push_policy *rules = (struct push_policy *)tree->growth->policy;
    int pushed = 0;
    if (level < tree->level) {
        pushed = push_node(tree, path, level, -1);
        if (pushed == 0)
            pushed = push_node(tree, path, level, 1);
    }
    if (pushed < 0)
        return pushed;
    rules->counters.node_pushes += (uint64_t)pushed;
    const struct block *node = path->nodes[level];
    return block_nritems(node) + 3 < tree_max_ptrs(tree, node) ? 0 : split_node(tree, path, level);
}

/* --- after deletions ---------------------------------------------------------------- */

/* The root has one pointer: its child takes its place. It is claimed, for a root belongs to its
 * tree alone, and a child may be another tree's too. */
static int lose_root(struct tree *tree, struct path *path)
{
    struct growth *growth = tree->growth;
    unsigned level = tree->level;
    struct block **child = &path->nodes[level - 1];
    int result = growth->shadow_first ? path_claim(tree, path, level - 1)
                                      : growth->owner->claim(growth->owner, tree, child);
    if (result < 0)
        return result;
    struct block *root = path->nodes[level];
    tree->bytenr = (*child)->bytenr;
    tree->level = block_level(*child);
    tree->generation = block_generation(*child);
    path->nodes[level] = NULL;
    path->slots[level] = 0;
    growth->owner->free(growth->owner, tree, root);
    growth->counters.lost_roots++;
    return 0;
}

/* Takes the pointer at `slot` above the level away, and with it the empty node it leads to. */
static void free_node(struct tree *tree, struct path *path, unsigned level, uint32_t slot,
                      struct block *node)
{
    struct growth *growth = tree->growth;
    struct path above = *path;
    above.slots[level + 1] = slot;
    path_remove_ptr(tree, &above, level + 1);
    growth->owner->free(growth->owner, tree, node);
}

/* Carries out a plan. What it changes is claimed; absent neighbours are NULL. The holds on the
 * neighbours end. */
static void balance(struct tree *tree, struct path *path, unsigned level,
                    const struct balance_plan *plan, struct block *left, struct block *right)
{
    struct block *middle = path->nodes[level];
    uint32_t slot = path->slots[level + 1];
    uint32_t index = path->slots[level] + (left ? block_nritems(left) : 0);

    if (left)
        move_ptrs_left(tree, left, middle, plan->middle_to_left);
    if (right)
        move_ptrs_left(tree, middle, right, plan->right_to_middle);
    if (left)
        move_ptrs_right(tree, left, middle, plan->left_to_middle);

    /* The right one first, so that its going does not shift the slot of the middle. */
    if (right && block_nritems(right) == 0) {
        free_node(tree, path, level, slot + 1, right);
    } else if (right) {
        if (plan->right_to_middle > 0)
            set_key_above(tree, path, level, slot + 1, right);
        tree_put(tree, right);
    }
    if (!left)
        return;
    if (block_nritems(middle) == 0) {
        free_node(tree, path, level, slot, middle);
        path->nodes[level] = left;
        path->slots[level] = index;
        path->slots[level + 1]--;
        return;
    }
    if (plan->middle_to_left > 0 || plan->left_to_middle > 0)
        set_key_above(tree, path, level, slot, middle);
    path_find_ptr(tree, path, level, index, -1, left);
}

/* Claims the node and its neighbours, or, with a plan, those that it changes. */
static int claim_three(struct tree *tree, struct path *path, unsigned level,
                       const struct balance_plan *plan, struct block **left, struct block **right)
{
    uint32_t slot = path->slots[level + 1];
    bool with_left = *left && (!plan || plan->middle_to_left > 0 || plan->left_to_middle > 0);
    bool with_right = *right && (!plan || plan->right_to_middle > 0);
    int result = path_claim(tree, path, level);
    if (result == 0 && with_left)
        result = tree_claim(tree, path->nodes[level + 1], slot - 1, left);
    if (result == 0 && with_right)
        result = tree_claim(tree, path->nodes[level + 1], slot + 1, right);
    return result;
}

int push_balance(struct tree *tree, struct path *path, unsigned level)
{
    struct push_policy *rules = (struct push_policy *)tree->growth->policy;
    const struct block *node = path->nodes[level];
    uint32_t max_ptrs = tree_max_ptrs(tree, node), nritems = block_nritems(node);
    if (level == tree->level)
        return nritems == 1 ? lose_root(tree, path) : 0;
    if (nritems > max_ptrs / rules->balance)
        return 0;

    struct block *left = NULL, *right = NULL;
    int result = path_neighbour(tree, path, level, -1, &left);
    if (result >= 0)
        result = path_neighbour(tree, path, level, 1, &right);
    if (result >= 0 && tree->growth->shadow_first)
        result = claim_three(tree, path, level, NULL, &left, &right);
    struct balance_plan plan = {0};
    if (result >= 0) {
        plan = balance_plan(left ? block_nritems(left) : 0, nritems,
                            right ? block_nritems(right) : 0, max_ptrs);
        bool acts = plan.middle_to_left + plan.right_to_middle + plan.left_to_middle > 0;
        result = acts ? claim_three(tree, path, level, &plan, &left, &right) : 1;
    }
    if (result != 0) {
        tree_put(tree, left);
        tree_put(tree, right);
        return result < 0 ? result : 0;
    }
    balance(tree, path, level, &plan, left, right);
    rules->counters.balances++;
    return 0;
}
