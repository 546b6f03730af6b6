#include "push.h"

#include "change.h"
#include "fail.h"
#include "support_wood.h"

#include <string.h>

static struct grove grove;

/* --- the decision ------------------------------------------------------------------- */

static uint64_t plans_seen[6];

/* push_plan, asked as plan_right and plan_left do, says what the loops of the kernel say. */
static void check_plan(const struct wood_leaf *leaf, uint32_t slot, uint32_t need, uint32_t limit,
                       bool empty, uint32_t own, uint32_t other)
{
    uint32_t n = leaf->nitems, backwards[WOOD_ITEMS];
    uint32_t stay = empty ? 0 : limit > 1 ? limit : 1, most = empty ? n : n - 1;
    for (uint32_t i = 0; i < n; i++)
        backwards[i] = leaf->costs[n - 1 - i];
    struct push_question question = {
        .costs = backwards,
        .count = stay < n ? n - stay : 0,
        .gap = (int32_t)n - 1 - (int32_t)slot,
        .need = need,
        .own_left = own,
        .other_left = other,
        .empty = empty,
    };
    uint32_t right = push_plan(&question);
    uint32_t wanted = wood_right(leaf, slot, need, limit, empty, own, other);
    expect(right == wanted, "n %u p %u need %u limit %u own %u other %u: %u go right, not %u", n,
           slot, need, limit, own, other, right, wanted);
    question.costs = leaf->costs;
    question.count = most < limit ? most : limit;
    question.gap = (int32_t)slot;
    uint32_t left = push_plan(&question);
    wanted = wood_left(leaf, slot, need, limit, empty, own, other);
    expect(left == wanted, "n %u p %u need %u limit %u own %u other %u: %u go left, not %u", n,
           slot, need, limit, own, other, left, wanted);
    plans_seen[right]++;
    plans_seen[left]++;
}

START_TEST(every_plan)
{
    memset(plans_seen, 0, sizeof plans_seen);
    for (uint32_t n = 1; n <= 5; n++) {
        uint32_t combinations = n < 5 ? 1U << (2 * (n - 1)) : 64;
        for (uint32_t number = 0; number < combinations * 3; number++) {
            struct wood_leaf leaf = {.nitems = n};
            for (uint32_t i = 0, rest = number; i < n; i++, rest /= 3)
                leaf.costs[i] = 1 + rest % 3;
            for (uint32_t slot = 0; slot <= n; slot++)
                for (uint32_t need = 0; need <= 4; need++)
                    for (uint32_t limit = 0; limit <= n; limit++)
                        for (uint32_t own = 0; own <= 3; own++)
                            for (uint32_t other = 0; other <= 9; other++)
                                for (unsigned empty = 0; empty < 2; empty++)
                                    check_plan(&leaf, slot, need, limit, empty, own, other);
        }
    }
    for (uint32_t count = 0; count <= 5; count++)
        ck_assert_uint_gt(plans_seen[count], 0);
}
END_TEST

/* --- the motion --------------------------------------------------------------------- */

/* A leaf with neighbours that are more or less full, and a slot. */
static struct wood pick_wood(struct dice *dice)
{
    struct wood wood = {.room = 3995, .nleaves = 1 + (uint32_t)dice_below(dice, 3)};
    uint32_t unit = dice_below(dice, 2) ? 499 : 97;
    for (uint32_t i = 0; i < wood.nleaves; i++) {
        struct wood_leaf *leaf = &wood.leaves[i];
        uint32_t most = 1 + (uint32_t)dice_below(dice, 6);
        do {
            uint32_t cost = unit * (1 + (uint32_t)dice_below(dice, 499 * 4 / unit));
            if (dice_below(dice, 5) == 0)
                cost = 25 + (uint32_t)dice_below(dice, 200);
            if (leaf->nitems > 0 && cost > wood_free(&wood, i))
                break;
            leaf->costs[leaf->nitems++] = cost;
        } while (leaf->nitems < most);
    }
    wood.at = (uint32_t)dice_below(dice, wood.nleaves);
    wood.slot = (uint32_t)dice_below(dice, wood.leaves[wood.at].nitems + 1);
    return wood;
}

static struct push pick_push(struct dice *dice, const struct wood *wood, int side)
{
    struct push push = {
        .reason = (enum push_reason)dice_below(dice, PUSH_REASONS),
        .need = (uint32_t)dice_below(dice, 4) * 499 + (uint32_t)dice_below(dice, 2),
        .empty = dice_below(dice, 3) == 0,
    };
    push.ticket = dice_below(dice, 3) ? push.need : (uint32_t)dice_below(dice, 4000);
    push.limit = side > 0 ? 0 : UINT32_MAX;
    if (dice_below(dice, 3) == 0)
        push.limit = wood->slot;
    return push;
}

