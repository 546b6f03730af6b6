/* The superblock: the one block at a known place, from which all others are found.
 *
 * There are up to three copies, at 64 KiB, 64 MiB and 256 GiB of the device, as far as it reaches.
 * The kernel reads the first alone. Here the first counts too when it is good; when it is not, the
 * good copy with the highest generation takes its place, and a note says so. A copy far out on the
 * device may be left over from an older, larger file system: the fsid tells.
 *
 * What must hold in a superblock (superblock_check reports the number):
 *   U1  the magic is there
 *   U2  the checksum type is known, and the checksum is right
 *   U3  bytenr is the place where the copy lies
 *   U4  sector size and node size are powers of two, leafsize equals nodesize, and
 *       4 KiB <= sector size <= node size <= 64 KiB
 *   U5  the levels of the roots are below 8
 *   U6  the roots' addresses are multiples of the sector size; root and chunk root are not 0
 *   U7  the array of system chunks holds at least one chunk and at most 2048 bytes
 *   U8  the generation is not 0, and no less than the chunk root's
 *   U9  there is at least one device, and dev_item is of this file system
 *   U10 total_bytes is not 0, not less than bytes_used, and no more than the device has
 */
#ifndef SUPERBLOCK_H
#define SUPERBLOCK_H

#include "device.h"
#include "format.h"
#include "notes.h"

/* Where mirror 0, 1 or 2 lies. */
uint64_t superblock_offset(int mirror);

/* U1 to U9 in a superblock that lies at `bytenr`; 0, or EUCLEAN with the rule that is broken. */
int superblock_check(const struct superblock *super, uint64_t bytenr);

/* Reads one mirror and checks it, U10 too. ENOENT where the device ends before it. */
int superblock_read(struct device *device, int mirror, struct superblock *super);

/* Reads the superblock that counts, as told above, and refuses features that are not supported
 * (EOPNOTSUPP, each by name; *super is there all the same). *mirror says which copy it was. */
int superblock_open(struct device *device, struct superblock *super, int *mirror,
                    struct notes *notes);

/* 0, or EOPNOTSUPP that names the first feature that this program cannot read. */
int superblock_supported(const struct superblock *super);

/* The name of bit `bit` of incompat_flags or compat_ro_flags; NULL if it has none. */
const char *incompat_name(unsigned bit);
const char *compat_ro_name(unsigned bit);

/* The fsid that the blocks of this file system bear. */
const uint8_t *superblock_metadata_fsid(const struct superblock *super);

#endif
