#include "split_three.h"

#include "change.h"
#include "fail.h"
#include "support_wood.h"

#include <string.h>

static struct grove grove;

/* --- the decision ------------------------------------------------------------------- */

static uint32_t sum_of(const uint32_t *costs, uint32_t first, uint32_t end)
{
    uint32_t sum = 0;
    for (; first < end; first++)
        sum += costs[first];
    return sum;
}

/* The most items from each end that are no more than a third of all; the rest, if it fits. */
static bool thirds(const uint32_t *costs, uint32_t count, uint32_t room, uint32_t *left,
                   uint32_t *right)
{
    uint32_t total = sum_of(costs, 0, count);
    for (*left = count; 3 * sum_of(costs, 0, *left) > total;)
        --*left;
    for (*right = count - *left; 3 * sum_of(costs, count - *right, count) > total;)
        --*right;
    return sum_of(costs, *left, count - *right) <= room;
}

START_TEST(every_plan)
{
    uint64_t possible = 0, impossible = 0;
    struct dice dice = {1};
    for (unsigned i = 0; i < ROUNDS_OF(300000); i++) {
        uint32_t costs[12], count = (uint32_t)dice_below(&dice, 13), left, right, l, r;
        for (uint32_t at = 0; at < count; at++)
            costs[at] = 1 + (uint32_t)dice_below(&dice, i % 2 ? 4 : 40);
        uint32_t room = 1 + (uint32_t)dice_below(&dice, i % 2 ? 20 : 200);
        bool can = split_three_plan(costs, count, room, &left, &right);
        bool wanted = thirds(costs, count, room, &l, &r);
        expect(can == wanted && left == l && right == r, "%u items: %u and %u, not %u and %u",
               count, left, right, l, r);
        possible += can;
        impossible += !can;
    }
    ck_assert_uint_gt(possible, 10000);
    ck_assert_uint_gt(impossible, 10000);
}
END_TEST

/* --- the motion --------------------------------------------------------------------- */

static struct wood pick_wood(struct dice *dice)
{
    struct wood wood = {.room = 3995, .nleaves = 1 + (uint32_t)dice_below(dice, 3)};
    uint32_t unit = dice_below(dice, 2) ? 499 : 60;
    for (uint32_t i = 0; i < wood.nleaves; i++) {
        struct wood_leaf *leaf = &wood.leaves[i];
        for (unsigned tries = 0; tries < 20 && leaf->nitems < 12; tries++) {
            uint32_t cost = unit * (1 + (uint32_t)dice_below(dice, 499 * 3 / unit));
            if (cost <= wood_free(&wood, i))
                leaf->costs[leaf->nitems++] = cost;
        }
    }
    wood.at = (uint32_t)dice_below(dice, wood.nleaves);
    wood.slot = (uint32_t)dice_below(dice, wood.leaves[wood.at].nitems + 1);
    return wood;
}

/* What is to become of the wood: the right neighbour, or where there is none the left one, and
 * the leaf are three then. Whether anything. */
static bool split_wood(struct wood *wood, uint32_t cost)
{
    uint32_t costs[2 * WOOD_ITEMS + 1], count = 0, index = 0, stay, stay_right;
    if (wood->nleaves < 2)
        return false;
    uint32_t first = wood->at + 1 < wood->nleaves ? wood->at : wood->at - 1;
    for (uint32_t i = first; i < first + 2; i++)
        for (uint32_t slot = 0; slot <= wood->leaves[i].nitems; slot++) {
            if (i == wood->at && slot == wood->slot) {
                index = count;
                costs[count++] = cost;
            }
            if (slot < wood->leaves[i].nitems)
                costs[count++] = wood->leaves[i].costs[slot];
        }
    if (!thirds(costs, count, wood->room, &stay, &stay_right))
        return false;
    uint32_t end = count - stay_right;
    uint32_t in_left = stay - (index < stay), in_right = stay_right - (index >= end);
    /* Each of the two must keep something, and give something. */
    if (in_left == 0 || in_left >= wood->leaves[first].nitems || in_right == 0 ||
        in_right >= wood->leaves[first + 1].nitems)
        return false;
    memmove(&wood->leaves[first + 3], &wood->leaves[first + 2],
            (wood->nleaves - first - 2) * sizeof *wood->leaves);
    wood->nleaves++;
    memset(&wood->leaves[first], 0, 3 * sizeof *wood->leaves);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t in = first + (i >= stay) + (i >= end);
        struct wood_leaf *leaf = &wood->leaves[in];
        if (i == index) {
            wood->at = in;
            wood->slot = leaf->nitems;
        } else {
            leaf->costs[leaf->nitems++] = costs[i];
        }
    }
    return true;
}

static uint64_t places[3]; /* where the new one goes */

