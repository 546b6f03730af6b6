/* How full are the leaves while a tree grows from keys at random?
 *
 * A tree with one kind of item fills its first leaf, divides it, fills both halves at about the
 * same time, and so on; so the fill swings, and the swing dies out as the leaves come out of step.
 * Where it comes to rest is ln 2 for large leaves (Yao, On random 2-3 trees, Acta Informatica 9,
 * 1978). */
#include "bench_grow.h"

#include <math.h>

enum { TREES = 8, STEPS = 16, OCTAVES = 12 };

/* Items at step `step`: STEPS to the doubling, from one full leaf on. */
static uint64_t items_at(uint32_t in_leaf, int step)
{
    return (uint64_t)((double)in_leaf * pow(2, (double)step / STEPS));
}

static int count_trees(uint32_t node_size, int octaves)
{
    double fill[OCTAVES * STEPS + 1] = {0};
    uint32_t room = node_size - (uint32_t)sizeof(struct block_header), in_leaf = room / COST;
    int result = 0;
    for (uint64_t seed = 1; seed <= TREES && result == 0; seed++) {
        struct lab lab;
        struct seeded seeded = {seed};
        uint64_t number = 0;
        result = grow_open(&lab, node_size, "split");
        for (int step = 0; step <= octaves * STEPS; step++) {
            for (; number < items_at(in_leaf, step) && result == 0; number++) {
                struct key key = grow_key(RANDOM, number, &seeded);
                result = tree_insert(&lab.tree, &key, NULL, DATA);
            }
            uint64_t leaves = 1 + lab.growth.counters.splits;
            fill[step] += (double)number * COST / ((double)leaves * room) / TREES;
        }
        lab_close(&lab);
    }
    for (int step = 0; step <= octaves * STEPS && result == 0; step++)
        printf("%u,%u,%" PRIu64 ",%.4f\n", node_size, in_leaf, items_at(in_leaf, step), fill[step]);
    return result;
}

static int counts(void)
{
    printf("# trees grown from keys at random, items of 53 bytes of data, policy split\n"
           "# fill: of all leaves; the mean of 8 trees with different seeds\n"
           "node_size,in_leaf,items,fill\n");
    int result = count_trees(4096, 11);
    if (result == 0)
        result = count_trees(16384, 9);
    if (result == 0)
        result = count_trees(65536, 7);
    if (result < 0)
        fprintf(stderr, "%s\n", fail_message());
    return result < 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
