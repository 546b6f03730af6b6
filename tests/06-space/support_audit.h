/* The auditor: is a whole image sound, down to the last reference and the last free byte?
 *
 * A small fsck for tests, in this process. It is written from the format and knows nothing of the
 * code that writes: it reads with chapters 00 to 02 alone, works out what every count, reference
 * and list of free space must be, and compares. Nothing is tolerated: what is not exact is a fault.
 *
 *   superblock  all mirrors there and alike; generations, levels; the array of system chunks; dev
 *               item; totals; a backup of the current roots
 *   space       chunks, dev extents, block groups one to one; `used` and bytes_used exact; free
 *               space (extents or bitmaps) the complement of the extents
 *   blocks      every tree walked; all copies alike; flags, chunk tree uuid
 *   references  those that the trees make, and those that the extent tree holds: the same multiset
 *   roots       root items agree with root blocks; bytes_used
 *   checksums   of allocated data only; there where a file needs them; right
 *
 * Not looked at: names, inodes and their counts; quota. Images with a log tree or a relocation tree
 * are refused.
 */
#ifndef SUPPORT_AUDIT_H
#define SUPPORT_AUDIT_H

#include "device.h"

#include <stddef.h>

enum audit_check {
    AUDIT_BACKUP = 1 << 0,     /* a backup slot in the superblock describes the current state */
    AUDIT_ROOT_BYTES = 1 << 1, /* bytes_used of root items */
    AUDIT_NEEDED = 1 << 2,     /* files have the checksums that they need */
    AUDIT_DATA = 1 << 3,       /* checksums are those of the data, in every copy */
    AUDIT_SPACE = 1 << 4,      /* the free-space tree */
    /* The free-space tree has no items apart from all block groups. mkfs.btrfs 6.2 leaves some
     * there with DUP metadata, and the kernel keeps them: "first" has them. */
    AUDIT_STRAY = 1 << 5,
    AUDIT_ALL = (1 << 6) - 1,
};

/* 0 when the image is sound, else -1 and the first fault in words in `why`, which holds `size`
 * bytes. The device is only read. */
int audit_image(struct device *device, char *why, size_t size);

/* The same; of the checks that have a bit only those in `checks`. */
int audit_image_for(struct device *device, unsigned checks, char *why, size_t size);

/* The same for a file, with all checks. */
int audit_file(const char *path, char *why, size_t size);

#endif
