/* How a tree is changed: who owns its blocks, how room is made, its limits, what it has done.
 *
 * Sizes. What an item takes of a leaf is its cost: the data and the item header, 25 bytes. A leaf
 * has room for leaf_room bytes of cost. A small tree that is to be tall for a test or a drawing
 * sets max_items: then each item costs at least so much that no more than max_items go into a leaf,
 * and all decisions, which are made on costs, follow by themselves. max_ptrs limits nodes likewise.
 */
#ifndef GROWTH_H
#define GROWTH_H

#include "block_owner.h"

enum {
    MAX_ITEMS_LEAST = 3, /* below them a split has nothing to divide */
    MAX_PTRS_LEAST = 8,
};

/* What is to go into a leaf, at the slot of a path: one item, several, or more data for the item
 * that is there. */
struct room {
    const struct key *key; /* of the first item */
    uint32_t cost;         /* by which the leaf's use will grow */
    bool extends;          /* the item at the slot is to grow */
};

/* The seam room_policy: how room is made, and how it is given back. `leaf` and `node` must be
 * there; without `merge` and `balance` a tree never shrinks but by blocks that become empty.
 *
 * All take a path of which every block is held, and leave one on which the slot that is meant has
 * the same neighbours in key order as before. The blocks of the path need not be claimed. After a
 * failure the tree holds the same items as before and is sound, and so is the path. */
struct room_policy {
    /* nodes[0] has no room, though it would have if it were empty. Afterwards it has, and the
     * caller must use it: the leaf may be a new, empty one. Every node above has room for two
     * pointers. */
    int (*leaf)(struct tree *tree, struct path *path, const struct room *room);

    /* nodes[level] is almost full; afterwards it has room for two more pointers at least, and every
     * node above had before. */
    int (*node)(struct tree *tree, struct path *path, unsigned level);

    /* Items were removed from nodes[0], which is claimed and not empty; it may be merged. The path
     * serves no purpose after that but to be released. */
    int (*merge)(struct tree *tree, struct path *path);

    /* A pointer may be removed from nodes[level]: sees to it that it has two at least, or is the
     * root. */
    int (*balance)(struct tree *tree, struct path *path, unsigned level);
};

struct growth_counters {
    uint64_t items_inserted, items_deleted, items_changed;
    uint64_t splits; /* leaves made by splits; a double split makes two */
    uint64_t double_splits;
    uint64_t node_splits, new_roots, lost_roots;
    uint64_t bytes_within;  /* moved in leaves, to open and to close gaps */
    uint64_t bytes_between; /* moved from leaf to leaf: item headers and data */
};

struct growth {
    struct block_owner *owner;
    struct room_policy *policy;
    /* The kernel's order: shadow the path on the way down and a neighbour before looking into it.
     * Else what is not changed is not claimed. */
    bool shadow_first;
    uint32_t max_items; /* 0: as many as fit */
    uint32_t max_ptrs;  /* 0: as many as fit */
    struct growth_counters counters;
};

/* --- sizes -------------------------------------------------------------------------- */

/* What an item with `size` bytes of data costs in this leaf. */
static inline uint32_t item_cost(const struct tree *tree, const struct block *leaf, uint32_t size)
{
    uint32_t cost = size + (uint32_t)sizeof(struct item_header);
    uint32_t max_items = tree->growth->max_items;
    uint32_t least = max_items ? leaf_room(leaf) / max_items : 0;
    return cost > least ? cost : least;
}

/* What the items [first, end) of a leaf cost. */
static inline uint32_t leaf_used(const struct tree *tree, const struct block *leaf, uint32_t first,
                                 uint32_t end)
{
    uint32_t used = 0;
    if (first == end)
        return 0;
    if (!tree->growth->max_items) /* their data is one stretch */
        return leaf_data_end(leaf, first) - item_offset(leaf, end - 1) +
               (end - first) * (uint32_t)sizeof(struct item_header);
    for (uint32_t slot = first; slot < end; slot++)
        used += item_cost(tree, leaf, item_size(leaf, slot));
    return used;
}

/* What may still be spent in a leaf. */
static inline uint32_t leaf_left(const struct tree *tree, const struct block *leaf)
{
    return leaf_room(leaf) - leaf_used(tree, leaf, 0, block_nritems(leaf));
}

/* How many pointers go into a node of this tree. */
static inline uint32_t tree_max_ptrs(const struct tree *tree, const struct block *node)
{
    uint32_t capacity = node_capacity(node->size), max_ptrs = tree->growth->max_ptrs;
    return max_ptrs && max_ptrs < capacity ? max_ptrs : capacity;
}

#endif
