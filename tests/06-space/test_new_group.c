#include "new_group.h"

#include "fail.h"
#include "support_crash.h"
#include "support_device.h"
#include "support_space.h"

#include <string.h>

static struct estate estate;
#define GROUPS (&estate.allocator.groups)

enum { MIB = 1 << 20 };

static void open_with(const struct mkfs_options *options)
{
    estate_open(&estate, make_memory(options->blank.total_bytes), options, 1);
}

static void open_empty(uint64_t bytes, bool metadata_dup, bool data_dup)
{
    struct mkfs_options options = estate_options(16384);
    options.blank.total_bytes = bytes;
    options.metadata_dup = metadata_dup;
    options.data_dup = data_dup;
    open_with(&options);
}

static void close_empty(void)
{
    estate_close(&estate);
    device_close(estate.device);
}

static int add_chunk(enum group_type type, uint64_t length)
{
    int result = extent_allocator_load(&estate.allocator);
    return result < 0 ? result : block_groups_add(GROUPS, &estate.transaction, type, length);
}

static const struct chunk *last_chunk(void)
{
    return &estate.volume.chunks.chunks[estate.volume.chunks.count - 1];
}

static const struct block_group *last_group_of(enum group_type type)
{
    const struct block_group *group = GROUPS->groups[GROUPS->count - 1];
    static const uint64_t flags[] = {BLOCK_GROUP_DATA, BLOCK_GROUP_SYSTEM, BLOCK_GROUP_METADATA};
    expect(group->is_new && group->flags & flags[type], "the last group is another");
    return group;
}

/* --- one chunk
 * ------------------------------------------------------------------------ */

/* A chunk of each type, by each profile, with and without a tree of block groups; what is told of
 * it agrees, and it is used. */
START_TEST(each_type)
{
    for (unsigned way = 0; way < 16; way++) {
        struct mkfs_options options = estate_options(way & 8 ? 4096 : 16384);
        options.blank.total_bytes = 300 * MIB;
        options.metadata_dup = way & 1;
        options.mixed = way & 8;
        options.data_dup = way & (options.mixed ? 1 : 2);
        options.block_group_tree = way & 4;
        open_with(&options);
        for (enum group_type type = GROUP_DATA; type <= GROUP_METADATA; type++) {
            size_t before = estate.volume.chunks.count;
            estate_begin(&estate);
            expect_success(add_chunk(type, 16 * MIB));
            ck_assert_uint_ge(last_group_of(type)->free.bytes, 16 * MIB - STRIPE_LENGTH);
            expect_success(estate_commit(&estate));
            ck_assert_uint_eq(estate.volume.chunks.count, before + 1);
            bool dup = type == GROUP_DATA ? options.data_dup : options.metadata_dup;
            ck_assert_uint_eq(last_chunk()->copies, dup ? 2 : 1);
            ck_assert_uint_eq(last_chunk()->length, 16 * MIB);
            expect_estate(&estate);
            estate_begin(&estate);
            expect_success(estate_steps(&estate, 20));
            expect_success(estate_commit(&estate));
            expect_estate(&estate);
            estate_reopen(&estate);
        }
        close_empty();
    }
}
END_TEST

/* How long it is: a tenth of the device within limits, in whole stripes. */
static const struct {
    enum group_type type;
    uint64_t device, length;
} lengths[] = {
    {GROUP_DATA, 1ULL << 40, 1 << 30},       {GROUP_METADATA, 1ULL << 40, 256 * MIB},
    {GROUP_SYSTEM, 1ULL << 40, 8 * MIB},     {GROUP_DATA, 1000 * MIB, 100 * MIB},
    {GROUP_METADATA, 1000 * MIB, 100 * MIB}, {GROUP_SYSTEM, 1000 * MIB, 8 * MIB},
    {GROUP_DATA, 60 * MIB, 8 * MIB},         {GROUP_METADATA, 60 * MIB, 12 * MIB},
    {GROUP_SYSTEM, 60 * MIB, 6 * MIB},       {GROUP_DATA, 333 * MIB, 34865152},
};

START_TEST(suitable_lengths)
{
    for (size_t i = 0; i < LENGTH_OF(lengths); i++) {
        open_empty(40 * MIB, false, false);
        estate_begin(&estate);
        expect_success(extent_allocator_load(&estate.allocator));
        estate.volume.chunks.device_bytes = lengths[i].device;
        expect_success(range_set_add(&GROUPS->device_free, 40 * MIB, 1ULL << 40));
        expect_success(add_chunk(lengths[i].type, 0));
        ck_assert_uint_eq(last_chunk()->length, lengths[i].length);
        estate_abort(&estate);
        close_empty();
    }
}
END_TEST

