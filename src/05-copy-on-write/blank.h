/* A blank volume: a superblock that names no tree yet. Its first transaction makes them all, so an
 * image is made in the same way as it is changed.
 */
#ifndef BLANK_H
#define BLANK_H

#include "volume.h"

struct blank_options {
    uint8_t fsid[FSID_SIZE]; /* all other uuids are made from it */
    const char *label;       /* NULL: none; cut at 255 bytes */
    uint32_t node_size, sector_size;
    uint16_t csum_type;
    uint64_t total_bytes;
    uint64_t incompat_flags, compat_ro_flags;
};

/* Fills in a volume without chunks and trees on the device. The caller closes it. */
void volume_blank(struct volume *volume, struct device *device, const struct blank_options *options,
                  struct notes *notes);

/* A uuid for what `name` names in the file system: the same for the same fsid (version 5). */
void uuid_derive(const uint8_t fsid[FSID_SIZE], const char *name, uint8_t uuid[UUID_SIZE]);

/* A chunk as the chunk tree and the superblock tell of it. */
struct chunk_bytes {
    struct chunk_item item;
    struct stripe stripes[COPIES_MAX];
    uint32_t size; /* of the two, with as many stripes as there are copies */
};
struct chunk_bytes chunk_describe(const struct volume *volume, const struct chunk *chunk);

/* Adds a chunk to the map and, where its type is SYSTEM, to the array in `super`. EOVERFLOW when
 * that is full; ENOMEM. On failure nothing has changed. */
int volume_add_chunk(struct volume *volume, struct superblock *super, const struct chunk *chunk);

/* Takes the chunk at `logical` out of the map, which must have it. */
void volume_remove_chunk(struct volume *volume, uint64_t logical);

#endif
