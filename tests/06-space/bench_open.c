/* What must be read to open an image and to commit one change, by the number of its block groups?
 *
 * Data groups of 1 GiB, each full: 128 extents of 8 MiB. The chunk tree is read to open the image;
 * the item of each group is looked up at the first allocation; of free space only that of the
 * groups is read in which something is allocated. Without a tree of their own their items lie
 * among those of the extents, and finding each is a search; in tree 11 they lie side by side, and
 * a few leaves are read. */
#include "bench_image.h"

enum { NODE_SIZE = 16384, EXTENT = 8 << 20, ITEMS = 1000, GIB = 1 << 30 };

/* --- a device in memory of any length ----------------------------------------------- */

/* Pieces of 1 MiB, there when something but zeros was written. */
enum { PIECE_BITS = 20, PIECE = 1 << PIECE_BITS };

struct sparse {
    struct device device;
    uint64_t size;
    unsigned char **pieces;
};

static unsigned char *piece_of(struct sparse *sparse, uint64_t offset, size_t *length)
{
    size_t left = PIECE - (size_t)(offset & (PIECE - 1));
    *length = *length < left ? *length : left;
    return sparse->pieces[offset >> PIECE_BITS];
}

static int sparse_read(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    struct sparse *sparse = (struct sparse *)device;
    int result = device_check_range(sparse->size, offset, length, "read");
    for (size_t step; result == 0 && length > 0; length -= step, offset += step) {
        step = length;
        const unsigned char *piece = piece_of(sparse, offset, &step);
        if (piece)
            memcpy(buffer, piece + (offset & (PIECE - 1)), step);
        else
            memset(buffer, 0, step);
        buffer = (unsigned char *)buffer + step;
    }
    return result;
}

static int sparse_write(struct device *device, uint64_t offset, const void *buffer, size_t length)
{
    struct sparse *sparse = (struct sparse *)device;
    int result = device_check_range(sparse->size, offset, length, "write");
    for (size_t step; result == 0 && length > 0; length -= step, offset += step) {
        step = length;
        unsigned char *piece = piece_of(sparse, offset, &step);
        if (!piece)
            piece = sparse->pieces[offset >> PIECE_BITS] = calloc(1, PIECE);
        if (!piece)
            return fail(ENOMEM, "out of memory");
        memcpy(piece + (offset & (PIECE - 1)), buffer, step);
        buffer = (const unsigned char *)buffer + step;
    }
    return result;
}

static int sparse_flush(struct device *device)
{
    (void)device;
    return 0;
}

static int sparse_size(struct device *device, uint64_t *size)
{
    *size = ((struct sparse *)device)->size;
    return 0;
}

static int sparse_resize(struct device *device, uint64_t size)
{
    (void)device;
    return fail(ENOSPC, "the device cannot have %" PRIu64 " bytes", size);
}

static void sparse_close(struct device *device)
{
    struct sparse *sparse = (struct sparse *)device;
    for (uint64_t i = 0; i <= sparse->size >> PIECE_BITS; i++)
        free(sparse->pieces[i]);
    free(sparse->pieces);
    free(sparse);
}

static struct device *sparse_open(uint64_t size)
{
    struct sparse *sparse = calloc(1, sizeof *sparse);
    if (sparse)
        sparse->pieces = calloc((size >> PIECE_BITS) + 1, sizeof *sparse->pieces);
    if (!sparse || !sparse->pieces)
        must(fail(ENOMEM, "out of memory"));
    sparse->size = size;
    sparse->device = (struct device){sparse_read, sparse_write,  sparse_flush,
                                     sparse_size, sparse_resize, sparse_close};
    return &sparse->device;
}

/* --- an image ----------------------------------------------------------------------- */

/* Data groups in addition to those there are, all of them full. */
static void add_groups(struct bench_image *image, unsigned groups)
{
    struct extent_allocator *allocator = &image->allocator;
    struct transaction transaction;
    uint64_t bytenr, got, number = 0;
    bench_begin(image, &transaction);
    must(extent_allocator_load(allocator));
    for (unsigned i = 0; i < groups; i++)
        must(block_groups_add(&allocator->groups, &transaction, GROUP_DATA, GIB));
    while (block_groups_free(&allocator->groups, GROUP_DATA) >= EXTENT) {
        must(data_alloc(allocator, EXTENT, &bytenr, &got));
        must(data_add_ref(allocator, bytenr, got, FS_TREE_OBJECTID, 257, number++ * EXTENT, true));
    }
    must(transaction_commit(&transaction));
}

static void make(struct bench_image *image, unsigned groups, bool has_group_tree)
{
    struct mkfs_options options = {
        .blank = {.fsid = "bench", .node_size = NODE_SIZE, .sector_size = 4096},
        .block_group_tree = has_group_tree,
    };
    memset(image, 0, sizeof *image);
    options.blank.total_bytes = ((uint64_t)groups + 8) * GIB;
    image->device = (struct bench_device){
        .device = {bench_read, bench_write, bench_flush, bench_size, bench_resize, NULL},
        .under = sparse_open(options.blank.total_bytes),
    };
    must(mkfs(&options, &image->device.device, &image->volume, &image->allocator, &image->notes));
    bench_fill(image, ITEMS, 1);
    add_groups(image, groups - 1); /* mkfs made one */
}

/* --- what is read ------------------------------------------------------------------- */

static void commit_one(struct bench_image *image, uint64_t number)
{
    struct transaction transaction;
    bench_begin(image, &transaction);
    bench_change(bench_files(&transaction), number);
    must(transaction_commit(&transaction));
}

static void print_row(unsigned groups, bool has_group_tree)
{
    static struct bench_image image;
    make(&image, groups, has_group_tree);
    extent_allocator_close(&image.allocator);
    volume_close(&image.volume);

    const struct bench_counters *counters = &image.device.counters;
    uint64_t reads = counters->reads;
    must(volume_open(&image.volume, &image.device.device, &image.notes));
    extent_allocator_open(&image.allocator, &image.volume);
    uint64_t blocks = image.volume.source.blocks_read;
    printf("%s,%u,%" PRIu64 ",%" PRIu64, has_group_tree ? "tree 11" : "extent tree", groups, blocks,
           counters->reads - reads);
    for (unsigned i = 0; i < 2; i++) {
        reads = counters->reads;
        blocks = image.volume.source.blocks_read;
        commit_one(&image, i);
        printf(",%" PRIu64 ",%" PRIu64, image.volume.source.blocks_read - blocks,
               counters->reads - reads);
    }
    struct tree extents;
    must(volume_tree(&image.volume, EXTENT_TREE_OBJECTID, &extents));
    printf(",%zu,%" PRIu64 ",%u\n", image.allocator.groups.count,
           image.allocator.groups.groups_loaded, extents.level + 1U);
    bench_image_close(&image);
}

static int counts(void)
{
    static const unsigned groups[] = {1, 3, 10, 30, 100, 300, 1000};
    printf("# data groups of 1 GiB, each of 128 extents of 8 MiB; nodes of 16 KiB; the image is "
           "opened anew\n"
           "# blocks: tree blocks read; reads: reads of the device, superblocks too\n"
           "# open: volume_open; first, second: a commit of one changed item each\n"
           "# groups: with those of the trees; loaded: groups of which free space was read\n"
           "group_items,data_groups,open_blocks,open_reads,first_blocks,first_reads,second_blocks,"
           "second_reads,groups,loaded,extent_height\n");
    for (size_t i = 0; i < LENGTH_OF(groups); i++) {
        print_row(groups[i], false);
        print_row(groups[i], true);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