/* A profile that has one stripe is kept: such images come from mkfs.btrfs -d raid0. */
START_TEST(one_stripe_of_raid0)
{
    open_empty(200 * MIB, false, false);
    expect_success(extent_allocator_load(&estate.allocator));
    const struct block_group *group = GROUPS->groups[2];
    struct key key = {group->start, BLOCK_GROUP_ITEM_KEY, group->length};
    struct key chunk_key = {FIRST_CHUNK_TREE_OBJECTID, CHUNK_ITEM_KEY, group->start};
    le64 flags = to_le64(BLOCK_GROUP_DATA | BLOCK_GROUP_RAID0);
    estate_patch(&estate, EXTENT_TREE_OBJECTID, &key, offsetof(struct block_group_item, flags),
                 &flags, sizeof flags);
    estate_patch(&estate, CHUNK_TREE_OBJECTID, &chunk_key, offsetof(struct chunk_item, type),
                 &flags, sizeof flags);
    estate_reopen(&estate);
    expect_estate(&estate);
    estate_begin(&estate);
    expect_success(add_chunk(GROUP_DATA, 0));
    ck_assert_uint_eq(last_chunk()->type, BLOCK_GROUP_DATA | BLOCK_GROUP_RAID0);
    ck_assert_uint_eq(last_chunk()->copies, 1);
    expect_success(estate_steps(&estate, 100));
    expect_success(estate_commit(&estate));
    expect_estate(&estate);
    close_empty();
}
END_TEST

/* --- the device is full
 * --------------------------------------------------------------- */

/* Chunks until there is no room; each is sound; then all of the device but what is no whole stripe
 * or too little for a chunk is taken. */
static void fill_device(bool dup)
{
    open_empty(90 * MIB + 12345 * 4096ULL % (1 << 16), false, dup);
    int result = 0;
    size_t before = estate.volume.chunks.count;
    for (unsigned i = 0; result == 0; i++) {
        estate_begin(&estate);
        result = add_chunk(GROUP_DATA, 0);
        if (result == 0)
            expect_success(estate_commit(&estate));
        expect(i < 50, "no end");
    }
    expect_failure(ENOSPC, "no room for another chunk", result);
    estate_abort(&estate);
    expect_success(extent_allocator_load(&estate.allocator));
    expect(estate.volume.chunks.count >= before + 3, "%zu chunks", estate.volume.chunks.count);
    expect(GROUPS->device_free.bytes < 2 * MIB * (dup ? 2ULL : 1), "%ju bytes are left",
           (uintmax_t)GROUPS->device_free.bytes);
    expect_estate(&estate);
    close_empty();
}

START_TEST(full_device)
{
    fill_device(false);
    fill_device(true);
}
END_TEST

/* A chunk takes the first hole that is long enough for all its copies, and never one in use. */
START_TEST(holes)
{
    open_empty(200 * MIB, false, true);
    estate_begin(&estate);
    expect_success(extent_allocator_load(&estate.allocator));
    range_set_close(&GROUPS->device_free);
    expect_success(range_set_add(&GROUPS->device_free, 100 * MIB, 103 * MIB));
    expect_success(range_set_add(&GROUPS->device_free, 110 * MIB, 120 * MIB));
    expect_success(range_set_add(&GROUPS->device_free, 130 * MIB, 137 * MIB));
    expect_success(add_chunk(GROUP_DATA, 0));
    ck_assert_uint_eq(last_chunk()->length, 5 * MIB);
    ck_assert_uint_eq(last_chunk()->physical[0], 110 * MIB);
    ck_assert_uint_eq(last_chunk()->physical[1], 115 * MIB);
    expect_success(add_chunk(GROUP_METADATA, 0));
    ck_assert_uint_eq(last_chunk()->length, 7 * MIB);
    ck_assert_uint_eq(last_chunk()->physical[0], 130 * MIB);
    ck_assert_uint_eq(GROUPS->device_free.bytes, 3 * MIB);
    expect_success(add_chunk(GROUP_DATA, 0));
    ck_assert_uint_eq(last_chunk()->length, MIB + MIB / 2);
    expect_failure(ENOSPC, "no room", add_chunk(GROUP_METADATA, 0));
    estate_abort(&estate);
    expect_estate(&estate);
    close_empty();
}
END_TEST

