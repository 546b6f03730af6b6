#include "change.h"

#include "fail.h"
#include "support_grove.h"

#include <string.h>

static struct grove grove;

/* 27 leaves of one or two items, under nodes of three pointers: levels 0 to 3. */
enum { LEAVES = 27, FANOUT = 3 };

static uint32_t first_item[LEAVES + 1];

static void plant(bool is_new)
{
    static const uint32_t sizes[2 * LEAVES] = {1, 20, 3, 0, 500};
    uint32_t nitems[LEAVES];
    for (uint32_t i = 0; i < LEAVES; i++) {
        nitems[i] = 1 + i % 2;
        first_item[i + 1] = first_item[i] + nitems[i];
    }
    struct growth growth = {.policy = &split_policy, .max_ptrs = 8};
    grove_open(&grove, 4096, &growth, 1);
    grove_plant(&grove, nitems, LEAVES, sizes, FANOUT);
    ck_assert_uint_eq(grove.tree.level, 3);
    if (!is_new)
        heap_commit(&grove.heap);
}

/* --- claims ------------------------------------------------------------------------- */

/* A claim of a path shadows the blocks from the root to its level, once; all others stay. The
 * pointers lead to the shadows. */
START_TEST(claims_of_paths)
{
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
        for (unsigned level = 0; level <= 3; level++) {
            plant(false);
            struct path path;
            struct snapshot snapshot;
            grove_path(&grove, first_item[leaf], 0, &path);
            snapshot_take(&snapshot, &grove);
            for (unsigned times = 0; times < 2; times++) {
                expect_success(path_claim(&grove.tree, &path, level));
                ck_assert_uint_eq(grove.heap.counters.shadowed, 4 - level);
                for (unsigned at = 0; at <= 3; at++)
                    ck_assert_uint_eq(block_generation(path.nodes[at]), at >= level ? 2 : 1);
                ck_assert_uint_eq(grove.tree.generation, 2);
            }
            struct changes changes = snapshot_compare(&snapshot, &grove);
            ck_assert_uint_eq(changes.shadowed, 4 - level);
            ck_assert_uint_eq(changes.wasted, 1); /* the lowest: no pointer in it is another */
            grove_gap(&grove, &path);
            path_release(&grove.tree, &path);
            grove_check(&grove);
            snapshot_free(&snapshot);
            grove_close(&grove);
        }
}
END_TEST

/* Where the n-th claim fails, those above are done; the path and the tree are sound. */
START_TEST(claims_that_fail)
{
    for (uint64_t first = 0; first < 4; first++) {
        plant(false);
        struct path path;
        grove_path(&grove, first_item[13], 1, &path);
        grove.watch.owns = (struct watch_calls){0, first, 1};
        expect_failure(ENOSPC, "the watch", path_claim(&grove.tree, &path, 0));
        ck_assert_uint_eq(grove.heap.counters.shadowed, first);
        grove_gap(&grove, &path);
        expect_success(path_claim(&grove.tree, &path, 0));
        path_release(&grove.tree, &path);
        grove_check(&grove);
        grove_close(&grove);
    }
}
END_TEST

/* One block under a claimed parent: its pointer follows, and those beside it do not. */
START_TEST(claim_of_a_child)
{
    plant(false);
    struct path path;
    grove_path(&grove, first_item[13], 0, &path);
    expect_success(path_claim(&grove.tree, &path, 1));
    struct block *beside;
    ck_assert_int_eq(path_neighbour(&grove.tree, &path, 0, 1, &beside), 0);
    struct key_ptr before[FANOUT], *ptrs = node_ptr(path.nodes[1], 0);
    memcpy(before, ptrs, sizeof before);
    watch_forget(&grove.watch);
    expect_success(tree_claim(&grove.tree, path.nodes[1], path.slots[1] + 1, &beside));
    ck_assert_uint_eq(grove.watch.ndirtied, 1);
    ck_assert_ptr_eq(grove.watch.dirtied[0], path.nodes[1]);
    ck_assert_uint_eq(from_le64(ptrs[2].blockptr), beside->bytenr);
    ck_assert_uint_eq(from_le64(ptrs[2].generation), 2);
    ck_assert_mem_eq(ptrs, before, 2 * sizeof *before);
    ck_assert_mem_eq(&ptrs[2].key, &before[2].key, sizeof before[2].key);
    tree_put(&grove.tree, beside);
    tree_put(&grove.tree, NULL);
    path_release(&grove.tree, &path);
    grove_check(&grove);
    grove_close(&grove);
}
END_TEST

/* --- neighbours --------------------------------------------------------------------- */

