/* A grove: a tree on the heap, the model of what it should hold, and a watch over who changes
 * what.
 *
 * The keys of a grove are numbered 1 .. keys - 1 in their order, so the model is an array. The
 * data of an item is a stretch of random bytes that its seed tells, or zeros, seed 0.
 */
#ifndef SUPPORT_GROVE_H
#define SUPPORT_GROVE_H

#include "heap.h"
#include "insert.h"
#include "split.h"
#include "support.h"

enum { GROVE_KEYS = 1 << 16, STEP_MOST = 48, GROVE_TREE = FIRST_FREE_OBJECTID };

struct grove_item {
    bool is_there;
    uint32_t size, seed;
};

/* Stands between the tree and the heap: fails the n-th call, and knows what was made dirty.
 * Claims of what is claimed already are no calls that could fail. */
struct watch {
    struct block_source source;
    struct block_owner owner;
    struct heap *heap;
    bool is_stingy; /* each claim and allocation needs memory, for FAULT_MEMORY */
    struct watch_calls {
        uint64_t calls, first, failing; /* as in struct fault */
    } gets, owns;
    uint64_t claims, allocations; /* that succeeded and were not void */
    struct block **dirtied;       /* since watch_forget, as often as it was said */
    size_t ndirtied, capacity;
};

struct grove {
    struct heap heap;
    struct growth growth;
    struct tree tree;
    struct watch watch;
    struct dice dice;
    bool has_faults; /* blocks may have been allocated and given back */
    /* Deletion, which chapter 04 brings; NULL before. */
    int (*remove)(struct tree *tree, const struct key *key);
    int (*remove_range)(struct tree *tree, const struct key *first, const struct key *last,
                        uint64_t *deleted);
    uint32_t keys, count;
    struct grove_item items[GROVE_KEYS];
};

/* --- from the ground ---------------------------------------------------------------- */

/* An empty tree. The growth gives policy, limits and shadow_first. The grove must be zeroed, or
 * have been in use before. */
void grove_open(struct grove *grove, uint32_t node_size, const struct growth *growth,
                uint64_t seed);
void grove_close(struct grove *grove);

/* The same blocks at other addresses, the same model. */
void grove_copy(struct grove *copy, const struct grove *grove);

/* Builds the tree of these leaves: `nitems[i]` items in leaf i, the sizes one after another;
 * nodes of `fanout` pointers. Item number j of all gets the key number 4 * j + 4. The tree must
 * be new. */
void grove_plant(struct grove *grove, const uint32_t *nitems, uint32_t nleaves,
                 const uint32_t *sizes, uint32_t fanout);

/* Builds the tree of a root over nodes of so many pointers each, over leaves of one item. */
void grove_plant_nodes(struct grove *grove, const uint32_t *nptrs, uint32_t nnodes);

/* The path to slot `slot` of the leaf that holds item number `first` of those planted in slot 0. */
void grove_path(struct grove *grove, uint32_t first, uint32_t slot, struct path *path);

/* Does what a caller of room_policy.leaf must do: puts item `number`, which is not there, or
 * makes the one that is there longer, by `bytes`; at the slot of the path, which is released. */
void grove_fill(struct grove *grove, struct path *path, uint32_t number, uint32_t bytes);

/* The numbers of the items on both sides of the slot of a path, 0 and UINT32_MAX where there is
 * none; an empty leaf's too. */
struct gap {
    uint32_t before, behind;
};
struct gap grove_gap(struct grove *grove, const struct path *path);

struct key grove_key(uint32_t number);
uint32_t grove_number(const struct key *key);
const unsigned char *grove_data(uint32_t seed);

/* --- what must hold ----------------------------------------------------------------- */

struct census {
    uint64_t leaves, nodes, items, lonely; /* lonely: nodes of one pointer */
    uint64_t used;                         /* bytes in leaves */
    uint32_t least_ptrs;                   /* in a node that is not the root */
};

/* All of it: S1 to S4, L, N, T, the limits, the counters, and the model. */
struct census grove_check(struct grove *grove);

