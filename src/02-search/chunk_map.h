/* The chunk map: from logical to physical addresses.
 *
 * Every address in a tree is logical. The address space is cut into chunks; each chunk is a stretch
 * of logical addresses and the one or two stretches of the device (stripes) that hold it. The map
 * is an array of chunks in the order of their addresses.
 *
 * The chunks themselves are items of the chunk tree, whose blocks have logical addresses too. So
 * the superblock carries the chunks of type SYSTEM, in which the chunk tree lies: from those the
 * tree can be read, and from the tree all others.
 *
 * What must hold for a chunk (chunk_map_add reports the number):
 *   C1  address and length are multiples of the sector size, the length is not 0, the end does not
 *       pass 2^64
 *   C2  the stripe length is 64 KiB
 *   C3  the type is DATA, SYSTEM, METADATA, or DATA|METADATA
 *   C4  the profile is single or RAID0 with one stripe, or DUP with two; other profiles need
 *       several devices and are not supported
 *   C5  each stripe is on this device, and ends before the device does
 *   C6  no two chunks overlap
 */
#ifndef CHUNK_MAP_H
#define CHUNK_MAP_H

#include "key.h"
#include "superblock.h"

enum { COPIES_MAX = 2 };

struct chunk {
    uint64_t logical;
    uint64_t length;
    uint64_t type;   /* BLOCK_GROUP_... */
    unsigned copies; /* 1, or 2 for DUP */
    uint64_t physical[COPIES_MAX];
};

struct chunk_map {
    struct chunk *chunks; /* by ascending logical address */
    size_t count;
    size_t capacity;
    uint64_t devid;
    uint64_t device_bytes;
    uint32_t sectorsize;
};

/* Makes the map of the system chunks in the superblock. On failure the map is empty. */
int chunk_map_open(struct chunk_map *map, const struct superblock *super, uint64_t device_bytes);
void chunk_map_close(struct chunk_map *map);

/* Adds the chunk that an item of `size` bytes describes. A chunk that is in the map already must be
 * the same. EUCLEAN, EOPNOTSUPP, ENOMEM. */
int chunk_map_add(struct chunk_map *map, uint64_t logical, const struct chunk_item *item,
                  size_t size);

/* Where the copies of the bytes [logical, logical + length) lie. 0 and *chunk, or EUCLEAN: in no
 * chunk, or not wholly in one. */
int chunk_map_find(const struct chunk_map *map, uint64_t logical, uint64_t length,
                   const struct chunk **chunk);

#endif
