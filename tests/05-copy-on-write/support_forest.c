#include "support_forest.h"

#include "change.h"
#include "commit.h"
#include "delete.h"
#include "fail.h"
#include "insert.h"
#include "support_grove.h"

#include <stdlib.h>
#include <string.h>

/* --- a space that uses addresses again ---------------------------------------------- */

static int recycler_alloc(struct space *space, struct tree *tree, uint8_t level, uint64_t *bytenr)
{
    struct recycler *recycler = (struct recycler *)space;
    (void)level;
    if (recycler->free.count == 0)
        return fail(ENOSPC, "no space for tree %" PRIu64, tree->id);
    size_t at = dice_below(&recycler->dice, recycler->free.count);
    *bytenr = recycler->free.ranges[at].start;
    int result = range_set_remove(&recycler->free, *bytenr, *bytenr + recycler->node_size);
    return result < 0 ? result
                      : range_set_add(&recycler->taken, *bytenr, *bytenr + recycler->node_size);
}

static int recycler_free(struct space *space, struct tree *tree, const struct block *block)
{
    struct recycler *recycler = (struct recycler *)space;
    (void)tree;
    uint64_t start = block->bytenr, end = start + recycler->node_size;
    if (block_generation(block) != space->transaction->generation)
        return range_set_add(&recycler->pinned, start, end);
    int result = range_set_remove(&recycler->taken, start, end);
    return result < 0 ? result : range_set_add(&recycler->free, start, end);
}

static int recycler_shared(struct space *space, struct tree *tree, const struct block *block)
{
    (void)tree;
    expect(block_generation(block) != space->transaction->generation, "shared with a new block");
    ((struct recycler *)space)->shared++;
    return 0;
}

/* The ledger holds one number, of bytes that will be free when the transaction is committed. */
static int recycler_settle(struct space *space)
{
    struct recycler *recycler = (struct recycler *)space;
    struct key key = {1, 210, 0};
    struct path path = {0};
    struct tree *tree;
    le64 free_bytes = to_le64(recycler->free.bytes + recycler->pinned.bytes), was;
    if (recycler->ledger == 0)
        return 0;
    int result = transaction_tree(space->transaction, recycler->ledger, &tree);
    if (result == 0)
        result = tree_search(tree, &key, &path);
    if (result != 0)
        return result;
    memcpy(&was, item_data(path.nodes[0], path.slots[0]), sizeof was);
    path_release(tree, &path);
    if (memcmp(&was, &free_bytes, sizeof was) == 0)
        return 0;
    result = tree_change(tree, &key, &path);
    if (result != 0)
        return result;
    /* The claim may have taken a block; then the next round sets the number right. */
    memcpy(item_data(path.nodes[0], path.slots[0]), &free_bytes, sizeof free_bytes);
    tree_dirty(tree, path.nodes[0]);
    path_release(tree, &path);
    return 1;
}

static void move_all(struct range_set *to, struct range_set *from)
{
    for (size_t i = 0; i < from->count; i++)
        expect_success(range_set_add(to, from->ranges[i].start, from->ranges[i].end));
    range_set_close(from);
}

static void recycler_committed(struct space *space, bool is_on_device)
{
    struct recycler *recycler = (struct recycler *)space;
    move_all(&recycler->free, is_on_device ? &recycler->pinned : &recycler->taken);
    range_set_close(&recycler->pinned);
    range_set_close(&recycler->taken);
}

static int reach_block(const struct block *block, void *context)
{
    return range_set_add(context, block->bytenr, block->bytenr + block->size);
}

static int reach_tree(struct tree *tree, void *context)
{
    return tree_walk(tree, reach_block, context);
}

void reach_blocks(struct volume *volume, struct range_set *blocks)
{
    *blocks = (struct range_set){0};
    expect_success(volume_each_tree(volume, reach_tree, blocks));
}

void recycler_open(struct recycler *recycler, struct volume *volume)
{
    const struct chunk *chunk = &volume->chunks.chunks[0];
    struct range_set blocks;
    *recycler = (struct recycler){
        .space = {recycler_alloc, recycler_free, recycler_shared, recycler_settle,
                  recycler_committed, NULL},
        .node_size = from_le32(volume->super.nodesize),
        .dice = {from_le64(volume->super.generation)},
    };
    uint64_t end = chunk->logical + chunk->length, mirror = superblock_offset(1);
    expect_success(range_set_add(&recycler->free, chunk->logical, end));
    if (end > mirror)
        expect_success(range_set_clear(&recycler->free, mirror, mirror + STRIPE_LENGTH));
    reach_blocks(volume, &blocks);
    for (size_t i = 0; i < blocks.count; i++)
        expect_success(
            range_set_remove(&recycler->free, blocks.ranges[i].start, blocks.ranges[i].end));
    range_set_close(&blocks);
}

