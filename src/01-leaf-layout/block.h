/* A tree block in memory: a leaf or a node. What its bytes are is told by format.h; who owns the
 * memory, by the one who made the block.
 *
 * What must hold in every tree block (block_check reports the number):
 *   B1  the checksum is right
 *   B2  bytenr is the address where the block was looked for
 *   B3  the fsid is the file system's
 *   B4  the level is below 8
 *   B5  the flag WRITTEN is set, as in every block that was made to be on a disk
 */
#ifndef BLOCK_H
#define BLOCK_H

#include "format.h"
#include "superblock.h"

#include <stdint.h>

struct block {
    unsigned char *data;  /* `size` bytes, as they are on disk */
    uint32_t size;        /* the node size */
    uint64_t bytenr;      /* logical address */
    uint64_t bytes_moved; /* by insertions and removals in this block since it came to memory */
};

static inline struct block_header *block_header(const struct block *block)
{
    return (struct block_header *)block->data;
}

static inline uint32_t block_nritems(const struct block *block)
{
    return from_le32(block_header(block)->nritems);
}

static inline uint8_t block_level(const struct block *block)
{
    return block_header(block)->level;
}

static inline uint64_t block_generation(const struct block *block)
{
    return from_le64(block_header(block)->generation);
}

static inline uint64_t block_owner_id(const struct block *block)
{
    return from_le64(block_header(block)->owner);
}

/* B1 to B5 in a block that was just read; 0, or EUCLEAN. */
int block_check(const struct block *block, const struct superblock *super);

/* The checksum that belongs to the block as it is now. */
void block_csum(const struct block *block, uint16_t csum_type, uint8_t csum[CSUM_SIZE]);

#endif
