/* The items of block groups: those of a new chunk, and the counter `used`.
 *
 * A new chunk is told of in five places, which must agree:
 *
 *   chunk tree    (256 CHUNK_ITEM logical)         where its copies are
 *                 (1 DEV_ITEM 1)                   bytes of the device that chunks take
 *   device tree   (1 DEV_EXTENT physical)          for each copy: which chunk is here
 *   extent tree   (logical BLOCK_GROUP_ITEM length)  used; in tree 11 with block-group-tree
 *   free space    (logical FREE_SPACE_INFO length)   and what of it is free
 *   superblock    sys_chunk_array                  the system chunks; block_groups_add does this
 *
 * The kernel's names: btrfs_create_pending_block_groups, btrfs_chunk_alloc_add_chunk_item,
 * insert_dev_extents, btrfs_write_dirty_block_groups.
 */
#ifndef NEW_GROUP_H
#define NEW_GROUP_H

#include "block_group.h"

/* Writes the items of one new group. 1: there was one; 0: none is left; an error. */
int block_groups_write_new(struct block_groups *groups, struct transaction *transaction);

/* Writes `used` of one group where it has changed. 1, 0, or an error. */
int block_groups_write_used(struct block_groups *groups, struct transaction *transaction);

#endif
