#include "superblock.h"

#include "checksum.h"
#include "fail.h"
#include "support.h"
#include "support_device.h"
#include "support_faults.h"
#include "support_image.h"

#include <stdio.h>
#include <string.h>

enum { MIB = 1 << 20 };

/* A superblock that keeps all rules, of a file system of 64 MiB. */
static struct superblock good_super(void)
{
    struct superblock super = {
        .bytenr = to_le64(65536),
        .magic = to_le64(SUPERBLOCK_MAGIC),
        .generation = to_le64(10),
        .root = to_le64(5 * MIB),
        .chunk_root = to_le64(MIB),
        .total_bytes = to_le64(64 * MIB),
        .bytes_used = to_le64(MIB),
        .num_devices = to_le64(1),
        .sectorsize = to_le32(4096),
        .nodesize = to_le32(16384),
        .leafsize_unused = to_le32(16384),
        .sys_chunk_array_size = to_le32(129),
        .chunk_root_generation = to_le64(9),
        .fsid = "0123456789abcde",
        .dev_item.fsid = "0123456789abcde",
    };
    put_csum(CSUM_TYPE_CRC32, &super, sizeof super);
    return super;
}

/* --- U1 to U10 ---------------------------------------------------------------------- */

/* One field, set to another value. */
struct edit {
    size_t offset, size;
    uint64_t value;
};
#define SET(field, value)                                                                          \
    {                                                                                              \
        offsetof(struct superblock, field), sizeof((struct superblock *)0)->field, value           \
    }

static void apply(struct superblock *super, const struct edit *edit)
{
    le64 value = to_le64(edit->value);
    unsigned char *field = (unsigned char *)super + edit->offset;
    memset(field, 0, edit->size);
    memcpy(field, &value, edit->size < sizeof value ? edit->size : sizeof value);
}

static int read_edited(const struct edit edits[], size_t nedits)
{
    struct superblock super = good_super(), read;
    for (size_t i = 0; i < nedits; i++)
        apply(&super, &edits[i]);
    put_csum(from_le16(super.csum_type), &super, sizeof super);
    struct device *device = make_memory(64 * MIB);
    expect_success(device_write(device, 65536, &super, sizeof super));
    int result = superblock_read(device, 0, &read);
    device_close(device);
    return result;
}

