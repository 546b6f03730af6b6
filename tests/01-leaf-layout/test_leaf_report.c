#include "leaf_report.h"

#include "fail.h"
#include "support.h"
#include "support_command.h"
#include "support_leaf.h"

#include <stdlib.h>
#include <string.h>

static struct block small_leaf(void)
{
    struct block leaf = make_leaf(4096);
    leaf_append(&leaf, (struct key){256, DIR_LOG_ITEM_KEY, 0}, "\5\0\0\0\0\0\0", 8);
    leaf_append(&leaf, (struct key){257, ORPHAN_ITEM_KEY, 0}, NULL, 0);
    return leaf;
}

/* leaf_show with one option or none: its result, and what it printed, which stays until the next
 * call. */
static int show(const struct block *leaf, const char *option, const char **shown)
{
    static char *text;
    size_t length;
    struct superblock super = {.sectorsize = to_le32(4096)};
    struct invocation invocation = {.options = {{option ? option : "", ""}}, .noptions = !!option};
    free(text);
    invocation.out = open_memstream(&text, &length);
    int result = leaf_show(&invocation, leaf, &super);
    fclose(invocation.out);
    *shown = text;
    return result;
}

START_TEST(text)
{
    struct block leaf = small_leaf();
    const char *shown;
    expect_success(show(&leaf, NULL, &shown));
    ck_assert_str_eq(shown, "leaf bytenr 1048576 level 0 nritems 2 free_space 3937 generation 7 "
                            "owner FS_TREE\n"
                            "  item slot 0 key (256 DIR_LOG_ITEM 0) data_offset 3987 size 8\n"
                            "    dir_log end 5\n"
                            "  item slot 1 key (257 ORPHAN_ITEM 0) data_offset 3987 size 0\n");
    free_block(&leaf);
}
END_TEST

START_TEST(json)
{
    struct block leaf = small_leaf();
    const char *shown;
    block_header(&leaf)->owner = to_le64(300);
    expect_success(show(&leaf, "json", &shown));
    ck_assert_str_eq(shown,
                     "{\"what\":\"leaf\",\"bytenr\":1048576,\"level\":0,\"nritems\":2,"
                     "\"free_space\":3937,\"generation\":7,\"owner\":300,\"items\":["
                     "{\"what\":\"item\",\"slot\":0,\"key\":\"(256 DIR_LOG_ITEM 0)\","
                     "\"objectid\":256,\"type\":60,\"offset\":0,\"data_offset\":3987,\"size\":8,"
                     "\"contents\":[{\"what\":\"dir_log\",\"end\":5}]},"
                     "{\"what\":\"item\",\"slot\":1,\"key\":\"(257 ORPHAN_ITEM 0)\","
                     "\"objectid\":257,\"type\":48,\"offset\":0,\"data_offset\":3987,\"size\":0,"
                     "\"contents\":[]}]}\n");
    free_block(&leaf);
}
END_TEST

START_TEST(drawing)
{
    struct block leaf = small_leaf();
    const char *shown;
    expect_success(show(&leaf, "dot", &shown));
    ck_assert_int_eq(strncmp(shown, "graph leaf {\n", 13), 0);
    free_block(&leaf);
}
END_TEST

/* What is no leaf, or a damaged one, is not shown. */
START_TEST(refused)
{
    struct block leaf = small_leaf();
    const char *shown;
    leaf_item(&leaf, 1)->size = to_le32(1);
    expect_failure(EUCLEAN, "leaf 1048576 slot 1", show(&leaf, NULL, &shown));
    ck_assert_str_eq(shown, "");
    block_header(&leaf)->level = 2;
    expect_failure(EINVAL, "block 1048576 is a node of level 2, not a leaf",
                   show(&leaf, "dot", &shown));
    ck_assert_str_eq(shown, "");
    free_block(&leaf);
}
END_TEST

SUITE(leaf_report, 10, text, json, drawing, refused)
