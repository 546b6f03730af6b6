#include "leaf.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_leaf_shrink_front(void);
void leaf_shrink_front(struct block *leaf, uint32_t slot, uint32_t bytes);

/* A leaf of 4 KiB with items of 0, 7, 14, ... bytes; byte i of slot s is s * 16 + i. */
static void fill(struct block *leaf)
{
    leaf_init(leaf, 1, FS_TREE_OBJECTID);
    for (uint32_t slot = 0; slot < 10; slot++) {
        unsigned char data[64];
        for (unsigned i = 0; i < sizeof data; i++)
            data[i] = (unsigned char)(slot * 16 + i);
        struct key key = {256, XATTR_ITEM_KEY, slot};
        ck_assert_int_eq(leaf_insert(leaf, slot, &key, data, 7 * slot), 0);
    }
}

/* Cuts every possible number of bytes off every slot, and looks at all items afterwards. */
START_TEST(test_every_cut)
{
    struct block leaf = {.data = calloc(1, 4096), .size = 4096};
    for (uint32_t slot = 0; slot < 10; slot++) {
        for (uint32_t bytes = 0; bytes <= 7 * slot; bytes++) {
            fill(&leaf);
            uint32_t free_space = leaf_free_space(&leaf);
            uint64_t before = leaf.bytes_moved;
            leaf_shrink_front(&leaf, slot, bytes);
            ck_assert_msg(leaf_check(&leaf, NULL) == 0, "slot %u, %u bytes", slot, bytes);
            ck_assert_uint_eq(leaf_free_space(&leaf), free_space + bytes);
            uint64_t behind = 0;
            for (uint32_t i = 0; i < 10; i++) {
                uint32_t cut = i == slot ? bytes : 0;
                ck_assert_uint_eq(item_size(&leaf, i), 7 * i - cut);
                const unsigned char *data = item_data(&leaf, i);
                for (uint32_t j = 0; j < item_size(&leaf, i); j++)
                    ck_assert_uint_eq(data[j], (unsigned char)(i * 16 + cut + j));
                behind += i > slot ? 7 * i : 0;
            }
            ck_assert_uint_eq(leaf.bytes_moved - before, behind);
        }
    }
    free(leaf.data);
}
END_TEST

Suite *suite_leaf_shrink_front(void)
{
    Suite *suite = suite_create("leaf_shrink_front");
    TCase *test = tcase_create("all");
    tcase_add_test(test, test_every_cut);
    suite_add_tcase(suite, test);
    return suite;
}
