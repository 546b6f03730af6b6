#include "tree.h"

#include "fail.h"
#include "support.h"
#include "support_faults.h"
#include "support_leaf.h"
#include "support_tree.h"

#include <stdlib.h>
#include <string.h>

/* --- one tree and what it should be ------------------------------------------------- */

enum { MOST = 4000 };

/* A tree and the sorted array of its keys. Between two neighbours, before the first and behind the
 * last there is room for a key that is not in the tree. */
static struct world {
    struct test_source source;
    struct tree tree;
    size_t count;
    struct key keys[MOST];
    struct dice dice;
} world;

static void make_world(size_t count, struct shape shape, uint64_t seed)
{
    ck_assert_uint_le(count, MOST);
    world.dice = (struct dice){seed};
    world.count = count;
    /* Neighbours differ in the offset, the type, or the objectid. */
    struct key key = {256, 10, 10};
    for (size_t i = 0; i < count; i++) {
        world.keys[i] = key;
        uint64_t step = 2 + dice_below(&world.dice, 50);
        switch (dice_below(&world.dice, 4)) {
        case 0:
            key = (struct key){key.objectid + step, (uint8_t)dice_below(&world.dice, 256), 10};
            break;
        case 1:
            if (key.type < 200)
                key = (struct key){key.objectid, (uint8_t)(key.type + 2), 10};
            else
                key.offset += step;
            break;
        default:
            key.offset += step;
        }
    }
    source_open(&world.source);
    build_tree(&world.source, &world.tree, world.keys, count, &shape, &world.dice);
}

static void end_world(void)
{
    source_close(&world.source);
}

/* The worlds of all tests: heights 1 to 5, exact and ragged; the least and the widest. */
static const struct {
    size_t count;
    struct shape shape;
    unsigned height;
} worlds[] = {
    {0, {5, 2, false}, 1},   {1, {5, 2, false}, 1},        {5, {5, 2, false}, 1},
    {6, {5, 2, false}, 2},   {10, {5, 2, false}, 2},       {11, {5, 2, false}, 3},
    {100, {4, 5, false}, 3}, {100, {1, 5, false}, 4},      {300, {3, 5, false}, 4},
    {600, {2, 5, false}, 5}, {81, {1, 3, false}, 5},       {1000, {10, 10, false}, 3},
    {40, {60, 2, false}, 1}, {4000, {100, 100, false}, 2}, {200, {3, 4, true}, 0},
    {500, {4, 6, true}, 0},  {1000, {5, 8, true}, 0},      {3000, {12, 12, true}, 0},
};

static void each_world(void (*check)(void))
{
    for (size_t i = 0; i < LENGTH_OF(worlds); i++) {
        make_world(worlds[i].count, worlds[i].shape, i + 1);
        if (worlds[i].height)
            ck_assert_uint_eq(world.tree.level + 1U, worlds[i].height);
        check();
        end_world();
    }
}

static bool is_released(const struct path *path)
{
    static const struct path zeros;
    return memcmp(path, &zeros, sizeof zeros) == 0;
}

/* How many keys of the world are before `key`: the index where it is, or where it belongs. */
static size_t index_of(const struct key *key)
{
    size_t index = 0;
    while (index < world.count && key_compare(&world.keys[index], key) < 0)
        index++;
    return index;
}

/* The key just before or behind one of the world's, which is in no world. */
static struct key beside(struct key key, int way)
{
    key.offset += (uint64_t)way;
    return key;
}

/* --- within a block ----------------------------------------------------------------- */

/* Every key of a block and every gap, leaf and node, 0 to 100 keys; in log2 n + 1 comparisons. */
START_TEST(binary_search)
{
    for (uint32_t n = 0; n <= 100; n++)
        for (uint8_t level = 0; level <= 1; level++) {
            struct block block = make_node(TEST_NODE_SIZE, level);
            unsigned most = n ? 32 - (unsigned)__builtin_clz(n) : 0;
            for (uint64_t i = 0; i < n; i++) {
                struct key key = {256, 1, 10 * i + 10};
                if (level)
                    node_append(&block, key, 4096, 7);
                else
                    leaf_append(&block, key, NULL, 0);
            }
            for (uint64_t offset = 5; offset <= 10 * n + 10; offset += 5) {
                struct key key = {256, 1, offset};
                uint64_t comparisons = 0;
                uint32_t slot = UINT32_MAX;
                int missing = block_search(&block, &key, &slot, &comparisons);
                bool there = offset % 10 == 0 && offset <= 10 * n;
                expect(missing == !there, "%u keys, offset %ju", n, (uintmax_t)offset);
                expect(slot == (offset + 9) / 10 - 1, "%u keys, offset %ju: slot %u", n,
                       (uintmax_t)offset, slot);
                expect(comparisons <= most, "%u keys: %ju comparisons", n, (uintmax_t)comparisons);
            }
            free_block(&block);
        }
}
END_TEST

