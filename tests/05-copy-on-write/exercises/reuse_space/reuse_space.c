/* Exercise of chapter 05: a space that uses addresses again.
 *
 * What is missing is in free_block and in committed. Of this stub W1 holds; but what is given up is
 * lost, and so is what an aborted transaction has taken. */
#include "reuse_space.h"

#include "fail.h"

static int alloc(struct space *space, struct tree *tree, uint8_t level, uint64_t *bytenr)
{
    struct reuse_space *reuse = (struct reuse_space *)space;
    (void)level;
    if (reuse->free.count == 0)
        return fail(ENOSPC, "no space for a block of tree %" PRId64, (int64_t)tree->id);
    *bytenr = reuse->free.ranges[0].start;
    int result = range_set_remove(&reuse->free, *bytenr, *bytenr + reuse->node_size);
    return result < 0 ? result : range_set_add(&reuse->taken, *bytenr, *bytenr + reuse->node_size);
}

/* May the address be given out at once, or not before the commit? */
static int free_block(struct space *space, struct tree *tree, const struct block *block)
{
    (void)space, (void)tree, (void)block;
    return 0;
}

/* Which addresses are free now? They are not the same for the two ends of a transaction. */
static void committed(struct space *space, bool is_on_device)
{
    struct reuse_space *reuse = (struct reuse_space *)space;
    (void)is_on_device;
    range_set_close(&reuse->taken);
    range_set_close(&reuse->pinned);
}

static int shared(struct space *space, struct tree *tree, const struct block *block)
{
    (void)space, (void)tree, (void)block;
    return 0;
}

static int settle(struct space *space)
{
    (void)space;
    return 0;
}

int reuse_space_open(struct reuse_space *reuse, const struct bump_space *bump)
{
    *reuse = (struct reuse_space){
        .space = {alloc, free_block, shared, settle, committed, NULL},
        .node_size = bump->node_size,
    };
    return range_set_add(&reuse->free, bump->next, bump->end);
}

void reuse_space_close(struct reuse_space *reuse)
{
    range_set_close(&reuse->free);
    range_set_close(&reuse->taken);
    range_set_close(&reuse->pinned);
}
