#include "block_group.h"

#include "fail.h"
#include "support_device.h"
#include "support_image.h"
#include "support_space.h"

#include <stdlib.h>
#include <string.h>

static struct estate estate;
#define GROUPS (&estate.allocator.groups)

enum { MIB = 1 << 20, SIZE = 64 * MIB };

/* An empty file system of so many bytes, with 16 KiB nodes. */
static void open_empty(uint64_t bytes, bool dup)
{
    struct mkfs_options options = estate_options(16384);
    options.blank.total_bytes = bytes;
    options.metadata_dup = options.data_dup = dup;
    estate_open(&estate, make_memory(bytes), &options, 1);
}

static void close_empty(void)
{
    estate_close(&estate);
    device_close(estate.device);
}

static struct block_group *last_group(void)
{
    return GROUPS->groups[GROUPS->count - 1];
}

/* The first group of a type. */
static struct block_group *group_of_type(uint64_t type)
{
    for (size_t i = 0; i < GROUPS->count; i++)
        if ((GROUPS->groups[i]->flags & BLOCK_GROUP_TYPE_MASK) == type)
            return GROUPS->groups[i];
    ck_abort_msg("no group of type %ju", (uintmax_t)type);
}

static struct key group_key(const struct block_group *group)
{
    return (struct key){group->start, BLOCK_GROUP_ITEM_KEY, group->length};
}

static enum group_type type_of(const struct block_group *group)
{
    if (group->flags & BLOCK_GROUP_METADATA)
        return GROUP_METADATA;
    return group->flags & BLOCK_GROUP_SYSTEM ? GROUP_SYSTEM : GROUP_DATA;
}

/* Loads all groups that are not full: each is asked as if it were alone. */
static void load_groups(struct block_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        struct block_groups one = *groups;
        struct block_group *group = groups->groups[i];
        uint64_t bytenr;
        one.groups = &groups->groups[i];
        one.count = 1;
        if (group->is_loaded || group->length - group->committed_used < STRIPE_LENGTH)
            continue;
        expect_success(
            block_groups_alloc(&one, &estate.transaction, type_of(group), 4096, 4096, &bytenr));
        expect_success(block_groups_return(&one, bytenr, 4096));
        groups->groups_loaded += one.groups_loaded - groups->groups_loaded;
        ck_assert(group->is_loaded);
    }
}

/* --- opening
 * -------------------------------------------------------------------------- */

static const struct {
    const char *words;
    size_t offset;   /* in the item, SIZE_MAX - 8 and - 16: of the key's offset and
                    objectid */
    uint64_t change; /* exclusive or */
} mismatches[] = {
    {"has no block group (G1)", SIZE_MAX - 8, 4096},
    {"has no block group (G1)", SIZE_MAX - 8, 1ULL << 40},
    {"has no block group (G1)", SIZE_MAX - 16, 4096},
    {"(G1)", offsetof(struct block_group_item, flags), BLOCK_GROUP_DUP},
    {"(G1)", offsetof(struct block_group_item, flags), BLOCK_GROUP_DATA | BLOCK_GROUP_METADATA},
    {"(G1)", offsetof(struct block_group_item, flags), BLOCK_GROUP_SYSTEM},
};

