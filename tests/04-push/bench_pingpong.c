/* Does a tree split and merge in turn when one item comes and goes?
 *
 * Leaves: a tree of n items is built in key order by splits in the middle; then each of its items
 * in turn is deleted and inserted again, many times; the first does not count. Nodes: the same with items that fill a leaf
 * each, so that each deletion takes a pointer out of a node. What is reported for n is the item
 * with which it was worst. */
#include "bench_policies.h"

struct worst {
    uint64_t made, gone; /* in all pairs */
};

/* What made room, and what took it back. */
static uint64_t gone(const struct lab *lab, bool nodes)
{
    return nodes ? bench_rules(lab)->counters.balances : bench_rules(lab)->counters.merged;
}

static uint64_t made(const struct lab *lab, bool nodes)
{
    return nodes ? lab->growth.counters.node_splits + bench_rules(lab)->counters.node_pushes
                 : lab->growth.counters.splits;
}

/* A tree of `count` items, each full block divided in the middle; then the policy's own rules. */
static void build(struct lab *lab, const char *policy, uint32_t count, uint32_t size)
{
    struct lab_setup setup = {.node_size = 4096, .policy = policy};
    must(lab_open(lab, "tree", FIRST_FREE_OBJECTID, &setup));
    struct room_policy rules = *lab->growth.policy;
    lab->growth.policy->leaf = split_leaf;
    lab->growth.policy->node = split_node;
    for (uint32_t i = 0; i < count; i++)
        bench_insert(lab, i, size);
    *lab->growth.policy = rules;
}

static void count_one(const char *policy, uint32_t count, bool nodes)
{
    uint32_t size = nodes ? 3900 : BENCH_DATA, pairs = 25, step = nodes ? 9 : 2;
    struct worst worst = {0};
    struct lab lab;
    for (uint32_t at = 0; at < count; at += step) {
        build(&lab, policy, count, size);
        for (uint32_t pair = 0; pair <= pairs; pair++) {
            bench_delete(&lab, at);
            bench_insert(&lab, at, size);
            if (pair == 0) /* it may clear what the splits in the middle have left */
                lab_zero(&lab);
        }
        uint64_t up = made(&lab, nodes), down = gone(&lab, nodes);
        if (up + down > worst.made + worst.gone)
            worst = (struct worst){up, down};
        lab_close(&lab);
    }
    printf("%s,%s,%u,%u,%" PRIu64 ",%" PRIu64 ",%.1f\n", nodes ? "nodes" : "leaves",
           bench_field(policy), count, pairs, worst.made, worst.gone,
           100 * bench_ratio(worst.made + worst.gone, pairs));
}

static int counts(void)
{
    static const char *const merges[] = {"kernel,merge=2", "kernel", "kernel,merge=4"};
    static const char *const balances[] = {"kernel,balance=2", "kernel"};
    printf("# nodes of 4 KiB: a leaf holds 51 items of 53 bytes, a node 121 pointers\n"
           "# made: splits of leaves, or splits of nodes and pushes between them; gone: leaves "
           "merged, or "
           "nodes balanced\n"
           "# per_100: made and gone in 100 pairs of a deletion and an insertion\n"
           "what,policy,n,pairs,made,gone,per_100\n");
    for (size_t i = 0; i < LENGTH_OF(merges); i++)
        for (uint32_t count = 30; count <= 110; count++)
            count_one(merges[i], count, false);
    for (size_t i = 0; i < LENGTH_OF(balances); i++)
        for (uint32_t count = 100; count <= 260; count += 4)
            count_one(balances[i], count, true);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
