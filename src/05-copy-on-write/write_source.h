/* The block source that keeps what was changed.
 *
 * It holds the blocks of the running transaction in memory, by their addresses, until they are
 * written and the transaction is on the device. All other blocks it reads when they are asked for
 * and frees when they are put, as the source of chapter 02 does, which it reads from.
 *
 * There is no other way to the device for a block: a new address comes by write_source_fresh or
 * write_source_move, and bytes go out by write_source_write.
 */
#ifndef WRITE_SOURCE_H
#define WRITE_SOURCE_H

#include "block_source.h"

struct write_source {
    struct block_source source;
    struct read_source *reads; /* the caller's */
    void *blocks;              /* those of the transaction, a search tree of <search.h> */
    size_t count;              /* of them */
    uint64_t held;             /* blocks that are got and not yet put */
};

void write_source_open(struct write_source *source, struct read_source *reads);

/* Forgets the blocks of the transaction, written or not; none may be held. */
void write_source_close(struct write_source *source);

/* A block of zeros at an address that no block of the transaction has; the caller's until put. */
int write_source_fresh(struct write_source *source, uint64_t bytenr, struct block **block);

/* Gives a block that is not of the transaction a new address and makes it one. ENOMEM: nothing has
 * changed. */
int write_source_move(struct write_source *source, struct block *block, uint64_t bytenr);

/* Forgets a block of the transaction. The caller's hold, which is the only one, ends with it. */
void write_source_forget(struct write_source *source, struct block *block);

/* Calls `visit` for the blocks of the transaction, by ascending address, until it returns other
 * than 0, and returns that. */
int write_source_each(struct write_source *source, int (*visit)(struct block *block, void *context),
                      void *context);

#endif
