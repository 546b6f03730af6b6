#include "superblock.h"
#include "support.h"
#include "support_command.h"
#include "support_image.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the superblock of first.img says, in words and in JSON. */
START_TEST(fields)
{
    struct image image;
    image_open(&image, "first");
    expect_output("label                 \"first\"\n", image.path, "info");
    expect_output("fsid                  c0991ce0-0000-4000-8000-000000000001\n", image.path,
                  "info");
    expect_output("total_bytes           134217728\n", image.path, "info");
    expect_output("incompat_flags        mixed-backref|extref|skinny-metadata|no-holes\n",
                  image.path, "info");
    expect_output("flags                 written\n", image.path, "info");
    expect_output("\n  mirror number 2 bytenr 274877906944 state absent\n", image.path, "info");
    expect_output("\"label\":\"first\",\"fsid\":\"c0991ce0-", image.path, "info", "--json");
    expect_output("\"csum_type\":0,\"csum_type_name\":\"crc32c\"", image.path, "info", "--json");
    image_close(&image);
}
END_TEST

/* All that a superblock can hold has a word, and what has none a number. */
START_TEST(all_flags)
{
    struct image image;
    image_open(&image, "first");
    struct superblock super = image.super;
    super.flags = to_le64(0x1f00000007 | 8);
    super.compat_flags = to_le64(6);
    super.compat_ro_flags = to_le64(31);
    super.incompat_flags = to_le64(from_le64(super.incompat_flags) | INCOMPAT_METADATA_UUID);
    memset(super.dev_item.fsid, 0x77, FSID_SIZE);
    memset(super.metadata_uuid, 0x77, FSID_SIZE);
    image_put_super(&image, &super);
    expect_output("flags                 written|reloc|error|seeding|metadump|metadump-v2|"
                  "changing-fsid|changing-fsid-v2|0x8\n",
                  image.path, "info");
    expect_output("compat_flags          0x6\n", image.path, "info");
    expect_output("free-space-tree|free-space-tree-valid|verity|block-group-tree|0x10\n",
                  image.path, "info");
    expect_output("metadata_uuid         77777777-7777-7777-7777-777777777777\n", image.path,
                  "info");
    image_close(&image);
}
END_TEST

START_TEST(every_image)
{
    for (size_t i = 0; image_names[i]; i++) {
        struct image image;
        struct ran ran;
        image_open(&image, image_names[i]);
        expect_output("state good", image.path, "info");
        run_command(&ran, image.path, "info", "--json");
        expect(ran.result == 0 && is_json_lines(ran.out, ran.length), "%s", ran.out);
        ck_assert_uint_eq(ran.notes.count, 0);
        free(ran.out);
        image_close(&image);
    }
}
END_TEST

/* The states of the mirrors: good, stale, bad, absent; which one is used, and a word about it. */
START_TEST(mirrors)
{
    struct image image;
    struct superblock super;
    image_open(&image, "first");
    super = image.super;
    super.generation = to_le64(1001);
    image_put_super(&image, &super);
    expect_output("generation            1001\n", image.path, "info", "--mirror=0");
    expect_output("mirror_used           1\n", image.path, "info", "--mirror=1");
    expect_refusal(-ENOENT, "no superblock at 274877906944", image.path, "info", "--mirror=2");

    super.generation = to_le64(1000);
    super.bytenr = to_le64(superblock_offset(1));
    put_csum(CSUM_TYPE_CRC32, &super, sizeof super);
    image_write(&image, superblock_offset(1), &super, sizeof super);
    expect_output("  mirror number 0 bytenr 65536 state good generation 1001\n"
                  "  mirror number 1 bytenr 67108864 state stale generation 1000\n",
                  image.path, "info");
    expect_output("generation            1000\n", image.path, "info", "--mirror=1");
    expect_output("mirror number 0 bytenr 65536 state newer generation 1001\n", image.path, "info",
                  "--mirror=1");

    image_write(&image, superblock_offset(0) + 64, "torn", 4);
    struct ran ran;
    run_command(&ran, image.path, "info");
    expect_success(ran.result);
    ck_assert_ptr_nonnull(strstr(ran.out, "mirror_used           1\n"));
    ck_assert_ptr_nonnull(strstr(ran.out, "mirror number 0 bytenr 65536 state bad reason "
                                          "\"superblock at 65536: no Btrfs magic (U1)\"\n"));
    ck_assert_uint_eq(ran.notes.count, 1);
    free(ran.out);
    expect_refusal(-EUCLEAN, "superblock at 65536: no Btrfs magic (U1)", image.path, "info",
                   "--mirror=0");
    image_close(&image);
}
END_TEST

