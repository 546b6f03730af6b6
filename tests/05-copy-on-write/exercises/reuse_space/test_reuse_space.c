#include "reuse_space.h"

#include "delete.h"
#include "fail.h"
#include "insert.h"
#include "support.h"
#include "support_device.h"
#include "support_forest.h"

#include <string.h>

enum { DEVICE_SIZE = 2 << 20, CHUNK_SIZE = 1 << 20, NODE_SIZE = 4096, KEYS = 120, ROUNDS = 400 };

static struct {
    struct device *device; /* keeps a record */
    struct notes notes;
    struct volume volume;
    struct bump_space bump;
    struct reuse_space reuse;
    struct dice dice;
    bool is_there[KEYS];
} bed;

static void begin(void)
{
    bed.dice.state = 5;
    expect_success(recording_device_open(make_memory(DEVICE_SIZE), &bed.device));
    expect_success(bump_format(&bed.bump, &bed.volume, bed.device, NODE_SIZE, &bed.notes));
    expect_success(reuse_space_open(&bed.reuse, &bed.bump));
}

static void end(void)
{
    reuse_space_close(&bed.reuse);
    volume_close(&bed.volume);
    device_close(bed.device);
}

/* Inserts an item or deletes it; three or four make a leaf, so leaves are split and merged. */
static void toggle(struct tree *tree, bool *is_there)
{
    uint32_t number = (uint32_t)dice_below(&bed.dice, KEYS);
    struct key key = {1000 + number, 2, 0};
    int result = is_there[number] ? tree_delete(tree, &key) : tree_insert(tree, &key, NULL, 1000);
    expect_success(result);
    is_there[number] = !is_there[number];
}

static bool meets(const struct range_set *set, uint64_t start, uint64_t end)
{
    size_t at = range_set_find(set, start);
    return at < set->count && set->ranges[at].start < end;
}

/* One transaction of some changes, committed or aborted. */
static void run_transaction(bool commits)
{
    struct transaction transaction;
    struct tree *tree;
    bool is_there[KEYS];
    memcpy(is_there, bed.is_there, sizeof is_there);
    transaction_begin(&transaction, &bed.volume, &bed.reuse.space);
    expect_success(transaction_tree(&transaction, FS_TREE_OBJECTID, &tree));
    for (uint64_t changes = 1 + dice_below(&bed.dice, 30); changes > 0; changes--)
        toggle(tree, is_there);
    if (!commits) {
        transaction_abort(&transaction);
        return;
    }
    expect_success(transaction_commit(&transaction));
    memcpy(bed.is_there, is_there, sizeof is_there);
}

/* Each address is free, or the superblock reaches its block; of none both is true. */
static void check_addresses(unsigned round)
{
    struct range_set reached;
    reach_blocks(&bed.volume, &reached);
    for (size_t i = 0; i < reached.count; i++)
        expect(!meets(&bed.reuse.free, reached.ranges[i].start, reached.ranges[i].end),
               "round %u: a block that is reached is free (W1)", round);
    expect(bed.reuse.taken.bytes + bed.reuse.pinned.bytes == 0,
           "round %u: addresses are taken or pinned, and no transaction runs", round);
    expect(bed.reuse.free.bytes + reached.bytes == CHUNK_SIZE,
           "round %u: %ju bytes are free and %ju reached, of %d", round,
           (uintmax_t)bed.reuse.free.bytes, (uintmax_t)reached.bytes, CHUNK_SIZE);
    range_set_close(&reached);
}

/* No write since `before` has touched a block of the old state. */
static void check_writes(unsigned round, size_t before, const struct range_set *reached)
{
    size_t count;
    const struct device_event *events = recording_device_events(bed.device, &count);
    for (size_t i = before; i < count; i++)
        if (events[i].type == DEVICE_WRITE)
            expect(!meets(reached, events[i].offset, events[i].offset + events[i].length),
                   "round %u: a block of the old state is overwritten (W1)", round);
}

START_TEST(test_addresses)
{
    begin();
    check_addresses(0);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        struct range_set reached;
        size_t before;
        reach_blocks(&bed.volume, &reached);
        recording_device_events(bed.device, &before);
        run_transaction(dice_below(&bed.dice, 4) > 0);
        check_writes(round, before, &reached);
        range_set_close(&reached);
        check_addresses(round);
    }
    end();
}
END_TEST

/* What a transaction has made and given up may be used again by itself: however long it is, it
 * takes no more than the tree is ever large. */
START_TEST(test_own_blocks)
{
    struct transaction transaction;
    struct tree *tree;
    begin();
    transaction_begin(&transaction, &bed.volume, &bed.reuse.space);
    expect_success(transaction_tree(&transaction, FS_TREE_OBJECTID, &tree));
    for (unsigned i = 0; i < 50 * KEYS; i++)
        toggle(tree, bed.is_there);
    ck_assert_uint_gt(transaction.counters.freed, CHUNK_SIZE / NODE_SIZE);
    expect(bed.reuse.taken.bytes / NODE_SIZE == transaction.source.count,
           "%ju blocks are taken, the transaction has %zu",
           (uintmax_t)(bed.reuse.taken.bytes / NODE_SIZE), transaction.source.count);
    expect_success(transaction_commit(&transaction));
    check_addresses(1);
    end();
}
END_TEST

SUITE(reuse_space, 60, test_addresses, test_own_blocks)
