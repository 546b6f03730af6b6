/* Items from a leaf to its neighbour. Both are claimed, and the room is there; the items keep their
 * order, for they go from the end of the left leaf to the front of the right one, or back.
 *
 * The kernel's names: the motion in __push_leaf_right, __push_leaf_left, copy_for_split. */
#ifndef LEAF_MOVE_H
#define LEAF_MOVE_H

#include "growth.h"

/* Moves the last `count` items of `left` to the front of `right`. */
void leaf_move_right(struct tree *tree, struct block *left, struct block *right, uint32_t count);

/* Moves the first `count` items of `right` to the end of `left`. */
void leaf_move_left(struct tree *tree, struct block *left, struct block *right, uint32_t count);

#endif