void recycler_close(struct recycler *recycler)
{
    range_set_close(&recycler->free);
    range_set_close(&recycler->pinned);
    range_set_close(&recycler->taken);
}

/* --- opening ------------------------------------------------------------------------ */

struct key forest_key(uint32_t number)
{
    static const uint8_t types[] = {40, 100, 210}; /* of no item that is known */
    return (struct key){1000 + number / 12, types[number / 4 % 3], number % 4 * 1000};
}

void forest_open(struct forest *forest, struct device *device, uint32_t node_size, uint64_t seed)
{
    *forest = (struct forest){.device = device, .dice = {seed}, .most = node_size / 5};
    expect_success(bump_format(&forest->bump, &forest->volume, device, node_size, &forest->notes));
    forest->space = &forest->bump.space;
    forest->now.trees[0].id = FS_TREE_OBJECTID;
    forest->committed = forest->now;
}

void forest_close(struct forest *forest)
{
    recycler_close(&forest->recycler);
    volume_close(&forest->volume);
}

void forest_recycle(struct forest *forest)
{
    recycler_close(&forest->recycler);
    recycler_open(&forest->recycler, &forest->volume);
    forest->space = &forest->recycler.space;
}

void forest_reopen(struct forest *forest, struct device *device)
{
    bool is_bump = forest->space == &forest->bump.space;
    uint64_t ledger = forest->recycler.ledger;
    struct range_set blocks;
    forest_close(forest);
    forest->device = device;
    expect_success(volume_open(&forest->volume, device, &forest->notes));
    reach_blocks(&forest->volume, &blocks);
    bump_space_open(&forest->bump, &forest->volume, blocks.ranges[blocks.count - 1].end);
    range_set_close(&blocks);
    forest->recycler = (struct recycler){0};
    if (!is_bump) {
        forest_recycle(forest);
        forest->recycler.ledger = ledger;
    }
}

/* --- transactions ------------------------------------------------------------------- */

void forest_begin(struct forest *forest)
{
    struct growth *growth = &forest->transaction.growth;
    transaction_begin(&forest->transaction, &forest->volume, forest->space);
    growth->max_items = forest->max_items;
    growth->max_ptrs = forest->max_ptrs;
    growth->shadow_first = forest->shadow_first;
    expect(forest->space->transaction == &forest->transaction, "no transaction");
}

int forest_commit(struct forest *forest)
{
    int result = transaction_commit(&forest->transaction);
    if (result == 0)
        forest->committed = forest->now;
    else
        forest->now = forest->committed;
    expect(!forest->space->transaction, "a transaction is left");
    return result;
}

void forest_abort(struct forest *forest)
{
    transaction_abort(&forest->transaction);
    forest->now = forest->committed;
}

static int forest_tree(struct forest *forest, unsigned number, struct tree **tree)
{
    return transaction_tree(&forest->transaction, forest->now.trees[number].id, tree);
}

int forest_new_tree(struct forest *forest, unsigned number, uint64_t id)
{
    struct root_item item = {.refs = to_le32(1), .flags = to_le64(id), .level = 7};
    struct tree *tree;
    int result = transaction_new_tree(&forest->transaction, id, &item, &tree);
    if (result == 0)
        forest->now.trees[number].id = id;
    return result;
}

int forest_insert(struct forest *forest, unsigned number, uint32_t item, uint32_t size)
{
    struct forest_item new = {true, size, 1 + (uint32_t)dice_below(&forest->dice, 4000)};
    struct key key = forest_key(item);
    struct tree *tree;
    int result = forest_tree(forest, number, &tree);
    if (result == 0)
        result = tree_insert(tree, &key, grove_data(new.seed), size);
    if (result == 0)
        forest->now.trees[number].items[item] = new;
    return result;
}

int forest_delete(struct forest *forest, unsigned number, uint32_t item)
{
    struct key key = forest_key(item);
    struct tree *tree;
    int result = forest_tree(forest, number, &tree);
    if (result == 0)
        result = tree_delete(tree, &key);
    if (result == 0)
        forest->now.trees[number].items[item].is_there = false;
    return result;
}

int forest_toggle(struct forest *forest, unsigned number, uint32_t item)
{
    return forest->now.trees[number].items[item].is_there ? forest_delete(forest, number, item)
                                                          : forest_insert(forest, number, item, 9);
}

