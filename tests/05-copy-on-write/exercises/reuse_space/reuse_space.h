/* A space that uses addresses again.
 *
 * As bump_space it lives in one chunk and writes nothing down; but what a transaction gives up is
 * given out again as soon as W1 allows it. Between two transactions each address of the chunk is
 * either in `free` or of a block that the superblock reaches.
 */
#ifndef REUSE_SPACE_H
#define REUSE_SPACE_H

#include "bump_space.h"
#include "range_set.h"

struct reuse_space {
    struct space space; /* must be first */
    uint32_t node_size;
    struct range_set free;
    struct range_set taken;  /* given out to the running transaction, and still its own */
    struct range_set pinned; /* given up by it, and reached by the newest superblock */
};

/* Goes on from where a bump_space stands that made the image. 0, or ENOMEM. */
int reuse_space_open(struct reuse_space *reuse, const struct bump_space *bump);
void reuse_space_close(struct reuse_space *reuse);

#endif