/* The data group, which has nothing behind it but itself. */
static void mismatch(size_t i, bool own_tree)
{
    struct mkfs_options options = estate_options(16384);
    options.blank.total_bytes = SIZE;
    options.block_group_tree = own_tree;
    estate_open(&estate, make_memory(SIZE), &options, 1);
    uint64_t tree = own_tree ? BLOCK_GROUP_TREE_OBJECTID : EXTENT_TREE_OBJECTID, value;
    struct block_group *group = group_of_type(BLOCK_GROUP_DATA);
    struct key key = group_key(group), changed = key;
    value = group->flags ^ mismatches[i].change;
    if (mismatches[i].offset == SIZE_MAX - 8) {
        changed.offset ^= mismatches[i].change;
        estate_patch_key(&estate, tree, &key, &changed);
    } else if (mismatches[i].offset == SIZE_MAX - 16) {
        changed.objectid ^= mismatches[i].change;
        estate_patch_key(&estate, tree, &key, &changed);
    } else {
        le64 bytes = to_le64(value);
        estate_patch(&estate, tree, &key, mismatches[i].offset, &bytes, sizeof bytes);
    }
    estate_reopen(&estate);
    expect_failure(EUCLEAN, mismatches[i].words, extent_allocator_load(&estate.allocator));
    ck_assert(!estate.allocator.is_open);
    ck_assert_uint_eq(GROUPS->count, 0);
    close_empty();
}

START_TEST(mismatched)
{
    for (size_t i = 0; i < LENGTH_OF(mismatches); i++) {
        mismatch(i, false);
        mismatch(i, true);
    }
}
END_TEST

/* A transaction on such an image fails and leaves it as it is. */
START_TEST(mismatch_in_transaction)
{
    open_empty(SIZE, false);
    struct key key = group_key(group_of_type(BLOCK_GROUP_DATA));
    le64 flags = to_le64(BLOCK_GROUP_DATA | BLOCK_GROUP_DUP);
    estate_patch(&estate, EXTENT_TREE_OBJECTID, &key, offsetof(struct block_group_item, flags),
                 &flags, sizeof flags);
    estate_reopen(&estate);
    estate_begin(&estate);
    expect_failure(EUCLEAN, "(G1)", estate_insert(&estate, 0, 1, 10));
    expect_failure(EUCLEAN, "failed before", estate_commit(&estate));
    close_empty();
}
END_TEST

/* What the item says is used is not what is not free. */
START_TEST(wrong_used)
{
    for (int has_tree = 0; has_tree < 2; has_tree++) {
        open_empty(SIZE, false);
        const struct block_group *group = group_of_type(BLOCK_GROUP_METADATA);
        struct key key = group_key(group);
        le64 used = to_le64(group->used + 4096);
        estate_patch(&estate, EXTENT_TREE_OBJECTID, &key, offsetof(struct block_group_item, used),
                     &used, sizeof used);
        estate_reopen(&estate);
        if (!has_tree)
            estate.volume.super.compat_ro_flags = to_le64(0);
        estate_begin(&estate);
        expect_failure(EUCLEAN, "bytes are free, its item says", estate_insert(&estate, 0, 1, 10));
        estate_abort(&estate);
        close_empty();
    }
}
END_TEST

/* --- loading
 * -------------------------------------------------------------------------- */

static bool same_ranges(const struct range_set *a, const struct range_set *b)
{
    return a->bytes == b->bytes && a->count == b->count &&
           (a->count == 0 || memcmp(a->ranges, b->ranges, a->count * sizeof *a->ranges) == 0);
}

/* What another allocator finds on the device, from the free-space tree or from the extents, is what
 * this one has in memory. */
static void compare_with_device(bool from_extents)
{
    static struct extent_allocator other;
    le64 flags = estate.volume.super.compat_ro_flags;
    expect_success(extent_allocator_load(&estate.allocator));
    load_groups(GROUPS);
    extent_allocator_open(&other, &estate.volume);
    expect_success(extent_allocator_load(&other));
    if (from_extents)
        estate.volume.super.compat_ro_flags = to_le64(0);
    load_groups(&other.groups);
    estate.volume.super.compat_ro_flags = flags;
    ck_assert_uint_eq(other.groups.count, GROUPS->count);
    ck_assert_uint_eq(other.groups.bytes_used, GROUPS->bytes_used);
    ck_assert(same_ranges(&other.groups.device_free, &GROUPS->device_free));
    for (size_t i = 0; i < GROUPS->count; i++) {
        const struct block_group *a = GROUPS->groups[i], *b = other.groups.groups[i];
        expect(a->used == b->used && a->committed_used == b->used && a->written_used == b->used,
               "group %ju: %ju bytes used, not %ju", (uintmax_t)a->start, (uintmax_t)a->used,
               (uintmax_t)b->used);
        ck_assert(!a->is_new && a->pinned.bytes == 0);
        if (a->is_loaded && b->is_loaded)
            ck_assert(same_ranges(&a->free, &b->free));
    }
    extent_allocator_close(&other);
}

