#include "item.h"

#include "fail.h"
#include "support.h"
#include "support_command.h"
#include "support_leaf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A leaf with one item. It ends where the block ends, so that reading too far leaves the block. */
static struct block leaf_of(const struct sample *sample, uint32_t size)
{
    struct block leaf = make_leaf(4096);
    uint8_t data[3000] = {0};
    memcpy(data, sample->bytes, size < sample->size ? size : sample->size);
    leaf_append(&leaf, sample->key, data, size);
    return leaf;
}

static int check_sample(const struct sample *sample, uint32_t size)
{
    struct block leaf = leaf_of(sample, size);
    int result = item_check(&leaf, 0, &test_context);
    free_block(&leaf);
    return result;
}

/* What item_report says; the caller's to free. */
static char *report_item(const struct block *leaf, enum report_form form, const char *tree)
{
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    struct report report;
    expect_success(report_open(&report, file, form));
    item_report(leaf, 0, &test_context, tree, &report);
    report_close(&report);
    fclose(file);
    return text;
}

/* --- the shape of each type: L6 ----------------------------------------------------- */

START_TEST(samples_are_right)
{
    size_t count;
    const struct sample *samples = all_samples(&count);
    for (size_t i = 0; i < count; i++) {
        int result = check_sample(&samples[i], samples[i].size);
        expect(result == 0, "%s: %s", samples[i].name, fail_message());
    }
}
END_TEST

/* A structure of one size takes no other; a list takes only what its entries fill. */
START_TEST(other_sizes)
{
    static const char *const any_size[] = {"verity_bytes", "verity_merkle", "inline_lzo",
                                           "temporary",    "string",        "unknown",
                                           "untyped",      "nothing",       "persistent"};
    size_t count;
    const struct sample *samples = all_samples(&count);
    for (size_t i = 0; i < count; i++) {
        bool any = false;
        for (size_t j = 0; j < LENGTH_OF(any_size); j++)
            any = any || strcmp(samples[i].name, any_size[j]) == 0;
        for (uint32_t size = 0; size < samples[i].size + 40; size++) {
            int result = check_sample(&samples[i], size);
            expect(result == 0 || (result == -EUCLEAN && strstr(fail_message(), "(L6)")),
                   "%s of %u bytes: %d: %s", samples[i].name, size, result, fail_message());
            /* One byte more or less than right is wrong. */
            if (!any && (size == samples[i].size + 1 || size + 1 == samples[i].size))
                expect(result < 0, "%s of %u bytes is accepted", samples[i].name, size);
        }
    }
}
END_TEST