/* --- search and seek ---------------------------------------------------------------- */

/* The path leads down from the root without a gap; the index of its item is `index`, or it is the
 * slot behind the last of a leaf whose last item is `index - 1`. */
static void check_path(const struct path *path, size_t index, bool is_item)
{
    for (unsigned level = world.tree.level; level > 0; level--)
        expect(path->nodes[level - 1]->bytenr ==
                   from_le64(node_ptr(path->nodes[level], path->slots[level])->blockptr),
               "level %u is not below level %u", level - 1, level);
    for (unsigned level = world.tree.level + 1U; level < MAX_LEVEL; level++)
        expect(!path->nodes[level], "a block above the root");
    const struct block *leaf = path->nodes[0];
    if (is_item || path->slots[0] < block_nritems(leaf)) {
        expect(path_index(path) == index, "item %ju, not %zu", (uintmax_t)path_index(path), index);
        struct key key = path_key(path);
        expect(key_compare(&key, &world.keys[index]) == 0, "key of %zu", index);
        return;
    }
    expect(path->slots[0] == block_nritems(leaf), "slot %u of %u", path->slots[0],
           block_nritems(leaf));
    if (index > 0) {
        struct path before = *path;
        before.slots[0]--;
        expect(path_index(&before) == index - 1, "behind %ju", (uintmax_t)path_index(&before));
    }
}

static void check_search(const struct key *key)
{
    size_t index = index_of(key);
    bool there = index < world.count && key_compare(&world.keys[index], key) == 0;
    struct path path = {0};
    uint64_t gets = world.source.gets, blocks = world.tree.blocks;
    int missing = tree_search(&world.tree, key, &path);
    expect(missing == !there, "search: %d at %zu", missing, index);
    check_path(&path, index, there);
    expect(world.source.gets - gets == world.tree.level + 1U, "search: %ju gets",
           (uintmax_t)(world.source.gets - gets));
    expect(world.tree.blocks - blocks == world.source.gets - gets, "the tree counts wrong");
    path_release(&world.tree, &path);
    expect(is_released(&path) && world.source.nout == 0, "not released");

    int none = tree_seek(&world.tree, key, &path);
    expect(none == (index == world.count), "seek: %d at %zu", none, index);
    if (none == 0)
        check_path(&path, index, true);
    else
        expect(is_released(&path), "not released");
    path_release(&world.tree, &path);
    expect(world.source.nout == 0 && world.source.gets == world.source.puts, "not put");
}

/* Every key, and those before, between and behind. */
static void check_searches(void)
{
    check_search(&(struct key){0, 0, 0});
    check_search(&(struct key){UINT64_MAX, UINT8_MAX, UINT64_MAX});
    for (size_t i = 0; i < world.count; i++) {
        struct key before = beside(world.keys[i], -1), behind = beside(world.keys[i], 1);
        check_search(&world.keys[i]);
        check_search(&before);
        check_search(&behind);
    }
}

START_TEST(search_and_seek)
{
    each_world(check_searches);
}
END_TEST

/* --- next and previous -------------------------------------------------------------- */

static void check_walks(void)
{
    struct path path = {0};
    size_t index = 0;
    int none = tree_seek(&world.tree, &(struct key){0, 0, 0}, &path);
    for (; none == 0; none = path_next(&world.tree, &path))
        check_path(&path, index++, true);
    expect(none == 1 && index == world.count && is_released(&path), "forwards: %d at %zu", none,
           index);
    if (world.count == 0)
        return;
    ck_assert_int_eq(tree_search(&world.tree, &world.keys[index - 1], &path), 0);
    for (none = 0; none == 0; none = path_previous(&world.tree, &path))
        check_path(&path, --index, true);
    expect(none == 1 && index == 0 && is_released(&path), "backwards: %d at %zu", none, index);
}

START_TEST(first_to_last_and_back)
{
    each_world(check_walks);
}
END_TEST

