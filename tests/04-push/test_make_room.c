#include "fail.h"
#include "support_rules.h"

#include <stdlib.h>
#include <string.h>

static struct grove grove;

/* --- random runs against the model -------------------------------------------------- */

static const uint32_t limits[][2] = {{3, 8}, {3, 9}, {4, 8}, {5, 10}, {7, 11}, {0, 8}, {6, 0}, {0, 0}};

static void add_rules(const struct push_policy *rules, struct push_counters *sum, uint64_t *splits,
                      uint64_t *doubles)
{
    rules_sum(sum, &rules->counters);
    *splits += grove.growth.counters.splits;
    *doubles += grove.growth.counters.double_splits;
}

static const char *const reasons[] = {"split", "double", "delete"};
static const char *const outcomes[] = {"no neighbour", "no room", "nothing fits", "moved", "shortcut"};

/* Outcomes that cannot be:
 *   - to the left there is no shortcut (push_shortcut_left is a function of its own);
 *   - before a double split the slot is never behind all items: then the plan is SPLIT_EMPTY_RIGHT;
 *   - to empty a leaf is no use of the shortcut, which moves nothing;
 *   - deletion asks for a neighbour that has room for the leaf's first item (left) or for all of them
 *     (right), and counts nothing for a new one, so with the ticket something always fits;
 *   - before a double split U(p, n) + S > R, and U(0, n) <= R, so S > U(0, p). A left leaf with room
 *     for S has it for item 0; with the discount the ticket is S - R + U(0, n) > U(0, p), and it has
 *     again. (What went right just before was all from p on: the slot is at an edge then.) */
static bool is_possible(int side, enum push_reason reason, enum push_outcome outcome)
{
    if (outcome == PUSH_SHORTCUT)
        return side > 0 && reason == PUSH_FOR_SPLIT;
    if (outcome == PUSH_NOTHING_FITS)
        return reason == PUSH_FOR_SPLIT || (reason == PUSH_FOR_DOUBLE && side > 0);
    return true;
}

static void check_outcomes(const struct push_counters *sum)
{
    for (unsigned reason = 0; reason < PUSH_REASONS; reason++)
        for (unsigned outcome = 0; outcome < PUSH_OUTCOMES; outcome++) {
            expect((sum->right[reason][outcome] > 0) == is_possible(1, reason, outcome),
                   "right, for %s: %s: %ju times", reasons[reason], outcomes[outcome],
                   (uintmax_t)sum->right[reason][outcome]);
            expect((sum->left[reason][outcome] > 0) == is_possible(-1, reason, outcome),
                   "left, for %s: %s: %ju times", reasons[reason], outcomes[outcome],
                   (uintmax_t)sum->left[reason][outcome]);
        }
    ck_assert_uint_gt(sum->shortcuts_left, 0);
    ck_assert_uint_gt(sum->threes, 0);
    ck_assert_uint_gt(sum->merged, 0);
    ck_assert_uint_gt(sum->node_pushes, 0);
    ck_assert_uint_gt(sum->balances, 0);
}

/* All 256 combinations of rules, in both orders of shadowing, on small trees that are tall by their
 * limits; all invariants and all bytes after each step. */
static void small_runs_of(bool shadow_first)
{
    struct season_sums sums = {0};
    struct push_counters sum = {0};
    uint64_t splits = 0, doubles = 0;
    for (unsigned number = 0; number < 2 * RULES; number++) {
        struct push_policy rules = rules_make(number % RULES);
        const uint32_t *limit = limits[number % LENGTH_OF(limits)];
        struct growth growth = {
            .shadow_first = shadow_first, .max_items = limit[0], .max_ptrs = limit[1]};
        struct season season = {
            .steps = 700,
            .keys = 700,
            .most = 150 + number % 3 * 50,
            .size = number % 5 * 150 + 40,
            .check_every = 1,
            .commit_one_in = 1,
            .in_order = number % 7 == 0,
            .snapshots = true,
        };
        rules_open(&grove, &rules, 4096, &growth, number + 1);
        grove_live(&grove, &season, &sums);
        add_rules(&rules, &sum, &splits, &doubles);
        grove_close(&grove);
    }
    check_outcomes(&sum);
    ck_assert_uint_gt(sums.highest, 3);
    ck_assert_uint_gt(doubles, 100);
}

