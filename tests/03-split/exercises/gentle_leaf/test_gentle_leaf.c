#include "heap.h"
#include "insert.h"
#include "split.h"

#include <check.h>
#include <errno.h>

Suite *suite_gentle_leaf(void);
int gentle_leaf(struct tree *tree, struct path *path, const struct room *room);

enum { NODE_SIZE = 4096, ITEMS = 3000, MOST = NODE_SIZE - 101 - 25 };

static struct room_policy gentle_policy = {.leaf = gentle_leaf, .node = split_node};

/* A tree on a heap that checks every block it gives. */
struct garden {
    struct heap heap;
    struct growth growth;
    struct tree tree;
    uint32_t leaves, items;
};

static void garden_open(struct garden *garden, struct room_policy *policy)
{
    *garden = (struct garden){.growth = {.policy = policy}};
    heap_open(&garden->heap, NODE_SIZE);
    garden->heap.is_checking = true;
    ck_assert_int_eq(heap_tree(&garden->heap, &garden->tree, 256, &garden->growth), 0);
}

static int count_block(const struct block *block, void *context)
{
    struct garden *garden = context;
    garden->leaves += block_level(block) == 0;
    garden->items += block_level(block) == 0 ? block_nritems(block) : 0;
    return 0;
}

/* All blocks keep their promises, and there are so many items. */
static void garden_close(struct garden *garden, uint32_t items)
{
    ck_assert_int_eq(tree_walk(&garden->tree, count_block, garden), 0);
    ck_assert_uint_eq(garden->items, items);
    ck_assert_uint_eq(garden->leaves, 1 + garden->growth.counters.splits);
    heap_close(&garden->heap);
}

static int put(struct garden *garden, uint64_t offset, uint32_t size)
{
    struct key key = {256, EXTENT_DATA_KEY, offset};
    return tree_insert(&garden->tree, &key, NULL, size);
}

/* Keys and sizes that look random; a multiplication by an odd number gives no key twice. */
static void grow(struct garden *garden, struct room_policy *policy, uint32_t most)
{
    garden_open(garden, policy);
    for (uint32_t i = 1; i <= ITEMS; i++)
        ck_assert_int_eq(put(garden, i * 2654435761U, i * 40503U / 7 % (most + 1)), 0);
    garden_close(garden, ITEMS);
}

START_TEST(test_one_case)
{
    static const uint32_t sizes[4] = {300, 300, 1300, 1300};
    struct garden garden;
    garden_open(&garden, &gentle_policy);
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_int_eq(put(&garden, 10 * (i + 1), sizes[i]), 0);
    ck_assert_int_eq(put(&garden, 25, 1500), 0);
    ck_assert_uint_eq(garden.growth.counters.splits, 1);
    ck_assert_uint_eq(garden.growth.counters.double_splits, 0);
    garden_close(&garden, 5);
}
END_TEST

/* Items of at most half a leaf never need two new leaves. */
START_TEST(test_half_a_leaf)
{
    struct garden gentle, kernel;
    grow(&gentle, &gentle_policy, (NODE_SIZE - 101) / 2 - 25);
    grow(&kernel, &split_policy, (NODE_SIZE - 101) / 2 - 25);
    ck_assert_uint_gt(kernel.growth.counters.double_splits, 0);
    ck_assert_uint_eq(gentle.growth.counters.double_splits, 0);
}
END_TEST

START_TEST(test_large_items)
{
    struct garden gentle, kernel;
    grow(&gentle, &gentle_policy, MOST);
    grow(&kernel, &split_policy, MOST);
    ck_assert_uint_lt(gentle.growth.counters.double_splits, kernel.growth.counters.double_splits);
    ck_assert_uint_gt(gentle.growth.counters.double_splits, 0);
}
END_TEST

/* The item at the slot must find the path at itself. */
START_TEST(test_growing_item)
{
    static const uint32_t sizes[4] = {300, 300, 1300, 1300};
    struct garden garden;
    struct path path = {0};
    struct key key = {256, EXTENT_DATA_KEY, 30};
    garden_open(&garden, &gentle_policy);
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_int_eq(put(&garden, 10 * (i + 1), sizes[i]), 0);
    ck_assert_int_eq(tree_extend(&garden.tree, &key, NULL, 2000), 0);
    ck_assert_int_eq(tree_search(&garden.tree, &key, &path), 0);
    ck_assert_uint_eq(item_size(path.nodes[0], path.slots[0]), 3300);
    path_release(&garden.tree, &path);
    garden_close(&garden, 4);
}
END_TEST

START_TEST(test_too_large)
{
    struct garden garden;
    garden_open(&garden, &gentle_policy);
    ck_assert_int_eq(put(&garden, 1, MOST), 0);
    ck_assert_int_eq(put(&garden, 2, MOST + 1), -EOVERFLOW);
    garden_close(&garden, 1);
}
END_TEST

Suite *suite_gentle_leaf(void)
{
    Suite *suite = suite_create("gentle_leaf");
    TCase *test = tcase_create("all");
    tcase_add_test(test, test_one_case);
    tcase_add_test(test, test_half_a_leaf);
    tcase_add_test(test, test_large_items);
    tcase_add_test(test, test_growing_item);
    tcase_add_test(test, test_too_large);
    suite_add_tcase(suite, test);
    return suite;
}
