/* Forests: several trees on an image, changed in transactions, beside a model that does the same.
 */
#ifndef SUPPORT_FOREST_H
#define SUPPORT_FOREST_H

#include "bump_space.h"
#include "range_set.h"
#include "support.h"
#include "transaction.h"

enum { FOREST_KEYS = 480, FOREST_TREES = 5, MIRRORED_SIZE = (64 << 20) + (1 << 20) };

/* --- a space that uses addresses again ---------------------------------------------- */

/* Free addresses of the first chunk in a set; a block is taken from any of its ranges. With
 * `ledger` it writes the number of free bytes into a tree of that id when it settles. */
struct recycler {
    struct space space;
    uint32_t node_size;
    struct range_set free, pinned, taken;
    struct dice dice;
    uint64_t ledger;
    uint64_t shared; /* calls */
};

/* All is free but the blocks of the volume's trees and the superblocks. */
void recycler_open(struct recycler *recycler, struct volume *volume);
void recycler_close(struct recycler *recycler);

/* The blocks that the superblock of the volume reaches; no block is met twice. */
void reach_blocks(struct volume *volume, struct range_set *blocks);

/* --- the model ---------------------------------------------------------------------- */

struct forest_tree {
    uint64_t id; /* 0: not there */
    struct forest_item {
        bool is_there;
        uint32_t size, seed; /* the bytes are grove_data(seed) */
    } items[FOREST_KEYS];
};

struct forest_model {
    struct forest_tree trees[FOREST_TREES];
};

struct key forest_key(uint32_t number);

struct forest {
    struct device *device; /* the caller's */
    struct notes notes;
    struct volume volume;
    struct bump_space bump;
    struct recycler recycler;
    struct space *space; /* which of the two */
    struct transaction transaction;
    uint32_t max_items, max_ptrs; /* of the trees; 0: as many as fit */
    uint32_t most;                /* bytes in an item, at most */
    bool shadow_first;
    struct dice dice;
    struct forest_model now, committed;
};

/* Formats the device; there is one tree, 5, and the space is the bump space. */
void forest_open(struct forest *forest, struct device *device, uint32_t node_size, uint64_t seed);
void forest_close(struct forest *forest);

/* Opens the volume anew, with a space of the same kind that begins with what is free now. */
void forest_reopen(struct forest *forest, struct device *device);

void forest_recycle(struct forest *forest); /* from now on the recycler is the space */

void forest_begin(struct forest *forest);
int forest_commit(struct forest *forest); /* as transaction_commit; the model follows */
void forest_abort(struct forest *forest);

/* One change at random, in a tree at random; now and then a new tree. */
int forest_step(struct forest *forest);

/* So many; the first error. */
int forest_steps(struct forest *forest, unsigned steps);

/* Inserts or deletes one item of a tree of the model. */
int forest_insert(struct forest *forest, unsigned tree, uint32_t number, uint32_t size);
int forest_delete(struct forest *forest, unsigned tree, uint32_t number);
int forest_toggle(struct forest *forest, unsigned tree, uint32_t number); /* the one or the other */
int forest_new_tree(struct forest *forest, unsigned tree, uint64_t id);

/* The device holds what was committed, and all that is said of roots and blocks is right. */
void forest_check(struct forest *forest, struct device *device);

#endif
