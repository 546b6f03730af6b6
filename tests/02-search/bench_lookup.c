/* What does a lookup cost, and how does that grow with the number of items?
 *
 * Comparisons follow log2 of the number of items, whatever the node size: a tree is a binary search
 * with its steps dealt out to blocks. What the node size decides is the height, and so how many
 * blocks have to be fetched. */
#include "bench.h"
#include "bench_tree.h"

#include <math.h>

enum {
    ITEMS_MOST = 10000000,
    LOOKUPS = 20000, /* of keys that are there, taken at random, for each tree */
    ROUNDS = 101,
    LOOKUPS_TIMED = 4000, /* in each round */
    WARMING = 40000,
};

/* 100, 200, 500, 1000, ... */
static uint64_t next_size(uint64_t items)
{
    uint64_t power = 1;
    while (power * 10 <= items)
        power *= 10;
    return items == 2 * power ? 5 * power : 2 * items;
}

/* The levels that full blocks need: the smallest h with in_leaf * in_node^(h - 1) >= items. */
static unsigned height_formula(uint32_t node_size, uint64_t items)
{
    unsigned height = 1;
    uint64_t reach = bench_leaf_capacity(node_size);
    for (; reach < items; height++)
        reach *= node_capacity(node_size);
    return height;
}

/* Looks up keys at random; each must be found. */
static int lookups(struct bench_tree *built, uint32_t count, uint64_t *seed)
{
    for (uint32_t i = 0; i < count; i++) {
        struct key key = bench_key(bench_below(seed, (uint32_t)built->items));
        struct path path = {0};
        int result = tree_search(&built->tree, &key, &path);
        if (result != 0)
            return result < 0 ? result : fail(EUCLEAN, "a key of the tree is not found");
        path_release(&built->tree, &path);
    }
    return 0;
}

/* Calls `print` with a tree of each size. */
static int each_tree(int (*print)(struct bench_tree *built))
{
    struct bench_tree built;
    int result = bench_tree_open(&built, 4096, ITEMS_MOST);
    for (uint32_t node_size = 4096; node_size <= NODE_SIZE_MAX; node_size *= 4)
        for (uint64_t items = 100; items <= ITEMS_MOST && result == 0; items = next_size(items)) {
            result = bench_tree_build(&built, node_size, items);
            if (result == 0)
                result = print(&built);
        }
    bench_tree_close(&built);
    if (result < 0)
        fprintf(stderr, "%s\n", fail_message());
    return result < 0;
}

/* --- counts ------------------------------------------------------------------------- */

static int print_counts(struct bench_tree *built)
{
    uint64_t seed = built->items + built->node_size;
    struct tree *tree = &built->tree;
    int result = bench_tree_check(built);
    if (result == 0)
        result = lookups(built, LOOKUPS, &seed);
    if (result < 0)
        return result;
    printf("%u,%" PRIu64 ",%u,%u,%" PRIu64 ",%u,%u,%.3f,%.3f,%.3f\n", built->node_size,
           built->items, bench_leaf_capacity(built->node_size), node_capacity(built->node_size),
           built->count, tree->level + 1U, height_formula(built->node_size, built->items),
           (double)tree->blocks / LOOKUPS, (double)tree->comparisons / LOOKUPS,
           log2((double)built->items));
    return 0;
}

static int counts(void)
{
    printf("# trees of full blocks, items of 53 bytes of data; per lookup: the mean of 20,000 "
           "lookups\n"
           "# of keys that are there, taken at random\n"
           "# height_formula: the smallest h with in_leaf * in_node^(h - 1) >= items\n"
           "node_size,items,in_leaf,in_node,tree_blocks,height,height_formula,blocks_per_lookup,"
           "comparisons_per_lookup,log2_items\n");
    return each_tree(print_counts);
}

/* --- times -------------------------------------------------------------------------- */

static int print_times(struct bench_tree *built)
{
    uint64_t seed = built->items + built->node_size;
    double samples[ROUNDS];
    int result = lookups(built, WARMING, &seed);
    for (size_t round = 0; round < ROUNDS && result == 0; round++) {
        double start = bench_ns();
        result = lookups(built, LOOKUPS_TIMED, &seed);
        samples[round] = (bench_ns() - start) / LOOKUPS_TIMED;
    }
    if (result < 0)
        return result;
    struct bench_spread ns = bench_spread(samples, ROUNDS);
    printf("%u,%" PRIu64 ",%u,%.1f,%.1f,%.1f\n", built->node_size, built->items,
           built->tree.level + 1U, ns.median, ns.low, ns.high);
    return 0;
}

static int times(void)
{
    bench_head((const char *const[]){
        "method: tree_search for keys that are there, taken at random; the whole tree is in memory",
        "(53 bytes of data an item), nothing is read or checked. 101 rounds of 4,000 lookups after",
        "40,000 that warm the caches; ns is the median, low and high are the quartiles.",
        NULL,
    });
    printf("node_size,items,height,ns,low,high\n");
    return each_tree(print_times);
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, times);
}
