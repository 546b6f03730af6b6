/* Splitting: where a leaf is divided, and how the pieces find their place.
 *
 * A leaf of n items is to take something of cost S at slot p, and has not that much left. Where it
 * is divided is decided by split_plan, on numbers alone; split_leaf carries it out.
 *
 *       slot p                     left                 right
 *   | 0 | 1 | 2 | 3 | 4 |   ->   | 0 | 1 | 2 |        | 3 | 4 |          SPLIT, at = 3
 *
 * What must hold afterwards:
 *   S5  the leaf of the path has room for S at the slot of the path
 *   S6  the items are the same, in the same order, and the slot lies between the same two
 *   S7  both parts hold items; or the leaf of the path is new and empty, and the caller fills it
 *   S8  no more than two leaves are made
 *
 * The kernel's names: split_leaf, copy_for_split, split_node.
 */
#ifndef SPLIT_H
#define SPLIT_H

#include "growth.h"

/* What split_plan has to know. U(a, b) is the cost of the items a .. b - 1. */
struct split_question {
    uint32_t nritems;
    uint32_t slot;
    uint32_t cost;        /* S, of what is to be put in */
    uint32_t room;        /* R, what a leaf has in all */
    bool extends;         /* S is to be added to the item at the slot */
    uint32_t to_middle;   /* U(0, m), m = split_middle(nritems) */
    uint32_t from_middle; /* U(m, n) */
    uint32_t to_slot;     /* U(0, p); not for split_plan, but for policies that are cleverer */
    uint32_t from_slot;   /* U(p, n) */
};

enum split_way {
    SPLIT_MIDDLE,  /* half of the items go right */
    SPLIT_AT_SLOT, /* those from the slot on go right, and the new one before them */
    SPLIT_TWICE,   /* the same; but even so there is no room, and the right part is split again */
    SPLIT_BEHIND_SLOT, /* the item at the slot stays, alone, and grows */
    SPLIT_EMPTY_RIGHT, /* nothing moves: the new one begins a leaf to the right */
    SPLIT_EMPTY_LEFT,  /* nothing moves: the new one begins a leaf to the left */
};
enum { SPLIT_WAYS = 6 };

struct split_plan {
    enum split_way way;
    uint32_t at; /* the items from here on go into a new leaf to the right */
};

static inline uint32_t split_middle(uint32_t nritems)
{
    return (nritems + 1) / 2;
}

/* The decision table of the kernel. Asked only when U(0, n) + S > R. */
struct split_plan split_plan(const struct split_question *question);

struct split_question split_ask(const struct tree *tree, const struct path *path,
                                const struct room *room);

/* Carries out one plan. The leaf that is divided is claimed, or only its parent where nothing moves
 * out of it. All that can fail is done before anything changes. */
int split_carry_out(struct tree *tree, struct path *path, const struct room *room,
                    const struct split_plan *plan);

/* Refuses with EOVERFLOW what no leaf can hold. Called before anything is changed. */
int split_possible(const struct tree *tree, const struct path *path, const struct room *room);

/* Splits until there is room: room_policy.leaf without pushing. */
int split_leaf(struct tree *tree, struct path *path, const struct room *room);

/* Moves the second half of the pointers of nodes[level] to a new node; room_policy.node without
 * pushing. */
int split_node(struct tree *tree, struct path *path, unsigned level);

/* Is the slot of the path behind all items of the tree? */
bool path_is_at_end(const struct tree *tree, const struct path *path);

/* A new, empty leaf to the right, for what comes behind all items of the tree: nothing has to be
 * moved for it, and what comes in order fills each leaf. */
int split_append(struct tree *tree, struct path *path, const struct room *room);

/* The stand-in policies: split alone, and split with split_append. */
extern struct room_policy split_policy, append_policy;

#endif
