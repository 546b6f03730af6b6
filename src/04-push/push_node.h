/* Nodes and their neighbours: pointers are pushed before a node is split, and nodes that have
 * become sparse are balanced.
 *
 * The kernel's names: push_node_left, balance_node_right, push_nodes_for_insert, balance_level.
 */
#ifndef PUSH_NODE_H
#define PUSH_NODE_H

#include "push.h"

/* Pointers that a node keeps when it is not to be emptied, and that are not worth a partial move:
 * the kernel's 8, or a quarter of a node that is small for a test. */
static inline uint32_t node_slack(uint32_t max_ptrs)
{
    return max_ptrs / 4 < 8 ? max_ptrs / 4 : 8;
}

/* How many pointers go from a node with `from` to a neighbour with `to`; 0: none may. With `empty`
 * all of them, if they fit, else so many that what stays is worth a node. */
uint32_t push_node_plan(uint32_t from, uint32_t to, uint32_t max_ptrs, bool empty);

/* How many go from a node to the one on its right, when that must have some: half of them. */
uint32_t push_half_plan(uint32_t from, uint32_t to, uint32_t max_ptrs);

/* What balancing does with a node and its neighbours; 0 pointers: there is no neighbour. */
struct balance_plan {
    uint32_t middle_to_left, right_to_middle, left_to_middle; /* in this order */
};
struct balance_plan balance_plan(uint32_t left, uint32_t middle, uint32_t right, uint32_t max_ptrs);

/* room_policy.balance of a push_policy. The root's turn comes with it: a root with one pointer
 * makes place for its child, and the tree loses a level. */
int push_balance(struct tree *tree, struct path *path, unsigned level);

#endif
