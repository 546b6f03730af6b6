/* What the benchmarks of this chapter share: images made by mkfs, on a device that counts. */
#ifndef BENCH_IMAGE_H
#define BENCH_IMAGE_H

#include "bench.h"
#include "change.h"
#include "fail.h"
#include "insert.h"
#include "mkfs.h"

/* The data of an item: a file extent has as much. An unknown type: it may be anything. */
enum { BENCH_DATA = 53, BENCH_TYPE = 2 };

/* A failure is a fault of ours and ends the program. */
static inline int must(int result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s\n", fail_message());
    exit(1);
}

/* --- a device that counts ----------------------------------------------------------- */

enum { BENCH_TREES = 12 }; /* ids of trees up to 11; all others count as 0 */

struct bench_counters {
    uint64_t reads, flushes, writes, bytes; /* bytes written */
    uint64_t superblocks;
    uint64_t blocks, by_tree[BENCH_TREES]; /* tree blocks written, each copy */
};

struct bench_device {
    struct device device;
    struct device *under;
    struct bench_counters counters;
};

static inline int bench_read(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    struct bench_device *bench = (struct bench_device *)device;
    bench->counters.reads++;
    return device_read(bench->under, offset, buffer, length);
}

static inline int bench_write(struct device *device, uint64_t offset, const void *buffer,
                              size_t length)
{
    struct bench_device *bench = (struct bench_device *)device;
    const struct block_header *header = buffer;
    bench->counters.writes++;
    bench->counters.bytes += length;
    bool is_super = false;
    for (int mirror = 0; mirror < SUPERBLOCK_MIRRORS; mirror++)
        is_super |= offset == superblock_offset(mirror);
    if (is_super) {
        bench->counters.superblocks++;
    } else {
        uint64_t owner = from_le64(header->owner);
        bench->counters.blocks++;
        bench->counters.by_tree[owner < BENCH_TREES ? owner : 0]++;
    }
    return device_write(bench->under, offset, buffer, length);
}

static inline int bench_flush(struct device *device)
{
    struct bench_device *bench = (struct bench_device *)device;
    bench->counters.flushes++;
    return device_flush(bench->under);
}

static inline int bench_size(struct device *device, uint64_t *size)
{
    return device_size(((struct bench_device *)device)->under, size);
}

static inline int bench_resize(struct device *device, uint64_t size)
{
    return device_resize(((struct bench_device *)device)->under, size);
}

/* --- an image ----------------------------------------------------------------------- */

struct bench_image {
    struct bench_device device;
    struct volume volume;
    struct extent_allocator allocator;
    struct notes notes;
};

/* Makes an image of one copy of everything on the device, which is closed with the image. */
static inline void bench_image_make(struct bench_image *image, struct device *device,
                                    uint64_t bytes, uint32_t node_size)
{
    struct mkfs_options options = {
        .blank = {.fsid = "bench", .node_size = node_size, .sector_size = 4096},
    };
    options.blank.total_bytes = bytes;
    memset(image, 0, sizeof *image);
    image->device = (struct bench_device){
        .device = {bench_read, bench_write, bench_flush, bench_size, bench_resize, NULL},
        .under = device,
    };
    must(mkfs(&options, &image->device.device, &image->volume, &image->allocator, &image->notes));
}

/* The same in memory. Pages that are not touched cost nothing. */
static inline void bench_image_open(struct bench_image *image, uint64_t bytes, uint32_t node_size)
{
    struct device *memory;
    must(memory_device_open(bytes, &memory));
    bench_image_make(image, memory, bytes, node_size);
}

static inline void bench_image_close(struct bench_image *image)
{
    extent_allocator_close(&image->allocator);
    volume_close(&image->volume);
    device_close(image->device.under);
}

static inline void bench_begin(struct bench_image *image, struct transaction *transaction)
{
    transaction_begin(transaction, &image->volume, &image->allocator.space);
}

static inline struct tree *bench_files(struct transaction *transaction)
{
    struct tree *tree;
    must(transaction_tree(transaction, FS_TREE_OBJECTID, &tree));
    return tree;
}

/* --- items -------------------------------------------------------------------------- */

static inline struct key bench_key(uint64_t number)
{
    return (struct key){FIRST_FREE_OBJECTID + 1, BENCH_TYPE, number};
}

/* Items 0, step, ... of the fs tree, in one transaction, in order. */
static inline void bench_fill(struct bench_image *image, uint32_t items, uint64_t step)
{
    struct transaction transaction;
    struct path path = {0};
    bench_begin(image, &transaction);
    struct tree *files = bench_files(&transaction);
    for (uint32_t i = 0; i < items; i++) {
        struct key key = bench_key(i * step);
        must(tree_insert_next(files, &path, &key, NULL, BENCH_DATA));
    }
    path_release(files, &path);
    must(transaction_commit(&transaction));
}

/* A byte of one item becomes another. */
static inline void bench_change(struct tree *files, uint64_t number)
{
    struct path path = {0};
    struct key key = bench_key(number);
    if (must(tree_change(files, &key, &path)) > 0)
        must(tree_no_item(files, &key));
    unsigned char *data = item_data(path.nodes[0], path.slots[0]);
    data[0]++;
    tree_dirty(files, path.nodes[0]);
    path_release(files, &path);
}

#endif
