/* What does each rule do to each mix? Splits, leaves changed, bytes moved, shadows. */
#include "bench_policies.h"

enum { REQUESTS = 100000 };

static const char *const names[] = {"overwrite", "relog", "rndwr", "seqwr", "streams"};
static const char *const policies[] = {
    "2013",       "2013,+shortcut",      "kernel",
    "coppice",    "kernel,-need",        "kernel,-need,-left-discount",
    "2013,+need", "2013,+left-discount", "kernel,+three",
};
enum { WITH_LARGE_NODES = 6 }; /* the first ones */

/* Bytes used of the leaves of all trees, and their room. */
static void measure_all(struct replay *replay, struct lab_measure *sum)
{
    *sum = (struct lab_measure){0};
    for (int i = 0; i < REPLAY_TREES; i++) {
        struct lab_measure measure;
        if (!replay->labs[i].name)
            continue;
        must(lab_measure(&replay->labs[i], &measure));
        sum->leaves += measure.leaves;
        sum->used += measure.used;
        sum->room += measure.room;
    }
}

static void count_one(const char *name, uint32_t node_size, const char *policy)
{
    struct lab_setup setup = {.node_size = node_size, .policy = policy};
    struct lab_measure measure;
    struct replay replay;
    struct lab total;
    bench_replay(&replay, name, &setup, 1, REQUESTS, 0, &total);
    measure_all(&replay, &measure);
    const struct growth_counters *growth = &total.growth.counters;
    const struct heap_counters *heap = &total.heap.counters;
    uint64_t operations = bench_operations(&total), calls = bench_right_calls(&total);
    uint64_t shortcuts = bench_right(&total, PUSH_SHORTCUT);
    printf("%s,%u,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.2f,%" PRIu64 ",%" PRIu64
           ",%.4f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.4f\n",
           name, node_size, bench_field(policy), operations, calls, shortcuts,
           bench_right(&total, PUSH_NO_NEIGHBOUR), 100 * bench_ratio(shortcuts, calls),
           growth->splits, heap->leaves_dirtied, bench_ratio(heap->leaves_dirtied, operations),
           growth->bytes_between, heap->shadowed, heap->wasted, measure.leaves,
           bench_ratio(measure.used, measure.room));
    lab_close(&total);
    replay_close(&replay);
}

static int counts(void)
{
    printf(
        "# mixes of 100,000 requests, seed 1; counters of all trees of a mix together\n"
        "# right_calls, shortcuts, no_neighbour: pushes to the right made by splits\n"
        "# between: bytes moved from leaf to leaf; leaves and fill are those at the end\n"
        "mix,node_size,policy,operations,right_calls,shortcuts,no_neighbour,share_percent,splits,"
        "leaves_dirtied,dirtied_per_operation,between,shadowed,wasted,leaves,fill\n");
    for (uint32_t node_size = 4096; node_size <= 16384; node_size *= 4)
        for (size_t i = 0; i < LENGTH_OF(names); i++)
            for (size_t j = 0; j < (node_size == 4096 ? LENGTH_OF(policies) : WITH_LARGE_NODES);
                 j++)
                count_one(names[i], node_size, policies[j]);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
