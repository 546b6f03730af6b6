#include "extent_allocator.h"

#include "fail.h"
#include "support_audit.h"
#include "support_churn.h"
#include "support_crash.h"
#include "support_device.h"
#include "support_faults.h"
#include "support_image.h"
#include "support_space.h"
#include "writable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct estate estate;
#define GROUPS (&estate.allocator.groups)

enum { MIB = 1 << 20, ROUNDS_MOST = 6 };

static const struct config {
    uint32_t node_size, sector_size;
    bool metadata_dup, data_dup, mixed, block_group_tree;
    uint16_t csum_type;
} configs[] = {
    {4096, 4096, false, false, false, false, 0}, {4096, 4096, true, true, false, true, 1},
    {4096, 4096, false, false, true, false, 2},  {8192, 4096, true, false, false, false, 0},
    {16384, 4096, false, false, false, true, 3}, {16384, 4096, true, true, false, false, 0},
    {16384, 16384, true, true, true, false, 0},  {32768, 4096, false, true, false, false, 1},
    {65536, 4096, true, false, false, true, 0},  {65536, 65536, false, false, false, false, 0},
};

static struct mkfs_options options_of(const struct config *config)
{
    struct mkfs_options options = estate_options(config->node_size);
    options.blank.sector_size = config->sector_size;
    options.blank.csum_type = config->csum_type;
    options.metadata_dup = config->metadata_dup;
    options.data_dup = config->data_dup;
    options.mixed = config->mixed;
    options.block_group_tree = config->block_group_tree;
    return options;
}

/* As small as it can be, and so much more. */
static void open_config(const struct config *config, uint64_t more, uint64_t seed)
{
    struct mkfs_options options = options_of(config);
    options.blank.total_bytes = mkfs_least_bytes(&options) + more;
    estate_open(&estate, make_memory(options.blank.total_bytes), &options, seed);
}

static void close_estate(void)
{
    estate_close(&estate);
    device_close(estate.device);
}

/* --- W1: a guard over what the superblock reaches
 * ------------------------------------- */

/* Complains of a write over an extent of the state that is on the device. */
struct guard {
    struct device device;
    struct device *under;
    struct range_set reached; /* physical */
    uint64_t writes, wrong;
};

static struct guard guard;

static int guard_read(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    (void)device;
    return device_read(guard.under, offset, buffer, length);
}

static int guard_write(struct device *device, uint64_t offset, const void *buffer, size_t length)
{
    (void)device;
    size_t at = range_set_find(&guard.reached, offset);
    bool hits = at < guard.reached.count && guard.reached.ranges[at].start < offset + length;
    bool is_super = false;
    for (int mirror = 0; mirror < SUPERBLOCK_MIRRORS; mirror++)
        is_super |= offset == superblock_offset(mirror);
    guard.writes++;
    guard.wrong += hits || (offset < MIB && !is_super);
    return device_write(guard.under, offset, buffer, length);
}

static int guard_flush(struct device *device)
{
    (void)device;
    return device_flush(guard.under);
}

static int guard_size(struct device *device, uint64_t *size)
{
    (void)device;
    return device_size(guard.under, size);
}

static int guard_resize(struct device *device, uint64_t size)
{
    (void)device;
    return device_resize(guard.under, size);
}

static void guard_close(struct device *device)
{
    (void)device;
    range_set_close(&guard.reached);
    device_close(guard.under);
}

static struct device *make_guard(struct device *under)
{
    guard = (struct guard){
        .device = {guard_read, guard_write, guard_flush, guard_size, guard_resize, guard_close},
        .under = under};
    return &guard.device;
}

static int note_extent(const struct path *path, void *context)
{
    struct volume *volume = context;
    struct key key = path_key(path);
    bool is_block = key.type == METADATA_ITEM_KEY;
    const struct chunk *chunk;
    if (!is_block && key.type != EXTENT_ITEM_KEY)
        return 0;
    uint64_t length = is_block ? from_le32(volume->super.nodesize) : key.offset;
    expect_success(chunk_map_find(&volume->chunks, key.objectid, length, &chunk));
    for (unsigned copy = 0; copy < chunk->copies; copy++) {
        uint64_t start = chunk->physical[copy] + (key.objectid - chunk->logical);
        expect_success(range_set_add(&guard.reached, start, start + length));
    }
    return 0;
}

