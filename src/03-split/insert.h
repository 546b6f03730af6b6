/* Putting items into a tree.
 *
 * Each function searches, makes room where there is none (room_policy), claims the path, and
 * changes the leaf. Where it fails the tree holds what it held before, and is sound; what was moved
 * to make room stays moved.
 *
 * The kernel's names: btrfs_insert_item, btrfs_insert_empty_items, btrfs_search_slot with cow,
 * btrfs_extend_item, btrfs_truncate_item, btrfs_set_item_key_safe.
 */
#ifndef INSERT_H
#define INSERT_H

#include "growth.h"

struct item {
    struct key key;
    const void *data; /* NULL: zeros */
    uint32_t size;
};

/* 0; EEXIST; EOVERFLOW when no leaf can hold it; an error of the owner or of the source. */
int tree_insert(struct tree *tree, const struct key *key, const void *data, uint32_t size);

/* The same for keys that come in order. The path, zeroed at first, stays at the item that was
 * inserted; an item that belongs right behind it needs no search. The caller releases the path
 * before the tree is changed in another way, and at the end; after an error it is released. */
int tree_insert_next(struct tree *tree, struct path *path, const struct key *key, const void *data,
                     uint32_t size);

/* Inserts `count` items, whose keys ascend, in runs: as many at a time as one leaf takes. On
 * failure those before *inserted are in the tree and the others are not. */
int tree_insert_batch(struct tree *tree, const struct item *items, size_t count, size_t *inserted);

/* Searches for an item that is to be changed in place: 0 and a claimed path, 1 where it is not
 * there (the path is released), or an error. The caller changes the data of
 * the item, then calls tree_dirty for the leaf and releases the path. */
int tree_change(struct tree *tree, const struct key *key, struct path *path);

/* Makes the data of an item longer by `bytes`, copied from `data` (NULL: zeros). ENOENT, or as
 * tree_insert. */
int tree_extend(struct tree *tree, const struct key *key, const void *data, uint32_t bytes);

/* Cuts the data of an item to `size` bytes, no more than it has. ENOENT. */
int tree_truncate(struct tree *tree, const struct key *key, uint32_t size);

/* Gives an item another key, one that lies between the same two neighbours, as the caller knows.
 * ENOENT. */
int tree_rekey(struct tree *tree, const struct key *key, const struct key *new_key);

/* Sees to it that nodes[0] has room, splitting the nodes above that are almost full first. */
int tree_make_room(struct tree *tree, struct path *path, const struct room *room);

/* Sees to it that the item `key`, to which the path leads, can become longer by `bytes` with
 * leaf_grow, and claims it. */
int tree_make_longer(struct tree *tree, const struct key *key, struct path *path, uint32_t bytes);

/* The error for an item that is not there. */
int tree_no_item(const struct tree *tree, const struct key *key);

#endif
