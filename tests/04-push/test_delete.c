#include "delete.h"

#include "change.h"
#include "fail.h"
#include "support_wood.h"

#include <string.h>

static struct grove grove;

/* --- against the numbers ------------------------------------------------------------ */

/* A leaf between others, which deletion makes sparse, or not. */
static struct wood pick_wood(struct dice *dice)
{
    struct wood wood = {.room = 3995, .nleaves = 3};
    wood.at = (uint32_t)dice_below(dice, wood.nleaves);
    for (uint32_t i = 0; i < wood.nleaves; i++) {
        struct wood_leaf *leaf = &wood.leaves[i];
        uint32_t most = 1 + (uint32_t)dice_below(dice, 8), unit = i == wood.at ? 100 : 333;
        uint32_t keep = (uint32_t)dice_below(dice, i == wood.at ? 3600 : 1500);
        for (unsigned tries = 0; tries < 12 && leaf->nitems < most; tries++) {
            uint32_t cost = unit * (1 + (uint32_t)dice_below(dice, 6));
            if (leaf->nitems == 0 || cost + keep <= wood_free(&wood, i))
                leaf->costs[leaf->nitems++] = cost;
        }
    }
    wood.slot = (uint32_t)dice_below(dice, wood.leaves[wood.at].nitems);
    return wood;
}

/* How a deletion ended, by the counters of the rules. */
enum merge_way { MERGE_NONE, MERGE_LEFT, MERGE_RIGHT, MERGE_BOTH, MERGE_PART, MERGE_FAILED };
enum { MERGE_WAYS = 6 };

static enum merge_way merge_way(const struct push_counters *counters)
{
    const uint64_t *left = counters->left[PUSH_FOR_DELETE],
                   *right = counters->right[PUSH_FOR_DELETE];
    if (counters->merged)
        return left[PUSH_MOVED] && right[PUSH_MOVED] ? MERGE_BOTH
               : left[PUSH_MOVED]                    ? MERGE_LEFT
                                                     : MERGE_RIGHT;
    if (left[PUSH_MOVED])
        return MERGE_PART;
    return left[PUSH_NO_NEIGHBOUR] + left[PUSH_NO_ROOM] ? MERGE_FAILED : MERGE_NONE;
}

/* Items go, with those behind them where `count` says so; the leaves are merged as the numbers
 * say. */
static enum merge_way check_delete(struct dice *dice)
{
    struct wood wood = pick_wood(dice);
    uint32_t left = wood.leaves[wood.at].nitems - wood.slot;
    uint32_t count = dice_below(dice, 2) ? 1 : 1 + (uint32_t)dice_below(dice, left);
    struct push_policy rules = rules_make((unsigned)dice_below(dice, RULES / 2));
    /* Nodes of three pointers are not balanced. */
    struct growth limits = {.shadow_first = dice_below(dice, 2), .max_ptrs = 8};
    rules_open(&grove, &rules, 4096, &limits, 1);
    wood_plant(&wood, &grove, true);
    heap_commit(&grove.heap);
    struct path path;
    wood_path(&wood, &grove, true, &path);
    struct gap gap = grove_gap(&grove, &path);
    struct block *node = path.nodes[1];
    path_release(&grove.tree, &path);
    struct step step = {.kind = STEP_DELETE, .count = 1, .items = {{gap.behind, 0, 0}}};
    if (count > 1 || dice_below(dice, 2)) {
        step.kind = STEP_DELETE_RANGE;
        step.last = gap.behind + 4 * (count - 1);
    }
    struct snapshot snapshot;
    snapshot_take(&snapshot, &grove);

    uint64_t done;
    wood_delete(&wood, &rules, count);
    expect_success(step_do(&grove, &step, &done));
    ck_assert_uint_eq(done, count);
    step_note(&grove, &step, done);
    wood_compare(&wood, &grove, node);
    ck_assert_uint_eq(grove.growth.counters.items_deleted, count);
    if (!limits.shadow_first)
        ck_assert_uint_eq(snapshot_compare(&snapshot, &grove).wasted, 0);
    grove_check(&grove);
    snapshot_free(&snapshot);
    grove_close(&grove);
    /* Who has the ticket finds something that fits. */
    ck_assert_uint_eq(rules.counters.left[PUSH_FOR_DELETE][PUSH_NOTHING_FITS], 0);
    ck_assert_uint_eq(rules.counters.right[PUSH_FOR_DELETE][PUSH_NOTHING_FITS], 0);
    return merge_way(&rules.counters);
}