/* The volume has a new state on the device. */
static void guard_state(struct volume *volume)
{
    struct key first = {0}, last = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
    struct tree extents;
    range_set_close(&guard.reached);
    expect_success(volume_tree(volume, EXTENT_TREE_OBJECTID, &extents));
    expect_success(tree_range(&extents, &first, &last, note_extent, volume));
}

/* --- lives
 * ----------------------------------------------------------------------------
 */

/* Many transactions with several trees; the image is sound after each tenth, W1 holds of all
 * writes, and to settle takes few rounds. */
static void live(const struct config *config, unsigned transactions, uint64_t seed)
{
    struct mkfs_options options = options_of(config);
    uint64_t most_rounds = 0, cancelled = 0;
    options.blank.total_bytes = 120 * MIB;
    struct device *memory = make_memory(options.blank.total_bytes);
    estate_open(&estate, make_guard(memory), &options, seed);
    for (unsigned i = 0; i < transactions; i++) {
        guard_state(&estate.volume);
        estate_begin(&estate);
        if (i % 64 == 10 && i / 64 + 1 < ESTATE_TREES)
            expect_success(estate_new_tree(&estate, i / 64 + 1, 257 + i / 64));
        expect_success(estate_steps(&estate, (unsigned)dice_below(&estate.dice, 30)));
        if (dice_below(&estate.dice, 8) == 0) {
            if (dice_below(&estate.dice, 2))
                expect_success(transaction_settle(&estate.transaction));
            estate_abort(&estate);
        } else {
            expect_success(estate_commit(&estate));
        }
        uint64_t rounds = estate.transaction.counters.rounds;
        most_rounds = rounds > most_rounds ? rounds : most_rounds;
        if (i % 20 == 19 || i + 1 == transactions)
            expect_estate(&estate);
        if (i % 50 == 49) {
            cancelled += estate.allocator.counters.refs_cancelled;
            estate_reopen(&estate);
        }
    }
    ck_assert_uint_eq(guard.wrong, 0);
    expect(guard.writes > transactions, "%ju writes", (uintmax_t)guard.writes);
    expect(most_rounds <= ROUNDS_MOST, "%ju rounds to settle", (uintmax_t)most_rounds);
    expect(cancelled > 0 || transactions < 50, "nothing was cancelled");
    estate_close(&estate);
    device_close(&guard.device);
}

START_TEST(lives)
{
    for (size_t i = 0; i < LENGTH_OF(configs); i++)
        live(&configs[i], ROUNDS_OF(120), i + 1);
}
END_TEST

/* A transaction in which nothing is changed writes nothing. */
START_TEST(nothing)
{
    open_config(&configs[0], 0, 1);
    struct superblock before = estate.volume.super;
    estate_begin(&estate);
    expect_success(estate_commit(&estate));
    ck_assert_mem_eq(&before, &estate.volume.super, sizeof before);
    expect_estate(&estate);
    close_estate();
}
END_TEST

/* Images that mkfs.btrfs and the kernel made, with snapshots, bitmaps and all. */
START_TEST(images)
{
    static const unsigned checks = AUDIT_ALL & ~(unsigned)AUDIT_STRAY;
    for (size_t i = 0; image_names[i]; i++) {
        static struct churn churn;
        struct device *memory = load_image(image_names[i]);
        char why[500];
        int before = audit_image_for(memory, checks, why, sizeof why);
        expect(before == 0, "%s: %s", image_names[i], why);
        estate_open(&estate, make_guard(memory), NULL, 1);
        expect_success(churn_open(&churn, &estate.volume, &estate.allocator, i));
        for (unsigned round = 0; round < ROUNDS_OF(120); round++) {
            guard_state(&estate.volume);
            churn_begin(&churn);
            for (unsigned step = 0; step < 15; step++)
                expect(churn_step(&churn) >= 0, "%s: %s", image_names[i], fail_message());
            if (round % 8 == 3)
                churn_abort(&churn);
            else
                expect_success(churn_commit(&churn));
            expect(churn.transaction.counters.rounds <= ROUNDS_MOST, "%ju rounds",
                   (uintmax_t)churn.transaction.counters.rounds);
            if (round % 10 < 2)
                expect(audit_image_for(memory, checks, why, sizeof why) == 0, "%s: round %u: %s",
                       image_names[i], round, why);
        }
        expect_success(churn_verify(&churn));
        ck_assert_uint_eq(guard.wrong, 0);
        churn_close(&churn);
        estate_close(&estate);
        device_close(&guard.device);
    }
}
END_TEST

