#include "growth.h"

#include "support_grove.h"

static struct grove grove;

static const uint32_t node_sizes[] = {4096, 8192, 16384, 32768, 65536};

/* Without a limit an item costs its bytes; with one at least so much that no more fit. */
START_TEST(costs)
{
    for (size_t i = 0; i < LENGTH_OF(node_sizes); i++) {
        uint32_t room = node_sizes[i] - 101;
        for (uint32_t max_items = 0; max_items < 40; max_items += max_items ? 1 : 3) {
            struct growth growth = {.policy = &split_policy, .max_items = max_items};
            grove_open(&grove, node_sizes[i], &growth, 1);
            const struct block *leaf = grove_block(&grove, grove.tree.bytenr);
            for (uint32_t size = 0; size <= room - 25; size += 1 + size / 9) {
                uint32_t cost = item_cost(&grove.tree, leaf, size);
                uint32_t least = max_items ? room / max_items : 0;
                ck_assert_uint_eq(cost, size + 25 < least ? least : size + 25);
                expect(!max_items || (cost * max_items <= room) || size + 25 > least, "cost");
                expect(!max_items || cost * (max_items + 1) > room, "one item more would fit");
            }
            ck_assert_uint_eq(item_cost(&grove.tree, leaf, room - 25), room);
            ck_assert_uint_eq(leaf_left(&grove.tree, leaf), room);
            grove_close(&grove);
        }
    }
}
END_TEST

/* U(a, b) of every stretch of a leaf is the sum of its items' costs. */
START_TEST(used)
{
    static const uint32_t sizes[] = {0, 7, 100, 0, 1, 555, 30, 0}, count = LENGTH_OF(sizes);
    for (uint32_t max_items = 0; max_items <= 40; max_items += 10) {
        struct growth growth = {.policy = &split_policy, .max_items = max_items};
        grove_open(&grove, 4096, &growth, 1);
        grove_plant(&grove, &count, 1, sizes, 8);
        const struct block *leaf = grove_block(&grove, grove.tree.bytenr);
        for (uint32_t first = 0; first <= count; first++) {
            uint32_t sum = 0;
            for (uint32_t end = first; end <= count;
                 sum += item_cost(&grove.tree, leaf, sizes[end]), end++) {
                ck_assert_uint_eq(leaf_used(&grove.tree, leaf, first, end), sum);
                if (end == count)
                    break;
            }
            if (first == 0) {
                ck_assert_uint_eq(leaf_left(&grove.tree, leaf), 3995 - sum);
                if (max_items == 0)
                    ck_assert_uint_eq(leaf_left(&grove.tree, leaf), leaf_free_space(leaf));
            }
        }
        grove_close(&grove);
    }
}
END_TEST

START_TEST(pointers)
{
    static const uint32_t capacities[] = {121, 245, 493, 989, 1982};
    for (size_t i = 0; i < LENGTH_OF(node_sizes); i++) {
        struct growth growth = {.policy = &split_policy};
        grove_open(&grove, node_sizes[i], &growth, 1);
        const struct block *block = grove_block(&grove, grove.tree.bytenr);
        ck_assert_uint_eq(tree_max_ptrs(&grove.tree, block), capacities[i]);
        grove.growth.max_ptrs = 8;
        ck_assert_uint_eq(tree_max_ptrs(&grove.tree, block), 8);
        grove.growth.max_ptrs = 100000;
        ck_assert_uint_eq(tree_max_ptrs(&grove.tree, block), (node_sizes[i] - 101) / 33);
        grove_close(&grove);
    }
}
END_TEST

SUITE(growth, 60, costs, used, pointers)
