#include "volume.h"

#include "fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- opening ------------------------------------------------------------------------ */

static struct tree tree_at(struct volume *volume, uint64_t id, uint64_t bytenr, uint8_t level,
                           uint64_t generation)
{
    return (struct tree){
        .source = &volume->source.source,
        .id = id,
        .bytenr = bytenr,
        .level = level,
        .generation = generation,
    };
}

static struct tree root_tree(struct volume *volume)
{
    const struct superblock *super = &volume->super;
    return tree_at(volume, ROOT_TREE_OBJECTID, from_le64(super->root), super->root_level,
                   from_le64(super->generation));
}

static struct tree chunk_tree(struct volume *volume)
{
    const struct superblock *super = &volume->super;
    return tree_at(volume, CHUNK_TREE_OBJECTID, from_le64(super->chunk_root),
                   super->chunk_root_level, from_le64(super->chunk_root_generation));
}

/* Log trees belong to the transaction behind the committed one. */
static struct tree log_root_tree(struct volume *volume)
{
    const struct superblock *super = &volume->super;
    return tree_at(volume, TREE_LOG_OBJECTID, from_le64(super->log_root), super->log_root_level,
                   from_le64(super->generation) + 1);
}

static int add_chunk(const struct path *path, void *context)
{
    struct volume *volume = context;
    struct key key = path_key(path);
    const struct block *leaf = path->nodes[0];
    uint32_t slot = path->slots[0];
    memcpy(volume->chunk_tree_uuid, block_header(leaf)->chunk_tree_uuid, UUID_SIZE);
    int result =
        chunk_map_add(&volume->chunks, key.offset, item_data(leaf, slot), item_size(leaf, slot));
    return result < 0 ? fail_within(result, "leaf %" PRIu64 " slot %u", leaf->bytenr, slot) : 0;
}

int volume_open(struct volume *volume, struct device *device, struct notes *notes)
{
    uint64_t size = 0;
    *volume = (struct volume){.device = device};
    int result = superblock_open(device, &volume->super, &volume->mirror, notes);
    if (result == 0)
        result = device_size(device, &size);
    if (result == 0)
        result = chunk_map_open(&volume->chunks, &volume->super, size);
    if (result < 0)
        return result;

    read_source_open(&volume->source, device, &volume->chunks, &volume->super, notes);
    struct tree chunks = chunk_tree(volume);
    struct key first = {FIRST_CHUNK_TREE_OBJECTID, CHUNK_ITEM_KEY, 0};
    struct key last = {FIRST_CHUNK_TREE_OBJECTID, CHUNK_ITEM_KEY, UINT64_MAX};
    result = tree_range(&chunks, &first, &last, add_chunk, volume);
    if (result < 0) {
        volume_close(volume);
        return fail_within(result, "chunk tree");
    }
    volume->open_blocks = volume->source.blocks_read;
    return 0;
}

void volume_close(struct volume *volume)
{
    chunk_map_close(&volume->chunks);
}

/* --- trees -------------------------------------------------------------------------- */

void volume_tree_of_item(struct volume *volume, const struct path *path, struct tree *tree)
{
    struct key key = path_key(path);
    const struct root_item *item = item_data(path->nodes[0], path->slots[0]);
    *tree = tree_at(volume, key.objectid, from_le64(item->bytenr), item->level,
                    from_le64(item->generation));
    tree->offset = key.offset;
    tree->drop_key = key_from_disk(&item->drop_progress);
    tree->is_dropped = from_le32(item->refs) == 0 && tree->drop_key.objectid != 0;
}

/* The offset of a root item's key is 0, or for a snapshot the transaction that made it. */
int volume_tree(struct volume *volume, uint64_t id, struct tree *tree)
{
    if (id == ROOT_TREE_OBJECTID) {
        *tree = root_tree(volume);
        return 0;
    }
    if (id == CHUNK_TREE_OBJECTID) {
        *tree = chunk_tree(volume);
        return 0;
    }
    if (id == TREE_LOG_OBJECTID && from_le64(volume->super.log_root)) {
        *tree = log_root_tree(volume);
        return 0;
    }
    struct tree roots = root_tree(volume);
    struct path path = {0};
    struct key key = {id, ROOT_ITEM_KEY, 0};
    int result = tree_seek(&roots, &key, &path);
    if (result < 0)
        return fail_within(result, "root tree");
    if (result == 0)
        key = path_key(&path);
    if (result == 0 && key.objectid == id && key.type == ROOT_ITEM_KEY)
        volume_tree_of_item(volume, &path, tree);
    else
        result = fail(ENOENT, "there is no tree %" PRId64, (int64_t)id);
    path_release(&roots, &path);
    return result;
}

