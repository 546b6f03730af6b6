/* What does one insertion into a leaf move, and what does that cost?
 *
 * An insertion at `slot` into a leaf of n items moves the headers of the items slot .. n - 1, 25
 * bytes each, and their data. So at a slot taken at random it moves half of the used bytes on
 * average, whatever the size of the items. */
#include "bench.h"
#include "fail.h"
#include "leaf.h"

#include <stdbool.h>

enum {
    HEADER = sizeof(struct block_header),
    ITEM = sizeof(struct item_header),
    DATA = 53,       /* bytes of data of an item, as in the other benchmarks */
    MIX_LIMIT = 301, /* or 0 to 300, at random */
    TREE = FS_TREE_OBJECTID,
};

/* --- leaves ------------------------------------------------------------------------- */

/* A leaf of `size` bytes on the heap; NULL where there is no memory. */
static struct block *make_leaf(uint32_t size)
{
    struct block *leaf = malloc(sizeof *leaf + size);
    if (!leaf)
        return NULL;
    *leaf = (struct block){.data = (unsigned char *)(leaf + 1), .size = size, .bytenr = size};
    memset(leaf->data, 0, size);
    leaf_init(leaf, 1, TREE);
    return leaf;
}

/* The items have even keys, so that there is a key between any two. */
static struct key key_of(uint32_t slot)
{
    return (struct key){.objectid = FIRST_FREE_OBJECTID + 2 * slot, .type = INODE_ITEM_KEY};
}

static struct key key_before(uint32_t slot)
{
    return (struct key){.objectid = FIRST_FREE_OBJECTID + 2 * slot - 1, .type = INODE_ITEM_KEY};
}

/* Appends items, until the next would pass `limit` used bytes. Their sizes go to `sizes`. */
static int fill_leaf(struct block *leaf, uint32_t limit, bool mix, uint32_t *sizes)
{
    uint64_t seed = leaf->size;
    for (uint32_t slot = 0;; slot++) {
        uint32_t size = mix ? bench_below(&seed, MIX_LIMIT) : DATA;
        uint32_t used = leaf_room(leaf) - leaf_free_space(leaf);
        if (used + ITEM + size > limit)
            return 0;
        struct key key = key_of(slot);
        sizes[slot] = size;
        int result = leaf_insert(leaf, slot, &key, NULL, size);
        if (result < 0)
            return result;
    }
}

static struct block *copy_leaf(const struct block *leaf)
{
    struct block *copy = make_leaf(leaf->size);
    if (copy)
        memcpy(copy->data, leaf->data, leaf->size);
    return copy;
}

/* --- counts ------------------------------------------------------------------------- */

/* The bytes that an insertion at `slot` into a copy of the leaf moves, as the leaf counts them. */
static int count_moved(const struct block *leaf, uint32_t slot, uint64_t *moved)
{
    struct block *copy = copy_leaf(leaf);
    if (!copy)
        return fail(ENOMEM, "out of memory");
    struct key key = key_before(slot);
    int result = leaf_insert(copy, slot, &key, NULL, DATA);
    if (result == 0)
        result = leaf_check(copy, NULL);
    *moved = copy->bytes_moved;
    free(copy);
    return result;
}

static uint64_t formula(const uint32_t *sizes, uint32_t nritems, uint32_t slot)
{
    uint64_t bytes = 25 * (uint64_t)(nritems - slot);
    for (; slot < nritems; slot++)
        bytes += sizes[slot];
    return bytes;
}

/* The rows of one leaf: some slots, and the mean of all. */
static int count_leaf(const struct block *leaf, const uint32_t *sizes, const char *columns)
{
    static const uint32_t percents[] = {0, 10, 25, 50, 75, 90, 100};
    uint32_t nritems = block_nritems(leaf), used = leaf_room(leaf) - leaf_free_space(leaf);
    uint64_t moved, sum = 0;
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        uint32_t slot = (nritems * percents[i] + 50) / 100;
        int result = count_moved(leaf, slot, &moved);
        if (result < 0)
            return result;
        printf("%s,%u,%u,%u,%u,%" PRIu64 ",%" PRIu64 "\n", columns, percents[i], nritems, slot,
               used, moved, formula(sizes, nritems, slot));
    }
    for (uint32_t slot = 0; slot <= nritems; slot++) {
        int result = count_moved(leaf, slot, &moved);
        if (result < 0)
            return result;
        sum += moved;
    }
    printf("%s,mean,%u,,%u,%.1f,%.1f\n", columns, nritems, used, (double)sum / (nritems + 1),
           used / 2.0);
    return 0;
}

static int count_leaves(uint32_t node_size, bool mix)
{
    static uint32_t sizes[NODE_SIZE_MAX / ITEM];
    for (uint32_t percent = 10; percent <= 100; percent += 10) {
        struct block *leaf = make_leaf(node_size);
        if (!leaf)
            return fail(ENOMEM, "out of memory");
        /* A leaf that is full but for the item that will be inserted counts as 100 percent. */
        uint32_t most = leaf_room(leaf) - ITEM - DATA, limit = leaf_room(leaf) * percent / 100;
        int result = fill_leaf(leaf, limit < most ? limit : most, mix, sizes);
        char columns[64];
        snprintf(columns, sizeof columns, "%u,%s,%u", node_size, mix ? "0-300" : "53", percent);
        if (result == 0)
            result = count_leaf(leaf, sizes, columns);
        free(leaf);
        if (result < 0)
            return result;
    }
    return 0;
}

