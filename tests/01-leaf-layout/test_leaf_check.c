#include "leaf.h"

#include "fail.h"
#include "support.h"
#include "support_leaf.h"

#include <stdlib.h>
#include <string.h>

/* Three right items, the first of 100 bytes, the others of 8. */
static struct block good_leaf(void)
{
    struct block leaf = make_leaf(4096);
    leaf_append(&leaf, (struct key){1, 77, 0}, NULL, 100);
    leaf_append(&leaf, (struct key){1, 77, 1}, NULL, 8);
    leaf_append(&leaf, (struct key){256, ORPHAN_ITEM_KEY, 0}, NULL, 0);
    return leaf;
}

/* The first item ends at 3995, where the block ends. */
static const struct {
    const char *words;
    size_t offset, size; /* in the block */
    uint64_t value;
} broken[] = {
    {"level 1, not 0 (L1)", offsetof(struct block_header, level), 1, 1},
    {"level 255, not 0 (L1)", offsetof(struct block_header, level), 1, 255},
    {"160 items, room for 159 (L2)", offsetof(struct block_header, nritems), 4, 160},
    {"4294967295 items, room for 159 (L2)", offsetof(struct block_header, nritems), 4, UINT32_MAX},
    {"slot 1: key (ROOT_TREE UNKNOWN.77 0) does not come behind (ROOT_TREE UNKNOWN.77 0) (L3)",
     101 + 25 + 9, 8, 0},
    {"slot 1: key (0 UNKNOWN.77 1) does not come behind (ROOT_TREE UNKNOWN.77 0) (L3)", 101 + 25, 8,
     0},
    {"slot 2: key (ROOT_TREE ORPHAN_ITEM 0) does not come behind (ROOT_TREE UNKNOWN.77 1) (L3)",
     101 + 50, 8, 1},
    {"slot 0: item data [3894, 3994) should end at 3995 (L4)", 101 + 17, 4, 3894},
    {"slot 0: item data [3895, 3996) should end at 3995 (L4)", 101 + 21, 4, 101},
    {"slot 0: item data [3895, 4294971190) should end at 3995 (L4)", 101 + 21, 4, UINT32_MAX},
    {"slot 0: item data [4294967295, 4294967395) should end", 101 + 17, 4, UINT32_MAX},
    {"slot 1: item data [3887, 3894) should end at 3895 (L4)", 101 + 25 + 21, 4, 7},
    {"slot 2: item data [3886, 3886) should end at 3887 (L4)", 101 + 50 + 17, 4, 3886},
    {"slot 2: item (256 ORPHAN_ITEM 0): 1 bytes too many (L6)", 0, 0, 0}, /* see below */
};

START_TEST(each_rule)
{
    struct block leaf = good_leaf();
    expect_success(leaf_check(&leaf, &test_context));
    for (size_t i = 0; i < LENGTH_OF(broken); i++) {
        struct block damaged = good_leaf();
        for (size_t byte = 0; byte < broken[i].size; byte++)
            damaged.data[broken[i].offset + byte] = (uint8_t)(broken[i].value >> 8 * byte);
        if (broken[i].size == 0) { /* only an item's shape is wrong */
            expect_success(leaf_grow(&damaged, 2, 1));
            expect_success(leaf_check(&damaged, NULL));
        }
        expect_failure(EUCLEAN, broken[i].words, leaf_check(&damaged, &test_context));
        expect(strncmp(fail_message(), "leaf 1048576", 12) == 0, "%s", fail_message());
        free_block(&damaged);
    }
    free_block(&leaf);
}
END_TEST

/* L4: offset + size is right modulo 2^32. The sum must not be taken in 32 bits. */
START_TEST(sums_do_not_wrap)
{
    struct block leaf = good_leaf();
    for (uint32_t slot = 0; slot < 3; slot++) {
        uint32_t end = leaf_data_end(&leaf, slot);
        for (uint32_t beyond = 1; beyond < 1U << 31; beyond *= 2) {
            struct item_header saved = *leaf_item(&leaf, slot);
            leaf_item(&leaf, slot)->offset = to_le32(end + beyond);
            leaf_item(&leaf, slot)->size = to_le32(0 - beyond);
            expect_failure(EUCLEAN, "(L4)", leaf_check(&leaf, &test_context));
            *leaf_item(&leaf, slot) = saved;
        }
    }
    free_block(&leaf);
}
END_TEST

/* L5: the data may touch the item headers, and reach no byte further. */
START_TEST(data_meets_headers)
{
    struct block leaf = good_leaf();
    uint32_t room = leaf_free_space(&leaf);
    leaf_item(&leaf, 2)->key.type = 77;
    expect_success(leaf_grow(&leaf, 2, room));
    expect_success(leaf_check(&leaf, &test_context));
    leaf_item(&leaf, 2)->offset = to_le32(item_offset(&leaf, 2) - 1);
    leaf_item(&leaf, 2)->size = to_le32(item_size(&leaf, 2) + 1);
    expect_failure(EUCLEAN, "slot 2: item data [74, 3887) reaches into the 3 item headers (L5)",
                   leaf_check(&leaf, &test_context));
    free_block(&leaf);
}
END_TEST

/* Every byte of a leaf changed, one at a time: accepted or refused with a rule. And nothing is
 * touched outside of the block, whatever is in it: AddressSanitizer watches. */
START_TEST(any_byte)
{
    struct dice dice = {17};
    struct block leaf = good_leaf();
    for (size_t at = offsetof(struct block_header, nritems); at < leaf.size; at++) {
        unsigned char saved = leaf.data[at];
        for (unsigned change = 0; change < 8; change++) {
            leaf.data[at] = (unsigned char)dice_next(&dice);
            int result = leaf_check(&leaf, &test_context);
            expect(result == 0 || (result == -EUCLEAN && strstr(fail_message(), " (L")), "%d: %s",
                   result, fail_message());
        }
        leaf.data[at] = saved;
    }
    expect_success(leaf_check(&leaf, &test_context));
    free_block(&leaf);
}
END_TEST

START_TEST(any_bytes)
{
    struct dice dice = {19};
    for (unsigned round = 0; round < 50000; round++) {
        struct block leaf = good_leaf();
        dice_fill(&dice, leaf.data + 101, 3 * sizeof(struct item_header));
        block_header(&leaf)->nritems = to_le32((uint32_t)dice_below(&dice, 5));
        /* Half of them with right places, so that more than L4 is met. */
        for (uint32_t slot = 0; slot < block_nritems(&leaf) && round % 2; slot++) {
            uint32_t end = leaf_data_end(&leaf, slot), size = (uint32_t)dice_below(&dice, 60);
            leaf_item(&leaf, slot)->size = to_le32(size);
            leaf_item(&leaf, slot)->offset = to_le32(end - size);
        }
        int result = leaf_check(&leaf, &test_context);
        expect(result == 0 || result == -EUCLEAN, "%d", result);
        free_block(&leaf);
    }
}
END_TEST

SUITE(leaf_check, 30, each_rule, sums_do_not_wrap, data_meets_headers, any_byte, any_bytes)
