#include "node.h"

#include "fail.h"
#include "support.h"
#include "support_leaf.h"
#include "support_tree.h"

#include <string.h>

/* Three right pointers in a node of generation 7 and level 1. */
static struct block good_node(void)
{
    struct block node = make_node(4096, 1);
    for (uint64_t i = 0; i < 3; i++)
        node_append(&node, (struct key){256 + i, INODE_ITEM_KEY, 0}, (2 + i) << 20, 5 + i);
    return node;
}

enum { PTR = sizeof(struct key_ptr), BLOCKPTR = 17, GENERATION = 25 };

static const struct {
    const char *words;
    size_t offset, size; /* in the block */
    uint64_t value;
} broken[] = {
    {"node 1048576: level 0 (N1)", offsetof(struct block_header, level), 1, 0},
    {"node 1048576: level 8 (N1)", offsetof(struct block_header, level), 1, 8},
    {"node 1048576: level 255 (N1)", offsetof(struct block_header, level), 1, 255},
    {"node 1048576: 0 pointers, room for 121 (N2)", offsetof(struct block_header, nritems), 4, 0},
    {"node 1048576: 122 pointers, room for 121 (N2)", offsetof(struct block_header, nritems), 4,
     122},
    {"4294967295 pointers, room for 121 (N2)", offsetof(struct block_header, nritems), 4,
     UINT32_MAX},
    {"slot 1: key (256 INODE_ITEM 0) does not come behind (256 INODE_ITEM 0) (N3)", 101 + PTR, 8,
     256},
    {"slot 2: key (0 INODE_ITEM 0) does not come behind (257 INODE_ITEM 0) (N3)", 101 + 2 * PTR, 8,
     0},
    {"node 1048576 slot 0: child at 0 (N4)", 101 + BLOCKPTR, 8, 0},
    {"node 1048576 slot 2: child at 4097 (N4)", 101 + 2 * PTR + BLOCKPTR, 8, 4097},
    {"slot 1: child at 18446744073709551615 (N4)", 101 + PTR + BLOCKPTR, 8, UINT64_MAX},
    {"slot 0: child of generation 8 in a node of generation 7 (N5)", 101 + GENERATION, 8, 8},
    {"slot 2: child of generation 18446744073709551615", 101 + 2 * PTR + GENERATION, 8, UINT64_MAX},
};

START_TEST(each_rule)
{
    struct block node = good_node();
    expect_success(node_check(&node, 4096));
    free_block(&node);
    for (size_t i = 0; i < LENGTH_OF(broken); i++) {
        node = good_node();
        for (size_t byte = 0; byte < broken[i].size; byte++)
            node.data[broken[i].offset + byte] = (uint8_t)(broken[i].value >> 8 * byte);
        expect_failure(EUCLEAN, broken[i].words, node_check(&node, 4096));
        free_block(&node);
    }
}
END_TEST

/* N2 and N4 at their limits: full to the last pointer; other sector sizes. */
START_TEST(limits)
{
    static const struct {
        uint32_t nodesize, capacity;
    } sizes[] = {{4096, 121}, {8192, 245}, {16384, 493}, {32768, 989}, {65536, 1982}};
    for (size_t i = 0; i < LENGTH_OF(sizes); i++) {
        ck_assert_uint_eq(node_capacity(sizes[i].nodesize), sizes[i].capacity);
        struct block node = make_node(sizes[i].nodesize, 7);
        for (uint64_t slot = 0; slot < sizes[i].capacity; slot++)
            node_append(&node, (struct key){slot, 0, 0}, 65536 * (slot + 1), 7);
        expect_success(node_check(&node, 4096));
        expect_success(node_check(&node, 65536));
        node_ptr(&node, 3)->blockptr = to_le64(4096);
        expect_success(node_check(&node, 4096));
        expect_failure(EUCLEAN, "slot 3: child at 4096 (N4)", node_check(&node, 8192));
        free_block(&node);
    }
}
END_TEST

/* Whatever is in a block: nothing is touched outside of it. */
START_TEST(any_bytes)
{
    struct dice dice = {31};
    for (unsigned round = 0; round < 50000; round++) {
        struct block node = good_node();
        for (unsigned change = 0; change < 3; change++)
            node.data[48 + dice_below(&dice, 160)] = (uint8_t)dice_next(&dice);
        int result = node_check(&node, 4096);
        expect(result == 0 || (result == -EUCLEAN && strstr(fail_message(), " (N")), "%d: %s",
               result, fail_message());
        free_block(&node);
    }
}
END_TEST

SUITE(node, 20, each_rule, limits, any_bytes)
