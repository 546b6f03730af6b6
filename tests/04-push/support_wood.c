#include "support_wood.h"

#include <string.h>

/* --- numbers ------------------------------------------------------------------------ */

static uint32_t used(const struct wood_leaf *leaf, uint32_t first, uint32_t end)
{
    uint32_t sum = 0;
    for (uint32_t i = first; i < end; i++)
        sum += leaf->costs[i];
    return sum;
}

uint32_t wood_free(const struct wood *wood, uint32_t leaf)
{
    return wood->room - used(&wood->leaves[leaf], 0, wood->leaves[leaf].nitems);
}

/* Takes `count` costs out at a place, and puts them in at another. */
static void move(struct wood_leaf *from, uint32_t first, uint32_t count, struct wood_leaf *to,
                 uint32_t slot)
{
    uint32_t costs[WOOD_ITEMS];
    memcpy(costs, from->costs + first, count * sizeof *costs);
    memmove(from->costs + first, from->costs + first + count,
            (from->nitems - first - count) * sizeof *costs);
    from->nitems -= count;
    memmove(to->costs + slot + count, to->costs + slot, (to->nitems - slot) * sizeof *costs);
    memcpy(to->costs + slot, costs, count * sizeof *costs);
    to->nitems += count;
}

/* Makes place for a new leaf before leaf `index`; it is empty. */
static void open_leaf(struct wood *wood, uint32_t index)
{
    memmove(&wood->leaves[index + 1], &wood->leaves[index],
            (wood->nleaves - index) * sizeof *wood->leaves);
    wood->leaves[index] = (struct wood_leaf){0};
    wood->nleaves++;
}

/* --- pushes (sections 3 and 4) ------------------------------------------------------- */

uint32_t wood_right(const struct wood_leaf *leaf, uint32_t slot, uint32_t need, uint32_t min_slot,
                    bool empty, uint32_t own_free, uint32_t other_free)
{
    int64_t limit = empty ? 0 : min_slot > 1 ? min_slot : 1, p = slot;
    uint64_t taken = 0, acc = slot >= leaf->nitems ? need : 0;
    for (int64_t i = (int64_t)leaf->nitems - 1; i >= limit; i--) {
        if (!empty && taken > 0) {
            if (p > i)
                break;
            if (p == i && own_free + 2 * acc > other_free)
                break;
        }
        if (p == i)
            acc += need;
        if (leaf->costs[i] + acc > other_free)
            break;
        taken++;
        acc += leaf->costs[i];
    }
    return (uint32_t)taken;
}

uint32_t wood_left(const struct wood_leaf *leaf, uint32_t slot, uint32_t need, uint32_t max_slot,
                   bool empty, uint32_t own_free, uint32_t other_free)
{
    uint64_t limit = empty ? leaf->nitems : leaf->nitems - 1, taken = 0, acc = 0;
    if (max_slot < limit)
        limit = max_slot;
    for (uint64_t i = 0; i < limit; i++) {
        if (!empty && taken > 0) {
            if (slot < i)
                break;
            if (slot == i && own_free + 2 * acc > other_free)
                break;
        }
        if (slot == i)
            acc += need;
        if (leaf->costs[i] + acc > other_free)
            break;
        taken++;
        acc += leaf->costs[i];
    }
    return (uint32_t)taken;
}

static enum push_outcome push_right(struct wood *wood, const struct push_policy *rules,
                                    const struct push *push)
{
    struct wood_leaf *leaf = &wood->leaves[wood->at], *right = leaf + 1;
    if (wood->at + 1 == wood->nleaves)
        return PUSH_NO_NEIGHBOUR;
    uint32_t other_free = wood_free(wood, wood->at + 1);
    if (other_free < push->ticket)
        return PUSH_NO_ROOM;
    if (rules->shortcut && wood->slot == leaf->nitems && !push->empty) {
        wood->at++;
        wood->slot = 0;
        return PUSH_SHORTCUT;
    }
    uint32_t count = wood_right(leaf, wood->slot, push->need, push->limit, push->empty,
                                wood_free(wood, wood->at), other_free);
    if (count == 0)
        return PUSH_NOTHING_FITS;
    move(leaf, leaf->nitems - count, count, right, 0);
    if (!push->empty && wood->slot >= leaf->nitems) {
        wood->slot -= leaf->nitems;
        wood->at++;
    }
    return PUSH_MOVED;
}

