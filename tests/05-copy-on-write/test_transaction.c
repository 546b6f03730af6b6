#include "transaction.h"

#include "blank.h"
#include "change.h"
#include "delete.h"
#include "fail.h"
#include "insert.h"
#include "support_crash.h"
#include "support_device.h"
#include "support_faults.h"
#include "support_forest.h"
#include "support_grove.h"

#include <stdlib.h>
#include <string.h>

static struct forest forest;
static struct overlay overlay;

enum { DEVICE_SIZE = 24 << 20, SMALL_SIZE = 4 << 20, LEDGER = 600 };

/* --- against the model -------------------------------------------------------------- */

/* Blocks of all trees; and what the counters of a transaction say of them. */
static void check_counters(uint64_t blocks_before)
{
    const struct transaction_counters *counters = &forest.transaction.counters;
    uint64_t blocks = state_of(forest.device).blocks;
    expect(blocks == blocks_before + counters->allocated - counters->freed,
           "%ju blocks, not %ju + %ju - %ju", (uintmax_t)blocks, (uintmax_t)blocks_before,
           (uintmax_t)counters->allocated, (uintmax_t)counters->freed);
    expect(counters->written <= counters->shadowed + counters->allocated, "written");
    expect(counters->rounds >= 1, "rounds");
}

/* A tree that the space writes into while the transaction settles. */
static void plant_ledger(void)
{
    struct root_item item = {.refs = to_le32(1)};
    struct key key = {1, 210, 0};
    struct tree *tree;
    forest_begin(&forest);
    expect_success(transaction_new_tree(&forest.transaction, LEDGER, &item, &tree));
    expect_success(tree_insert(tree, &key, NULL, 8));
    expect_success(forest_commit(&forest));
    forest.recycler.ledger = LEDGER;
}

static void expect_ledger(void)
{
    struct tree tree;
    struct path path = {0};
    struct key key = {1, 210, 0};
    le64 value;
    expect_success(volume_tree(&forest.volume, LEDGER, &tree));
    ck_assert_int_eq(tree_search(&tree, &key, &path), 0);
    memcpy(&value, item_data(path.nodes[0], path.slots[0]), sizeof value);
    path_release(&tree, &path);
    ck_assert_uint_eq(from_le64(value), forest.recycler.free.bytes);
}

struct life {
    uint32_t node_size, max_items, max_ptrs;
    bool shadow_first, recycles;
    unsigned transactions, steps;
};

/* Many transactions; some are aborted; the image is compared and opened anew after each. */
static void live(const struct life *life, uint64_t seed)
{
    struct device *device = make_memory(DEVICE_SIZE);
    forest_open(&forest, device, life->node_size, seed);
    forest.max_items = life->max_items;
    forest.max_ptrs = life->max_ptrs;
    forest.shadow_first = life->shadow_first;
    if (life->recycles) {
        forest_recycle(&forest);
        plant_ledger();
    }
    for (unsigned i = 0; i < life->transactions; i++) {
        struct state before = state_of(device);
        forest_begin(&forest);
        expect_success(forest_steps(&forest, (unsigned)dice_below(&forest.dice, life->steps)));
        if (dice_below(&forest.dice, 3) == 0) { /* it may be settled before, and changed again */
            expect_success(transaction_settle(&forest.transaction));
            expect_success(forest_steps(&forest, (unsigned)dice_below(&forest.dice, life->steps)));
        }
        bool commits = dice_below(&forest.dice, 5) > 0;
        if (commits) {
            expect_success(forest_commit(&forest));
            check_counters(before.blocks);
            if (life->recycles)
                expect_ledger();
        } else {
            forest_abort(&forest);
            ck_assert_uint_eq(state_of(device).digest, before.digest);
        }
        forest_check(&forest, device);
        if (dice_below(&forest.dice, 3) == 0)
            forest_reopen(&forest, device);
    }
    forest_close(&forest);
    device_close(device);
}

START_TEST(against_the_model)
{
    static const struct life lives[] = {
        {4096, 0, 0, false, true, 60, 120}, {4096, 3, 8, false, true, 60, 100},
        {4096, 3, 8, true, true, 40, 100},  {4096, 0, 0, false, false, 30, 60},
        {8192, 0, 0, false, true, 30, 150}, {16384, 4, 9, false, true, 30, 150},
        {32768, 0, 0, true, true, 15, 200}, {65536, 0, 0, false, true, 15, 200},
        {65536, 3, 8, false, false, 8, 30},
    };
    for (size_t i = 0; i < LENGTH_OF(lives); i++)
        for (uint64_t seed = 1; seed <= (SANITIZED ? 1 : 4); seed++)
            live(&lives[i], seed);
}
END_TEST

