#include "key.h"

#include "fail.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

/* As `btrfs inspect-internal dump-tree` prints them. */
static const struct {
    struct key key;
    const char *text;
} keys[] = {
    {{256, INODE_ITEM_KEY, 0}, "(256 INODE_ITEM 0)"},
    {{FS_TREE_OBJECTID, ROOT_ITEM_KEY, 0}, "(FS_TREE ROOT_ITEM 0)"},
    {{1, DEV_ITEM_KEY, 1}, "(DEV_ITEMS DEV_ITEM 1)"},
    {{1, INODE_ITEM_KEY, 1}, "(ROOT_TREE INODE_ITEM 1)"},
    {{1, DEV_EXTENT_KEY, 1 << 20}, "(1 DEV_EXTENT 1048576)"},
    {{256, CHUNK_ITEM_KEY, 1 << 20}, "(FIRST_CHUNK_TREE CHUNK_ITEM 1048576)"},
    {{257, CHUNK_ITEM_KEY, 1 << 20}, "(257 CHUNK_ITEM 1048576)"},
    {{0, PERSISTENT_ITEM_KEY, 1}, "(DEV_STATS PERSISTENT_ITEM 1)"},
    {{0, INODE_ITEM_KEY, 1}, "(0 INODE_ITEM 1)"},
    {{EXTENT_CSUM_OBJECTID, EXTENT_CSUM_KEY, 0}, "(EXTENT_CSUM EXTENT_CSUM 0)"},
    {{DATA_RELOC_TREE_OBJECTID, ROOT_ITEM_KEY, 0}, "(DATA_RELOC_TREE ROOT_ITEM 0)"},
    {{TREE_RELOC_OBJECTID, ROOT_ITEM_KEY, 5}, "(TREE_RELOC ROOT_ITEM FS_TREE)"},
    {{TREE_RELOC_OBJECTID, ROOT_ITEM_KEY, 257}, "(TREE_RELOC ROOT_ITEM 257)"},
    {{257, ROOT_ITEM_KEY, 5}, "(257 ROOT_ITEM 5)"},
    {{5, DIR_INDEX_KEY, UINT64_MAX}, "(FS_TREE DIR_INDEX -1)"},
    {{UINT64_MAX, 255, UINT64_MAX}, "(-1 UNKNOWN.255 -1)"},
    {{FREE_SPACE_OBJECTID, 0, 1}, "(FREE_SPACE UNTYPED 1)"},
    {{1, 0, 1}, "(ROOT_TREE UNKNOWN.0 1)"},
    {{0x1234, UUID_KEY_SUBVOL, 5}, "(0x0000000000001234 UUID_KEY_SUBVOL 0x0000000000000005)"},
    {{UINT64_MAX, UUID_KEY_RECEIVED_SUBVOL, 0},
     "(0xffffffffffffffff UUID_KEY_RECEIVED_SUBVOL 0x0000000000000000)"},
    {{0, QGROUP_INFO_KEY, 257}, "(0 QGROUP_INFO 0/257)"},
    {{0, QGROUP_LIMIT_KEY, 1ULL << 48 | 100}, "(0 QGROUP_LIMIT 1/100)"},
    {{257, QGROUP_RELATION_KEY, 1ULL << 48 | 100}, "(0/257 QGROUP_RELATION 1/100)"},
    {{UINT64_MAX, QGROUP_RELATION_KEY, 0}, "(65535/281474976710655 QGROUP_RELATION 0/0)"},
    {{0, QGROUP_STATUS_KEY, 0}, "(0 QGROUP_STATUS 0)"},
};

START_TEST(text)
{
    for (size_t i = 0; i < LENGTH_OF(keys); i++) {
        char written[KEY_TEXT_SIZE];
        ck_assert_str_eq(key_format(&keys[i].key, written), keys[i].text);
    }
}
END_TEST