static enum push_outcome push_left(struct wood *wood, const struct push *push)
{
    if (wood->at == 0)
        return PUSH_NO_NEIGHBOUR;
    struct wood_leaf *leaf = &wood->leaves[wood->at], *left = leaf - 1;
    uint32_t other_free = wood_free(wood, wood->at - 1), before = left->nitems;
    if (other_free < push->ticket)
        return PUSH_NO_ROOM;
    uint32_t count = wood_left(leaf, wood->slot, push->need, push->limit, push->empty,
                               wood_free(wood, wood->at), other_free);
    if (count == 0)
        return PUSH_NOTHING_FITS;
    move(leaf, 0, count, left, before);
    if (wood->slot >= count) {
        wood->slot -= count;
    } else if (!push->empty) {
        wood->slot += before;
        wood->at--;
    } else {
        wood->slot = 0;
    }
    return PUSH_MOVED;
}

enum push_outcome wood_push(struct wood *wood, const struct push_policy *rules, int side,
                            const struct push *push)
{
    return side > 0 ? push_right(wood, rules, push) : push_left(wood, push);
}

/* --- splits (sections 2 and 5) ------------------------------------------------------- */

static uint32_t need_right(const struct wood *wood, const struct push_policy *rules, uint32_t cost)
{
    bool counts = rules->need && wood->slot < wood->leaves[wood->at].nitems;
    return counts ? cost - wood_free(wood, wood->at) : cost;
}

static uint32_t need_left(const struct wood *wood, const struct push_policy *rules, uint32_t cost)
{
    if (!rules->left_discount) /* until 2017 it was the need of the push to the right */
        return need_right(wood, rules, cost);
    return wood->slot > 0 ? cost - wood_free(wood, wood->at) : cost;
}

static void push_for_double(struct wood *wood, const struct push_policy *rules, uint32_t cost)
{
    uint32_t ticket = need_right(wood, rules, cost);
    push_right(wood, rules, &(struct push){.need = 1, .ticket = ticket, .limit = wood->slot});
    if (wood->slot == 0 || wood->slot == wood->leaves[wood->at].nitems ||
        wood_free(wood, wood->at) >= cost)
        return;
    ticket = need_left(wood, rules, cost);
    push_left(wood, &(struct push){.need = 1, .ticket = ticket, .limit = wood->slot});
}

/* Divides the leaf of the path at an item. */
static void divide(struct wood *wood, uint32_t at)
{
    open_leaf(wood, wood->at + 1);
    struct wood_leaf *leaf = &wood->leaves[wood->at];
    move(leaf, at, leaf->nitems - at, leaf + 1, 0);
    if (wood->slot >= at) {
        wood->slot -= at;
        wood->at++;
    }
}

uint32_t wood_make_room(struct wood *wood, const struct push_policy *rules, uint32_t cost,
                        bool extends)
{
    uint32_t before = wood->nleaves, need = need_right(wood, rules, cost);
    struct push push = {.need = need, .ticket = need};
    enum push_outcome outcome = push_right(wood, rules, &push);
    if (outcome != PUSH_MOVED && outcome != PUSH_SHORTCUT) {
        push.need = push.ticket = need_left(wood, rules, cost);
        push.limit = UINT32_MAX;
        push_left(wood, &push);
    }
    for (bool tried = false; wood_free(wood, wood->at) < cost;) {
        const struct wood_leaf *leaf = &wood->leaves[wood->at];
        uint32_t n = leaf->nitems, p = wood->slot, mid = (n + 1) / 2, split = mid;
        bool twice = false;
        if (mid <= p) {
            if (n == 1 || used(leaf, mid, n) + cost > wood->room) {
                if (p >= n) {
                    open_leaf(wood, ++wood->at);
                    wood->slot = 0;
                    continue;
                }
                split = p;
                twice = used(leaf, split, n) + cost > wood->room;
            }
        } else if (used(leaf, 0, mid) + cost > wood->room) {
            if (!extends && p == 0) {
                open_leaf(wood, wood->at);
                wood->slot = 0;
                continue;
            }
            if (extends && p == 0) {
                split = 1;
            } else {
                split = p;
                twice = used(leaf, split, n) + cost > wood->room;
            }
        }
        if (twice && !tried) {
            tried = true;
            push_for_double(wood, rules, cost);
            continue;
        }
        divide(wood, split);
    }
    return wood->nleaves - before;
}

