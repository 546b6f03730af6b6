#include "shared_block.h"

#include "fail.h"
#include "support_device.h"
#include "support_space.h"

#include <string.h>

static struct estate estate;

/* --- which cases there were
 * ----------------------------------------------------------- */

/* Of blocks that may be shared; what they point to is a block or data. */
enum share_case { SHARE_OWNER_LEAVES, SHARE_OTHER_LEAVES, SHARE_LAST_LEAVES, SHARE_ALONE };
enum { SHARE_CASES = 4 };

static int (*real_shared)(struct space *space, struct tree *tree, const struct block *block);
static uint64_t cases[SHARE_CASES][2]; /* nodes, leaves with extents */

static bool has_children(const struct block *block)
{
    for (uint32_t slot = 0; slot < block_nritems(block); slot++)
        if (block_level(block) || leaf_key(block, slot).type == EXTENT_DATA_KEY)
            return true;
    return false;
}

/* What the block's item and the references that wait say, before anything is done. */
static int counting_shared(struct space *space, struct tree *tree, const struct block *block)
{
    struct extent extent = {block->bytenr, block->size, true, block_level(block)};
    const struct delayed_extent *waiting = delayed_refs_find(&estate.allocator.refs, block->bytenr);
    const struct transaction_tree *at = (const struct transaction_tree *)tree;
    struct extent_info info;
    struct tree *extents;
    if (block_generation(block) <= at->last_snapshot && has_children(block)) {
        expect_success(transaction_tree(space->transaction, EXTENT_TREE_OBJECTID, &extents));
        expect_success(extent_lookup(extents, &extent, &info));
        uint64_t refs = info.refs + (uint64_t)(waiting ? delayed_extent_sum(waiting) : 0);
        bool full = (info.flags | (waiting ? waiting->flags : 0)) & BLOCK_FLAG_FULL_BACKREF;
        bool is_owner = block_owner_id(block) == tree->id;
        enum share_case which = refs > 1
                                    ? (is_owner && !full ? SHARE_OWNER_LEAVES : SHARE_OTHER_LEAVES)
                                    : (full ? SHARE_LAST_LEAVES : SHARE_ALONE);
        cases[which][block_level(block) == 0]++;
    }
    return real_shared(space, tree, block);
}

static void count_cases(void)
{
    real_shared = estate.allocator.space.shared;
    estate.allocator.space.shared = counting_shared;
    memset(cases, 0, sizeof cases);
}

/* --- lives
 * ----------------------------------------------------------------------------
 */

struct life {
    uint32_t node_size, max_items, max_ptrs, most;
    unsigned transactions, steps;
    bool metadata_dup, block_group_tree;
};

static void open_estate(const struct life *life, uint64_t seed)
{
    struct mkfs_options options = estate_options(life->node_size);
    options.blank.total_bytes = 64 << 20;
    options.metadata_dup = life->metadata_dup;
    options.block_group_tree = life->block_group_tree;
    estate_open(&estate, make_memory(options.blank.total_bytes), &options, seed);
    estate.max_items = life->max_items;
    estate.max_ptrs = life->max_ptrs;
    if (life->most)
        estate.most = life->most;
    count_cases();
}

static void close_estate(void)
{
    estate_close(&estate);
    device_close(estate.device);
}

/* Snapshots of everything: the source, a snapshot, its snapshot, the source again. */
static const struct {
    unsigned at, source, tree; /* after so many twelfths of the transactions */
    uint64_t id;
} snapshots[] = {{1, 0, 1, 257}, {3, 1, 2, 258}, {5, 0, 3, 259}, {7, 2, 4, 260}, {9, 0, 5, 261}};

/* Most of the time one tree is changed, so that others hold on to what it leaves. */
static void live(const struct life *life, uint64_t seed)
{
    size_t made = 0;
    open_estate(life, seed);
    for (unsigned i = 0; i < life->transactions; i++) {
        unsigned steps = (unsigned)dice_below(&estate.dice, life->steps);
        estate_begin(&estate);
        expect_success(estate_steps(&estate, steps));
        bool is_due =
            made < LENGTH_OF(snapshots) && i >= snapshots[made].at * life->transactions / 12;
        if (is_due)
            expect_success(estate_snapshot(&estate, snapshots[made].source, snapshots[made].tree,
                                           snapshots[made].id));
        if (dice_below(&estate.dice, 10) == 0) {
            estate_abort(&estate);
        } else {
            expect_success(estate_commit(&estate));
            made += is_due;
        }
        expect_estate(&estate);
        if (dice_below(&estate.dice, 20) == 0) {
            estate_reopen(&estate);
            estate.allocator.space.shared = counting_shared;
        }
    }
    close_estate();
    ck_assert_uint_eq(made, LENGTH_OF(snapshots));
    for (int which = 0; which < SHARE_CASES; which++)
        expect((cases[which][0] >= 5 || !life->max_ptrs) && cases[which][1] >= 5,
               "case %d: %ju nodes, %ju leaves", which, (uintmax_t)cases[which][0],
               (uintmax_t)cases[which][1]);
}