START_TEST(neighbours)
{
    plant(true);
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++) {
        struct path path;
        grove_path(&grove, first_item[leaf], 0, &path);
        uint32_t number = leaf; /* of the block at the level */
        for (unsigned level = 0; level <= 3; level++, number /= FANOUT)
            for (int side = -1; side <= 1; side += 2) {
                bool there = level < 3 && number % FANOUT != (side < 0 ? 0 : FANOUT - 1);
                struct block *block = (struct block *)&path;
                int none = path_neighbour(&grove.tree, &path, level, side, &block);
                expect(none == !there, "leaf %u level %u side %d: %d", leaf, level, side, none);
                if (none) {
                    ck_assert_ptr_null(block);
                    continue;
                }
                ck_assert_uint_eq(
                    block->bytenr,
                    from_le64(node_ptr(path.nodes[level + 1], number % FANOUT + (uint32_t)side)
                                  ->blockptr));
                ck_assert_uint_eq(grove.heap.held, 5);
                tree_put(&grove.tree, block);
            }
        struct block *block;
        if (leaf % FANOUT == 0) {
            grove.watch.gets = (struct watch_calls){0, 0, 1};
            expect_failure(EIO, "the watch", path_neighbour(&grove.tree, &path, 0, 1, &block));
        }
        path_release(&grove.tree, &path);
    }
    grove_check(&grove);
    grove_close(&grove);
}
END_TEST

/* The block that a path held is put, and the new one is the path's. */
START_TEST(replacing)
{
    plant(true);
    struct path path;
    grove_path(&grove, first_item[1], 0, &path);
    struct block *beside, *old = path.nodes[0];
    ck_assert_int_eq(path_neighbour(&grove.tree, &path, 0, 1, &beside), 0);
    path_replace(&grove.tree, &path, 0, beside);
    ck_assert_ptr_eq(path.nodes[0], beside);
    ck_assert_ptr_ne(path.nodes[0], old);
    ck_assert_uint_eq(grove.heap.held, 4);
    path_replace(&grove.tree, &path, 0, NULL);
    ck_assert_uint_eq(grove.heap.held, 3);
    path_release(&grove.tree, &path);
    grove_close(&grove);
}
END_TEST

/* --- keys --------------------------------------------------------------------------- */

/* The first key of each leaf changes: in its pointer, and as far up as that is the first; no byte
 * of any other block, and nothing but the key. */
START_TEST(low_keys)
{
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++) {
        plant(false);
        struct path path;
        struct snapshot snapshot;
        uint32_t number = 4 * first_item[leaf] + 4;
        struct key key = grove_key(number - 1);
        grove_path(&grove, first_item[leaf], 0, &path);
        expect_success(path_claim(&grove.tree, &path, 0));
        grove.items[number - 1] = grove.items[number];
        grove.items[number].is_there = false;
        leaf_item(path.nodes[0], 0)->key = key_to_disk(&key);
        tree_dirty(&grove.tree, path.nodes[0]);
        snapshot_take(&snapshot, &grove);
        path_set_low_key(&grove.tree, &path, 1, &key);
        unsigned top = leaf % 3 ? 1 : leaf % 9 ? 2 : 3;
        ck_assert_uint_eq(grove.watch.ndirtied, top);
        for (size_t i = 0; i < snapshot.count; i++) {
            const struct shot *shot = &snapshot.shots[i];
            unsigned level = block_level(shot->block);
            bool is_set = level > 0 && level <= top && shot->block == path.nodes[level];
            unsigned char bytes[4096];
            memcpy(bytes, shot->bytes, sizeof bytes);
            if (is_set) {
                struct disk_key disk = key_to_disk(&key);
                memcpy(bytes + sizeof(struct block_header) +
                           path.slots[level] * sizeof(struct key_ptr),
                       &disk, sizeof disk);
            }
            ck_assert_mem_eq(shot->block->data, bytes, sizeof bytes);
        }
        path_release(&grove.tree, &path);
        grove_check(&grove);
        snapshot_free(&snapshot);
        grove_close(&grove);
    }
}
END_TEST

/* --- pointers ----------------------------------------------------------------------- */

