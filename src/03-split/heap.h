/* Trees on the heap: the stand-in for both block_source and block_owner.
 *
 * Blocks are pieces of memory, and nothing is ever on a disk. But addresses, generations and claims
 * are as they will be: the first claim of a block in a transaction gives it a new address, as the
 * shadow would have that copy on write makes. So trees have the same blocks, and the counters say
 * what copy on write would cost. No address is used twice.
 *
 * A shadow is wasted when the transaction ends and no byte of the block was changed: it would be
 * written for nothing.
 */
#ifndef HEAP_H
#define HEAP_H

#include "growth.h"

struct heap_counters {
    uint64_t allocated;      /* new blocks */
    uint64_t shadowed;       /* each is a block allocated and one freed, too */
    uint64_t wasted;         /* shadows that were not changed in their transaction */
    uint64_t freed;          /* blocks given up */
    uint64_t leaves_dirtied; /* in each operation (heap_operation), the leaves that it changed */
    uint64_t leaves_written; /* in each transaction, the leaves that were made, shadowed, changed */
};

struct heap {
    struct block_source source;
    struct block_owner owner;
    uint32_t node_size;
    uint64_t generation;        /* the running transaction */
    uint64_t operation;         /* the running operation */
    uint64_t held;              /* blocks that are got and not yet put */
    bool is_checking;           /* get holds each block to its checker and its promise */
    struct heap_block **blocks; /* by address: block n * node_size is blocks[n]; [0] is none */
    size_t count, capacity;
    struct heap_counters counters;
};

/* An empty heap for blocks of this size, 4 KiB to 64 KiB, in transaction 1. */
void heap_open(struct heap *heap, uint32_t node_size);

/* Frees all blocks, of all trees. None may be held. */
void heap_close(struct heap *heap);

/* Makes *tree an empty tree with this id on the heap; `growth`, the caller's, gets the heap as its
 * owner. 0 or ENOMEM. */
int heap_tree(struct heap *heap, struct tree *tree, uint64_t id, struct growth *growth);

/* Ends the transaction and begins the next. */
void heap_commit(struct heap *heap);

/* Ends the operation and begins the next; only leaves_dirtied asks for it. */
void heap_operation(struct heap *heap);

#endif
