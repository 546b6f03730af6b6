/* What does a commit of one changed item write, by the size of the image?
 *
 * The way from the root of the fs tree to the item: its height. And what has to tell of it: the
 * root tree, the extent tree and the free-space tree, which tell of their own blocks too. The
 * extent tree is the part that varies: each block that is shadowed has two extent items, the old
 * one and the new, and a leaf that is shadowed for one of them is such a block itself. */
#include "bench_image.h"

enum { NODE_SIZE = 16384, COMMITS = 200 };

static uint64_t minus(uint64_t after, uint64_t before)
{
    return after - before;
}

struct sums {
    uint64_t fs, root, extent, free_space, other, total, rounds;
    uint64_t least, most; /* of a commit's total */
};

static void add_commit(struct sums *sums, const struct bench_counters *before,
                       const struct bench_counters *after)
{
    const uint64_t *old = before->by_tree, *now = after->by_tree;
    uint64_t fs = minus(now[FS_TREE_OBJECTID], old[FS_TREE_OBJECTID]);
    uint64_t root = minus(now[ROOT_TREE_OBJECTID], old[ROOT_TREE_OBJECTID]);
    uint64_t extent = minus(now[EXTENT_TREE_OBJECTID], old[EXTENT_TREE_OBJECTID]);
    uint64_t space = minus(now[FREE_SPACE_TREE_OBJECTID], old[FREE_SPACE_TREE_OBJECTID]);
    uint64_t total = after->blocks - before->blocks;
    sums->fs += fs;
    sums->root += root;
    sums->extent += extent;
    sums->free_space += space;
    sums->other += total - fs - root - extent - space;
    sums->total += total;
    if (sums->least == 0 || total < sums->least)
        sums->least = total;
    if (total > sums->most)
        sums->most = total;
}

static void commit_one(struct bench_image *image, uint64_t number, struct sums *sums)
{
    struct transaction transaction;
    struct bench_counters before = image->device.counters;
    bench_begin(image, &transaction);
    bench_change(bench_files(&transaction), number);
    must(transaction_commit(&transaction));
    sums->rounds += transaction.counters.rounds;
    add_commit(sums, &before, &image->device.counters);
}

static double mean(uint64_t sum)
{
    return (double)sum / COMMITS;
}

static void print_row(uint32_t items)
{
    static struct bench_image image;
    struct sums sums = {0}, warm = {0};
    uint64_t state = 1;
    bench_image_open(&image, (uint64_t)1 << 30, NODE_SIZE);
    bench_fill(&image, items, 1);
    commit_one(&image, 0, &warm);
    for (unsigned i = 0; i < COMMITS; i++)
        commit_one(&image, bench_below(&state, items), &sums);
    struct tree files, extents;
    must(volume_tree(&image.volume, FS_TREE_OBJECTID, &files));
    must(volume_tree(&image.volume, EXTENT_TREE_OBJECTID, &extents));
    unsigned height = files.level + 1U;
    printf("%u,%u,%u,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f,%" PRIu64 ",%" PRIu64 ",%" PRIu64
           ",%.2f,%" PRIu64 ",%.2f\n",
           items, height, extents.level + 1U, mean(sums.fs), mean(sums.root), mean(sums.extent),
           mean(sums.free_space), mean(sums.other), mean(sums.total), sums.least, sums.most,
           sums.least - height, mean(sums.total) - height, sums.most - height, mean(sums.rounds));
    bench_image_close(&image);
}

static int counts(void)
{
    printf("# 200 commits of one changed item each, at random places; nodes of 16 KiB, items of 53 "
           "bytes, one copy\n"
           "# fs, root, extent, free_space, other: tree blocks written in a commit, means; total, "
           "least, most: of all trees\n"
           "# constant: total - height; the superblock and its mirror are not in it\n"
           "items,height,extent_height,fs,root,extent,free_space,other,total,least,most,"
           "constant_least,constant,constant_most,rounds\n");
    for (uint32_t items = 100; items <= 1000000; items *= 10) {
        print_row(items);
        if (items < 1000000)
            print_row(3 * items);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