/* A field of a right item set to what it must not be. */
static const struct {
    const char *sample;
    uint32_t offset, size;
    uint64_t value;
    const char *words;
} faults[] = {
    {"inode_ref", 8, 2, 256, "a name of 256 bytes"},
    {"inode_ref", 8, 2, 17, "name of 17 bytes, 16 left of the item"},
    {"inode_ref", 8, 2, 4, "a name of 25856 bytes"},
    {"inode_extref", 16, 2, 4, "name of 4 bytes, 3 left of the item"},
    {"inode_extref", 16, 2, 2, "inode_extref of 18 bytes, 1 left"},
    {"inode_extref", 16, 2, 0xffff, "a name of 65535 bytes"},
    {"root_ref", 16, 2, 5, "name of 5 bytes, 4 left of the item"},
    {"root_ref", 16, 2, 3, "1 bytes too many"},
    {"root_backref", 16, 2, 0xffff, "a name of 65535 bytes"},
    {"dir_item", 27, 2, 256, "a name of 256 bytes"},
    {"dir_item", 27, 2, 37, "name of 37 bytes, 36 left of the item"},
    {"dir_item", 25, 2, 1, "an entry of type 1 with 1 bytes of data"},
    {"dir_item", 29, 1, FT_XATTR, "an entry of type 8 with 0 bytes of data"},
    {"dir_index", 25, 2, 3, "an entry of type 130 with 3 bytes of data"},
    {"xattr", 29, 1, FT_REG_FILE, "an entry of type 1 with 5 bytes of data"},
    {"xattr", 25, 2, 6, "data of 6 bytes, 5 left of the item"},
    {"xattr", 27, 2, 15, "name of 15 bytes, 14 left"},
    {"file_extent", 20, 1, 3, "extent type 3, compression 3"},
    {"file_extent", 16, 1, 4, "extent type 1, compression 4"},
    {"file_extent", 17, 1, 1, "compression 3, encryption 1"},
    {"file_extent", 45, 8, UINT64_MAX - 4095, "num_bytes 18446744073709547520 pass 2^64"},
    {"file_extent", 37, 8, UINT64_MAX, "offset 18446744073709551615 and num_bytes 12288 pass"},
    {"file_extent", 21, 8, UINT64_MAX, "pass 2^64"},
    {"prealloc", 29, 8, UINT64_MAX, "pass 2^64"},
    {"inline", 8, 8, 7, "an inline extent of 7 bytes holds 6"},
    {"root", 238, 1, 8, "level 8, drop_level 1"},
    {"root", 237, 1, 255, "level 2, drop_level 255"},
    {"root", 237, 1, 0, "drop_progress is set, drop_level is 0"},
    {"dev", 0, 8, 2, "devid 2"},
    {"dev", 8, 8, 0, "bytes used of 0"},
    {"dev", 16, 8, 15, "15 bytes used of 14 (L6)"},
    {"dev", 16, 8, UINT64_MAX, "18446744073709551615 bytes used of"},
    {"dir_index", 29, 1, FT_ENCRYPTED | 9, "an entry of type 137 with 0"},
    {"dir_index", 29, 1, 9, "an entry of type 9 with 0 bytes of data"},
    {"old_root", 238, 1, 255, "level 255, drop_level 1"},
    {"extent", 0, 8, 0, "an extent with 0 references"},
    {"extent", 0, 8, 6, "6 references, 7 of them inline"},
    {"extent", 16, 8, 0, "extent flags 0x0"},
    {"extent", 16, 8, 3, "extent flags 0x3"},
    {"extent", 16, 8, EXTENT_FLAG_TREE_BLOCK, "inline reference of type"},
    {"extent", 24, 1, TREE_BLOCK_REF_KEY, "inline reference of type 176"},
    {"extent", 24, 1, SHARED_BLOCK_REF_KEY, "inline reference of type 182"},
    {"extent", 24, 1, 0, "inline reference of type 0"},
    {"extent", 49, 4, 0, "an inline reference that counts 0"},
    {"extent", 62, 4, 0, "an inline reference that counts 0"},
    {"metadata", 16, 8, EXTENT_FLAG_DATA, "extent flags 0x1"},
    {"metadata", 0, 8, 1, "1 references, 2 of them inline"},
    {"metadata", 24, 1, EXTENT_DATA_REF_KEY, "inline reference of type 178"},
    {"metadata", 24, 1, SHARED_DATA_REF_KEY, "inline reference of type 184"},
    {"metadata", 24, 1, EXTENT_OWNER_REF_KEY, "inline reference of type 172"},
    {"tree_block", 0, 8, 0, "an extent with 0 references"},
    {"block_group", 0, 8, (8 << 20) + 1, "8388609 bytes used, more than its length"},
    {"chunk", 44, 2, 0, "0 stripes in 64 bytes"},
    {"chunk", 44, 2, 1, "1 stripes in 64 bytes"},
    {"chunk", 44, 2, 3, "3 stripes in 64 bytes"},
    {"chunk", 44, 2, 0xffff, "65535 stripes in 64 bytes"},
};

START_TEST(each_fault)
{
    for (size_t i = 0; i < LENGTH_OF(faults); i++) {
        struct sample sample = *find_sample(faults[i].sample);
        for (uint32_t byte = 0; byte < faults[i].size; byte++)
            sample.bytes[faults[i].offset + byte] = (uint8_t)(faults[i].value >> 8 * byte);
        expect_failure(EUCLEAN, faults[i].words, check_sample(&sample, sample.size));
        expect(strstr(fail_message(), "leaf 1048576 slot 0: item (") &&
                   strstr(fail_message(), "(L6)"),
               "%s", fail_message());
    }
}
END_TEST

