#include "split.h"

#include "change.h"
#include "fail.h"
#include "support_grove.h"

#include <string.h>

static struct grove grove;

/* --- the decision ------------------------------------------------------------------- */

/* The decision table of the kernel, row by row: what must be so (Y), must not be (N), or does not
 * matter (a dot), in the order of the conditions:
 *   p >= mid | n == 1 | p's half and S do not fit | p == n | p == 0 | extends | U(p, n) + S > R
 */
static const struct row {
    const char *conditions;
    enum split_way way;
} table[] = {
    {"YY.Y...", SPLIT_EMPTY_RIGHT}, /* one item, and the new one behind it */
    {"YNYY...", SPLIT_EMPTY_RIGHT}, {"YNYN..N", SPLIT_AT_SLOT},    {"YNYN..Y", SPLIT_TWICE},
    {"YNN....", SPLIT_MIDDLE},      {"N.Y.YN.", SPLIT_EMPTY_LEFT}, {"N.Y.YY.", SPLIT_BEHIND_SLOT},
    {"N.Y.N.N", SPLIT_AT_SLOT},     {"N.Y.N.Y", SPLIT_TWICE},      {"N.N....", SPLIT_MIDDLE},
};

/* The row that fits; there is exactly one. */
static size_t find_row(const struct split_question *q)
{
    uint32_t middle = q->nritems / 2 + q->nritems % 2;
    const bool conditions[] = {
        q->slot >= middle,
        q->nritems == 1,
        (q->slot >= middle ? q->from_middle : q->to_middle) + q->cost > q->room,
        q->slot == q->nritems,
        q->slot == 0,
        q->extends,
        q->from_slot + q->cost > q->room,
    };
    size_t found = LENGTH_OF(table);
    for (size_t row = 0; row < LENGTH_OF(table); row++) {
        bool fits = true;
        for (size_t i = 0; i < LENGTH_OF(conditions); i++)
            fits = fits && (table[row].conditions[i] == '.' ||
                            table[row].conditions[i] == (conditions[i] ? 'Y' : 'N'));
        expect(!fits || found == LENGTH_OF(table), "rows %zu and %zu fit", found, row);
        if (fits)
            found = row;
    }
    expect(found < LENGTH_OF(table), "no row fits");
    return found;
}

/* A leaf of small numbers. */
struct small {
    uint32_t nritems, costs[6], slot, cost, room;
    bool extends;
};

static uint32_t used(const struct small *small, uint32_t first, uint32_t end)
{
    uint32_t sum = 0;
    for (; first < end; first++)
        sum += small->costs[first];
    return sum;
}

static struct split_question ask(const struct small *small)
{
    uint32_t n = small->nritems, middle = (n + 1) / 2;
    return (struct split_question){
        .nritems = n,
        .slot = small->slot,
        .cost = small->cost,
        .room = small->room,
        .extends = small->extends,
        .to_middle = used(small, 0, middle),
        .from_middle = used(small, middle, n),
        .to_slot = used(small, 0, small->slot),
        .from_slot = used(small, small->slot, n),
    };
}

/* Calls `visit` for every question over leaves of 1 .. `most` items of 1 .. `largest`. */
static void each_small(uint32_t room, uint32_t most, uint32_t largest,
                       void (*visit)(const struct small *small))
{
    for (uint32_t n = 1; n <= most; n++) {
        struct small small = {.nritems = n, .room = room};
        uint32_t combinations = 1;
        for (uint32_t i = 0; i < n; i++)
            combinations *= largest;
        for (uint32_t number = 0; number < combinations; number++) {
            uint32_t rest = number;
            for (uint32_t i = 0; i < n; i++, rest /= largest)
                small.costs[i] = 1 + rest % largest;
            if (used(&small, 0, n) > room)
                continue;
            for (small.slot = 0; small.slot <= n; small.slot++)
                for (small.cost = 1; small.cost <= room; small.cost++)
                    for (unsigned extends = 0; extends < 2; extends++) {
                        small.extends = extends;
                        bool fits = used(&small, 0, n) + small.cost <= room;
                        bool possible = !extends || (small.slot < n &&
                                                     small.costs[small.slot] + small.cost <= room);
                        if (!fits && possible)
                            visit(&small);
                    }
        }
    }
}

static uint64_t rows_seen[LENGTH_OF(table)];