/* From a place where a key is not, next and previous lead to its neighbours. */
static void check_neighbours(void)
{
    for (size_t i = 0; i <= world.count; i++) {
        struct key key =
            i < world.count ? beside(world.keys[i], -1) : (struct key){UINT64_MAX, 0, 0};
        struct path path = {0};
        ck_assert_int_eq(tree_search(&world.tree, &key, &path), 1);
        int none = path_previous(&world.tree, &path);
        expect(none == (i == 0), "previous of gap %zu: %d", i, none);
        if (none == 0)
            check_path(&path, i - 1, true);
        path_release(&world.tree, &path);

        /* When the place is one behind the last of a leaf; else the neighbour is there already. */
        ck_assert_int_eq(tree_search(&world.tree, &key, &path), 1);
        if (path.slots[0] == block_nritems(path.nodes[0])) {
            none = path_next(&world.tree, &path);
            expect(none == (i == world.count), "next of gap %zu: %d", i, none);
            if (none == 0)
                check_path(&path, i, true);
        }
        path_release(&world.tree, &path);
    }
}

START_TEST(from_a_gap)
{
    each_world(check_neighbours);
}
END_TEST

/* Steps to and fro, with the index as the model. */
static void check_wandering(void)
{
    struct path path = {0};
    size_t index = 0;
    for (unsigned step = 0; step < 3000 && world.count > 0; step++) {
        if (!path.nodes[0]) {
            index = dice_below(&world.dice, world.count);
            ck_assert_int_eq(tree_search(&world.tree, &world.keys[index], &path), 0);
        }
        bool on = dice_below(&world.dice, 2);
        int none = on ? path_next(&world.tree, &path) : path_previous(&world.tree, &path);
        bool end = on ? index + 1 == world.count : index == 0;
        expect(none == end, "step %u from %zu: %d", step, index, none);
        index += on ? 1 : (size_t)-1;
        if (none == 0)
            check_path(&path, index, true);
        else
            expect(is_released(&path), "not released");
    }
    path_release(&world.tree, &path);
}

START_TEST(wandering)
{
    each_world(check_wandering);
}
END_TEST

/* Within a leaf a step asks for no block; a whole walk asks for each block once. */
START_TEST(gets_of_a_walk)
{
    make_world(300, (struct shape){3, 5, false}, 1);
    struct path path = {0};
    ck_assert_int_eq(tree_seek(&world.tree, &world.keys[0], &path), 0);
    while (path_next(&world.tree, &path) == 0)
        continue;
    ck_assert_uint_eq(world.source.gets, world.source.count);
    end_world();
}
END_TEST

/* --- ranges ------------------------------------------------------------------------- */

struct visit {
    size_t next; /* the index that must come */
    size_t seen;
    size_t stop_after; /* 0: never */
    int answer;
};

static int visit_item(const struct path *path, void *context)
{
    struct visit *visit = context;
    check_path(path, visit->next++, true);
    visit->seen++;
    return visit->seen == visit->stop_after ? visit->answer : 0;
}

static void check_range(const struct key *first, const struct key *last)
{
    size_t start = index_of(first), end = start;
    while (end < world.count && key_compare(&world.keys[end], last) <= 0)
        end++;
    struct visit visit = {.next = start};
    expect_success(tree_range(&world.tree, first, last, visit_item, &visit));
    expect(visit.next == end, "range [%zu, %zu) ends at %zu", start, end, visit.next);
    for (int answer = -5; answer <= 5 && end > start; answer += 10) {
        size_t stop = 1 + dice_below(&world.dice, end - start);
        visit = (struct visit){.next = start, .stop_after = stop, .answer = answer};
        expect(tree_range(&world.tree, first, last, visit_item, &visit) == answer, "answer");
        expect(visit.seen == stop, "%zu seen, not %zu", visit.seen, stop);
    }
    expect(world.source.nout == 0, "not put");
}

static void check_ranges(void)
{
    struct key least = {0, 0, 0}, most = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
    check_range(&least, &most);
    check_range(&most, &least);
    check_range(&least, &least);
    check_range(&most, &most);
    for (unsigned round = 0; round < 300 && world.count > 0; round++) {
        struct key a = world.keys[dice_below(&world.dice, world.count)];
        struct key b = world.keys[dice_below(&world.dice, world.count)];
        struct key first = beside(a, (int)dice_below(&world.dice, 3) - 1);
        struct key last = beside(b, (int)dice_below(&world.dice, 3) - 1);
        check_range(&first, &last);
    }
}

START_TEST(ranges)
{
    each_world(check_ranges);
}
END_TEST

/* --- block by block ----------------------------------------------------------------- */

