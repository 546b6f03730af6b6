#include "heap.h"

#include "fail.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct heap_block {
    struct block block;
    uint32_t holds;
    bool is_unchanged;  /* shadowed in this transaction, and not changed since */
    uint64_t operation; /* the last one that changed it */
};

static struct heap_block *heap_block_of(struct block *block)
{
    return (struct heap_block *)block; /* its first member */
}

static struct heap *heap_of_owner(struct block_owner *owner)
{
    return (struct heap *)((char *)owner - offsetof(struct heap, owner));
}

/* --- addresses ---------------------------------------------------------------------- */

/* Sees to it that there is a next address. */
static int reserve_address(struct heap *heap)
{
    if (heap->count < heap->capacity)
        return 0;
    size_t capacity = heap->capacity ? 2 * heap->capacity : 64;
    struct heap_block **blocks = realloc(heap->blocks, capacity * sizeof(struct heap_block *));
    if (!blocks)
        return fail(ENOMEM, "out of memory for %zu block addresses", capacity);
    heap->blocks = blocks;
    heap->capacity = capacity;
    if (heap->count == 0)
        heap->blocks[heap->count++] = NULL;
    return 0;
}

/* Gives the block the next address. */
static void take_address(struct heap *heap, struct heap_block *at)
{
    at->block.bytenr = heap->count * heap->node_size;
    heap->blocks[heap->count++] = at;
}

/* --- the source --------------------------------------------------------------------- */

static int check(const struct block *block, const struct block_promise *promise)
{
    int result = block_level(block) ? node_check(block, block->size) : leaf_check(block, NULL);
    return result < 0 ? result : block_fulfils(block, promise);
}

static int heap_get(struct block_source *source, uint64_t bytenr,
                    const struct block_promise *promise, struct block **block)
{
    struct heap *heap = (struct heap *)source;
    assert(bytenr / heap->node_size < heap->count);
    struct heap_block *at = heap->blocks[bytenr / heap->node_size];
    /* The number of items is what a search wants first. */
    __builtin_prefetch(&((struct block_header *)(at + 1))->nritems);
    assert(at && at->block.bytenr == bytenr);
    if (heap->is_checking) {
        int result = check(&at->block, promise);
        if (result < 0)
            return result;
    }
    at->holds++;
    heap->held++;
    *block = &at->block;
    return 0;
}

static void heap_put(struct block_source *source, struct block *block)
{
    struct heap *heap = (struct heap *)source;
    struct heap_block *at = heap_block_of(block);
    assert(at->holds > 0);
    at->holds--;
    heap->held--;
}

static void heap_dirty(struct block_source *source, struct block *block)
{
    struct heap *heap = (struct heap *)source;
    struct heap_block *at = heap_block_of(block);
    assert(block_generation(block) == heap->generation);
    if (at->is_unchanged) {
        at->is_unchanged = false;
        heap->counters.wasted--;
    }
    if (block_level(block) == 0 && at->operation != heap->operation) {
        at->operation = heap->operation;
        heap->counters.leaves_dirtied++;
    }
}

/* --- the owner ---------------------------------------------------------------------- */

static int heap_claim(struct block_owner *owner, struct tree *tree, struct block **block)
{
    (void)tree;
    struct heap *heap = heap_of_owner(owner);
    if (block_generation(*block) == heap->generation)
        return 0;
    int result = reserve_address(heap);
    if (result < 0)
        return result;
    struct heap_block *at = heap_block_of(*block);
    heap->blocks[at->block.bytenr / heap->node_size] = NULL;
    take_address(heap, at);
    block_header(*block)->bytenr = to_le64(at->block.bytenr);
    block_header(*block)->generation = to_le64(heap->generation);
    at->is_unchanged = true;
    heap->counters.shadowed++;
    heap->counters.wasted++; /* until it is changed */
    heap->counters.leaves_written += block_level(*block) == 0;
    return 0;
}

static int heap_allocate(struct block_owner *owner, struct tree *tree, uint8_t level,
                         struct block **block)
{
    struct heap *heap = heap_of_owner(owner);
    int result = reserve_address(heap);
    if (result < 0)
        return result;
    struct heap_block *at = malloc(sizeof *at + heap->node_size);
    if (!at)
        return fail(ENOMEM, "out of memory for a block of %u bytes", heap->node_size);
    *at = (struct heap_block){
        .block = {.data = (unsigned char *)(at + 1), .size = heap->node_size},
        .holds = 1,
    };
    take_address(heap, at);
    leaf_init(&at->block, heap->generation, tree->id);
    block_header(&at->block)->level = level;
    heap->held++;
    heap->counters.allocated++;
    heap->counters.leaves_written += level == 0;
    *block = &at->block;
    return 0;
}

static void heap_free(struct block_owner *owner, struct tree *tree, struct block *block)
{
    (void)tree;
    struct heap *heap = heap_of_owner(owner);
    struct heap_block *at = heap_block_of(block);
    assert(at->holds == 1);
    heap->blocks[block->bytenr / heap->node_size] = NULL;
    heap->held--;
    heap->counters.wasted -= at->is_unchanged; /* it will not be written */
    heap->counters.freed++;
    free(at);
}

/* --- the heap ----------------------------------------------------------------------- */

void heap_open(struct heap *heap, uint32_t node_size)
{
    *heap = (struct heap){
        .source = {.get = heap_get, .put = heap_put, .dirty = heap_dirty},
        .owner = {.claim = heap_claim, .allocate = heap_allocate, .free = heap_free},
        .node_size = node_size,
        .generation = 1,
        .operation = 1,
    };
}

void heap_close(struct heap *heap)
{
    assert(heap->held == 0);
    for (size_t i = 0; i < heap->count; i++)
        free(heap->blocks[i]);
    free(heap->blocks);
}

int heap_tree(struct heap *heap, struct tree *tree, uint64_t id, struct growth *growth)
{
    struct block *root;
    *tree = (struct tree){.source = &heap->source, .id = id, .growth = growth};
    growth->owner = &heap->owner;
    int result = heap_allocate(&heap->owner, tree, 0, &root);
    if (result < 0)
        return result;
    tree->bytenr = root->bytenr;
    tree->generation = heap->generation;
    heap_put(&heap->source, root);
    return 0;
}

void heap_commit(struct heap *heap)
{
    heap->generation++;
    heap_operation(heap);
}

void heap_operation(struct heap *heap)
{
    heap->operation++;
}
