/* The free-space tree: what of each block group is free, kept exact.
 *
 * It is the complement of the extent tree, and the kernel trusts it: what it says is free is given
 * away without another look. Each block group has one FREE_SPACE_INFO and, behind it, its free
 * space in one of two forms:
 *
 *     block group      |####.....###....##......|          # used, . free
 *
 *     (start 198 length) extent_count 3, flags 0
 *     as extents       (  4 199 5)(12 199 4)(18 199 6)      no data: the key says it all
 *
 *     (start 198 length) extent_count 3, flags FREE_SPACE_USING_BITMAPS
 *     as bitmaps       (0 200 8)        (8 200 8)        (16 200 8)
 *       bit 7 .. 0      1 1 1 1 0 0 0 0  1 1 1 1 0 0 0 1  1 1 1 1 1 1 0 0    1: the sector is free
 *
 * A bitmap of eight sectors is for the drawing; a real one has 2048, in 256 bytes. The first sector
 * is the lowest bit of the first byte.
 *
 * What must hold of each block group:
 *   F1  there is one FREE_SPACE_INFO (start, 198, length); its extent_count is the number of
 *       stretches of free sectors, one that crosses from bitmap to bitmap counted once
 *   F2  extents lie within the group, whole sectors; they neither overlap nor touch
 *   F3  bitmaps begin at the group's start and follow one another without a gap, each of 2048
 *       sectors, but the last one may be shorter
 *   F4  a group has nothing but extents, or nothing but bitmaps, as the flag says
 *
 * A group stays in the form in which it is found. The kernel changes a group's form when its count
 * passes certain thresholds, to save space; but it reads both forms whatever the fragmentation, so
 * there is no need here to follow it.
 *
 * After EUCLEAN nothing has changed. After another error (ENOMEM, ENOSPC, EIO of owner or source)
 * the tree is sound, but a change may be half done; the transaction must not be committed. The
 * owner of the tree's blocks must not call these functions from within: what it allocates for this
 * tree itself is to be noted afterwards.
 *
 * The kernel's names: add_to_free_space_tree, remove_from_free_space_tree, load_free_space_tree,
 * add_block_group_free_space, remove_block_group_free_space.
 */
#ifndef FREE_SPACE_TREE_H
#define FREE_SPACE_TREE_H

#include "tree.h"

/* A block group, in bytes of logical addresses; whole sectors, which end below 2^64. */
struct free_space_group {
    uint64_t start, length;
    uint32_t sectorsize;
};

/* Gives the tree a new group, all of it free, as one extent. EUCLEAN where the tree has an item in
 * its range. */
int free_space_create(struct tree *tree, const struct free_space_group *group);

/* [start, start + length) becomes free. EUCLEAN where any of it is free already, or is not in the
 * group, or where F1 to F4 are seen to be broken. */
int free_space_add(struct tree *tree, const struct free_space_group *group, uint64_t start,
                   uint64_t length);

/* [start, start + length) becomes used. EUCLEAN where not all of it is free, and as above. */
int free_space_remove(struct tree *tree, const struct free_space_group *group, uint64_t start,
                      uint64_t length);

/* Calls `visit` for each stretch of free sectors of the group, in order, each as long as it can be,
 * until it returns other than 0, which is returned then. Else 0, or EUCLEAN where one of F1 to F4
 * does not hold: what was visited before counts for nothing. `visit` must not change the tree. */
int free_space_each(struct tree *tree, const struct free_space_group *group,
                    int (*visit)(uint64_t start, uint64_t length, void *context), void *context);

/* Takes out all items of the group. EUCLEAN where it has no FREE_SPACE_INFO. */
int free_space_delete_group(struct tree *tree, const struct free_space_group *group);

#endif
