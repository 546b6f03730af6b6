/* Trees: search, and steps from item to item.
 *
 * A tree is a root block and all that its pointers lead to; items are in the leaves, in the order
 * of their keys. A path is the way from the root to one item: a block and a slot for each level,
 * the leaf at level 0. It holds its blocks until path_release.
 *
 *                      slots[1] = 1
 *     nodes[1]   | k0 | k7 | k15 |              level 1: the root
 *                       v
 *     nodes[0]   | k7 | k9 | k11 |              level 0: a leaf
 *                            slots[0] = 2
 *
 * Results have three kinds: 0 found, 1 not there, negative an errno. After an error a path is
 * released; else it is valid until the next call with it. tree_search and tree_seek take a path
 * that is released or zeroed.
 *
 * The kernel's names: btrfs_search_slot, btrfs_bin_search, btrfs_next_leaf, btrfs_previous_item,
 * btrfs_for_each_slot.
 */
#ifndef TREE_H
#define TREE_H

#include "block_source.h"
#include "leaf.h"
#include "node.h"

struct growth;

struct tree {
    struct block_source *source;
    uint64_t id;     /* objectid */
    uint64_t offset; /* of its root item's key: tells relocation trees apart */
    uint64_t bytenr; /* the root block */
    uint8_t level;
    uint64_t generation;
    bool is_dropped; /* being deleted: what lies before drop_key is gone */
    struct key drop_key;
    struct growth *growth; /* how it is changed (chapter 03); NULL in a tree that is only read */
    uint64_t comparisons;  /* of keys, in all searches */
    uint64_t blocks;       /* asked of the source */
};

struct path {
    struct block *nodes[MAX_LEVEL];
    uint32_t slots[MAX_LEVEL];
};

/* The slot of `key` in a leaf or node, by binary search: 0 and its slot, or 1 and the slot where it
 * belongs, which is nritems when it is behind all. Adds the comparisons made to *comparisons. */
int block_search(const struct block *block, const struct key *key, uint32_t *slot,
                 uint64_t *comparisons);

/* 0: path leads to the item `key`. 1: it is not there; path leads to the slot where it belongs,
 * which may be the one behind the last of its leaf. Asks for as many blocks as the tree is high. */
int tree_search(struct tree *tree, const struct key *key, struct path *path);

/* 0: path leads to the first item at or behind `key`. 1: there is none; the path is released. */
int tree_seek(struct tree *tree, const struct key *key, struct path *path);

/* To the next or previous item: 0, or 1 where there is none; then the path is released. */
int path_next(struct tree *tree, struct path *path);
int path_previous(struct tree *tree, struct path *path);

/* The child that the pointer at nodes[level].slots[level] leads to; the caller's until put. */
int path_child(struct tree *tree, const struct path *path, unsigned level, struct block **child);

/* Where the keys of the block at `level` of the path must end: its last key lies before this one,
 * which is in a node above. NULL where nothing is to the right of it in the whole tree. */
const struct disk_key *path_bound(const struct tree *tree, const struct path *path, unsigned level);

void path_release(struct tree *tree, struct path *path);

static inline struct key path_key(const struct path *path)
{
    return leaf_key(path->nodes[0], path->slots[0]);
}

/* Calls `visit` for each item from key `first` to key `last`, both included, until it returns other
 * than 0. Returns what it returned last, 0 where there was no item, or an error. `visit` may look
 * at the path and must not change it. */
int tree_range(struct tree *tree, const struct key *first, const struct key *last,
               int (*visit)(const struct path *path, void *context), void *context);

/* Calls `visit` for each block of the tree, a node before its children, and those from left to
 * right, until it returns other than 0. Of a tree that is being deleted only what is still there.
 */
int tree_walk(struct tree *tree, int (*visit)(const struct block *block, void *context),
              void *context);

#endif