/* --- data
 * -----------------------------------------------------------------------------
 */

static bool has_csums(uint64_t bytenr)
{
    struct key key = {EXTENT_CSUM_OBJECTID, EXTENT_CSUM_KEY, bytenr};
    struct path path = {0};
    struct tree csums;
    expect_success(volume_tree(&estate.volume, CSUM_TREE_OBJECTID, &csums));
    int result = tree_search(&csums, &key, &path);
    path_release(&csums, &path);
    expect(result >= 0, "%s", fail_message());
    return result == 0;
}

static uint64_t refs_of(uint64_t bytenr, uint64_t num_bytes)
{
    struct extent extent = {.bytenr = bytenr, .num_bytes = num_bytes};
    struct extent_info info = {0};
    struct tree extents;
    expect_success(volume_tree(&estate.volume, EXTENT_TREE_OBJECTID, &extents));
    int result = extent_lookup(&extents, &extent, &info);
    expect(result >= 0 && (result == 1) == (info.refs == 0), "%s", fail_message());
    return info.refs;
}

static uint64_t data_used(void)
{
    expect_success(extent_allocator_load(&estate.allocator));
    return GROUPS->groups[2]->used;
}

/* One extent in four files of two trees, in one of them twice; they lose it one after another. */
START_TEST(last_reference)
{
    static const struct {
        unsigned tree;
        uint32_t number;
    } places[] = {{0, 4}, {0, 5}, {0, 12}, {1, 4}, {1, 20}};
    open_config(&configs[0], 0, 1);
    estate_begin(&estate);
    expect_success(estate_new_tree(&estate, 1, 257));
    expect_success(estate_write(&estate, 0, 4, 4));
    struct estate_item extent = estate.now.trees[0].items[4];
    for (size_t i = 1; i < LENGTH_OF(places); i++)
        expect_success(estate_clone(&estate, places[i].tree, places[i].number, &extent));
    expect_success(estate_commit(&estate));
    expect_estate(&estate);
    for (size_t i = 0; i < LENGTH_OF(places); i++) {
        ck_assert_uint_eq(refs_of(extent.bytenr, extent.num_bytes), LENGTH_OF(places) - i);
        ck_assert(has_csums(extent.bytenr));
        ck_assert_uint_eq(data_used(), 4 * 4096);
        estate_begin(&estate);
        expect_success(estate_delete(&estate, places[i].tree, places[i].number, places[i].number));
        expect_success(estate_commit(&estate));
        expect_estate(&estate);
    }
    ck_assert_uint_eq(refs_of(extent.bytenr, extent.num_bytes), 0);
    ck_assert(!has_csums(extent.bytenr));
    ck_assert_uint_eq(data_used(), 0);
    close_estate();
}
END_TEST