/* What is too short for a chunk does not count as space. */
START_TEST(unallocated)
{
    open_empty(200 * MIB, false, true);
    expect_success(extent_allocator_load(&estate.allocator));
    range_set_close(&GROUPS->device_free);
    expect_success(range_set_add(&GROUPS->device_free, 100 * MIB, 101 * MIB - STRIPE_LENGTH));
    ck_assert_uint_eq(block_groups_unallocated(GROUPS, GROUP_METADATA), 0);
    expect_success(range_set_add(&GROUPS->device_free, 110 * MIB, 111 * MIB + MIB / 2));
    ck_assert_uint_eq(block_groups_unallocated(GROUPS, GROUP_METADATA), MIB + MIB / 2);
    ck_assert_uint_eq(block_groups_unallocated(GROUPS, GROUP_DATA), 0);
    GROUPS->grow_to = 202 * MIB;
    ck_assert_uint_eq(block_groups_unallocated(GROUPS, GROUP_METADATA), 3 * MIB + MIB / 2);
    ck_assert_uint_eq(block_groups_unallocated(GROUPS, GROUP_DATA), MIB);
    GROUPS->grow_to = 100 * MIB;
    ck_assert_uint_eq(block_groups_unallocated(GROUPS, GROUP_DATA), 0);
    close_empty();
}
END_TEST

/* The array in the superblock has room for so many system chunks. */
START_TEST(system_chunks)
{
    open_empty(1024ULL * MIB, true, false);
    int result = 0;
    unsigned made = 0;
    for (; result == 0; made++) {
        estate_begin(&estate);
        result = add_chunk(GROUP_SYSTEM, MIB);
        if (result == 0)
            expect_success(estate_commit(&estate));
        expect(made < 50, "no end");
    }
    expect_failure(EOVERFLOW, "no room for another system chunk", result);
    estate_abort(&estate);
    ck_assert_uint_eq(made, 2048 / (17 + 48 + 2 * 32));
    expect_estate(&estate);
    estate_reopen(&estate);
    expect_estate(&estate);
    close_empty();
}
END_TEST

/* --- the image grows
 * ------------------------------------------------------------------ */

static uint64_t image_size(void)
{
    uint64_t size;
    expect_success(device_size(estate.device, &size));
    return size;
}

/* Data and metadata until there is no space: the image grows chunk by chunk, and is sound each
 * time; it stops at its limit. */
static void grow(bool metadata_dup, bool data_dup, uint64_t grow_to)
{
    struct mkfs_options options = estate_options(4096);
    options.metadata_dup = metadata_dup;
    options.data_dup = data_dup;
    estate_open(&estate, make_memory(mkfs_least_bytes(&options)), &options, 1);
    estate.allocator.groups.grow_to = grow_to;
    int result = 0;
    uint64_t size = image_size(), first = size;
    for (uint32_t i = 0; result == 0; i++) {
        expect_success(extent_allocator_load(&estate.allocator));
        ck_assert_uint_eq(GROUPS->grow_to, grow_to);
        estate_begin(&estate);
        uint32_t number = 8 * (i % 128) + 4 + i / 128 % 4;
        if (estate.now.trees[0].items[number].kind)
            break;
        result = estate_write(&estate, 0, number, 250);
        if (result == 0)
            result = estate_commit(&estate);
        else
            estate_abort(&estate);
        uint64_t total = from_le64(estate.volume.super.total_bytes);
        expect(total <= grow_to && total >= size, "%ju bytes", (uintmax_t)total);
        expect(image_size() >= total, "image of %ju bytes", (uintmax_t)image_size());
        size = total;
        expect_estate(&estate);
    }
    expect(size > first && size > grow_to - 2 * MIB, "%ju bytes, could be %ju", (uintmax_t)size,
           (uintmax_t)grow_to);
    expect_failure(ENOSPC, "", result);
    close_empty();
}

START_TEST(growing)
{
    grow(true, true, 63 * MIB + MIB / 2);
    if (SANITIZED)
        return;
    grow(false, false, 48 * MIB);
    grow(false, false, 50 * MIB + 123456);
    grow(true, false, 61 * MIB);
    grow(false, true, 61 * MIB);
}
END_TEST

