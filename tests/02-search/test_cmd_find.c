#include "fail.h"
#include "support.h"
#include "support_command.h"
#include "support_volume.h"

#include <stdlib.h>
#include <string.h>

static struct image image;
static char *right;

static bool is_right(const struct ran *ran)
{
    return strcmp(ran->out, right) == 0;
}

/* Tree 5 with the items 10, 20, ... 60 in three leaves below one node. */
static struct maker maker;

static void make_volume(void)
{
    maker_begin(&maker, 4096, CSUM_TYPE_CRC32, 1);
    struct block node = maker_block(&maker, FS_TREE_OBJECTID, 1);
    for (uint64_t i = 0; i < 3; i++) {
        struct block leaf = maker_block(&maker, FS_TREE_OBJECTID, 0);
        struct key keys[2] = {{256, ORPHAN_ITEM_KEY, 20 * i + 10},
                              {256, ORPHAN_ITEM_KEY, 20 * i + 20}};
        leaf_append(&leaf, keys[0], NULL, 0);
        leaf_append(&leaf, keys[1], NULL, 0);
        node_append(&node, keys[0], leaf.bytenr, MAKER_GENERATION);
        maker_write(&maker, &leaf);
    }
    maker_root(&maker, (struct key){FS_TREE_OBJECTID, ROOT_ITEM_KEY, 0}, &node);
    maker_write(&maker, &node);
    maker_end(&maker);
}

START_TEST(text)
{
    struct ran ran;
    make_volume();
    run_command(&ran, maker.image.path, "find", "fs", "256", "ORPHAN_ITEM", "40", "--stats");
    expect_success(ran.result);
    ck_assert_str_eq(ran.out,
                     "find tree fs key (256 ORPHAN_ITEM 40) found yes\n"
                     "  node bytenr 16777216 level 1 nritems 3 slot 1 key (256 ORPHAN_ITEM 30)\n"
                     "  leaf bytenr 16785408 level 0 nritems 2 slot 1\n"
                     "  item slot 1 key (256 ORPHAN_ITEM 40) data_offset 3995 size 0\n"
                     "  stats height 2 blocks 2 comparisons 3 blocks_read_in_all 4\n");
    free(ran.out);
    maker_close(&maker);
}
END_TEST

START_TEST(json)
{
    struct ran ran;
    make_volume();
    run_command(&ran, maker.image.path, "find", "--json", "fs", "256,ORPHAN_ITEM,10");
    expect_success(ran.result);
    ck_assert(is_json_lines(ran.out, ran.length));
    static const char head[] =
        "{\"what\":\"find\",\"tree\":\"fs\",\"key\":\"(256 ORPHAN_ITEM 10)\",\"found\":true,"
        "\"path\":[{\"what\":\"node\",\"bytenr\":16777216,\"level\":1,\"nritems\":3,\"slot\":0,"
        "\"key\":\"(256 ORPHAN_ITEM 10)\"},{\"what\":\"leaf\",";
    ck_assert_int_eq(strncmp(ran.out, head, sizeof head - 1), 0);
    free(ran.out);
    maker_close(&maker);
}
END_TEST

/* Not there: where it would be, as far as it can be told, and an error. */
START_TEST(missing)
{
    static const struct {
        const char *offset, *words;
    } cases[] = {
        {"5", "tree fs has no item (256 ORPHAN_ITEM 5); it would be in leaf 16781312 at slot 0"},
        {"15", "it would be in leaf 16781312 at slot 1"},
        {"25", "it would be in leaf 16781312 at slot 2"},
        {"55", "it would be in leaf 16789504 at slot 1"},
        {"65", "it would be in leaf 16789504 at slot 2"},
    };
    make_volume();
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct ran ran;
        run_command(&ran, maker.image.path, "find", "fs", "256", "ORPHAN_ITEM", cases[i].offset);
        expect_failure(ENOENT, cases[i].words, ran.result);
        ck_assert_ptr_nonnull(strstr(ran.out, "found no\n  node bytenr 16777216"));
        free(ran.out);
    }
    maker_close(&maker);
}
END_TEST

