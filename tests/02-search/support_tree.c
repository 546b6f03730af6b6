#include "support_tree.h"

#include "fail.h"
#include "support_leaf.h"

#include <stdlib.h>
#include <string.h>

/* --- the source --------------------------------------------------------------------- */

static int get(struct block_source *block_source, uint64_t bytenr,
               const struct block_promise *promise, struct block **block)
{
    struct test_source *source = (struct test_source *)block_source;
    uint64_t index = bytenr / TEST_NODE_SIZE - 1;
    if (source->tries++ >= source->failing)
        return fail(EIO, "get fails");
    if (bytenr % TEST_NODE_SIZE || index >= source->count || !source->blocks[index])
        return fail(EUCLEAN, "there is no block %" PRIu64, bytenr);
    struct block *copy = malloc(sizeof *copy + TEST_NODE_SIZE);
    *copy = source_block(source, bytenr);
    copy->data = memcpy(copy + 1, source->blocks[index], TEST_NODE_SIZE);
    int result = block_level(copy) ? node_check(copy, 4096) : leaf_check(copy, NULL);
    if (result == 0)
        result = block_fulfils(copy, promise);
    if (result < 0) {
        free(copy);
        return result;
    }
    expect(source->nout < BLOCKS_OUT, "too many blocks are out");
    source->out[source->nout++] = copy;
    source->gets++;
    *block = copy;
    return 0;
}

static void put(struct block_source *block_source, struct block *block)
{
    struct test_source *source = (struct test_source *)block_source;
    unsigned i = 0;
    while (i < source->nout && source->out[i] != block)
        i++;
    expect(i < source->nout, "put of a block that is not out");
    source->out[i] = source->out[--source->nout];
    source->puts++;
    free(block);
}

void source_open(struct test_source *source)
{
    *source = (struct test_source){.source = {get, put}, .failing = UINT64_MAX};
}

void source_close(struct test_source *source)
{
    expect(source->nout == 0 && source->gets == source->puts, "%u blocks are still out",
           source->nout);
    for (uint32_t i = 0; i < source->count; i++)
        free(source->blocks[i]);
    free(source->blocks);
}

struct block source_block(const struct test_source *source, uint64_t bytenr)
{
    return (struct block){
        .data = source->blocks[bytenr / TEST_NODE_SIZE - 1],
        .size = TEST_NODE_SIZE,
        .bytenr = bytenr,
    };
}

uint64_t path_index(const struct path *path)
{
    return from_le64(*(const le64 *)item_data(path->nodes[0], path->slots[0]));
}

/* --- building ----------------------------------------------------------------------- */

struct block make_node(uint32_t size, uint8_t level)
{
    struct block node = make_leaf(size);
    block_header(&node)->level = level;
    return node;
}

void node_append(struct block *node, struct key key, uint64_t bytenr, uint64_t generation)
{
    uint32_t nritems = block_nritems(node);
    expect(nritems < node_capacity(node->size), "the node is full");
    *node_ptr(node, nritems) =
        (struct key_ptr){key_to_disk(&key), to_le64(bytenr), to_le64(generation)};
    block_header(node)->nritems = to_le32(nritems + 1);
}

/* An address for the block, which is the source's from here on. */
static void keep_block(struct test_source *source, struct block *block)
{
    source->blocks = realloc(source->blocks, (source->count + 1) * sizeof *source->blocks);
    source->blocks[source->count++] = block->data;
    block->bytenr = (uint64_t)source->count * TEST_NODE_SIZE;
    block_header(block)->bytenr = to_le64(block->bytenr);
}

struct child {
    struct key key;
    uint64_t bytenr;
};

static uint32_t pick(uint32_t most, bool ragged, struct dice *dice)
{
    return ragged ? 1 + (uint32_t)dice_below(dice, most) : most;
}

void build_tree(struct test_source *source, struct tree *tree, const struct key *keys, size_t count,
                const struct shape *shape, struct dice *dice)
{
    struct child *children = malloc((count + 1) * sizeof *children);
    size_t nchildren = 0, next = 0;
    do {
        struct block leaf = make_leaf(TEST_NODE_SIZE);
        uint32_t most = pick(shape->items, shape->ragged, dice);
        children[nchildren].key = count ? keys[next] : (struct key){0};
        for (; most > 0 && next < count; most--, next++) {
            le64 index = to_le64(next);
            leaf_append(&leaf, keys[next], &index, sizeof index);
        }
        keep_block(source, &leaf);
        children[nchildren++].bytenr = leaf.bytenr;
    } while (next < count);

    uint8_t level = 0;
    while (nchildren > 1) {
        size_t nparents = 0;
        level++;
        for (next = 0; next < nchildren;) {
            struct block node = make_node(TEST_NODE_SIZE, level);
            uint32_t most = pick(shape->pointers, shape->ragged, dice);
            struct key first = children[next].key;
            for (; most > 0 && next < nchildren; most--, next++)
                node_append(&node, children[next].key, children[next].bytenr, 7);
            keep_block(source, &node);
            children[nparents++] = (struct child){first, node.bytenr};
        }
        nchildren = nparents;
    }
    *tree = (struct tree){
        .source = &source->source,
        .id = FIRST_FREE_OBJECTID,
        .bytenr = children[0].bytenr,
        .level = level,
        .generation = 7,
    };
    free(children);
}
