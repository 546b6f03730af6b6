/* How does settling end?
 *
 * To write down what was allocated and freed blocks are shadowed, which is to be written down too.
 * Here transaction_settle is done by hand, round by round: what the space writes, then the root
 * items. A block is shadowed once in a transaction, so each round finds fewer that are not ours. */
#include "bench_image.h"
#include "delete.h"

enum { NODE_SIZE = 16384, ITEMS = 100000, STEP = 1000, ROUNDS_MOST = 12 };

/* The space's own loop is taken apart too: each pass over the delayed references counts. */
struct pass {
    uint64_t shadowed, allocated, refs;
};

static struct {
    struct space space; /* must be first */
    struct space *under;
    struct extent_allocator *allocator;
    unsigned count;
    struct pass passes[ROUNDS_MOST]; /* 0: before settling */
} watch;

static struct pass so_far(void)
{
    const struct transaction_counters *counters = &watch.space.transaction->counters;
    return (struct pass){counters->shadowed, counters->allocated,
                         watch.allocator->counters.refs_run};
}

static int watch_alloc(struct space *space, struct tree *tree, uint8_t level, uint64_t *bytenr)
{
    watch.under->transaction = space->transaction;
    return watch.under->alloc(watch.under, tree, level, bytenr);
}

static int watch_free(struct space *space, struct tree *tree, const struct block *block)
{
    watch.under->transaction = space->transaction;
    return watch.under->free(watch.under, tree, block);
}

static int watch_shared(struct space *space, struct tree *tree, const struct block *block)
{
    watch.under->transaction = space->transaction;
    return watch.under->shared(watch.under, tree, block);
}

/* One call is one round of transaction_settle; the first one finds the state before settling. */
static int watch_settle(struct space *space)
{
    watch.under->transaction = space->transaction;
    if (watch.count < ROUNDS_MOST)
        watch.passes[watch.count++] = so_far();
    return watch.under->settle(watch.under);
}

static void watch_committed(struct space *space, bool is_on_device)
{
    (void)space;
    watch.under->committed(watch.under, is_on_device);
}

/* Insertions and deletions in turn, at random places. */
static void change(struct tree *files, uint32_t changes, uint64_t *state)
{
    for (uint32_t i = 0; i < changes; i++) {
        uint64_t number = bench_random(state) % ((uint64_t)ITEMS * STEP);
        struct key key = bench_key(number);
        if (i % 2 == 0) {
            int result = tree_insert(files, &key, NULL, BENCH_DATA);
            if (result != -EEXIST)
                must(result);
            continue;
        }
        struct path path = {0};
        if (must(tree_seek(files, &key, &path)) > 0)
            continue;
        key = path_key(&path);
        path_release(files, &path);
        must(tree_delete(files, &key));
    }
}

static void print_rows(struct bench_image *image, uint32_t changes, uint64_t *state)
{
    struct transaction transaction;
    watch.count = 0;
    transaction_begin(&transaction, &image->volume, &watch.space);
    change(bench_files(&transaction), changes, state);
    must(transaction_commit(&transaction));
    for (unsigned round = 0; round <= watch.count; round++) {
        struct pass before = {0}, after = {transaction.counters.shadowed,
                                           transaction.counters.allocated,
                                           image->allocator.counters.refs_run};
        if (round > 0)
            before = watch.passes[round - 1];
        else
            before.refs = watch.passes[0].refs;
        if (round < watch.count)
            after = watch.passes[round];
        printf("%u,%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", changes,
               transaction.counters.rounds, round, after.shadowed - before.shadowed,
               after.allocated - before.allocated, after.refs - before.refs,
               transaction.counters.written);
    }
}

static int counts(void)
{
    static const uint32_t batches[] = {1, 10, 100, 1000, 10000};
    static struct bench_image image;
    uint64_t state = 1;
    bench_image_open(&image, (uint64_t)1 << 30, NODE_SIZE);
    bench_fill(&image, ITEMS, STEP);
    watch.space = (struct space){watch_alloc,  watch_free,      watch_shared,
                                 watch_settle, watch_committed, NULL};
    watch.under = &image.allocator.space;
    watch.allocator = &image.allocator;
    printf("# changes in one transaction, insertions and deletions in turn, in an image of 100,000 "
           "items; nodes of 16 KiB\n"
           "# round 0: the changes themselves; then the rounds of settling\n"
           "# shadowed, allocated: blocks in the round; refs: extents whose references it wrote "
           "down; written: blocks, in all\n"
           "changes,rounds,round,shadowed,allocated,refs,written\n");
    for (size_t i = 0; i < LENGTH_OF(batches); i++)
        print_rows(&image, batches[i], &state);
    bench_image_close(&image);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
