#include "support_grove.h"

#include "change.h"
#include "fail.h"
#include "support_faults.h"

#include <stdlib.h>
#include <string.h>

enum { SEEDS = 4096, DATA_MOST = 65536 };

/* --- keys and data ------------------------------------------------------------------ */

struct key grove_key(uint32_t number)
{
    return (struct key){256 + number / 12, (uint8_t)(1 + number / 4 % 3 * 84), number % 4 * 1000};
}

uint32_t grove_number(const struct key *key)
{
    return (uint32_t)(key->objectid - 256) * 12 + (uint32_t)(key->type - 1) / 84 * 4 +
           (uint32_t)key->offset / 1000;
}

const unsigned char *grove_data(uint32_t seed)
{
    static unsigned char zeros[DATA_MOST], random[SEEDS + DATA_MOST];
    static bool is_filled;
    if (!is_filled)
        dice_fill(&(struct dice){1}, random, sizeof random);
    is_filled = true;
    return seed == 0 ? zeros : random + seed % SEEDS;
}

/* --- the watch ---------------------------------------------------------------------- */

static struct watch *watch_of_owner(struct block_owner *owner)
{
    return (struct watch *)((char *)owner - offsetof(struct watch, owner));
}

static bool strikes(struct watch_calls *calls)
{
    uint64_t number = calls->calls++;
    return number >= calls->first && number - calls->first < calls->failing;
}

static int watch_get(struct block_source *source, uint64_t bytenr,
                     const struct block_promise *promise, struct block **block)
{
    struct watch *watch = (struct watch *)source;
    if (strikes(&watch->gets))
        return fail(EIO, "the watch fails get");
    return watch->heap->source.get(&watch->heap->source, bytenr, promise, block);
}

static void watch_put(struct block_source *source, struct block *block)
{
    struct watch *watch = (struct watch *)source;
    watch->heap->source.put(&watch->heap->source, block);
}

static void watch_dirty(struct block_source *source, struct block *block)
{
    struct watch *watch = (struct watch *)source;
    watch->heap->source.dirty(&watch->heap->source, block);
    if (watch->ndirtied == watch->capacity) /* a test that forgets nothing need not know */
        watch->ndirtied = 0;
    watch->dirtied[watch->ndirtied++] = block;
}

static int watch_claim(struct block_owner *owner, struct tree *tree, struct block **block)
{
    struct watch *watch = watch_of_owner(owner);
    if (block_generation(*block) == watch->heap->generation)
        return watch->heap->owner.claim(&watch->heap->owner, tree, block);
    if (strikes(&watch->owns))
        return fail(ENOSPC, "the watch fails claim");
    if (watch->is_stingy)
        watch->heap->capacity = watch->heap->count;
    int result = watch->heap->owner.claim(&watch->heap->owner, tree, block);
    watch->claims += result == 0;
    return result;
}

static int watch_allocate(struct block_owner *owner, struct tree *tree, uint8_t level,
                          struct block **block)
{
    struct watch *watch = watch_of_owner(owner);
    if (strikes(&watch->owns))
        return fail(ENOSPC, "the watch fails allocate");
    if (watch->is_stingy)
        watch->heap->capacity = watch->heap->count;
    int result = watch->heap->owner.allocate(&watch->heap->owner, tree, level, block);
    watch->allocations += result == 0;
    if (result == 0) /* nobody relies on zeros */
        memset((*block)->data + sizeof(struct block_header), 0xee,
               (*block)->size - sizeof(struct block_header));
    return result;
}

static void watch_free(struct block_owner *owner, struct tree *tree, struct block *block)
{
    struct watch *watch = watch_of_owner(owner);
    watch->heap->owner.free(&watch->heap->owner, tree, block);
}

void watch_forget(struct watch *watch)
{
    watch->ndirtied = 0;
}

/* Sets the watch between the tree and the heap. */
static void watch_begin(struct grove *grove)
{
    struct watch *watch = &grove->watch;
    *watch = (struct watch){
        .source = {watch_get, watch_put, watch_dirty},
        .owner = {watch_claim, watch_allocate, watch_free},
        .heap = &grove->heap,
        .capacity = 4096,
    };
    watch->dirtied = malloc(watch->capacity * sizeof(struct block *));
    grove->tree.source = &watch->source;
    grove->growth.owner = &watch->owner;
}

/* --- from the ground ---------------------------------------------------------------- */

void grove_open(struct grove *grove, uint32_t node_size, const struct growth *growth, uint64_t seed)
{
    memset(grove->items, 0, grove->keys * sizeof *grove->items); /* of its life before */
    memset(grove, 0, offsetof(struct grove, items));
    grove->dice = (struct dice){seed};
    grove->growth = *growth;
    grove->keys = GROVE_KEYS;
    heap_open(&grove->heap, node_size);
    grove->heap.is_checking = true;
    expect_success(heap_tree(&grove->heap, &grove->tree, GROVE_TREE, &grove->growth));
    watch_begin(grove);
}

void grove_close(struct grove *grove)
{
    heap_close(&grove->heap);
    free(grove->watch.dirtied);
}

struct block *grove_block(const struct grove *grove, uint64_t bytenr)
{
    return (struct block *)(void *)grove->heap.blocks[bytenr / grove->heap.node_size];
}

