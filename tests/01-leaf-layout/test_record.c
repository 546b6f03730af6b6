#include "record.h"

#include "format.h"
#include "item.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every table, and the size of its structure on disk. */
static const struct {
    const struct record *record;
    uint32_t size;
} records[] = {
    {&inode_record, 160},
    {&inode_ref_record, 10},
    {&inode_extref_record, 18},
    {&dir_entry_record, 30},
    {&dir_log_record, 8},
    {&inline_extent_record, 53},
    {&extent_data_record, 53},
    {&root_record, 439},
    {&old_root_record, 439},
    {&root_ref_record, 18},
    {&extent_record, 24},
    {&tree_block_record, 18},
    {&extent_data_ref_record, 28},
    {&shared_data_ref_record, 4},
    {&block_group_record, 24},
    {&free_space_info_record, 8},
    {&free_space_header_record, 41},
    {&dev_extent_record, 48},
    {&dev_record, 98},
    {&chunk_record, 48},
    {&stripe_record, 32},
    {&qgroup_status_record, 40},
    {&qgroup_info_record, 40},
    {&qgroup_limit_record, 40},
    {&dev_replace_record, 72},
    {&balance_record, 448},
    {&verity_record, 25},
};

/* A field lies within its structure, over no other field, has a name of its own, and the size that
 * its form asks for. */
START_TEST(tables)
{
    for (size_t i = 0; i < LENGTH_OF(records); i++) {
        const struct record *record = records[i].record;
        bool taken[512] = {false};
        ck_assert_uint_eq(record->size, records[i].size);
        for (const struct field *field = record->fields; field->name; field++) {
            uint16_t size = field->size;
            bool right = size == 1 || size == 2 || size == 4 || size == 8;
            if (field->form == FIELD_TIME || field->form == FIELD_UUID || field->form == FIELD_KEY)
                right = size == (field->form == FIELD_TIME   ? 12
                                 : field->form == FIELD_UUID ? 16
                                                             : 17);
            expect(right, "%s.%s has %u bytes", record->what, field->name, size);
            expect((field->form == FIELD_FLAGS || field->form == FIELD_NAMED) == !!field->name_of,
                   "%s.%s: names", record->what, field->name);
            expect(field->offset + size <= record->size, "%s.%s ends behind its structure",
                   record->what, field->name);
            for (uint32_t byte = field->offset; byte < field->offset + size; byte++) {
                expect(!taken[byte], "%s.%s lies over another field", record->what, field->name);
                taken[byte] = true;
            }
            for (const struct field *other = record->fields; other != field; other++)
                expect(strcmp(other->name, field->name) != 0, "%s.%s twice", record->what,
                       field->name);
        }
    }
}
END_TEST

static char *tell(const struct record *record, const void *bytes)
{
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    struct report report;
    expect_success(report_open(&report, file, REPORT_LINES));
    report_begin(&report, record->what);
    record_fields(record, bytes, &report);
    report_end(&report);
    report_close(&report);
    fclose(file);
    return text;
}

/* Each number is read from its own bytes, in the right order, and from no others. */
START_TEST(each_number)
{
    for (size_t i = 0; i < LENGTH_OF(records); i++)
        for (const struct field *field = records[i].record->fields; field->name; field++) {
            if (field->form != FIELD_NUMBER)
                continue;
            unsigned char bytes[512] = {0};
            uint64_t value = 0x8877665544332211 & UINT64_MAX >> (64 - 8 * field->size);
            le64 number = to_le64(value);
            memcpy(bytes + field->offset, &number, field->size);
            char *text = tell(records[i].record, bytes), words[96];
            snprintf(words, sizeof words, " %s %ju", field->name, (uintmax_t)value);
            expect(strstr(text, words), "'%s' is not in %s", words, text);
            free(text);
        }
}
END_TEST

/* All bits set: whatever has no name is a number. */
START_TEST(all_ones)
{
    unsigned char bytes[512];
    memset(bytes, 0xff, sizeof bytes);
    for (size_t i = 0; i < LENGTH_OF(records); i++) {
        char *text = tell(records[i].record, bytes);
        expect(strchr(text, '\n') == text + strlen(text) - 1, "%s", text);
        free(text);
    }
    char *text = tell(&block_group_record, bytes);
    ck_assert_ptr_nonnull(strstr(text, "DATA|SYSTEM|METADATA|RAID0|RAID1|DUP|RAID10|RAID5|RAID6|"
                                       "RAID1C3|RAID1C4|0xfffffffffffff800"));
    free(text);
    text = tell(&extent_record, bytes);
    ck_assert_ptr_nonnull(strstr(text, "flags DATA|TREE_BLOCK|FULL_BACKREF|0xfffffffffffffefc"));
    free(text);
}
END_TEST

/* Names of values: each that there is, and the first that there is not. */
START_TEST(value_names)
{
    static const char *const types[] = {"UNKNOWN", "FILE", "DIR",     "CHRDEV", "BLKDEV",
                                        "FIFO",    "SOCK", "SYMLINK", "XATTR",  "9"};
    for (uint8_t type = 0; type < LENGTH_OF(types); type++) {
        struct dir_item entry = {.type = type};
        char *text = tell(&dir_entry_record, &entry), words[32];
        snprintf(words, sizeof words, " type %s ", types[type]);
        expect(strstr(text, words), "'%s' is not in %s", words, text);
        free(text);
    }
    static const char *const extents[] = {"type inline ", "type regular ", "type prealloc ",
                                          "type 3 "};
    static const char *const compressions[] = {"compression none ", "compression zlib ",
                                               "compression lzo ", "compression zstd ",
                                               "compression 4 "};
    for (uint8_t value = 0; value < 5; value++) {
        struct file_extent_item extent = {.type = value & 3, .compression = value};
        char *text = tell(&extent_data_record, &extent);
        expect(strstr(text, extents[value & 3]) && strstr(text, compressions[value]), "%s", text);
        free(text);
    }
    ck_assert_str_eq(header_flag_name(0), "WRITTEN");
    ck_assert_str_eq(header_flag_name(1), "RELOC");
    ck_assert_ptr_null(header_flag_name(2));
}
END_TEST

SUITE(record, 20, tables, each_number, all_ones, value_names)
