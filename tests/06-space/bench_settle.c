/* How does settling end?
 *
 * To write down what was allocated and freed blocks are shadowed, which is to be written down too.
 * A block is shadowed once in a transaction, so each pass finds fewer that are not ours.
 *
 * The space is wrapped, so that every block that is taken or left passes by here. The allocator
 * takes all references that wait, writes them down, and begins anew with those that came meanwhile:
 * that is a pass. It is known by the count of references written down: when it exceeds what waited
 * at the last call, the next pass has begun. */
#include "bench_image.h"
#include "delete.h"

enum { ITEMS = 100000, STEP = 1000, PASSES_MOST = 12 };

struct pass {
    uint64_t shadowed, allocated, refs; /* refs: extents whose references it writes down */
};

static struct {
    struct space space; /* must be first */
    struct extent_allocator *allocator;
    bool is_settling;
    uint64_t run;     /* references written down before this pass */
    uint64_t waiting; /* after the last call */
    unsigned count;
    struct pass passes[PASSES_MOST];    /* 0: the changes, before settling */
    struct transaction_counters before; /* the last pass */
} watch;

static struct space *under(struct space *space)
{
    watch.allocator->space.transaction = space->transaction;
    return &watch.allocator->space;
}

static void end_pass(void)
{
    const struct transaction_counters *now = &watch.space.transaction->counters;
    struct pass *pass = &watch.passes[watch.count];
    if (watch.count + 1 == PASSES_MOST)
        must(fail(EOVERFLOW, "settling takes more than %d passes", PASSES_MOST));
    pass->shadowed = now->shadowed - watch.before.shadowed;
    pass->allocated = now->allocated - watch.before.allocated;
    watch.before = *now;
    watch.passes[++watch.count] = (struct pass){.refs = watch.waiting};
}

static void look(void)
{
    uint64_t run = watch.allocator->counters.refs_run;
    while (watch.is_settling && run - watch.run > watch.passes[watch.count].refs) {
        watch.run += watch.passes[watch.count].refs;
        end_pass();
    }
}

static int looked(int result)
{
    watch.waiting = watch.allocator->refs.count;
    return result;
}

static int watch_alloc(struct space *space, struct tree *tree, uint8_t level, uint64_t *bytenr)
{
    look();
    return looked(under(space)->alloc(under(space), tree, level, bytenr));
}

static int watch_free(struct space *space, struct tree *tree, const struct block *block)
{
    look();
    return looked(under(space)->free(under(space), tree, block));
}

static int watch_shared(struct space *space, struct tree *tree, const struct block *block)
{
    look();
    return looked(under(space)->shared(under(space), tree, block));
}

static int watch_settle(struct space *space)
{
    if (!watch.is_settling) {
        end_pass();
        watch.is_settling = true;
        watch.run = watch.allocator->counters.refs_run;
    }
    return under(space)->settle(under(space));
}

static void watch_committed(struct space *space, bool is_on_device)
{
    (void)space;
    look();
    end_pass();
    watch.allocator->space.committed(&watch.allocator->space, is_on_device);
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
    watch.is_settling = false;
    watch.count = 0;
    watch.waiting = 0;
    watch.before = (struct transaction_counters){0};
    watch.passes[0] = (struct pass){0};
    transaction_begin(&transaction, &image->volume, &watch.space);
    change(bench_files(&transaction), changes, state);
    must(transaction_commit(&transaction));
    for (unsigned pass = 0; pass < watch.count; pass++)
        printf("%u,%u,%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
               from_le32(image->volume.super.nodesize), changes, transaction.counters.rounds, pass,
               watch.passes[pass].refs, watch.passes[pass].shadowed, watch.passes[pass].allocated,
               transaction.counters.written);
}

static void print_image(uint32_t node_size)
{
    static const uint32_t batches[] = {1, 10, 100, 1000, 10000};
    static struct bench_image image;
    uint64_t state = 1;
    bench_image_open(&image, (uint64_t)1 << 30, node_size);
    bench_fill(&image, ITEMS, STEP);
    watch.space =
        (struct space){watch_alloc, watch_free, watch_shared, watch_settle, watch_committed, NULL};
    watch.allocator = &image.allocator;
    for (size_t i = 0; i < LENGTH_OF(batches); i++)
        print_rows(&image, batches[i], &state);
    bench_image_close(&image);
}

static int counts(void)
{
    printf(
        "# changes in one transaction, insertions and deletions in turn, in an image of 100,000 "
        "items\n"
        "# rounds: of settling, the last and idle one too\n"
        "# pass 0: the changes themselves; then the passes over the references that wait\n"
        "# refs: extents whose references the pass wrote down; shadowed, allocated: blocks in it\n"
        "# written: blocks in the whole commit\n"
        "node_size,changes,rounds,pass,refs,shadowed,allocated,written\n");
    for (uint32_t node_size = 4096; node_size <= 16384; node_size *= 4)
        print_image(node_size);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
