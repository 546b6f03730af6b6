#include "change.h"
#include "fail.h"
#include "support_wood.h"

#include <stdlib.h>
#include <string.h>

static struct grove grove;

/* --- random runs against the model -------------------------------------------------- */

static const uint32_t small_limits[][2] = {{3, 8},  {3, 9}, {4, 8}, {5, 10},
                                           {7, 11}, {0, 8}, {6, 0}, {0, 0}};

static void add_rules(const struct push_policy *rules, struct push_counters *sum, uint64_t *splits,
                      uint64_t *doubles)
{
    rules_sum(sum, &rules->counters);
    *splits += grove.growth.counters.splits;
    *doubles += grove.growth.counters.double_splits;
}

static const char *const reasons[] = {"split", "double", "delete"};
static const char *const outcomes[] = {"no neighbour", "no room", "nothing fits", "moved",
                                       "shortcut"};

/* Outcomes that cannot be:
 *   - to the left there is no shortcut (push_shortcut_left is a function of its own);
 *   - before a double split the slot is never behind all items: then the plan is
 *     SPLIT_EMPTY_RIGHT;
 *   - to empty a leaf is no use of the shortcut, which moves nothing;
 *   - deletion asks for a neighbour that has room for the leaf's first item (left) or for all of
 *     them (right), and counts nothing for a new one, so with the ticket something always fits;
 *   - before a double split U(p, n) + S > R, and U(0, n) <= R, so S > U(0, p). A left leaf with
 *     room for S has it for item 0; with the discount the ticket is S - R + U(0, n) > U(0, p),
 *     and it has again. (What went right just before was all from p on: the slot is at an edge
 *     then.) */
static bool is_possible(int side, enum push_reason reason, enum push_outcome outcome)
{
    if (outcome == PUSH_SHORTCUT)
        return side > 0 && reason == PUSH_FOR_SPLIT;
    if (outcome == PUSH_NOTHING_FITS)
        return reason == PUSH_FOR_SPLIT || (reason == PUSH_FOR_DOUBLE && side > 0);
    return true;
}

/* Is an outcome that was met so often one that can be, and was it met? The few rounds of the sanitized
 * build do not meet all. */
static bool is_as_expected(uint64_t met, int side, unsigned reason, unsigned outcome)
{
    return is_possible(side, reason, outcome) ? met > 0 || SANITIZED : met == 0;
}