/* Copies a block and what is below it; its new address. */
static uint64_t copy_below(struct grove *copy, const struct grove *grove, uint64_t bytenr)
{
    const struct block *from = grove_block(grove, bytenr);
    struct block *to;
    expect_success(
        copy->heap.owner.allocate(&copy->heap.owner, &copy->tree, block_level(from), &to));
    memcpy(to->data, from->data, from->size);
    block_header(to)->bytenr = to_le64(to->bytenr);
    for (uint32_t slot = 0; block_level(to) > 0 && slot < block_nritems(to); slot++)
        node_ptr(to, slot)->blockptr =
            to_le64(copy_below(copy, grove, from_le64(node_ptr(to, slot)->blockptr)));
    copy->heap.source.put(&copy->heap.source, to);
    return to->bytenr;
}

void grove_copy(struct grove *copy, const struct grove *grove)
{
    memcpy(copy, grove, offsetof(struct grove, items) + grove->keys * sizeof *grove->items);
    heap_open(&copy->heap, grove->heap.node_size);
    copy->heap.is_checking = true;
    copy->heap.generation = grove->heap.generation;
    copy->growth.counters = (struct growth_counters){0};
    copy->growth.counters.items_inserted = copy->count;
    copy->tree.growth = &copy->growth;
    copy->has_faults = true;
    copy->tree.bytenr = copy_below(copy, grove, grove->tree.bytenr);
    watch_begin(copy);
}

/* A node over the next `most` blocks, or as many as there are; their number. */
static uint32_t plant_node(struct grove *grove, struct block **blocks, uint32_t count,
                           uint32_t most, uint8_t level, struct block **node)
{
    expect_success(grove->heap.owner.allocate(&grove->heap.owner, &grove->tree, level, node));
    uint32_t slot = 0;
    for (; slot < most && slot < count; slot++) {
        struct key key = level > 1 ? node_key(blocks[slot], 0) : leaf_key(blocks[slot], 0);
        *node_ptr(*node, slot) = (struct key_ptr){key_to_disk(&key), to_le64(blocks[slot]->bytenr),
                                                  to_le64(block_generation(blocks[slot]))};
    }
    block_header(*node)->nritems = to_le32(slot);
    grove->heap.source.put(&grove->heap.source, *node);
    grove->growth.counters.node_splits++; /* one for each, as blocks are counted */
    return slot;
}

/* One level of nodes over the blocks of another; their number. */
static uint32_t plant_nodes(struct grove *grove, struct block **blocks, uint32_t count,
                            uint32_t fanout, uint8_t level)
{
    uint32_t nodes = 0;
    for (uint32_t next = 0; next < count; nodes++) {
        struct block *node;
        next += plant_node(grove, blocks + next, count - next, fanout, level, &node);
        blocks[nodes] = node;
    }
    return nodes;
}

static void plant_leaves(struct grove *grove, const uint32_t *nitems, uint32_t nleaves,
                         const uint32_t *sizes, struct block **leaves)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < nleaves; i++) {
        expect_success(grove->heap.owner.allocate(&grove->heap.owner, &grove->tree, 0, &leaves[i]));
        for (uint32_t slot = 0; slot < nitems[i]; slot++, number++) {
            struct grove_item item = {true, sizes[number], number % 7 ? number + 1 : 0};
            struct key key = grove_key(4 * number + 4);
            expect_success(leaf_insert(leaves[i], slot, &key, grove_data(item.seed), item.size));
            grove->items[4 * number + 4] = item;
        }
        grove->heap.source.put(&grove->heap.source, leaves[i]);
    }
    grove->count = number;
    grove->keys = 4 * number + 8;
    grove->growth.counters.items_inserted += number;
    grove->growth.counters.splits += nleaves;
}

/* Puts the root in place of the empty one that was there before. */
static void plant_root(struct grove *grove, const struct block *root)
{
    struct block *old = grove_block(grove, grove->tree.bytenr);
    struct block_promise promise = {.tree = GROVE_TREE, .generation = block_generation(old)};
    expect_success(grove->heap.source.get(&grove->heap.source, grove->tree.bytenr, &promise, &old));
    grove->heap.owner.free(&grove->heap.owner, &grove->tree, old);
    grove->tree.bytenr = root->bytenr;
    grove->tree.level = block_level(root);
    grove->tree.generation = block_generation(root);
}

void grove_plant(struct grove *grove, const uint32_t *nitems, uint32_t nleaves,
                 const uint32_t *sizes, uint32_t fanout)
{
    struct block **blocks = malloc(nleaves * sizeof(struct block *));
    plant_leaves(grove, nitems, nleaves, sizes, blocks);
    uint8_t level = 0;
    for (uint32_t count = nleaves; count > 1;)
        count = plant_nodes(grove, blocks, count, fanout, ++level);
    plant_root(grove, blocks[0]);
    free(blocks);
}

void grove_plant_nodes(struct grove *grove, const uint32_t *nptrs, uint32_t nnodes)
{
    uint32_t nleaves = 0, next = 0;
    for (uint32_t i = 0; i < nnodes; i++)
        nleaves += nptrs[i];
    struct block **blocks = malloc(nleaves * sizeof(struct block *)), *root;
    uint32_t *ones = calloc(nleaves, sizeof *ones), *zeros = calloc(nleaves, sizeof *zeros);
    for (uint32_t i = 0; i < nleaves; i++)
        ones[i] = 1;
    plant_leaves(grove, ones, nleaves, zeros, blocks);
    for (uint32_t i = 0; i < nnodes; i++) {
        struct block *node;
        next += plant_node(grove, blocks + next, nleaves - next, nptrs[i], 1, &node);
        blocks[i] = node;
    }
    plant_node(grove, blocks, nnodes, nnodes, 2, &root);
    plant_root(grove, root);
    free(blocks);
    free(ones);
    free(zeros);
}