/* Of the nodes only that above the two leaves changes, and of leaves only the two (P5, P6). */
static void check_touched(const struct snapshot *snapshot, enum push_outcome outcome,
                          const uint64_t *touched, bool is_emptied)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        uint64_t bytenr = snapshot->shots[i].bytenr;
        bool may = outcome == PUSH_MOVED &&
                   (bytenr == touched[0] || bytenr == touched[1] || bytenr == touched[2]);
        if (is_emptied && bytenr == touched[2]) /* the pointer to an empty leaf is about to go */
            continue;
        expect(!may || watch_dirtied(&grove.watch, snapshot->shots[i].block),
               "block %ju has changed and is not dirty", (uintmax_t)bytenr);
        expect(may != snapshot_is_same(snapshot, &grove, bytenr), "outcome %d: block %ju %s",
               (int)outcome, (uintmax_t)bytenr, may ? "has not changed" : "has changed");
    }
}

/* The leaf was emptied: its pointer goes, as deletion does it. */
static void remove_empty(struct path *path)
{
    struct block *leaf = path->nodes[0];
    path->nodes[0] = NULL;
    path_remove_ptr(&grove.tree, path, 1);
    grove.growth.owner->free(grove.growth.owner, &grove.tree, leaf);
}

/* What was claimed, in a transaction of its own. */
static void check_claims(enum push_outcome outcome, bool shadow_first, uint32_t before)
{
    uint64_t claims = grove.watch.claims - before;
    if (!shadow_first) /* both leaves, the node and the one above it, or nothing */
        expect(outcome == PUSH_MOVED ? claims == grove.tree.level + 2U : claims == 0,
               "outcome %d: %ju claims", (int)outcome, (uintmax_t)claims);
    else /* the neighbour, when it was looked into */
        expect(claims == (outcome >= PUSH_NOTHING_FITS), "outcome %d: %ju claims", (int)outcome,
               (uintmax_t)claims);
}

/* One push of a random leaf, held against the numbers. */
static enum push_outcome check_push(struct dice *dice, int side, bool is_new, bool shadow_first)
{
    struct wood wood = pick_wood(dice);
    struct push push = pick_push(dice, &wood, side);
    struct push_policy rules = rules_make(dice_below(dice, 2) ? 1 : 0);
    struct growth limits = {.shadow_first = shadow_first};
    bool far = wood.nleaves > 1;
    rules_open(&grove, &rules, 4096, &limits, 1);
    wood_plant(&wood, &grove, far);
    struct path path;
    wood_path(&wood, &grove, far, &path);
    if (!is_new)
        heap_commit(&grove.heap);
    if (shadow_first)
        expect_success(path_claim(&grove.tree, &path, 0));
    uint32_t before = (uint32_t)grove.watch.claims;
    struct gap gap = grove_gap(&grove, &path);
    uint64_t touched[3] = {path.nodes[0]->bytenr, 0, 0};
    if (far && path.slots[1] + (uint32_t)side < wood.nleaves) {
        touched[1] = from_le64(node_ptr(path.nodes[1], path.slots[1] + (uint32_t)side)->blockptr);
        touched[2] = path.nodes[1]->bytenr;
    }
    struct block *node = path.nodes[far ? 1 : 0];
    struct snapshot snapshot;
    snapshot_take(&snapshot, &grove);

    enum push_outcome wanted = wood_push(&wood, &rules, side, &push);
    int outcome = side > 0 ? push_leaf_right(&rules, &grove.tree, &path, &push)
                           : push_leaf_left(&rules, &grove.tree, &path, &push);
    ck_assert_int_eq(outcome, (int)wanted);
    ck_assert_uint_eq(rules.counters.right[push.reason][outcome], side > 0);
    ck_assert_uint_eq(rules.counters.left[push.reason][outcome], side < 0);
    ck_assert_uint_eq(grove.heap.held, grove.tree.level + 1U);
    wood_compare(&wood, &grove, far ? node : path.nodes[0]);
    expect(path.nodes[far ? 1 : 0] == node && path.slots[1] == (far ? wood.at : 0),
           "another leaf than %u", wood.at);
    if (!push.empty) {
        struct gap after = grove_gap(&grove, &path);
        expect(path.slots[0] == wood.slot, "slot %u, not %u", path.slots[0], wood.slot);
        expect(after.before == gap.before && after.behind == gap.behind, "another gap (P2)");
        expect(block_nritems(path.nodes[0]) > 0, "an empty leaf (P3)");
    }
    if (is_new)
        check_touched(&snapshot, wanted, touched, wood.leaves[wood.at].nitems == 0);
    else
        check_claims(wanted, shadow_first, before);
    if (wood.leaves[wood.at].nitems == 0)
        remove_empty(&path);
    path_release(&grove.tree, &path);
    grove_check(&grove); /* P1 */
    snapshot_free(&snapshot);
    grove_close(&grove);
    return wanted;
}

