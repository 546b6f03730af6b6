/* Making a file system: the first transaction of a blank volume.
 *
 * Nothing is written but by the tree, the transaction and the allocator of the chapters before. An
 * empty file system has three chunks (mixed: two) and nine trees, or ten, of a leaf each.
 *
 * The kernel's side: mkfs.btrfs makes the same by a temporary file system that it rebuilds.
 */
#ifndef MKFS_H
#define MKFS_H

#include "blank.h"
#include "extent_allocator.h"

struct mkfs_options {
    struct blank_options blank; /* total_bytes 0: as few as do */
    bool metadata_dup, data_dup;
    bool mixed; /* data and metadata in the same chunks */
    bool block_group_tree;
    struct timespec_item time; /* of birth, and all others */
};

/* How long the smallest image with these options is. */
uint64_t mkfs_least_bytes(const struct mkfs_options *options);

/* EINVAL for options that cannot be together, sizes that are none. */
int mkfs_check(const struct mkfs_options *options);

/* Makes the file system on the device, which is as long as options->blank.total_bytes at least. On
 * success volume and allocator are open, the caller's to close, the allocator first. */
int mkfs(const struct mkfs_options *options, struct device *device, struct volume *volume,
         struct extent_allocator *allocator, struct notes *notes);

#endif