START_TEST(low_trees)
{
    live(&(struct life){.node_size = 4096, .transactions = ROUNDS_OF(400), .steps = 60}, 1);
}
END_TEST

START_TEST(tall_trees)
{
    live(&(struct life){.node_size = 4096,
                        .max_items = 4,
                        .max_ptrs = 8,
                        .transactions = ROUNDS_OF(400),
                        .steps = 60},
         2);
}
END_TEST

START_TEST(large_nodes)
{
    live(&(struct life){.node_size = 16384,
                        .max_items = 10,
                        .max_ptrs = 8,
                        .transactions = ROUNDS_OF(200),
                        .steps = 60,
                        .metadata_dup = true,
                        .block_group_tree = true},
         3);
}
END_TEST

/* --- what goes without a shadow
 * ------------------------------------------------------- */

static void fill_tree(void)
{
    estate_begin(&estate);
    for (uint32_t number = 0; number < ESTATE_KEYS; number++)
        if (number % 8 > 0 && number % 8 < 4)
            expect_success(estate_insert(&estate, 0, number, estate.most));
        else if (number % 8 > 4 && number % 16 < 8)
            expect_success(estate_write(&estate, 0, number, 1 + number % 3));
        else if (number % 8 > 5)
            expect_success(
                estate_clone(&estate, 0, number, &estate.now.trees[0].items[number - 8]));
    expect_success(estate_commit(&estate));
    expect_estate(&estate);
}

/* Deletes a long range of a tree: of most leaves all items go, and no shadow is made of them. */
static void delete_range(unsigned tree, uint32_t first, uint32_t last)
{
    const struct transaction_counters *counters = &estate.transaction.counters;
    estate_begin(&estate);
    expect_success(estate_delete(&estate, tree, first, last));
    uint64_t freed = counters->freed, shadowed = counters->shadowed;
    expect(freed > shadowed, "%ju freed, %ju shadowed", (uintmax_t)freed, (uintmax_t)shadowed);
    expect_success(estate_commit(&estate));
    expect_estate(&estate);
}

/* Tree 0 has a snapshot 1, and that has a snapshot 2. They lose the same in this order. */
static void lose_leaves(const unsigned order[3], uint32_t first, uint32_t last)
{
    open_estate(&(struct life){.node_size = 4096, .max_items = 6, .max_ptrs = 8}, 4);
    fill_tree();
    for (unsigned tree = 1; tree < 3; tree++) {
        estate_begin(&estate);
        expect_success(estate_snapshot(&estate, tree - 1, tree, 256 + tree));
        expect_success(estate_commit(&estate));
        expect_estate(&estate);
    }
    uint64_t lost = 0;
    for (unsigned i = 0; i < 3; i++) {
        delete_range(order[i], first, last);
        lost += estate.transaction.growth.counters.lost_roots;
        for (unsigned step = 0; step < 30; step++) {
            estate_begin(&estate);
            expect_success(estate_steps(&estate, 2));
            lost += estate.transaction.growth.counters.lost_roots;
            expect_success(estate_commit(&estate));
            expect_estate(&estate);
        }
    }
    for (unsigned i = 0; i < 3; i++) {
        estate_begin(&estate);
        expect_success(estate_delete(&estate, order[i], 0, ESTATE_KEYS - 1));
        expect_success(estate_commit(&estate));
        expect_estate(&estate);
    }
    expect(lost >= 3, "%ju roots lost", (uintmax_t)lost);
    ck_assert_uint_eq(estate.allocator.groups.groups[2]->used, 0); /* all data */
    close_estate();
}

static const unsigned orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

START_TEST(front_goes)
{
    for (size_t i = 0; i < LENGTH_OF(orders); i += SANITIZED ? 3 : 1)
        lose_leaves(orders[i], 0, ESTATE_KEYS - 60);
}
END_TEST

START_TEST(middle_goes)
{
    for (size_t i = 0; i < LENGTH_OF(orders); i += SANITIZED ? 3 : 1)
        lose_leaves(orders[i], 24, ESTATE_KEYS - 60);
}
END_TEST

START_TEST(end_goes)
{
    for (size_t i = 0; i < LENGTH_OF(orders); i += SANITIZED ? 3 : 1)
        lose_leaves(orders[i], 40, ESTATE_KEYS - 1);
}
END_TEST

SUITE(shared_block, 60, low_trees, tall_trees, large_nodes, front_goes, middle_goes, end_goes)