/* P1 to P6: pushes of random leaves, in the transaction that made them and in the next. */
static void many_pushes(int side)
{
    uint64_t seen[PUSH_OUTCOMES] = {0};
    struct dice dice = {side > 0};
    for (unsigned i = 0; i < ROUNDS_OF(60000); i++)
        seen[check_push(&dice, side, i % 3 == 0, i % 3 == 1)]++;
    for (unsigned outcome = 0; outcome < PUSH_OUTCOMES; outcome++)
        expect((seen[outcome] > 0) == (side > 0 || outcome != PUSH_SHORTCUT), "outcome %u: %ju",
               outcome, (uintmax_t)seen[outcome]);
}

START_TEST(pushes_right)
{
    many_pushes(1);
}
END_TEST

START_TEST(pushes_left)
{
    many_pushes(-1);
}
END_TEST

/* Where a get, a claim or an allocation of a push fails, the leaves are as they were. */
START_TEST(pushes_that_fail)
{
    uint64_t failed = 0;
    for (unsigned way = 0; way < 4; way++)
        for (uint64_t first = 0; first < 5; first++)
            for (unsigned gets = 0; gets < 2; gets++) {
                struct wood wood = {3995, 3, {{1, {900}}, {3, {499, 499, 499}}, {1, {900}}}, 1, 1};
                struct wood before = wood;
                struct push push = {.limit = way & 1 ? UINT32_MAX : 0, .empty = true};
                struct push_policy rules = push_policy_kernel();
                struct growth limits = {.shadow_first = way & 2};
                rules_open(&grove, &rules, 4096, &limits, 1);
                wood_plant(&wood, &grove, true);
                heap_commit(&grove.heap);
                struct path path;
                wood_path(&wood, &grove, true, &path);
                if (way & 2)
                    expect_success(path_claim(&grove.tree, &path, 0));
                struct watch_calls fault = {0, first, 1}, none = {0, UINT64_MAX, 0};
                grove.watch.gets = gets ? fault : none;
                grove.watch.owns = gets ? none : fault;
                int outcome = way & 1 ? push_leaf_left(&rules, &grove.tree, &path, &push)
                                      : push_leaf_right(&rules, &grove.tree, &path, &push);
                grove.watch.gets = grove.watch.owns = none;
                if (outcome < 0) {
                    ck_assert_int_eq(outcome, gets ? -EIO : -ENOSPC);
                    wood_compare(&before, &grove, path.nodes[1]);
                    grove_gap(&grove, &path);
                    failed++;
                } else {
                    ck_assert_int_eq(outcome, PUSH_MOVED);
                    remove_empty(&path);
                }
                path_release(&grove.tree, &path);
                grove_check(&grove);
                grove_close(&grove);
            }
    /* One get; claims of the path and the neighbour, or of the neighbour alone. */
    ck_assert_uint_eq(failed, 2 * (1 + 4) + 2 * (1 + 1));
}
END_TEST

/* --- the shortcut ------------------------------------------------------------------- */

static uint32_t number_behind(const struct wood *wood, uint32_t leaf)
{
    uint32_t number = wood->nleaves;
    for (uint32_t i = 0; i <= leaf; i++)
        number += wood->leaves[i].nitems;
    return 4 * number + 2;
}

/* P6. What comes behind all items of a full leaf goes to the front of the right one. The left one
 * is as it was, not even shadowed; the right one's key falls, and no key above that changes. */