START_TEST(every_image)
{
    for (size_t i = 0; image_names[i]; i++) {
        struct device *device = load_image(image_names[i]);
        estate_open(&estate, device, NULL, 1);
        compare_with_device(false);
        compare_with_device(true);
        expect(GROUPS->groups_loaded >= 2, "%s: %ju loaded", image_names[i],
               (uintmax_t)GROUPS->groups_loaded);
        estate_close(&estate);
        device_close(device);
    }
}
END_TEST

/* Over many transactions, some of which are aborted. */
START_TEST(memory_is_right)
{
    open_empty(SIZE, true);
    for (unsigned i = 0; i < ROUNDS_OF(80); i++) {
        estate_begin(&estate);
        expect_success(estate_steps(&estate, 40));
        if (i % 8 == 7)
            estate_abort(&estate);
        else
            expect_success(estate_commit(&estate));
        if (i % 16 == 9)
            estate_reopen(&estate);
        compare_with_device(i % 2);
    }
    close_empty();
}
END_TEST

/* --- W2
 * -------------------------------------------------------------------------------
 */

/* Gives out all of the last group; no copy of it lies where a superblock may be. */
static uint64_t take_all(enum group_type type, uint64_t length)
{
    const struct block_group *group = last_group();
    const struct chunk *chunk;
    uint64_t bytenr = group->start, taken = 0;
    while (group->free.bytes) {
        expect_success(
            block_groups_alloc(GROUPS, &estate.transaction, type, length, length, &bytenr));
        if (bytenr < group->start)
            continue; /* from a group before it */
        expect_success(chunk_map_find(&estate.volume.chunks, bytenr, length, &chunk));
        for (unsigned copy = 0; copy < chunk->copies; copy++) {
            uint64_t at = chunk->physical[copy] + (bytenr - chunk->logical);
            expect(at >= MIB, "%ju is in the first MiB", (uintmax_t)at);
            for (int mirror = 1; mirror < SUPERBLOCK_MIRRORS; mirror++)
                expect(at + length <= superblock_offset(mirror) ||
                           at >= superblock_offset(mirror) + STRIPE_LENGTH,
                       "%ju is over mirror %d", (uintmax_t)at, mirror);
        }
        taken += length;
    }
    return taken;
}

/* A chunk of `length` MiB in a hole that begins at `start`; over the mirror it loses 64 KiB. */
static const struct {
    unsigned dup;
    uint64_t start, length;
    unsigned lost;
} places[] = {
    {0, 50 * MIB, 32 * MIB, 1},
    {0, 32 * MIB, 32 * MIB, 0}, /* ends there */
    {0, 33 * MIB, 31 * MIB + STRIPE_LENGTH, 1},
    {0, 64 * MIB, 32 * MIB, 1}, /* begins there */
    {0, 64 * MIB + STRIPE_LENGTH, 32 * MIB, 0},
    {1, 10 * MIB, 48 * MIB, 1}, /* the second copy */
    {1, 50 * MIB, 32 * MIB, 1}, /* the first */
    {1, 70 * MIB, 32 * MIB, 0},
};

