/* How often is a leaf split twice, by the size of the items?
 *
 * Items have 0 to M bytes of data, each size with the same probability. A double split is made
 * where an item does not fit with what is behind it. Where it would fit with what is before it, one
 * new leaf would have done. */
#include "bench_grow.h"
#include "split.h"

enum { ITEMS = 10000 };

static uint64_t needless;

/* split_leaf, and a count of the double splits where the new item fits with what is before it. */
static int counting_leaf(struct tree *tree, struct path *path, const struct room *room)
{
    if (split_possible(tree, path, room) == 0) {
        struct split_question question = split_ask(tree, path, room);
        struct split_plan plan = split_plan(&question);
        needless += plan.way == SPLIT_TWICE && question.to_slot + room->cost <= question.room;
    }
    return split_leaf(tree, path, room);
}

static struct room_policy counting_policy = {.leaf = counting_leaf, .node = split_node};

static int count_tree(uint32_t node_size, uint32_t percent)
{
    struct lab lab;
    struct lab_measure measure;
    struct seeded keys = {1}, sizes = {2};
    uint32_t most =
        node_size - (uint32_t)(sizeof(struct block_header) + sizeof(struct item_header));
    uint32_t limit = most * percent / 100;
    int result = grow_open(&lab, node_size, "split");
    lab.growth.policy = &counting_policy;
    needless = 0;
    for (uint64_t number = 0; number < ITEMS && result == 0; number++) {
        struct key key = grow_key(RANDOM, number, &keys);
        uint32_t size = (uint32_t)seeded_below(&sizes, limit + 1);
        result = tree_insert(&lab.tree, &key, NULL, size);
    }
    if (result == 0)
        result = lab_measure(&lab, &measure);
    if (result == 0) {
        const struct growth_counters *counters = &lab.growth.counters;
        printf("%u,%u,%u,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.4f\n", node_size, percent, limit,
               ITEMS, counters->splits, counters->double_splits, needless,
               (double)measure.used / (double)measure.room);
    }
    lab_close(&lab);
    return result;
}

static int counts(void)
{
    static const uint32_t percents[] = {2, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100};
    printf("# trees of 10,000 items with keys at random and 0 to `most` bytes of data, at random;\n"
           "# policy split. percent: `most` in percent of the largest item that a leaf can hold\n"
           "# splits: leaves made; a double split makes two\n"
           "# needless: double splits where the new item would have fitted with what is before it\n"
           "node_size,percent,most,items,splits,double_splits,needless,fill\n");
    int result = 0;
    for (uint32_t node_size = 4096; node_size <= 16384; node_size *= 4)
        for (size_t i = 0; i < sizeof percents / sizeof percents[0] && result == 0; i++)
            result = count_tree(node_size, percents[i]);
    if (result < 0)
        fprintf(stderr, "%s\n", fail_message());
    return result < 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