START_TEST(words_of_a_key)
{
    static const char *const right_words[] = {"(256 INODE_ITEM 0)", "256,INODE_ITEM,0",
                                              "256 inode_item 0",   "  256  1  0  ",
                                              "256,1,0,",           "(0x100,1,0)"};
    static const char *const wrong_words[] = {
        "",
        "256",
        "256 1",
        "256,1,0,0",
        "(256 INODE_ITEM x)",
        "256 bark 0",
        "bark 1 0",
        "256 256 0",
        "( )",
        "()",
        "                                                                                     "
        "             256 1 0",
    };
    image_open(&image, "first");
    for (size_t i = 0; i < LENGTH_OF(right_words); i++)
        expect_output("key (256 INODE_ITEM 0) found yes", image.path, "find", "fs", right_words[i]);
    expect_output("found yes", image.path, "find", "5", "256", "INODE_ITEM", "0");
    for (size_t i = 0; i < LENGTH_OF(wrong_words); i++)
        expect_refusal(EXIT_USAGE, "", image.path, "find", "fs", wrong_words[i]);
    expect_refusal(EXIT_USAGE, "a key is three words", image.path, "find", "fs", "256", "1");
    expect_refusal(EXIT_USAGE, "'bark' is not the name", image.path, "find", "bark", "256 1 0");
    expect_refusal(-ENOENT, "there is no tree 999", image.path, "find", "999", "256 1 0");
    expect_refusal(-ENOENT, "No such file", "/nonexistent", "find", "fs", "256 1 0");
    image_close(&image);
}
END_TEST

/* Every item of an image that the dump shows, find finds. */
START_TEST(every_item)
{
    static const char *const trees[] = {"root", "chunk", "extent",     "dev",       "fs",
                                        "csum", "uuid",  "free-space", "data-reloc"};
    image_open(&image, "first");
    size_t found = 0;
    for (size_t i = 0; i < LENGTH_OF(trees); i++) {
        struct ran ran;
        run_command(&ran, image.path, "dump", trees[i]);
        expect_success(ran.result);
        for (char *at = ran.out; (at = strstr(at, "\n  item slot ")); at++) {
            char key[96], words[128];
            ck_assert_int_eq(sscanf(at, " item slot %*u key %95[^)]", key), 1);
            strcat(key, ")");
            snprintf(words, sizeof words, "tree %s key %s found yes\n", trees[i], key);
            expect_output(words, image.path, "find", trees[i], key);
            found++;
        }
        free(ran.out);
    }
    ck_assert_uint_ge(found, 100);
    image_close(&image);
}
END_TEST

START_TEST(faults)
{
    static const char *const forms[][6] = {{"find", "fs", "256 INODE_ITEM 0"},
                                           {"find", "fs", "256 INODE_ITEM 0", "--json", "--stats"}};
    static const char *const names[] = {"first", "tall"};
    for (size_t i = 0; i < LENGTH_OF(forms) * LENGTH_OF(names); i++) {
        struct ran ran;
        const char *const *words = forms[i / 2];
        image_open(&image, names[i % 2]);
        run_words(&ran, image.path, words, NULL);
        right = ran.out;
        /* With a second copy, one more read stands in the statistics. */
        bool counts = i == 2;
        uint64_t reads = counts ? 8 : check_faults(FAULT_READ, EIO, image.path, words, is_right);
        uint64_t pieces = check_faults(FAULT_MEMORY, ENOMEM, image.path, words, is_right);
        expect(reads >= 8 && pieces >= 8, "%ju and %ju faults", (uintmax_t)reads,
               (uintmax_t)pieces);
        free(right);
        image_close(&image);
    }
}
END_TEST

SUITE_WITH(cmd_find, 60, load_first_image, text, json, missing, words_of_a_key, every_item, faults)
