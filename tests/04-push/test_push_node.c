#include "push_node.h"

#include "change.h"
#include "fail.h"
#include "support_rules.h"

#include <string.h>

static struct grove grove;

/* --- what Linux does, on numbers ------------------------------------------------------ */

/* Section 6 of the notes. Where a node takes less than 32 pointers, a quarter stands for the 8. */
static uint32_t slack_of(uint32_t cap)
{
    return cap < 32 ? cap / 4 : 8;
}

/* push_node_left */
static int64_t kernel_left(int64_t src, int64_t dst, int64_t cap, bool empty)
{
    int64_t slack = slack_of((uint32_t)cap), push = cap - dst;
    if (!empty && src <= slack)
        return 0;
    if (push <= 0)
        return 0;
    if (empty) {
        push = src < push ? src : push;
        if (push < src && src - push < slack) {
            if (push <= slack)
                return 0;
            push -= slack;
        }
        return push;
    }
    return src - slack < push ? src - slack : push;
}

/* balance_node_right */
static int64_t kernel_right(int64_t src, int64_t dst, int64_t cap)
{
    int64_t push = cap - dst, most = src / 2 + 1;
    if (push <= 0 || src < 4 || most >= src)
        return 0;
    return most < push ? most : push;
}

static void check_moves(uint32_t from, uint32_t to, uint32_t cap)
{
    for (unsigned empty = 0; empty < 2; empty++) {
        uint32_t count = push_node_plan(from, to, cap, empty);
        expect(count == kernel_left(from, to, cap, empty), "%u to %u of %u, empty %u: %u go", from,
               to, cap, empty, count);
        expect(count <= from && to + count <= cap, "too many");
        expect(empty || count == 0 || from - count >= slack_of(cap), "too few stay");
        expect(!empty || count == 0 || count == from || from - count >= slack_of(cap),
               "%u to %u of %u: %u stay", from, to, cap, from - count);
    }
    uint32_t half = push_half_plan(from, to, cap);
    expect(half == kernel_right(from, to, cap), "%u to %u of %u: %u go right", from, to, cap, half);
    expect(half == 0 || from - half >= 1, "none stays");
}

/* Every pair of nodes of 8 to 40 pointers, and those of 4 KiB and 16 KiB. */
START_TEST(every_move)
{
    for (uint32_t cap = 8; cap <= 40; cap++)
        for (uint32_t from = 1; from <= cap; from++)
            for (uint32_t to = 0; to <= cap; to++)
                check_moves(from, to, cap);
    for (uint32_t from = 1; from <= 121; from++)
        for (uint32_t to = 0; to <= 121; to++)
            check_moves(from, to, 121);
    for (uint32_t from = 1; from <= 493; from += 1 + from / 50)
        for (uint32_t to = 0; to <= 493; to += 1 + to / 50 * (to < 470))
            check_moves(from, to, 493);
    ck_assert_uint_eq(node_slack(8), 2);
    ck_assert_uint_eq(node_slack(31), 7);
    ck_assert_uint_eq(node_slack(32), 8);
    ck_assert_uint_eq(node_slack(493), 8);
}
END_TEST

/* balance_level: what the three nodes hold afterwards; 0 is a node that is freed. */
static void kernel_balance(int64_t nodes[3], int64_t cap)
{
    bool has_left = nodes[0] > 0, has_right = nodes[2] > 0;
    int64_t count;
    if (has_left) {
        count = kernel_left(nodes[1], nodes[0], cap, true);
        nodes[0] += count;
        nodes[1] -= count;
    }
    if (has_right) {
        count = kernel_left(nodes[2], nodes[1], cap, true);
        nodes[1] += count;
        nodes[2] -= count;
    }
    if (nodes[1] == 1 && has_left) {
        count = kernel_right(nodes[0], nodes[1], cap);
        nodes[0] -= count;
        nodes[1] += count;
    }
}

/* Three nodes of next to nothing: the middle one goes to the left, the right one's only pointer
 * comes, and the left one has too few to give one. Linux then pushes the middle one to the left
 * again; here it stays with one pointer. A search over all trees of up to four nodes of 8 to 12
 * pointers, from the first split on, found none that gets there: a node with one to its right is
 * never left with one itself. Only a tree that others made can be so. */
static bool is_beyond(uint32_t left, uint32_t middle, uint32_t right)
{
    return left > 0 && right == 1 && left + middle < 4;
}

