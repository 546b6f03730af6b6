/* What is left of a tree when items are deleted: leaves, fill and height, by when a leaf is merged
 * and when a node is balanced. */
#include "bench_policies.h"

enum { ITEMS = 200000 };

static uint64_t delete_calls(const struct lab *lab, enum push_outcome outcome)
{
    const struct push_counters *counters = &bench_rules(lab)->counters;
    return counters->left[PUSH_FOR_DELETE][outcome] + counters->right[PUSH_FOR_DELETE][outcome];
}

static void print_state(struct lab *lab, const char *policy, uint32_t deleted)
{
    const struct push_counters *counters = &bench_rules(lab)->counters;
    struct lab_measure measure;
    uint64_t moved = delete_calls(lab, PUSH_MOVED), calls = 0;
    must(lab_measure(lab, &measure));
    for (int outcome = 0; outcome < PUSH_OUTCOMES; outcome++)
        calls += delete_calls(lab, (enum push_outcome)outcome);
    printf("%s,%.1f,%u,%" PRIu64 ",%" PRIu64 ",%.4f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
           ",%.4f,%.1f\n",
           bench_field(policy), 100 * bench_ratio(deleted, ITEMS), lab->tree.level + 1U,
           measure.leaves, measure.nodes, bench_ratio(measure.used, measure.room), calls, moved,
           counters->merged, counters->balances,
           bench_ratio(lab->heap.counters.leaves_dirtied, deleted),
           bench_ratio(lab->growth.counters.bytes_between, deleted));
}

static void count_one(const char *policy)
{
    struct lab_setup setup = {.node_size = 4096, .policy = policy};
    struct lab lab;
    uint64_t state = 1, *come = bench_shuffled(&state, ITEMS), *go = bench_shuffled(&state, ITEMS);
    must(lab_open(&lab, "tree", FIRST_FREE_OBJECTID, &setup));
    for (uint32_t i = 0; i < ITEMS; i++)
        bench_insert(&lab, come[i], BENCH_DATA);
    lab_zero(&lab);
    print_state(&lab, policy, 0);
    for (uint32_t i = 1; i <= ITEMS; i++) {
        bench_delete(&lab, go[i - 1]);
        bool is_step = i % (ITEMS / 20) == 0 && i < ITEMS;
        if (is_step || i == ITEMS / 1000 * 975 || i == ITEMS / 100 * 99 || i == ITEMS / 1000 * 995)
            print_state(&lab, policy, i);
    }
    lab_close(&lab);
    free(come);
    free(go);
}

static int counts(void)
{
    static const char *const policies[] = {"kernel,merge=2", "kernel", "kernel,merge=4",
                                           "kernel,merge=9", "kernel,balance=2"};
    printf(
        "# 200,000 items of 53 bytes, inserted and deleted at random; nodes of 4 KiB\n"
        "# calls, moved: pushes for a merge; dirtied, between (bytes moved from leaf to leaf): a "
        "deletion\n"
        "policy,deleted_percent,height,leaves,nodes,fill,calls,moved,merged,balances,dirtied,"
        "between\n");
    for (size_t i = 0; i < LENGTH_OF(policies); i++)
        count_one(policies[i]);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
