#include "insert.h"

#include "change.h"
#include "fail.h"
#include "support_grove.h"

#include <string.h>

static struct grove grove;

/* --- by hand ------------------------------------------------------------------------ */

/* Twenty items in five leaves under one root, full of data that is not zero. */
static void plant(bool shadow_first)
{
    static const uint32_t nitems[] = {4, 4, 4, 4, 4};
    static const uint32_t sizes[20] = {10, 200, 30, 0, 300, 900, 5};
    struct growth growth = {.policy = &split_policy, .shadow_first = shadow_first};
    grove_open(&grove, 4096, &growth, 1);
    grove_plant(&grove, nitems, LENGTH_OF(nitems), sizes, 8);
    grove.keys = 100;
    heap_commit(&grove.heap);
}

/* What is there is not put in again, what is not there is not changed; and no block is touched. */
START_TEST(refusals)
{
    for (unsigned way = 0; way < 2; way++) {
        plant(way);
        struct snapshot snapshot;
        snapshot_take(&snapshot, &grove);
        struct path path = {0};
        for (uint32_t number = 1; number < 90; number++) {
            struct key key = grove_key(number);
            if (grove.items[number].is_there) {
                expect_failure(EEXIST, "has an item (2", tree_insert(&grove.tree, &key, "x", 1));
                continue;
            }
            expect_failure(ENOENT, "has no item (2", tree_extend(&grove.tree, &key, "x", 1));
            expect_failure(ENOENT, "has no item (2", tree_truncate(&grove.tree, &key, 0));
            ck_assert_int_eq(tree_change(&grove.tree, &key, &path), 1);
            ck_assert_ptr_null(path.nodes[0]);
            ck_assert_int_eq(tree_no_item(&grove.tree, &key), -ENOENT);
        }
        struct changes changes = snapshot_compare(&snapshot, &grove);
        if (!way) { /* in the kernel's order a path is shadowed before it is known */
            ck_assert_uint_eq(grove.watch.ndirtied, 0);
            ck_assert_uint_eq(changes.untouched, snapshot.count);
        }
        grove_check(&grove);
        snapshot_free(&snapshot);
        grove_close(&grove);
    }
}
END_TEST

/* Without data there are zeros, whatever was in the block before. */
START_TEST(no_data)
{
    static const unsigned char zeros[500];
    plant(false);
    struct path path;
    struct key key = grove_key(5), next = grove_key(8);
    expect_success(tree_insert(&grove.tree, &key, NULL, 333));
    grove_path(&grove, 0, 1, &path);
    ck_assert_uint_eq(item_size(path.nodes[0], 1), 333);
    ck_assert_mem_eq(item_data(path.nodes[0], 1), zeros, 333);
    path_release(&grove.tree, &path);
    expect_success(tree_extend(&grove.tree, &next, NULL, 50));
    grove_path(&grove, 0, 2, &path);
    ck_assert_uint_eq(item_size(path.nodes[0], 2), 250);
    const unsigned char *data = item_data(path.nodes[0], 2);
    ck_assert_mem_eq(data, grove_data(grove.items[8].seed), 200);
    ck_assert_mem_eq(data + 200, zeros, 50);
    path_release(&grove.tree, &path);
    grove_close(&grove);
}
END_TEST

/* Inserts the numbers first .. last, those that are divisible by 4 aside, in one batch; how many
 * blocks were asked for. */
static uint64_t batch(uint32_t first, uint32_t last, uint32_t size)
{
    struct step step = {.kind = STEP_BATCH};
    uint64_t done, wanted;
    for (; first <= last; first++)
        if (first % 4)
            step.items[step.count++] = (struct step_item){first, size, first};
    step_expect(&grove, &step, &wanted);
    grove.watch.gets.calls = 0;
    expect_success(step_do(&grove, &step, &done));
    ck_assert_uint_eq(done, wanted);
    step_note(&grove, &step, done);
    uint64_t gets = grove.watch.gets.calls;
    grove_check(&grove);
    return gets;
}

/* A batch needs one search, of two blocks, for what goes between two items, or behind the last of a
 * leaf as far as the next one begins. */
