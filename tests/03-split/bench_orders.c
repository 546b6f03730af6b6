/* What do the order of the keys, the policy and the node size make of a tree? */
#include "bench_grow.h"

enum { ITEMS = 200000 };

static int count_tree(uint32_t node_size, const char *policy, enum grow_order order)
{
    struct lab lab;
    struct lab_measure measure;
    struct seeded seeded = {1};
    int result = grow_open(&lab, node_size, policy);
    for (uint64_t number = 0; number < ITEMS && result == 0; number++) {
        struct key key = grow_key(order, number, &seeded);
        result = tree_insert(&lab.tree, &key, NULL, DATA);
    }
    if (result == 0)
        result = lab_measure(&lab, &measure);
    if (result == 0) {
        const struct growth_counters *counters = &lab.growth.counters;
        printf("%u,%s,%s,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%.4f,%.2f,%.2f\n", node_size,
               policy, grow_names[order], ITEMS, counters->splits, counters->double_splits,
               measure.leaves, lab.tree.level + 1U, (double)measure.used / (double)measure.room,
               (double)counters->bytes_between / ITEMS, (double)counters->bytes_within / ITEMS);
    }
    lab_close(&lab);
    return result;
}

static int counts(void)
{
    printf(
        "# trees of 200,000 items of 53 bytes of data, grown by single insertions\n"
        "# streams: 8 ascending streams, one item of each in turn\n"
        "# between, within: bytes moved from leaf to leaf, and in leaves to open and close gaps,\n"
        "# per insertion\n"
        "node_size,policy,order,items,splits,double_splits,leaves,height,fill,between,within\n");
    int result = 0;
    for (uint32_t node_size = 4096; node_size <= NODE_SIZE_MAX; node_size *= 4)
        for (int policy = 0; policy < 2; policy++)
            for (int order = 0; order < GROW_ORDERS && result == 0; order++)
                result = count_tree(node_size, policy ? "append" : "split", (enum grow_order)order);
    if (result < 0)
        fprintf(stderr, "%s\n", fail_message());
    return result < 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
