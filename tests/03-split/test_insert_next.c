/* Insertion behind the item that a path is kept at, and new keys in place. */
#include "change.h"
#include "fail.h"
#include "support_grove.h"

#include <string.h>

static struct grove grove;

static struct growth growth_of(unsigned way)
{
    return (struct growth){.policy = way & 1 ? &append_policy : &split_policy,
                           .shadow_first = way & 2,
                           .max_items = way & 4 ? 3 : 0,
                           .max_ptrs = way & 4 ? 8 : 0};
}

/* Inserts item `number` behind the path, and tells the model. */
static void insert_next(struct path *path, uint32_t number, uint32_t size)
{
    struct key key = grove_key(number);
    expect_success(tree_insert_next(&grove.tree, path, &key, NULL, size));
    struct key at = path_key(path);
    expect(key_compare(&at, &key) == 0, "the path is not at the new item");
    grove.items[number] = (struct grove_item){true, size, 0};
    grove.count++;
}

/* Keys in order, with gaps and at random places between, commits at any time: as tree_insert would
 * do it, with one search for a series. */
START_TEST(series)
{
    for (unsigned way = 0; way < 8; way++) {
        struct growth growth = growth_of(way);
        uint64_t searched = 0;
        grove_open(&grove, 4096, &growth, way + 1);
        grove.keys = 4000;
        for (int round = 0; round < 60; round++) {
            struct path path = {0};
            uint32_t number = 1 + (uint32_t)dice_below(&grove.dice, 3900);
            for (int i = 0; i < 40 && number < 4000; i++, number++) {
                if (grove.items[number].is_there)
                    continue;
                uint64_t comparisons = grove.tree.comparisons;
                insert_next(&path, number, (uint32_t)dice_below(&grove.dice, 400));
                searched += grove.tree.comparisons > comparisons;
                if (dice_below(&grove.dice, 4) == 0)
                    heap_commit(&grove.heap);
            }
            path_release(&grove.tree, &path);
            grove_check(&grove);
        }
        expect(searched < grove.count / 2, "%ju searches for %u items", (uintmax_t)searched,
               grove.count);
        grove_close(&grove);
    }
}
END_TEST

/* Where the key does not belong behind the path there is a search: before it, behind the next item,
 * behind the first of the next leaf. */
START_TEST(out_of_order)
{
    for (unsigned way = 0; way < 8; way++) {
        struct growth growth = growth_of(way);
        struct path path = {0};
        grove_open(&grove, 4096, &growth, way + 1);
        grove.keys = 3000;
        for (int i = 0; i < 800; i++) {
            uint32_t number = 1 + (uint32_t)dice_below(&grove.dice, 2999);
            if (!grove.items[number].is_there)
                insert_next(&path, number, 100);
        }
        path_release(&grove.tree, &path);
        grove_check(&grove);
        grove_close(&grove);
    }
}
END_TEST

/* After an error the path is released, and the next call searches. */
START_TEST(errors)
{
    struct growth growth = growth_of(0);
    struct path path = {0};
    grove_open(&grove, 4096, &growth, 1);
    grove.keys = 100;
    insert_next(&path, 10, 50);
    insert_next(&path, 11, 50);
    struct key key = grove_key(10);
    expect_failure(EEXIST, "has an item", tree_insert_next(&grove.tree, &path, &key, NULL, 1));
    ck_assert_ptr_null(path.nodes[0]);
    insert_next(&path, 12, 50);
    key = grove_key(13);
    expect_failure(EOVERFLOW, "a leaf holds",
                   tree_insert_next(&grove.tree, &path, &key, NULL, 3971));
    ck_assert_ptr_null(path.nodes[0]);
    ck_assert_uint_eq(grove.heap.held, 0);
    insert_next(&path, 13, 3970);
    path_release(&grove.tree, &path);
    grove_check(&grove);
    grove_close(&grove);
}
END_TEST

/* A new key in place; of the first item of a leaf it is a key of the nodes too. */
START_TEST(rekey)
{
    for (unsigned way = 0; way < 8; way++) {
        struct growth growth = growth_of(way);
        struct path path = {0};
        grove_open(&grove, 4096, &growth, way + 1);
        grove.keys = 2000;
        for (uint32_t number = 2; number < 1000; number += 2)
            insert_next(&path, number, 200);
        path_release(&grove.tree, &path);
        for (uint32_t number = 2; number < 1000; number += 2) {
            struct key key = grove_key(number), new_key = grove_key(number - 1);
            expect_success(tree_rekey(&grove.tree, &key, &new_key));
            grove.items[number - 1] = grove.items[number];
            grove.items[number].is_there = false;
            if (number % 50 == 0) {
                grove_check(&grove);
                heap_commit(&grove.heap);
            }
        }
        struct key absent = grove_key(1500);
        expect_failure(ENOENT, "has no item", tree_rekey(&grove.tree, &absent, &absent));
        grove_check(&grove);
        grove_close(&grove);
    }
}
END_TEST

SUITE(insert_next, 60, series, out_of_order, errors, rekey)
