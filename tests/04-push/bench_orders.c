/* How full do leaves get, by the order of the keys and the policy, and what is moved for it? */
#include "bench_policies.h"

enum { ITEMS = 100000, STREAMS = 8 };

static const char *const orders[] = {"ascending", "descending", "streams", "random"};
static const char *const policies[] = {
    "split", "append", "2013", "kernel", "coppice", "kernel,+three",
};

static uint64_t number_of(size_t order, uint32_t i, const uint64_t *shuffled)
{
    switch (order) {
    case 0:
        return i;
    case 1:
        return ITEMS - 1 - i;
    case 2:
        return (uint64_t)(i % STREAMS) * ITEMS + i / STREAMS;
    default:
        return shuffled[i];
    }
}

static void count_one(size_t order, uint32_t node_size, const char *policy)
{
    struct lab_setup setup = {.node_size = node_size, .policy = policy};
    struct lab_measure measure;
    struct lab lab;
    uint64_t state = 1, *shuffled = bench_shuffled(&state, ITEMS);
    must(lab_open(&lab, "tree", FIRST_FREE_OBJECTID, &setup));
    for (uint32_t i = 0; i < ITEMS; i++)
        bench_insert(&lab, number_of(order, i, shuffled), BENCH_DATA);
    must(lab_measure(&lab, &measure));
    printf("%s,%u,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.2f,%u,%" PRIu64
           ",%.4f\n",
           orders[order], node_size, bench_field(policy), lab.growth.counters.splits,
           bench_right_calls(&lab), bench_right(&lab, PUSH_SHORTCUT),
           lab.heap.counters.leaves_dirtied, lab.growth.counters.bytes_between,
           bench_ratio(lab.growth.counters.bytes_between, ITEMS), lab.tree.level + 1U,
           measure.leaves, bench_ratio(measure.used, measure.room));
    lab_close(&lab);
    free(shuffled);
}

static int counts(void)
{
    printf("# 100,000 items of 53 bytes; streams: 8 ascending ones, in turn\n"
           "# between: bytes moved from leaf to leaf\n"
           "order,node_size,policy,splits,right_calls,shortcuts,leaves_dirtied,between,"
           "between_per_item,height,leaves,fill\n");
    for (uint32_t node_size = 4096; node_size <= 16384; node_size *= 4)
        for (size_t i = 0; i < LENGTH_OF(orders); i++)
            for (size_t j = 0; j < LENGTH_OF(policies); j++)
                count_one(i, node_size, policies[j]);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
