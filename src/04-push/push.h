/* Pushing: room for an item is found in the leaf's neighbours before the leaf is split.
 *
 * A leaf that is full pushes items into the leaf to its right, or else to its left; both hang under
 * the same node, and only the pointer between them has to change. What goes is decided by
 * push_plan, on numbers alone; push_leaf_right and push_leaf_left ask it and carry it out.
 *
 * What must hold (S1 to S8 besides):
 *   P1  the two leaves hold the same items as before, in the same order
 *   P2  the item before which the path stood, or the place behind the last, is where it stands now
 *   P3  a leaf that is not to be emptied keeps one item at least
 *   P4  items beyond the limit (min_slot, max_slot) stay
 *   P5  of the nodes, only the one above the two leaves has changed, besides what claims change
 *   P6  the shortcut changes no byte, besides what claims change: not of the left leaf, not of the
 *       right one, not of a node
 *
 * The kernel's names: push_leaf_right, __push_leaf_right, push_leaf_left, __push_leaf_left,
 * push_for_double_split, push_nodes_for_insert.
 */
#ifndef PUSH_H
#define PUSH_H

#include "split.h"

/* --- the decision ------------------------------------------------------------------- */

struct push_question {
    const uint32_t *costs; /* of the items that may go, in the order in which they go */
    uint32_t count;        /* so many may */
    int32_t gap;           /* costs[gap] takes the new item along; -1: that goes over in any case */
    uint32_t need;         /* what the new item will cost over there */
    uint32_t own_left;     /* what this leaf has left now */
    uint32_t other_left;   /* what the neighbour has left now */
    bool empty;            /* as many as can are to go, to empty this leaf */
};

enum { ITEMS_MOST = (NODE_SIZE_MAX - sizeof(struct block_header)) / sizeof(struct item_header) };

/* How many items go; 0 is "nothing fits". */
uint32_t push_plan(const struct push_question *question);

/* --- the rules and what they have done ---------------------------------------------- */

enum push_outcome {
    PUSH_NO_NEIGHBOUR, /* under the same node */
    PUSH_NO_ROOM,      /* the neighbour has not what is asked for to begin with */
    PUSH_NOTHING_FITS, /* it has, but push_plan finds nothing that may go */
    PUSH_MOVED,
    PUSH_SHORTCUT, /* nothing went, but the path did */
};
enum { PUSH_OUTCOMES = 5 };

enum push_reason {
    PUSH_FOR_SPLIT,
    PUSH_FOR_DOUBLE, /* to avoid a double split */
    PUSH_FOR_DELETE, /* to merge */
};
enum { PUSH_REASONS = 3 };

/* What is asked of a push. */
struct push {
    enum push_reason reason;
    uint32_t need;   /* the kernel's min_data_size: counted for the new item while choosing */
    uint32_t ticket; /* the kernel's data_size: the neighbour must have so much left, or nothing is
                        tried */
    uint32_t limit;  /* to the right: items before this slot stay; to the left: those from it on */
    bool empty;      /* the leaf may become empty; then the path stays with it, to remove it */
};

/* The policy of this chapter. Each rule can be switched off; together they are the kernel's. */
struct push_policy {
    struct room_policy policy; /* must be first: tree->growth->policy points to it */

    /* What comes behind all items of the leaf goes to the front of the right one if that has room:
     * the patch of 2013. */
    bool shortcut;
    /* What the leaf has left counts towards the need, unless the new item goes behind all: 2013.
     * Pushing left, unless it goes before all: 2017. */
    bool need, left_discount;
    /* The mirror image of the shortcut: what comes before all goes to the end of the left one. */
    bool shortcut_left;
    /* split_append for what comes behind all items of the tree. */
    bool append;
    /* Two full leaves are split into three. */
    bool three;
    /* A leaf that uses less than one part in `merge` is merged; a node with no more than one part
     * in `balance` is balanced. */
    uint32_t merge, balance;

    struct push_counters {
        uint64_t right[PUSH_REASONS][PUSH_OUTCOMES], left[PUSH_REASONS][PUSH_OUTCOMES];
        uint64_t shortcuts_left, threes;
        uint64_t merged; /* leaves that a push emptied */
        uint64_t node_pushes, balances;
    } counters;
};

/* Linux since 2017; what it was before the patches of 2013; and the kernel's rules with those added
 * that paid when measured, which is what the rest of this program uses, with growth.shadow_first
 * false. */
struct push_policy push_policy_kernel(void);
struct push_policy push_policy_2013(void);
struct push_policy push_policy_coppice(void);

/* --- the motion --------------------------------------------------------------------- */

/* The outcome, or an error after which nothing has changed. The path follows its slot. */
int push_leaf_right(struct push_policy *rules, struct tree *tree, struct path *path,
                    const struct push *push);
int push_leaf_left(struct push_policy *rules, struct tree *tree, struct path *path,
                   const struct push *push);

/* The shortcut of the mirror image; whether it was taken, or an error. */
int push_shortcut_left(struct push_policy *rules, struct tree *tree, struct path *path,
                       const struct room *room);

/* room_policy.leaf and room_policy.node of a push_policy. */
int push_make_leaf_room(struct tree *tree, struct path *path, const struct room *room);
int push_make_node_room(struct tree *tree, struct path *path, unsigned level);

#endif