static void check_outcomes(const struct push_counters *sum)
{
    for (unsigned reason = 0; reason < PUSH_REASONS; reason++)
        for (unsigned outcome = 0; outcome < PUSH_OUTCOMES; outcome++) {
            expect(is_as_expected(sum->right[reason][outcome], 1, reason, outcome),
                   "right, for %s: %s: %ju times", reasons[reason], outcomes[outcome],
                   (uintmax_t)sum->right[reason][outcome]);
            expect(is_as_expected(sum->left[reason][outcome], -1, reason, outcome),
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
    for (unsigned number = 0; number < 2 * RULES; number += SANITIZED ? 23 : 1) {
        struct push_policy rules = rules_make(number % RULES);
        const uint32_t *limit = small_limits[number % LENGTH_OF(small_limits)];
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
    ck_assert_uint_gt(doubles, ROUNDS_OF(100));
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

/* --- against the numbers ------------------------------------------------------------ */

static struct wood pick_wood(struct dice *dice)
{
    struct wood wood = {.room = 3995, .nleaves = 1 + (uint32_t)dice_below(dice, 3)};
    uint32_t unit = dice_below(dice, 2) ? 499 : 40;
    for (uint32_t i = 0; i < wood.nleaves; i++) {
        struct wood_leaf *leaf = &wood.leaves[i];
        uint32_t most = 1 + (uint32_t)dice_below(dice, 8);
        for (unsigned tries = 0; tries < 12 && leaf->nitems < most; tries++) {
            uint32_t cost = unit * (1 + (uint32_t)dice_below(dice, 499 * 5 / unit));
            if (cost <= wood_free(&wood, i))
                leaf->costs[leaf->nitems++] = cost;
        }
    }
    wood.at = (uint32_t)dice_below(dice, wood.nleaves);
    wood.slot = (uint32_t)dice_below(dice, wood.leaves[wood.at].nitems + 1);
    return wood;
}

/* Something that has no room; 0 where there is nothing. */
static uint32_t pick_cost(struct dice *dice, const struct wood *wood, bool *extends)
{
    uint32_t least = wood_free(wood, wood->at) + 1, most = 3995;
    const struct wood_leaf *leaf = &wood->leaves[wood->at];
    *extends = wood->slot < leaf->nitems && dice_below(dice, 3) == 0;
    if (*extends)
        most -= leaf->costs[wood->slot];
    if (least < 25)
        least = 25;
    return least > most ? 0 : least + (uint32_t)dice_below(dice, most - least + 1);
}

/* push_make_leaf_room does what the numbers say, item by item; S5 to S8. */
static void check_room_in(struct wood wood, uint32_t cost, bool extends, unsigned number_of_rules,
                          bool shadow_first, struct push_counters *sum)
{
    bool far = wood.nleaves > 1;
    struct push_policy rules = rules_make(number_of_rules);
    struct growth limits = {.shadow_first = shadow_first};
    rules_open(&grove, &rules, 4096, &limits, 1);
    wood_plant(&wood, &grove, far);
    heap_commit(&grove.heap);
    struct path path;
    wood_path(&wood, &grove, far, &path);
    if (limits.shadow_first)
        expect_success(path_claim(&grove.tree, &path, 0));
    struct gap gap = grove_gap(&grove, &path);
    uint32_t number = extends ? gap.behind : gap.before + 2;
    struct key key = grove_key(number);
    struct room room = {&key, cost, extends};
    struct snapshot snapshot;
    snapshot_take(&snapshot, &grove);
    uint64_t splits = grove.growth.counters.splits;

    uint32_t made = wood_make_room(&wood, &rules, cost, extends);
    expect_success(push_make_leaf_room(&grove.tree, &path, &room));
    struct gap after = grove_gap(&grove, &path);
    expect(leaf_left(&grove.tree, path.nodes[0]) >= cost, "no room (S5)");
    expect(after.before == gap.before && after.behind == gap.behind, "another gap (S6)");
    expect(grove.growth.counters.splits - splits == made && made <= 2, "%u leaves made (S8)", made);
    wood_compare(&wood, &grove, path.nodes[grove.tree.level ? 1 : 0]);
    expect(path.slots[1] == wood.at && path.slots[0] == wood.slot, "another place");
    rules_sum(sum, &rules.counters);
    grove_fill(&grove, &path, number, extends ? cost : cost - 25);
    if (!limits.shadow_first)
        expect(snapshot_compare(&snapshot, &grove).wasted <= !far, "wasted");
    grove_check(&grove);
    snapshot_free(&snapshot);
    grove_close(&grove);
}

static void check_room(struct dice *dice, struct push_counters *sum)
{
    struct wood wood = pick_wood(dice);
    bool extends;
    uint32_t cost = pick_cost(dice, &wood, &extends);
    unsigned rules = (unsigned)dice_below(dice, 8);
    if (cost > 0)
        check_room_in(wood, cost, extends, rules, dice_below(dice, 2), sum);
}

/* Before a double split one byte is counted for the new item, and with it the last item just fits
 * on the right, or just does not. */
START_TEST(room_by_one_byte)
{
    struct push_counters sum = {0};
    for (uint32_t left = 1498; left <= 1503; left++) {
        struct wood wood = {3995, 2, {{2, {500, 1500}}, {1, {3995 - left}}}, 0, 1};
        uint64_t before = sum.right[PUSH_FOR_DOUBLE][PUSH_MOVED];
        check_room_in(wood, 3000, false, RULES_KERNEL, false, &sum);
        ck_assert_uint_eq(sum.right[PUSH_FOR_DOUBLE][PUSH_MOVED] > before, left >= 1501);
    }
}
END_TEST

START_TEST(room_in_random_leaves)
{
    struct push_counters sum = {0};
    struct dice dice = {4};
    for (unsigned i = 0; i < ROUNDS_OF(120000); i++)
        check_room(&dice, &sum);
    for (unsigned reason = 0; reason < PUSH_FOR_DELETE; reason++)
        for (unsigned outcome = 0; outcome < PUSH_OUTCOMES; outcome++) {
            ck_assert(is_as_expected(sum.right[reason][outcome], 1, reason, outcome));
            ck_assert(is_as_expected(sum.left[reason][outcome], -1, reason, outcome));
        }
}
END_TEST

/* The largest item there can be goes in by all rules; one byte more is refused before anything is
 * touched, and so is an item that is to grow beyond it. */
START_TEST(the_largest)
{
    static const uint32_t sizes[] = {100, 900, 0, 5, 900, 960, 30, 2000, 1900};
    static const uint32_t nitems[] = {3, 4, 2};
    for (unsigned number = 0; number < RULES; number += SANITIZED ? 23 : 1) {
        struct push_policy rules = rules_make(number);
        struct growth limits = {0};
        for (uint32_t at = 1; at <= 40; at++) {
            rules_open(&grove, &rules, 4096, &limits, 1);
            grove_plant(&grove, nitems, 3, sizes, 8);
            grove.keys = 48;
            heap_commit(&grove.heap);
            struct grove_item item = grove.items[at];
            struct step step = {
                .kind = item.is_there ? STEP_EXTEND : STEP_INSERT,
                .count = 1,
                .items = {{at, 3971 - item.size, item.is_there ? item.seed : 7}},
            };
            struct snapshot snapshot;
            uint64_t done;
            snapshot_take(&snapshot, &grove);
            expect_failure(EOVERFLOW, "a leaf holds", step_do(&grove, &step, &done));
            ck_assert_uint_eq(snapshot_compare(&snapshot, &grove).untouched, snapshot.count);
            snapshot_free(&snapshot);
            step.items[0].size--;
            expect_success(step_do(&grove, &step, &done));
            step_note(&grove, &step, done);
            grove_check(&grove);
            grove_close(&grove);
        }
    }
}
END_TEST

/* The kernel's rules, those before the patch of 2013, and ours. */
START_TEST(named_rules)
{
    struct push_policy kernel = push_policy_kernel(), before = push_policy_2013();
    ck_assert(kernel.shortcut && kernel.need && kernel.left_discount);
    ck_assert(!before.shortcut && !before.need && !before.left_discount);
    struct push_policy coppice = push_policy_coppice();
    ck_assert(coppice.shortcut && coppice.need && coppice.left_discount && !coppice.three);
    ck_assert(coppice.append && coppice.shortcut_left);
    for (unsigned i = 0; i < 2; i++) {
        const struct push_policy *rules = i ? &kernel : &before;
        ck_assert(!rules->shortcut_left && !rules->append && !rules->three);
        ck_assert_uint_eq(rules->merge, 3);
        ck_assert_uint_eq(rules->balance, 4);
        ck_assert(rules->policy.leaf == push_make_leaf_room);
        ck_assert(rules->policy.node == push_make_node_room);
        ck_assert(rules->policy.merge == delete_merge);
        ck_assert(rules->policy.balance == push_balance);
        ck_assert_uint_eq(rules->counters.node_pushes, 0);
    }
}
END_TEST

/* With `append` what comes in order fills each leaf, and nothing moves from leaf to leaf. */
START_TEST(appending)
{
    for (unsigned append = 0; append < 2; append++) {
        struct push_policy rules = rules_make(append ? 16 : 0);
        struct growth limits = {.max_items = 4};
        rules_open(&grove, &rules, 4096, &limits, 1);
        struct step step = {.kind = STEP_INSERT, .count = 1};
        for (uint32_t number = 4; number <= 400; number += 4) {
            uint64_t done;
            step.items[0] = (struct step_item){number, 50, number};
            expect_success(step_do(&grove, &step, &done));
            step_note(&grove, &step, done);
        }
        struct census census = grove_check(&grove);
        ck_assert_uint_eq(census.leaves, 25); /* pushes to the left fill them, too */
        ck_assert_int_eq(grove.growth.counters.bytes_between == 0, append);
        grove_close(&grove);
    }
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
    long_run(4096, ROUNDS_OF(800000), 3000);
}
END_TEST

START_TEST(long_runs_16k)
{
    long_run(16384, ROUNDS_OF(320000), 4000);
}
END_TEST

START_TEST(long_runs_64k)
{
    long_run(65536, ROUNDS_OF(64000), 4000);
}
END_TEST

/* The policies of chapter 03 know nothing of merging and balancing: blocks go when they are
 * empty. */
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
        for (uint64_t i = 0; i < ROUNDS_OF(250); i++) {
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

SUITE(make_room, 120, named_rules, appending, the_largest, room_by_one_byte, room_in_random_leaves,
      small_runs, small_runs_shadow_first, long_runs_4k, long_runs_16k, long_runs_64k,
      deletion_without_pushing, every_fault, every_fault_more)