static const struct {
    const char *words;
    struct edit edit;
} broken[] = {
    {"no Btrfs magic (U1)", SET(magic, 0)},
    {"no Btrfs magic (U1)", SET(magic, SUPERBLOCK_MAGIC + (1ULL << 56))},
    {"checksum type 4 is not known (U2)", SET(csum_type, 4)},
    {"checksum type 65535 is not known (U2)", SET(csum_type, 65535)},
    {"says that it lies at 67108864 (U3)", SET(bytenr, 64 * MIB)},
    {"says that it lies at 0 (U3)", SET(bytenr, 0)},
    {"sector size 0 (U4)", SET(sectorsize, 0)},
    {"sector size 2048 (U4)", SET(sectorsize, 2048)},
    {"sector size 12288 (U4)", SET(sectorsize, 12288)},
    {"sector size 131072 (U4)", SET(sectorsize, 131072)},
    {"node size 0 with sector size 4096 (U4)", SET(nodesize, 0)},
    {"node size 2048 with sector size 4096 (U4)", SET(nodesize, 2048)},
    {"node size 16383 with sector size 4096 (U4)", SET(nodesize, 16383)},
    {"node size 131072 with sector size 4096 (U4)", SET(nodesize, 131072)},
    {"node size 16384 with sector size 32768 (U4)", SET(sectorsize, 32768)},
    {"leaf size 4096, node size 16384 (U4)", SET(leafsize_unused, 4096)},
    {"root levels 8, 0, 0 (U5)", SET(root_level, 8)},
    {"root levels 0, 255, 0 (U5)", SET(chunk_root_level, 255)},
    {"root levels 0, 0, 8 (U5)", SET(log_root_level, 8)},
    {"roots at 0, 1048576, 0 (U6)", SET(root, 0)},
    {"roots at 5243392, 1048576, 0 (U6)", SET(root, 5 * MIB + 512)},
    {"roots at 5242880, 0, 0 (U6)", SET(chunk_root, 0)},
    {"roots at 5242880, 1048577, 0 (U6)", SET(chunk_root, MIB + 1)},
    {"roots at 5242880, 1048576, 2048 (U6)", SET(log_root, 2048)},
    {"system chunks has 0 bytes (U7)", SET(sys_chunk_array_size, 0)},
    {"system chunks has 96 bytes (U7)", SET(sys_chunk_array_size, 96)},
    {"system chunks has 2049 bytes (U7)", SET(sys_chunk_array_size, 2049)},
    {"system chunks has 4294967295 bytes (U7)", SET(sys_chunk_array_size, UINT32_MAX)},
    {"generation 0, that of the chunk root 9 (U8)", SET(generation, 0)},
    {"generation 10, that of the chunk root 11 (U8)", SET(chunk_root_generation, 11)},
    {"0 devices, or dev_item of another file system (U9)", SET(num_devices, 0)},
    {"1 devices, or dev_item of another file system (U9)", SET(dev_item.fsid, 0)},
    {"1048576 bytes used of 0 (U10)", SET(total_bytes, 0)},
    {"67108865 bytes used of 67108864 (U10)", SET(bytes_used, 64 * MIB + 1)},
    {"has 67108865 bytes, the image only 67108864: it is truncated (U10)",
     SET(total_bytes, 64 * MIB + 1)},
    {"has 18446744073709551615 bytes, the image only", SET(total_bytes, UINT64_MAX)},
};

START_TEST(each_rule)
{
    expect_success(read_edited(NULL, 0));
    for (size_t i = 0; i < LENGTH_OF(broken); i++)
        expect_failure(EUCLEAN, broken[i].words, read_edited(&broken[i].edit, 1));
}
END_TEST

/* What a rule just allows. */
START_TEST(each_limit)
{
    static const struct edit allowed[][3] = {
        {SET(sectorsize, 65536), SET(nodesize, 65536), SET(leafsize_unused, 65536)},
        {SET(sectorsize, 16384)},
        {SET(nodesize, 4096), SET(leafsize_unused, 4096)},
        {SET(nodesize, 65536), SET(leafsize_unused, 65536)},
        {SET(root_level, 7), SET(chunk_root_level, 7), SET(log_root_level, 7)},
        {SET(log_root, 9 * MIB)},
        {SET(sys_chunk_array_size, 97)},
        {SET(sys_chunk_array_size, 2048)},
        {SET(generation, UINT64_MAX), SET(chunk_root_generation, UINT64_MAX)},
        {SET(chunk_root_generation, 0)},
        {SET(bytes_used, 64 * MIB)},
        {SET(bytes_used, 0), SET(total_bytes, 1)},
        {SET(csum_type, CSUM_TYPE_XXHASH)},
        {SET(csum_type, CSUM_TYPE_SHA256)},
        {SET(csum_type, CSUM_TYPE_BLAKE2)},
        /* Of several devices one need not hold all. */
        {SET(num_devices, 2), SET(total_bytes, 640ULL * MIB)},
    };
    for (size_t i = 0; i < LENGTH_OF(allowed); i++) {
        size_t nedits = 0;
        while (nedits < 3 && allowed[i][nedits].size)
            nedits++;
        int result = read_edited(allowed[i], nedits);
        expect(result == 0, "case %zu: %s", i, fail_message());
    }
}
END_TEST

