#include "dump.h"

#include "fail.h"
#include "support.h"
#include "support_command.h"
#include "support_volume.h"

#include <stdlib.h>
#include <string.h>

static struct maker maker;
static struct opened opened;

/* Tree 5: a node with two leaves. Tree 300 shares the second leaf with it. */
static void make_volume(void)
{
    maker_begin(&maker, 4096, CSUM_TYPE_CRC32, 1);
    struct block node = maker_block(&maker, FS_TREE_OBJECTID, 1);
    struct key keys[2] = {{256, ORPHAN_ITEM_KEY, 0}, {300, ORPHAN_ITEM_KEY, 0}};
    struct block leaves[2];
    for (unsigned i = 0; i < 2; i++) {
        leaves[i] = maker_block(&maker, FS_TREE_OBJECTID, 0);
        leaf_append(&leaves[i], keys[i], NULL, 0);
        node_append(&node, keys[i], leaves[i].bytenr, MAKER_GENERATION);
    }
    maker_root(&maker, (struct key){FS_TREE_OBJECTID, ROOT_ITEM_KEY, 0}, &node);
    maker_root(&maker, (struct key){300, ROOT_ITEM_KEY, 0}, &leaves[1]);
    maker_write(&maker, &leaves[0]);
    maker_write(&maker, &leaves[1]);
    maker_write(&maker, &node);
    maker_end(&maker);
    expect_success(open_volume(&opened, maker.image.path));
}

static void end_volume(void)
{
    close_volume(&opened);
    maker_close(&maker);
}

enum { TEXT, JSON, DOT };

/* The dump of one tree (id 0: of all) in a form; the counts too. */
static char *dump_as(int form, uint64_t id, struct dump *dump)
{
    char *text;
    size_t length;
    struct report report;
    *dump = (struct dump){.volume = &opened.volume, .file = open_memstream(&text, &length)};
    expect_success(report_open(&report, dump->file, form == JSON ? REPORT_JSON : REPORT_LINES));
    dump->report = form == DOT ? NULL : &report;
    expect_success(id ? dump_tree(dump, id) : dump_all(dump));
    report_close(&report);
    fclose(dump->file);
    return text;
}

START_TEST(text)
{
    struct dump dump;
    make_volume();
    char *shown = dump_as(TEXT, FS_TREE_OBJECTID, &dump);
    ck_assert_str_eq(
        shown, "tree name fs id 5 bytenr 16777216 level 1 generation 20\n"
               "node bytenr 16777216 level 1 nritems 2 generation 20 owner FS_TREE flags WRITTEN "
               "backref_rev 1\n"
               "  pointer slot 0 key (256 ORPHAN_ITEM 0) blockptr 16781312 generation 20\n"
               "  pointer slot 1 key (300 ORPHAN_ITEM 0) blockptr 16785408 generation 20\n"
               "leaf bytenr 16781312 level 0 nritems 1 free_space 3970 generation 20 owner FS_TREE "
               "flags WRITTEN backref_rev 1\n"
               "  item slot 0 key (256 ORPHAN_ITEM 0) data_offset 3995 size 0\n"
               "leaf bytenr 16785408 level 0 nritems 1 free_space 3970 generation 20 owner FS_TREE "
               "flags WRITTEN backref_rev 1\n"
               "  item slot 0 key (300 ORPHAN_ITEM 0) data_offset 3995 size 0\n");
    ck_assert_uint_eq(dump.trees, 1);
    ck_assert_uint_eq(dump.blocks, 3);
    ck_assert_uint_eq(dump.items, 2);
    free(shown);
    end_volume();
}
END_TEST

/* An object a line: each stands by itself. */
START_TEST(json)
{
    struct dump dump;
    make_volume();
    char *shown = dump_as(JSON, FS_TREE_OBJECTID, &dump);
    ck_assert(is_json_lines(shown, strlen(shown)));
    ck_assert_str_eq(
        shown,
        "{\"what\":\"pointer\",\"tree\":\"fs\",\"bytenr\":16777216,\"level\":1,\"slot\":0,"
        "\"key\":\"(256 ORPHAN_ITEM 0)\",\"objectid\":256,\"type\":48,\"offset\":0,\"size\":33,"
        "\"blockptr\":16781312,\"generation\":20}\n"
        "{\"what\":\"pointer\",\"tree\":\"fs\",\"bytenr\":16777216,\"level\":1,\"slot\":1,"
        "\"key\":\"(300 ORPHAN_ITEM 0)\",\"objectid\":300,\"type\":48,\"offset\":0,\"size\":33,"
        "\"blockptr\":16785408,\"generation\":20}\n"
        "{\"what\":\"item\",\"tree\":\"fs\",\"bytenr\":16781312,\"level\":0,\"slot\":0,"
        "\"key\":\"(256 ORPHAN_ITEM 0)\",\"objectid\":256,\"type\":48,\"offset\":0,"
        "\"data_offset\":3995,\"size\":0,\"contents\":[]}\n"
        "{\"what\":\"item\",\"tree\":\"fs\",\"bytenr\":16785408,\"level\":0,\"slot\":0,"
        "\"key\":\"(300 ORPHAN_ITEM 0)\",\"objectid\":300,\"type\":48,\"offset\":0,"
        "\"data_offset\":3995,\"size\":0,\"contents\":[]}\n");
    free(shown);
    end_volume();
}
END_TEST