static void check_plan(const struct small *small)
{
    struct split_question question = ask(small);
    size_t row = find_row(&question);
    struct split_plan plan = split_plan(&question);
    expect(plan.way == table[row].way, "n %u, p %u, S %u: way %d, row %zu", small->nritems,
           small->slot, small->cost, (int)plan.way, row);
    const uint32_t at[SPLIT_WAYS] = {
        [SPLIT_MIDDLE] = (small->nritems + 1) / 2,
        [SPLIT_AT_SLOT] = small->slot,
        [SPLIT_TWICE] = small->slot,
        [SPLIT_BEHIND_SLOT] = 1,
        [SPLIT_EMPTY_RIGHT] = small->nritems,
        [SPLIT_EMPTY_LEFT] = 0,
    };
    expect(plan.at == at[plan.way], "way %d: at %u", (int)plan.way, plan.at);
    rows_seen[row]++;
}

START_TEST(every_row)
{
    memset(rows_seen, 0, sizeof rows_seen);
    for (uint32_t room = 3; room <= 9; room++)
        each_small(room, 5, 4, check_plan);
    for (size_t row = 0; row < LENGTH_OF(table); row++)
        expect(rows_seen[row] > 0, "no question for row %zu", row);
}
END_TEST

/* --- the motion --------------------------------------------------------------------- */

enum { UNITS = 8, UNIT = 3995 / UNITS };

static uint64_t ways_seen[SPLIT_WAYS];
static bool among_others; /* with a leaf before and one behind */
static bool shadow_first;

/* Carries out the split of a real leaf that is like the small one. */
static void check_split(const struct small *small)
{
    uint32_t sizes[8] = {0}, nitems[3] = {1, small->nritems, 1}, first = among_others;
    for (uint32_t i = 0; i < small->nritems; i++)
        sizes[first + i] = small->costs[i] * UNIT - 25;
    struct growth growth = {.policy = &split_policy, .shadow_first = shadow_first};
    grove_open(&grove, 4096, &growth, 1);
    if (among_others)
        grove_plant(&grove, nitems, 3, sizes, 8);
    else
        grove_plant(&grove, nitems + 1, 1, sizes, 8);
    grove.heap.generation++;

    uint32_t number = 4 * (first + small->slot) + 4 - (small->extends ? 0 : 2);
    struct key key = grove_key(number);
    struct room room = {&key, small->cost * UNIT, small->extends};
    struct path path;
    grove_path(&grove, first, small->slot, &path);
    struct gap gap = grove_gap(&grove, &path);
    struct split_question question = split_ask(&grove.tree, &path, &room);
    struct split_question wanted = ask(small);
    expect(question.nritems == wanted.nritems && question.slot == wanted.slot &&
               question.extends == wanted.extends && question.room == 3995 &&
               question.cost == wanted.cost * UNIT &&
               question.to_middle == wanted.to_middle * UNIT &&
               question.from_middle == wanted.from_middle * UNIT &&
               question.to_slot == wanted.to_slot * UNIT &&
               question.from_slot == wanted.from_slot * UNIT,
           "split_ask");
    struct split_plan plan = split_plan(&question);
    uint64_t splits = grove.growth.counters.splits;
    struct snapshot snapshot;
    snapshot_take(&snapshot, &grove);
    uint64_t bytenr = path.nodes[0]->bytenr;

    expect_success(split_leaf(&grove.tree, &path, &room));
    bool is_empty = plan.way == SPLIT_EMPTY_LEFT || plan.way == SPLIT_EMPTY_RIGHT;
    bool in_new = is_empty || (plan.way == SPLIT_TWICE && block_nritems(path.nodes[0]) == 0);
    struct gap after = grove_gap(&grove, &path);
    expect(leaf_left(&grove.tree, path.nodes[0]) >= room.cost, "no room (S5)");
    expect(after.before == gap.before && after.behind == gap.behind, "another gap (S6)");
    expect((block_nritems(path.nodes[0]) == 0) == in_new, "an empty leaf (S7)");
    expect(grove.growth.counters.splits - splits == (plan.way == SPLIT_TWICE ? 2 : 1),
           "%ju splits for way %d (S8)", (uintmax_t)(grove.growth.counters.splits - splits),
           (int)plan.way);
    expect(grove.growth.counters.double_splits == (plan.way == SPLIT_TWICE), "double splits");
    if (is_empty && among_others && !shadow_first)
        expect(snapshot_is_same(&snapshot, &grove, bytenr), "a leaf that stays is claimed");
    ways_seen[plan.way]++;
    grove_fill(&grove, &path, number, small->cost * UNIT - (small->extends ? 0 : 25));
    grove_check(&grove);
    snapshot_compare(&snapshot, &grove);
    snapshot_free(&snapshot);
    grove_close(&grove);
}

/* S5 to S8, for every leaf of up to four items in eighths of a leaf. */
START_TEST(every_leaf_is_split)
{
    memset(ways_seen, 0, sizeof ways_seen);
    for (unsigned way = 0; way < 4; way++) {
        among_others = way & 1;
        shadow_first = way & 2;
        each_small(UNITS, 4, 5, check_split);
    }
    for (size_t way = 0; way < SPLIT_WAYS; way++)
        expect(ways_seen[way] > 0, "no split goes way %zu", way);
}
END_TEST