/* Written, referred to and given up in one transaction, beside one that stays. */
START_TEST(given_up_at_once)
{
    open_config(&configs[0], 0, 1);
    for (unsigned way = 0; way < 4; way++) {
        estate_begin(&estate);
        expect_success(estate_write(&estate, 0, 4, 4));
        struct estate_item extent = estate.now.trees[0].items[4];
        if (way & 1)
            expect_success(estate_clone(&estate, 0, 5, &extent));
        if (way & 2)
            expect_success(estate_write(&estate, 0, 6, 2));
        expect_success(estate_delete(&estate, 0, 4, 4));
        if (way & 1)
            expect_success(estate_delete(&estate, 0, 5, 5));
        expect_success(estate_commit(&estate));
        expect_estate(&estate);
        ck_assert(!has_csums(extent.bytenr));
        ck_assert_uint_eq(data_used(), way & 2 ? 2 * 4096 : 0);
        /* It was never used: it is given out again. */
        estate_begin(&estate);
        expect_success(estate_delete(&estate, 0, 0, ESTATE_KEYS - 1));
        expect_success(estate_write(&estate, 0, 4, 2));
        ck_assert_uint_eq(estate.now.trees[0].items[4].bytenr, extent.bytenr);
        expect_success(estate_commit(&estate));
        estate_begin(&estate);
        expect_success(estate_delete(&estate, 0, 0, ESTATE_KEYS - 1));
        expect_success(estate_commit(&estate));
        expect_estate(&estate);
    }
    close_estate();
}
END_TEST

/* What was freed in a transaction is not given out in it. */
START_TEST(not_before_commit)
{
    open_config(&configs[0], 0, 1);
    estate_begin(&estate);
    expect_success(estate_write(&estate, 0, 4, 4));
    expect_success(estate_commit(&estate));
    uint64_t bytenr = estate.committed.trees[0].items[4].bytenr;
    estate_begin(&estate);
    expect_success(estate_delete(&estate, 0, 4, 4));
    expect_success(transaction_settle(&estate.transaction));
    expect_success(estate_write(&estate, 0, 5, 4));
    ck_assert_uint_eq(estate.now.trees[0].items[5].bytenr, bytenr + 4 * 4096);
    expect_success(estate_commit(&estate));
    expect_estate(&estate);
    estate_begin(&estate);
    expect_success(estate_write(&estate, 0, 6, 4));
    ck_assert_uint_eq(estate.now.trees[0].items[6].bytenr, bytenr);
    expect_success(estate_commit(&estate));
    expect_estate(&estate);
    close_estate();
}
END_TEST

/* By halves down to a sector: all of the data space is had. */
START_TEST(data_by_halves)
{
    open_config(&configs[0], 0, 1);
    uint64_t bytenr, got, all = 0, last = UINT64_MAX;
    int result;
    estate_begin(&estate);
    while ((result = data_alloc(&estate.allocator, 1000 * 4096, &bytenr, &got)) == 0) {
        expect(got % 4096 == 0 && got <= last, "%ju after %ju", (uintmax_t)got, (uintmax_t)last);
        last = got;
        all += got;
    }
    expect_failure(ENOSPC, "no room", result);
    ck_assert_uint_eq(last, 4096);
    ck_assert_uint_eq(all, GROUPS->groups[2]->length);
    ck_assert_uint_eq(GROUPS->groups[2]->free.bytes, 0);
    estate_abort(&estate);
    expect_estate(&estate);
    close_estate();
}
END_TEST

/* --- no space
 * ------------------------------------------------------------------------- */

/* Fills the image until there is no space. *is_empty: nothing was done before that. */
static void fill(bool with_data)
{
    int result = 0;
    for (unsigned i = 0; result == 0; i++) {
        struct superblock before, after;
        expect(i < 3000, "no end");
        expect_success(superblock_read(estate.device, 0, &before));
        estate_begin(&estate);
        for (unsigned step = 0; step < 20 && result == 0; step++) {
            unsigned tree = (unsigned)dice_below(&estate.dice, ESTATE_TREES);
            uint32_t number = 8 * (uint32_t)dice_below(&estate.dice, ESTATE_KEYS / 8);
            if (!estate.now.trees[tree].id)
                result = estate_new_tree(&estate, tree, 256 + tree);
            number += with_data && step % 4 == 0 ? 4 + step % 4 : 1 + step % 3;
            if (result == 0 && !estate.now.trees[tree].items[number].kind)
                result = number % 8 < 4 ? estate_insert(&estate, tree, number, estate.most)
                                        : estate_write(&estate, tree, number, estate.longest);
        }
        if (result == 0) {
            result = estate_commit(&estate);
        } else {
            expect_failure(ENOSPC, "", result);
            estate_abort(&estate);
        }
        if (result < 0) {
            expect_failure(ENOSPC, "", result);
            expect(strstr(fail_message(), "no ") != NULL, "says '%s'", fail_message());
            expect_success(superblock_read(estate.device, 0, &after));
            ck_assert_mem_eq(&after, &before, sizeof after);
        }
    }
    expect_estate(&estate);
}