START_TEST(the_shortcut)
{
    for (unsigned shadow_first = 0; shadow_first < 2; shadow_first++)
        for (uint32_t leaf = 0; leaf < 2; leaf++) {
            struct wood wood = {
                3995, 3, {{2, {1900, 1900}}, {2, {1900, 1700}}, {2, {999, 999}}}, 0, 2};
            struct push_policy rules = push_policy_kernel();
            struct growth limits = {.shadow_first = shadow_first};
            wood.at = leaf;
            if (leaf == 0)
                wood.leaves[1].costs[1] = 999;
            rules_open(&grove, &rules, 4096, &limits, 1);
            wood_plant(&wood, &grove, true);
            heap_commit(&grove.heap);
            struct path path;
            wood_path(&wood, &grove, true, &path);
            uint64_t left = path.nodes[0]->bytenr, top = path.nodes[2]->bytenr;
            const struct block *old_top = path.nodes[2], *old_left = path.nodes[0];
            path_release(&grove.tree, &path);
            struct snapshot snapshot;
            snapshot_take(&snapshot, &grove);
            struct key_ptr ptrs[8];
            memcpy(ptrs, node_ptr(old_top, 0), sizeof ptrs);

            struct step step = {.kind = STEP_INSERT, .count = 1};
            uint64_t done;
            step.items[0] = (struct step_item){number_behind(&wood, leaf), 475, 3};
            expect_success(step_do(&grove, &step, &done));
            step_note(&grove, &step, done);
            grove_check(&grove);
            ck_assert_uint_eq(rules.counters.right[PUSH_FOR_SPLIT][PUSH_SHORTCUT], 1);
            ck_assert_uint_eq(grove.growth.counters.bytes_between, 0);
            for (uint32_t slot = 0; slot < block_nritems(old_top); slot++)
                ck_assert_mem_eq(&node_ptr(old_top, slot)->key, &ptrs[slot].key, sizeof ptrs->key);
            struct changes changes = snapshot_compare(&snapshot, &grove);
            ck_assert_int_eq(snapshot_is_same(&snapshot, &grove, left), !shadow_first);
            ck_assert_uint_eq(changes.shadowed, 3 + shadow_first);
            ck_assert_uint_eq(changes.wasted, shadow_first);
            ck_assert_uint_eq(block_generation(old_left), 1 + shadow_first);
            ck_assert(!snapshot_is_same(&snapshot, &grove, top));
            snapshot_free(&snapshot);
            grove_close(&grove);
        }
}
END_TEST

/* The mirror image is taken for what comes before all items of a leaf, is not an extension, and
 * where the left one has just the room. Nothing is claimed for it. */
START_TEST(the_mirror_image)
{
    uint64_t taken = 0;
    for (uint32_t way = 0; way < 8; way++)
        for (uint32_t at = 0; at < 3; at++)
            for (uint32_t slot = 0; slot <= 2; slot++)
                for (uint32_t cost = 1994; cost <= 1997; cost++) {
                    struct wood wood = {3995,
                                        3,
                                        {{2, {1000, 1000}}, {2, {1000, 999}}, {2, {1000, 1000}}},
                                        at,
                                        slot};
                    struct push_policy rules = rules_make(way & 1 ? 8 : 255 - 8);
                    struct growth limits = {.shadow_first = way & 2};
                    rules_open(&grove, &rules, 4096, &limits, 1);
                    wood_plant(&wood, &grove, true);
                    heap_commit(&grove.heap);
                    struct path path;
                    wood_path(&wood, &grove, true, &path);
                    struct gap gap = grove_gap(&grove, &path);
                    struct key key = grove_key(5);
                    struct room room = {&key, cost, way & 4};
                    struct snapshot snapshot;
                    snapshot_take(&snapshot, &grove);
                    bool wanted = way % 8 != 0 && (way & 1) && !(way & 4) && at > 0 && slot == 0 &&
                                  cost <= (at == 1 ? 1995U : 1996U);
                    int result = push_shortcut_left(&rules, &grove.tree, &path, &room);
                    expect(result == wanted, "at %u slot %u cost %u: %d", at, slot, cost, result);
                    struct gap after = grove_gap(&grove, &path);
                    expect(after.before == gap.before && after.behind == gap.behind,
                           "another gap (P2)");
                    ck_assert_uint_eq(path.slots[1], at - wanted);
                    ck_assert_uint_eq(path.slots[0], wanted ? 2 : slot);
                    ck_assert_uint_eq(rules.counters.shortcuts_left, wanted);
                    ck_assert_uint_eq(snapshot_compare(&snapshot, &grove).untouched,
                                      snapshot.count);
                    taken += wanted;
                    ck_assert_uint_eq(grove.heap.held, 3);
                    path_release(&grove.tree, &path);
                    snapshot_free(&snapshot);
                    grove_close(&grove);
                }
    ck_assert_uint_eq(taken, 2 * (2 + 3));
}
END_TEST

SUITE(push, 60, every_plan, pushes_right, pushes_left, pushes_that_fail, the_shortcut,
      the_mirror_image)