static int delete_range(struct forest *forest, unsigned number, uint32_t first, uint32_t last)
{
    struct key from = forest_key(first), to = forest_key(last);
    uint64_t deleted = 0, there = 0;
    struct tree *tree;
    int result = forest_tree(forest, number, &tree);
    if (result == 0)
        result = tree_delete_range(tree, &from, &to, &deleted);
    if (result < 0)
        return result;
    for (uint32_t i = first; i <= last; i++) {
        there += forest->now.trees[number].items[i].is_there;
        forest->now.trees[number].items[i].is_there = false;
    }
    expect(deleted == there, "%ju items deleted of %ju", (uintmax_t)deleted, (uintmax_t)there);
    return 0;
}

/* Changes the bytes of an item in place. */
static int overwrite(struct tree *tree, const struct key *key, struct forest_item *item)
{
    struct path path = {0};
    int result = tree_change(tree, key, &path);
    if (result != 0)
        return result;
    item->seed++;
    memcpy(item_data(path.nodes[0], path.slots[0]), grove_data(item->seed), item->size);
    tree_dirty(tree, path.nodes[0]);
    path_release(tree, &path);
    return 0;
}

/* An item that is there is made longer or shorter, or changed, or it is still there. */
static int change_item(struct forest *forest, unsigned number, uint32_t at)
{
    struct forest_item *item = &forest->now.trees[number].items[at];
    struct key key = forest_key(at);
    uint32_t bytes = 1 + (uint32_t)dice_below(&forest->dice, 60);
    struct tree *tree;
    int result = forest_tree(forest, number, &tree);
    if (result < 0)
        return result;
    switch (dice_below(&forest->dice, 4)) {
    case 0:
        result = tree_extend(tree, &key, grove_data(item->seed) + item->size, bytes);
        item->size += result == 0 ? bytes : 0;
        return result;
    case 1:
        bytes = bytes < item->size ? bytes : item->size;
        result = tree_truncate(tree, &key, item->size - bytes);
        item->size -= result == 0 ? bytes : 0;
        return result;
    case 2:
        return overwrite(tree, &key, item);
    default:
        result = tree_insert(tree, &key, NULL, 1);
        return result == -EEXIST ? 0 : result == 0 ? fail(EINVAL, "inserted twice") : result;
    }
}

int forest_step(struct forest *forest)
{
    struct dice *dice = &forest->dice;
    unsigned number = (unsigned)dice_below(dice, FOREST_TREES);
    struct forest_tree *tree = &forest->now.trees[number];
    if (tree->id == 0)
        return dice_below(dice, 8) ? 0 : forest_new_tree(forest, number, 299 + number);
    uint32_t item = (uint32_t)dice_below(dice, FOREST_KEYS);
    if (dice_below(dice, 100) == 0) {
        uint32_t last = item + (uint32_t)dice_below(dice, FOREST_KEYS - item);
        return delete_range(forest, number, item, last);
    }
    if (!tree->items[item].is_there)
        return forest_insert(forest, number, item, (uint32_t)dice_below(dice, forest->most));
    return dice_below(dice, 2) ? forest_delete(forest, number, item)
                               : change_item(forest, number, item);
}

int forest_steps(struct forest *forest, unsigned steps)
{
    int result = 0;
    while (steps-- > 0 && result == 0)
        result = forest_step(forest);
    return result;
}

/* --- what must hold ----------------------------------------------------------------- */

struct comparison {
    const struct forest_tree *tree; /* of the model; NULL: some other tree */
    uint32_t next;                  /* number of the item that comes now, or of one before it */
    struct volume *volume;
    struct block *roots;
    uint64_t blocks;
    uint64_t youngest; /* generation of a block */
    uint64_t id;       /* of the owner of all blocks; 0: it may share some */
};

static void skip_absent(struct comparison *comparison)
{
    while (comparison->next < FOREST_KEYS && !comparison->tree->items[comparison->next].is_there)
        comparison->next++;
}

static int compare_item(const struct path *path, void *context)
{
    struct comparison *comparison = context;
    struct key key = path_key(path), wanted;
    const struct block *leaf = path->nodes[0];
    uint32_t slot = path->slots[0];
    if (key.objectid == FIRST_FREE_OBJECTID) /* the root directory */
        return 0;
    skip_absent(comparison);
    expect(comparison->next < FOREST_KEYS, "tree %ju has more items",
           (uintmax_t)comparison->tree->id);
    const struct forest_item *item = &comparison->tree->items[comparison->next];
    wanted = forest_key(comparison->next++);
    expect(key_compare(&key, &wanted) == 0, "tree %ju: another item than %u",
           (uintmax_t)comparison->tree->id, comparison->next - 1);
    expect(item_size(leaf, slot) == item->size &&
               memcmp(item_data(leaf, slot), grove_data(item->seed), item->size) == 0,
           "tree %ju: item %u differs", (uintmax_t)comparison->tree->id, comparison->next - 1);
    return 0;
}