/* A chunk that cannot be had changes nothing: whoever asked goes on, and commits. */
START_TEST(growth_refused)
{
    struct mkfs_options options = estate_options(16384);
    options.data_dup = true;
    uint64_t least = mkfs_least_bytes(&options);
    for (uint64_t more = 0; more < 40 * MIB; more += (SANITIZED ? 13 : 5) * MIB + 4096) {
        estate_open(&estate, make_memory(least), &options, 1);
        uint64_t bytenr, got;
        estate_begin(&estate);
        expect_success(extent_allocator_load(&estate.allocator));
        GROUPS->grow_to = least + more;
        int result;
        while ((result = data_alloc(&estate.allocator, MIB, &bytenr, &got)) == 0)
            expect_success(data_add_ref(&estate.allocator, bytenr, got, 5, 300, bytenr, true));
        expect_failure(ENOSPC, "", result);
        estate_abort(&estate);

        /* The same, and then a change that needs no data. */
        estate_begin(&estate);
        expect_success(extent_allocator_load(&estate.allocator));
        for (unsigned i = 0; i < 10000; i++)
            if (data_alloc(&estate.allocator, MIB, &bytenr, &got) < 0)
                break;
        expect_success(estate_insert(&estate, 0, 1, 100));
        expect_success(estate_commit(&estate));
        expect_estate(&estate);
        close_empty();
    }
}
END_TEST

/* --- roll back
 * ------------------------------------------------------------------------ */

/* Chunks were made and the image grew, in memory; then the transaction is given up. */
START_TEST(rolled_back)
{
    for (int dup = 0; dup < 2; dup++) {
        struct mkfs_options options = estate_options(16384);
        options.metadata_dup = options.data_dup = dup;
        uint64_t least = mkfs_least_bytes(&options);
        estate_open(&estate, make_memory(least), &options, 1);
        struct state before = state_of(estate.device);
        for (unsigned way = 0; way < 3; way++) {
            struct superblock super = estate.volume.super;
            size_t chunks = estate.volume.chunks.count;
            estate_begin(&estate);
            expect_success(extent_allocator_load(&estate.allocator));
            uint64_t used = GROUPS->bytes_used, hole = GROUPS->device_free.bytes;
            GROUPS->grow_to = 1 << 30;
            for (enum group_type type = GROUP_DATA; type <= GROUP_METADATA; type++)
                expect_success(add_chunk(type, 0));
            if (way > 0)
                expect_success(estate_steps(&estate, 100));
            if (way > 1)
                expect_success(transaction_settle(&estate.transaction));
            estate_abort(&estate);
            ck_assert_uint_eq(estate.volume.chunks.count, chunks);
            ck_assert_uint_eq(estate.volume.chunks.device_bytes, least);
            ck_assert_mem_eq(&estate.volume.super, &super, sizeof super);
            if (way == 0)
                ck_assert_uint_eq(image_size(), least);
            ck_assert_uint_eq(state_of(estate.device).digest, before.digest);
            expect_success(extent_allocator_load(&estate.allocator));
            ck_assert_uint_eq(GROUPS->count, chunks);
            ck_assert_uint_eq(GROUPS->bytes_used, used);
            ck_assert_uint_eq(GROUPS->device_free.bytes, hole);
            expect_estate(&estate);
        }
        /* And what is done then is sound. */
        for (unsigned i = 0; i < 5; i++) {
            estate_begin(&estate);
            GROUPS->grow_to = 1 << 30;
            expect_success(add_chunk(GROUP_METADATA, 0));
            expect_success(estate_steps(&estate, 20));
            if (i == 2)
                estate_abort(&estate);
            else
                expect_success(estate_commit(&estate));
            expect_estate(&estate);
        }
        ck_assert_uint_eq(estate.volume.chunks.count, 7);
        close_empty();
    }
}
END_TEST

/* Only chunks of the aborted transaction go. */
START_TEST(committed_chunks_stay)
{
    open_empty(200 * MIB, false, false);
    for (unsigned i = 0; i < 4; i++) {
        estate_begin(&estate);
        expect_success(add_chunk(GROUP_DATA, 8 * MIB));
        expect_success(estate_commit(&estate));
        estate_begin(&estate);
        expect_success(add_chunk(GROUP_DATA, 8 * MIB));
        estate_abort(&estate);
        ck_assert_uint_eq(estate.volume.chunks.count, 4 + i);
        expect_estate(&estate);
    }
    close_empty();
}
END_TEST

SUITE(new_group, 60, each_type, suitable_lengths, one_stripe_of_raid0, full_device, holes,
      unallocated, system_chunks, growing, growth_refused, rolled_back, committed_chunks_stay)
