#include "mkfs.h"

#include "checksum.h"
#include "fail.h"
#include "support_audit.h"
#include "support_crash.h"
#include "support_device.h"
#include "support_faults.h"
#include "support_space.h"

#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20 };

static struct volume volume;
static struct extent_allocator allocator;
static struct notes notes;

static struct mkfs_options options_of(unsigned way, uint32_t node_size, uint32_t sector_size)
{
    struct mkfs_options options = estate_options(node_size);
    options.blank.sector_size = sector_size;
    options.metadata_dup = way & 1;
    options.mixed = way & 8;
    options.data_dup = options.mixed ? way & 1 : way & 2;
    options.block_group_tree = way & 4;
    return options;
}

static struct device *make(const struct mkfs_options *options)
{
    uint64_t bytes = options->blank.total_bytes;
    struct device *device = make_memory(bytes ? bytes : mkfs_least_bytes(options));
    expect_success(mkfs(options, device, &volume, &allocator, &notes));
    ck_assert_uint_eq(notes.count, 0);
    extent_allocator_close(&allocator);
    volume_close(&volume);
    return device;
}

/* --- what is made
 * --------------------------------------------------------------------- */

static uint64_t type_bytes(uint64_t type, unsigned *copies)
{
    uint64_t bytes = 0;
    *copies = 0;
    for (size_t i = 0; i < volume.chunks.count; i++)
        if ((volume.chunks.chunks[i].type & BLOCK_GROUP_TYPE_MASK) == type) {
            bytes += volume.chunks.chunks[i].length;
            *copies = volume.chunks.chunks[i].copies;
        }
    return bytes;
}

static void check_chunks(const struct mkfs_options *options)
{
    unsigned copies, dup = options->metadata_dup ? 2 : 1;
    bool is_mixed = options->mixed;
    uint64_t mixed = BLOCK_GROUP_DATA | BLOCK_GROUP_METADATA;
    ck_assert_uint_eq(volume.chunks.count, is_mixed ? 2 : 3);
    expect(type_bytes(BLOCK_GROUP_SYSTEM, &copies) >= MIB && copies == dup, "system chunk");
    expect(type_bytes(is_mixed ? mixed : BLOCK_GROUP_METADATA, &copies) > 0 && copies == dup,
           "metadata chunk");
    if (!is_mixed)
        expect(type_bytes(BLOCK_GROUP_DATA, &copies) > 0 && copies == (options->data_dup ? 2 : 1),
               "data chunk");
}

static int count_tree(struct tree *tree, void *context)
{
    (void)tree;
    ++*(unsigned *)context;
    return 0;
}

static void check_made(const struct mkfs_options *options, struct device *device)
{
    unsigned trees = 0;
    uint64_t bytes = options->blank.total_bytes;
    expect_sound(device);
    expect_success(volume_open(&volume, device, &notes));
    const struct superblock *super = &volume.super;
    bytes = bytes ? bytes : mkfs_least_bytes(options);
    ck_assert_uint_eq(from_le64(super->total_bytes), bytes - bytes % options->blank.sector_size);
    ck_assert_uint_eq(from_le32(super->nodesize), options->blank.node_size);
    ck_assert_uint_eq(from_le32(super->leafsize_unused), options->blank.node_size);
    ck_assert_uint_eq(from_le32(super->sectorsize), options->blank.sector_size);
    ck_assert_uint_eq(from_le64(super->generation), 1);
    ck_assert_uint_eq(from_le64(super->uuid_tree_generation), 1);
    ck_assert_uint_eq(from_le16(super->csum_type), options->blank.csum_type);
    ck_assert_mem_eq(super->fsid, options->blank.fsid, FSID_SIZE);
    uint64_t incompat = from_le64(super->incompat_flags);
    uint64_t compat_ro = from_le64(super->compat_ro_flags);
    ck_assert_int_eq((incompat & INCOMPAT_BIG_METADATA) != 0, options->blank.node_size > 4096);
    ck_assert_int_eq((incompat & INCOMPAT_MIXED_GROUPS) != 0, options->mixed);
    ck_assert_int_eq((compat_ro & COMPAT_RO_BLOCK_GROUP_TREE) != 0, options->block_group_tree);
    uint64_t always = INCOMPAT_MIXED_BACKREF | INCOMPAT_EXTENDED_IREF | INCOMPAT_SKINNY_METADATA |
                      INCOMPAT_NO_HOLES;
    ck_assert_uint_eq(incompat & always, always);
    ck_assert_uint_eq(compat_ro & 3, 3); /* the free-space tree, and it is valid */
    expect_success(volume_each_tree(&volume, count_tree, &trees));
    ck_assert_uint_eq(trees, options->block_group_tree ? 10 : 9);
    check_chunks(options);
    volume_close(&volume);
}

