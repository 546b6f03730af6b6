#include "leaf_move.h"

#include "fail.h"
#include "support_grove.h"

#include <string.h>

static struct grove grove;

enum { MOST = 7 };

/* Two leaves, as planted, with all items moved over that `count` says: the same items in the same
 * order, gap-free; what moved is counted. */
static void check_move(const uint32_t nitems[2], const uint32_t *sizes, bool to_right,
                       uint32_t count)
{
    struct growth growth = {.policy = &split_policy};
    grove_open(&grove, 4096, &growth, 1);
    grove_plant(&grove, nitems, 2, sizes, 8);
    const struct block *root = grove_block(&grove, grove.tree.bytenr);
    struct block *left = grove_block(&grove, from_le64(node_ptr(root, 0)->blockptr));
    struct block *right = grove_block(&grove, from_le64(node_ptr(root, 1)->blockptr));
    uint32_t first = to_right ? nitems[0] - count : nitems[0], bytes = 0;
    for (uint32_t i = first; i < first + count; i++)
        bytes += sizes[i] + 25;
    uint64_t moved = left->bytes_moved + right->bytes_moved;
    watch_forget(&grove.watch);

    if (to_right)
        leaf_move_right(&grove.tree, left, right, count);
    else
        leaf_move_left(&grove.tree, left, right, count);
    uint32_t in_left = to_right ? nitems[0] - count : nitems[0] + count;
    ck_assert_uint_eq(block_nritems(left), in_left);
    ck_assert_uint_eq(block_nritems(right), nitems[0] + nitems[1] - in_left);
    ck_assert_uint_eq(grove.growth.counters.bytes_between, bytes);
    ck_assert_uint_eq(grove.growth.counters.bytes_within,
                      left->bytes_moved + right->bytes_moved - moved);
    ck_assert_uint_eq(grove.watch.ndirtied, count ? 2 : 0);
    struct block *leaves[] = {left, right};
    for (uint32_t i = 0, in = 0, slot = 0; i < nitems[0] + nitems[1]; i++, slot++) {
        if (i == in_left)
            in = 1, slot = 0;
        struct key key = leaf_key(leaves[in], slot), wanted = grove_key(4 * i + 4);
        expect(key_compare(&key, &wanted) == 0 && item_size(leaves[in], slot) == sizes[i] &&
                   memcmp(item_data(leaves[in], slot), grove_data(grove.items[4 * i + 4].seed),
                          sizes[i]) == 0,
               "item %u of %u and %u, %u moved", i, nitems[0], nitems[1], count);
    }
    expect_success(leaf_check(left, NULL));
    expect_success(leaf_check(right, NULL));
    grove_close(&grove);
}

START_TEST(every_number)
{
    static const uint32_t sizes[][2 * MOST] = {
        {0},
        {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140},
        {0, 100, 0, 1, 200, 0, 7, 0, 0, 90, 3, 0, 250, 0},
    };
    for (size_t way = 0; way < LENGTH_OF(sizes); way++)
        for (uint32_t in_left = 1; in_left <= MOST; in_left++)
            for (uint32_t in_right = 1; in_right <= MOST; in_right++) {
                const uint32_t nitems[] = {in_left, in_right};
                for (uint32_t count = 0; count <= in_left; count++)
                    check_move(nitems, sizes[way], true, count);
                for (uint32_t count = 0; count <= in_right; count++)
                    check_move(nitems, sizes[way], false, count);
            }
}
END_TEST

/* All that one leaf holds, into one that has just this left. */
START_TEST(to_the_brim)
{
    static const uint32_t sizes[] = {1000, 1000, 900, 970, 0};
    static const uint32_t nitems[] = {2, 3};
    check_move(nitems, sizes, true, 2);
    check_move(nitems, sizes, false, 3);
}
END_TEST

SUITE(leaf_move, 60, every_number, to_the_brim)