/* U2: a flip of any bit is seen. */
START_TEST(wrong_checksum)
{
    struct superblock super = good_super();
    expect_success(superblock_check(&super, 65536));
    for (size_t bit = 0; bit < 8 * sizeof super; bit++) {
        if (bit / 8 >= 4 && bit / 8 < CSUM_SIZE)
            continue; /* behind the 4 bytes of a crc32c */
        ((uint8_t *)&super)[bit / 8] ^= (uint8_t)(1U << bit % 8);
        expect(superblock_check(&super, 65536) == -EUCLEAN, "bit %zu", bit);
        ((uint8_t *)&super)[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    super.label[0] = 'x';
    expect_failure(EUCLEAN, "superblock at 65536: wrong checksum (U2)",
                   superblock_check(&super, 65536));
}
END_TEST

/* U9 with METADATA_UUID: the blocks and dev_item bear the other uuid. */
START_TEST(metadata_uuid)
{
    struct superblock super = good_super();
    ck_assert_ptr_eq(superblock_metadata_fsid(&super), super.fsid);
    super.incompat_flags = to_le64(INCOMPAT_METADATA_UUID);
    memset(super.metadata_uuid, 7, FSID_SIZE);
    put_csum(CSUM_TYPE_CRC32, &super, sizeof super);
    ck_assert_ptr_eq(superblock_metadata_fsid(&super), super.metadata_uuid);
    expect_failure(EUCLEAN, "(U9)", superblock_check(&super, 65536));
    memset(super.dev_item.fsid, 7, FSID_SIZE);
    put_csum(CSUM_TYPE_CRC32, &super, sizeof super);
    expect_success(superblock_check(&super, 65536));
}
END_TEST

/* --- features ----------------------------------------------------------------------- */

START_TEST(each_feature)
{
    static const struct {
        const char *name;
        bool readable;
    } features[] = {
        {"mixed-backref", true}, {"default-subvol", true},  {"mixed-bg", true},
        {"compress-lzo", true},  {"compress-zstd", true},   {"big-metadata", true},
        {"extref", true},        {"raid56", true},          {"skinny-metadata", true},
        {"no-holes", true},      {"metadata-uuid", true},   {"raid1c34", true},
        {"zoned", false},        {"extent-tree-v2", false}, {"raid-stripe-tree", false},
        {NULL, false},           {"simple-quota", true},
    };
    struct superblock super = good_super();
    for (unsigned bit = 0; bit < 64; bit++) {
        const char *name = bit < LENGTH_OF(features) ? features[bit].name : NULL;
        ck_assert_pstr_eq(incompat_name(bit), name);
        super.incompat_flags = to_le64(1ULL << bit);
        char words[64];
        snprintf(words, sizeof words, "incompat feature bit %u is not known", bit);
        if (name)
            snprintf(words, sizeof words, "the feature %s is not supported", name);
        if (bit < LENGTH_OF(features) && features[bit].readable)
            expect_success(superblock_supported(&super));
        else
            expect_failure(EOPNOTSUPP, words, superblock_supported(&super));
    }
    ck_assert_ptr_null(incompat_name(64));
}
END_TEST

/* compat_ro features say what may be written; reading is always right. */
START_TEST(compat_ro_features)
{
    static const char *const names[] = {"free-space-tree", "free-space-tree-valid", "verity",
                                        "block-group-tree"};
    struct superblock super = good_super();
    for (unsigned bit = 0; bit < 64; bit++) {
        ck_assert_pstr_eq(compat_ro_name(bit), bit < LENGTH_OF(names) ? names[bit] : NULL);
        super.compat_ro_flags = to_le64(1ULL << bit);
        expect_success(superblock_supported(&super));
    }
}
END_TEST

START_TEST(several_devices)
{
    struct superblock super = good_super();
    super.num_devices = to_le64(3);
    expect_failure(EOPNOTSUPP, "several devices are not supported: this is one of 3",
                   superblock_supported(&super));
}
END_TEST

/* --- which copy counts -------------------------------------------------------------- */

enum { ABSENT = 0, BAD = -1 }; /* else the copy's generation */

/* An image with these copies of the superblock; it ends behind the last of them. */
static void make_copies(struct image *image, const int generations[SUPERBLOCK_MIRRORS])
{
    struct superblock super = good_super();
    int last = 0;
    for (int i = 0; i < SUPERBLOCK_MIRRORS; i++)
        last = generations[i] ? i : last;
    image_open_blank(image, superblock_offset(last) + MIB);
    super.total_bytes = to_le64(MIB);
    for (int i = 0; i < SUPERBLOCK_MIRRORS; i++) {
        if (generations[i] == ABSENT)
            continue;
        super.bytenr = to_le64(superblock_offset(i));
        super.chunk_root_generation = to_le64(1);
        super.generation = to_le64((uint64_t)generations[i]);
        put_csum(CSUM_TYPE_CRC32, &super, sizeof super);
        super.csum[0] ^= generations[i] == BAD;
        image_write(image, superblock_offset(i), &super, sizeof super);
    }
}

static int open_copies(const int generations[SUPERBLOCK_MIRRORS], struct superblock *super,
                       int *mirror, struct notes *notes)
{
    struct image image;
    struct device *device;
    make_copies(&image, generations);
    expect_success(file_device_open(image.path, 0, &device));
    int result = superblock_open(device, super, mirror, notes);
    device_close(device);
    image_close(&image);
    return result;
}

START_TEST(which_copy_counts)
{
    static const struct {
        int generations[SUPERBLOCK_MIRRORS];
        int used; /* BAD: none */
    } cases[] = {
        {{5, ABSENT, ABSENT}, 0},
        {{5, 5, 5}, 0},
        {{5, 9, 9}, 0},
        {{5, BAD, BAD}, 0},
        {{BAD, 5, ABSENT}, 1},
        {{BAD, 5, 5}, 1},
        {{BAD, 5, 7}, 2},
        {{BAD, 7, 5}, 1},
        {{BAD, BAD, 3}, 2},
        {{BAD, 3, BAD}, 1},
        {{BAD, ABSENT, ABSENT}, BAD},
        {{BAD, BAD, BAD}, BAD},
        {{5, ABSENT, 9}, 0},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct superblock super;
        struct notes notes = {0};
        int mirror, result = open_copies(cases[i].generations, &super, &mirror, &notes);
        if (cases[i].used == BAD) {
            expect_failure(EUCLEAN, "superblock at 65536: wrong checksum (U2)", result);
            ck_assert_uint_eq(notes.count, 0);
            continue;
        }
        expect_success(result);
        ck_assert_int_eq(mirror, cases[i].used);
        ck_assert_uint_eq(from_le64(super.generation),
                          (uint64_t)cases[i].generations[cases[i].used]);
        ck_assert_uint_eq(notes.count, cases[i].used > 0);
    }
}
END_TEST

START_TEST(a_fall_back_is_noted)
{
    struct superblock super;
    struct notes notes = {0};
    int mirror;
    expect_success(open_copies((const int[]){BAD, 8, ABSENT}, &super, &mirror, &notes));
    ck_assert_str_eq(notes.text[0], "superblock at 65536: wrong checksum (U2); mirror 1 at "
                                    "67108864 is used, of generation 8");
}
END_TEST

/* Behind the first good mirror only those of the same file system count, however new. */
START_TEST(foreign_mirrors)
{
    for (int foreign = 1; foreign <= 2; foreign++) {
        struct image image;
        struct superblock super = good_super(), read;
        struct device *device;
        struct notes notes = {0};
        int mirror;
        image_open_blank(&image, superblock_offset(2) + MIB);
        super.total_bytes = to_le64(MIB);
        for (int i = 1; i <= 2; i++) {
            super.bytenr = to_le64(superblock_offset(i));
            super.generation = to_le64(i == 2 ? 50 : 40);
            super.fsid[0] = super.dev_item.fsid[0] = i == foreign ? 'F' : 'f';
            put_csum(CSUM_TYPE_CRC32, &super, sizeof super);
            image_write(&image, superblock_offset(i), &super, sizeof super);
        }
        expect_success(file_device_open(image.path, 0, &device));
        expect_success(superblock_open(device, &read, &mirror, &notes));
        ck_assert_int_eq(mirror, 1);
        ck_assert_uint_eq(from_le64(read.generation), 40);
        device_close(device);
        image_close(&image);
    }
}
END_TEST

/* A copy of the primary in the place of a mirror is no mirror: U3. */
START_TEST(misplaced_copy)
{
    struct superblock super = good_super(), read;
    struct device *device = make_memory(65 * MIB);
    expect_success(device_write(device, 64 * MIB, &super, sizeof super));
    expect_failure(EUCLEAN, "superblock at 67108864: says that it lies at 65536 (U3)",
                   superblock_read(device, 1, &read));
    device_close(device);
}
END_TEST

/* A feature is no damage: no mirror takes the place of a primary that asks for one. */
START_TEST(features_do_not_fall_back)
{
    struct superblock super = good_super(), read;
    struct device *device = make_memory(65 * MIB);
    struct notes notes = {0};
    int mirror;
    super.bytenr = to_le64(64 * MIB);
    put_csum(CSUM_TYPE_CRC32, &super, sizeof super);
    expect_success(device_write(device, 64 * MIB, &super, sizeof super));
    super = good_super();
    super.incompat_flags = to_le64(INCOMPAT_ZONED);
    put_csum(CSUM_TYPE_CRC32, &super, sizeof super);
    expect_success(device_write(device, 65536, &super, sizeof super));
    expect_failure(EOPNOTSUPP, "zoned", superblock_open(device, &read, &mirror, &notes));
    ck_assert_uint_eq(notes.count, 0);
    device_close(device);
}
END_TEST

/* A read that fails is a bad copy too; when all fail, so does the opening. */
START_TEST(unreadable)
{
    struct superblock super = good_super(), read;
    super.bytenr = to_le64(64 * MIB);
    put_csum(CSUM_TYPE_CRC32, &super, sizeof super);
    struct image image;
    image_open_blank(&image, 65 * MIB);
    image_write(&image, 64 * MIB, &super, sizeof super);
    for (uint64_t failing = 1; failing <= 2; failing++) {
        struct device *device;
        struct notes notes = {0};
        int mirror;
        expect_success(file_device_open(image.path, 0, &device));
        faults_begin(&(struct fault){FAULT_READ, FAULT_ERROR, EIO, 0, failing});
        int result = superblock_open(device, &read, &mirror, &notes);
        faults_end();
        if (failing == 1) {
            expect_success(result);
            ck_assert_int_eq(mirror, 1);
        } else
            expect_failure(EIO, "cannot read 4096 bytes at 65536: Input/output error", result);
        ck_assert_uint_eq(notes.count, failing == 1);
        device_close(device);
    }
    image_close(&image);
}
END_TEST

static int no_size(struct device *device, uint64_t *size)
{
    (void)device, (void)size;
    return fail(EIO, "no size");
}

START_TEST(no_image_at_all)
{
    for (uint64_t size = 0; size <= 65536 + 4096; size += size < 65536 ? 32768 : 4095) {
        struct device *device = make_memory(size);
        struct superblock super;
        struct notes notes = {0};
        int mirror;
        const char *words = size < 65536 + 4096 ? "is not a Btrfs image: no superblock at 65536"
                                                : "no Btrfs magic (U1)";
        expect_failure(EUCLEAN, words, superblock_open(device, &super, &mirror, &notes));
        expect_failure(ENOENT, "no superblock at 67108864", superblock_read(device, 1, &super));
        device_close(device);
    }
    struct device unmeasured = {.size = no_size};
    struct superblock super;
    expect_failure(EIO, "no size", superblock_read(&unmeasured, 0, &super));
}
END_TEST

SUITE(superblock, 20, each_rule, each_limit, wrong_checksum, metadata_uuid, each_feature,
      compat_ro_features, several_devices, which_copy_counts, a_fall_back_is_noted, foreign_mirrors,
      misplaced_copy, features_do_not_fall_back, unreadable, no_image_at_all)