/* --- begin -------------------------------------------------------------------------- */

static struct device *begin(uint32_t node_size)
{
    struct device *device = make_memory(DEVICE_SIZE);
    forest_open(&forest, device, node_size, 11);
    forest.max_items = 3;
    forest.max_ptrs = 8;
    return device;
}

static void end(struct device *device)
{
    forest_close(&forest);
    device_close(device);
}

/* A forest with three trees of several levels. */
static struct device *begin_tall(uint32_t node_size)
{
    struct device *device = begin(node_size);
    forest_begin(&forest);
    expect_success(forest_new_tree(&forest, 1, 300));
    expect_success(forest_new_tree(&forest, 2, CSUM_TREE_OBJECTID));
    for (unsigned tree = 0; tree < 3; tree++)
        for (uint32_t i = 0; i < 120; i++)
            expect_success(forest_insert(&forest, tree, 2 * i, 60));
    expect_success(forest_commit(&forest));
    forest_check(&forest, device);
    return device;
}

/* Nothing is done, nothing is written, and the generation stays. */
START_TEST(nothing)
{
    struct device *memory = begin_tall(4096);
    uint64_t digest = state_of(memory).digest, generation = state_of(memory).generation;
    struct tree *tree;
    overlay_open(&overlay, memory);
    forest_reopen(&forest, &overlay.device);
    for (unsigned round = 0; round < 3; round++) {
        forest_begin(&forest);
        ck_assert_uint_eq(forest.transaction.generation, generation + 1);
        if (round > 0)
            expect_success(transaction_tree(&forest.transaction, 300, &tree));
        if (round == 2) /* what is not there is not deleted, and nothing is touched */
            ck_assert_int_eq(forest_delete(&forest, 1, 1), -ENOENT);
        expect_success(forest_commit(&forest));
        ck_assert_uint_eq(forest.transaction.counters.written, 0);
    }
    ck_assert_uint_eq(overlay.calls[DEVICE_WRITE] + overlay.calls[DEVICE_FLUSH], 0);
    ck_assert_uint_eq(state_of(&overlay.device).digest, digest);
    overlay_close(&overlay);
    end(memory);
}
END_TEST

/* Nothing is written before the commit; an abort leaves what was. */
START_TEST(aborted)
{
    struct device *memory = begin_tall(4096);
    uint64_t digest = state_of(memory).digest;
    overlay_open(&overlay, memory);
    forest_reopen(&forest, &overlay.device);
    for (unsigned round = 0; round < 5; round++) {
        int64_t pieces = memory_pieces();
        forest_begin(&forest);
        expect_success(forest_steps(&forest, 50 * round));
        if (round % 2)
            expect_success(transaction_settle(&forest.transaction));
        forest_abort(&forest);
        ck_assert_int_eq(memory_pieces(), pieces);
        ck_assert_uint_eq(overlay.calls[DEVICE_WRITE] + overlay.calls[DEVICE_FLUSH], 0);
        ck_assert_uint_eq(state_of(&overlay.device).digest, digest);
    }
    forest_check(&forest, &overlay.device);
    forest_begin(&forest); /* and the next one does as ever */
    expect_success(forest_steps(&forest, 50));
    expect_success(forest_commit(&forest));
    forest_check(&forest, &overlay.device);
    overlay_close(&overlay);
    end(memory);
}
END_TEST

/* --- W3, W4, W5 --------------------------------------------------------------------- */

static struct path path_to(struct tree *tree, uint32_t number)
{
    struct path path = {0};
    struct key key = forest_key(number);
    ck_assert_int_ge(tree_search(tree, &key, &path), 0);
    return path;
}

/* W3: what the running transaction made may be changed, what an older one made may not, and what
 * was written may not, whoever made it. */
START_TEST(w3_owns)
{
    struct device *device = begin_tall(4096);
    struct tree *tree;
    forest_begin(&forest);
    expect_success(transaction_tree(&forest.transaction, 300, &tree));
    struct path path = path_to(tree, 8);
    for (unsigned level = 0; level <= tree->level; level++)
        ck_assert(!transaction_owns(&forest.transaction, path.nodes[level]));
    expect_success(path_claim(tree, &path, 0));
    for (unsigned level = 0; level <= tree->level; level++) {
        struct block_header *header = block_header(path.nodes[level]);
        ck_assert(transaction_owns(&forest.transaction, path.nodes[level]));
        header->flags = to_le64(from_le64(header->flags) | HEADER_FLAG_WRITTEN);
        ck_assert(!transaction_owns(&forest.transaction, path.nodes[level]));
        header->flags = to_le64(from_le64(header->flags) & ~HEADER_FLAG_WRITTEN);
    }
    path_release(tree, &path);
    forest_abort(&forest);
    end(device);
}
END_TEST