static int counts(void)
{
    printf("# moved: bytes that one insertion moved, counted by the leaf (block.bytes_moved)\n"
           "# formula: 25 * (n - slot) + the data of the items slot .. n - 1\n"
           "# slot_percent mean: the mean over all n + 1 slots; its formula is used / 2\n"
           "node_size,data,fill_percent,slot_percent,n,slot,used,moved,formula\n");
    for (uint32_t node_size = 4096; node_size <= NODE_SIZE_MAX; node_size *= 4)
        for (int mix = 0; mix < 2; mix++)
            if (count_leaves(node_size, mix) < 0) {
                fprintf(stderr, "%s\n", fail_message());
                return 1;
            }
    return 0;
}

/* --- times -------------------------------------------------------------------------- */

enum {
    ROUNDS = 1001,
    FILL_PERCENT = 70,   /* about what random insertions leave: ln 2 */
    POOL_BYTES = 524288, /* leaves of one size together: more than the first-level cache holds */
    POOL_MOST = POOL_BYTES / 4096,
    PLACES = 3,
};
static const char *const place_names[PLACES] = {"front", "middle", "end"};

/* Leaves that are all alike. A sample inserts once into each of them; then they are made as they
 * were, which is not timed. */
struct pool {
    struct block *model;
    struct block *leaves[POOL_MOST];
    uint32_t count;
};

static void pool_reset(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->count; i++)
        memcpy(pool->leaves[i]->data, pool->model->data, pool->model->size);
}

static int pool_make(struct pool *pool, uint32_t node_size)
{
    static uint32_t sizes[NODE_SIZE_MAX / ITEM];
    pool->count = POOL_BYTES / node_size;
    pool->model = make_leaf(node_size);
    if (!pool->model ||
        fill_leaf(pool->model, leaf_room(pool->model) * FILL_PERCENT / 100, false, sizes) < 0)
        return -1;
    for (uint32_t i = 0; i < pool->count; i++)
        if (!(pool->leaves[i] = copy_leaf(pool->model)))
            return -1;
    return 0;
}

static void pool_free(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->count; i++)
        free(pool->leaves[i]);
    free(pool->model);
}

/* ns for one insertion. */
static double time_insert(struct pool *pool, uint32_t slot)
{
    static const unsigned char data[DATA];
    struct key key = key_before(slot);
    pool_reset(pool);
    double start = bench_ns();
    for (uint32_t i = 0; i < pool->count; i++)
        if (leaf_insert(pool->leaves[i], slot, &key, data, DATA) < 0)
            abort(); /* there is room in each */
    return (bench_ns() - start) / pool->count;
}

/* ns to move the same bytes and do nothing else: what an insertion cannot go below. */
static double time_moves(struct pool *pool, uint32_t slot)
{
    uint32_t nritems = block_nritems(pool->model);
    uint32_t start_of_data = leaf_data_end(pool->model, nritems);
    size_t data_bytes = leaf_data_end(pool->model, slot) - start_of_data;
    size_t header_bytes = (size_t)(nritems - slot) * ITEM;
    pool_reset(pool);
    double start = bench_ns();
    for (uint32_t i = 0; i < pool->count; i++) {
        unsigned char *headers = pool->leaves[i]->data + HEADER + slot * ITEM;
        unsigned char *data = pool->leaves[i]->data + HEADER + start_of_data;
        memmove(data - DATA, data, data_bytes);
        memmove(headers + ITEM, headers, header_bytes);
    }
    return (bench_ns() - start) / pool->count;
}

static int time_pool(uint32_t node_size)
{
    static double inserts[PLACES][ROUNDS], moves[PLACES][ROUNDS];
    struct pool pool = {0};
    if (pool_make(&pool, node_size) < 0) {
        pool_free(&pool);
        return -1;
    }
    uint32_t nritems = block_nritems(pool.model);
    const uint32_t slots[PLACES] = {0, nritems / 2, nritems};
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t place = 0; place < PLACES; place++) {
            inserts[place][round] = time_insert(&pool, slots[place]);
            moves[place][round] = time_moves(&pool, slots[place]);
        }
    for (size_t place = 0; place < PLACES; place++) {
        struct bench_spread insert = bench_spread(inserts[place], ROUNDS);
        struct bench_spread move = bench_spread(moves[place], ROUNDS);
        printf("%u,%s,%u,%u,%u,%.1f,%.1f,%.1f,%.1f\n", node_size, place_names[place], nritems,
               slots[place], (nritems - slots[place]) * (ITEM + DATA), insert.median, insert.low,
               insert.high, move.median);
    }
    pool_free(&pool);
    return 0;
}

static int times(void)
{
    bench_head((const char *const[]){
        "method: one insertion of 53 bytes of data into each of as many equal leaves as make",
        "512 KiB, 70 percent full, so that a leaf comes from the second-level cache; 1001 rounds,",
        "the places in turn; ns is the median, low and high are the quartiles.",
        "memmove_ns: the median time to move the same bytes and nothing else.",
        NULL,
    });
    printf("node_size,place,n,slot,moved,ns,low,high,memmove_ns\n");
    for (uint32_t node_size = 4096; node_size <= NODE_SIZE_MAX; node_size *= 2)
        if (time_pool(node_size) < 0) {
            fprintf(stderr, "out of memory\n");
            return 1;
        }
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, times);
}