static void check_balance(uint32_t left, uint32_t middle, uint32_t right, uint32_t cap)
{
    if (is_beyond(left, middle, right))
        return;
    struct balance_plan plan = balance_plan(left, middle, right, cap);
    int64_t nodes[3] = {left, middle, right};
    kernel_balance(nodes, cap);
    expect(left + plan.middle_to_left - plan.left_to_middle == nodes[0] &&
               right - plan.right_to_middle == nodes[2] &&
               middle + plan.right_to_middle + plan.left_to_middle - plan.middle_to_left ==
                   nodes[1],
           "%u %u %u of %u: -%u +%u +%u", left, middle, right, cap, plan.middle_to_left,
           plan.right_to_middle, plan.left_to_middle);
    for (unsigned i = 0; i < 3; i++)
        expect(nodes[i] >= 0 && nodes[i] <= cap, "too many");
    if (left + right > 0)
        expect(nodes[1] != 1, "%u %u %u of %u: one pointer stays", left, middle, right, cap);
    expect(left == 0 || nodes[0] > 0, "nothing left in the left one");
    expect(nodes[2] != 1 || right == 1, "the right one is left with one");
}

/* The middle one sparse by a quarter, or by a half. */
START_TEST(every_balance)
{
    for (uint32_t cap = 8; cap <= 24; cap++)
        for (uint32_t middle = 1; middle <= cap / 2; middle++)
            for (uint32_t left = 0; left <= cap; left++)
                for (uint32_t right = 0; right <= cap; right++)
                    check_balance(left, middle, right, cap);
    static const uint32_t caps[] = {30, 31, 32, 33, 40, 121, 493};
    struct dice dice = {5};
    for (size_t i = 0; i < LENGTH_OF(caps); i++)
        for (unsigned times = 0; times < ROUNDS_OF(100000); times++) {
            uint32_t cap = caps[i], middle = 1 + (uint32_t)dice_below(&dice, cap / 2);
            uint32_t left = (uint32_t)dice_below(&dice, cap + 1);
            uint32_t right = (uint32_t)dice_below(&dice, cap + 1);
            if (times % 3 == 0) /* almost full, where it is difficult */
                left = cap - left % 12;
            if (times % 5 == 0)
                right = cap - right % 12;
            if (times % 4 == 0)
                middle = 1 + middle % 3;
            check_balance(left, middle, right, cap);
        }
}
END_TEST

/* --- real nodes ---------------------------------------------------------------------- */

/* Nodes under one root, and where the path is. */
struct shelf {
    uint32_t nnodes, nptrs[4];
    uint32_t at, slot;
};

static struct push_policy rules;

static void plant(const struct shelf *shelf, uint32_t cap, unsigned number, bool shadow_first,
                  struct path *path)
{
    rules = rules_make(number);
    struct growth limits = {.shadow_first = shadow_first, .max_ptrs = cap};
    rules_open(&grove, &rules, 4096, &limits, 1);
    grove_plant_nodes(&grove, shelf->nptrs, shelf->nnodes);
    heap_commit(&grove.heap);
    uint32_t first = shelf->slot;
    for (uint32_t i = 0; i < shelf->at; i++)
        first += shelf->nptrs[i];
    grove_path(&grove, first, 0, path);
    if (shadow_first)
        expect_success(path_claim(&grove.tree, path, 0));
}

/* The nodes hold so many pointers; the path is where it should be, and at the same leaf. */
static void check_shelf(const struct shelf *shelf, struct path *path, const struct block *leaf)
{
    const struct block *root = path->nodes[2];
    expect(block_nritems(root) == shelf->nnodes, "%u nodes, not %u", block_nritems(root),
           shelf->nnodes);
    for (uint32_t i = 0; i < shelf->nnodes; i++) {
        const struct block *node = grove_block(&grove, from_le64(node_ptr(root, i)->blockptr));
        expect(block_nritems(node) == shelf->nptrs[i], "node %u: %u pointers, not %u", i,
               block_nritems(node), shelf->nptrs[i]);
    }
    expect(path->nodes[0] == leaf, "another leaf");
    expect(path->slots[2] == shelf->at && path->slots[1] == shelf->slot,
           "node %u slot %u, not %u %u", path->slots[2], path->slots[1], shelf->at, shelf->slot);
    grove_gap(&grove, path);
    expect(grove.heap.held == 3, "%ju blocks are held", (uintmax_t)grove.heap.held);
}

/* Where pointer `index`, counted through all nodes, is. */
static void find(struct shelf *shelf, uint32_t index)
{
    for (shelf->at = 0; index >= shelf->nptrs[shelf->at]; shelf->at++)
        index -= shelf->nptrs[shelf->at];
    shelf->slot = index;
}