/* W3: as long as a transaction runs the blocks that are on the device stay as they are, and are
 * read so from there. */
START_TEST(w3_old_blocks)
{
    struct device *device = begin_tall(4096);
    struct tree old, *tree;
    struct path path, same;
    expect_success(volume_tree(&forest.volume, 300, &old));
    forest_begin(&forest);
    expect_success(transaction_tree(&forest.transaction, 300, &tree));
    for (uint32_t i = 0; i < 120; i++) {
        path = path_to(&old, 2 * i);
        struct key key = path_key(&path);
        unsigned char *before = malloc(4096);
        memcpy(before, path.nodes[0]->data, 4096);
        expect_success(tree_delete(tree, &key));
        same = path_to(&old, 2 * i);
        ck_assert_mem_eq(before, same.nodes[0]->data, 4096);
        free(before);
        path_release(&old, &path);
        path_release(&old, &same);
    }
    ck_assert_uint_eq(tree->level, 0);
    forest_abort(&forest);
    forest_check(&forest, device);
    end(device);
}
END_TEST

struct generations {
    uint64_t generation, made, others;
};

static int count_generation(const struct block *block, void *context)
{
    struct generations *counts = context;
    uint64_t generation = block_generation(block);
    expect(generation <= counts->generation, "a block of generation %ju", (uintmax_t)generation);
    counts->made += generation == counts->generation;
    counts->others += generation != counts->generation;
    return 0;
}

static int count_generations(struct tree *tree, void *context)
{
    return tree_walk(tree, count_generation, context);
}

/* W4: the blocks of the new generation are those that were written, and the superblock's is theirs;
 * so is the root of the root tree's, whatever else was changed. */
START_TEST(w4_generation)
{
    struct device *device = begin_tall(4096);
    for (unsigned round = 0; round < 40; round++) {
        uint64_t before = from_le64(forest.volume.super.generation);
        struct tree roots;
        forest_begin(&forest);
        ck_assert_uint_eq(forest.transaction.generation, before + 1);
        expect_success(forest_insert(&forest, round % 3, 2 * round + 1, round));
        expect_success(forest_commit(&forest));
        struct generations counts = {.generation = from_le64(forest.volume.super.generation)};
        ck_assert_uint_eq(counts.generation, before + 1);
        expect_success(volume_each_tree(&forest.volume, count_generations, &counts));
        ck_assert_uint_eq(counts.made, forest.transaction.counters.written);
        ck_assert_uint_gt(counts.others, 0);
        expect_success(volume_tree(&forest.volume, ROOT_TREE_OBJECTID, &roots));
        ck_assert_uint_eq(roots.generation, before + 1);
    }
    end(device);
}
END_TEST

/* W4: a change in the chunk tree alone, which has no root item: the root tree is written too. */
START_TEST(w4_chunk_tree_alone)
{
    struct device *device = begin_tall(4096);
    struct key key = {1000, 40, 0};
    struct tree *chunks;
    uint64_t before = from_le64(forest.volume.super.generation);
    forest_begin(&forest);
    expect_success(transaction_tree(&forest.transaction, CHUNK_TREE_OBJECTID, &chunks));
    expect_success(tree_insert(chunks, &key, "x", 1));
    expect_success(forest_commit(&forest));
    ck_assert_uint_eq(from_le64(forest.volume.super.generation), before + 1);
    ck_assert_uint_eq(from_le64(forest.volume.super.chunk_root_generation), before + 1);
    forest_check(&forest, device);
    forest_reopen(&forest, device);
    struct tree tree;
    struct path path = {0};
    expect_success(volume_tree(&forest.volume, CHUNK_TREE_OBJECTID, &tree));
    ck_assert_int_eq(tree_search(&tree, &key, &path), 0);
    path_release(&tree, &path);
    /* And a change elsewhere leaves the chunk tree as it is. */
    forest_begin(&forest);
    expect_success(forest_insert(&forest, 1, 1, 9));
    expect_success(forest_commit(&forest));
    ck_assert_uint_eq(from_le64(forest.volume.super.chunk_root_generation), before + 1);
    ck_assert_uint_eq(from_le64(forest.volume.super.chunk_root), tree.bytenr);
    forest_check(&forest, device);
    end(device);
}
END_TEST

