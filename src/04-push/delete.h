/* Taking items out of a tree.
 *
 * A leaf that becomes empty goes, and the pointer to it. One that has become sparse is merged: its
 * items go to the left neighbour; then, unless the place of the deletion went along, what is left
 * goes to the right one, if all of it fits. On the way down sparse nodes are balanced, so that the
 * node above the leaf can spare a pointer.
 *
 * What must hold (S1 to S8 and P1 to P5 besides):
 *   D1  when a pointer is removed its node has another one, or is the root
 *   D2  of a merge to the right all items go, or none
 *   D3  a root with one pointer is replaced by its child before the next deletion
 *
 * Where a function fails, its item is still there, or it is gone; the tree is sound in any case.
 *
 * The kernel's names: btrfs_del_items, btrfs_del_leaf, del_ptr.
 */
#ifndef DELETE_H
#define DELETE_H

#include "growth.h"

/* 0; ENOENT where it is not there, then nothing has changed; an error of owner or source. */
int tree_delete(struct tree *tree, const struct key *key);

/* Takes out all items from key `first` to key `last`, both included, with one search for each run
 * that lies in one leaf; *deleted of them so far. */
int tree_delete_range(struct tree *tree, const struct key *first, const struct key *last,
                      uint64_t *deleted);

/* room_policy.merge of a push_policy. */
int delete_merge(struct tree *tree, struct path *path);

#endif
