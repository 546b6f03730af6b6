#include "delete.h"
#include "heap.h"
#include "insert.h"
#include "lab_seeded.h"
#include "push.h"

#include <check.h>

Suite *suite_cousin_left(void);
int cousin_left(struct tree *tree, const struct path *path, uint32_t *left);

enum { ITEMS = 900, LEAVES_MOST = 600 };

/* What the leaves have left, in order, and the first key of each. */
struct leaves {
    const struct tree *tree;
    uint32_t count, left[LEAVES_MOST];
    struct key first[LEAVES_MOST];
};

static int take_leaf(const struct block *block, void *context)
{
    struct leaves *leaves = context;
    if (block_level(block) > 0)
        return 0;
    ck_assert_uint_lt(leaves->count, LEAVES_MOST);
    leaves->left[leaves->count] = leaf_left(leaves->tree, block);
    leaves->first[leaves->count++] = leaf_key(block, 0);
    return 0;
}

START_TEST(test_every_leaf)
{
    struct push_policy rules = push_policy_kernel();
    struct growth growth = {.policy = &rules.policy, .max_items = 3, .max_ptrs = 8};
    struct seeded seeded = {7};
    struct heap heap;
    struct tree tree;
    heap_open(&heap, 4096);
    ck_assert_int_eq(heap_tree(&heap, &tree, 256, &growth), 0);
    for (int i = 0; i < ITEMS; i++) {
        struct key key = {256, EXTENT_DATA_KEY, seeded_next(&seeded) >> 8};
        ck_assert_int_eq(tree_insert(&tree, &key, NULL, (uint32_t)seeded_below(&seeded, 1300)), 0);
    }
    ck_assert_uint_ge(tree.level, 3);
    struct leaves leaves = {.tree = &tree};
    ck_assert_int_eq(tree_walk(&tree, take_leaf, &leaves), 0);

    for (uint32_t i = 0; i < leaves.count; i++) {
        struct path path = {0};
        uint32_t left = UINT32_MAX;
        ck_assert_int_eq(tree_search(&tree, &leaves.first[i], &path), 0);
        path.slots[0] = i % (block_nritems(path.nodes[0]) + 1);
        struct path before = path;
        uint64_t held = heap.held;
        int result = cousin_left(&tree, &path, &left);
        ck_assert_int_eq(result, i + 1 == leaves.count);
        if (result == 0)
            ck_assert_msg(left == leaves.left[i + 1], "leaf %u of %u: %u", i, leaves.count, left);
        ck_assert_mem_eq(&path, &before, sizeof path);
        ck_assert_uint_eq(heap.held, held);
        path_release(&tree, &path);
    }
    ck_assert_uint_eq(heap.held, 0);
    heap_close(&heap);
}
END_TEST

Suite *suite_cousin_left(void)
{
    Suite *suite = suite_create("cousin_left");
    TCase *test = tcase_create("all");
    tcase_add_test(test, test_every_leaf);
    suite_add_tcase(suite, test);
    return suite;
}