START_TEST(merges)
{
    uint64_t seen[MERGE_WAYS] = {0};
    struct dice dice = {3};
    for (unsigned i = 0; i < 60000; i++)
        seen[check_delete(&dice)]++;
    for (unsigned way = 0; way < MERGE_WAYS; way++)
        expect(seen[way] > 20, "way %u: %ju times", way, (uintmax_t)seen[way]);
}
END_TEST

/* A leaf is merged below one part in `merge`, and not at it: 3995 / 3 is 1331, 3995 / 4 is 998. */
START_TEST(the_threshold)
{
    for (uint32_t merge = 3; merge <= 4; merge++)
        for (uint32_t rest = 3995 / merge - 2; rest <= 3995 / merge + 2; rest++) {
            struct wood wood = {3995, 2, {{1, {100}}, {2, {500, rest}}}, 1, 0};
            struct push_policy rules = rules_make(merge == 4 ? 64 : 0);
            struct growth limits = {0};
            rules_open(&grove, &rules, 4096, &limits, 1);
            wood_plant(&wood, &grove, false);
            struct key key = grove_key(8);
            expect_success(tree_delete(&grove.tree, &key));
            ck_assert_uint_eq(rules.counters.merged, rest < 3995 / merge);
            grove_close(&grove);
        }
}
END_TEST

/* --- what is not there -------------------------------------------------------------- */

/* Nothing is touched, in either order of shadowing. */
START_TEST(absent)
{
    static const uint32_t sizes[12], nitems[] = {3, 3, 3, 3};
    for (unsigned shadow_first = 0; shadow_first < 2; shadow_first++) {
        struct push_policy rules = push_policy_kernel();
        struct growth limits = {.shadow_first = shadow_first, .max_items = 3, .max_ptrs = 8};
        rules_open(&grove, &rules, 4096, &limits, 1);
        grove_plant(&grove, nitems, 4, sizes, 2);
        heap_commit(&grove.heap);
        struct heap_counters counters = grove.heap.counters;
        struct snapshot snapshot;
        snapshot_take(&snapshot, &grove);
        for (uint32_t number = 1; number < 60; number++) {
            if (number < 50 && grove.items[number].is_there)
                continue;
            struct key key = grove_key(number), next = grove_key(number | 3);
            uint64_t deleted = 7;
            expect_failure(ENOENT, "has no item (2", tree_delete(&grove.tree, &key));
            if (number % 4 == 0)
                continue;
            expect_success(tree_delete_range(&grove.tree, &key, &next, &deleted));
            ck_assert_uint_eq(deleted, 0);
        }
        struct key low = grove_key(8), high = grove_key(20);
        uint64_t deleted = 7;
        expect_success(tree_delete_range(&grove.tree, &high, &low, &deleted)); /* none */
        ck_assert_uint_eq(deleted, 0);
        ck_assert_uint_eq(snapshot_compare(&snapshot, &grove).untouched, snapshot.count);
        ck_assert_mem_eq(&counters, &grove.heap.counters, sizeof counters);
        grove_check(&grove);
        snapshot_free(&snapshot);
        grove_close(&grove);
    }
}
END_TEST

/* --- trees that become empty --------------------------------------------------------- */

static void fill(uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++) {
        struct step step = {.kind = STEP_INSERT, .count = 1};
        uint64_t done;
        step.items[0] = (struct step_item){i * 37 % 997, i % 90, i};
        expect_success(step_do(&grove, &step, &done));
        step_note(&grove, &step, done);
    }
    grove_check(&grove);
    ck_assert_uint_eq(grove.count, count);
}

/* The next item to go: forwards, backwards, here and there. */
static uint32_t pick_victim(unsigned order)
{
    uint32_t number = order == 1 ? 999 : 1 + (uint32_t)dice_below(&grove.dice, 999);
    if (order == 0)
        number = 1;
    while (!grove.items[number].is_there)
        number = order == 1 ? number - 1 : number % 999 + 1;
    return number;
}

