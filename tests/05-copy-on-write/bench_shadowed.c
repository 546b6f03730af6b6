/* How many blocks does a change shadow, by the number of changes in a transaction?
 *
 * Trees of one to four levels. One change shadows the way from the root to its leaf, and that in
 * the root tree. Of many changes each shadows what no other has: the upper levels are paid for
 * once, so it nears one leaf a change; and when all leaves are shadowed it falls as one over the
 * number of changes. Insertions and deletions take turns, both at random places. */
#include "bench.h"
#include "bump_space.h"
#include "delete.h"
#include "fail.h"
#include "insert.h"

enum { NODE_SIZE = 4096, ITEM_SIZE = 100, IMAGE_MIB = 512, TREE = 256, ITEM_TYPE = 2 };

static void must(int result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "%s\n", fail_message());
    exit(1);
}

static struct key key_of(uint64_t *state)
{
    return (struct key){FIRST_FREE_OBJECTID + bench_below(state, 1 << 20), ITEM_TYPE,
                        bench_below(state, 1 << 20)};
}

/* Deletes the first item at or behind a random place; behind the last one comes the first. */
static void delete_one(struct tree *tree, uint64_t *state)
{
    struct path path = {0};
    struct key key = key_of(state);
    int result = tree_seek(tree, &key, &path);
    if (result > 0)
        result = tree_seek(tree, &(struct key){0}, &path);
    must(result);
    key = path_key(&path);
    path_release(tree, &path);
    must(tree_delete(tree, &key));
}

static void insert_one(struct tree *tree, uint64_t *state)
{
    struct key key = key_of(state);
    int result = tree_insert(tree, &key, NULL, ITEM_SIZE);
    if (result != -EEXIST)
        must(result);
}

/* --- transactions ------------------------------------------------------------------- */

struct image {
    struct device *device;
    struct volume volume;
    struct notes notes;
    struct bump_space bump;
    uint32_t max_ptrs;
    uint64_t state, changes; /* of the random numbers; so far */
};

static void begin(struct image *image, struct transaction *transaction)
{
    transaction_begin(transaction, &image->volume, &image->bump.space);
    transaction->growth.max_ptrs = image->max_ptrs;
}

static void fill(struct image *image, uint32_t items)
{
    struct root_item item = {.refs = to_le32(1), .root_dirid = to_le64(FIRST_FREE_OBJECTID)};
    struct transaction transaction;
    struct tree *tree;
    begin(image, &transaction);
    must(transaction_new_tree(&transaction, TREE, &item, &tree));
    for (uint32_t i = 0; i < items; i++)
        insert_one(tree, &image->state);
    must(transaction_commit(&transaction));
}

struct sums {
    uint64_t commits, shadowed, written, most;
};

static void run(struct image *image, uint32_t changes, struct sums *sums)
{
    struct transaction transaction;
    struct tree *tree;
    begin(image, &transaction);
    must(transaction_tree(&transaction, TREE, &tree));
    for (uint32_t i = 0; i < changes; i++)
        if (image->changes++ % 2 == 0)
            insert_one(tree, &image->state);
        else
            delete_one(tree, &image->state);
    must(transaction_commit(&transaction));
    sums->commits++;
    sums->shadowed += transaction.counters.shadowed;
    sums->written += transaction.counters.written;
    if (transaction.counters.shadowed > sums->most)
        sums->most = transaction.counters.shadowed;
}

static int count_leaf(const struct block *block, void *context)
{
    *(uint64_t *)context += block_level(block) == 0;
    return 0;
}

static void measure(struct image *image, unsigned *height, uint64_t *leaves)
{
    struct tree tree;
    must(volume_tree(&image->volume, TREE, &tree));
    *leaves = 0;
    must(tree_walk(&tree, count_leaf, leaves));
    *height = tree.level + 1U;
}

static void print_rows(uint32_t items, uint32_t max_ptrs)
{
    static const uint32_t batches[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000};
    static struct image image;
    image = (struct image){.max_ptrs = max_ptrs, .state = 1};
    must(memory_device_open((uint64_t)IMAGE_MIB << 20, &image.device));
    must(bump_format(&image.bump, &image.volume, image.device, NODE_SIZE, &image.notes));
    fill(&image, items);
    for (size_t i = 0; i < LENGTH_OF(batches); i++) {
        struct sums sums = {0};
        unsigned height;
        uint64_t leaves;
        uint32_t commits = batches[i] < 50 ? 50 : batches[i] < 500 ? 5 : 1;
        measure(&image, &height, &leaves);
        for (uint32_t j = 0; j < commits; j++)
            run(&image, batches[i], &sums);
        double changes = (double)(sums.commits * batches[i]);
        printf("%u,%u,%" PRIu64 ",%u,%" PRIu64 ",%.3f,%" PRIu64 ",%.4f,%.4f\n", height, items,
               leaves, batches[i], sums.commits, (double)sums.shadowed / (double)sums.commits,
               sums.most, (double)sums.shadowed / changes, (double)sums.written / changes);
    }
    volume_close(&image.volume);
    device_close(image.device);
}

static int counts(void)
{
    printf("# insertions and deletions in turn, at random places, in trees of items of 100 bytes; "
           "nodes of "
           "4 KiB; space bump\n"
           "# height 4: with at most 24 pointers in a node\n"
           "# shadowed: blocks, of the tree and the root tree, mean of the commits; most: in one\n"
           "# written_per_change: new blocks too\n"
           "height,items,leaves,changes,commits,shadowed,most,per_change,written_per_change\n");
    print_rows(12, 0);
    print_rows(1500, 0);
    print_rows(20000, 0);
    print_rows(20000, 24);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
