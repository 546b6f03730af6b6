/* Transactions: many changes, all of which come to be at once, or none.
 *
 * A block that the newest superblock reaches is never overwritten. A transaction changes a block by
 * making its shadow, a copy at a free address; then the parent must point there, which is a change
 * too, and so on up to the root, whose address stands in the root tree, the root of which stands in
 * the superblock. As long as that is not written the old trees are whole, and nothing on the device
 * leads to the new ones. Writing it is the commit.
 *
 *         superblock, gen 7             superblock, gen 7          superblock, gen 8
 *              |                             |                              |
 *             [A]                           [A]     [A']           [A]     [A']
 *             /  \                          /  \____/  \                   /  \
 *           [B]  [C]                      [B]  [C]    [B']         [B]  [C]    [B']
 *
 *                        a change below B              commit: A and B are free
 *
 * What must hold (W1 and W2 besides, space.h):
 *   W3  a block is changed only if the running transaction made it, and it was not written
 *   W4  what a transaction makes has its generation: that of the superblock, and 1
 *   W5  a block is shadowed once in a transaction: the second claim finds the shadow
 *   W6  after the first failure nothing is written any more
 *   W7  the superblock is written when all blocks are safe on the device, and the mirrors when it
 *       is itself
 *
 * The kernel's names: btrfs_start_transaction, btrfs_cow_block, btrfs_force_cow_block,
 * should_cow_block, btrfs_alloc_tree_block, btrfs_free_tree_block, btrfs_commit_transaction,
 * commit_cowonly_roots, btrfs_abort_transaction.
 */
#ifndef TRANSACTION_H
#define TRANSACTION_H

#include "growth.h"
#include "push.h"
#include "space.h"
#include "volume.h"
#include "write_source.h"

struct transaction_counters {
    uint64_t shadowed;  /* blocks; each is an address allocated and one given up */
    uint64_t allocated; /* new blocks */
    uint64_t freed;     /* blocks given up for good */
    uint64_t rounds;    /* of settling, the last and idle one too */
    uint64_t written;   /* blocks; with DUP each is two writes */
};

/* A tree that the transaction changes, or may change. */
struct transaction_tree {
    struct tree tree; /* must be first: the owner gets a struct tree */
    struct transaction_tree *next;
    uint64_t bytes_used;    /* by its blocks */
    uint64_t last_snapshot; /* blocks up to this generation may be in other trees (chapter 06) */
    struct {
        uint64_t bytenr, bytes_used;
        uint8_t level;
    } item; /* what the root item says */
};

struct transaction {
    struct volume *volume; /* the state that is on the device */
    struct space *space;
    struct superblock super; /* as it will be written */
    uint64_t generation;
    struct write_source source;
    struct block_owner owner;
    struct push_policy policy;
    struct growth growth;
    struct transaction_tree *trees; /* the last one opened first */
    int error;                      /* of the first failure, which ends it; 0: none */
    struct transaction_counters counters;
};

/* Begins a transaction on a volume that may be written (volume_writable), or on a blank one. */
void transaction_begin(struct transaction *transaction, struct volume *volume, struct space *space);

/* The tree with this id, to be looked at and changed; it belongs to the transaction. ENOENT. */
int transaction_tree(struct transaction *transaction, uint64_t id, struct tree **tree);

/* A new, empty tree, with its root item: a copy of `item` but for what tells of the root block.
 * NULL: the root tree, which must be the first, or the chunk tree; the superblock names these.
 * EEXIST: nothing has changed; another error ends the transaction. */
int transaction_new_tree(struct transaction *transaction, uint64_t id, const struct root_item *item,
                         struct tree **tree);

/* Settles, writes, and ends the transaction: the volume is then in the new state. On failure the
 * transaction is ended too, and the image is in the old state; or, when only mirrors could not be
 * written, in the new one. */
int transaction_commit(struct transaction *transaction);

/* Ends the transaction as if it had never been. */
void transaction_abort(struct transaction *transaction);

/* Whether the running transaction made the block, and may change it (W3). */
bool transaction_owns(const struct transaction *transaction, const struct block *block);

/* For functions that cannot return an error: records the failure, which every later claim and the
 * commit will return. Returns `result`. */
int transaction_fail(struct transaction *transaction, int result);

/* Settles: the steps of commit before the first write. For tests and the laboratory. */
int transaction_settle(struct transaction *transaction);

#endif