void grove_path(struct grove *grove, uint32_t first, uint32_t slot, struct path *path)
{
    struct key key = grove_key(4 * first + 4);
    *path = (struct path){0};
    expect_success(tree_search(&grove->tree, &key, path));
    expect(path->slots[0] == 0, "item %u is not the first of its leaf", first);
    expect(slot <= block_nritems(path->nodes[0]), "slot %u", slot);
    path->slots[0] = slot;
}

void grove_fill(struct grove *grove, struct path *path, uint32_t number, uint32_t bytes)
{
    struct grove_item *item = &grove->items[number];
    struct key key = grove_key(number);
    expect_success(path_claim(&grove->tree, path, 0));
    struct block *leaf = path->nodes[0];
    uint32_t slot = path->slots[0];
    if (item->is_there) {
        struct key there = leaf_key(leaf, slot);
        expect(key_compare(&there, &key) == 0, "another item is at the slot");
        expect_success(leaf_grow(leaf, slot, bytes));
        memcpy((unsigned char *)item_data(leaf, slot) + item->size,
               grove_data(item->seed) + item->size, bytes);
        item->size += bytes;
    } else {
        *item = (struct grove_item){true, bytes, number};
        expect_success(leaf_insert(leaf, slot, &key, grove_data(number), bytes));
        if (slot == 0 && grove->tree.level > 0)
            path_set_low_key(&grove->tree, path, 1, &key);
        grove->count++;
        grove->growth.counters.items_inserted++;
    }
    tree_dirty(&grove->tree, leaf);
    path_release(&grove->tree, path);
}

/* The first or the last item below a block; 0 where its leaf is empty. */
static uint32_t edge_below(const struct grove *grove, uint64_t bytenr, bool is_first)
{
    const struct block *block = grove_block(grove, bytenr);
    while (block_level(block) > 0) {
        uint32_t slot = is_first ? 0 : block_nritems(block) - 1;
        block = grove_block(grove, from_le64(node_ptr(block, slot)->blockptr));
    }
    struct key key = leaf_key(block, is_first ? 0 : block_nritems(block) - 1);
    return grove_number(&key);
}

/* The item at the edge of the block beside the leaf of the path. */
static uint32_t edge_beside(const struct grove *grove, const struct path *path, int side)
{
    for (unsigned level = 1; level <= grove->tree.level; level++) {
        const struct block *node = path->nodes[level];
        uint32_t slot = path->slots[level];
        if (side < 0 ? slot > 0 : slot + 1 < block_nritems(node))
            return edge_below(grove, from_le64(node_ptr(node, slot + (uint32_t)side)->blockptr),
                              side > 0);
    }
    return side < 0 ? 0 : UINT32_MAX;
}

struct gap grove_gap(struct grove *grove, const struct path *path)
{
    uint32_t slot = path->slots[0], nritems = block_nritems(path->nodes[0]);
    for (unsigned level = grove->tree.level; level > 0; level--)
        expect(path->nodes[level - 1]->bytenr ==
                   from_le64(node_ptr(path->nodes[level], path->slots[level])->blockptr),
               "level %u of the path is not below level %u", level - 1, level);
    expect(path->nodes[grove->tree.level]->bytenr == grove->tree.bytenr, "another root");
    expect(slot <= nritems, "slot %u of %u", slot, nritems);
    struct key before = {0}, behind = {0};
    if (slot > 0)
        before = leaf_key(path->nodes[0], slot - 1);
    if (slot < nritems)
        behind = leaf_key(path->nodes[0], slot);
    return (struct gap){
        slot > 0 ? grove_number(&before) : edge_beside(grove, path, -1),
        slot < nritems ? grove_number(&behind) : edge_beside(grove, path, 1),
    };
}

/* --- what must hold ----------------------------------------------------------------- */

/* The items of a leaf are the next ones of the model. */
static bool leaf_matches(const struct grove *grove, const struct block *leaf, uint32_t *number)
{
    for (uint32_t slot = 0; slot < block_nritems(leaf); slot++, ++*number) {
        while (*number < grove->keys && !grove->items[*number].is_there)
            ++*number;
        if (*number >= grove->keys)
            return false;
        const struct grove_item *item = &grove->items[*number];
        struct key key = leaf_key(leaf, slot), wanted = grove_key(*number);
        if (key_compare(&key, &wanted) != 0 || item_size(leaf, slot) != item->size ||
            memcmp(item_data(leaf, slot), grove_data(item->seed), item->size) != 0)
            return false;
    }
    return true;
}

struct visit {
    const struct grove *grove;
    struct census census;
    uint32_t number; /* of the item that comes next */
    bool matches;
};

static void visit_leaf(struct visit *visit, const struct block *leaf)
{
    const struct grove *grove = visit->grove;
    uint32_t nritems = block_nritems(leaf), max_items = grove->growth.max_items;
    expect(leaf_check(leaf, NULL) == 0, "%s", fail_message());
    expect(nritems > 0 || leaf->bytenr == grove->tree.bytenr, "an empty leaf (S4)");
    expect(!max_items || nritems <= max_items, "%u items in a leaf", nritems);
    expect(leaf_used(&grove->tree, leaf, 0, nritems) <= leaf_room(leaf), "a leaf over its limit");
    visit->census.leaves++;
    visit->census.items += nritems;
    visit->census.used += leaf_room(leaf) - leaf_free_space(leaf);
    visit->matches = visit->matches && leaf_matches(grove, leaf, &visit->number);
}

