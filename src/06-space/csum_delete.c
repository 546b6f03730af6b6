#include "csum_delete.h"

#include "change.h"
#include "delete.h"
#include "fail.h"
#include "insert.h"

#include <assert.h>
#include <stdlib.h>

/* What is to go, and what of it lies in items that also hold something else. */
struct cut {
    uint32_t csum_size, sectorsize;
    uint64_t start, end;
    struct run {
        uint64_t start, end;
    } head, tail; /* the items across `start` and across `end`, maybe one; 0 .. 0: none */
};

static struct key csum_key(uint64_t address)
{
    return (struct key){EXTENT_CSUM_OBJECTID, EXTENT_CSUM_KEY, address};
}

/* The bytes that the checksums of [start, end) take, a part of one item. */
static uint32_t csum_bytes(const struct cut *cut, uint64_t start, uint64_t end)
{
    return (uint32_t)((end - start) / cut->sectorsize * cut->csum_size);
}

/* --- the survey --------------------------------------------------------------------- */

/* To the last item before the start, which may reach over it; else to the first one behind. */
static int seek_run(struct tree *tree, const struct cut *cut, struct path *path)
{
    struct key key = csum_key(cut->start);
    int result = tree_search(tree, &key, path);
    if (result >= 0)
        result = path_previous(tree, path);
    return result == 1 ? tree_seek(tree, &key, path) : result;
}

/* Notes the item that a path leads to, if it lies across a border; those before it reach up to
 * *reached. */
static int note_run(struct cut *cut, const struct path *path, uint64_t *reached)
{
    uint64_t start = path_key(path).offset;
    uint32_t size = item_size(path->nodes[0], path->slots[0]);
    uint64_t length = (uint64_t)(size / cut->csum_size) * cut->sectorsize;
    if (size % cut->csum_size || start % cut->sectorsize || length > UINT64_MAX - start)
        return fail(EUCLEAN, "checksums at %" PRIu64 ": %u bytes are none of %u bytes a sector",
                    start, size, cut->csum_size);
    if (start < *reached)
        return fail(EUCLEAN, "checksums at %" PRIu64 " overlap those up to %" PRIu64, start,
                    *reached);
    struct run run = {start, start + length};
    if (run.start < cut->start && cut->start < run.end)
        cut->head = run;
    if (run.start < cut->end && cut->end < run.end)
        cut->tail = run;
    *reached = run.end;
    return 0;
}

/* Looks at all items that the cut meets, and at the one behind, which they must not reach into. */
static int survey(struct tree *tree, struct cut *cut)
{
    struct path path = {0};
    uint64_t reached = 0;
    bool is_past = false;
    int result = seek_run(tree, cut, &path);
    while (result == 0 && !is_past) {
        struct key key = path_key(&path), first = csum_key(0), last = csum_key(cut->end);
        is_past = key_compare(&key, &last) >= 0;
        if (key.objectid == first.objectid && key.type == first.type)
            result = note_run(cut, &path, &reached);
        if (result == 0)
            result = path_next(tree, &path);
    }
    path_release(tree, &path);
    return result < 0 ? result : 0;
}

/* --- the cuts ----------------------------------------------------------------------- */

/* Finds an item that the survey has seen, to be changed. */
static int change_run(struct tree *tree, const struct run *run, struct path *path)
{
    struct key key = csum_key(run->start);
    int result = tree_change(tree, &key, path);
    assert(result != 1);
    return result;
}

/* Takes the front off the item across the end. The next key is behind all of it, so the item keeps
 * its place. Nothing fails once it is claimed. */
static int cut_front(struct tree *tree, const struct cut *cut)
{
    struct path path = {0};
    struct key key = csum_key(cut->end);
    uint32_t gone = csum_bytes(cut, cut->tail.start, cut->end);
    uint32_t kept = csum_bytes(cut, cut->end, cut->tail.end);
    int result = change_run(tree, &cut->tail, &path);
    if (result < 0)
        return result;
    struct block *leaf = path.nodes[0];
    unsigned char *data = item_data(leaf, path.slots[0]);
    uint64_t moved = leaf->bytes_moved;
    memmove(data, data + gone, kept);
    leaf_shrink(leaf, path.slots[0], gone);
    leaf_item(leaf, path.slots[0])->key = key_to_disk(&key);
    tree_dirty(tree, leaf);
    tree->growth->counters.items_changed++;
    tree->growth->counters.bytes_within += leaf->bytes_moved - moved + kept;
    if (path.slots[0] == 0 && tree->level > 0)
        path_set_low_key(tree, &path, 1, &key);
    path_release(tree, &path);
    return 0;
}

/* The cut lies within one item: what is behind it becomes an item of its own. The old item is cut
 * after that, so that no checksum is missing if there is no room. */
static int copy_tail(struct tree *tree, const struct cut *cut)
{
    struct path path = {0};
    struct key key = csum_key(cut->tail.start), new_key = csum_key(cut->end);
    uint32_t skipped = csum_bytes(cut, cut->tail.start, cut->end);
    uint32_t size = csum_bytes(cut, cut->end, cut->tail.end);
    unsigned char *copy = malloc(size);
    if (!copy)
        return fail(ENOMEM, "out of memory for %u bytes of checksums", size);
    int result = tree_search(tree, &key, &path);
    assert(result != 1);
    if (result == 0) {
        memcpy(copy, (unsigned char *)item_data(path.nodes[0], path.slots[0]) + skipped, size);
        path_release(tree, &path);
        result = tree_insert(tree, &new_key, copy, size);
    }
    free(copy);
    return result;
}

static int cut_tail(struct tree *tree, const struct cut *cut)
{
    struct key key = csum_key(cut->head.start);
    return tree_truncate(tree, &key, csum_bytes(cut, cut->head.start, cut->start));
}

/* --- all together ------------------------------------------------------------------- */

int csum_delete(struct tree *tree, uint32_t csum_size, uint32_t sectorsize, uint64_t start,
                uint64_t length)
{
    if (start % sectorsize || length % sectorsize || length > UINT64_MAX - start)
        return fail(EUCLEAN, "checksums of %" PRIu64 " bytes at %" PRIu64 ": no whole sectors",
                    length, start);
    if (length == 0)
        return 0;
    struct cut cut = {csum_size, sectorsize, start, start + length, {0}, {0}};
    int result = survey(tree, &cut);
    if (result < 0)
        return result;
    bool has_head = cut.head.end > 0, has_tail = cut.tail.end > 0;
    bool is_within = has_head && has_tail && cut.head.start == cut.tail.start;
    if (has_tail)
        result = is_within ? copy_tail(tree, &cut) : cut_front(tree, &cut);
    if (result == 0 && has_head)
        result = cut_tail(tree, &cut);
    if (result < 0 || is_within)
        return result;

    /* No item lies across a border now; what begins within the cut is all of it. */
    struct key first = csum_key(start), last = csum_key(start + length - 1);
    uint64_t deleted;
    return tree_delete_range(tree, &first, &last, &deleted);
}
