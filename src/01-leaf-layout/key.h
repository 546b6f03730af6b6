/* Keys: the order of everything.
 *
 * A key is three numbers, (objectid, type, offset), compared in that order. The objectid says whose
 * item it is, the type what it holds, and what the offset means depends on the type: a position in
 * a file, the hash of a name, a length.
 *
 * As text a key reads as `btrfs inspect-internal dump-tree` prints it: (256 INODE_ITEM 0),
 * (FS_TREE ROOT_ITEM 0).
 */
#ifndef KEY_H
#define KEY_H

#include "format.h"

#include <stddef.h>
#include <stdint.h>

struct key {
    uint64_t objectid;
    uint8_t type;
    uint64_t offset;
};

static inline struct key key_from_disk(const struct disk_key *disk)
{
    return (struct key){from_le64(disk->objectid), disk->type, from_le64(disk->offset)};
}

static inline struct disk_key key_to_disk(const struct key *key)
{
    return (struct disk_key){to_le64(key->objectid), key->type, to_le64(key->offset)};
}

/* Less than 0, 0 or more than 0, as a is before b, equal, or behind. */
static inline int key_compare(const struct key *a, const struct key *b)
{
    if (a->objectid != b->objectid)
        return a->objectid < b->objectid ? -1 : 1;
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return 0;
}

/* --- text --------------------------------------------------------------------------- */

enum { KEY_TEXT_SIZE = 96 };

/* "(256 INODE_ITEM 0)"; returns `text`. */
const char *key_format(const struct key *key, char text[KEY_TEXT_SIZE]);

/* Reads a key from its three words: names or numbers, as key_format writes them, the type as a
 * number too, negative numbers as from the end (-9). 0, or EINVAL that names the word. */
int key_parse(const char *objectid, const char *type, const char *offset, struct key *key);

/* "INODE_ITEM"; NULL for a type without a name. */
const char *key_type_name(uint8_t type);

/* "FS_TREE"; NULL for an objectid that has no name of its own. */
const char *objectid_name(uint64_t objectid);

#endif