START_TEST(runs)
{
    plant(false);
    ck_assert_uint_eq(batch(5, 7, 10), 2);
    ck_assert_uint_eq(batch(9, 14, 10), 4);
    ck_assert_uint_eq(batch(17, 19, 10), 2); /* behind the last of a leaf */
    ck_assert_uint_eq(batch(1, 3, 10), 2);   /* before the first of all */
    ck_assert_uint_eq(batch(81, 99, 10), 2); /* behind the last of all */
    ck_assert_uint_eq(grove.growth.counters.items_inserted, 20 + 3 + 5 + 3 + 3 + 15);
    grove_close(&grove);
}
END_TEST

/* A run is never more than a leaf holds, and is put into one of its own where it has to be. */
START_TEST(long_batch)
{
    for (uint32_t max_items = 0; max_items <= 4; max_items += 4) {
        struct growth growth = {.policy = &append_policy, .max_items = max_items};
        grove_open(&grove, 4096, &growth, 1);
        batch(1, 59, max_items ? 9 : 774); /* five of these fill a leaf */
        ck_assert_uint_eq(grove.count, 45);
        ck_assert_uint_eq(grove_check(&grove).leaves, max_items ? 12 : 9);
        grove_close(&grove);
    }
}
END_TEST

/* What cannot be put in ends a batch; those before it are in. */
START_TEST(broken_batches)
{
    for (uint32_t bad = 0; bad < 8; bad++)
        for (unsigned way = 0; way < 2; way++) {
            plant(false);
            struct step step = {.kind = STEP_BATCH, .count = 8};
            for (uint32_t i = 0; i < 8; i++)
                step.items[i] = (struct step_item){4 * i + 5, 100, i};
            if (way)
                step.items[bad].number--; /* is there */
            else
                step.items[bad].size = 3971;
            uint64_t done;
            expect_failure(way ? EEXIST : EOVERFLOW, way ? "has an item" : "a leaf holds",
                           step_do(&grove, &step, &done));
            ck_assert_uint_eq(done, bad);
            step_note(&grove, &step, done);
            grove_check(&grove);
            grove_close(&grove);
        }
    size_t inserted = 7;
    plant(false);
    expect_success(tree_insert_batch(&grove.tree, NULL, 0, &inserted));
    ck_assert_uint_eq(inserted, 0);
    grove_close(&grove);
}
END_TEST

/* A change in place: the path is claimed, the counters of the heap tell of this leaf alone. */
START_TEST(in_place)
{
    plant(false);
    struct path path = {0};
    struct key key = grove_key(24);
    expect_success(tree_change(&grove.tree, &key, &path));
    ck_assert_uint_eq(block_generation(path.nodes[0]), 2);
    ck_assert_uint_eq(grove.heap.counters.shadowed, 2);
    ck_assert_uint_eq(grove.heap.counters.wasted, 1); /* until it is changed */
    *(unsigned char *)item_data(path.nodes[0], path.slots[0]) ^= 0xff;
    tree_dirty(&grove.tree, path.nodes[0]);
    path_release(&grove.tree, &path);
    ck_assert_uint_eq(grove.heap.counters.wasted, 0);
    ck_assert_uint_eq(grove.heap.counters.leaves_dirtied, 1);
    expect(!grove_matches(&grove), "the change is not seen");
    grove_close(&grove);
}
END_TEST

/* On the way to a leaf that has to be split, a node is divided when it has room for three pointers
 * or less; and no node is, where the leaf has room. */
START_TEST(almost_full_nodes)
{
    for (uint32_t max_ptrs = 8; max_ptrs <= 20; max_ptrs++)
        for (uint32_t n = max_ptrs - 6; n <= max_ptrs; n++) {
            const uint32_t nptrs[] = {n, n};
            struct growth growth = {.policy = &split_policy, .max_ptrs = max_ptrs};
            grove_open(&grove, 4096, &growth, 1);
            grove_plant_nodes(&grove, nptrs, 2);
            uint64_t splits = grove.growth.counters.node_splits;
            struct step step = {.kind = STEP_INSERT, .count = 1, .items = {{5, 10, 1}}};
            for (unsigned is_large = 0; is_large < 2; is_large++) {
                uint64_t done;
                expect_success(step_do(&grove, &step, &done));
                step_note(&grove, &step, done);
                ck_assert_uint_eq(grove.growth.counters.node_splits - splits,
                                  is_large && n >= max_ptrs - 3);
                step.items[0] = (struct step_item){6, 3970, 1};
            }
            grove_check(&grove);
            grove_close(&grove);
        }
}
END_TEST