START_TEST(over_a_mirror)
{
    for (size_t i = 0; i < LENGTH_OF(places); i++) {
        open_empty(256 * MIB, places[i].dup);
        expect_success(extent_allocator_load(&estate.allocator));
        estate_begin(&estate);
        range_set_close(&GROUPS->device_free);
        expect_success(range_set_add(&GROUPS->device_free, places[i].start, 256 * MIB));
        expect_success(block_groups_add(GROUPS, &estate.transaction, GROUP_DATA, places[i].length));
        ck_assert_uint_eq(take_all(GROUP_DATA, 4096),
                          places[i].length - places[i].lost * STRIPE_LENGTH);
        estate_abort(&estate);
        close_empty();
    }
}
END_TEST

/* Chunks of old images may begin at 0. */
START_TEST(first_mebibyte)
{
    open_empty(SIZE, false);
    expect_success(extent_allocator_load(&estate.allocator));
    estate_begin(&estate);
    expect_success(range_set_add(&GROUPS->device_free, 0, MIB));
    range_set_clear(&GROUPS->device_free, MIB, SIZE);
    expect_success(block_groups_add(GROUPS, &estate.transaction, GROUP_DATA, MIB));
    ck_assert_uint_eq(last_group()->free.bytes, 0);
    estate_abort(&estate);
    close_empty();
}
END_TEST

/* --- giving out
 * ----------------------------------------------------------------------- */

static uint64_t take(uint64_t length, uint64_t align)
{
    uint64_t bytenr;
    expect_success(
        block_groups_alloc(GROUPS, &estate.transaction, GROUP_DATA, length, align, &bytenr));
    return bytenr;
}

START_TEST(first_fit)
{
    open_empty(SIZE, false);
    expect_success(extent_allocator_load(&estate.allocator));
    estate_begin(&estate);
    uint64_t start = group_of_type(BLOCK_GROUP_DATA)->start;
    ck_assert_uint_eq(take(4096, 4096), start);
    ck_assert_uint_eq(take(65536, 65536), start + 65536);
    ck_assert_uint_eq(take(4096, 4096), start + 4096);
    ck_assert_uint_eq(take(61440, 4096), start + 131072); /* the hole is too small */
    ck_assert_uint_eq(take(16384, 16384), start + 16384);
    expect_success(block_groups_return(GROUPS, start, 4096));
    ck_assert_uint_eq(take(8192, 8192), start + 8192);
    ck_assert_uint_eq(take(4096, 4096), start);
    expect_failure(EEXIST, "", block_groups_return(GROUPS, start + 12288 + 131072 * 2, 4096));
    estate_abort(&estate);
    close_empty();
}
END_TEST

/* Groups of other types are left alone; mixed ones serve both. */
START_TEST(right_type)
{
    for (int mixed = 0; mixed < 2; mixed++) {
        struct mkfs_options options = estate_options(4096);
        options.blank.total_bytes = SIZE;
        options.mixed = mixed;
        estate_open(&estate, make_memory(SIZE), &options, 1);
        expect_success(extent_allocator_load(&estate.allocator));
        estate_begin(&estate);
        uint64_t bytenr[3], flags[3];
        for (enum group_type type = GROUP_DATA; type <= GROUP_METADATA; type++) {
            expect_success(
                block_groups_alloc(GROUPS, &estate.transaction, type, 4096, 4096, &bytenr[type]));
            flags[type] = block_groups_find(GROUPS, bytenr[type])->flags & BLOCK_GROUP_TYPE_MASK;
        }
        uint64_t both = BLOCK_GROUP_DATA | BLOCK_GROUP_METADATA;
        ck_assert_uint_eq(flags[GROUP_DATA], mixed ? both : BLOCK_GROUP_DATA);
        ck_assert_uint_eq(flags[GROUP_METADATA], mixed ? both : BLOCK_GROUP_METADATA);
        ck_assert_uint_eq(flags[GROUP_SYSTEM], BLOCK_GROUP_SYSTEM);
        /* More than there is: a new chunk of the type, though others have room. */
        size_t count = GROUPS->count;
        while (GROUPS->groups[0]->free.bytes >= 65536)
            expect_success(block_groups_alloc(GROUPS, &estate.transaction, GROUP_SYSTEM, 65536,
                                              4096, &bytenr[0]));
        expect_success(
            block_groups_alloc(GROUPS, &estate.transaction, GROUP_SYSTEM, 65536, 4096, &bytenr[0]));
        ck_assert_uint_eq(GROUPS->count, count + 1);
        ck_assert_uint_eq(last_group()->flags, BLOCK_GROUP_SYSTEM);
        estate_abort(&estate);
        close_empty();
    }
}
END_TEST