/* Fills it, takes from it with what is in reserve, and again. */
static void fill_and_empty(const struct config *config, uint64_t more, bool with_data)
{
    open_config(config, more, more);
    estate.most = config->node_size / 5 * 3; /* one in a leaf */
    estate.longest = with_data ? 64 : 0;
    for (unsigned i = 0; i < ROUNDS_OF(8) / 2 + 1; i++) {
        fill(with_data);
        /* Deletes have what they need, one by one and many at once. */
        for (unsigned step = 0; step < 12; step++) {
            unsigned tree = (unsigned)dice_below(&estate.dice, ESTATE_TREES);
            uint32_t first = (uint32_t)dice_below(&estate.dice, ESTATE_KEYS);
            uint32_t length = step % 3 ? 16 : ESTATE_KEYS / 2;
            uint32_t last = first + length < ESTATE_KEYS ? first + length : ESTATE_KEYS - 1;
            if (!estate.committed.trees[tree].id)
                continue;
            estate.allocator.may_use_reserve = true;
            estate_begin(&estate);
            expect_success(estate_delete(&estate, tree, first, last));
            expect_success(estate_commit(&estate));
            estate.allocator.may_use_reserve = false;
        }
        expect_estate(&estate);
        estate_begin(&estate);
        int result = estate_insert(&estate, 0, 1 + i % 3, 10);
        expect(result == 0 || result == -EEXIST, "%s", fail_message());
        if (result == 0)
            expect_success(estate_commit(&estate));
        else
            estate_abort(&estate);
        expect_estate(&estate);
    }
    close_estate();
}

START_TEST(full)
{
    for (size_t i = 0; i < LENGTH_OF(configs); i++)
        if (configs[i].node_size <= 16384 && configs[i].sector_size == 4096)
            fill_and_empty(&configs[i], i % 2 || configs[i].mixed ? 0 : 2 * MIB + 16384 * i, false);
}
END_TEST

START_TEST(full_of_data)
{
    for (size_t i = 0; i < LENGTH_OF(configs); i++)
        if (configs[i].node_size <= 16384 && configs[i].sector_size == 4096)
            fill_and_empty(&configs[i], i % 2 ? 0 : 3 * MIB + 16384 * i, true);
}
END_TEST

/* Ordinary transactions leave the reserve. */
START_TEST(reserve)
{
    open_config(&configs[0], 0, 1);
    expect_success(extent_allocator_load(&estate.allocator));
    estate_begin(&estate);
    uint64_t bytenr, left = 0;
    while (block_groups_free(GROUPS, GROUP_METADATA) > 64 * 4096)
        expect_success(
            block_groups_alloc(GROUPS, &estate.transaction, GROUP_METADATA, 4096, 4096, &bytenr));
    left = block_groups_free(GROUPS, GROUP_METADATA);
    ck_assert_uint_eq(left, 64 * 4096);
    ck_assert_uint_eq(block_groups_unallocated(GROUPS, GROUP_METADATA), 0);
    expect_success(estate_insert(&estate, 0, 1, 10)); /* at the limit one block may go */
    estate_abort(&estate);

    estate_begin(&estate);
    expect_success(extent_allocator_load(&estate.allocator));
    while (block_groups_free(GROUPS, GROUP_METADATA) >= 64 * 4096)
        expect_success(
            block_groups_alloc(GROUPS, &estate.transaction, GROUP_METADATA, 4096, 4096, &bytenr));
    expect_failure(ENOSPC, "but the reserve", estate_insert(&estate, 0, 1, 10));
    estate_abort(&estate);

    estate_begin(&estate);
    expect_success(extent_allocator_load(&estate.allocator));
    while (block_groups_free(GROUPS, GROUP_METADATA) >= 64 * 4096)
        expect_success(
            block_groups_alloc(GROUPS, &estate.transaction, GROUP_METADATA, 4096, 4096, &bytenr));
    estate.allocator.may_use_reserve = true;
    expect_success(estate_insert(&estate, 0, 1, 10));
    estate_abort(&estate);
    expect_estate(&estate);
    close_estate();
}
END_TEST

