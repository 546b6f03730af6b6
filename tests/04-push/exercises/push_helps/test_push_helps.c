#include "delete.h"
#include "heap.h"
#include "insert.h"
#include "lab_seeded.h"
#include "push.h"

#include <check.h>

Suite *suite_push_helps(void);
bool push_helps(const struct push_question *question, uint32_t cost);

enum { ROUNDS = 3000, NODE_SIZE = 4096, LEFT = 1000, RIGHT = 5000, STEP = 10, LEAF_ITEMS = 200 };

struct garden {
    struct heap heap;
    struct push_policy rules;
    struct growth growth;
    struct tree tree;
    struct seeded seeded;
};

static void insert(struct garden *garden, uint64_t number, uint32_t size)
{
    struct key key = {256, EXTENT_DATA_KEY, number};
    ck_assert_int_eq(tree_insert(&garden->tree, &key, NULL, size), 0);
}

/* Adds items of up to `most` bytes behind the one at `first`, until the leaf has less than `left`. */
static void fill(struct garden *garden, uint64_t first, uint32_t most, uint32_t left)
{
    for (uint64_t number = first + STEP;; number += STEP) {
        struct key key = {256, EXTENT_DATA_KEY, number};
        struct path path = {0};
        uint32_t size = (uint32_t)seeded_below(&garden->seeded, most);
        ck_assert_int_eq(tree_search(&garden->tree, &key, &path), 1);
        uint32_t has = leaf_left(&garden->tree, path.nodes[0]);
        path_release(&garden->tree, &path);
        if (has < left || has < size + sizeof(struct item_header))
            return;
        insert(garden, number, size);
    }
}

/* Two leaves under a root: each begins as one item of a whole leaf. */
static void plant(struct garden *garden)
{
    garden->rules = push_policy_kernel();
    garden->growth = (struct growth){.policy = &garden->rules.policy};
    heap_open(&garden->heap, NODE_SIZE);
    ck_assert_int_eq(heap_tree(&garden->heap, &garden->tree, 256, &garden->growth), 0);
    insert(garden, LEFT, 3900);
    insert(garden, RIGHT, 3900);
    for (uint64_t number = LEFT; number <= RIGHT; number += RIGHT - LEFT) {
        struct key key = {256, EXTENT_DATA_KEY, number};
        uint32_t size = (uint32_t)seeded_below(&garden->seeded, 600);
        ck_assert_int_eq(tree_truncate(&garden->tree, &key, size), 0);
    }
    uint32_t most = 50 + (uint32_t)seeded_below(&garden->seeded, 1200);
    fill(garden, LEFT, most, (uint32_t)seeded_below(&garden->seeded, 400));
    fill(garden, RIGHT, most, (uint32_t)seeded_below(&garden->seeded, 3000));
}

/* Pushes to the right as push_leaf_right does, and looks at the leaf of the path. */
static void push_once(struct garden *garden, unsigned *helped, unsigned *moved)
{
    struct tree *tree = &garden->tree;
    struct key last = {256, EXTENT_DATA_KEY, RIGHT - 1};
    struct path path = {0};
    struct block *right;
    uint32_t costs[LEAF_ITEMS];
    ck_assert_int_eq(tree_search(tree, &last, &path), 1);
    uint32_t nritems = block_nritems(path.nodes[0]);
    uint32_t own_left = leaf_left(tree, path.nodes[0]);
    uint32_t slot = (uint32_t)seeded_below(&garden->seeded, nritems + 1);
    uint32_t cost = own_left + 1 + (uint32_t)seeded_below(&garden->seeded, 900);
    bool discount = slot < nritems && seeded_below(&garden->seeded, 2) == 0;
    path.slots[0] = slot;
    for (uint32_t i = 0; i + 1 < nritems; i++)
        costs[i] = item_cost(tree, path.nodes[0], item_size(path.nodes[0], nritems - 1 - i));
    struct path beside = path; /* the right leaf, to look at it */
    beside.slots[1]++;
    ck_assert_int_eq(path_child(tree, &beside, 1, &right), 0);
    struct push_question question = {
        .costs = costs,
        .count = nritems - 1,
        .gap = (int32_t)nritems - 1 - (int32_t)slot,
        .need = discount ? cost - own_left : cost,
        .own_left = own_left,
        .other_left = leaf_left(tree, right),
    };
    tree->source->put(tree->source, right);

    bool expected = push_helps(&question, cost);
    struct push push = {.reason = PUSH_FOR_SPLIT, .need = question.need};
    garden->rules.shortcut = false;
    int outcome = push_leaf_right(&garden->rules, tree, &path, &push);
    ck_assert(outcome == PUSH_MOVED || outcome == PUSH_NOTHING_FITS);
    bool has_room = leaf_left(tree, path.nodes[0]) >= cost;
    ck_assert_msg(expected == has_room,
                  "slot %u of %u, need %u, cost %u, %u left here and %u there: it has %u", slot,
                  nritems, question.need, cost, own_left, question.other_left,
                  leaf_left(tree, path.nodes[0]));
    *moved += outcome == PUSH_MOVED;
    *helped += has_room;
    path_release(tree, &path);
}

START_TEST(test_as_pushed)
{
    struct garden garden = {.seeded = {1}};
    unsigned helped = 0, moved = 0;
    for (int round = 0; round < ROUNDS; round++) {
        plant(&garden);
        push_once(&garden, &helped, &moved);
        heap_close(&garden.heap);
    }
    /* There was something to tell apart. */
    ck_assert_uint_gt(helped, ROUNDS / 10);
    ck_assert_uint_gt(moved, helped + ROUNDS / 10);
}
END_TEST

Suite *suite_push_helps(void)
{
    Suite *suite = suite_create("push_helps");
    TCase *test = tcase_create("all");
    tcase_add_test(test, test_as_pushed);
    suite_add_tcase(suite, test);
    return suite;
}