/* W5: a block is shadowed once; a second change on the same way finds the shadow. */
START_TEST(w5_once)
{
    struct device *device = begin_tall(4096);
    const struct transaction_counters *counters = &forest.transaction.counters;
    struct tree *tree;
    forest_begin(&forest);
    expect_success(transaction_tree(&forest.transaction, 300, &tree));
    uint64_t root = tree->bytenr;
    struct key key = forest_key(8);
    expect_success(tree_truncate(tree, &key, 50));
    ck_assert_uint_eq(counters->shadowed, tree->level + 1U);
    ck_assert_uint_eq(counters->allocated + counters->freed, 0);
    ck_assert_uint_ne(tree->bytenr, root);
    root = tree->bytenr;
    for (uint32_t size = 50; size-- > 0;) {
        expect_success(tree_truncate(tree, &key, size));
        ck_assert_uint_eq(counters->shadowed, tree->level + 1U);
        ck_assert_uint_eq(tree->bytenr, root);
    }
    forest_abort(&forest);
    end(device);
}
END_TEST

/* W5: however much is done, no block of the old state is given up twice, and each shadow has one
 * old block: the recycler refuses to pin an address twice. */
START_TEST(w5_pinned_once)
{
    struct device *device = begin_tall(4096);
    forest_recycle(&forest);
    forest_begin(&forest);
    expect_success(forest_steps(&forest, 400));
    expect_success(transaction_settle(&forest.transaction));
    const struct transaction_counters *counters = &forest.transaction.counters;
    uint64_t pinned = forest.recycler.pinned.bytes / 4096;
    ck_assert_uint_ge(pinned, counters->shadowed);
    ck_assert_uint_le(pinned, counters->shadowed + counters->freed);
    ck_assert_uint_eq(pinned, forest.recycler.shared);
    ck_assert_uint_eq(forest.recycler.taken.bytes / 4096, forest.transaction.source.count);
    ck_assert_uint_gt(counters->freed, 0);
    expect_success(forest_commit(&forest));
    ck_assert_uint_eq(forest.recycler.pinned.bytes + forest.recycler.taken.bytes, 0);
    forest_check(&forest, device);
    end(device);
}
END_TEST

/* --- trees -------------------------------------------------------------------------- */

START_TEST(trees)
{
    struct device *device = begin_tall(4096);
    struct tree *one, *same, *none;
    forest_begin(&forest);
    expect_success(transaction_tree(&forest.transaction, 300, &one));
    expect_success(transaction_tree(&forest.transaction, 300, &same));
    ck_assert_ptr_eq(one, same);
    expect_failure(ENOENT, "there is no tree 299",
                   transaction_tree(&forest.transaction, 299, &none));
    expect_failure(ENOENT, "there is no tree -9",
                   transaction_tree(&forest.transaction, DATA_RELOC_TREE_OBJECTID, &none));
    forest_abort(&forest);
    end(device);
}
END_TEST

/* A new tree is in the root tree at once, with what its item says of other things; it may be empty,
 * and found again. */
START_TEST(new_tree)
{
    struct device *device = begin(16384);
    struct root_item item = {.refs = to_le32(1),
                             .flags = to_le64(ROOT_SUBVOL_RDONLY),
                             .bytenr = to_le64(1234),
                             .generation = to_le64(99),
                             .level = 5,
                             .root_dirid = to_le64(256)};
    struct key key = {777, ROOT_ITEM_KEY, 0};
    struct tree *tree, *same;
    struct path path = {0};
    forest_begin(&forest);
    expect_success(transaction_new_tree(&forest.transaction, 777, &item, &tree));
    ck_assert_uint_eq(tree->id, 777);
    ck_assert_uint_eq(tree->level, 0);
    ck_assert_uint_eq(tree->generation, forest.transaction.generation);
    expect_success(transaction_tree(&forest.transaction, 777, &same));
    ck_assert_ptr_eq(tree, same);
    expect_success(forest_commit(&forest));
    struct tree roots, found;
    expect_success(volume_tree(&forest.volume, 777, &found));
    ck_assert_uint_eq(found.generation, 2);
    expect_success(volume_tree(&forest.volume, ROOT_TREE_OBJECTID, &roots));
    ck_assert_int_eq(tree_search(&roots, &key, &path), 0);
    struct root_item *there = item_data(path.nodes[0], path.slots[0]);
    ck_assert_uint_eq(from_le64(there->bytenr), found.bytenr);
    ck_assert_uint_eq(from_le64(there->bytes_used), 16384);
    ck_assert_uint_eq(from_le64(there->generation), 2);
    ck_assert_uint_eq(from_le64(there->generation_v2), 2);
    ck_assert_uint_eq(there->level, 0);
    ck_assert_uint_eq(from_le64(there->flags), ROOT_SUBVOL_RDONLY);
    ck_assert_uint_eq(from_le64(there->root_dirid), 256);
    path_release(&roots, &path);
    forest_check(&forest, device);
    end(device);
}
END_TEST