/* --- faults
 * ---------------------------------------------------------------------------
 */

/* A transaction that makes chunks of data and metadata, in an image that has little left. */
static int busy_transaction(void)
{
    int result = extent_allocator_load(&estate.allocator);
    if (result == 0)
        result = block_groups_add(GROUPS, &estate.transaction, GROUP_METADATA, 0);
    if (result == 0)
        result = block_groups_add(GROUPS, &estate.transaction, GROUP_SYSTEM, MIB);
    if (result == 0)
        result = block_groups_add(GROUPS, &estate.transaction, GROUP_DATA, 0);
    if (result == 0)
        result = estate_new_tree(&estate, 2, 258);
    if (result == 0)
        result = estate_delete(&estate, 0, 100, 300);
    if (result == 0)
        result = estate_delete(&estate, 1, 10, 200);
    for (uint32_t i = 0; i < 12 && result == 0; i++) {
        result = estate_write(&estate, 2, 8 * i + 4, 2);
        if (result == 0)
            result = estate_insert(&estate, 2, 8 * i + 1, 500);
    }
    return result;
}

static int end_transaction(int result)
{
    if (result == 0)
        return estate_commit(&estate);
    estate_abort(&estate);
    return result;
}

/* An image with a snapshot, on which that transaction does much. */
static struct device *busy_image(bool dup, uint64_t bytes)
{
    struct config config = configs[dup ? 1 : 0];
    open_config(&config, 0, 7);
    struct mkfs_options options = options_of(&config);
    struct device *device = make_memory(bytes);
    close_estate();
    options.blank.total_bytes = bytes;
    estate_open(&estate, device, &options, 7);
    estate_begin(&estate);
    for (uint32_t i = 0; i < 50; i++) {
        expect_success(estate_insert(&estate, 0, 8 * i + 1, 300));
        expect_success(estate_write(&estate, 0, 8 * i + 4, 1 + i % 3));
    }
    expect_success(estate_snapshot(&estate, 0, 1, 257));
    expect_success(estate_commit(&estate));
    expect_estate(&estate);
    return device;
}

static struct estate start; /* as it was; its volume and allocator are closed */
static struct overlay overlay;

static void begin_again(struct device *device)
{
    estate = start;
    estate.device = device;
    expect_success(volume_open(&estate.volume, device, &estate.notes));
    expect_success(volume_writable(&estate.volume));
    extent_allocator_open(&estate.allocator, &estate.volume);
    estate_begin(&estate);
}

/* What is on the device is one of the two states, and sound. */
static bool is_either(struct device *device, uint64_t before, uint64_t after, const char *what)
{
    char why[500];
    uint64_t digest = state_of(device).digest;
    expect(digest == before || digest == after, "%s: another state", what);
    struct volume volume;
    struct notes notes = {0};
    expect_success(volume_open(&volume, device, &notes));
    expect_success(volume_writable(&volume));
    volume_close(&volume);
    expect(audit_image(device, why, sizeof why) == 0, "%s: %s", what, why);
    return digest == after;
}

static uint64_t digest_after(struct device *device)
{
    begin_again(device);
    expect_success(end_transaction(busy_transaction()));
    expect_estate(&estate);
    estate_close(&estate);
    return state_of(device).digest;
}

