#include "write_source.h"

#include "fail.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct source_block {
    struct block block; /* must be first */
    uint32_t holds;
    bool is_kept; /* of the transaction */
};

static struct source_block *source_block_of(const struct block *block)
{
    return (struct source_block *)(uintptr_t)block;
}

/* --- the blocks of the transaction, by address -------------------------------------- */

static int compare_bytenr(const void *a, const void *b)
{
    const struct block *one = a, *other = b;
    return one->bytenr < other->bytenr ? -1 : one->bytenr > other->bytenr;
}

static int keep(struct write_source *source, struct source_block *at)
{
    if (!tsearch(&at->block, &source->blocks, compare_bytenr))
        return fail(ENOMEM, "out of memory for block %" PRIu64, at->block.bytenr);
    at->is_kept = true;
    source->count++;
    return 0;
}

static struct source_block *kept_block(struct write_source *source, uint64_t bytenr)
{
    struct block wanted = {.bytenr = bytenr};
    struct block **found = tfind(&wanted, &source->blocks, compare_bytenr);
    return found ? source_block_of(*found) : NULL;
}

/* NULL: no memory. */
static struct source_block *new_block(struct write_source *source, uint64_t bytenr)
{
    uint32_t nodesize = from_le32(source->reads->super->nodesize);
    struct source_block *at = malloc(sizeof *at + nodesize);
    if (!at) {
        fail(ENOMEM, "out of memory for block %" PRIu64, bytenr);
        return NULL;
    }
    *at = (struct source_block){
        .block = {.data = (unsigned char *)(at + 1), .size = nodesize, .bytenr = bytenr},
    };
    return at;
}

/* --- the seam ----------------------------------------------------------------------- */

static void hold(struct write_source *source, struct source_block *at, struct block **block)
{
    at->holds++;
    source->held++;
    *block = &at->block;
}

static int get_block(struct block_source *base, uint64_t bytenr,
                     const struct block_promise *promise, struct block **block)
{
    struct write_source *source = (struct write_source *)base;
    struct source_block *at = kept_block(source, bytenr);
    if (at) {
        assert(block_level(&at->block) == promise->level);
        assert(block_generation(&at->block) == promise->generation);
        hold(source, at, block);
        return 0;
    }
    at = new_block(source, bytenr);
    if (!at)
        return -ENOMEM;
    int result = read_source_fill(source->reads, promise, &at->block);
    if (result < 0)
        free(at);
    else
        hold(source, at, block);
    return result;
}

static void put_block(struct block_source *base, struct block *block)
{
    struct source_block *at = source_block_of(block);
    assert(at->holds > 0);
    ((struct write_source *)base)->held--;
    if (--at->holds == 0 && !at->is_kept)
        free(at);
}

static void dirty_block(struct block_source *base, struct block *block)
{
    (void)base;
    assert(source_block_of(block)->is_kept);
}

/* --- what the transaction asks ------------------------------------------------------ */

int write_source_fresh(struct write_source *source, uint64_t bytenr, struct block **block)
{
    assert(!kept_block(source, bytenr));
    struct source_block *at = new_block(source, bytenr);
    if (!at)
        return -ENOMEM;
    memset(at->block.data, 0, at->block.size);
    int result = keep(source, at);
    if (result < 0)
        free(at);
    else
        hold(source, at, block);
    return result;
}

int write_source_move(struct write_source *source, struct block *block, uint64_t bytenr)
{
    struct source_block *at = source_block_of(block);
    uint64_t before = block->bytenr;
    assert(!at->is_kept && at->holds == 1);
    block->bytenr = bytenr;
    int result = keep(source, at);
    if (result < 0)
        block->bytenr = before;
    return result;
}

void write_source_forget(struct write_source *source, struct block *block)
{
    struct source_block *at = source_block_of(block);
    assert(at->holds == 1);
    if (at->is_kept) {
        tdelete(block, &source->blocks, compare_bytenr);
        at->is_kept = false;
        source->count--;
    }
    put_block(&source->source, block);
}

struct visit {
    int (*visit)(struct block *block, void *context);
    void *context;
    int result;
};

static void visit_node(const void *node, VISIT order, void *closure)
{
    struct visit *visit = closure;
    struct block *const *block = node;
    if ((order == postorder || order == leaf) && visit->result == 0)
        visit->result = visit->visit(*block, visit->context);
}

int write_source_each(struct write_source *source, int (*visit)(struct block *block, void *context),
                      void *context)
{
    struct visit all = {visit, context, 0};
    twalk_r(source->blocks, visit_node, &all);
    return all.result;
}

void write_source_open(struct write_source *source, struct read_source *reads)
{
    *source = (struct write_source){
        .source = {.get = get_block, .put = put_block, .dirty = dirty_block},
        .reads = reads,
    };
}

void write_source_close(struct write_source *source)
{
    assert(source->held == 0);
    tdestroy(source->blocks, free);
    source->blocks = NULL;
    source->count = 0;
}