/* A feature that cannot be read: all is shown, and then it is said that it cannot. */
START_TEST(unsupported)
{
    static const char *const forms[][4] = {
        {"info"}, {"info", "--json"}, {"info", "--mirror=1"}, {"info", "--mirror=1", "--json"}};
    struct image image;
    image_open(&image, "first");
    struct superblock super = image.super;
    super.incompat_flags = to_le64(INCOMPAT_ZONED);
    image_put_super(&image, &super);
    for (size_t i = 0; i < LENGTH_OF(forms); i++) {
        struct ran ran;
        run_words(&ran, image.path, forms[i], NULL);
        expect_failure(EOPNOTSUPP, "the feature zoned is not supported", ran.result);
        ck_assert_ptr_nonnull(strstr(ran.out, "zoned"));
        ck_assert_int_eq(is_json_lines(ran.out, ran.length), i % 2);
        free(ran.out);
    }
    image_close(&image);
}
END_TEST

/* Left over from another file system. */
START_TEST(foreign_mirror)
{
    struct image image;
    image_open(&image, "first");
    struct superblock super = image.super;
    super.bytenr = to_le64(superblock_offset(1));
    super.generation = to_le64(99);
    memset(super.fsid, 7, FSID_SIZE);
    memset(super.dev_item.fsid, 7, FSID_SIZE);
    put_csum(CSUM_TYPE_CRC32, &super, sizeof super);
    image_write(&image, superblock_offset(1), &super, sizeof super);
    expect_output("bytenr 67108864 state foreign generation 99\n", image.path, "info");
    image_close(&image);
}
END_TEST

START_TEST(wrong_words)
{
    struct image image;
    image_open(&image, "first");
    expect_refusal(EXIT_USAGE, "--mirror: the mirrors are 0, 1 and 2", image.path, "info",
                   "--mirror=3");
    expect_refusal(EXIT_USAGE, "--mirror: 'x' is not a number", image.path, "info", "--mirror=x");
    expect_refusal(EXIT_USAGE, "--offset: '' is not a number", image.path, "info", "--offset");
    expect_refusal(-EINVAL, "pass the end", image.path, "info", "--offset=1T");
    image_close(&image);
}
END_TEST

static bool says_something(const struct ran *ran)
{
    return strstr(ran->out, "mirrors") || strstr(ran->out, "mirror number 2");
}

static bool is_whole(const struct ran *ran)
{
    return !strstr(ran->out, "Cannot allocate");
}

/* Reads and memory that fail. A copy that cannot be read is a fact to be told. */
START_TEST(faults)
{
    static const char *const forms[][3] = {{"info"}, {"info", "--json"}};
    struct image image;
    image_open(&image, "first");
    for (size_t i = 0; i < LENGTH_OF(forms); i++) {
        uint64_t reads = check_faults(FAULT_READ, EIO, image.path, forms[i], says_something);
        uint64_t pieces = check_faults(FAULT_MEMORY, ENOMEM, image.path, forms[i], says_something);
        /* No memory to read with is no fact about a copy. */
        uint64_t refused = check_faults(FAULT_READ, ENOMEM, image.path, forms[i], is_whole);
        ck_assert_uint_ge(reads, 6);
        ck_assert_uint_ge(refused, 6);
        ck_assert_uint_ge(pieces, 2);
    }
    image_close(&image);
}
END_TEST

SUITE_WITH(cmd_info, 20, load_all_images, fields, all_flags, every_image, mirrors, unsupported,
           foreign_mirror, wrong_words, faults)