/* A block and what is below it. */
static void visit_below(struct visit *visit, uint64_t bytenr, uint8_t level, uint64_t generation,
                        const struct disk_key *first)
{
    const struct grove *grove = visit->grove;
    const struct block *block = grove_block(grove, bytenr);
    expect(block && block->bytenr == bytenr, "no block at %ju", (uintmax_t)bytenr);
    const struct block_header *header = block_header(block);
    uint32_t nritems = block_nritems(block), max_ptrs = grove->growth.max_ptrs;
    expect(from_le64(header->bytenr) == bytenr, "the block says another address (B2)");
    expect(header->level == level, "level %u, not %u (S3)", header->level, level);
    expect(block_generation(block) == generation, "not the pointer's generation (S2)");
    expect(generation <= grove->heap.generation, "a block of the future");
    expect(block_owner_id(block) == GROVE_TREE, "another owner");
    if (first && nritems > 0)
        expect(memcmp(block->data + sizeof *header, first, sizeof *first) == 0,
               "block %ju begins with another key than its pointer (S1)", (uintmax_t)bytenr);
    if (level == 0) {
        visit_leaf(visit, block);
        return;
    }
    expect(node_check(block, block->size) == 0, "%s", fail_message());
    expect(!max_ptrs || nritems <= max_ptrs, "%u pointers in a node", nritems);
    visit->census.nodes++;
    visit->census.lonely += nritems == 1;
    if (first && (!visit->census.least_ptrs || nritems < visit->census.least_ptrs))
        visit->census.least_ptrs = nritems;
    for (uint32_t slot = 0; slot < nritems; slot++) {
        const struct key_ptr *ptr = node_ptr(block, slot);
        visit_below(visit, from_le64(ptr->blockptr), (uint8_t)(level - 1),
                    from_le64(ptr->generation), &ptr->key);
    }
}

static struct visit visit_all(const struct grove *grove)
{
    const struct tree *tree = &grove->tree;
    struct visit visit = {.grove = grove, .matches = true};
    visit_below(&visit, tree->bytenr, tree->level, tree->generation, NULL);
    visit.matches = visit.matches && visit.census.items == grove->count;
    return visit;
}

bool grove_matches(struct grove *grove)
{
    return visit_all(grove).matches;
}

static int count_block(const struct block *block, void *context)
{
    struct census *census = context;
    if (block_level(block))
        census->nodes++;
    else
        census->leaves++;
    return 0;
}

static void check_counters(const struct grove *grove, const struct census *census)
{
    const struct heap_counters *heap = &grove->heap.counters;
    const struct growth_counters *growth = &grove->growth.counters;
    expect(grove->heap.held == 0, "%ju blocks are held", (uintmax_t)grove->heap.held);
    expect(census->leaves + census->nodes == heap->allocated - heap->freed,
           "%ju blocks in the tree, %ju made, %ju freed",
           (uintmax_t)(census->leaves + census->nodes), (uintmax_t)heap->allocated,
           (uintmax_t)heap->freed);
    expect(growth->items_inserted - growth->items_deleted == grove->count,
           "items are counted wrong");
    expect(heap->wasted <= heap->shadowed, "more wasted than shadowed");
    if (!grove->has_faults)
        expect(heap->allocated == 1 + growth->splits + growth->node_splits + growth->new_roots,
               "blocks are counted wrong");
}

/* --- items of any kind -------------------------------------------------------------- */

struct shapes {
    const struct grove *grove;
    const struct item_context *context;
};

static int check_shape(const struct block *block, void *context)
{
    const struct shapes *shapes = context;
    expect(block_nritems(block) > 0 || block->bytenr == shapes->grove->tree.bytenr, "empty (S4)");
    if (block_level(block) == 0)
        expect_success(leaf_check(block, shapes->context));
    return 0;
}

void grove_check_shapes(struct grove *grove, const struct item_context *context)
{
    struct shapes shapes = {grove, context};
    expect(grove->heap.held == 0, "blocks are held");
    expect_success(tree_walk(&grove->tree, check_shape, &shapes));
}

struct census grove_check(struct grove *grove)
{
    struct visit visit = visit_all(grove);
    expect(visit.matches, "the tree does not hold what the model holds");
    check_counters(grove, &visit.census);
    struct census walked = {0};
    expect_success(tree_walk(&grove->tree, count_block, &walked)); /* T1 to T6 */
    expect(walked.leaves == visit.census.leaves && walked.nodes == visit.census.nodes,
           "the walk meets other blocks");
    return visit.census;
}

/* --- snapshots ---------------------------------------------------------------------- */

static void shoot_below(struct snapshot *snapshot, const struct grove *grove, uint64_t bytenr)
{
    struct block *block = grove_block(grove, bytenr);
    struct shot *shot = &snapshot->shots[snapshot->count];
    unsigned char *bytes = snapshot->bytes + snapshot->count++ * block->size;
    *shot = (struct shot){block, bytenr, block_generation(block), bytes};
    memcpy(bytes, block->data, block->size);
    for (uint32_t slot = 0; block_level(block) > 0 && slot < block_nritems(block); slot++)
        shoot_below(snapshot, grove, from_le64(node_ptr(block, slot)->blockptr));
}