/* Each call of a kind fails, alone. Of writes a part may be done all the same. */
static void fail_calls(enum device_event_type type, bool dup, size_t written)
{
    struct device *device = busy_image(dup, 70 * MIB);
    start = estate;
    estate_close(&estate);
    overlay_open(&overlay, device);
    uint64_t before = state_of(device).digest, after = digest_after(&overlay.device);
    uint64_t news = 0, struck = 0;
    for (uint64_t call = 0;; call += SANITIZED ? 5 : 1) {
        char what[80];
        snprintf(what, sizeof what, "kind %d, call %ju", type, (uintmax_t)call);
        overlay_clear(&overlay);
        begin_again(&overlay.device);
        overlay.fault.type = type;
        overlay.fault.written = written;
        overlay.fault.call = overlay.calls[type] + call;
        int result = end_transaction(busy_transaction());
        uint64_t writes = overlay.calls[DEVICE_WRITE];
        bool is_struck = overlay.fault.is_passed;
        overlay.fault.call = UINT64_MAX;
        if (!is_struck) {
            expect_success(result);
            estate_close(&estate);
            break;
        }
        struck++;
        if (result == 0 && dup && type == DEVICE_READ) {
            /* The other copy was read. */
            ck_assert_uint_eq(state_of(&overlay.device).digest, after);
            expect(estate.notes.count > start.notes.count, "no note");
            estate_close(&estate);
            continue;
        }
        expect_failure(EIO, "", result);
        expect(strstr(fail_message(), "overlay") || strstr(fail_message(), "failed before"),
               "says '%s'", fail_message());
        if (type == DEVICE_WRITE || type == DEVICE_FLUSH) {
            /* Data is written before the transaction is; then it can be given up. */
            if (estate.volume.write_error) {
                estate_begin(&estate);
                expect(estate_insert(&estate, 0, 2, 10) < 0, "%s: it goes on", what);
                expect(estate_commit(&estate) < 0, "%s: it goes on", what);
                ck_assert_uint_eq(overlay.calls[DEVICE_WRITE], writes);
            }
        } else {
            ck_assert_uint_eq(state_of(&overlay.device).digest, before);
            estate_begin(&estate);
            expect_success(estate_steps(&estate, 3));
            expect_success(estate_commit(&estate));
            expect_estate(&estate);
            estate_close(&estate);
            continue;
        }
        estate_close(&estate);
        news += is_either(&overlay.device, before, after, what);
    }
    expect(struck >= (type == DEVICE_FLUSH ? 2 : 20) / (SANITIZED ? 5 : 1), "%ju faults",
           (uintmax_t)struck);
    if (type == DEVICE_WRITE && !SANITIZED)
        ck_assert_uint_ge(news, 1); /* a mirror alone was not written */
    overlay_close(&overlay);
    device_close(device);
}

START_TEST(read_faults)
{
    fail_calls(DEVICE_READ, false, 0);
    fail_calls(DEVICE_READ, true, 0);
}
END_TEST

START_TEST(write_faults)
{
    fail_calls(DEVICE_WRITE, true, 0);
    fail_calls(DEVICE_WRITE, true, 512);
    fail_calls(DEVICE_FLUSH, true, 0);
}
END_TEST

/* Memory is refused once, or from then on. The old state is on the device, or the new one where it
 * is not an error; and what is done afterwards is right. */
static void fail_memory(uint64_t failing)
{
    struct device *device = busy_image(false, 70 * MIB);
    start = estate;
    estate_close(&estate);
    overlay_open(&overlay, device);
    uint64_t before = state_of(device).digest, after = digest_after(&overlay.device);
    for (uint64_t first = 0;; first += SANITIZED ? 29 : 3) {
        struct fault fault = {FAULT_MEMORY, FAULT_ERROR, ENOMEM, first, failing};
        int64_t pieces = memory_pieces();
        overlay_clear(&overlay);
        begin_again(&overlay.device);
        faults_begin(&fault);
        int result = busy_transaction();
        if (result == 0)
            result = estate_commit(&estate);
        bool struck = faults_end() > first;
        if (result < 0 && estate.allocator.space.transaction)
            estate_abort(&estate);
        uint64_t digest = state_of(&overlay.device).digest;
        expect(struck || result == 0, "%s", fail_message());
        if (result < 0)
            expect_failure(ENOMEM, "", result);
        expect(digest == (result < 0 ? before : after), "malloc %ju: another state",
               (uintmax_t)first);
        if (first % 4 == 0 || first % 27 == 0) {
            estate_begin(&estate);
            expect_success(estate_steps(&estate, 10));
            expect_success(estate_commit(&estate));
            expect_estate(&estate);
        }
        estate_close(&estate);
        expect(memory_pieces() == pieces, "malloc %ju: %jd pieces leaked", (uintmax_t)first,
               (intmax_t)(memory_pieces() - pieces));
        if (!struck)
            break;
    }
    overlay_close(&overlay);
    device_close(device);
}