/* A right item under a key that it does not fit. */
static const struct {
    const char *sample;
    struct key key;
    const char *words;
} wrong_keys[] = {
    {"inline", {257, EXTENT_DATA_KEY, 4096}, "an inline extent that is not at offset 0"},
    {"file_extent", {257, EXTENT_DATA_KEY, UINT64_MAX - 4095}, "pass 2^64"},
    {"csums", {EXTENT_CSUM_OBJECTID, EXTENT_CSUM_KEY, 2048}, "checksums of 12288 bytes"},
    {"csums", {EXTENT_CSUM_OBJECTID, EXTENT_CSUM_KEY, UINT64_MAX - 8191}, "checksums of 12288"},
    {"extent", {UINT64_MAX, EXTENT_ITEM_KEY, 4096}, "an extent that passes 2^64"},
    {"extent", {1 << 20, METADATA_ITEM_KEY, 0}, "extent flags 0x1"},
    {"free_space_bitmap", {0, FREE_SPACE_BITMAP_KEY, 16 * 4096}, "3 bytes for 16 sectors"},
    {"free_space_bitmap", {0, FREE_SPACE_BITMAP_KEY, 25 * 4096}, "3 bytes for 25 sectors"},
    {"free_space_bitmap", {0, FREE_SPACE_BITMAP_KEY, UINT64_MAX}, "3 bytes for 4503599627370495"},
    {"orphan", {1, INODE_ITEM_KEY, 0}, "inode of 160 bytes, 0 left"},
    {"inode", {1, ORPHAN_ITEM_KEY, 0}, "160 bytes too many"},
};

START_TEST(each_wrong_key)
{
    for (size_t i = 0; i < LENGTH_OF(wrong_keys); i++) {
        struct sample sample = *find_sample(wrong_keys[i].sample);
        sample.key = wrong_keys[i].key;
        expect_failure(EUCLEAN, wrong_keys[i].words, check_sample(&sample, sample.size));
    }
}
END_TEST

/* What the checks just allow. */
START_TEST(limits)
{
    struct sample sample = *find_sample("csums");
    sample.key.offset = UINT64_MAX - 4095 - 12288;
    expect_success(check_sample(&sample, 12));
    sample = *find_sample("extent");
    memset(sample.bytes, 0xff, 8);
    sample.key = (struct key){UINT64_MAX - 4096, EXTENT_ITEM_KEY, 4096};
    expect_success(check_sample(&sample, sample.size));
    sample.bytes[0] = 7;
    memset(sample.bytes + 1, 0, 7);
    expect_success(check_sample(&sample, sample.size));
    sample = *find_sample("free_space_bitmap");
    for (uint64_t sectors = 17; sectors <= 24; sectors++) {
        sample.key.offset = sectors * 4096;
        expect_success(check_sample(&sample, 3));
    }
    sample = *find_sample("dev");
    memcpy(sample.bytes + 16, sample.bytes + 8, 8); /* all of it used */
    expect_success(check_sample(&sample, sample.size));
    /* A chunk without stripes would be as long as it says. */
    sample = *find_sample("chunk");
    sample.bytes[offsetof(struct chunk_item, num_stripes)] = 0;
    expect_failure(EUCLEAN, "0 stripes in 0 bytes",
                   check_sample(&sample, sizeof(struct chunk_item)));
    /* A name of 255 bytes, and an empty one. */
    uint8_t name[sizeof(struct inode_ref) + 255] = {[8] = 255};
    struct sample longest = {.key = {257, INODE_REF_KEY, 256}, .size = sizeof name};
    memcpy(longest.bytes, name, sizeof name);
    expect_success(check_sample(&longest, sizeof name));
    longest.bytes[8] = 0;
    expect_success(check_sample(&longest, sizeof(struct inode_ref)));
}
END_TEST

/* --- what is told ------------------------------------------------------------------- */

START_TEST(text_of_each_sample)
{
    size_t count;
    const struct sample *samples = all_samples(&count);
    for (size_t i = 0; i < count; i++) {
        struct block leaf = leaf_of(&samples[i], samples[i].size);
        char *text = report_item(&leaf, REPORT_LINES, NULL), key[KEY_TEXT_SIZE], head[256];
        snprintf(head, sizeof head, "item slot 0 key %s data_offset %u size %u\n",
                 key_format(&samples[i].key, key), item_offset(&leaf, 0), samples[i].size);
        expect(strncmp(text, head, strlen(head)) == 0, "%s: %s", samples[i].name, text);
        const char *contents = text + strlen(head);
        expect(*samples[i].text ? strstr(contents, samples[i].text) != NULL : !*contents,
               "%s: '%s' is not in\n%s", samples[i].name, samples[i].text, text);
        free(text);
        free_block(&leaf);
    }
}
END_TEST

