#include "bump_space.h"

#include "fail.h"
#include "insert.h"
#include "support.h"
#include "support_crash.h"
#include "support_device.h"
#include "support_faults.h"
#include "support_forest.h"

#include <string.h>

static struct volume volume;
static struct bump_space bump;
static struct notes notes;

/* --- an image ----------------------------------------------------------------------- */

/* Every node size: what is made is opened, and holds three trees. */
START_TEST(format)
{
    for (uint32_t node_size = 4096; node_size <= NODE_SIZE_MAX; node_size *= 2) {
        struct device *device = make_memory(4 << 20);
        struct notes none = {0};
        struct tree tree;
        expect_success(bump_format(&bump, &volume, device, node_size, &none));
        ck_assert_uint_eq(bump.node_size, node_size);
        ck_assert_uint_eq(bump.next, (1 << 20) + 3 * node_size);
        ck_assert_uint_eq(bump.committed, bump.next);
        ck_assert_uint_eq(bump.end, 4 << 20);
        uint8_t uuid[UUID_SIZE];
        memcpy(uuid, volume.chunk_tree_uuid, UUID_SIZE);
        volume_close(&volume);
        expect_success(volume_open(&volume, device, &none));
        ck_assert_mem_eq(volume.chunk_tree_uuid, uuid, UUID_SIZE); /* the blocks bear it */
        ck_assert_uint_eq(from_le64(volume.super.generation), 1);
        ck_assert_uint_eq(from_le32(volume.super.nodesize), node_size);
        ck_assert_uint_eq(volume.chunks.count, 1);
        expect_success(volume_tree(&volume, FS_TREE_OBJECTID, &tree));
        ck_assert_uint_eq(tree.generation, 1);
        ck_assert_uint_eq(state_of(device).blocks, 3);
        ck_assert_uint_eq(none.count, 0);
        volume_close(&volume);
        device_close(device);
    }
}
END_TEST

/* The least device, and those that are too small for it. */
START_TEST(small_devices)
{
    static const uint64_t sizes[] = {0, 4096, 65536, 1 << 20, (1 << 20) + 65535};
    int64_t pieces = memory_pieces();
    for (size_t i = 0; i < LENGTH_OF(sizes); i++) {
        struct device *device = make_memory(sizes[i]);
        expect_failure(ENOSPC, "bytes are too few for an image",
                       bump_format(&bump, &volume, device, 4096, &notes));
        device_close(device);
    }
    struct device *device = make_memory((1 << 20) + 65536);
    expect_success(bump_format(&bump, &volume, device, 4096, &notes));
    volume_close(&volume);
    device_close(device);
    device = make_memory((1 << 20) + 65536); /* of 64 KiB only one */
    expect_failure(ENOSPC, "no space for a block of tree 3",
                   bump_format(&bump, &volume, device, 65536, &notes));
    device_close(device);
    ck_assert_int_eq(memory_pieces(), pieces);
}
END_TEST

/* A failure of the device or of memory leaves no image, and nothing behind. */
START_TEST(format_fails)
{
    struct overlay overlay;
    struct device *memory = make_memory(2 << 20);
    struct superblock super;
    overlay_open(&overlay, memory);
    int64_t pieces = memory_pieces();
    static const struct {
        enum device_event_type type;
        uint64_t calls;
    } kinds[] = {{DEVICE_WRITE, 4}, {DEVICE_FLUSH, 2}};
    for (size_t i = 0; i < LENGTH_OF(kinds); i++)
        for (uint64_t call = 0; call <= kinds[i].calls; call++) {
            overlay_clear(&overlay);
            overlay.fault.type = kinds[i].type;
            overlay.fault.call = call;
            int result = bump_format(&bump, &volume, &overlay.device, 4096, &notes);
            if (call < kinds[i].calls)
                expect_failure(EIO, "the overlay fails", result);
            else
                volume_close(&volume);
            ck_assert_int_eq(result == 0, call == kinds[i].calls);
            if (call < kinds[i].calls && kinds[i].type == DEVICE_WRITE)
                ck_assert_int_lt(superblock_read(&overlay.device, 0, &super), 0);
            ck_assert_int_eq(memory_pieces(), pieces);
        }
    uint64_t faults = 0;
    for (bool struck = true; struck; faults++) {
        overlay_clear(&overlay);
        faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, faults, 1});
        int result = bump_format(&bump, &volume, &overlay.device, 4096, &notes);
        struck = faults_end() > faults;
        if (struck) {
            ck_assert_int_eq(result, -ENOMEM);
            ck_assert_int_lt(superblock_read(&overlay.device, 0, &super), 0);
        } else {
            expect_success(result);
            volume_close(&volume);
        }
        ck_assert_int_eq(memory_pieces(), pieces);
    }
    ck_assert_uint_gt(faults, 10);
    overlay_close(&overlay);
    device_close(memory);
}
END_TEST