void snapshot_take(struct snapshot *snapshot, struct grove *grove)
{
    size_t blocks = grove->heap.counters.allocated - grove->heap.counters.freed;
    *snapshot = (struct snapshot){
        .shots = malloc(blocks * sizeof *snapshot->shots),
        .bytes = malloc(blocks * grove->heap.node_size),
        .wasted = grove->heap.counters.wasted,
        .shadowed = grove->heap.counters.shadowed,
    };
    watch_forget(&grove->watch);
    shoot_below(snapshot, grove, grove->tree.bytenr);
}

void snapshot_free(struct snapshot *snapshot)
{
    free(snapshot->shots);
    free(snapshot->bytes);
}

/* Where the block lies now in the tree, 0 where it is no more. */
static uint64_t find_below(const struct grove *grove, uint64_t bytenr, const struct block *wanted)
{
    const struct block *block = grove_block(grove, bytenr);
    if (block == wanted)
        return bytenr;
    uint64_t found = 0;
    for (uint32_t slot = 0; !found && block_level(block) > 0 && slot < block_nritems(block); slot++)
        found = find_below(grove, from_le64(node_ptr(block, slot)->blockptr), wanted);
    return found;
}

bool watch_dirtied(const struct watch *watch, const struct block *block)
{
    for (size_t i = 0; i < watch->ndirtied; i++)
        if (watch->dirtied[i] == block)
            return true;
    return false;
}

/* Apart from address and generation. */
static bool is_changed(const struct shot *shot, const struct block *block)
{
    unsigned char now[sizeof(struct block_header)];
    struct block_header *header = (struct block_header *)now;
    const struct block_header *before = (const struct block_header *)shot->bytes;
    memcpy(now, block->data, sizeof now);
    header->bytenr = before->bytenr;
    header->generation = before->generation;
    return memcmp(now, shot->bytes, sizeof now) != 0 ||
           memcmp(block->data + sizeof now, shot->bytes + sizeof now, block->size - sizeof now) !=
               0;
}

struct changes snapshot_compare(const struct snapshot *snapshot, struct grove *grove)
{
    struct changes changes = {.wasted = grove->heap.counters.wasted - snapshot->wasted};
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct shot *shot = &snapshot->shots[i];
        const struct block *block = grove_block(grove, shot->bytenr);
        if (block == shot->block) {
            expect(memcmp(block->data, shot->bytes, block->size) == 0,
                   "block %ju was changed and not claimed", (uintmax_t)shot->bytenr);
            changes.untouched++;
        } else if (find_below(grove, grove->tree.bytenr, shot->block)) {
            bool changed = is_changed(shot, shot->block);
            bool dirtied = watch_dirtied(&grove->watch, shot->block);
            expect(!changed || dirtied, "block %ju was changed and is not dirty",
                   (uintmax_t)shot->bytenr);
            changes.shadowed++;
            changes.unchanged += !dirtied;
            changes.restored += dirtied && !changed;
        } else {
            changes.freed++;
        }
    }
    expect(changes.unchanged <= changes.wasted &&
               changes.wasted <= changes.unchanged + changes.freed,
           "%ju wasted, %ju unchanged", (uintmax_t)changes.wasted, (uintmax_t)changes.unchanged);
    changes.wasted_freed = changes.wasted - changes.unchanged;
    return changes;
}

bool snapshot_is_same(const struct snapshot *snapshot, const struct grove *grove, uint64_t bytenr)
{
    for (size_t i = 0; i < snapshot->count; i++)
        if (snapshot->shots[i].bytenr == bytenr) {
            const struct block *block = grove_block(grove, bytenr);
            return block == snapshot->shots[i].block &&
                   memcmp(block->data, snapshot->shots[i].bytes, block->size) == 0;
        }
    return false;
}

/* --- steps -------------------------------------------------------------------------- */

static uint32_t item_most(const struct grove *grove)
{
    return grove->heap.node_size - (uint32_t)sizeof(struct block_header) -
           (uint32_t)sizeof(struct item_header);
}

/* The result for one item that is to be put in. */
static int expect_item(const struct grove *grove, const struct step_item *item)
{
    if (grove->items[item->number].is_there)
        return -EEXIST;
    return item->size > item_most(grove) ? -EOVERFLOW : 0;
}

static uint64_t count_range(const struct grove *grove, uint32_t first, uint32_t last)
{
    uint64_t count = 0;
    for (uint32_t i = first; i <= last; i++)
        count += grove->items[i].is_there;
    return count;
}

int step_expect(const struct grove *grove, const struct step *step, uint64_t *done)
{
    const struct step_item *item = &step->items[0];
    const struct grove_item *there = &grove->items[item->number];
    int result = 0;
    *done = 0;
    switch (step->kind) {
    case STEP_INSERT:
    case STEP_BATCH:
        for (; *done < step->count && result == 0; *done += result == 0)
            result = expect_item(grove, &step->items[*done]);
        return result;
    case STEP_EXTEND:
        result = !there->is_there                                        ? -ENOENT
                 : (uint64_t)there->size + item->size > item_most(grove) ? -EOVERFLOW
                                                                         : 0;
        break;
    case STEP_TRUNCATE:
    case STEP_DELETE:
        result = there->is_there ? 0 : -ENOENT;
        break;
    case STEP_CHANGE:
        result = there->is_there ? 0 : 1;
        break;
    case STEP_DELETE_RANGE:
        *done = count_range(grove, item->number, step->last);
        return 0;
    }
    *done = result == 0;
    return result;
}