START_TEST(json_of_each_sample)
{
    size_t count;
    const struct sample *samples = all_samples(&count);
    for (size_t i = 0; i < count; i++) {
        struct block leaf = leaf_of(&samples[i], samples[i].size);
        char *text = report_item(&leaf, REPORT_JSON, "fs"), words[160];
        expect(is_json_lines(text, strlen(text)), "%s: %s", samples[i].name, text);
        snprintf(words, sizeof words, "\"objectid\":%ju,\"type\":%u,\"offset\":%ju,",
                 (uintmax_t)samples[i].key.objectid, samples[i].key.type,
                 (uintmax_t)samples[i].key.offset);
        expect(strstr(text, words), "%s: %s", samples[i].name, text);
        expect(strstr(text, "\"tree\":\"fs\",\"bytenr\":1048576,\"level\":0,"), "%s", text);
        free(text);
        free_block(&leaf);
    }
}
END_TEST

START_TEST(a_part_in_json)
{
    struct block leaf = leaf_of(find_sample("chunk"), find_sample("chunk")->size);
    char *text = report_item(&leaf, REPORT_JSON, NULL);
    expect(strstr(text, "\"contents\":[{\"what\":\"chunk\",\"length\":8388608,"), "%s", text);
    expect(strstr(text, "\"stripes\":[{\"what\":\"stripe\",\"devid\":1,"), "%s", text);
    expect(!strstr(text, "tree"), "%s", text);
    free(text);
    free_block(&leaf);
}
END_TEST

/* --- chaos -------------------------------------------------------------------------- */

/* Samples with some bytes changed, and plain random data under keys of every type: refused with
 * (L6), or accepted and then told in both forms. AddressSanitizer watches. */
START_TEST(random_items)
{
    struct dice dice = {13};
    size_t count, accepted = 0, refused = 0;
    const struct sample *samples = all_samples(&count);
    for (unsigned round = 0; round < 60000; round++) {
        struct sample sample = samples[dice_below(&dice, count)];
        if (round % 3 == 0) {
            sample.size = (uint32_t)dice_below(&dice, sizeof sample.bytes);
            dice_fill(&dice, sample.bytes, sample.size);
        }
        for (uint64_t changes = dice_below(&dice, 4); changes > 0 && sample.size; changes--)
            sample.bytes[dice_below(&dice, sample.size)] = (uint8_t)dice_next(&dice);
        if (round % 5 == 0)
            sample.key.offset = dice_next(&dice) >> dice_below(&dice, 64);
        struct block leaf = leaf_of(&sample, sample.size);
        int result = item_check(&leaf, 0, &test_context);
        if (result == 0) {
            char *lines = report_item(&leaf, REPORT_LINES, NULL);
            char *json = report_item(&leaf, REPORT_JSON, NULL);
            expect(is_json_lines(json, strlen(json)), "%s: %s", sample.name, json);
            free(lines);
            free(json);
            accepted++;
        } else {
            expect(result == -EUCLEAN && strstr(fail_message(), "(L6)"), "%d: %s", result,
                   fail_message());
            refused++;
        }
        free_block(&leaf);
    }
    ck_assert_uint_gt(accepted, 5000);
    ck_assert_uint_gt(refused, 5000);
}
END_TEST

START_TEST(context_of_a_superblock)
{
    static const uint32_t csum_sizes[] = {4, 8, 32, 32};
    for (uint16_t type = 0; type < 4; type++) {
        struct superblock super = {.csum_type = to_le16(type), .sectorsize = to_le32(65536)};
        struct item_context context = item_context_of(&super);
        ck_assert_uint_eq(context.csum_size, csum_sizes[type]);
        ck_assert_uint_eq(context.sectorsize, 65536);
    }
}
END_TEST

SUITE(item, 30, samples_are_right, other_sizes, each_fault, each_wrong_key, limits,
      text_of_each_sample, json_of_each_sample, a_part_in_json, random_items,
      context_of_a_superblock)