/* The same device gives the same image. */
START_TEST(same_bytes)
{
    static unsigned char one[2 << 20], other[2 << 20];
    for (unsigned i = 0; i < 2; i++) {
        struct device *device = make_memory(2 << 20);
        expect_success(bump_format(&bump, &volume, device, 16384, &notes));
        expect_success(device_read(device, 0, i ? other : one, sizeof one));
        volume_close(&volume);
        device_close(device);
    }
    ck_assert_mem_eq(one, other, sizeof one);
}
END_TEST

/* --- the seam ----------------------------------------------------------------------- */

static struct device *begin(uint64_t size)
{
    struct device *device = make_memory(size);
    expect_success(bump_format(&bump, &volume, device, 4096, &notes));
    return device;
}

/* Addresses ascend by a block, up to the last whole one of the chunk. */
START_TEST(ascending)
{
    struct device *device = begin((1 << 20) + 65536);
    struct tree tree = {.id = 7};
    uint64_t bytenr, next = bump.next;
    for (; next + 4096 <= (1 << 20) + 65536; next += 4096) {
        expect_success(bump.space.alloc(&bump.space, &tree, 0, &bytenr));
        ck_assert_uint_eq(bytenr, next);
    }
    for (unsigned i = 0; i < 3; i++)
        expect_failure(ENOSPC, "no space for a block of tree 7",
                       bump.space.alloc(&bump.space, &tree, 0, &bytenr));
    bump.end = bump.next + 4095;
    expect_failure(ENOSPC, "no space", bump.space.alloc(&bump.space, &tree, 0, &bytenr));
    bump.end++;
    expect_success(bump.space.alloc(&bump.space, &tree, 0, &bytenr));
    ck_assert_int_eq(bump.space.settle(&bump.space), 0);
    volume_close(&volume);
    device_close(device);
}
END_TEST

/* What was committed is not given out again; what was not is. */
START_TEST(commit_and_abort)
{
    struct device *device = begin(2 << 20);
    struct transaction transaction;
    struct tree *tree;
    struct key key = {1000, 40, 0};
    uint64_t next = bump.next;
    for (unsigned round = 0; round < 4; round++) {
        bool commits = round % 2;
        transaction_begin(&transaction, &volume, &bump.space);
        ck_assert_ptr_eq(bump.space.transaction, &transaction);
        expect_success(transaction_tree(&transaction, FS_TREE_OBJECTID, &tree));
        key.offset = round;
        expect_success(tree_insert(tree, &key, "x", 1));
        ck_assert_uint_eq(bump.next, next + 4096);
        if (commits) {
            expect_success(transaction_commit(&transaction));
            next += 2 * 4096; /* the leaf and that of the root tree */
        } else
            transaction_abort(&transaction);
        ck_assert_uint_eq(bump.next, next);
        ck_assert_uint_eq(bump.committed, next);
        ck_assert_ptr_null(bump.space.transaction);
    }
    volume_close(&volume);
    device_close(device);
}
END_TEST

/* W2: counting up it passes over the superblocks. */
START_TEST(w2_superblocks)
{
    struct device *device = begin(MIRRORED_SIZE);
    struct tree tree = {.id = 7};
    for (uint32_t node_size = 4096; node_size <= NODE_SIZE_MAX; node_size *= 2) {
        bump.node_size = node_size;
        bump.next = (64 << 20) - NODE_SIZE_MAX;
        for (unsigned i = 0; i < 40; i++) {
            uint64_t bytenr;
            if (bump.space.alloc(&bump.space, &tree, 0, &bytenr) < 0)
                break;
            expect(bytenr + node_size <= 64 << 20 || bytenr >= (64 << 20) + SUPERBLOCK_SIZE,
                   "a block of %u at %ju, over superblock 1", node_size, (uintmax_t)bytenr);
        }
    }
    volume_close(&volume);
    device_close(device);
}
END_TEST

SUITE(bump_space, 30, format, small_devices, format_fails, same_bytes, ascending, commit_and_abort,
      w2_superblocks)