/* A tree that is there already: refused, and an abort leaves it as it was. */
START_TEST(tree_exists)
{
    struct device *device = begin_tall(4096);
    uint64_t digest = state_of(device).digest;
    struct root_item item = {.refs = to_le32(1)};
    struct tree *tree;
    int64_t pieces = memory_pieces();
    forest_begin(&forest);
    expect_failure(EEXIST, "already", transaction_new_tree(&forest.transaction, 300, &item, &tree));
    forest_abort(&forest);
    ck_assert_int_eq(memory_pieces(), pieces);
    ck_assert_uint_eq(state_of(device).digest, digest);
    end(device);
}
END_TEST

/* And if the transaction goes on all the same, the tree that was there is found and changed, or
 * nothing is. */
START_TEST(tree_exists_and_on)
{
    struct device *device = begin_tall(4096);
    struct root_item item = {.refs = to_le32(1)};
    struct tree *tree;
    forest_begin(&forest);
    expect_failure(EEXIST, "already", transaction_new_tree(&forest.transaction, 300, &item, &tree));
    int result = forest_insert(&forest, 1, 1, 9);
    if (result == 0)
        result = forest_commit(&forest);
    else
        forest_abort(&forest);
    ck_assert(result == 0 || result == -EEXIST);
    forest_check(&forest, device);
    end(device);
}
END_TEST

/* Root items of before Linux 3.6 are shorter: they are kept so, and what is beside them too. */
START_TEST(old_root_item)
{
    struct device *device = begin_tall(4096);
    struct key key = {300, ROOT_ITEM_KEY, 0};
    struct tree *roots, tree;
    struct path path = {0};
    forest_begin(&forest);
    expect_success(transaction_tree(&forest.transaction, ROOT_TREE_OBJECTID, &roots));
    expect_success(tree_truncate(roots, &key, ROOT_ITEM_OLD_SIZE));
    expect_success(forest_commit(&forest));
    for (uint32_t round = 0; round < 4; round++) {
        forest_begin(&forest);
        for (uint32_t i = 0; i < 20; i++)
            expect_success(forest_insert(&forest, 1, 40 * round + 2 * i + 1, 30));
        expect_success(forest_commit(&forest));
        forest_check(&forest, device);
        expect_success(volume_tree(&forest.volume, ROOT_TREE_OBJECTID, &tree));
        ck_assert_int_eq(tree_search(&tree, &key, &path), 0);
        ck_assert_uint_eq(item_size(path.nodes[0], path.slots[0]), ROOT_ITEM_OLD_SIZE);
        /* Right behind its data lies that of the item before it. */
        static const struct inode_item zeros;
        ck_assert_uint_gt(path.slots[0], 0);
        ck_assert_mem_eq(item_data(path.nodes[0], path.slots[0] - 1), &zeros, sizeof zeros);
        path_release(&tree, &path);
    }
    end(device);
}
END_TEST

/* The counters of others may be wrong: that of a tree's bytes does not pass below 0. */
START_TEST(wrong_bytes_used)
{
    struct device *device = begin_tall(4096);
    struct key key = {300, ROOT_ITEM_KEY, 0};
    struct path path = {0};
    struct tree *roots, tree;
    forest_begin(&forest);
    expect_success(transaction_tree(&forest.transaction, ROOT_TREE_OBJECTID, &roots));
    expect_success(tree_change(roots, &key, &path));
    ((struct root_item *)item_data(path.nodes[0], path.slots[0]))->bytes_used = to_le64(10000);
    tree_dirty(roots, path.nodes[0]);
    path_release(roots, &path);
    expect_success(forest_commit(&forest));
    forest_begin(&forest);
    for (uint32_t i = 0; i < 120; i++)
        expect_success(forest_delete(&forest, 1, 2 * i));
    expect_success(forest_commit(&forest));
    expect_success(volume_tree(&forest.volume, ROOT_TREE_OBJECTID, &tree));
    ck_assert_int_eq(tree_search(&tree, &key, &path), 0);
    const struct root_item *item = item_data(path.nodes[0], path.slots[0]);
    ck_assert_uint_le(from_le64(item->bytes_used), 10000);
    path_release(&tree, &path);
    end(device);
}
END_TEST