static uint32_t index_of(const struct shelf *shelf)
{
    uint32_t index = shelf->slot;
    for (uint32_t i = 0; i < shelf->at; i++)
        index += shelf->nptrs[i];
    return index;
}

static void remove_node(struct shelf *shelf, uint32_t at)
{
    shelf->nnodes--;
    memmove(shelf->nptrs + at, shelf->nptrs + at + 1, (shelf->nnodes - at) * sizeof *shelf->nptrs);
}

/* The numbers that balance_level makes of a shelf; whether it does anything. */
static bool balance_shelf(struct shelf *shelf, uint32_t cap, uint32_t part)
{
    uint32_t at = shelf->at, index = index_of(shelf), *nptrs = shelf->nptrs;
    if (nptrs[at] > cap / part)
        return false;
    bool has_left = at > 0, has_right = at + 1 < shelf->nnodes;
    int64_t nodes[3] = {has_left ? nptrs[at - 1] : 0, nptrs[at], has_right ? nptrs[at + 1] : 0};
    kernel_balance(nodes, cap);
    bool acts = (has_left && nodes[0] != nptrs[at - 1]) || nodes[1] != nptrs[at] ||
                (has_right && nodes[2] != nptrs[at + 1]);
    if (has_left)
        nptrs[at - 1] = (uint32_t)nodes[0];
    nptrs[at] = (uint32_t)nodes[1];
    if (has_right)
        nptrs[at + 1] = (uint32_t)nodes[2];
    if (has_right && nodes[2] == 0)
        remove_node(shelf, at + 1);
    if (nodes[1] == 0)
        remove_node(shelf, at);
    find(shelf, index);
    return acts;
}

static void check_real_balance(const struct shelf *before, uint32_t cap, unsigned number,
                               bool shadow_first)
{
    struct shelf shelf = *before;
    struct path path;
    struct snapshot snapshot;
    if (shelf.at > 0 && shelf.at + 1 < shelf.nnodes &&
        is_beyond(shelf.nptrs[shelf.at - 1], shelf.nptrs[shelf.at], shelf.nptrs[shelf.at + 1]))
        return;
    plant(&shelf, cap, number, shadow_first, &path);
    const struct block *leaf = path.nodes[0];
    snapshot_take(&snapshot, &grove);
    uint64_t claims = grove.watch.claims;
    bool acts = balance_shelf(&shelf, cap, rules.balance);
    expect_success(push_balance(&grove.tree, &path, 1));
    check_shelf(&shelf, &path, leaf);
    ck_assert_uint_eq(rules.counters.balances, acts);
    if (!shadow_first) { /* what changes is claimed, and nothing else */
        ck_assert_uint_eq(snapshot_compare(&snapshot, &grove).wasted, 0);
        ck_assert_int_eq(grove.watch.claims > claims, acts);
    }
    path_release(&grove.tree, &path);
    grove_check(&grove);
    snapshot_free(&snapshot);
    grove_close(&grove);
}

/* Two or three nodes of few pointers, the path at each of the sparse one's; all of it in both
 * orders of shadowing. */
START_TEST(balanced)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 6, 7, 8};
    for (unsigned way = 0; way < 4; way++)
        for (uint32_t at = 0; at < 3; at++)
            for (uint32_t middle = 1; middle <= 5; middle++)
                for (size_t left = 0; left < LENGTH_OF(sizes); left++)
                    for (size_t right = 0; right < LENGTH_OF(sizes); right++)
                        for (uint32_t slot = 0; slot < middle; slot++) {
                            struct shelf shelf = {3, {sizes[left], sizes[right], 3}, at, slot};
                            if (at == 1) {
                                shelf.nptrs[2] = sizes[right];
                            } else if (at == 2) {
                                shelf.nptrs[1] = sizes[left];
                                shelf.nptrs[0] = sizes[right];
                            }
                            shelf.nptrs[at] = middle;
                            check_real_balance(&shelf, 8, way & 1 ? 128 : 0, way & 2);
                        }
}
END_TEST

