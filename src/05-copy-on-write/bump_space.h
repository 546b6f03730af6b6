/* The stand-in for space: addresses counted up in one chunk.
 *
 * Nothing is written down, and nothing is used again: what a transaction gives up is lost. An image
 * that is kept so holds a superblock, a chunk tree, a root tree and trees of its own, no extent
 * tree: this program reads it, no other does. Crash tests and the laboratory need no more.
 */
#ifndef BUMP_SPACE_H
#define BUMP_SPACE_H

#include "transaction.h"

struct bump_space {
    struct space space;
    uint32_t node_size;
    uint64_t next, end; /* of the chunk */
    uint64_t committed; /* where `next` was then */
};

/* Addresses from `next` to the end of the first chunk of the volume. */
void bump_space_open(struct bump_space *bump, const struct volume *volume, uint64_t next);

/* Makes an image of that kind on the device: one chunk, the chunk tree, the root tree, and a tree 5
 * without items; and opens volume and space on it. The caller closes the volume. */
int bump_format(struct bump_space *bump, struct volume *volume, struct device *device,
                uint32_t node_size, struct notes *notes);

#endif
