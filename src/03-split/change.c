#include "change.h"

#include "fail.h"

#include <assert.h>
#include <string.h>

/* --- claims ------------------------------------------------------------------------- */

static void set_root(struct tree *tree, const struct block *root)
{
    tree->bytenr = root->bytenr;
    tree->level = block_level(root);
    tree->generation = block_generation(root);
}

static void set_ptr(struct block *node, uint32_t slot, const struct block *child)
{
    node_ptr(node, slot)->blockptr = to_le64(child->bytenr);
    node_ptr(node, slot)->generation = to_le64(block_generation(child));
}

void tree_dirty(struct tree *tree, struct block *block)
{
    tree->source->dirty(tree->source, block);
}

int tree_claim(struct tree *tree, struct block *parent, uint32_t slot, struct block **block)
{
    uint64_t before = (*block)->bytenr;
    int result = tree->growth->owner->claim(tree->growth->owner, tree, block);
    if (result < 0 || (*block)->bytenr == before)
        return result;
    if (!parent) {
        set_root(tree, *block);
        return 0;
    }
    assert(from_le64(node_ptr(parent, slot)->blockptr) == before);
    set_ptr(parent, slot, *block);
    tree_dirty(tree, parent);
    return 0;
}

int path_claim(struct tree *tree, struct path *path, unsigned level)
{
    int result = tree_claim(tree, NULL, 0, &path->nodes[tree->level]);
    for (unsigned at = tree->level; at > level && result == 0; at--)
        result = tree_claim(tree, path->nodes[at], path->slots[at], &path->nodes[at - 1]);
    return result;
}

/* --- the blocks of a path ----------------------------------------------------------- */

int path_neighbour(struct tree *tree, const struct path *path, unsigned level, int side,
                   struct block **block)
{
    *block = NULL;
    if (level >= tree->level)
        return 1;
    struct path beside = *path;
    uint32_t slot = path->slots[level + 1];
    if (side < 0 ? slot == 0 : slot + 1 >= block_nritems(path->nodes[level + 1]))
        return 1;
    beside.slots[level + 1] = side < 0 ? slot - 1 : slot + 1;
    return path_child(tree, &beside, level + 1, block);
}

void tree_put(struct tree *tree, struct block *block)
{
    if (block)
        tree->source->put(tree->source, block);
}

void path_replace(struct tree *tree, struct path *path, unsigned level, struct block *block)
{
    tree_put(tree, path->nodes[level]);
    path->nodes[level] = block;
}

/* --- keys and pointers -------------------------------------------------------------- */

void path_set_low_key(struct tree *tree, struct path *path, unsigned level, const struct key *key)
{
    for (; level <= tree->level; level++) {
        struct block *node = path->nodes[level];
        node_ptr(node, path->slots[level])->key = key_to_disk(key);
        tree_dirty(tree, node);
        if (path->slots[level] > 0)
            return;
    }
}

/* Moves the pointers from `slot` on by one place, up or down; their number changes with it. */
static void shift_ptrs(struct block *node, uint32_t slot, int distance)
{
    uint32_t nritems = block_nritems(node);
    memmove(node_ptr(node, slot) + distance, node_ptr(node, slot),
            (nritems - slot) * sizeof(struct key_ptr));
    block_header(node)->nritems = to_le32(nritems + (uint32_t)distance);
}

void path_insert_ptr(struct tree *tree, struct path *path, unsigned level, uint32_t slot,
                     const struct key *key, const struct block *child)
{
    struct block *node = path->nodes[level];
    assert(slot <= block_nritems(node));
    assert(block_nritems(node) < tree_max_ptrs(tree, node));
    shift_ptrs(node, slot, 1);
    node_ptr(node, slot)->key = key_to_disk(key);
    set_ptr(node, slot, child);
    tree_dirty(tree, node);
    if (slot == 0 && level < tree->level)
        path_set_low_key(tree, path, level + 1, key);
}

void path_remove_ptr(struct tree *tree, struct path *path, unsigned level)
{
    struct growth *growth = tree->growth;
    struct block *node = path->nodes[level];
    uint32_t slot = path->slots[level];
    assert(slot < block_nritems(node));
    if (block_nritems(node) == 1 && level < tree->level) {
        path->nodes[level] = NULL;
        path_remove_ptr(tree, path, level + 1);
        growth->owner->free(growth->owner, tree, node);
        return;
    }
    shift_ptrs(node, slot + 1, -1);
    tree_dirty(tree, node);
    if (block_nritems(node) == 0) {
        block_header(node)->level = 0;
        set_root(tree, node);
        path_replace(tree, path, level, NULL);
    } else if (slot == 0 && level < tree->level) {
        struct key key = node_key(node, 0);
        path_set_low_key(tree, path, level + 1, &key);
    }
}

int tree_new_root(struct tree *tree, struct path *path)
{
    struct growth *growth = tree->growth;
    unsigned level = tree->level + 1U;
    struct block *root;
    if (level == MAX_LEVEL)
        return fail(EOVERFLOW, "tree %" PRIu64 ": it would grow higher than eight levels",
                    tree->id);
    int result = growth->owner->allocate(growth->owner, tree, (uint8_t)level, &root);
    if (result < 0)
        return result;
    const struct block *old = path->nodes[tree->level];
    struct key key = block_level(old) ? node_key(old, 0) : leaf_key(old, 0);
    set_root(tree, root);
    path->nodes[level] = root;
    path->slots[level] = 0;
    path_insert_ptr(tree, path, level, 0, &key, old);
    growth->counters.new_roots++;
    return 0;
}
