/* A volume: an image with its superblock, its chunk map, and its trees.
 *
 * The way in has four steps: the superblock at its known place; from its array the chunks in which
 * the chunk tree lies; from the chunk tree all other chunks; and the root tree, whose items say
 * where every other tree begins.
 */
#ifndef VOLUME_H
#define VOLUME_H

#include "tree.h"

struct volume {
    struct device *device; /* the caller's */
    struct superblock super;
    int mirror; /* the copy of the superblock that is used */
    struct chunk_map chunks;
    uint8_t chunk_tree_uuid[UUID_SIZE]; /* every block bears it */
    struct read_source source;
    int write_error;      /* of the first write that failed (chapter 05); 0: none */
    uint64_t open_blocks; /* read to get here */
};

/* Opens what is on the device. On success the caller closes it. `notes` must outlive the volume. */
int volume_open(struct volume *volume, struct device *device, struct notes *notes);
void volume_close(struct volume *volume);

/* The tree with this id. ENOENT where there is none. */
int volume_tree(struct volume *volume, uint64_t id, struct tree *tree);

/* The tree that the root item at the path's end describes. Relocation trees have one id, and so
 * have log trees: they differ in the offset of the key. */
void volume_tree_of_item(struct volume *volume, const struct path *path, struct tree *tree);

/* Calls `visit` for every tree: the root tree, the chunk tree, the log root tree where there is
 * one, then those that the items of the root tree (and of the log root tree) name, in order. Stops
 * when it returns other than 0, and returns that. */
int volume_each_tree(struct volume *volume, int (*visit)(struct tree *tree, void *context),
                     void *context);

/* "fs", "extent", ..., a number of a subvolume: its id. 0, or EINVAL. */
int tree_parse(const char *text, uint64_t *id);

enum { TREE_NAME_SIZE = 48 };

/* "fs", "257", "reloc/257"; returns `text`. */
const char *tree_name(const struct tree *tree, char text[TREE_NAME_SIZE]);

#endif