static int change(struct grove *grove, const struct step_item *item)
{
    struct path path = {0};
    struct key key = grove_key(item->number);
    int result = tree_change(&grove->tree, &key, &path);
    if (result != 0) {
        expect(!path.nodes[grove->tree.level], "a path that is not released");
        return result;
    }
    uint32_t size = item_size(path.nodes[0], path.slots[0]);
    memcpy(item_data(path.nodes[0], path.slots[0]), grove_data(item->seed), size);
    grove->tree.source->dirty(grove->tree.source, path.nodes[0]);
    path_release(&grove->tree, &path);
    return 0;
}

/* NULL stands for zeros. */
static const void *data_of(const struct step_item *item, uint32_t from)
{
    return item->seed ? grove_data(item->seed) + from : NULL;
}

static int insert_batch(struct grove *grove, const struct step *step, uint64_t *done)
{
    struct item items[STEP_MOST];
    size_t inserted;
    for (uint32_t i = 0; i < step->count; i++)
        items[i] = (struct item){grove_key(step->items[i].number), data_of(&step->items[i], 0),
                                 step->items[i].size};
    int result = tree_insert_batch(&grove->tree, items, step->count, &inserted);
    *done = inserted;
    return result;
}

int step_do(struct grove *grove, const struct step *step, uint64_t *done)
{
    struct tree *tree = &grove->tree;
    const struct step_item *item = &step->items[0];
    struct key key = grove_key(item->number), last = grove_key(step->last);
    int result = 0;
    heap_operation(&grove->heap);
    switch (step->kind) {
    case STEP_INSERT:
        result = tree_insert(tree, &key, data_of(item, 0), item->size);
        break;
    case STEP_BATCH:
        return insert_batch(grove, step, done);
    case STEP_EXTEND:
        result =
            tree_extend(tree, &key, data_of(item, grove->items[item->number].size), item->size);
        break;
    case STEP_TRUNCATE:
        result = tree_truncate(tree, &key, item->size);
        break;
    case STEP_CHANGE:
        result = change(grove, item);
        break;
    case STEP_DELETE:
        result = grove->remove(tree, &key);
        break;
    case STEP_DELETE_RANGE:
        return grove->remove_range(tree, &key, &last, done);
    }
    *done = result == 0;
    return result;
}

void step_note(struct grove *grove, const struct step *step, uint64_t done)
{
    const struct step_item *item = &step->items[0];
    struct grove_item *there = &grove->items[item->number];
    if (done == 0)
        return;
    switch (step->kind) {
    case STEP_INSERT:
    case STEP_BATCH:
        for (uint64_t i = 0; i < done; i++)
            grove->items[step->items[i].number] =
                (struct grove_item){true, step->items[i].size, step->items[i].seed};
        grove->count += (uint32_t)done;
        return;
    case STEP_EXTEND:
        there->size += item->size;
        return;
    case STEP_TRUNCATE:
        there->size = item->size;
        return;
    case STEP_CHANGE:
        there->seed = item->seed;
        return;
    case STEP_DELETE:
        there->is_there = false;
        grove->count--;
        return;
    case STEP_DELETE_RANGE:
        for (uint32_t i = item->number; i <= step->last && done > 0; i++) {
            done -= grove->items[i].is_there;
            grove->count -= grove->items[i].is_there;
            grove->items[i].is_there = false;
        }
        return;
    }
}

bool step_is_void(const struct grove *grove, const struct step *step)
{
    const struct grove_item *there = &grove->items[step->items[0].number];
    switch (step->kind) {
    case STEP_EXTEND:
        return step->items[0].size == 0;
    case STEP_TRUNCATE:
        return step->items[0].size == there->size;
    case STEP_CHANGE:
        return memcmp(grove_data(step->items[0].seed), grove_data(there->seed), there->size) == 0;
    case STEP_INSERT:
    case STEP_BATCH:
    case STEP_DELETE:
    case STEP_DELETE_RANGE:
        break;
    }
    return false;
}

/* --- random steps ------------------------------------------------------------------- */

static uint32_t pick_size(struct grove *grove, const struct season *season)
{
    uint64_t die = dice_below(&grove->dice, 200);
    uint32_t most = item_most(grove);
    if (die == 0)
        return most - (uint32_t)dice_below(&grove->dice, 3);
    if (die == 1)
        return most + 1 + (uint32_t)dice_below(&grove->dice, 4);
    if (die < 6)
        return (uint32_t)dice_below(&grove->dice, most);
    if (die < 30)
        return (uint32_t)dice_below(&grove->dice, most / 4);
    if (die < 40)
        return 0;
    return (uint32_t)dice_below(&grove->dice, season->size + 1);
}

static uint32_t pick_seed(struct grove *grove)
{
    return dice_below(&grove->dice, 8) ? 1 + (uint32_t)dice_below(&grove->dice, SEEDS - 1) : 0;
}

/* A number that is most often one of an item, where the tree is not very sparse. */
static uint32_t pick_there(struct grove *grove)
{
    uint32_t number = 1 + (uint32_t)dice_below(&grove->dice, grove->keys - 1);
    for (unsigned tries = 0; tries < 64 && !grove->items[number].is_there; tries++)
        number = number + 1 < grove->keys ? number + 1 : 1;
    return number;
}