/* A new leaf goes in at each place of each node. */
START_TEST(pointers_put_in)
{
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
        for (uint32_t behind = 0; behind < 2; behind++) {
            plant(false);
            struct path path;
            struct block *fresh;
            uint32_t number = behind ? 4 * first_item[leaf + 1] + 3 : 4 * first_item[leaf] + 1;
            struct key key = grove_key(number);
            grove_path(&grove, first_item[leaf], 0, &path);
            expect_success(path_claim(&grove.tree, &path, 1));
            expect_success(
                grove.growth.owner->allocate(grove.growth.owner, &grove.tree, 0, &fresh));
            path.slots[1] += behind;
            path_insert_ptr(&grove.tree, &path, 1, path.slots[1], &key, fresh);
            bool is_first = path.slots[1] == 0; /* of its node, and so on up */
            for (unsigned level = 2; level <= 3; level++) {
                struct key above = node_key(path.nodes[level], path.slots[level]);
                expect((key_compare(&above, &key) == 0) == is_first, "leaf %u: level %u", leaf,
                       level);
                is_first = is_first && path.slots[level] == 0;
            }
            path_replace(&grove.tree, &path, 0, fresh);
            path.slots[0] = 0;
            grove.keys = GROVE_KEYS;
            grove.growth.counters.splits++;
            grove_fill(&grove, &path, number, 9);
            grove_check(&grove);
            grove_close(&grove);
        }
}
END_TEST

static uint32_t next_leaf(uint32_t way, uint32_t i, struct dice *dice, const bool *gone)
{
    uint32_t leaf = way == 0 ? i : way == 1 ? LEAVES - 1 - i : (uint32_t)dice_below(dice, LEAVES);
    while (gone[leaf])
        leaf = (leaf + 1) % LEAVES;
    return leaf;
}

/* All leaves go, in many orders: a node without pointers goes too, and the last root is an empty
 * leaf. */
START_TEST(pointers_taken_out)
{
    for (uint32_t way = 0; way < 40; way++) {
        struct dice dice = {way};
        bool gone[LEAVES] = {false};
        plant(true);
        for (uint32_t i = 0; i < LEAVES; i++) {
            uint32_t leaf = next_leaf(way, i, &dice, gone);
            struct path path;
            if (dice_below(&dice, 2))
                heap_commit(&grove.heap);
            grove_path(&grove, first_item[leaf], 0, &path);
            expect_success(path_claim(&grove.tree, &path, 1));
            struct block *block = path.nodes[0];
            uint32_t nitems = block_nritems(block);
            path.nodes[0] = NULL;
            path_remove_ptr(&grove.tree, &path, 1);
            grove.growth.owner->free(grove.growth.owner, &grove.tree, block);
            path_release(&grove.tree, &path);
            for (uint32_t item = 0; item < nitems; item++)
                grove.items[4 * (first_item[leaf] + item) + 4].is_there = false;
            grove.count -= nitems;
            grove.growth.counters.items_deleted += nitems;
            gone[leaf] = true;
            grove_check(&grove);
        }
        ck_assert_uint_eq(grove.tree.level, 0);
        ck_assert_uint_eq(grove.count, 0);
        ck_assert_uint_eq(grove.heap.counters.allocated - grove.heap.counters.freed, 1);
        grove_close(&grove);
    }
}
END_TEST

/* --- roots -------------------------------------------------------------------------- */

/* One root on another, up to eight levels; each has one pointer, and the old one is as it was. */
START_TEST(new_roots)
{
    static const uint32_t sizes[2], nitems[] = {2};
    struct growth growth = {.policy = &split_policy};
    grove_open(&grove, 4096, &growth, 1);
    grove_plant(&grove, nitems, 1, sizes, 8);
    struct path path;
    for (unsigned level = 1; level < MAX_LEVEL; level++) {
        heap_commit(&grove.heap);
        grove_path(&grove, 0, 1, &path);
        expect_success(tree_new_root(&grove.tree, &path));
        ck_assert_uint_eq(grove.tree.level, level);
        ck_assert_uint_eq(block_nritems(path.nodes[level]), 1);
        ck_assert_uint_eq(path.slots[level], 0);
        ck_assert_uint_eq(grove.growth.counters.new_roots, level);
        grove_gap(&grove, &path);
        path_release(&grove.tree, &path);
        grove_check(&grove);
    }
    struct snapshot snapshot;
    heap_commit(&grove.heap);
    grove_path(&grove, 0, 1, &path);
    snapshot_take(&snapshot, &grove);
    expect_failure(EOVERFLOW, "eight levels", tree_new_root(&grove.tree, &path));
    ck_assert_uint_eq(snapshot_compare(&snapshot, &grove).untouched, MAX_LEVEL);
    path_release(&grove.tree, &path);
    snapshot_free(&snapshot);
    grove_close(&grove);
}
END_TEST

SUITE(change, 60, claims_of_paths, claims_that_fail, claim_of_a_child, neighbours, replacing,
      low_keys, pointers_put_in, pointers_taken_out, new_roots)
