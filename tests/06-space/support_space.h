/* Estates: a whole file system in memory, changed in transactions, beside a model of its files.
 *
 * What is changed are trees of files: tree 5, and subvolumes and snapshots that are made here, for
 * there is no kernel to make them. Each holds 128 inodes, and each of these up to eight items, by
 * number:
 *
 *     number     8n           8n + 1 .. 8n + 3      8n + 4 .. 8n + 7
 *     inode n    INODE_ITEM   items of any bytes    extents at 0, 1, 2 and 3 MiB of the file
 *
 * The extents are real ones, with data and checksums; an extent may be in many files and trees.
 */
#ifndef SUPPORT_SPACE_H
#define SUPPORT_SPACE_H

#include "mkfs.h"
#include "support.h"

enum { ESTATE_KEYS = 1024, ESTATE_TREES = 6, ESTATE_INODE = 300 };

struct estate_item {
    enum { ITEM_NONE, ITEM_INODE, ITEM_PLAIN, ITEM_EXTENT } kind;
    uint32_t size, seed;        /* ITEM_PLAIN: grove_data(seed) */
    uint64_t bytenr, num_bytes; /* ITEM_EXTENT */
    uint64_t offset, length;    /* of it, what the file shows */
};

struct estate_model {
    struct estate_tree {
        uint64_t id; /* 0: not there */
        struct estate_item items[ESTATE_KEYS];
    } trees[ESTATE_TREES];
};

struct estate {
    struct device *device; /* the caller's */
    struct notes notes;
    struct volume volume;
    struct extent_allocator allocator;
    struct transaction transaction;
    uint32_t max_items, max_ptrs; /* of the trees of files; 0: as many as fit */
    uint32_t most;                /* bytes in an item */
    uint32_t longest;             /* sectors in an extent; 0: none are made */
    struct dice dice;
    struct estate_model now, committed;
};

/* Options for the smallest image with such nodes. */
struct mkfs_options estate_options(uint32_t node_size);

/* mkfs on the device; or, with options NULL, on what is there. Both must succeed. */
void estate_open(struct estate *estate, struct device *device, const struct mkfs_options *options,
                 uint64_t seed);
void estate_close(struct estate *estate);

/* The volume and the allocator anew, from the device. */
void estate_reopen(struct estate *estate);

/* An image of tests/images in memory. */
struct device *load_image(const char *name);

/* The same bytes in memory. */
struct device *copy_device(struct device *device);

void estate_begin(struct estate *estate);
int estate_commit(struct estate *estate); /* as transaction_commit; the model follows */
void estate_abort(struct estate *estate);

/* Changes; they belong to the running transaction and return its first error. */
int estate_new_tree(struct estate *estate, unsigned tree, uint64_t id);
int estate_insert(struct estate *estate, unsigned tree, uint32_t number, uint32_t size);
int estate_write(struct estate *estate, unsigned tree, uint32_t number, uint64_t sectors);
int estate_clone(struct estate *estate, unsigned tree, uint32_t number,
                 const struct estate_item *extent);
/* All that is there of these numbers; with an inode its other items. */
int estate_delete(struct estate *estate, unsigned tree, uint32_t first, uint32_t last);

/* A snapshot, as btrfs_copy_root and create_pending_snapshot make one. Neither the source nor
 * the snapshot may be changed any more in this transaction. */
int estate_snapshot(struct estate *estate, unsigned source, unsigned tree, uint64_t id);

/* One change at random, or so many; the first error. */
int estate_step(struct estate *estate);
int estate_steps(struct estate *estate, unsigned steps);

/* Writes bytes into an item, or into its key, as it lies on the device, in all copies; nobody
 * else notices. */
void estate_patch(struct estate *estate, uint64_t tree, const struct key *key, size_t offset,
                  const void *bytes, size_t length);
void estate_patch_key(struct estate *estate, uint64_t tree, const struct key *key,
                      const struct key *new_key);

/* The image is sound, and the trees hold what was committed. */
#define expect_estate(estate) check_estate(AT, estate)
void check_estate(const char *at, struct estate *estate);

/* The image is sound; on failure the words tell where. */
#define expect_sound(device) check_sound(AT, device)
void check_sound(const char *at, struct device *device);

#endif