START_TEST(small_runs)
{
    small_runs_of(false);
}
END_TEST

START_TEST(small_runs_shadow_first)
{
    small_runs_of(true);
}
END_TEST

/* Many steps, and all invariants now and then. */
static void long_run(uint32_t node_size, uint64_t steps, uint32_t most)
{
    struct season_sums sums = {0};
    for (unsigned way = 0; way < 16; way++) {
        struct push_policy rules = rules_make(way < 4 ? RULES_KERNEL : way * 37 % RULES);
        struct growth growth = {.shadow_first = way & 1, .max_ptrs = way % 3 ? 0 : 8 + way};
        struct season season = {
            .steps = steps / 16,
            .keys = GROVE_KEYS / 4,
            .most = most,
            .size = way & 2 ? 40 : 300,
            .check_every = 1000,
            .commit_one_in = 20,
            .in_order = way % 5 == 0,
        };
        rules_open(&grove, &rules, node_size, &growth, node_size + way);
        grove_live(&grove, &season, &sums);
        grove_close(&grove);
    }
    ck_assert_uint_ge(sums.steps, steps);
}

START_TEST(long_runs_4k)
{
    long_run(4096, 800000, 3000);
}
END_TEST

START_TEST(long_runs_16k)
{
    long_run(16384, 320000, 4000);
}
END_TEST

START_TEST(long_runs_64k)
{
    long_run(65536, 64000, 4000);
}
END_TEST

/* The policies of chapter 03 know nothing of merging and balancing: blocks go when they are empty. */
START_TEST(deletion_without_pushing)
{
    static struct room_policy *const policies[] = {&split_policy, &append_policy};
    struct season_sums sums = {0};
    for (unsigned way = 0; way < 16; way++) {
        struct push_policy none = {0};
        struct growth growth = {
            .shadow_first = way & 2, .max_items = way & 4 ? 3 : 0, .max_ptrs = 8};
        struct season season = {
            .steps = 1500,
            .keys = 500,
            .most = 150,
            .size = 200,
            .check_every = 1,
            .commit_one_in = 1,
            .snapshots = true,
        };
        rules_open(&grove, &none, 4096, &growth, way + 1);
        grove.growth.policy = policies[way & 1];
        grove_live(&grove, &season, &sums);
        grove_close(&grove);
    }
}
END_TEST

/* --- faults ------------------------------------------------------------------------- */

/* Each allocation, claim and get of steps of all kinds fails. */
static void every_fault_of(unsigned from)
{
    uint64_t faults = 0, steps = 0;
    for (unsigned way = from; way < 16; way += 2) {
        struct push_policy rules = rules_make(way < 4 ? RULES_KERNEL : way * 37 % RULES);
        struct growth growth = {
            .shadow_first = way & 2, .max_items = way & 4 ? 4 : 3, .max_ptrs = 8};
        struct season season = {.keys = 400, .size = 200};
        rules_open(&grove, &rules, 4096, &growth, way + 1);
        grove.keys = season.keys;
        bool growing = true;
        for (uint64_t i = 0; i < 250; i++) {
            struct step step = step_pick(&grove, &season, growing);
            if (i % 3 == 0)
                heap_commit(&grove.heap);
            faults += grove_fail(&grove, &step);
            growing = grove.count < 15 || (growing && grove.count < 110);
            steps++;
        }
        grove_close(&grove);
    }
    ck_assert_uint_gt(faults, 10 * steps);
}

START_TEST(every_fault)
{
    every_fault_of(0);
}
END_TEST

START_TEST(every_fault_more)
{
    every_fault_of(1);
}
END_TEST

SUITE(make_room, 120, small_runs, small_runs_shadow_first, long_runs_4k, long_runs_16k, long_runs_64k,
      deletion_without_pushing, every_fault, every_fault_more)
