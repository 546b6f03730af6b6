/* Block groups: what of the address space is used, what is free, what is pinned.
 *
 * There is one for each chunk. Its item says how many bytes of it are used; what exactly is free is
 * read when the first allocation asks for it, from the free-space tree, or from the gaps between
 * the extents where an image has none. From then on it is kept in memory.
 *
 *     device   0      1 MiB                                          64 MiB
 *              |      |  stripes of chunks        | free |  ...      |mirror|
 *
 *     group    |####....##|pinned|.....|######..............|
 *               used: extents have items   . free: may be given out
 *
 * What must hold (W1 and W2 besides):
 *   G1  a chunk is one block group and a stripe for each copy, and stripes do not overlap
 *   G2  `used` is the sum of the extents that have items in the group
 *   G3  what is given out is in one group of the right type, wholly free, not pinned
 *
 * What changes here changes in memory; new_group.h writes into the trees what is new.
 *
 * The kernel's names: btrfs_read_block_groups, find_free_extent, btrfs_chunk_alloc,
 * find_free_dev_extent, exclude_super_stripes, btrfs_finish_extent_commit.
 */
#ifndef BLOCK_GROUP_H
#define BLOCK_GROUP_H

#include "free_space_tree.h"
#include "range_set.h"
#include "transaction.h"

struct block_group {
    uint64_t start, length, flags; /* as its chunk says: BLOCK_GROUP_... */
    uint64_t used;
    uint64_t written_used;   /* as its item says in the running transaction */
    uint64_t committed_used; /* and on the device */
    bool is_new;             /* neither the chunk nor the group have items yet */
    bool is_loaded;          /* `free` is known */
    struct range_set free;
    struct range_set pinned; /* freed by the running transaction */
};

struct block_groups {
    struct volume *volume;
    struct block_group **groups; /* by start */
    size_t count, capacity;
    struct range_set device_free; /* physical: no chunk is there */
    uint64_t profiles[3];         /* of new chunks: 0 or BLOCK_GROUP_DUP; by enum group_type */
    bool is_mixed;                /* data and metadata share groups */
    uint64_t grow_to;             /* the image may become so long; 0: it stays as long as it is */
    uint64_t bytes_used;          /* by all extents that have items */
    uint64_t first_new;           /* groups from this address on are of the running transaction */
    uint64_t device_bytes;        /* before it */
    uint64_t groups_loaded;
};

enum group_type { GROUP_DATA, GROUP_SYSTEM, GROUP_METADATA };

/* Reads the block group of each chunk of the volume. On failure nothing is open. */
int block_groups_open(struct block_groups *groups, struct volume *volume);
void block_groups_close(struct block_groups *groups);

/* Gives out `length` bytes, aligned to `align`, of the first free range of a group of this type
 * that has them; makes a chunk where no group has. ENOSPC; an error of reading. */
int block_groups_alloc(struct block_groups *groups, struct transaction *transaction,
                       enum group_type type, uint64_t length, uint64_t align, uint64_t *bytenr);

/* What was given out comes back, and was never used: it is free at once. */
int block_groups_return(struct block_groups *groups, uint64_t bytenr, uint64_t length);

/* An extent has got its item, or has lost it. What has lost it is pinned. EUCLEAN where it is in no
 * group, or more would be used than there is. */
int block_groups_use(struct block_groups *groups, uint64_t bytenr, uint64_t length);
int block_groups_release(struct block_groups *groups, uint64_t bytenr, uint64_t length);

/* The transaction is on the device: what was pinned is free. */
void block_groups_commit(struct block_groups *groups);

/* It never will be: takes its chunks out of the map of the volume, and closes. */
void block_groups_roll_back(struct block_groups *groups);

/* The group that holds an address; NULL. */
struct block_group *block_groups_find(const struct block_groups *groups, uint64_t bytenr);

/* Makes a chunk for this type, in memory: of `length` bytes, 0 for what suits the size of the
 * image, or less where that is all there is. ENOSPC where the device has no room left, and nothing
 * has changed; after another error the transaction must not be committed. */
int block_groups_add(struct block_groups *groups, struct transaction *transaction,
                     enum group_type type, uint64_t length);

/* The range of a group, as its free space is told of. */
struct free_space_group block_groups_range(const struct block_groups *groups,
                                           const struct block_group *group);

/* Where free space is told of, and block groups are, by the features of the image. */
bool has_free_space_tree(const struct superblock *super);
uint64_t block_group_tree_id(const struct superblock *super);

/* Bytes that may still be given out to this type without a new chunk, and with new ones. */
uint64_t block_groups_free(const struct block_groups *groups, enum group_type type);
uint64_t block_groups_unallocated(const struct block_groups *groups, enum group_type type);

#endif