/* On a blank volume there is no tree but those that the transaction makes. */
START_TEST(blank_volume)
{
    struct device *device = make_memory(SMALL_SIZE);
    static struct volume volume;
    static struct transaction transaction;
    struct blank_options options = {
        .fsid = "x", .node_size = 4096, .sector_size = 4096, .total_bytes = SMALL_SIZE};
    struct chunk chunk = {1 << 20, 1 << 20, BLOCK_GROUP_SYSTEM, 1, {1 << 20}};
    struct notes notes = {0};
    struct bump_space bump;
    struct tree *tree, *same;
    volume_blank(&volume, device, &options, &notes);
    expect_success(volume_add_chunk(&volume, &volume.super, &chunk));
    bump_space_open(&bump, &volume, 1 << 20);
    transaction_begin(&transaction, &volume, &bump.space);
    ck_assert_uint_eq(transaction.generation, 1);
    for (uint64_t id = 1; id < 12; id++)
        expect_failure(ENOENT, "there is no tree ", transaction_tree(&transaction, id, &tree));
    expect_success(transaction_new_tree(&transaction, ROOT_TREE_OBJECTID, NULL, &tree));
    expect_success(transaction_tree(&transaction, ROOT_TREE_OBJECTID, &same));
    ck_assert_ptr_eq(tree, same);
    expect_failure(ENOENT, "there is no tree ",
                   transaction_tree(&transaction, FS_TREE_OBJECTID, &tree));
    transaction_abort(&transaction);
    volume_close(&volume);
    device_close(device);
}
END_TEST

/* Trees of which the key of the root item has an offset, as a snapshot's has. */
START_TEST(offset_in_key)
{
    struct device *device = begin_tall(4096);
    struct key key = {300, ROOT_ITEM_KEY, 0}, new_key = {300, ROOT_ITEM_KEY, 17};
    struct tree *roots, tree;
    forest_begin(&forest);
    expect_success(transaction_tree(&forest.transaction, ROOT_TREE_OBJECTID, &roots));
    expect_success(tree_rekey(roots, &key, &new_key));
    expect_success(forest_commit(&forest));
    forest_begin(&forest);
    expect_success(forest_insert(&forest, 1, 1, 9));
    expect_success(forest_commit(&forest));
    expect_success(volume_tree(&forest.volume, 300, &tree));
    ck_assert_uint_eq(tree.offset, 17);
    forest_check(&forest, device);
    end(device);
}
END_TEST

static int own_block(const struct block *block, void *context)
{
    uint64_t owner = block_owner_id(block);
    bool is_new = block_generation(block) == *(uint64_t *)context;
    expect(owner == (is_new ? 310 : 300), "block %ju: owner %ju", (uintmax_t)block->bytenr,
           (uintmax_t)owner);
    return 0;
}

/* Two trees share their blocks, as a snapshot does: a change of one is none of the other, and the
 * shadows are the one's. */
START_TEST(shared_blocks)
{
    struct device *device = begin_tall(4096);
    struct tree *roots, *copy, tree;
    struct root_item item;
    struct path path = {0};
    struct key key = {300, ROOT_ITEM_KEY, 0}, new_key = {310, ROOT_ITEM_KEY, 0};
    forest_begin(&forest);
    expect_success(transaction_tree(&forest.transaction, ROOT_TREE_OBJECTID, &roots));
    ck_assert_int_eq(tree_search(roots, &key, &path), 0);
    memcpy(&item, item_data(path.nodes[0], path.slots[0]), sizeof item);
    path_release(roots, &path);
    expect_success(tree_insert(roots, &new_key, &item, sizeof item));
    expect_success(forest_commit(&forest));

    forest_begin(&forest);
    key = forest_key(8);
    expect_success(transaction_tree(&forest.transaction, 310, &copy));
    expect_success(tree_truncate(copy, &key, 1));
    expect_success(forest_commit(&forest));
    expect_success(volume_tree(&forest.volume, 310, &tree));
    expect_success(tree_walk(&tree, own_block, &forest.transaction.generation));
    ck_assert_int_eq(tree_search(&tree, &key, &path), 0);
    ck_assert_uint_eq(item_size(path.nodes[0], path.slots[0]), 1);
    path_release(&tree, &path);
    forest_check(&forest, device); /* tree 300 is as it was */
    end(device);
}
END_TEST

/* A root item says nothing new of a tree that did not change. */
START_TEST(unchanged_trees)
{
    struct device *device = begin_tall(4096);
    struct tree before, after;
    expect_success(volume_tree(&forest.volume, 300, &before));
    forest_begin(&forest);
    expect_success(forest_insert(&forest, 0, 1, 9));
    expect_success(forest_commit(&forest));
    expect_success(volume_tree(&forest.volume, 300, &after));
    ck_assert_uint_eq(after.bytenr, before.bytenr);
    ck_assert_uint_eq(after.generation, before.generation);
    end(device);
}
END_TEST