/* --- what is too large -------------------------------------------------------------- */

static struct room_policy *const policies[] = {&split_policy, &append_policy};

/* The largest item there can be goes in; one byte more is refused, and not one byte of any block
 * has changed. The same for an item that grows. */
START_TEST(the_largest)
{
    static const uint32_t node_sizes[] = {4096, 16384, 65536};
    static const uint32_t sizes[] = {100, 900, 0, 5, 900, 960, 30};
    static const uint32_t nitems[] = {3, 4};
    for (size_t i = 0; i < LENGTH_OF(node_sizes); i++)
        for (unsigned way = 0; way < 8; way++) {
            struct growth growth = {.policy = policies[way & 1], .max_items = way & 2 ? 4 : 0};
            uint32_t most = node_sizes[i] - 101 - 25;
            for (uint32_t number = 1; number <= 32; number++) {
                grove_open(&grove, node_sizes[i], &growth, 1);
                grove_plant(&grove, nitems, way & 4 ? 2 : 1, sizes, 8);
                grove.keys = 40;
                heap_commit(&grove.heap);
                struct grove_item item = grove.items[number];
                struct step step = {
                    .kind = item.is_there ? STEP_EXTEND : STEP_INSERT,
                    .count = 1,
                    .items = {{number, most + 1 - item.size, item.is_there ? item.seed : 7}},
                };
                struct snapshot snapshot;
                struct heap_counters counters = grove.heap.counters;
                uint64_t done;
                snapshot_take(&snapshot, &grove);
                for (unsigned times = 0; times < 3; times++) {
                    expect_failure(EOVERFLOW, "a leaf holds", step_do(&grove, &step, &done));
                    step.items[0].size = times ? UINT32_MAX : UINT32_MAX - node_sizes[i];
                }
                struct changes changes = snapshot_compare(&snapshot, &grove);
                ck_assert_uint_eq(changes.untouched, snapshot.count);
                ck_assert_mem_eq(&counters, &grove.heap.counters, sizeof counters);
                grove_check(&grove);
                snapshot_free(&snapshot);
                step.items[0].size = most - item.size;
                expect_success(step_do(&grove, &step, &done));
                step_note(&grove, &step, done);
                grove_check(&grove);
                grove_close(&grove);
            }
        }
}
END_TEST

/* --- nodes -------------------------------------------------------------------------- */

/* A node of every size is divided in the middle, with the path at every pointer: root or not. */
START_TEST(nodes)
{
    static uint32_t sizes[200], nitems[200];
    for (unsigned i = 0; i < LENGTH_OF(nitems); i++)
        nitems[i] = 1;
    for (uint32_t count = 2; count <= 40; count++)
        for (uint32_t slot = 0; slot < count; slot++)
            for (uint32_t before = 0; before < 2; before++) {
                struct growth growth = {.policy = &split_policy};
                grove_open(&grove, 4096, &growth, 1);
                /* With `before` the node is the second below a root. */
                grove_plant(&grove, nitems, count * (1 + before), sizes, count);
                heap_commit(&grove.heap);
                struct path path;
                grove_path(&grove, before * count + slot, 0, &path);
                uint64_t leaf = path.nodes[0]->bytenr, splits = grove.growth.counters.node_splits;
                ck_assert_uint_eq(block_nritems(path.nodes[1]), count);
                struct snapshot snapshot;
                snapshot_take(&snapshot, &grove);
                expect_success(split_node(&grove.tree, &path, 1));
                struct changes changes = snapshot_compare(&snapshot, &grove);
                ck_assert_uint_eq(changes.wasted, 0);
                expect(snapshot_is_same(&snapshot, &grove, leaf), "a leaf is claimed");
                ck_assert_uint_eq(path.nodes[0]->bytenr, leaf);
                grove_gap(&grove, &path);
                uint32_t middle = (count + 1) / 2, in = slot >= middle;
                ck_assert_uint_eq(block_nritems(path.nodes[1]), in ? count - middle : middle);
                ck_assert_uint_eq(path.slots[1], in ? slot - middle : slot);
                ck_assert_uint_eq(path.slots[2], before + in);
                ck_assert_uint_eq(grove.growth.counters.node_splits, splits + 1);
                ck_assert_uint_eq(grove.growth.counters.new_roots, !before);
                path_release(&grove.tree, &path);
                grove_check(&grove);
                snapshot_free(&snapshot);
                grove_close(&grove);
            }
}
END_TEST