START_TEST(all_trees)
{
    struct dump dump;
    make_volume();
    char *shown = dump_as(TEXT, 0, &dump);
    static const char *const heads[] = {"tree name root id 1 ", "\ntree name chunk id 3 ",
                                        "\ntree name fs id 5 ", "\ntree name 300 id 300 "};
    const char *at = shown;
    for (size_t i = 0; i < LENGTH_OF(heads); i++) {
        at = strstr(at, heads[i]);
        ck_assert_ptr_nonnull(at);
    }
    ck_assert_uint_eq(dump.trees, 4);
    ck_assert_uint_eq(dump.blocks, 6);
    ck_assert_uint_eq(dump.items, 2 + 2 + 2 + 1);
    free(shown);
    end_volume();
}
END_TEST

/* One graph, with an arrow for each pointer and from each tree to its root. */
START_TEST(drawing)
{
    struct dump dump;
    make_volume();
    char *shown = dump_as(DOT, 0, &dump);
    static const char *const lines[] = {
        "strict digraph trees {\n",
        "  \"fs\" -> b16777216;\n",
        "  \"300\" -> b16785408;\n",
        "  b16777216 [label=\"node 16777216\\nlevel 1, 2 pointers\", fillcolor=\"#88b0d8\"];\n",
        "  b16777216 -> b16785408 [label=\"(300 ORPHAN_ITEM 0)\"];\n",
        "  b16785408 [label=\"leaf 16785408\\n1 items, 0 % full\", fillcolor=\"#f4dca8\"];\n",
    };
    for (size_t i = 0; i < LENGTH_OF(lines); i++)
        expect(strstr(shown, lines[i]), "'%s' is not in\n%s", lines[i], shown);
    ck_assert_str_eq(shown + strlen(shown) - 2, "}\n");
    ck_assert_uint_eq(dump.blocks, 6);
    free(shown);
    end_volume();
}
END_TEST

/* An error in the middle: what was right stands there, and the drawing is closed all the same. */
START_TEST(errors)
{
    make_volume();
    image_write(&maker.image, 16785408 + 1000, "rotten", 6);
    for (int form = TEXT; form <= DOT; form++) {
        char *shown;
        size_t length;
        struct report report;
        struct dump dump = {.volume = &opened.volume, .file = open_memstream(&shown, &length)};
        expect_success(report_open(&report, dump.file, form == JSON ? REPORT_JSON : REPORT_LINES));
        dump.report = form == DOT ? NULL : &report;
        expect_failure(EUCLEAN, "tree fs: block 16785408: checksum", dump_all(&dump));
        expect_failure(EUCLEAN, "block 16785408: checksum", dump_tree(&dump, 300));
        expect_failure(ENOENT, "there is no tree 301", dump_tree(&dump, 301));
        report_close(&report);
        fclose(dump.file);
        ck_assert_ptr_nonnull(strstr(shown, "16781312"));
        ck_assert(form != JSON || is_json_lines(shown, length));
        ck_assert(form != DOT || strcmp(shown + length - 4, "}\n}\n") == 0 ||
                  strstr(shown, "}\nstrict"));
        free(shown);
    }
    end_volume();
}
END_TEST

/* Nobody can read the result: the dump ends at the next block. */
START_TEST(full_disk)
{
    make_volume();
    for (int form = TEXT; form <= JSON; form++) {
        struct report report;
        struct dump dump = {.volume = &opened.volume, .report = &report};
        dump.file = fopen("/dev/full", "w");
        setvbuf(dump.file, NULL, _IONBF, 0);
        expect_success(report_open(&report, dump.file, form == JSON ? REPORT_JSON : REPORT_LINES));
        expect_failure(EIO, "cannot write the result", dump_all(&dump));
        ck_assert_uint_eq(dump.blocks, 1);
        report_close(&report);
        fclose(dump.file);
    }
    end_volume();
}
END_TEST

SUITE(dump, 20, text, json, all_trees, drawing, errors, full_disk)
