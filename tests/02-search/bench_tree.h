/* A tree in memory for the benchmarks: built from its keys, bottom up, with full leaves and full
 * nodes; only the last block of each level may be less than full. Its blocks lie side by side in
 * one piece of memory, and its block_source hands out pointers into it.
 *
 * The keys are those of small files: three items an inode, in the order of the inode numbers. */
#ifndef BENCH_TREE_H
#define BENCH_TREE_H

#include "fail.h"
#include "tree.h"

#include <stdlib.h>
#include <string.h>

enum {
    BENCH_DATA = 53, /* bytes of data of each item */
    BENCH_GENERATION = 1,
};

static inline struct key bench_key(uint64_t number)
{
    static const uint8_t types[] = {INODE_ITEM_KEY, INODE_REF_KEY, EXTENT_DATA_KEY};
    return (struct key){
        .objectid = FIRST_FREE_OBJECTID + number / 3,
        .type = types[number % 3],
    };
}

static inline uint32_t bench_leaf_capacity(uint32_t node_size)
{
    return (node_size - (uint32_t)sizeof(struct block_header)) /
           ((uint32_t)sizeof(struct item_header) + BENCH_DATA);
}

struct bench_tree {
    struct block_source source;
    struct tree tree;
    uint32_t node_size;
    uint64_t items;
    struct block *blocks; /* the leaves, then the nodes, level by level; the root is the last */
    unsigned char *bytes;
    uint64_t blocks_most, bytes_most; /* what there is memory for */
    uint64_t count;                   /* of blocks built */
    bool keeps_promises;              /* get holds each block to its promise */
};

/* --- the source --------------------------------------------------------------------- */

static inline int bench_tree_get(struct block_source *source, uint64_t bytenr,
                                 const struct block_promise *promise, struct block **block)
{
    struct bench_tree *built = (struct bench_tree *)source;
    *block = &built->blocks[bytenr / built->node_size - 1];
    return built->keeps_promises ? block_fulfils(*block, promise) : 0;
}

static inline void bench_tree_put(struct block_source *source, struct block *block)
{
    (void)source;
    (void)block;
}

/* --- building ----------------------------------------------------------------------- */

/* The next block, empty. Block i lies at address (i + 1) * node_size. */
static inline struct block *bench_tree_fresh(struct bench_tree *built, uint8_t level)
{
    struct block *block = &built->blocks[built->count];
    *block = (struct block){
        .data = built->bytes + built->count * built->node_size,
        .size = built->node_size,
        .bytenr = (built->count + 1) * built->node_size,
    };
    built->count++;
    leaf_init(block, BENCH_GENERATION, FS_TREE_OBJECTID);
    block_header(block)->level = level;
    return block;
}

static inline int bench_tree_leaves(struct bench_tree *built)
{
    uint32_t capacity = bench_leaf_capacity(built->node_size);
    for (uint64_t number = 0; number < built->items;) {
        struct block *leaf = bench_tree_fresh(built, 0);
        for (uint32_t slot = 0; slot < capacity && number < built->items; slot++, number++) {
            struct key key = bench_key(number);
            int result = leaf_insert(leaf, slot, &key, NULL, BENCH_DATA);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

/* The nodes above the blocks [first, end). */
static inline void bench_tree_nodes(struct bench_tree *built, uint64_t first, uint64_t end,
                                    uint8_t level)
{
    uint32_t capacity = node_capacity(built->node_size);
    while (first < end) {
        struct block *node = bench_tree_fresh(built, level);
        uint32_t slot = 0;
        for (; slot < capacity && first < end; slot++, first++) {
            const struct block *child = &built->blocks[first];
            struct key key = block_level(child) ? node_key(child, 0) : leaf_key(child, 0);
            *node_ptr(node, slot) = (struct key_ptr){
                .key = key_to_disk(&key),
                .blockptr = to_le64(child->bytenr),
                .generation = to_le64(BENCH_GENERATION),
            };
        }
        block_header(node)->nritems = to_le32(slot);
    }
}

/* How many blocks the tree will have. */
static inline uint64_t bench_tree_size(uint32_t node_size, uint64_t items)
{
    uint32_t in_leaf = bench_leaf_capacity(node_size), in_node = node_capacity(node_size);
    uint64_t row = (items + in_leaf - 1) / in_leaf, blocks = row;
    while (row > 1) {
        row = (row + in_node - 1) / in_node;
        blocks += row;
    }
    return blocks;
}

/* Memory for trees of up to `items` items in blocks of `node_size` bytes, which is enough for
 * larger blocks too; to be closed in any case. 0 or ENOMEM. */
static inline int bench_tree_open(struct bench_tree *built, uint32_t node_size, uint64_t items)
{
    uint64_t blocks = bench_tree_size(node_size, items);
    *built = (struct bench_tree){
        .source = {.get = bench_tree_get, .put = bench_tree_put},
        .blocks = malloc(blocks * sizeof(struct block)),
        .bytes = malloc(blocks * node_size),
        .blocks_most = blocks,
        .bytes_most = blocks * node_size,
    };
    return built->blocks && built->bytes ? 0 : fail(ENOMEM, "out of memory for the tree");
}

static inline void bench_tree_close(struct bench_tree *built)
{
    free(built->blocks);
    free(built->bytes);
}

/* Makes a tree of `items` items, at least one, where another tree was before. 0, or ENOMEM where it
 * is too large. */
static inline int bench_tree_build(struct bench_tree *built, uint32_t node_size, uint64_t items)
{
    uint64_t blocks = bench_tree_size(node_size, items);
    if (blocks > built->blocks_most || blocks * node_size > built->bytes_most)
        return fail(ENOMEM, "the tree needs %" PRIu64 " blocks of %u bytes", blocks, node_size);
    built->node_size = node_size;
    built->items = items;
    built->count = 0;
    int result = bench_tree_leaves(built);
    if (result < 0)
        return result;

    uint8_t level = 0;
    for (uint64_t first = 0; built->count - first > 1;) {
        uint64_t end = built->count;
        bench_tree_nodes(built, first, end, ++level);
        first = end;
    }
    const struct block *root = &built->blocks[built->count - 1];
    built->tree = (struct tree){
        .source = &built->source,
        .id = FS_TREE_OBJECTID,
        .bytenr = root->bytenr,
        .level = level,
        .generation = BENCH_GENERATION,
    };
    return 0;
}

/* --- is it a tree? ------------------------------------------------------------------ */

struct bench_tree_sum {
    uint64_t items, blocks;
};

static inline int bench_tree_visit(const struct block *block, void *context)
{
    struct bench_tree_sum *sum = context;
    sum->blocks++;
    if (block_level(block))
        return node_check(block, 4096);
    sum->items += block_nritems(block);
    return leaf_check(block, NULL);
}

/* L1 to L5, N1 to N5 and T1 to T6 in every block; 0, or EUCLEAN. */
static inline int bench_tree_check(struct bench_tree *built)
{
    struct bench_tree_sum sum = {0};
    built->keeps_promises = true;
    int result = tree_walk(&built->tree, bench_tree_visit, &sum);
    built->keeps_promises = false;
    built->tree.blocks = 0;
    if (result == 0 && (sum.items != built->items || sum.blocks != built->count))
        return fail(EUCLEAN, "the tree has %" PRIu64 " items in %" PRIu64 " blocks", sum.items,
                    sum.blocks);
    return result;
}

#endif