static void pick_items(struct grove *grove, const struct season *season, struct step *step)
{
    uint32_t number = 1 + (uint32_t)dice_below(&grove->dice, grove->keys - 1);
    uint64_t way = dice_below(&grove->dice, 8);
    if (season->in_order && way > 0) { /* behind the last */
        for (number = grove->keys - 1; number > 1 && !grove->items[number - 1].is_there;)
            number--;
    } else if (way < 5) { /* beside an item, or between two */
        for (unsigned tries = 0; tries < 16 && grove->items[number].is_there; tries++)
            number = number + 1 < grove->keys ? number + 1 : 1;
    }
    uint32_t wanted =
        step->kind == STEP_BATCH ? 1 + (uint32_t)dice_below(&grove->dice, STEP_MOST) : 1;
    uint32_t stride = 1 + (uint32_t)dice_below(&grove->dice, 3);
    for (step->count = 0; step->count < wanted && number < grove->keys; number += stride)
        step->items[step->count++] =
            (struct step_item){number, pick_size(grove, season), pick_seed(grove)};
}

static enum step_kind pick_kind(struct grove *grove, bool growing)
{
    uint64_t die = dice_below(&grove->dice, 100);
    if (grove->remove && die < (growing ? 20 : 55))
        return die == 0 ? STEP_DELETE_RANGE : STEP_DELETE;
    die = dice_below(&grove->dice, 100);
    return die < 70   ? STEP_INSERT
           : die < 75 ? STEP_BATCH
           : die < 86 ? STEP_EXTEND
           : die < 95 ? STEP_TRUNCATE
                      : STEP_CHANGE;
}

struct step step_pick(struct grove *grove, const struct season *season, bool growing)
{
    struct step step = {.kind = pick_kind(grove, growing), .count = 1};
    struct step_item *item = &step.items[0];
    if (step.kind == STEP_INSERT || step.kind == STEP_BATCH) {
        pick_items(grove, season, &step);
        return step;
    }
    *item = (struct step_item){pick_there(grove), 0, pick_seed(grove)};
    const struct grove_item *there = &grove->items[item->number];
    if (step.kind == STEP_EXTEND) {
        item->seed = there->seed;
        item->size = pick_size(grove, season);
        if (dice_below(&grove->dice, 8) == 0 && there->size <= item_most(grove)) /* to the brim */
            item->size = item_most(grove) - there->size + (uint32_t)dice_below(&grove->dice, 2);
        if (dice_below(&grove->dice, 500) == 0)
            item->size = UINT32_MAX - (uint32_t)dice_below(&grove->dice, 5000);
    } else if (step.kind == STEP_TRUNCATE) {
        item->size = (uint32_t)dice_below(&grove->dice, there->size + 1);
    } else if (step.kind == STEP_DELETE_RANGE) {
        step.last = item->number + (uint32_t)dice_below(&grove->dice, grove->keys / 8);
        if (step.last >= grove->keys)
            step.last = grove->keys - 1;
    }
    return step;
}

/* Starts again with an empty tree, on the same heap. */
static void restart(struct grove *grove)
{
    struct growth growth = grove->growth;
    struct dice dice = grove->dice;
    int (*remove)(struct tree *, const struct key *) = grove->remove;
    int (*remove_range)(struct tree *, const struct key *, const struct key *, uint64_t *) =
        grove->remove_range;
    uint32_t node_size = grove->heap.node_size, keys = grove->keys;
    grove_close(grove);
    growth.counters = (struct growth_counters){0};
    grove_open(grove, node_size, &growth, 0);
    grove->dice = dice;
    grove->remove = remove;
    grove->remove_range = remove_range;
    grove->keys = keys;
}

static void check_step(struct grove *grove, const struct step *step, struct season_sums *sums)
{
    uint64_t wanted, done = 0;
    int result = step_expect(grove, step, &wanted), got = step_do(grove, step, &done);
    expect(got == result, "step %ju, kind %d: %d, not %d: %s", (uintmax_t)sums->steps,
           (int)step->kind, got, result, fail_message());
    expect(done == wanted, "step %ju, kind %d: %ju, not %ju", (uintmax_t)sums->steps,
           (int)step->kind, (uintmax_t)done, (uintmax_t)wanted);
    expect(grove->heap.held == 0, "a block is held after kind %d", (int)step->kind);
    step_note(grove, step, done);
    sums->refused += result != 0;
    sums->steps++;
}

/* Without shadow_first what is claimed is changed, or freed where nodes are not balanced. With
 * one exception: where the root is a leaf, and what comes before or behind all goes into a new
 * one, the old root is claimed and stays as it was. */
static void check_waste(const struct grove *grove, const struct changes *changes, uint8_t level)
{
    bool is_new_root = level == 0 && grove->tree.level > 0;
    if (grove->growth.shadow_first)
        return;
    expect(changes->unchanged <= is_new_root, "%ju shadows are wasted",
           (uintmax_t)changes->unchanged);
    expect(changes->wasted_freed == 0 || !grove->growth.policy->balance,
           "%ju blocks were claimed, then freed", (uintmax_t)changes->wasted_freed);
}