static int compare_block(const struct block *block, void *context)
{
    struct comparison *comparison = context;
    const struct block_header *header = block_header(block);
    comparison->blocks++;
    if (block_generation(block) > comparison->youngest)
        comparison->youngest = block_generation(block);
    expect(comparison->id == 0 || block_owner_id(block) == comparison->id, "block %ju: owner",
           (uintmax_t)block->bytenr);
    expect(memcmp(header->chunk_tree_uuid, comparison->volume->chunk_tree_uuid, UUID_SIZE) == 0,
           "block %ju: chunk tree uuid", (uintmax_t)block->bytenr);
    expect(from_le64(header->flags) >> HEADER_BACKREF_REV_SHIFT == HEADER_MIXED_BACKREF_REV,
           "block %ju: flags", (uintmax_t)block->bytenr);
    return 0;
}

/* What the root item says of its tree. */
static void compare_root_item(struct comparison *comparison, const struct tree *tree)
{
    struct tree roots;
    struct path path = {0};
    struct key key = {tree->id, ROOT_ITEM_KEY, tree->offset};
    expect_success(volume_tree(comparison->volume, ROOT_TREE_OBJECTID, &roots));
    expect_success(tree_search(&roots, &key, &path));
    uint32_t size = item_size(path.nodes[0], path.slots[0]);
    const struct root_item *item = item_data(path.nodes[0], path.slots[0]);
    uint64_t used = comparison->blocks * from_le32(comparison->volume->super.nodesize);
    expect(from_le64(item->bytes_used) == used, "tree %ju: %ju bytes used, not %ju",
           (uintmax_t)tree->id, (uintmax_t)from_le64(item->bytes_used), (uintmax_t)used);
    expect(from_le64(item->generation) == comparison->youngest, "tree %ju: generation",
           (uintmax_t)tree->id);
    if (size == sizeof *item)
        expect(from_le64(item->generation_v2) == comparison->youngest, "tree %ju: generation_v2",
               (uintmax_t)tree->id);
    expect(from_le32(item->refs) == 1, "tree %ju: refs", (uintmax_t)tree->id);
    path_release(&roots, &path);
}

struct check {
    struct forest *forest;
    struct volume *volume;
    unsigned trees;
    uint64_t youngest;
};

static int check_tree(struct tree *tree, void *context)
{
    struct check *check = context;
    struct comparison comparison = {.volume = check->volume};
    struct key first = {0}, last = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
    for (unsigned i = 0; i < FOREST_TREES; i++)
        if (check->forest->committed.trees[i].id == tree->id)
            comparison.tree = &check->forest->committed.trees[i];
    if (comparison.tree || tree->id == ROOT_TREE_OBJECTID || tree->id == CHUNK_TREE_OBJECTID)
        comparison.id = tree->id;
    expect_success(tree_walk(tree, compare_block, &comparison));
    if (comparison.youngest > check->youngest)
        check->youngest = comparison.youngest;
    if (tree->id == ROOT_TREE_OBJECTID || tree->id == CHUNK_TREE_OBJECTID)
        return 0;
    compare_root_item(&comparison, tree);
    if (!comparison.tree)
        return 0;
    check->trees++;
    expect_success(tree_range(tree, &first, &last, compare_item, &comparison));
    skip_absent(&comparison);
    expect(comparison.next == FOREST_KEYS, "tree %ju: item %u is missing", (uintmax_t)tree->id,
           comparison.next);
    return 0;
}

void forest_check(struct forest *forest, struct device *device)
{
    struct volume volume;
    struct notes notes = {0};
    struct check check = {.forest = forest, .volume = &volume};
    unsigned trees = 0;
    expect_success(volume_open(&volume, device, &notes));
    ck_assert_int_eq(volume.mirror, 0);
    expect_success(volume_each_tree(&volume, check_tree, &check));
    for (unsigned i = 0; i < FOREST_TREES; i++)
        trees += forest->committed.trees[i].id != 0;
    ck_assert_uint_eq(check.trees, trees);
    ck_assert_uint_eq(check.youngest, from_le64(volume.super.generation));
    ck_assert_uint_eq(notes.count, 0);
    volume_close(&volume);
}
