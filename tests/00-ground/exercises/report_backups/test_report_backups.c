#include "report_backups.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_report_backups(void);

/* Generations `oldest` to `newest`, as so many commits leave them in the ring. */
static void fill_ring(struct superblock *super, uint64_t oldest, uint64_t newest)
{
    *super = (struct superblock){.magic = to_le64(SUPERBLOCK_MAGIC)};
    for (uint64_t generation = oldest; generation <= newest; generation++)
        super->super_roots[generation % BACKUP_ROOTS] = (struct root_backup){
            .tree_root = to_le64(4096 * generation),
            .tree_root_gen = to_le64(generation),
            .tree_root_level = 1,
            .chunk_root = to_le64(1 << 20),
            .fs_root = to_le64(8192 * generation),
            .bytes_used = to_le64(1000 + generation),
        };
}

static void expect_text(enum report_form form, const struct superblock *super, const char *wanted)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    struct report report;
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(report_open(&report, file, form), 0);
    report_begin(&report, NULL);
    report_number(&report, "generation", 9);
    report_backups(&report, super);
    report_end(&report);
    report_close(&report);
    fclose(file);
    ck_assert_str_eq(text, wanted);
    free(text);
}

/* Generation 9 lies in slot 1, 8 in slot 0, 7 in slot 3, 6 in slot 2. */
START_TEST(test_newest_first)
{
    struct superblock super;
    fill_ring(&super, 3, 9);
    expect_text(REPORT_COLUMNS, &super,
                "generation            9\n"
                "  backup slot 1 generation 9 root 36864 root_level 1 chunk_root 1048576"
                " fs_root 73728 bytes_used 1009\n"
                "  backup slot 0 generation 8 root 32768 root_level 1 chunk_root 1048576"
                " fs_root 65536 bytes_used 1008\n"
                "  backup slot 3 generation 7 root 28672 root_level 1 chunk_root 1048576"
                " fs_root 57344 bytes_used 1007\n"
                "  backup slot 2 generation 6 root 24576 root_level 1 chunk_root 1048576"
                " fs_root 49152 bytes_used 1006\n");
}
END_TEST

START_TEST(test_leaves_out_empty_slots)
{
    struct superblock super;
    fill_ring(&super, 6, 7);
    expect_text(REPORT_COLUMNS, &super,
                "generation            9\n"
                "  backup slot 3 generation 7 root 28672 root_level 1 chunk_root 1048576"
                " fs_root 57344 bytes_used 1007\n"
                "  backup slot 2 generation 6 root 24576 root_level 1 chunk_root 1048576"
                " fs_root 49152 bytes_used 1006\n");
    fill_ring(&super, 1, 0);
    expect_text(REPORT_COLUMNS, &super, "generation            9\n");
}
END_TEST

/* Every image that was just made has fewer than four, and any slot may be the newest. */
START_TEST(test_every_turn_of_the_ring)
{
    for (uint64_t newest = 1; newest < 12; newest++) {
        struct superblock super;
        fill_ring(&super, 1, newest);
        char wanted[1024];
        int at = snprintf(wanted, sizeof wanted, "{\"generation\":9,\"backups\":[");
        for (uint64_t generation = newest; generation > 0 && generation + 4 > newest; generation--)
            at += snprintf(wanted + at, sizeof wanted - (size_t)at,
                           "%s{\"what\":\"backup\",\"slot\":%d,\"generation\":%d,\"root\":%d,"
                           "\"root_level\":1,\"chunk_root\":1048576,\"fs_root\":%d,"
                           "\"bytes_used\":%d}",
                           generation < newest ? "," : "", (int)(generation % BACKUP_ROOTS),
                           (int)generation, 4096 * (int)generation, 8192 * (int)generation,
                           1000 + (int)generation);
        snprintf(wanted + at, sizeof wanted - (size_t)at, "]}\n");
        expect_text(REPORT_JSON, &super, wanted);
    }
}
END_TEST

Suite *suite_report_backups(void)
{
    Suite *suite = suite_create("report_backups");
    TCase *test = tcase_create("all");
    tcase_add_test(test, test_newest_first);
    tcase_add_test(test, test_leaves_out_empty_slots);
    tcase_add_test(test, test_every_turn_of_the_ring);
    suite_add_tcase(suite, test);
    return suite;
}
