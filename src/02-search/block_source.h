/* The one way to get a block: the block_source.
 *
 * A block is never trusted for lying where it lies. Whoever asks for one says what it must be, as
 * its parent or its root item promises, and gets a block that has passed block_check, the leaf or
 * node checker, and the promise; or an error. What must hold (block_fulfils reports the number):
 *
 *   T1  the level is the promised one. Levels fall by one on each step down, so no path is longer
 *       than eight blocks, and no block can be its own descendant
 *   T2  the generation is the promised one: not an older block that was left behind
 *   T3  the first key is the key of the pointer, and
 *   T4  the last key lies before the key of the next pointer. So each block of a tree is reached by
 *       one pointer only, and a walk ends
 *   T5  the owner fits the tree: blocks of subvolumes may be shared, those of other trees not
 *   T6  only a root may be empty, and not that of a tree that always holds something
 *
 * This is a seam. The stand-in of this chapter reads the block on every get and frees it on put; a
 * cache will take its place.
 */
#ifndef BLOCK_SOURCE_H
#define BLOCK_SOURCE_H

#include "block.h"
#include "chunk_map.h"
#include "key.h"

#include <stdbool.h>

/* The keys lie in the nodes above the block, which are held while it is asked for. */
struct block_promise {
    uint64_t tree; /* the id of the tree in which the block is met */
    uint8_t level;
    uint64_t generation;
    const struct disk_key *first_key; /* NULL: the block is the root */
    const struct disk_key *next_key;  /* the last key lies before it; NULL: none is to the right */
};

struct block_source {
    /* 0 and a block that is the caller's until put; EUCLEAN, EIO, ENOMEM. */
    int (*get)(struct block_source *source, uint64_t bytenr, const struct block_promise *promise,
               struct block **block);
    void (*put)(struct block_source *source, struct block *block);

    /* Bytes of the block have changed. NULL in a source that only reads. */
    void (*dirty)(struct block_source *source, struct block *block);
};

/* A tree of files, of which snapshots can be made: no others share blocks. */
bool is_subvolume(uint64_t tree);

/* T1 to T6; 0 or EUCLEAN. */
int block_fulfils(const struct block *block, const struct block_promise *promise);

/* The source that reads from a device. When a copy of a block is bad and another is good, the good
 * one is taken and a note is made; when none is good, the error names the fault of each. */
struct read_source {
    struct block_source source;
    struct device *device;
    const struct chunk_map *chunks;
    const struct superblock *super;
    struct notes *notes;
    uint64_t blocks_read; /* so far; a second copy counts too */
};

void read_source_open(struct read_source *source, struct device *device,
                      const struct chunk_map *chunks, const struct superblock *super,
                      struct notes *notes);

/* Reads the block at block->bytenr into the memory that the caller has given it. */
int read_source_fill(struct read_source *source, const struct block_promise *promise,
                     struct block *block);

/* Reads a block of which only the address is known: B1 to B5 and the checkers, no promise. */
int read_source_get_any(struct read_source *source, uint64_t bytenr, struct block **block);

#endif