static bool check_three(struct dice *dice)
{
    struct wood wood = pick_wood(dice), before = wood;
    bool extends = dice_below(dice, 8) == 0 && wood.slot < wood.leaves[wood.at].nitems;
    bool far = wood.nleaves > 1;
    uint32_t cost = wood_free(&wood, wood.at) + 1;
    cost = (cost < 25 ? 25 : cost) + (uint32_t)dice_below(dice, 400);
    struct push_policy rules = rules_make(32);
    struct growth limits = {.shadow_first = dice_below(dice, 2)};
    rules_open(&grove, &rules, 4096, &limits, 1);
    wood_plant(&wood, &grove, far);
    heap_commit(&grove.heap);
    struct path path;
    wood_path(&wood, &grove, far, &path);
    if (limits.shadow_first)
        expect_success(path_claim(&grove.tree, &path, 0));
    struct gap gap = grove_gap(&grove, &path);
    struct key key = grove_key(gap.before + 2);
    struct room room = {&key, cost, extends};
    uint64_t splits = grove.growth.counters.splits;
    struct snapshot snapshot;
    snapshot_take(&snapshot, &grove);

    bool wanted = !extends && split_wood(&wood, cost);
    expect_success(split_three(&rules, &grove.tree, &path, &room));
    ck_assert_uint_eq(rules.counters.threes, wanted);
    ck_assert_uint_eq(grove.growth.counters.splits - splits, wanted);
    ck_assert_uint_eq(grove.heap.held, grove.tree.level + 1U);
    wood_compare(wanted ? &wood : &before, &grove, path.nodes[far ? 1 : 0]);
    expect(path.slots[1] == (far ? wood.at : 0) && path.slots[0] == wood.slot, "another place");
    struct gap after = grove_gap(&grove, &path);
    expect(after.before == gap.before && after.behind == gap.behind, "another gap (S6)");
    if (!limits.shadow_first) {
        struct changes changes = snapshot_compare(&snapshot, &grove);
        ck_assert_uint_eq(changes.wasted, 0);
        ck_assert_uint_eq(changes.shadowed, wanted ? grove.tree.level + 2U : 0);
    }
    if (wanted) {
        ck_assert_uint_ge(leaf_left(&grove.tree, path.nodes[0]), cost);
        places[wood.at - before.at + (before.at + 1 == before.nleaves)]++;
        grove_fill(&grove, &path, gap.before + 2, cost - 25);
    }
    path_release(&grove.tree, &path);
    grove_check(&grove);
    snapshot_free(&snapshot);
    grove_close(&grove);
    return wanted;
}

START_TEST(into_three)
{
    uint64_t seen[2] = {0};
    struct dice dice = {8};
    memset(places, 0, sizeof places);
    for (unsigned i = 0; i < ROUNDS_OF(40000); i++)
        seen[check_three(&dice)]++;
    ck_assert_uint_gt(seen[0], 1000);
    ck_assert_uint_gt(seen[1], 1000);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_gt(places[i], 100);
}
END_TEST

/* Where a get, a claim or an allocation fails, the leaves are as they were, and the path is. */
START_TEST(failing)
{
    uint64_t failed = 0;
    for (unsigned way = 0; way < 4; way++)
        for (uint64_t first = 0; first < 8; first++)
            for (unsigned gets = 0; gets < 2; gets++) {
                struct wood wood = {
                    3995, 2, {{4, {990, 990, 990, 990}}, {4, {990, 990, 990, 990}}}, way & 1, 2};
                struct wood before = wood;
                struct push_policy rules = rules_make(32);
                struct growth limits = {.shadow_first = way & 2};
                rules_open(&grove, &rules, 4096, &limits, 1);
                wood_plant(&wood, &grove, true);
                heap_commit(&grove.heap);
                struct path path;
                wood_path(&wood, &grove, true, &path);
                if (way & 2)
                    expect_success(path_claim(&grove.tree, &path, 0));
                struct key key = grove_key(5);
                struct room room = {&key, 990, false};
                struct watch_calls fault = {0, first, 1}, none = {0, UINT64_MAX, 0};
                grove.watch.gets = gets ? fault : none;
                grove.watch.owns = gets ? none : fault;
                int result = split_three(&rules, &grove.tree, &path, &room);
                grove.watch.gets = grove.watch.owns = none;
                grove.has_faults = true;
                grove_gap(&grove, &path);
                if (result < 0) {
                    ck_assert_int_eq(result, gets ? -EIO : -ENOSPC);
                    wood_compare(&before, &grove, path.nodes[1]);
                    ck_assert_uint_eq(path.slots[0], before.slot);
                    failed++;
                } else {
                    ck_assert_uint_eq(block_nritems(path.nodes[1]), 3);
                }
                path_release(&grove.tree, &path);
                grove_check(&grove);
                grove_close(&grove);
            }
    /* Gets: one. The path's three nodes, the new leaf, both old ones; or of what is not claimed
     * yet the new leaf and the neighbour. */
    ck_assert_uint_eq(failed, 2 * (1 + 6) + 2 * (1 + 2));
}
END_TEST

SUITE(split_three, 60, every_plan, into_three, failing)