/* --- settling ----------------------------------------------------------------------- */

/* A space that has something to write for some rounds. */
struct busy {
    struct bump_space bump;
    int (*settle)(struct space *space);
    unsigned left, calls;
    int error;
};

static int busy_settle(struct space *space)
{
    struct busy *busy = (struct busy *)space;
    busy->calls++;
    if (busy->left == 0)
        return busy->error ? fail(-busy->error, "the space fails") : 0;
    busy->left--;
    return 1;
}

START_TEST(rounds)
{
    struct device *device = begin_tall(4096);
    struct busy busy = {.bump = forest.bump};
    busy.bump.space.settle = busy_settle;
    forest.space = &busy.bump.space;
    for (unsigned left = 0; left < 5; left++) {
        busy.left = left;
        busy.calls = 0;
        forest_begin(&forest);
        expect_success(forest_insert(&forest, 1, 2 * left + 1, 9));
        expect_success(forest_commit(&forest));
        ck_assert_uint_eq(busy.left, 0);
        ck_assert_uint_eq(busy.calls, forest.transaction.counters.rounds);
        ck_assert_uint_ge(busy.calls, left + 1 > 2 ? left + 1 : 2);
        forest_check(&forest, device);
    }
    /* An error of the space ends it, in the first round or later. */
    uint64_t digest = state_of(device).digest;
    busy.error = -EIO;
    for (unsigned left = 0; left < 3; left++) {
        busy.left = left;
        forest_begin(&forest);
        expect_success(forest_insert(&forest, 1, 201, 9));
        expect_failure(EIO, "the space fails", forest_commit(&forest));
        ck_assert_uint_eq(state_of(device).digest, digest);
    }
    end(device);
}
END_TEST

/* --- failure ------------------------------------------------------------------------ */

/* The first failure is kept, every claim and the commit return it; what follows is not. */
START_TEST(first_failure)
{
    struct device *device = begin_tall(4096);
    uint64_t digest = state_of(device).digest;
    forest_begin(&forest);
    ck_assert_int_eq(transaction_fail(&forest.transaction, 0), 0);
    ck_assert_int_eq(transaction_fail(&forest.transaction, 5), 5);
    expect_success(forest_insert(&forest, 0, 1, 9));
    ck_assert_int_eq(transaction_fail(&forest.transaction, -ENOSPC), -ENOSPC);
    ck_assert_int_eq(transaction_fail(&forest.transaction, -EIO), -EIO);
    expect_failure(ENOSPC, "the transaction failed before: No space",
                   forest_insert(&forest, 1, 1, 9));
    ck_assert_int_eq(forest_new_tree(&forest, 3, 302), -ENOSPC);
    expect_failure(ENOSPC, "failed before", transaction_settle(&forest.transaction));
    expect_failure(ENOSPC, "failed before", forest_commit(&forest));
    ck_assert_uint_eq(state_of(device).digest, digest);
    forest_begin(&forest); /* the next one knows nothing of it */
    expect_success(forest_insert(&forest, 1, 1, 9));
    expect_success(forest_commit(&forest));
    forest_check(&forest, device);
    end(device);
}
END_TEST

/* Several operations of all kinds, and the commit; what fails ends it. */
static int do_much(bool *has_failed)
{
    struct key key;
    struct path path = {0};
    struct tree *tree;
    struct root_item item = {.refs = to_le32(1)};
    uint64_t deleted;
    forest_begin(&forest);
    int result = transaction_tree(&forest.transaction, 300, &tree);
    for (uint32_t i = 0; i < 12 && result == 0; i++) {
        key = forest_key(2 * i + 1);
        result = tree_insert(tree, &key, "something", 9);
    }
    key = forest_key(60);
    struct key last = forest_key(130);
    if (result == 0)
        result = tree_delete_range(tree, &key, &last, &deleted);
    key = forest_key(140);
    if (result == 0)
        result = tree_extend(tree, &key, NULL, 200);
    if (result == 0)
        result = transaction_new_tree(&forest.transaction, 301, &item, &tree);
    if (result == 0)
        result = tree_insert_next(tree, &path, &key, NULL, 100);
    if (result == 0)
        path_release(tree, &path);
    if (result == 0)
        result = transaction_tree(&forest.transaction, FS_TREE_OBJECTID, &tree);
    if (result == 0)
        result = tree_truncate(tree, &key, 3);
    *has_failed = result < 0;
    if (result == 0)
        return forest_commit(&forest);
    forest_abort(&forest);
    return result;
}

