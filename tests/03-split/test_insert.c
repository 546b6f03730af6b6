#include "insert.h"

#include "fail.h"
#include "support_grove.h"

#include <string.h>

static struct grove grove;

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
    long_run(4096, 400000, 4000);
}
END_TEST

START_TEST(long_runs_16k)
{
    long_run(16384, 200000, 4000);
}
END_TEST

START_TEST(long_runs_64k)
{
    long_run(65536, 40000, 3000);
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

SUITE(insert, 60, small_runs, long_runs_4k, long_runs_16k,
      long_runs_64k, every_fault)