/* A tree grows to eight levels and is full then: it says so, and stays as it is. */
START_TEST(eight_levels)
{
    for (unsigned way = 0; way < 4; way++) {
        struct growth growth = {
            .policy = policies[way & 1], .shadow_first = way & 2, .max_items = 3, .max_ptrs = 8};
        grove_open(&grove, 4096, &growth, 1);
        struct step step = {.kind = STEP_INSERT, .count = 1};
        int result = 0;
        for (uint32_t number = 1; number < GROVE_KEYS && result == 0; number++) {
            uint64_t done;
            step.items[0] = (struct step_item){number, number % 50, number};
            result = step_do(&grove, &step, &done);
            step_note(&grove, &step, done);
        }
        ck_assert_int_eq(result, -EOVERFLOW);
        ck_assert_ptr_nonnull(strstr(fail_message(), "eight levels"));
        ck_assert_uint_eq(grove.tree.level, MAX_LEVEL - 1);
        grove.has_faults = true; /* a leaf was made for it, and freed */
        grove_check(&grove);
        uint64_t done;
        heap_commit(&grove.heap);
        ck_assert_int_eq(step_do(&grove, &step, &done), -EOVERFLOW);
        grove_check(&grove);
        grove_close(&grove);
    }
}
END_TEST

/* --- appending ---------------------------------------------------------------------- */

/* Only behind all items of the tree. */
START_TEST(at_the_end)
{
    static const uint32_t sizes[40], nitems[] = {3, 3, 3, 3, 3, 3, 3, 3, 3};
    for (uint32_t leaves = 1; leaves <= 9; leaves++) {
        struct growth growth = {.policy = &append_policy};
        grove_open(&grove, 4096, &growth, 1);
        grove_plant(&grove, nitems, leaves, sizes, 3);
        for (uint32_t leaf = 0; leaf < leaves; leaf++)
            for (uint32_t slot = 0; slot <= 3; slot++) {
                struct path path;
                grove_path(&grove, 3 * leaf, slot, &path);
                ck_assert_int_eq(path_is_at_end(&grove.tree, &path),
                                 leaf + 1 == leaves && slot == 3);
                path_release(&grove.tree, &path);
            }
        grove_close(&grove);
    }
}
END_TEST

/* What comes in order fills each leaf, and nothing moves; in the middle append_policy splits as
 * ever. */
START_TEST(appending)
{
    for (unsigned way = 0; way < 2; way++) {
        struct growth growth = {.policy = policies[way], .max_items = 4};
        grove_open(&grove, 4096, &growth, 1);
        struct step step = {.kind = STEP_INSERT, .count = 1};
        for (uint32_t number = 4; number <= 400; number += 4) {
            uint64_t done;
            step.items[0] = (struct step_item){number, 50, number};
            expect_success(step_do(&grove, &step, &done));
            step_note(&grove, &step, done);
        }
        struct census census = grove_check(&grove);
        ck_assert_uint_eq(census.leaves, way ? 25 : 49);
        ck_assert_int_eq(grove.growth.counters.bytes_between == 0, way);
        uint64_t done, between = grove.growth.counters.bytes_between;
        step.items[0] = (struct step_item){17, 50, 9};
        for (unsigned i = 0; i < 3; i++, step.items[0].number++) {
            expect_success(step_do(&grove, &step, &done));
            step_note(&grove, &step, done);
        }
        ck_assert_uint_gt(grove.growth.counters.bytes_between, between);
        grove_check(&grove);
        grove_close(&grove);
    }
}
END_TEST

/* split_append refuses what is too large, and leaves the old leaf alone. */
START_TEST(append_alone)
{
    static const uint32_t sizes[] = {3000, 10, 10, 3000, 900};
    static const uint32_t nitems[] = {2, 3};
    struct growth growth = {.policy = &append_policy};
    grove_open(&grove, 4096, &growth, 1);
    grove_plant(&grove, nitems, 2, sizes, 8);
    heap_commit(&grove.heap);
    struct path path;
    struct snapshot snapshot;
    struct key key = grove_key(24);
    struct room room = {&key, 3995, false};
    grove_path(&grove, 2, 3, &path);
    uint64_t leaf = path.nodes[0]->bytenr;
    snapshot_take(&snapshot, &grove);
    expect_success(split_append(&grove.tree, &path, &room));
    ck_assert_uint_eq(block_nritems(path.nodes[0]), 0);
    expect(snapshot_is_same(&snapshot, &grove, leaf), "the old leaf is claimed");
    grove_fill(&grove, &path, 24, 3970);
    grove_check(&grove);
    snapshot_free(&snapshot);
    grove_close(&grove);
}
END_TEST

SUITE(split, 60, every_row, every_leaf_is_split, the_largest, nodes, eight_levels, at_the_end,
      appending, append_alone)