struct census {
    unsigned seen[MOST]; /* by address */
    size_t blocks, items;
    size_t stop_after;
    unsigned level; /* of the block before */
};

static int count_block(const struct block *block, void *context)
{
    struct census *census = context;
    census->seen[block->bytenr / TEST_NODE_SIZE - 1]++;
    /* A node before its children. */
    expect(census->blocks == 0 || block_level(block) < world.tree.level, "the root again");
    expect(census->blocks == 0 || block_level(block) + 1U <= census->level + 1U ||
               census->level == 0,
           "level %u behind level %u", block_level(block), census->level);
    census->level = block_level(block);
    for (uint32_t slot = 0; block_level(block) == 0 && slot < block_nritems(block); slot++) {
        struct key key = leaf_key(block, slot);
        expect(key_compare(&key, &world.keys[census->items++]) == 0, "from left to right");
    }
    return ++census->blocks == census->stop_after ? 5 : 0;
}

static void check_census(void)
{
    static struct census census;
    census = (struct census){0};
    expect_success(tree_walk(&world.tree, count_block, &census));
    expect(census.blocks == world.source.count && census.items == world.count,
           "%zu blocks, %zu items", census.blocks, census.items);
    for (uint32_t i = 0; i < world.source.count; i++)
        expect(census.seen[i] == 1, "block %u: %u times", i, census.seen[i]);
    for (size_t stop = 1; stop <= world.source.count && stop < 50; stop++) {
        census = (struct census){.stop_after = stop};
        expect(tree_walk(&world.tree, count_block, &census) == 5, "answer");
        expect(census.blocks == stop && world.source.nout == 0, "%zu blocks", census.blocks);
    }
}

START_TEST(walk)
{
    each_world(check_census);
}
END_TEST

/* --- errors ------------------------------------------------------------------------- */

static int end_of(int none)
{
    return none == 1 ? 0 : none;
}

static int do_search(struct path *path)
{
    return end_of(tree_search(&world.tree, &world.keys[world.count / 2], path));
}

static int do_seek(struct path *path)
{
    struct key key = beside(world.keys[world.count / 2], 1);
    return end_of(tree_seek(&world.tree, &key, path));
}

static int do_forwards(struct path *path)
{
    int none = tree_search(&world.tree, &world.keys[0], path);
    while (none == 0)
        none = path_next(&world.tree, path);
    return end_of(none);
}

static int do_backwards(struct path *path)
{
    int none = tree_search(&world.tree, &world.keys[world.count - 1], path);
    while (none == 0)
        none = path_previous(&world.tree, path);
    return end_of(none);
}

static int ignore_item(const struct path *path, void *context)
{
    (void)path, (void)context;
    return 0;
}

static int do_range(struct path *path)
{
    (void)path;
    return tree_range(&world.tree, &world.keys[1], &world.keys[world.count - 2], ignore_item, NULL);
}

static int ignore_block(const struct block *block, void *context)
{
    (void)block, (void)context;
    return 0;
}

static int do_walk(struct path *path)
{
    (void)path;
    return tree_walk(&world.tree, ignore_block, NULL);
}

/* Each get fails, the first, the second, ...: the error comes back, the path is released, each
 * block that was got is put once, and no memory is lost. */
START_TEST(every_get_fails)
{
    static int (*const calls[])(struct path *) = {do_search,    do_seek,  do_forwards,
                                                  do_backwards, do_range, do_walk};
    make_world(120, (struct shape){2, 4, true}, 3);
    ck_assert_uint_ge(world.tree.level, 3);
    for (size_t i = 0; i < LENGTH_OF(calls); i++) {
        uint64_t faults = 0;
        for (int result = -EIO; result < 0; faults++) {
            struct path path = {0};
            int64_t before = memory_pieces();
            world.source.tries = 0;
            world.source.failing = faults;
            result = calls[i](&path);
            if (result < 0) {
                expect_failure(EIO, "get fails", result);
                expect(is_released(&path), "call %zu, get %ju", i, (uintmax_t)faults);
                expect(world.source.tries == faults + 1, "call %zu goes on behind an error", i);
            }
            path_release(&world.tree, &path);
            expect(world.source.nout == 0 && world.source.gets == world.source.puts,
                   "call %zu, get %ju: %u are out", i, (uintmax_t)faults, world.source.nout);
            expect(memory_pieces() == before, "call %zu: memory lost", i);
        }
        ck_assert_uint_gt(faults, world.tree.level);
    }
    end_world();
}
END_TEST

