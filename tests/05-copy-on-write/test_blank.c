#include "blank.h"

#include "fail.h"
#include "support.h"
#include "support_device.h"
#include "support_faults.h"

#include <string.h>
#include <uuid/uuid.h>

static struct volume volume;
static struct notes notes;

static const struct blank_options plain = {
    .fsid = "blank",
    .label = "a name",
    .node_size = 16384,
    .sector_size = 4096,
    .csum_type = CSUM_TYPE_XXHASH,
    .total_bytes = 32 << 20,
    .incompat_flags = INCOMPAT_NO_HOLES,
    .compat_ro_flags = COMPAT_RO_VERITY,
};

static struct chunk system_chunk(uint64_t logical, unsigned copies)
{
    return (struct chunk){
        .logical = logical,
        .length = 1 << 20,
        .type = BLOCK_GROUP_SYSTEM | (copies > 1 ? BLOCK_GROUP_DUP : 0),
        .copies = copies,
        .physical = {logical, logical + (8 << 20)},
    };
}

/* --- uuids -------------------------------------------------------------------------- */

/* Version 5 as RFC 4122 has it: that of the name "www.example.com" among domains is known. */
START_TEST(uuids)
{
    static const uint8_t domains[FSID_SIZE] = {0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1,
                                               0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
    uint8_t one[UUID_SIZE], other[UUID_SIZE];
    char text[37];
    uuid_derive(domains, "www.example.com", one);
    uuid_unparse_lower(one, text);
    ck_assert_str_eq(text, "2ed6657d-e927-568b-95e1-2665a8aea6a2");
    uuid_derive(domains, "www.example.com", other);
    ck_assert_mem_eq(one, other, UUID_SIZE);
    uuid_derive(domains, "www.example.org", other);
    ck_assert_mem_ne(one, other, UUID_SIZE);
    uuid_derive(plain.fsid, "www.example.com", other);
    ck_assert_mem_ne(one, other, UUID_SIZE);
}
END_TEST

/* --- the superblock ----------------------------------------------------------------- */

START_TEST(settings)
{
    struct device *device = make_memory(32 << 20);
    uint8_t uuid[UUID_SIZE];
    volume_blank(&volume, device, &plain, &notes);
    const struct superblock *super = &volume.super;
    ck_assert_mem_eq(super->fsid, plain.fsid, FSID_SIZE);
    ck_assert_mem_eq(super->dev_item.fsid, plain.fsid, FSID_SIZE);
    ck_assert_str_eq(super->label, "a name");
    ck_assert_uint_eq(from_le32(super->nodesize), 16384);
    ck_assert_uint_eq(from_le32(super->leafsize_unused), 16384);
    ck_assert_uint_eq(from_le32(super->sectorsize), 4096);
    ck_assert_uint_eq(from_le16(super->csum_type), CSUM_TYPE_XXHASH);
    ck_assert_uint_eq(from_le64(super->total_bytes), 32 << 20);
    ck_assert_uint_eq(from_le64(super->dev_item.total_bytes), 32 << 20);
    ck_assert_uint_eq(from_le64(super->incompat_flags), INCOMPAT_NO_HOLES);
    ck_assert_uint_eq(from_le64(super->compat_ro_flags), COMPAT_RO_VERITY);
    ck_assert_uint_eq(from_le64(super->generation), 0);
    ck_assert_uint_eq(from_le64(super->flags), HEADER_FLAG_WRITTEN);
    ck_assert_uint_eq(from_le64(super->num_devices), 1);
    ck_assert_uint_eq(from_le64(super->root) + from_le64(super->chunk_root), 0);
    ck_assert_uint_eq(volume.chunks.count, 0);
    ck_assert_ptr_eq(volume.device, device);
    ck_assert_ptr_eq(volume.source.super, &volume.super);
    ck_assert_ptr_eq(volume.source.chunks, &volume.chunks);
    uuid_derive(plain.fsid, "device 1", uuid);
    ck_assert_mem_eq(super->dev_item.uuid, uuid, UUID_SIZE);
    uuid_derive(plain.fsid, "chunk tree", uuid);
    ck_assert_mem_eq(volume.chunk_tree_uuid, uuid, UUID_SIZE);
    volume_close(&volume);
    device_close(device);
}
END_TEST

/* None, the longest, and one that is cut. */
START_TEST(labels)
{
    struct device *device = make_memory(1 << 20);
    struct blank_options options = plain;
    char name[301];
    options.label = NULL;
    volume_blank(&volume, device, &options, &notes);
    ck_assert_str_eq(volume.super.label, "");
    for (size_t length = 254; length <= 300; length++) {
        memset(name, 'n', length);
        name[length] = '\0';
        options.label = name;
        volume_blank(&volume, device, &options, &notes);
        ck_assert_uint_eq(strnlen(volume.super.label, LABEL_SIZE), length < 255 ? length : 255);
    }
    device_close(device);
}
END_TEST

/* --- chunks ------------------------------------------------------------------------- */

static void begin(void)
{
    static struct device device;
    volume_blank(&volume, &device, &plain, &notes);
}

START_TEST(a_chunk)
{
    for (unsigned copies = 1; copies <= 2; copies++) {
        struct superblock super;
        const struct chunk *found;
        struct chunk chunk = system_chunk(1 << 20, copies);
        begin();
        super = volume.super;
        struct chunk_bytes bytes = chunk_describe(&volume, &chunk);
        expect_success(volume_add_chunk(&volume, &super, &chunk));
        ck_assert_uint_eq(from_le64(bytes.item.length), chunk.length);
        ck_assert_uint_eq(from_le64(bytes.item.type), chunk.type);
        ck_assert_uint_eq(from_le64(bytes.item.owner), EXTENT_TREE_OBJECTID);
        ck_assert_uint_eq(from_le64(bytes.item.stripe_len), 65536);
        ck_assert_uint_eq(from_le16(bytes.item.num_stripes), copies);
        ck_assert_uint_eq(from_le16(bytes.item.sub_stripes), 1);
        ck_assert_uint_eq(from_le32(bytes.item.sector_size), 4096);
        ck_assert_uint_eq(bytes.size, 48 + 32 * copies);
        for (unsigned copy = 0; copy < copies; copy++) {
            ck_assert_uint_eq(from_le64(bytes.stripes[copy].devid), 1);
            ck_assert_uint_eq(from_le64(bytes.stripes[copy].offset), chunk.physical[copy]);
            ck_assert_mem_eq(bytes.stripes[copy].dev_uuid, super.dev_item.uuid, UUID_SIZE);
        }
        /* In the map, and in the array of the superblock that was given, not in the volume's. */
        expect_success(chunk_map_find(&volume.chunks, (1 << 20) + 4096, 16384, &found));
        ck_assert_uint_eq(found->copies, copies);
        ck_assert_uint_eq(found->physical[copies - 1], chunk.physical[copies - 1]);
        ck_assert_uint_eq(from_le32(super.sys_chunk_array_size), 17 + bytes.size);
        ck_assert_mem_eq(super.sys_chunk_array + 17, &bytes, bytes.size);
        ck_assert_uint_eq(from_le32(volume.super.sys_chunk_array_size), 0);
        volume_close(&volume);

        struct chunk_map map;
        expect_success(chunk_map_open(&map, &super, 32 << 20));
        ck_assert_uint_eq(map.count, 1);
        ck_assert_uint_eq(map.chunks[0].logical, 1 << 20);
        chunk_map_close(&map);
    }
}
END_TEST

/* Other types are not in the array. */
START_TEST(not_system)
{
    struct chunk chunk = system_chunk(1 << 20, 1);
    chunk.type = BLOCK_GROUP_METADATA;
    begin();
    expect_success(volume_add_chunk(&volume, &volume.super, &chunk));
    ck_assert_uint_eq(from_le32(volume.super.sys_chunk_array_size), 0);
    ck_assert_uint_eq(volume.chunks.count, 1);
    volume_close(&volume);
}
END_TEST

/* The array holds 21 chunks of one copy, or 15 of two, and not one more. */
START_TEST(array_is_full)
{
    static const unsigned most[] = {0, 2048 / 97, 2048 / 129};
    for (unsigned copies = 1; copies <= 2; copies++) {
        begin();
        volume.chunks.device_bytes = 1 << 30;
        for (unsigned i = 0; i <= most[copies]; i++) {
            struct chunk chunk = system_chunk((uint64_t)(i + 1) << 24, copies);
            struct superblock before = volume.super;
            int result = volume_add_chunk(&volume, &volume.super, &chunk);
            if (i < most[copies])
                expect_success(result);
            else {
                expect_failure(EOVERFLOW, "no room for another system chunk", result);
                ck_assert_mem_eq(&before, &volume.super, sizeof before);
                ck_assert_uint_eq(volume.chunks.count, most[copies]);
            }
        }
        struct chunk_map map;
        expect_success(chunk_map_open(&map, &volume.super, 1 << 30));
        ck_assert_uint_eq(map.count, most[copies]);
        chunk_map_close(&map);
        volume_close(&volume);
    }
}
END_TEST

/* What the map refuses is not in the array. */
START_TEST(refusals)
{
    struct chunk chunk = system_chunk(1 << 20, 1);
    begin();
    expect_success(volume_add_chunk(&volume, &volume.super, &chunk));
    struct superblock before = volume.super;
    chunk.length += 4096;
    expect_failure(EUCLEAN, "overlaps", volume_add_chunk(&volume, &volume.super, &chunk));
    chunk = system_chunk(64 << 20, 1); /* behind the end of the device */
    expect_failure(EUCLEAN, "(C5)", volume_add_chunk(&volume, &volume.super, &chunk));
    ck_assert_mem_eq(&before, &volume.super, sizeof before);
    ck_assert_uint_eq(volume.chunks.count, 1);
    volume_close(&volume);
    begin();
    chunk = system_chunk(1 << 20, 1);
    faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, 0, 1});
    int result = volume_add_chunk(&volume, &volume.super, &chunk);
    faults_end();
    expect_failure(ENOMEM, "out of memory", result);
    ck_assert_uint_eq(from_le32(volume.super.sys_chunk_array_size), 0);
    volume_close(&volume);
}
END_TEST

/* The first, one in the middle, the last one; the others stay in order. */
START_TEST(remove_chunk)
{
    for (unsigned gone = 0; gone < 5; gone++) {
        begin();
        volume.chunks.device_bytes = 1 << 30;
        for (uint64_t i = 0; i < 5; i++) {
            struct chunk chunk = system_chunk((i + 1) << 24, 1);
            expect_success(volume_add_chunk(&volume, &volume.super, &chunk));
        }
        volume_remove_chunk(&volume, (gone + 1ULL) << 24);
        ck_assert_uint_eq(volume.chunks.count, 4);
        for (unsigned i = 0; i < 4; i++)
            ck_assert_uint_eq(volume.chunks.chunks[i].logical, (i + 1ULL + (i >= gone)) << 24);
        volume_close(&volume);
    }
}
END_TEST

SUITE(blank, 30, uuids, settings, labels, a_chunk, not_system, array_is_full, refusals,
      remove_chunk)