/* What key_format writes, key_parse reads. */
static void check_round(const struct key *key)
{
    char written[KEY_TEXT_SIZE], objectid[64], type[64], offset[64];
    struct key back;
    key_format(key, written);
    ck_assert_int_eq(sscanf(written, "(%63s %63s %63[^)])", objectid, type, offset), 3);
    int result = key_parse(objectid, type, offset, &back);
    expect(result == 0 && key_compare(key, &back) == 0, "%s: %d", written, result);
}

START_TEST(there_and_back)
{
    struct dice dice = {29};
    for (size_t i = 0; i < LENGTH_OF(keys); i++)
        check_round(&keys[i].key);
    for (unsigned type = 0; type < 256; type++)
        for (unsigned round = 0; round < 200; round++) {
            /* Small numbers and numbers near 2^64 have names. */
            uint64_t small = dice_below(&dice, 600) - 300;
            uint64_t large = dice_next(&dice) >> dice_below(&dice, 64);
            check_round(&(struct key){small, (uint8_t)type, large});
            check_round(&(struct key){large, (uint8_t)type, small});
        }
}
END_TEST

START_TEST(other_words)
{
    static const struct {
        const char *words[3];
        struct key key;
    } right[] = {
        {{"fs_tree", "inode_item", "0"}, {5, 1, 0}},
        {{"0x100", "0x01", "0XFF"}, {256, 1, 255}},
        {{"-9", "132", "-1"}, {DATA_RELOC_TREE_OBJECTID, 132, UINT64_MAX}},
        {{"5", "untyped", "007"}, {5, 0, 7}},
        {{"5", "unknown.77", "TREE_LOG"}, {5, 77, TREE_LOG_OBJECTID}},
        {{"18446744073709551615", "255", "65535/0x1"}, {UINT64_MAX, 255, 0xffffULL << 48 | 1}},
    };
    for (size_t i = 0; i < LENGTH_OF(right); i++) {
        struct key key;
        expect_success(key_parse(right[i].words[0], right[i].words[1], right[i].words[2], &key));
        ck_assert_int_eq(key_compare(&key, &right[i].key), 0);
    }
}
END_TEST

START_TEST(wrong_words)
{
    static const char *const numbers[] = {
        "",
        "-",
        "--1",
        "-x",
        "+1",
        " 1",
        "1 ",
        "1x",
        "0x",
        "x",
        "1.5",
        "18446744073709551616",
        "/",
        "1/",
        "/1",
        "1/2/3",
        "65536/0",
        "0/281474976710656",
        "1/x",
        "x/1",
        "-1/5",
        "00000001/5",
        "123456789012/5",
        "FS_TREES",
    };
    static const char *const types[] = {"", "256", "-1", "INODE", "UNKNOWN.", "UNKNOWN.256", "1 "};
    struct key key;
    for (size_t i = 0; i < LENGTH_OF(numbers); i++) {
        char words[64];
        snprintf(words, sizeof words, "'%s' is not the objectid of a key", numbers[i]);
        expect_failure(EINVAL, words, key_parse(numbers[i], "1", "0", &key));
        snprintf(words, sizeof words, "'%s' is not the offset of a key", numbers[i]);
        expect_failure(EINVAL, words, key_parse("1", "1", numbers[i], &key));
    }
    for (size_t i = 0; i < LENGTH_OF(types); i++)
        expect_failure(EINVAL, "is not the type of a key", key_parse("1", types[i], "0", &key));
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(key_type_name(INODE_ITEM_KEY), "INODE_ITEM");
    ck_assert_ptr_null(key_type_name(2));
    ck_assert_str_eq(objectid_name(UUID_TREE_OBJECTID), "UUID_TREE");
    ck_assert_ptr_null(objectid_name(256));
    ck_assert_ptr_null(objectid_name(0));
}
END_TEST

SUITE(key_text, 20, text, there_and_back, other_words, wrong_words, names)