/* A tree is emptied in many ways, is an empty leaf then, and can be filled and emptied again. */
START_TEST(emptied)
{
    static struct room_policy *const others[] = {&split_policy, &append_policy};
    for (unsigned way = 0; way < 72; way++) {
        struct push_policy rules = rules_make(way % 6 * 51);
        struct growth limits = {
            .shadow_first = way & 1, .max_items = way % 4 ? 3 : 0, .max_ptrs = way % 4 ? 8 : 0};
        rules_open(&grove, &rules, 4096, &limits, way);
        if (way % 6 > 3)
            grove.growth.policy = others[way % 2];
        grove.keys = 1000;
        for (unsigned times = 0; times < 2; times++) {
            fill(200);
            while (grove.count > 0) {
                struct step step = {.kind = STEP_DELETE, .count = 1};
                uint64_t done;
                if (dice_below(&grove.dice, 3) == 0)
                    heap_commit(&grove.heap);
                step.items[0].number = pick_victim(way / 12 % 3);
                expect_success(step_do(&grove, &step, &done));
                step_note(&grove, &step, done);
                grove_check(&grove);
            }
            ck_assert_uint_eq(grove.tree.level, 0);
            const struct block *root = grove_block(&grove, grove.tree.bytenr);
            ck_assert_uint_eq(block_nritems(root), 0);
            ck_assert_uint_eq(grove.heap.counters.allocated - grove.heap.counters.freed, 1);
        }
        grove_close(&grove);
    }
}
END_TEST

/* One range takes all: a search for each leaf, and one that finds no more. */
START_TEST(emptied_at_once)
{
    for (unsigned way = 0; way < 4; way++) {
        struct push_policy rules = push_policy_kernel();
        struct growth limits = {
            .shadow_first = way & 1, .max_items = way & 2 ? 3 : 0, .max_ptrs = 8};
        rules_open(&grove, &rules, 4096, &limits, way);
        grove.keys = 1000;
        fill(300);
        heap_commit(&grove.heap);
        struct step step = {.kind = STEP_DELETE_RANGE, .count = 1, .last = 999};
        step.items[0].number = 1;
        uint64_t done;
        expect_success(step_do(&grove, &step, &done));
        ck_assert_uint_eq(done, 300);
        step_note(&grove, &step, done);
        ck_assert_uint_eq(grove.tree.level, 0);
        grove_check(&grove);
        grove_close(&grove);
    }
}
END_TEST

/* Every stretch of the items of a small tree. */
START_TEST(ranges)
{
    static const uint32_t sizes[24] = {1, 2, 3}, nitems[] = {3, 2, 3, 1, 3, 3, 2, 3, 2};
    for (unsigned way = 0; way < 2; way++)
        for (uint32_t first = 1; first < 92; first += 2)
            for (uint32_t last = first; last < 92; last += 3) {
                struct push_policy rules = push_policy_kernel();
                struct growth limits = {.max_items = 3, .max_ptrs = 8};
                rules_open(&grove, &rules, 4096, &limits, 1);
                if (way)
                    grove.growth.policy = &split_policy;
                grove_plant(&grove, nitems, LENGTH_OF(nitems), sizes, 3);
                grove.heap.generation++;
                struct step step = {.kind = STEP_DELETE_RANGE, .count = 1, .last = last};
                uint64_t done, wanted;
                step.items[0].number = first;
                step_expect(&grove, &step, &wanted);
                expect_success(step_do(&grove, &step, &done));
                ck_assert_uint_eq(done, wanted);
                step_note(&grove, &step, done);
                grove_check(&grove);
                grove_close(&grove);
            }
}
END_TEST