/* --- random runs against the model -------------------------------------------------- */

static void live(uint32_t node_size, const struct growth *growth, const struct season *season,
                 uint64_t seed, struct season_sums *sums)
{
    grove_open(&grove, node_size, growth, seed);
    grove_live(&grove, season, sums);
    grove_close(&grove);
}

static struct room_policy *const policies[] = {&split_policy, &append_policy};

/* Small trees, tall by their limits; all invariants and all bytes after each step. */
START_TEST(small_runs)
{
    static const uint32_t limits[][2] = {{3, 8}, {3, 9}, {4, 8}, {7, 11}, {0, 8}, {5, 0}, {0, 0}};
    struct season_sums sums = {0};
    uint64_t seed = 0;
    for (size_t i = 0; i < LENGTH_OF(limits); i++)
        for (unsigned way = 0; way < 8; way++) {
            struct growth growth = {
                .policy = policies[way & 1],
                .shadow_first = way & 2,
                .max_items = limits[i][0],
                .max_ptrs = limits[i][1],
            };
            struct season season = {
                .steps = 1500,
                .keys = 700,
                .most = 250,
                .size = 120,
                .check_every = 1,
                .commit_one_in = 1,
                .in_order = way & 4,
                .snapshots = true,
            };
            live(4096, &growth, &season, ++seed, &sums);
        }
    ck_assert_uint_gt(sums.highest, 3);
    ck_assert_uint_gt(sums.refused, sums.steps / 100);
}
END_TEST

/* Many steps, and all invariants now and then. */
static void long_run(uint32_t node_size, uint64_t steps, uint32_t most)
{
    struct season_sums sums = {0};
    for (unsigned way = 0; way < 8; way++) {
        struct growth growth = {
            .policy = policies[way & 1], .shadow_first = way & 2, .max_ptrs = way & 4 ? 0 : 12};
        struct season season = {
            .steps = steps / 8,
            .keys = GROVE_KEYS,
            .most = most,
            .size = way & 4 ? 40 : 300,
            .check_every = 1000,
            .commit_one_in = 20,
            .in_order = way & 1,
        };
        live(node_size, &growth, &season, node_size + way, &sums);
    }
    ck_assert_uint_ge(sums.steps, steps);
}

START_TEST(long_runs_4k)
{
    long_run(4096, ROUNDS_OF(400000), 4000);
}
END_TEST

START_TEST(long_runs_16k)
{
    long_run(16384, ROUNDS_OF(200000), 4000);
}
END_TEST

START_TEST(long_runs_64k)
{
    long_run(65536, ROUNDS_OF(40000), 3000);
}
END_TEST

/* --- faults ------------------------------------------------------------------------- */

/* Each allocation, claim and get of steps of all kinds fails. */
START_TEST(every_fault)
{
    uint64_t faults = 0, steps = 0;
    for (unsigned way = 0; way < 4; way++) {
        struct growth growth = {
            .policy = policies[way & 1], .shadow_first = way & 2, .max_items = 3, .max_ptrs = 8};
        struct season season = {.keys = 400, .size = 200};
        grove_open(&grove, 4096, &growth, way + 1);
        grove.keys = season.keys;
        for (; grove.count < 120; steps++) {
            struct step step = step_pick(&grove, &season, true);
            if (steps % 3 == 0)
                heap_commit(&grove.heap);
            faults += grove_fail(&grove, &step);
        }
        grove_close(&grove);
    }
    ck_assert_uint_gt(faults, 10 * steps);
}
END_TEST

SUITE(insert, 60, refusals, no_data, runs, long_batch, broken_batches, almost_full_nodes, in_place,
      small_runs, long_runs_4k, long_runs_16k, long_runs_64k, every_fault)
