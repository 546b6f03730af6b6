/* How many shadows are wasted by shadowing first, by the length of a transaction? */
#include "bench_policies.h"

enum { GROWN = 50000, INSERTED = 20000 };

static void count_one(uint32_t node_size, uint32_t length, const char *policy)
{
    struct lab_setup setup = {.node_size = node_size, .policy = policy};
    struct lab lab;
    uint64_t state = 1, *shuffled = bench_shuffled(&state, GROWN + INSERTED);
    must(lab_open(&lab, "tree", FIRST_FREE_OBJECTID, &setup));
    for (uint32_t i = 0; i < GROWN + INSERTED; i++) {
        if (i == GROWN) {
            heap_commit(&lab.heap);
            lab_zero(&lab);
        }
        bench_insert(&lab, shuffled[i], BENCH_DATA);
        if (i >= GROWN && (i - GROWN + 1) % length == 0)
            heap_commit(&lab.heap);
    }
    const struct heap_counters *counters = &lab.heap.counters;
    printf("%u,%u,%s,%" PRIu64 ",%" PRIu64 ",%.3f,%.3f\n", node_size, length, bench_field(policy),
           counters->shadowed, counters->wasted,
           100 * bench_ratio(counters->wasted, counters->shadowed),
           1000 * bench_ratio(counters->wasted, INSERTED));
    lab_close(&lab);
    free(shuffled);
}

static int counts(void)
{
    static const char *const policies[] = {"kernel", "kernel,-need,-left-discount",
                                           "kernel,+decide-first"};
    static const uint32_t lengths[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 20000};
    printf(
        "# 20,000 items of 53 bytes at random into a tree of 50,000; a commit each so many items\n"
        "node_size,transaction,policy,shadowed,wasted,wasted_percent,wasted_per_1000\n");
    for (uint32_t node_size = 4096; node_size <= 16384; node_size *= 4)
        for (size_t i = 0; i < LENGTH_OF(lengths); i++)
            for (size_t j = 0; j < LENGTH_OF(policies); j++)
                count_one(node_size, lengths[i], policies[j]);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