/* --- all trees ---------------------------------------------------------------------- */

struct each_tree {
    struct volume *volume;
    int (*visit)(struct tree *tree, void *context);
    void *context;
    uint64_t last_id; /* of the root item before */
};

static int visit_tree(struct each_tree *each, struct tree *tree)
{
    int result = each->visit(tree, each->context);
    char name[TREE_NAME_SIZE];
    return result < 0 ? fail_within(result, "tree %s", tree_name(tree, name)) : result;
}

/* A tree has one root item, and the two that the superblock names have none; else a small image
 * could have the same tree visited without end. Relocation and log trees share their ids. */
static int visit_root_item(const struct path *path, void *context)
{
    struct each_tree *each = context;
    struct key key = path_key(path);
    if (key.type != ROOT_ITEM_KEY)
        return 0;
    bool shared_id = key.objectid == TREE_RELOC_OBJECTID || key.objectid == TREE_LOG_OBJECTID;
    if (key.objectid == ROOT_TREE_OBJECTID || key.objectid == CHUNK_TREE_OBJECTID ||
        (key.objectid == each->last_id && !shared_id)) {
        char text[KEY_TEXT_SIZE];
        return fail(EUCLEAN, "leaf %" PRIu64 " slot %u: a second root for the tree of %s",
                    path->nodes[0]->bytenr, path->slots[0], key_format(&key, text));
    }
    each->last_id = key.objectid;
    struct tree tree;
    volume_tree_of_item(each->volume, path, &tree);
    return visit_tree(each, &tree);
}

int volume_each_tree(struct volume *volume, int (*visit)(struct tree *tree, void *context),
                     void *context)
{
    struct each_tree each = {volume, visit, context, 0};
    struct tree roots = root_tree(volume), chunks = chunk_tree(volume), logs;
    struct key first = {0, 0, 0}, last = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
    bool has_logs = from_le64(volume->super.log_root) != 0;
    int result = visit_tree(&each, &roots);
    if (result == 0)
        result = visit_tree(&each, &chunks);
    if (result == 0 && has_logs) {
        logs = log_root_tree(volume);
        result = visit_tree(&each, &logs);
    }
    if (result == 0)
        result = tree_range(&roots, &first, &last, visit_root_item, &each);
    if (result == 0 && has_logs)
        result = tree_range(&logs, &first, &last, visit_root_item, &each);
    return result;
}

/* --- names -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint64_t id;
} tree_names[] = {
    {"root", ROOT_TREE_OBJECTID},
    {"extent", EXTENT_TREE_OBJECTID},
    {"chunk", CHUNK_TREE_OBJECTID},
    {"dev", DEV_TREE_OBJECTID},
    {"fs", FS_TREE_OBJECTID},
    {"csum", CSUM_TREE_OBJECTID},
    {"quota", QUOTA_TREE_OBJECTID},
    {"uuid", UUID_TREE_OBJECTID},
    {"free-space", FREE_SPACE_TREE_OBJECTID},
    {"block-group", BLOCK_GROUP_TREE_OBJECTID},
    {"log", TREE_LOG_OBJECTID},
    {"reloc", TREE_RELOC_OBJECTID},
    {"data-reloc", DATA_RELOC_TREE_OBJECTID},
};

int tree_parse(const char *text, uint64_t *id)
{
    for (size_t i = 0; i < LENGTH_OF(tree_names); i++) {
        if (strcasecmp(tree_names[i].name, text) == 0) {
            *id = tree_names[i].id;
            return 0;
        }
    }
    struct key key;
    if (key_parse(text, "0", "0", &key) < 0)
        return fail(EINVAL, "'%s' is not the name or number of a tree", text);
    *id = key.objectid;
    return 0;
}

const char *tree_name(const struct tree *tree, char text[TREE_NAME_SIZE])
{
    const char *name = NULL;
    for (size_t i = 0; i < LENGTH_OF(tree_names) && !name; i++)
        if (tree_names[i].id == tree->id)
            name = tree_names[i].name;
    bool many = tree->id == TREE_RELOC_OBJECTID || tree->id == TREE_LOG_OBJECTID;
    if (!name)
        snprintf(text, TREE_NAME_SIZE, "%" PRIu64, tree->id);
    else if (many && tree->offset)
        snprintf(text, TREE_NAME_SIZE, "%s/%" PRIu64, name, tree->offset);
    else
        snprintf(text, TREE_NAME_SIZE, "%s", name);
    return text;
}
