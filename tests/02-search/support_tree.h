/* Trees for tests: built whole in memory, of any shape, in a block source that watches its callers.
 */
#ifndef SUPPORT_TREE_H
#define SUPPORT_TREE_H

#include "support.h"
#include "tree.h"

enum { TEST_NODE_SIZE = 4096, BLOCKS_OUT = 64 };

/* Gives copies of its blocks, each in memory of its own, so that use after put is seen. */
struct test_source {
    struct block_source source;
    unsigned char **blocks; /* block i has the address (i + 1) * TEST_NODE_SIZE */
    uint32_t count;
    uint64_t gets; /* that succeeded */
    uint64_t puts;
    uint64_t tries;   /* of get */
    uint64_t failing; /* the number of the try that fails, from 0; those behind it too */
    struct block *out[BLOCKS_OUT]; /* got and not put */
    unsigned nout;
};

/* The shape of a tree: what each of its blocks holds at most. With `ragged` each holds a random
 * number, from one up. */
struct shape {
    uint32_t items;
    uint32_t pointers;
    bool ragged;
};

void source_open(struct test_source *source);
void source_close(struct test_source *source);

/* Builds a tree of `count` items with these keys, which ascend; the data of an item is its index
 * (le64). No keys: an empty leaf. */
void build_tree(struct test_source *source, struct tree *tree, const struct key *keys, size_t count,
                const struct shape *shape, struct dice *dice);

/* The block at an address, to look at it or to damage it. */
struct block source_block(const struct test_source *source, uint64_t bytenr);

/* The index that build_tree gave to the item at the path's end. */
uint64_t path_index(const struct path *path);

/* A node of level `level` without pointers; node_append puts one behind the last. */
struct block make_node(uint32_t size, uint8_t level);
void node_append(struct block *node, struct key key, uint64_t bytenr, uint64_t generation);

#endif