/* For trees whose items are not the grove's own: every leaf is in order, with the shapes of its
 * items (L6), none is empty but a root (S4), and no block is held. The heap holds each block to its
 * checker and to the pointer that leads to it (S1 to S3). */
void grove_check_shapes(struct grove *grove, const struct item_context *context);

/* Does the tree hold exactly what the model says? */
bool grove_matches(struct grove *grove);

/* The block of an address, without asking the source. */
struct block *grove_block(const struct grove *grove, uint64_t bytenr);

struct shot {
    struct block *block;
    uint64_t bytenr, generation;
    const unsigned char *bytes;
};

/* All blocks of the tree and their bytes, to see what changes. Taken just after a commit. */
struct snapshot {
    size_t count;
    struct shot *shots;
    unsigned char *bytes; /* of all of them */
    uint64_t wasted, shadowed;
};

void snapshot_take(struct snapshot *snapshot, struct grove *grove);
void snapshot_free(struct snapshot *snapshot);

struct changes {
    uint64_t untouched, shadowed, freed;
    uint64_t unchanged;    /* shadowed and not made dirty; not one byte of them has changed */
    uint64_t restored;     /* made dirty, and the bytes are the same in the end */
    uint64_t wasted;       /* what the heap counted */
    uint64_t wasted_freed; /* those among them that are freed, or were not in the tree */
};

/* What became of the blocks. No unclaimed one has changed, and the changed ones were made dirty. */
struct changes snapshot_compare(const struct snapshot *snapshot, struct grove *grove);

/* Is this block, by address, as it was: the same bytes at the same address? */
bool snapshot_is_same(const struct snapshot *snapshot, const struct grove *grove, uint64_t bytenr);

void watch_forget(struct watch *watch);
/* Was this block made dirty since then? */
bool watch_dirtied(const struct watch *watch, const struct block *block);

/* --- random steps ------------------------------------------------------------------- */

enum step_kind {
    STEP_INSERT,
    STEP_BATCH,
    STEP_EXTEND,
    STEP_TRUNCATE,
    STEP_CHANGE,
    STEP_DELETE,
    STEP_DELETE_RANGE,
};
enum { STEP_KINDS = 7 };

struct step {
    enum step_kind kind;
    uint32_t count;
    uint32_t last; /* STEP_DELETE_RANGE */
    struct step_item {
        uint32_t number, size, seed;
    } items[STEP_MOST];
};

/* How a random run goes. */
struct season {
    uint64_t steps;
    uint32_t keys;        /* numbers of keys in use */
    uint32_t most;        /* items, before it shrinks again, or begins anew where nothing can */
    uint32_t size;        /* most items are no larger than that */
    uint32_t check_every; /* steps */
    uint32_t commit_one_in;
    bool in_order; /* most insertions are behind the last key */
    bool snapshots;
};

struct season_sums {
    uint64_t steps, refused, restarts, checks;
    uint64_t wasted, wasted_freed, restored; /* with snapshots */
    uint64_t highest;                        /* level */
};

/* What the step must return, and how many items it must put in or take out. */
int step_expect(const struct grove *grove, const struct step *step, uint64_t *done);
/* Does it: what the tree returns. */
int step_do(struct grove *grove, const struct step *step, uint64_t *done);
/* Writes the first `done` items of it, or the first `done` deletions, into the model. */
void step_note(struct grove *grove, const struct step *step, uint64_t done);
/* Changes no byte: a truncation to the same size and its like. */
bool step_is_void(const struct grove *grove, const struct step *step);
struct step step_pick(struct grove *grove, const struct season *season, bool growing);

/* Runs a season in an open grove; every step is checked against the model. */
void grove_live(struct grove *grove, const struct season *season, struct season_sums *sums);

/* Runs a step on copies of the grove, with each of its gets, claims and allocations failing,
 * alone and with all behind it, in each way; then on the grove itself. The number of faults. */
uint64_t grove_fail(struct grove *grove, const struct step *step);

#endif