/* No memory at each place: the error, and the image as before; then the same volume goes on. */
START_TEST(no_memory)
{
    struct device *memory = begin_tall(4096);
    uint64_t digest = state_of(memory).digest, faults = 0, in_commit = 0;
    overlay_open(&overlay, memory);
    for (uint64_t lasting = 0; lasting <= 1; lasting++) {
        bool struck = true;
        for (uint64_t first = 0; struck; first++) {
            bool in_step;
            overlay_clear(&overlay);
            forest_reopen(&forest, &overlay.device);
            forest.transaction.counters = (struct transaction_counters){0};
            int64_t pieces = memory_pieces();
            faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, first,
                                         lasting ? FAULTS_WITHOUT_END : 1});
            int result = do_much(&in_step);
            struck = faults_end() > first;
            ck_assert_int_eq(memory_pieces(), pieces);
            if (!struck) {
                expect_success(result);
                continue;
            }
            faults++;
            in_commit += !in_step;
            ck_assert_int_eq(result, -ENOMEM);
            expect(strstr(fail_message(), "memory"), "%s", fail_message());
            ck_assert_uint_eq(overlay.calls[DEVICE_WRITE] + overlay.calls[DEVICE_FLUSH], 0);
            if (first % 16 == 0) {
                ck_assert_uint_eq(state_of(&overlay.device).digest, digest);
                expect_success(do_much(&in_step));
                ck_assert_uint_ne(state_of(&overlay.device).digest, digest);
            }
        }
    }
    ck_assert_uint_gt(faults, 150);
    ck_assert_uint_gt(in_commit, 4);
    overlay_close(&overlay);
    end(memory);
}
END_TEST

/* No space for the first block, the second, and so on: the same. */
START_TEST(no_space)
{
    struct device *memory = begin_tall(4096);
    uint64_t digest = state_of(memory).digest, blocks = 0, in_commit = 0;
    overlay_open(&overlay, memory);
    for (int result = -1; result < 0; blocks++) {
        bool in_step;
        overlay_clear(&overlay);
        forest_reopen(&forest, &overlay.device);
        uint64_t end_before = forest.bump.end;
        forest.bump.end = forest.bump.next + blocks * 4096;
        int64_t pieces = memory_pieces();
        result = do_much(&in_step);
        ck_assert_int_eq(memory_pieces(), pieces);
        if (result == 0)
            break;
        in_commit += !in_step;
        ck_assert_int_eq(result, -ENOSPC);
        ck_assert_str_ne(fail_message(), "");
        ck_assert_uint_eq(overlay.calls[DEVICE_WRITE] + overlay.calls[DEVICE_FLUSH], 0);
        ck_assert_uint_eq(state_of(&overlay.device).digest, digest);
        forest.bump.end = end_before;
        expect_success(do_much(&in_step));
    }
    ck_assert_uint_gt(blocks, 20);
    ck_assert_uint_gt(in_commit, 0);
    overlay_close(&overlay);
    end(memory);
}
END_TEST

/* The block that is to be read cannot be. */
START_TEST(no_reads)
{
    struct device *memory = begin_tall(4096);
    uint64_t digest = state_of(memory).digest, reads = 0;
    for (int result = -1; result < 0; reads++) {
        struct device *failing;
        bool in_step;
        overlay_open(&overlay, memory);
        forest_reopen(&forest, &overlay.device);
        expect_success(
            failing_device_open(&overlay.device, 1U << DEVICE_READ, reads, EIO, &failing));
        forest.volume.device = forest.volume.source.device = failing;
        int64_t pieces = memory_pieces();
        result = do_much(&in_step);
        ck_assert_int_eq(memory_pieces(), pieces);
        if (result < 0) {
            expect_failure(EIO, "cannot read", result);
            ck_assert_uint_eq(overlay.calls[DEVICE_WRITE] + overlay.calls[DEVICE_FLUSH], 0);
            ck_assert_uint_eq(state_of(&overlay.device).digest, digest);
        } else
            ck_assert_uint_ne(state_of(&overlay.device).digest, digest);
        device_close(failing);
        forest.volume.device = forest.volume.source.device = memory;
        overlay_close(&overlay);
    }
    ck_assert_uint_gt(reads, 50);
    end(memory);
}
END_TEST

SUITE(transaction, 120, against_the_model, nothing, aborted, w3_owns, w3_old_blocks, w4_generation,
      w4_chunk_tree_alone, w5_once, w5_pinned_once, trees, new_tree, tree_exists,
      tree_exists_and_on, old_root_item, wrong_bytes_used, blank_volume, offset_in_key,
      shared_blocks, unchanged_trees, rounds, first_failure, no_memory, no_space, no_reads)
