/* When does an insertion stand at slot 0, and what does the shortcut to the left save?
 *
 * The policy is wrapped: what it is asked is looked at before and after. */
#include "bench_policies.h"

enum { ITEMS = 10000, SEEDS = 3, LEAST = 10 };

/* The wrapped policy's own function, and what was seen. */
static struct {
    uint64_t calls, at_front, at_front_of_tree; /* asked for room at slot 0 */
    uint64_t after_push, after_split;           /* shortcuts to the left, by what came before */
} seen;

static bool is_front_of_tree(const struct tree *tree, const struct path *path)
{
    for (unsigned level = 0; level <= tree->level; level++)
        if (path->slots[level] > 0)
            return false;
    return true;
}

static int watched_leaf(struct tree *tree, struct path *path, const struct room *room)
{
    struct push_policy *rules = (struct push_policy *)tree->growth->policy;
    uint64_t splits = tree->growth->counters.splits, taken = rules->counters.shortcuts_left;
    seen.calls++;
    seen.at_front += path->slots[0] == 0;
    seen.at_front_of_tree += is_front_of_tree(tree, path);
    int result = push_make_leaf_room(tree, path, room);
    taken = rules->counters.shortcuts_left - taken;
    *(tree->growth->counters.splits > splits ? &seen.after_split : &seen.after_push) += taken;
    return result;
}

static void count_one(uint32_t node_size, uint32_t most, const char *policy, uint64_t seed)
{
    struct lab_setup setup = {.node_size = node_size, .policy = policy};
    struct lab_measure measure;
    struct lab lab;
    uint64_t state = seed, *shuffled = bench_shuffled(&state, ITEMS);
    memset(&seen, 0, sizeof seen);
    must(lab_open(&lab, "tree", FIRST_FREE_OBJECTID, &setup));
    bench_rules(&lab)->policy.leaf = watched_leaf;
    for (uint32_t i = 0; i < ITEMS; i++)
        bench_insert(&lab, shuffled[i], LEAST + bench_below(&state, most - LEAST + 1));
    must(lab_measure(&lab, &measure));
    printf("%u,%u,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
           ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.4f\n",
           node_size, most, bench_field(policy), seed, seen.calls, seen.at_front,
           seen.at_front_of_tree, seen.after_push, seen.after_split, lab.growth.counters.splits,
           lab.growth.counters.double_splits, measure.leaves,
           bench_ratio(measure.used, measure.room));
    lab_close(&lab);
    free(shuffled);
}

static int counts(void)
{
    static const char *const policies[] = {"kernel", "kernel,+shortcut-left"};
    static const uint32_t mosts[] = {53, 200, 400, 800, 1200, 1600, 2000, 2400, 3000, 3900};
    printf(
        "# 10,000 items of 10 to most_size bytes, keys and sizes at random; three seeds\n"
        "# calls: a leaf was full; at_front: it was asked for room at slot 0\n"
        "# after_push, after_split: shortcuts to the left, by what came before in the same call\n"
        "node_size,most_size,policy,seed,calls,at_front,at_front_of_tree,after_push,after_split,"
        "splits,double_splits,leaves,fill\n");
    for (size_t i = 0; i < LENGTH_OF(mosts); i++)
        for (size_t j = 0; j < LENGTH_OF(policies); j++)
            for (uint64_t seed = 1; seed <= SEEDS; seed++)
                count_one(4096, mosts[i], policies[j], seed);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