/* The numbers that split_node's pushes make of a shelf: 1 pushed left, 2 right, 4 divided. */
static unsigned make_room(struct shelf *shelf, uint32_t cap)
{
    uint32_t at = shelf->at, index = index_of(shelf), *nptrs = shelf->nptrs;
    unsigned done = 0;
    int64_t count = 0;
    if (at > 0 && nptrs[at - 1] < cap - 1)
        count = kernel_left(nptrs[at], nptrs[at - 1], cap, false);
    if (count > 0) {
        nptrs[at] -= (uint32_t)count;
        nptrs[at - 1] += (uint32_t)count;
        done = 1;
    } else if (at + 1 < shelf->nnodes && nptrs[at + 1] < cap - 1) {
        count = kernel_right(nptrs[at], nptrs[at + 1], cap);
        nptrs[at] -= (uint32_t)count;
        nptrs[at + 1] += (uint32_t)count;
        done = 2 * (count > 0);
    }
    find(shelf, index);
    if (nptrs[shelf->at] < cap - 3)
        return done;
    memmove(nptrs + shelf->at + 1, nptrs + shelf->at, (shelf->nnodes - shelf->at) * sizeof *nptrs);
    shelf->nnodes++;
    uint32_t all = nptrs[shelf->at];
    nptrs[shelf->at] = (all + 1) / 2;
    nptrs[shelf->at + 1] = all / 2;
    find(shelf, index);
    return done | 4;
}

static unsigned check_real_room(const struct shelf *before, uint32_t cap, bool shadow_first)
{
    struct shelf shelf = *before;
    struct path path;
    struct snapshot snapshot;
    plant(&shelf, cap, RULES_KERNEL, shadow_first, &path);
    const struct block *leaf = path.nodes[0];
    snapshot_take(&snapshot, &grove);
    uint64_t splits = grove.growth.counters.node_splits;
    unsigned done = make_room(&shelf, cap);
    expect_success(push_make_node_room(&grove.tree, &path, 1));
    check_shelf(&shelf, &path, leaf);
    ck_assert_uint_le(block_nritems(path.nodes[1]) + 2, cap);
    ck_assert_uint_eq(rules.counters.node_pushes, done & 3 ? 1 : 0);
    ck_assert_uint_eq(grove.growth.counters.node_splits - splits, done & 4 ? 1 : 0);
    if (!shadow_first)
        ck_assert_uint_eq(snapshot_compare(&snapshot, &grove).wasted, 0);
    path_release(&grove.tree, &path);
    grove_check(&grove);
    snapshot_free(&snapshot);
    grove_close(&grove);
    return done;
}

/* A node that is almost full, or full, between others of every fill. */
START_TEST(room_in_nodes)
{
    uint64_t seen[8] = {0};
    for (unsigned shadow_first = 0; shadow_first < 2; shadow_first++)
        for (uint32_t cap = 8; cap <= 12; cap += 2)
            for (uint32_t at = 0; at < 3; at++)
                for (uint32_t full = cap - 3; full <= cap; full++)
                    for (uint32_t left = 1; left <= cap; left++)
                        for (uint32_t right = 1; right <= cap; right++)
                            for (uint32_t slot = 0; slot<full; slot += cap> 8 ? 2 : 1) {
                                struct shelf shelf = {3, {left, right, 2}, at, slot};
                                if (at == 1) {
                                    shelf.nptrs[2] = right;
                                } else if (at == 2) {
                                    shelf.nptrs[1] = left;
                                    shelf.nptrs[0] = right;
                                }
                                shelf.nptrs[at] = full;
                                seen[check_real_room(&shelf, cap, shadow_first)]++;
                            }
    for (unsigned done = 1; done < 8; done++)
        expect((seen[done] > 0) == ((done & 3) != 3), "way %u: %ju", done, (uintmax_t)seen[done]);
    ck_assert_uint_eq(seen[0], 0);
}
END_TEST

/* A root has no neighbours: it is divided, or balancing leaves it alone. */
START_TEST(roots)
{
    for (uint32_t nptrs = 2; nptrs <= 8; nptrs++)
        for (uint32_t slot = 0; slot < nptrs; slot++) {
            struct shelf shelf = {nptrs, {0}, slot, 0};
            static const uint32_t sizes[8], ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
            struct path path;
            rules = push_policy_kernel();
            struct growth limits = {.max_ptrs = 8};
            rules_open(&grove, &rules, 4096, &limits, 1);
            grove_plant(&grove, ones, shelf.nnodes, sizes, 8);
            heap_commit(&grove.heap);
            grove_path(&grove, slot, 0, &path);
            expect_success(push_balance(&grove.tree, &path, 1));
            ck_assert_uint_eq(grove.watch.claims, 0);
            if (nptrs >= 5) {
                expect_success(push_make_node_room(&grove.tree, &path, 1));
                ck_assert_uint_eq(grove.tree.level, 2);
                ck_assert_uint_eq(rules.counters.node_pushes, 0);
                grove_gap(&grove, &path);
            }
            path_release(&grove.tree, &path);
            grove_check(&grove);
            grove_close(&grove);
        }
}
END_TEST

SUITE(push_node, 60, every_move, every_balance, balanced, room_in_nodes, roots)