void grove_live(struct grove *grove, const struct season *season, struct season_sums *sums)
{
    bool growing = true;
    grove->keys = season->keys;
    for (uint64_t i = 1; i <= season->steps; i++) {
        struct step step = step_pick(grove, season, growing);
        struct snapshot snapshot = {0};
        bool is_void = step_is_void(grove, &step);
        uint8_t level = grove->tree.level;
        if (season->snapshots || dice_below(&grove->dice, season->commit_one_in) == 0)
            heap_commit(&grove->heap);
        if (season->snapshots)
            snapshot_take(&snapshot, grove);
        check_step(grove, &step, sums);
        if (season->snapshots) {
            struct changes changes = snapshot_compare(&snapshot, grove);
            check_waste(grove, &changes, level);
            sums->wasted += changes.wasted;
            sums->wasted_freed += changes.wasted_freed;
            sums->restored += is_void ? 0 : changes.restored;
        }
        snapshot_free(&snapshot);
        if (i % season->check_every == 0) {
            grove_check(grove);
            sums->checks++;
        }
        if (grove->tree.level > sums->highest)
            sums->highest = grove->tree.level;
        if (grove->count >= season->most || (!grove->remove && grove->tree.level > 5)) {
            growing = false;
            sums->restarts++;
            if (!grove->remove) {
                grove_check(grove);
                restart(grove);
            }
        } else if (!growing && dice_below(&grove->dice, 400) == 0) {
            growing = true;
        }
        if (grove->count == 0)
            growing = true;
    }
    grove_check(grove);
}

/* --- faults ------------------------------------------------------------------------- */

/* How the n-th call fails, and which. */
enum fault_kind { FAULT_GET, FAULT_OWN, FAULT_MALLOC, FAULT_KINDS };

static const int fault_errors[] = {-EIO, -ENOSPC, -ENOMEM};

/* After an error the tree holds what it held before, or the result, or with many items a part. */
static bool after_fault(struct grove *copy, const struct step *step, uint64_t done)
{
    bool is_deletion = step->kind == STEP_DELETE || step->kind == STEP_DELETE_RANGE;
    uint64_t all;
    step_expect(copy, step, &all);
    step_note(copy, step, done);
    if (grove_matches(copy))
        return done == all && is_deletion;
    expect(is_deletion, "kind %d: an error, and the items are others", (int)step->kind);
    /* One run more may be gone than is said. */
    while (done < all && !grove_matches(copy)) {
        struct step rest = *step;
        step_note(copy, &rest, 1);
        done++;
    }
    expect(grove_matches(copy), "kind %d: an error, and the items are others", (int)step->kind);
    return done == all;
}

static int do_failing(struct grove *copy, const struct step *step, enum fault_kind kind,
                      uint64_t first, uint64_t failing, uint64_t *calls, uint64_t *done)
{
    struct watch *watch = &copy->watch;
    uint64_t memory = 0;
    int result;
    watch->gets = (struct watch_calls){0, kind == FAULT_GET ? first : UINT64_MAX, failing};
    watch->owns = (struct watch_calls){0, kind == FAULT_OWN ? first : UINT64_MAX, failing};
    watch->is_stingy = kind == FAULT_MALLOC;
    if (kind == FAULT_MALLOC)
        faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, first, failing});
    result = step_do(copy, step, done);
    if (kind == FAULT_MALLOC)
        memory = faults_end();
    *calls = kind == FAULT_GET ? watch->gets.calls : kind == FAULT_OWN ? watch->owns.calls : memory;
    watch->gets = watch->owns = (struct watch_calls){0, UINT64_MAX, 0};
    watch->is_stingy = false;
    return result;
}

/* One fault; whether it was met. */
static bool fail_once(const struct grove *grove, const struct step *step, enum fault_kind kind,
                      uint64_t first, uint64_t failing)
{
    static struct grove copy;
    uint64_t calls, done = 0, wanted;
    int64_t pieces = memory_pieces();
    grove_copy(&copy, grove);
    int wanted_result = step_expect(&copy, step, &wanted);
    fail(EINVAL, "nothing");
    int result = do_failing(&copy, step, kind, first, failing, &calls, &done);
    bool is_met = calls > first;
    if (result != wanted_result) {
        expect(is_met && result == fault_errors[kind], "fault %ju of kind %d: %d, not %d: %s",
               (uintmax_t)first, (int)kind, result, fault_errors[kind], fail_message());
        expect(strcmp(fail_message(), "nothing") != 0, "no message");
        bool is_done = after_fault(&copy, step, done);
        copy.growth.counters.items_inserted = copy.count;
        copy.growth.counters.items_deleted = 0;
        grove_check(&copy);
        if (!is_done) { /* and once more, without fault */
            struct step rest = *step;
            if (step->kind == STEP_BATCH) {
                rest.count -= (uint32_t)done;
                memmove(rest.items, rest.items + done, rest.count * sizeof *rest.items);
            }
            struct season_sums sums = {0};
            check_step(&copy, &rest, &sums);
        }
    } else {
        expect(done == wanted, "%ju, not %ju", (uintmax_t)done, (uintmax_t)wanted);
        step_note(&copy, step, done);
    }
    grove_check(&copy);
    grove_close(&copy);
    expect(memory_pieces() == pieces, "%jd pieces of memory are lost",
           (intmax_t)(memory_pieces() - pieces));
    return is_met;
}

uint64_t grove_fail(struct grove *grove, const struct step *step)
{
    uint64_t faults = 0;
    for (enum fault_kind kind = 0; kind < FAULT_KINDS; kind++) {
        for (uint64_t first = 0; fail_once(grove, step, kind, first, 1); first++)
            faults++;
        for (uint64_t first = 0; fail_once(grove, step, kind, first, FAULTS_WITHOUT_END); first++)
            faults++;
    }
    struct season_sums sums = {0};
    check_step(grove, step, &sums);
    return faults;
}