START_TEST(finding)
{
    open_empty(SIZE, false);
    expect_success(extent_allocator_load(&estate.allocator));
    for (size_t i = 0; i < GROUPS->count; i++) {
        struct block_group *group = GROUPS->groups[i];
        ck_assert_ptr_eq(block_groups_find(GROUPS, group->start), group);
        ck_assert_ptr_eq(block_groups_find(GROUPS, group->start + group->length - 1), group);
    }
    ck_assert_ptr_null(block_groups_find(GROUPS, 0));
    ck_assert_ptr_null(block_groups_find(GROUPS, GROUPS->groups[0]->start - 1));
    ck_assert_ptr_null(block_groups_find(GROUPS, last_group()->start + last_group()->length));
    ck_assert_ptr_null(block_groups_find(GROUPS, UINT64_MAX));
    close_empty();
}
END_TEST

/* --- G2
 * -------------------------------------------------------------------------------
 */

START_TEST(account)
{
    open_empty(SIZE, false);
    expect_success(extent_allocator_load(&estate.allocator));
    estate_begin(&estate);
    struct block_group *group = group_of_type(BLOCK_GROUP_DATA);
    uint64_t start = group->start, length = group->length, all = GROUPS->bytes_used;
    expect_failure(EUCLEAN, "in no block group", block_groups_use(GROUPS, start - 4096, 8192));
    expect_failure(EUCLEAN, "in no block group", block_groups_use(GROUPS, 0, 4096));
    expect_failure(EUCLEAN, "in no block group",
                   block_groups_use(GROUPS, start + length - 4096, 8192));
    expect_failure(EUCLEAN, "in no block group",
                   block_groups_release(GROUPS, start + length - 4096, 8192));
    expect_failure(EUCLEAN, "in no block group",
                   block_groups_return(GROUPS, start + length - 4096, 8192));
    expect_failure(EUCLEAN, "cannot be freed (G2)", block_groups_release(GROUPS, start, 4096));
    expect_success(block_groups_use(GROUPS, start, length));
    ck_assert_uint_eq(group->used, length);
    ck_assert_uint_eq(GROUPS->bytes_used, all + length);
    expect_failure(EUCLEAN, "more cannot be (G2)", block_groups_use(GROUPS, start, 4096));
    expect_success(block_groups_release(GROUPS, start, 65536));
    ck_assert_uint_eq(group->used, length - 65536);
    ck_assert_uint_eq(GROUPS->bytes_used, all + length - 65536);
    ck_assert_uint_eq(group->pinned.bytes, 65536);
    expect_failure(EEXIST, "is there already", block_groups_release(GROUPS, start, 4096));
    estate_abort(&estate);
    close_empty();
}
END_TEST

