#include "tree.h"

#include "fail.h"

#include <assert.h>

/* --- within a block ----------------------------------------------------------------- */

/* Item headers and key pointers both begin with a key, so one search serves leaves and nodes.
 *
 * All keys below `low` are smaller than the one looked for, all from `high` on are larger. */
int block_search(const struct block *block, const struct key *key, uint32_t *slot,
                 uint64_t *comparisons)
{
    const unsigned char *first = block->data + sizeof(struct block_header);
    size_t stride = block_level(block) ? sizeof(struct key_ptr) : sizeof(struct item_header);
    uint32_t low = 0, high = block_nritems(block), count = 0;
    int order = 1;
    struct key wanted = *key;
    while (low < high && order != 0) {
        uint32_t middle = low + (high - low) / 2;
        /* Which of the two comes next is not known yet; both are fetched meanwhile. */
        __builtin_prefetch(first + (low + middle) / 2 * stride);
        __builtin_prefetch(first + (middle + 1 + high) / 2 * stride);
        struct key there = key_from_disk((const struct disk_key *)(first + middle * stride));
        order = key_compare(&there, &wanted);
        count++;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *comparisons += count;
    *slot = order == 0 ? high : low;
    return order != 0;
}

/* --- down from the root ------------------------------------------------------------- */

static int get_root(struct tree *tree, struct block **root)
{
    struct block_promise promise = {
        .tree = tree->id,
        .level = tree->level,
        .generation = tree->generation,
    };
    tree->blocks++;
    return tree->source->get(tree->source, tree->bytenr, &promise, root);
}

const struct disk_key *path_bound(const struct tree *tree, const struct path *path, unsigned level)
{
    for (unsigned above = level + 1; above <= tree->level; above++) {
        uint32_t next = path->slots[above] + 1;
        if (next < block_nritems(path->nodes[above]))
            return &node_ptr(path->nodes[above], next)->key;
    }
    return NULL;
}

/* The pointer says what the child must be, but not where its keys must end: that is in the next
 * pointer, of this node or, behind its last, of one above. */
int path_child(struct tree *tree, const struct path *path, unsigned level, struct block **child)
{
    const struct key_ptr *ptr = node_ptr(path->nodes[level], path->slots[level]);
    struct block_promise promise = {
        .tree = tree->id,
        .level = (uint8_t)(level - 1),
        .generation = from_le64(ptr->generation),
        .first_key = &ptr->key,
        .next_key = path_bound(tree, path, level - 1),
    };
    tree->blocks++;
    return tree->source->get(tree->source, from_le64(ptr->blockptr), &promise, child);
}

void path_release(struct tree *tree, struct path *path)
{
    for (unsigned level = 0; level < MAX_LEVEL; level++) {
        if (path->nodes[level])
            tree->source->put(tree->source, path->nodes[level]);
        path->nodes[level] = NULL;
        path->slots[level] = 0;
    }
}

int tree_search(struct tree *tree, const struct key *key, struct path *path)
{
    int result = get_root(tree, &path->nodes[tree->level]);
    for (unsigned level = tree->level; result == 0; level--) {
        int missing =
            block_search(path->nodes[level], key, &path->slots[level], &tree->comparisons);
        if (level == 0)
            return missing;
        /* The child that may hold the key is the last one that does not begin behind it. A key
         * before all others belongs into the first. */
        if (missing && path->slots[level] > 0)
            path->slots[level]--;
        result = path_child(tree, path, level, &path->nodes[level - 1]);
    }
    path_release(tree, path);
    return result;
}

/* --- from item to item -------------------------------------------------------------- */

/* Puts the blocks below `level` and goes down again from the slot there, to the first item of the
 * subtree or to its last. */
static int descend(struct tree *tree, struct path *path, unsigned level, bool to_last)
{
    for (unsigned below = 0; below < level; below++) {
        if (path->nodes[below])
            tree->source->put(tree->source, path->nodes[below]);
        path->nodes[below] = NULL;
    }
    for (; level > 0; level--) {
        struct block *child;
        int result = path_child(tree, path, level, &child);
        if (result < 0) {
            path_release(tree, path);
            return result;
        }
        path->nodes[level - 1] = child;
        path->slots[level - 1] = to_last ? block_nritems(child) - 1 : 0;
    }
    return 0;
}

int path_next(struct tree *tree, struct path *path)
{
    assert(path->nodes[0]);
    for (unsigned level = 0; level <= tree->level; level++) {
        if (path->slots[level] + 1 < block_nritems(path->nodes[level])) {
            path->slots[level]++;
            return descend(tree, path, level, false);
        }
    }
    path_release(tree, path);
    return 1;
}

int path_previous(struct tree *tree, struct path *path)
{
    assert(path->nodes[0]);
    for (unsigned level = 0; level <= tree->level; level++) {
        if (path->slots[level] > 0) {
            path->slots[level]--;
            return descend(tree, path, level, true);
        }
    }
    path_release(tree, path);
    return 1;
}

int tree_seek(struct tree *tree, const struct key *key, struct path *path)
{
    int result = tree_search(tree, key, path);
    if (result == 1 && path->slots[0] == block_nritems(path->nodes[0]))
        return path_next(tree, path);
    return result < 0 ? result : 0;
}

int tree_range(struct tree *tree, const struct key *first, const struct key *last,
               int (*visit)(const struct path *path, void *context), void *context)
{
    struct path path = {0};
    int result = tree_seek(tree, first, &path);
    while (result == 0) {
        struct key key = path_key(&path);
        if (key_compare(&key, last) > 0)
            break;
        result = visit(&path, context);
        if (result != 0) {
            path_release(tree, &path);
            return result;
        }
        result = path_next(tree, &path);
    }
    path_release(tree, &path);
    return result < 0 ? result : 0;
}

/* --- from block to block ------------------------------------------------------------ */

/* Is the child at `slot` gone, in a tree that is being deleted from left to right? It is when all
 * of its keys lie before the key that the deletion has reached. */
static bool is_gone(const struct tree *tree, const struct block *node, uint32_t slot)
{
    if (!tree->is_dropped || slot + 1 >= block_nritems(node))
        return false;
    struct key next = node_key(node, slot + 1);
    return key_compare(&next, &tree->drop_key) <= 0;
}

/* Visits nodes[level] and what is below it. T1 bounds the depth of the recursion. */
static int walk_below(struct tree *tree, struct path *path, unsigned level,
                      int (*visit)(const struct block *block, void *context), void *context)
{
    const struct block *node = path->nodes[level];
    int result = visit(node, context);
    if (level == 0)
        return result;
    for (uint32_t slot = 0; result == 0 && slot < block_nritems(node); slot++) {
        if (is_gone(tree, node, slot))
            continue;
        path->slots[level] = slot;
        result = path_child(tree, path, level, &path->nodes[level - 1]);
        if (result < 0)
            return result;
        result = walk_below(tree, path, level - 1, visit, context);
        tree->source->put(tree->source, path->nodes[level - 1]);
        path->nodes[level - 1] = NULL;
    }
    return result;
}

int tree_walk(struct tree *tree, int (*visit)(const struct block *block, void *context),
              void *context)
{
    struct path path = {0};
    int result = get_root(tree, &path.nodes[tree->level]);
    if (result == 0)
        result = walk_below(tree, &path, tree->level, visit, context);
    path_release(tree, &path);
    return result;
}