/* Each combination, as small as can be; then items are put in and taken out. */
START_TEST(combinations)
{
    static struct estate estate;
    unsigned made = 0;
    for (uint32_t node_size = 4096; node_size <= 65536; node_size *= 2)
        for (uint32_t sector = 4096; sector <= node_size; sector *= 2)
            for (unsigned way = 0; way < 16; way += SANITIZED ? 5 : 1) {
                struct mkfs_options options = options_of(way, node_size, sector);
                if (options.mixed && (node_size != sector || way & 2))
                    continue;
                options.blank.csum_type = (uint16_t)(made % 4);
                struct device *device = make(&options);
                check_made(&options, device);
                if (made++ % (SANITIZED ? 8 : 2) == 0) {
                    estate_open(&estate, device, NULL, made);
                    for (unsigned i = 0; i < 3; i++) {
                        estate_begin(&estate);
                        expect_success(estate_steps(&estate, 10));
                        expect_success(estate_commit(&estate));
                        expect_estate(&estate);
                    }
                    estate_close(&estate);
                }
                device_close(device);
            }
    ck_assert_uint_ge(made, SANITIZED ? 30 : 15 * 8 + 5 * 4);
}
END_TEST

START_TEST(lengths)
{
    static const uint64_t sizes[] = {
        0,        19 * MIB,          37 * MIB + 4096, 64 * MIB,  64 * MIB + 4096,
        65 * MIB, 100 * MIB + 12345, 1ULL << 30,      3ULL << 30};
    for (size_t i = 0; i < LENGTH_OF(sizes); i++)
        for (unsigned way = 0; way < 4; way += SANITIZED ? 3 : 1) {
            struct mkfs_options options = options_of(way, 16384, 4096);
            options.blank.total_bytes = sizes[i];
            if (sizes[i] && sizes[i] < mkfs_least_bytes(&options))
                continue;
            struct device *device = make(&options);
            check_made(&options, device);
            device_close(device);
        }
}
END_TEST

/* A device may be longer than the file system. */
START_TEST(longer_device)
{
    struct mkfs_options options = options_of(0, 16384, 4096);
    options.blank.total_bytes = 40 * MIB;
    struct device *device = make_memory(100 * MIB);
    expect_success(mkfs(&options, device, &volume, &allocator, &notes));
    extent_allocator_close(&allocator);
    volume_close(&volume);
    check_made(&options, device);
    device_close(device);
}
END_TEST

static uint64_t image_digest(struct device *device)
{
    static unsigned char bytes[MIB];
    uint64_t size, digest = 0;
    le64 sum[CSUM_SIZE / sizeof(le64)];
    expect_success(device_size(device, &size));
    for (uint64_t at = 0; at < size; at += sizeof bytes) {
        size_t length = size - at < sizeof bytes ? (size_t)(size - at) : sizeof bytes;
        expect_success(device_read(device, at, bytes, length));
        csum_compute(CSUM_TYPE_XXHASH, bytes, length, (uint8_t *)sum);
        digest = digest * 0x100000001b3 ^ from_le64(sum[0]);
    }
    return digest;
}

/* The same options make the same bytes; another fsid, label or time others. */
START_TEST(deterministic)
{
    uint64_t digests[5];
    for (unsigned i = 0; i < 5; i++) {
        struct mkfs_options options = options_of(1, 16384, 4096);
        if (i == 2)
            options.blank.label = "another";
        if (i == 3)
            options.blank.fsid[3] ^= 1;
        if (i == 4)
            options.time.nsec = to_le32(1);
        struct device *device = make(&options);
        digests[i] = image_digest(device);
        device_close(device);
    }
    ck_assert_uint_eq(digests[0], digests[1]);
    for (unsigned i = 2; i < 5; i++)
        ck_assert_uint_ne(digests[0], digests[i]);
}
END_TEST