/* A leaf that goes whole is not shadowed for it. */
START_TEST(whole_leaves)
{
    static const uint32_t sizes[12], nitems[] = {3, 3, 3, 3};
    struct push_policy rules = push_policy_kernel();
    struct growth limits = {.max_items = 3, .max_ptrs = 8};
    rules_open(&grove, &rules, 4096, &limits, 1);
    grove_plant(&grove, nitems, 4, sizes, 8);
    heap_commit(&grove.heap);
    uint64_t freed = grove.heap.counters.freed, deleted;
    struct key first = grove_key(16), last = grove_key(24);
    expect_success(tree_delete_range(&grove.tree, &first, &last, &deleted));
    ck_assert_uint_eq(deleted, 3);
    ck_assert_uint_eq(grove.heap.counters.freed, freed + 1);
    ck_assert_uint_eq(grove.heap.counters.shadowed, 1); /* the root */
    ck_assert_uint_eq(grove.heap.counters.wasted, 0);
    ck_assert_uint_eq(rules.counters.merged, 0);
    grove_close(&grove);
}
END_TEST

/* D1. Nodes are balanced on the way down, those above the leaves too: a node that may lose a
 * pointer has another one. */
START_TEST(on_the_way_down)
{
    for (uint32_t sparse = 1; sparse <= 3; sparse++) {
        const uint32_t nptrs[] = {sparse, 3, 3};
        struct push_policy rules = push_policy_kernel();
        struct growth limits = {.max_ptrs = 8};
        rules_open(&grove, &rules, 4096, &limits, 1);
        grove_plant_nodes(&grove, nptrs, 3);
        heap_commit(&grove.heap);
        struct step step = {.kind = STEP_DELETE, .count = 1, .items = {{4, 0, 0}}};
        uint64_t done;
        expect_success(step_do(&grove, &step, &done));
        step_note(&grove, &step, done);
        bool acts = sparse <= 2; /* a quarter of eight */
        ck_assert_uint_eq(rules.counters.balances, acts);
        const struct block *root = grove_block(&grove, grove.tree.bytenr);
        ck_assert_uint_eq(block_nritems(root), acts ? 2 : 3);
        const struct block *node = grove_block(&grove, from_le64(node_ptr(root, 0)->blockptr));
        ck_assert_uint_eq(block_nritems(node), acts ? sparse + 2 : 2);
        grove_check(&grove);
        grove_close(&grove);
    }
}
END_TEST

/* D3. The root with one pointer makes place for its child, of which not a byte changes. */
START_TEST(lost_roots)
{
    for (unsigned shadow_first = 0; shadow_first < 2; shadow_first++) {
        static const uint32_t nptrs[] = {3};
        struct push_policy rules = push_policy_kernel();
        struct growth limits = {.shadow_first = shadow_first, .max_ptrs = 8};
        rules_open(&grove, &rules, 4096, &limits, 1);
        grove_plant_nodes(&grove, nptrs, 1);
        ck_assert_uint_eq(grove.tree.level, 2);
        heap_commit(&grove.heap);
        struct path path;
        grove_path(&grove, 1, 0, &path);
        struct snapshot snapshot;
        snapshot_take(&snapshot, &grove);
        uint64_t node = path.nodes[1]->bytenr, leaf = path.nodes[0]->bytenr;
        if (shadow_first)
            expect_success(path_claim(&grove.tree, &path, 0));
        expect_success(push_balance(&grove.tree, &path, 2));
        ck_assert_uint_eq(grove.tree.level, 1);
        ck_assert_ptr_null(path.nodes[2]);
        ck_assert_uint_eq(grove.growth.counters.lost_roots, 1);
        ck_assert_uint_eq(grove.tree.bytenr, path.nodes[1]->bytenr);
        ck_assert_uint_eq(grove.tree.generation, 2); /* the new root is claimed */
        grove_gap(&grove, &path);
        ck_assert(!snapshot_is_same(&snapshot, &grove, node));
        ck_assert_int_eq(snapshot_is_same(&snapshot, &grove, leaf), !shadow_first);
        expect_success(push_balance(&grove.tree, &path, 1)); /* three pointers: it stays */
        ck_assert_uint_eq(grove.tree.level, 1);
        path_release(&grove.tree, &path);
        grove_check(&grove);
        snapshot_free(&snapshot);
        grove_close(&grove);
    }
}
END_TEST

SUITE(delete, 60, merges, the_threshold, absent, emptied, emptied_at_once, ranges, whole_leaves,
      on_the_way_down, lost_roots)
