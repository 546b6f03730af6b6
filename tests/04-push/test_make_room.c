#include "fail.h"
#include "support_rules.h"

#include <stdio.h>
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
 *     (right), and counts nothing for a new one, so with the ticket something always fits. */
static bool is_possible(int side, enum push_reason reason, enum push_outcome outcome)
{
    if (outcome == PUSH_SHORTCUT)
        return side > 0 && reason == PUSH_FOR_SPLIT;
    return !(outcome == PUSH_NOTHING_FITS && reason == PUSH_FOR_DELETE);
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
    if (!shadow_first)
        printf("# wasted %ju restored %ju freed %ju of %ju\n", sums.wasted, sums.restored, sums.wasted_freed, sums.steps);
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

SUITE(make_room, 120, small_runs, small_runs_shadow_first)
