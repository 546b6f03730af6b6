#include "split.h"

#include "change.h"
#include "fail.h"
#include "leaf_move.h"

#include <assert.h>
#include <string.h>

/* --- the decision ------------------------------------------------------------------- */

/* Dividing at the slot puts the new item at the front of the right part. */
static struct split_plan plan_at_slot(const struct split_question *question)
{
    bool fits = question->from_slot + question->cost <= question->room;
    return (struct split_plan){fits ? SPLIT_AT_SLOT : SPLIT_TWICE, question->slot};
}

struct split_plan split_plan(const struct split_question *question)
{
    const struct split_question *q = question;
    uint32_t middle = split_middle(q->nritems);
    assert(q->nritems > 0 && q->slot <= q->nritems);
    assert(q->to_middle + q->from_middle + q->cost > q->room);

    if (q->slot >= middle) { /* the slot lies in the right half, which must have room for it */
        if (q->nritems > 1 && q->from_middle + q->cost <= q->room)
            return (struct split_plan){SPLIT_MIDDLE, middle};
        if (q->slot == q->nritems)
            return (struct split_plan){SPLIT_EMPTY_RIGHT, q->nritems};
        return plan_at_slot(q);
    }
    if (q->to_middle + q->cost <= q->room) /* in the left half, and that has room */
        return (struct split_plan){SPLIT_MIDDLE, middle};
    if (q->slot > 0)
        return plan_at_slot(q);
    if (q->extends)
        return (struct split_plan){SPLIT_BEHIND_SLOT, 1};
    return (struct split_plan){SPLIT_EMPTY_LEFT, 0};
}

struct split_question split_ask(const struct tree *tree, const struct path *path,
                                const struct room *room)
{
    const struct block *leaf = path->nodes[0];
    uint32_t nritems = block_nritems(leaf), slot = path->slots[0], middle = split_middle(nritems);
    return (struct split_question){
        .nritems = nritems,
        .slot = slot,
        .cost = room->cost,
        .room = leaf_room(leaf),
        .extends = room->extends,
        .to_middle = leaf_used(tree, leaf, 0, middle),
        .from_middle = leaf_used(tree, leaf, middle, nritems),
        .to_slot = leaf_used(tree, leaf, 0, slot),
        .from_slot = leaf_used(tree, leaf, slot, nritems),
    };
}

int split_possible(const struct tree *tree, const struct path *path, const struct room *room)
{
    const struct block *leaf = path->nodes[0];
    uint32_t cost = room->cost;
    if (room->extends)
        cost += leaf_used(tree, leaf, path->slots[0], path->slots[0] + 1);
    if (cost <= leaf_room(leaf))
        return 0;
    char text[KEY_TEXT_SIZE];
    return fail(EOVERFLOW, "tree %" PRIu64 " key %s: %u bytes with the header, a leaf holds %u",
                tree->id, key_format(room->key, text), cost, leaf_room(leaf));
}

/* --- the motion --------------------------------------------------------------------- */

int split_carry_out(struct tree *tree, struct path *path, const struct room *room,
                    const struct split_plan *plan)
{
    struct growth *growth = tree->growth;
    struct block *fresh;
    uint32_t slot = path->slots[0];
    bool is_empty = plan->way == SPLIT_EMPTY_RIGHT || plan->way == SPLIT_EMPTY_LEFT;

    /* All that can fail. A leaf out of which nothing moves stays as it is. */
    int result = growth->owner->allocate(growth->owner, tree, 0, &fresh);
    if (result < 0)
        return result;
    if (tree->level == 0)
        result = tree_new_root(tree, path);
    if (result == 0)
        result = path_claim(tree, path, is_empty ? 1 : 0);
    if (result < 0) {
        growth->owner->free(growth->owner, tree, fresh);
        return result;
    }
    growth->counters.splits++;

    if (is_empty) {
        /* The new leaf goes before the old one, or behind it. */
        path->slots[1] += plan->way == SPLIT_EMPTY_RIGHT;
        path_insert_ptr(tree, path, 1, path->slots[1], room->key, fresh);
        path_replace(tree, path, 0, fresh);
        path->slots[0] = 0;
        return 0;
    }

    leaf_move_right(tree, path->nodes[0], fresh, block_nritems(path->nodes[0]) - plan->at);
    struct key key = leaf_key(fresh, 0);
    path_insert_ptr(tree, path, 1, path->slots[1] + 1, &key, fresh);
    if (slot < plan->at) {
        tree_put(tree, fresh);
        return 0;
    }
    path_replace(tree, path, 0, fresh);
    path->slots[0] = slot - plan->at;
    path->slots[1]++;
    return 0;
}

int split_leaf(struct tree *tree, struct path *path, const struct room *room)
{
    int result = 0;
    for (unsigned times = 0; result == 0 && leaf_left(tree, path->nodes[0]) < room->cost; times++) {
        assert(times < 2); /* S8 */
        struct split_question question = split_ask(tree, path, room);
        struct split_plan plan = split_plan(&question);
        tree->growth->counters.double_splits += plan.way == SPLIT_TWICE;
        result = split_carry_out(tree, path, room, &plan);
    }
    return result;
}

/* --- nodes -------------------------------------------------------------------------- */

int split_node(struct tree *tree, struct path *path, unsigned level)
{
    struct growth *growth = tree->growth;
    struct block *fresh;
    int result = growth->owner->allocate(growth->owner, tree, (uint8_t)level, &fresh);
    if (result < 0)
        return result;
    if (level == tree->level)
        result = tree_new_root(tree, path);
    if (result == 0)
        result = path_claim(tree, path, level);
    if (result < 0) {
        growth->owner->free(growth->owner, tree, fresh);
        return result;
    }

    struct block *node = path->nodes[level];
    uint32_t nritems = block_nritems(node), middle = split_middle(nritems);
    memcpy(node_ptr(fresh, 0), node_ptr(node, middle), (nritems - middle) * sizeof(struct key_ptr));
    block_header(fresh)->nritems = to_le32(nritems - middle);
    block_header(node)->nritems = to_le32(middle);
    tree_dirty(tree, node);
    tree_dirty(tree, fresh);
    growth->counters.node_splits++;

    struct key key = node_key(fresh, 0);
    path_insert_ptr(tree, path, level + 1, path->slots[level + 1] + 1, &key, fresh);
    if (path->slots[level] < middle) {
        tree_put(tree, fresh);
        return 0;
    }
    path_replace(tree, path, level, fresh);
    path->slots[level] -= middle;
    path->slots[level + 1]++;
    return 0;
}

/* --- appending ---------------------------------------------------------------------- */

bool path_is_at_end(const struct tree *tree, const struct path *path)
{
    return path->slots[0] == block_nritems(path->nodes[0]) && !path_bound(tree, path, 0);
}

int split_append(struct tree *tree, struct path *path, const struct room *room)
{
    struct split_plan plan = {SPLIT_EMPTY_RIGHT, block_nritems(path->nodes[0])};
    return split_carry_out(tree, path, room, &plan);
}

/* --- policies ----------------------------------------------------------------------- */

static int append_leaf(struct tree *tree, struct path *path, const struct room *room)
{
    bool appends = path_is_at_end(tree, path) && block_nritems(path->nodes[0]) > 0;
    return appends ? split_append(tree, path, room) : split_leaf(tree, path, room);
}

struct room_policy split_policy = {.leaf = split_leaf, .node = split_node};
struct room_policy append_policy = {.leaf = append_leaf, .node = split_node};