/* Generation, times, uuids: where the kernel looks for them. */
START_TEST(details)
{
    struct mkfs_options options = options_of(0, 16384, 4096);
    struct tree roots, tree;
    struct path path = {0};
    options.blank.label = "a label";
    struct device *device = make(&options);
    expect_success(volume_open(&volume, device, &notes));
    ck_assert_str_eq(volume.super.label, "a label");

    struct key key = {FS_TREE_OBJECTID, ROOT_ITEM_KEY, 0};
    expect_success(volume_tree(&volume, ROOT_TREE_OBJECTID, &roots));
    ck_assert_int_eq(tree_search(&roots, &key, &path), 0);
    struct root_item item;
    memcpy(&item, item_data(path.nodes[0], path.slots[0]), sizeof item);
    ck_assert_uint_eq(item_size(path.nodes[0], path.slots[0]), sizeof item);
    path_release(&roots, &path);
    ck_assert_uint_eq(from_le64(item.generation), 1);
    ck_assert_uint_eq(from_le64(item.generation_v2), 1);
    ck_assert_uint_eq(from_le64(item.root_dirid), 256);
    ck_assert_uint_eq(from_le32(item.refs), 1);
    ck_assert_uint_eq(from_le64(item.bytes_used), 16384);
    ck_assert_uint_eq(from_le64(item.ctime.sec), 1000000000);
    uint8_t zeros[UUID_SIZE] = {0};
    ck_assert_mem_ne(item.uuid, zeros, UUID_SIZE);

    /* The uuid tree leads from that uuid to 5. */
    le64 halves[2], id;
    memcpy(halves, item.uuid, sizeof halves);
    key = (struct key){from_le64(halves[0]), UUID_KEY_SUBVOL, from_le64(halves[1])};
    expect_success(volume_tree(&volume, UUID_TREE_OBJECTID, &tree));
    ck_assert_int_eq(tree_search(&tree, &key, &path), 0);
    memcpy(&id, item_data(path.nodes[0], path.slots[0]), sizeof id);
    ck_assert_uint_eq(from_le64(id), 5);
    path_release(&tree, &path);

    /* Root directories of both trees of files, and the entry "default". */
    static const uint64_t files[] = {FS_TREE_OBJECTID, DATA_RELOC_TREE_OBJECTID};
    for (size_t i = 0; i < LENGTH_OF(files); i++) {
        struct key inode = {256, INODE_ITEM_KEY, 0}, up = {256, INODE_REF_KEY, 256};
        expect_success(volume_tree(&volume, files[i], &tree));
        ck_assert_int_eq(tree_search(&tree, &inode, &path), 0);
        struct inode_item *directory = item_data(path.nodes[0], path.slots[0]);
        ck_assert_uint_eq(from_le32(directory->mode), 040755);
        ck_assert_uint_eq(from_le32(directory->nlink), 1);
        ck_assert_uint_eq(from_le64(directory->mtime.sec), 1000000000);
        path_release(&tree, &path);
        ck_assert_int_eq(tree_search(&tree, &up, &path), 0);
        ck_assert_mem_eq((char *)item_data(path.nodes[0], path.slots[0]) + 10, "..", 2);
        path_release(&tree, &path);
    }
    key = (struct key){ROOT_TREE_DIR_OBJECTID, DIR_ITEM_KEY, 0x8dbfc2d2};
    ck_assert_int_eq(tree_search(&roots, &key, &path), 0);
    path_release(&roots, &path);
    key = (struct key){FS_TREE_OBJECTID, INODE_REF_KEY, ROOT_TREE_DIR_OBJECTID};
    ck_assert_int_eq(tree_search(&roots, &key, &path), 0);
    path_release(&roots, &path);
    volume_close(&volume);
    device_close(device);
}
END_TEST

/* --- what is refused
 * ------------------------------------------------------------------ */

START_TEST(refused)
{
    static const struct {
        const char *words;
        uint32_t node_size, sector_size;
        unsigned way;
        bool has_data_dup;
    } cases[] = {
        {"sector size 0", 4096, 0, 0, false},
        {"sector size 2048", 4096, 2048, 0, false},
        {"sector size 131072", 65536, 131072, 0, false},
        {"sector size 6000", 16384, 6000, 0, false},
        {"node size 0", 0, 4096, 0, false},
        {"node size 12288", 12288, 4096, 0, false},
        {"node size 131072", 131072, 4096, 0, false},
        {"node size 4096", 4096, 8192, 0, false},
        {"mixed: node size and sector size", 16384, 4096, 8, false},
        {"mixed: data and metadata", 4096, 4096, 8, true},
        {"mixed: data and metadata", 4096, 4096, 9, true},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct mkfs_options options =
            options_of(cases[i].way, cases[i].node_size, cases[i].sector_size);
        if (cases[i].has_data_dup)
            options.data_dup = !options.metadata_dup;
        struct device *device = make_memory(64 * MIB);
        expect_failure(EINVAL, cases[i].words, mkfs_check(&options));
        expect_failure(EINVAL, cases[i].words, mkfs(&options, device, &volume, &allocator, &notes));
        device_close(device);
    }
}
END_TEST

