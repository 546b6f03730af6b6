/* The map of an image: what lies where on the device. */
#ifndef MAP_H
#define MAP_H

#include "block_group.h"

#include <stdio.h>

enum { MAP_CELLS = 64 };

enum map_kind { MAP_RESERVED, MAP_UNALLOCATED, MAP_STRIPE };

/* A stretch of the device. */
struct map_entry {
    enum map_kind kind;
    uint64_t start, length; /* physical */
    /* Of a stripe: */
    const struct block_group *group;
    unsigned copy; /* from 1 */
    uint64_t blocks, data_extents;
    uint64_t cells[MAP_CELLS]; /* used bytes of each part, the first ones a sector longer */
};

struct map {
    struct map_entry *entries; /* by start; they cover the device */
    size_t count;
};

/* Reads the extent items of all groups. ENOMEM; an error of reading. */
int map_open(struct map *map, struct volume *volume, const struct block_groups *groups);
void map_close(struct map *map);

/* Draws it for Graphviz: a row for each entry, with a bar of what is used. */
void map_draw(const struct map *map, const struct volume *volume, FILE *file);

#endif