START_TEST(memory_faults)
{
    fail_memory(1);
    fail_memory(FAULTS_WITHOUT_END);
}
END_TEST

/* The space has no address for the n-th block. */
static int (*real_alloc)(struct space *, struct tree *, uint8_t, uint64_t *);
static uint64_t allocs, failing_alloc;

static int stingy_alloc(struct space *space, struct tree *tree, uint8_t level, uint64_t *bytenr)
{
    if (allocs++ == failing_alloc)
        return fail(ENOSPC, "no space, says the test");
    return real_alloc(space, tree, level, bytenr);
}

START_TEST(space_faults)
{
    struct device *device = busy_image(true, 70 * MIB);
    start = estate;
    estate_close(&estate);
    overlay_open(&overlay, device);
    uint64_t before = state_of(device).digest;
    for (failing_alloc = 0;; failing_alloc += SANITIZED ? 5 : 1) {
        overlay_clear(&overlay);
        begin_again(&overlay.device);
        real_alloc = estate.allocator.space.alloc;
        estate.allocator.space.alloc = stingy_alloc;
        allocs = 0;
        int result = end_transaction(busy_transaction());
        bool struck = allocs > failing_alloc;
        estate.allocator.space.alloc = real_alloc;
        if (!struck) {
            expect_success(result);
            estate_close(&estate);
            break;
        }
        expect_failure(ENOSPC, "no space", result);
        ck_assert_uint_eq(state_of(&overlay.device).digest, before);
        ck_assert_uint_eq(overlay.calls[DEVICE_FLUSH], 0);
        expect_estate(&estate);
        estate_begin(&estate);
        expect_success(estate_steps(&estate, 10));
        expect_success(estate_commit(&estate));
        expect_estate(&estate);
        estate_close(&estate);
    }
    expect(failing_alloc > 15, "%ju allocations", (uintmax_t)failing_alloc);
    overlay_close(&overlay);
    device_close(device);
}
END_TEST

/* --- cuts
 * -----------------------------------------------------------------------------
 */

struct cut {
    uint64_t before, after, olds, news;
};

static void check_cut(const struct crash *crash, void *context)
{
    struct cut *cut = context;
    bool is_new = is_either(crash->device, cut->before, cut->after, crash->what);
    expect(crash->flushes < 2 || is_new, "%s: the old state", crash->what);
    cut->olds += !is_new;
    cut->news += is_new;
}

START_TEST(power_cuts)
{
    struct device *device = busy_image(false, 66 * MIB), *recording, *copy = copy_device(device);
    start = estate;
    estate_close(&estate);
    expect_success(recording_device_open(copy, &recording));
    struct cut cut = {.before = state_of(device).digest, .after = digest_after(recording)};
    struct crash_plan plan = {.before = device,
                              .random = SANITIZED ? 2 : 20,
                              .tears = 1,
                              .cuts = true,
                              .check = check_cut,
                              .context = &cut,
                              .seed = 1};
    plan.events = recording_device_events(recording, &plan.count);
    uint64_t states = crash_each(&plan);
    expect(states > 60 && cut.olds > 20 && cut.news > 5, "%ju states: %ju old, %ju new",
           (uintmax_t)states, (uintmax_t)cut.olds, (uintmax_t)cut.news);
    device_close(recording);
    device_close(device);
}
END_TEST

SUITE_WITH(extent_allocator, 100, load_all_images, lives, nothing, images, last_reference,
           given_up_at_once, not_before_commit, data_by_halves, full, full_of_data, reserve,
           read_faults, write_faults, memory_faults, space_faults, power_cuts)