/* The least is the least: a sector less is refused, and what is least can be used. */
START_TEST(too_small)
{
    for (unsigned way = 0; way < 12; way++) {
        struct mkfs_options options = options_of(way & ~2U, 4096, 4096);
        uint64_t least = mkfs_least_bytes(&options);
        struct device *device = make_memory(least);
        options.blank.total_bytes = least - 4096;
        expect_failure(EINVAL, "bytes are too few",
                       mkfs(&options, device, &volume, &allocator, &notes));
        options.blank.total_bytes = least;
        expect_success(mkfs(&options, device, &volume, &allocator, &notes));
        expect_success(extent_allocator_load(&allocator));
        expect(allocator.groups.device_free.bytes < MIB, "%ju bytes are left",
               (uintmax_t)allocator.groups.device_free.bytes);
        extent_allocator_close(&allocator);
        volume_close(&volume);
        device_close(device);
    }
    struct mkfs_options usual = options_of(0, 16384, 4096);
    expect(mkfs_least_bytes(&usual) < 20 * MIB, "the usual one is not below 20 MiB");
}
END_TEST

/* --- faults
 * ---------------------------------------------------------------------------
 */

/* Each write and flush fails; each piece of memory is refused: an error, no image, nothing
 * leaks. */
START_TEST(device_faults)
{
    static struct overlay overlay;
    struct mkfs_options options = options_of(1, 4096, 4096);
    options.blank.total_bytes = 70 * MIB;
    struct device *zeros = make_memory(options.blank.total_bytes);
    overlay_open(&overlay, zeros);
    for (unsigned kind = DEVICE_WRITE; kind <= DEVICE_FLUSH; kind++)
        for (uint64_t call = 0;; call++) {
            struct state state;
            overlay_clear(&overlay);
            overlay.fault.type = kind;
            overlay.fault.call = call;
            int result = mkfs(&options, &overlay.device, &volume, &allocator, &notes);
            if (!overlay.fault.is_passed) {
                expect_success(result);
                extent_allocator_close(&allocator);
                volume_close(&volume);
                expect_sound(&overlay.device);
                ck_assert_uint_ge(call, kind == DEVICE_WRITE ? 20 : 2);
                break;
            }
            expect_failure(EIO, "overlay", result);
            ck_assert_uint_eq(overlay.calls[kind], call + 1);
            overlay.fault.call = UINT64_MAX;
            bool is_there = state_read(&state, &overlay.device) == 0;
            expect(!is_there || overlay.calls[DEVICE_FLUSH] >= 2, "call %ju", (uintmax_t)call);
        }
    overlay_close(&overlay);
    device_close(zeros);
}
END_TEST

START_TEST(memory_faults)
{
    static struct overlay overlay;
    struct mkfs_options options = options_of(5, 4096, 4096);
    options.blank.total_bytes = 30 * MIB;
    struct device *zeros = make_memory(options.blank.total_bytes);
    overlay_open(&overlay, zeros);
    for (uint64_t first = 0;; first++) {
        struct fault fault = {FAULT_MEMORY, FAULT_ERROR, ENOMEM, first,
                              first % 2 ? 1 : FAULTS_WITHOUT_END};
        overlay_clear(&overlay);
        int64_t pieces = memory_pieces();
        faults_begin(&fault);
        int result = mkfs(&options, &overlay.device, &volume, &allocator, &notes);
        bool struck = faults_end() > first;
        if (result == 0) {
            extent_allocator_close(&allocator);
            volume_close(&volume);
            expect_sound(&overlay.device);
        } else {
            expect_failure(ENOMEM, "", result);
            ck_assert_uint_eq(overlay.calls[DEVICE_WRITE], 0);
        }
        ck_assert_int_eq(memory_pieces(), pieces);
        if (!struck)
            break;
    }
    overlay_close(&overlay);
    device_close(zeros);
}
END_TEST

SUITE(mkfs, 60, combinations, lengths, longer_device, deterministic, details, refused, too_small,
      device_faults, memory_faults)
