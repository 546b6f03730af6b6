#include "torn_device.h"

#include "checksum.h"
#include "fail.h"
#include "superblock.h"

#include <check.h>
#include <string.h>

Suite *suite_torn_device(void);

static struct device *torn_memory(uint64_t size, uint64_t writes, size_t kept)
{
    struct device *memory, *torn;
    ck_assert_int_eq(memory_device_open(size, &memory), 0);
    ck_assert_int_eq(torn_device_open(memory, writes, kept, &torn), 0);
    return torn;
}

static void expect_bytes(struct device *device, const char *bytes)
{
    char found[16] = "";
    ck_assert_int_eq(device_read(device, 0, found, strlen(bytes)), 0);
    ck_assert_str_eq(found, bytes);
}

/* Every length that may be kept of a write of 8 bytes, the whole and more of it too. */
START_TEST(test_keeps_the_first_bytes)
{
    for (size_t kept = 0; kept <= 10; kept++) {
        struct device *torn = torn_memory(8, 1, kept);
        ck_assert_int_eq(device_write(torn, 0, "oooooooo", 8), 0);
        ck_assert_int_eq(device_write(torn, 0, "nnnnnnnn", 8), -EIO);
        char wanted[9] = "oooooooo";
        memset(wanted, 'n', kept < 8 ? kept : 8);
        expect_bytes(torn, wanted);
        device_close(torn);
    }
}
END_TEST

START_TEST(test_passes_on_before)
{
    struct device *torn = torn_memory(8, 2, 0);
    ck_assert_int_eq(device_write(torn, 0, "aaaa", 4), 0);
    ck_assert_int_eq(device_flush(torn), 0);
    ck_assert_int_eq(device_write(torn, 4, "bbbb", 4), 0);
    ck_assert_int_eq(device_resize(torn, 9), 0);
    expect_bytes(torn, "aaaabbbb");
    device_close(torn);
}
END_TEST

START_TEST(test_is_dead_afterwards)
{
    struct device *torn = torn_memory(8, 1, 2);
    uint64_t size;
    ck_assert_int_eq(device_write(torn, 0, "aaaaaaaa", 8), 0);
    ck_assert_int_eq(device_write(torn, 0, "bbbb", 4), -EIO);
    ck_assert_int_eq(device_write(torn, 0, "cccc", 4), -EIO);
    ck_assert_int_eq(device_flush(torn), -EIO);
    ck_assert_int_eq(device_resize(torn, 4), -EIO);
    ck_assert_int_eq(device_size(torn, &size), 0);
    ck_assert_uint_eq(size, 8);
    expect_bytes(torn, "bbaaaaaa");
    device_close(torn);
}
END_TEST

/* --- what it is good for ------------------------------------------------------------ */

enum { DEVICE_SIZE = (64 << 20) + SUPERBLOCK_SIZE };

/* A commit sets the generation and the root near the front and the backup far behind. */
static void make_superblock(struct superblock *super, int mirror, uint64_t generation)
{
    *super = (struct superblock){
        .bytenr = to_le64(superblock_offset(mirror)),
        .magic = to_le64(SUPERBLOCK_MAGIC),
        .generation = to_le64(generation),
        .root = to_le64(4096 * generation),
        .chunk_root = to_le64(1 << 20),
        .total_bytes = to_le64(DEVICE_SIZE),
        .num_devices = to_le64(1),
        .sectorsize = to_le32(4096),
        .nodesize = to_le32(4096),
        .leafsize_unused = to_le32(4096),
        .sys_chunk_array_size = to_le32(97),
    };
    super->super_roots[generation % BACKUP_ROOTS].tree_root_gen = to_le64(generation);
    csum_compute(CSUM_TYPE_CRC32, super->fsid, SUPERBLOCK_SIZE - CSUM_SIZE, super->csum);
}

/* Generation 7 lies in both places; the power fails while generation 8 is written to the first. */
static void expect_after_crash(size_t kept, uint64_t generation, int mirror)
{
    struct device *torn = torn_memory(DEVICE_SIZE, 2, kept);
    struct superblock super;
    for (int i = 0; i < 2; i++) {
        make_superblock(&super, i, 7);
        ck_assert_int_eq(device_write(torn, superblock_offset(i), &super, sizeof super), 0);
    }
    make_superblock(&super, 0, 8);
    ck_assert_int_eq(device_write(torn, superblock_offset(0), &super, sizeof super), -EIO);

    struct notes notes = {0};
    int found;
    ck_assert_msg(superblock_open(torn, &super, &found, &notes) == 0, "%s", fail_message());
    ck_assert_int_eq(found, mirror);
    ck_assert_uint_eq(from_le64(super.generation), generation);
    ck_assert_uint_eq(notes.count, mirror != 0);
    device_close(torn);
}

START_TEST(test_superblock)
{
    expect_after_crash(0, 7, 0);
    expect_after_crash(512, 7, 1);
    expect_after_crash(2048, 7, 1);
    expect_after_crash(SUPERBLOCK_SIZE, 8, 0);
}
END_TEST

Suite *suite_torn_device(void)
{
    Suite *suite = suite_create("torn_device");
    TCase *test = tcase_create("all");
    tcase_add_test(test, test_keeps_the_first_bytes);
    tcase_add_test(test, test_passes_on_before);
    tcase_add_test(test, test_is_dead_afterwards);
    tcase_add_test(test, test_superblock);
    suite_add_tcase(suite, test);
    return suite;
}