/* --- deletion (section 7) ------------------------------------------------------------ */

static void close_leaf(struct wood *wood, uint32_t index)
{
    wood->nleaves--;
    memmove(&wood->leaves[index], &wood->leaves[index + 1],
            (wood->nleaves - index) * sizeof *wood->leaves);
}

void wood_delete(struct wood *wood, const struct push_policy *rules, uint32_t count)
{
    struct wood_leaf *leaf = &wood->leaves[wood->at], gone = {0};
    move(leaf, wood->slot, count, &gone, 0);
    if (leaf->nitems == 0) {
        close_leaf(wood, wood->at);
        return;
    }
    if (used(leaf, 0, leaf->nitems) >= wood->room / rules->merge)
        return;
    uint32_t before = leaf->nitems, slot = wood->slot;
    push_left(wood, &(struct push){.ticket = leaf->costs[0], .limit = UINT32_MAX, .empty = true});
    /* A path that went left with its place leaves the leaf as it is. */
    if (leaf->nitems > 0 && slot >= before - leaf->nitems)
        push_right(wood, rules,
                   &(struct push){.ticket = used(leaf, 0, leaf->nitems), .empty = true});
    if (leaf->nitems == 0)
        close_leaf(wood, wood->at);
}

/* --- and real leaves ----------------------------------------------------------------- */

void wood_plant(const struct wood *wood, struct grove *grove, bool far)
{
    uint32_t nitems[3 * WOOD_LEAVES], sizes[(WOOD_LEAVES + 2 * WOOD_LEAVES) * WOOD_ITEMS];
    uint32_t nleaves = 0, count = 0, n = wood->nleaves;
    /* Nodes of n pointers: the leaves of the wood are in the second. */
    for (uint32_t i = 0; far && i < n; i++, count++) {
        nitems[nleaves++] = 1;
        sizes[count] = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        nitems[nleaves++] = wood->leaves[i].nitems;
        for (uint32_t slot = 0; slot < wood->leaves[i].nitems; slot++)
            sizes[count++] = wood->leaves[i].costs[slot] - 25;
    }
    for (uint32_t i = 0; far && i < n; i++, count++) {
        nitems[nleaves++] = 1;
        sizes[count] = 0;
    }
    grove_plant(grove, nitems, nleaves, sizes, n < 2 ? 2 : n);
}

void wood_path(const struct wood *wood, struct grove *grove, bool far, struct path *path)
{
    uint32_t first = far ? wood->nleaves : 0;
    for (uint32_t i = 0; i < wood->at; i++)
        first += wood->leaves[i].nitems;
    grove_path(grove, first, wood->slot, path);
}

void wood_compare(const struct wood *wood, struct grove *grove, const struct block *node)
{
    uint32_t nleaves = block_level(node) ? block_nritems(node) : 1;
    expect(nleaves == wood->nleaves, "%u leaves, not %u", nleaves, wood->nleaves);
    for (uint32_t i = 0; i < nleaves; i++) {
        const struct wood_leaf *wanted = &wood->leaves[i];
        const struct block *leaf =
            block_level(node) ? grove_block(grove, from_le64(node_ptr(node, i)->blockptr)) : node;
        uint32_t nitems = block_nritems(leaf);
        expect(nitems == wanted->nitems, "leaf %u: %u items, not %u", i, nitems, wanted->nitems);
        for (uint32_t slot = 0; slot < nitems; slot++)
            expect(item_size(leaf, slot) + 25 == wanted->costs[slot], "leaf %u: item %u", i, slot);
    }
}