/* T4 for a block whose pointer is the last of its node: only a level above knows where it must end. Every
 * way into the block sees it. */
START_TEST(a_key_too_far_right)
{
    make_world(64, (struct shape){2, 2, false}, 5);
    unsigned top = world.tree.level;
    ck_assert_uint_ge(top, 3);
    for (unsigned level = top; level > 1; level--) {
        /* Down from the node at `level`, left and then always right, to a leaf whose last key becomes
         * that of the first leaf to the right of it. */
        struct block node = source_block(&world.source, world.tree.bytenr);
        while (block_level(&node) > level)
            node = source_block(&world.source, from_le64(node_ptr(&node, 0)->blockptr));
        struct key beyond = node_key(&node, 1), before = node_key(&node, 0);
        struct block leaf = source_block(&world.source, from_le64(node_ptr(&node, 0)->blockptr));
        while (block_level(&leaf) > 0)
            leaf = source_block(&world.source, from_le64(node_ptr(&leaf, 1)->blockptr));
        struct item_header *item = leaf_item(&leaf, 1);
        struct key first = leaf_key(&leaf, 0), last = leaf_key(&leaf, 1);
        item->key = key_to_disk(&beyond);

        struct path path = {0};
        expect_failure(EUCLEAN, "(T4)", tree_search(&world.tree, &first, &path));
        expect_failure(EUCLEAN, "(T4)", tree_seek(&world.tree, &last, &path));
        expect_failure(EUCLEAN, "(T4)", tree_walk(&world.tree, ignore_block, NULL));
        expect_failure(EUCLEAN, "(T4)",
                       tree_range(&world.tree, &before, &beyond, ignore_item, NULL));
        ck_assert_int_eq(tree_search(&world.tree, &beyond, &path), 0);
        expect_failure(EUCLEAN, "(T4)", path_previous(&world.tree, &path));
        item->key = key_to_disk(&last);
        expect_success(tree_walk(&world.tree, ignore_block, NULL));
    }
    end_world();
}
END_TEST

/* --- trees that are being deleted --------------------------------------------------- */

struct gone {
    struct key drop_key;
    size_t items;
};

/* What is visited of such a tree holds every item from drop_key on. */
static int count_left(const struct block *block, void *context)
{
    struct gone *gone = context;
    for (uint32_t slot = 0; block_level(block) == 0 && slot < block_nritems(block); slot++) {
        struct key key = leaf_key(block, slot);
        gone->items += key_compare(&key, &gone->drop_key) >= 0;
    }
    return 0;
}

/* The blocks below a pointer whose next pointer's key is not behind drop_key: deletion has freed
 * them. */
static void remove_blocks(uint64_t bytenr, const struct key *drop_key, bool all)
{
    struct block block = source_block(&world.source, bytenr);
    for (uint32_t slot = 0; block_level(&block) && slot < block_nritems(&block); slot++) {
        bool below = all;
        if (slot + 1 < block_nritems(&block)) {
            struct key next = node_key(&block, slot + 1);
            below = all || key_compare(&next, drop_key) <= 0;
        }
        remove_blocks(from_le64(node_ptr(&block, slot)->blockptr), drop_key, below);
    }
    if (all) {
        free(block.data);
        world.source.blocks[bytenr / TEST_NODE_SIZE - 1] = NULL;
    }
}

START_TEST(half_deleted)
{
    for (size_t drop = 0; drop < 100; drop += 3) {
        make_world(100, (struct shape){2, 6, true}, drop + 1);
        ck_assert_uint_lt(world.tree.level, MAX_LEVEL);
        struct gone gone = {world.keys[drop], 0};
        world.tree.is_dropped = true;
        world.tree.drop_key = gone.drop_key;
        remove_blocks(world.tree.bytenr, &gone.drop_key, false);
        expect_success(tree_walk(&world.tree, count_left, &gone));
        expect(gone.items == 100 - drop, "%zu items behind %zu", gone.items, drop);
        end_world();
    }
}
END_TEST

/* --- as high as a tree can be ------------------------------------------------------- */

START_TEST(eight_levels)
{
    make_world(128, (struct shape){1, 2, false}, 1);
    ck_assert_uint_eq(world.tree.level, MAX_LEVEL - 1);
    check_searches();
    check_walks();
    check_census();
    end_world();
}
END_TEST

SUITE(search, 60, binary_search, search_and_seek, first_to_last_and_back, from_a_gap, wandering,
      gets_of_a_walk, ranges, walk, every_get_fails, a_key_too_far_right, half_deleted,
      eight_levels)
