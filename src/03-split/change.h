/* Changing a tree: claims, and the keys and pointers in the nodes.
 *
 * What must hold in a tree at rest, beside the rules of leaves and nodes (tests check them after
 * each operation):
 *   S1  the key of a pointer is the first key of its child
 *   S2  the generation of a pointer is its child's
 *   S3  all leaves are at level 0, and levels fall by one from parent to child
 *   S4  no leaf but the root is empty, and no node is
 *
 * While a block is changed its path is held and claimed from the root down. Bytes of a block change
 * only between tree_claim and tree_dirty.
 *
 * The kernel's names: btrfs_cow_block, fixup_low_keys, insert_ptr, insert_new_root.
 */
#ifndef CHANGE_H
#define CHANGE_H

#include "growth.h"

/* Claims *block, to which the pointer at `slot` of `parent` leads (NULL: it is the root), and sets
 * that pointer; the parent is claimed. */
int tree_claim(struct tree *tree, struct block *parent, uint32_t slot, struct block **block);

/* Claims the blocks of a path from the root down to `level`. On failure the path stays valid. */
int path_claim(struct tree *tree, struct path *path, unsigned level);

/* Bytes of a claimed block have changed. */
void tree_dirty(struct tree *tree, struct block *block);

/* The neighbour of nodes[level] under the same parent, to the left (side -1) or right (1). 0 and
 * the block, the caller's until put; 1 where there is none. */
int path_neighbour(struct tree *tree, const struct path *path, unsigned level, int side,
                   struct block **block);

/* Gives back what path_neighbour gave; NULL is nothing. */
void tree_put(struct tree *tree, struct block *block);

/* Puts `block`, which the caller holds, at nodes[level] in place of what is there, which is put. */
void path_replace(struct tree *tree, struct path *path, unsigned level, struct block *block);

/* The first key of nodes[level - 1] has become `key`: sets it in the pointer that leads there and,
 * where that is the first of its node, in those above. The path is claimed. */
void path_set_low_key(struct tree *tree, struct path *path, unsigned level, const struct key *key);

/* Inserts a pointer to `child` at `slot` of nodes[level], which is claimed and has room. Where the
 * slot is not behind path->slots[level], the caller moves that along. */
void path_insert_ptr(struct tree *tree, struct path *path, unsigned level, uint32_t slot,
                     const struct key *key, const struct block *child);

/* Takes the pointer at path->slots[level] out of nodes[level]. A node that is empty then goes too,
 * and so on up; an emptied root becomes an empty leaf. The path down to `level` is claimed, and is
 * released below and up to where nodes went. */
void path_remove_ptr(struct tree *tree, struct path *path, unsigned level);

/* Puts a new root above the old one, with one pointer to it; the old one does not change. EOVERFLOW
 * when the tree has eight levels. */
int tree_new_root(struct tree *tree, struct path *path);

#endif
