/* What Linux does with leaves, on numbers alone: a second statement of sections 2 to 5 and 7 of
 * the notes on the kernel, to hold the code against. Loops run as they do there, and nothing is
 * shared with the code under test.
 */
#ifndef SUPPORT_WOOD_H
#define SUPPORT_WOOD_H

#include "support_rules.h"

enum { WOOD_LEAVES = 8, WOOD_ITEMS = 40 };

/* Leaves under one node, from left to right: the costs of their items. */
struct wood {
    uint32_t room; /* of each leaf */
    uint32_t nleaves;
    struct wood_leaf {
        uint32_t nitems, costs[WOOD_ITEMS];
    } leaves[WOOD_LEAVES];
    uint32_t at, slot; /* where the path is: leaf and slot */
};

uint32_t wood_free(const struct wood *wood, uint32_t leaf);

/* The loops of __push_leaf_right and __push_leaf_left: how many items go. */
uint32_t wood_right(const struct wood_leaf *leaf, uint32_t slot, uint32_t need, uint32_t min_slot,
                    bool empty, uint32_t own_free, uint32_t other_free);
uint32_t wood_left(const struct wood_leaf *leaf, uint32_t slot, uint32_t need, uint32_t max_slot,
                   bool empty, uint32_t own_free, uint32_t other_free);

/* One whole push; the path follows. */
enum push_outcome wood_push(struct wood *wood, const struct push_policy *rules, int side,
                            const struct push *push);

/* split_leaf: makes room for `cost`. How many leaves were made. The switches shortcut, need and
 * left_discount count, those that Linux does not have must be off. */
uint32_t wood_make_room(struct wood *wood, const struct push_policy *rules, uint32_t cost,
                        bool extends);

/* btrfs_del_items: takes items out of the path's leaf, and merges it. */
void wood_delete(struct wood *wood, const struct push_policy *rules, uint32_t count);

/* Plants these leaves under one node, of a grove of 4 KiB blocks. With `far`, which asks for two
 * leaves at least, there are as many small leaves before and behind them, under other nodes. */
void wood_plant(const struct wood *wood, struct grove *grove, bool far);

/* The path to where the wood's is. */
void wood_path(const struct wood *wood, struct grove *grove, bool far, struct path *path);

/* The leaves under the node are those of the wood. A leaf stands for itself. */
void wood_compare(const struct wood *wood, struct grove *grove, const struct block *node);

#endif