/* Pinned until committed, in a group that is loaded and in one that is not. */
START_TEST(pinned)
{
    open_empty(SIZE, false);
    estate_begin(&estate);
    expect_success(estate_write(&estate, 0, 4, 2));
    expect_success(estate_commit(&estate));
    for (int is_loaded = 0; is_loaded < 2; is_loaded++) {
        uint64_t start = estate.committed.trees[0].items[4].bytenr;
        estate_reopen(&estate);
        estate_begin(&estate);
        expect_success(extent_allocator_load(&estate.allocator));
        if (is_loaded)
            take(4096, 4096);
        struct block_group *group = group_of_type(BLOCK_GROUP_DATA);
        uint64_t before = group->free.bytes;
        ck_assert_int_eq(group->is_loaded, is_loaded);
        expect_success(block_groups_release(GROUPS, start, 8192));
        ck_assert_uint_eq(group->free.bytes, before);
        ck_assert_uint_eq(take(4096, 4096), start + 8192 + (is_loaded ? 4096U : 0U));
        block_groups_commit(GROUPS);
        ck_assert_uint_eq(group->pinned.bytes, 0);
        ck_assert_uint_eq(group->committed_used, group->used);
        ck_assert_uint_eq(take(4096, 4096), start);
        estate_abort(&estate);
    }
    close_empty();
}
END_TEST

/* --- laziness
 * ------------------------------------------------------------------------- */

START_TEST(lazy)
{
    open_empty(SIZE, false);
    estate_reopen(&estate);
    expect_success(extent_allocator_load(&estate.allocator));
    ck_assert_uint_eq(GROUPS->groups_loaded, 0);
    estate_begin(&estate);
    expect_success(estate_insert(&estate, 0, 1, 10));
    ck_assert_uint_eq(GROUPS->groups_loaded, 1);
    expect_success(estate_commit(&estate));
    ck_assert_uint_eq(GROUPS->groups_loaded, 1); /* nothing was asked of system and data */
    estate_begin(&estate);
    expect_success(estate_write(&estate, 0, 4, 1));
    expect_success(estate_commit(&estate));
    ck_assert_uint_eq(GROUPS->groups_loaded, 2);
    expect_estate(&estate);
    close_empty();
}
END_TEST

/* A thousand groups in a file of a terabyte, of which only what was written takes room. */
START_TEST(terabyte)
{
    struct image image;
    struct device *device, *counting;
    struct mkfs_options options = estate_options(16384);
    image_open_blank(&image, 1ULL << 40);
    options.blank.total_bytes = 1ULL << 40;
    expect_success(file_device_open(image.path, true, &device));
    expect_success(failing_device_open(device, 1U << DEVICE_READ, UINT64_MAX, EIO, &counting));
    estate_open(&estate, counting, &options, 1);
    estate_begin(&estate);
    for (unsigned i = 0; i < 1000; i++)
        expect_success(block_groups_add(GROUPS, &estate.transaction, GROUP_DATA, 1000 * MIB));
    expect_success(estate_commit(&estate));
    ck_assert_uint_eq(GROUPS->count, 1003);
    expect_sound(counting);
    estate_reopen(&estate);
    struct tree extents;
    expect_success(volume_tree(&estate.volume, EXTENT_TREE_OBJECTID, &extents));
    uint64_t before = failing_device_calls(counting);
    expect_success(extent_allocator_load(&estate.allocator));
    uint64_t reads = failing_device_calls(counting) - before;
    uint64_t most = 1003 * (extents.level + 1ULL) + 2;
    expect(reads <= most, "%ju blocks read, more than %ju", (uintmax_t)reads, (uintmax_t)most);
    ck_assert_uint_eq(GROUPS->groups_loaded, 0);

    before = failing_device_calls(counting);
    estate_begin(&estate);
    expect_success(estate_insert(&estate, 0, 1, 10));
    expect_success(estate_commit(&estate));
    reads = failing_device_calls(counting) - before;
    expect(reads < 60, "%ju blocks read to change one item", (uintmax_t)reads);
    ck_assert_uint_eq(GROUPS->groups_loaded, 1);
    expect_sound(counting);
    estate_close(&estate);
    device_close(counting);
    image_close(&image);
}
END_TEST

SUITE(block_group, 60, mismatched, mismatch_in_transaction, wrong_used, every_image,
      memory_is_right, over_a_mirror, first_mebibyte, first_fit, right_type, finding, account,
      pinned, lazy, terabyte)
