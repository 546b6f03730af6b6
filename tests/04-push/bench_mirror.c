/* When does an insertion stand at slot 0, and what does the shortcut to the left save?
 *
 * The policy is wrapped: what it is asked is looked at before and after. */
#include "bench_policies.h"

#include <math.h>

enum { ITEMS = 10000, SEEDS = 16, LEAST = 10 };

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

/* The leaves of a tree of one seed; what is seen is added up. */
static uint64_t grow(uint32_t most, const char *policy, uint64_t seed, uint64_t *double_splits)
{
    struct lab_setup setup = {.node_size = 4096, .policy = policy};
    struct lab_measure measure;
    struct lab lab;
    uint64_t state = seed, *shuffled = bench_shuffled(&state, ITEMS);
    must(lab_open(&lab, "tree", FIRST_FREE_OBJECTID, &setup));
    bench_rules(&lab)->policy.leaf = watched_leaf;
    for (uint32_t i = 0; i < ITEMS; i++)
        bench_insert(&lab, shuffled[i], LEAST + bench_below(&state, most - LEAST + 1));
    must(lab_measure(&lab, &measure));
    *double_splits += lab.growth.counters.double_splits;
    lab_close(&lab);
    free(shuffled);
    return measure.leaves;
}

static void print_sums(uint32_t most, const char *policy, uint64_t double_splits, uint64_t leaves)
{
    printf("%u,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
           most, bench_field(policy), seen.calls, seen.at_front, seen.at_front_of_tree,
           seen.after_push, seen.after_split, double_splits, leaves);
    memset(&seen, 0, sizeof seen);
}

static void count_one(uint32_t most)
{
    uint64_t before[SEEDS], all = 0, double_splits = 0;
    double sum = 0, squares = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        all += before[seed] = grow(most, "kernel", seed + 1, &double_splits);
    print_sums(most, "kernel", double_splits, all);
    printf(",0,0\n");
    all = double_splits = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint64_t leaves = grow(most, "kernel,+shortcut-left", seed + 1, &double_splits);
        double saved = 100 - 100 * bench_ratio(leaves, before[seed]);
        all += leaves;
        sum += saved;
        squares += saved * saved;
    }
    print_sums(most, "kernel,+shortcut-left", double_splits, all);
    printf(",%.2f,%.2f\n", sum / SEEDS, sqrt((squares - sum * sum / SEEDS) / (SEEDS - 1) / SEEDS));
}

static int counts(void)
{
    static const uint32_t mosts[] = {53, 200, 400, 800, 1200, 1600, 2000, 2400, 3000, 3900};
    printf(
        "# 10,000 items of 10 to most_size bytes, keys and sizes at random, nodes of 4 KiB; sums "
        "of 16 seeds\n"
        "# calls: a leaf was full; at_front: it was asked for room at slot 0\n"
        "# after_push, after_split: shortcuts to the left, by what came before in the same call\n"
        "# saved: leaves, in percent of those of the policy kernel; mean, and its standard error\n"
        "most_size,policy,calls,at_front,at_front_of_tree,after_push,after_split,double_splits,"
        "leaves,saved_percent,saved_error\n");
    for (size_t i = 0; i < LENGTH_OF(mosts); i++)
        count_one(mosts[i]);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
