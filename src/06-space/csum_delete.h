/* Taking checksums out of the checksum tree.
 *
 * An item (EXTENT_CSUM_OBJECTID, EXTENT_CSUM, address) is an array: the checksums of the sectors
 * from that address on, one behind the other. Items do not overlap, and their borders have nothing
 * to do with those of extents. So an extent that goes may end in the middle of an item, or begin
 * there, or both:
 *
 *      start                end
 *        [===================)                 what goes
 *   |aaaaaaaa|  |bbbb|  |cccccccc|             items before
 *   |aaa|                   |cccc|             a is cut at its tail, c at its front: its key
 *                                              changes
 *
 * The kernel's name: btrfs_del_csums.
 */
#ifndef CSUM_DELETE_H
#define CSUM_DELETE_H

#include "tree.h"

/* Takes out the checksums of [start, start + length); it is no fault that there are none
 * (nodatasum). EUCLEAN, and nothing has changed, where the range is not of whole sectors, an item
 * it meets is no array of checksums, or items overlap. After another error the tree is sound, but a
 * part of them may be gone, or in two items: the transaction must not be committed. */
int csum_delete(struct tree *tree, uint32_t csum_size, uint32_t sectorsize, uint64_t start,
                uint64_t length);

#endif
