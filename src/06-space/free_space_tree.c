#include "free_space_tree.h"

#include "change.h"
#include "delete.h"
#include "fail.h"
#include "insert.h"

#include <assert.h>

/* The kernel's BTRFS_FREE_SPACE_BITMAP_SIZE is 256 bytes. */
enum { BITMAP_SECTORS = 256 * 8 };

/* [start, end) in bytes; nothing where the two are equal. */
struct stretch {
    uint64_t start, end;
};

static uint64_t group_end(const struct free_space_group *group)
{
    assert(group->length <= UINT64_MAX - group->start);
    return group->start + group->length;
}

static uint64_t sectors_in(const struct free_space_group *group, const struct stretch *stretch)
{
    return (stretch->end - stretch->start) / group->sectorsize;
}

/* --- the info item ------------------------------------------------------------------ */

static struct key info_key(const struct free_space_group *group)
{
    return (struct key){group->start, FREE_SPACE_INFO_KEY, group->length};
}

static int read_info(struct tree *tree, const struct free_space_group *group,
                     struct free_space_info *info)
{
    struct path path = {0};
    struct key key = info_key(group);
    int result = tree_search(tree, &key, &path);
    if (result == 1)
        result = fail(EUCLEAN,
                      "block group %" PRIu64 " of %" PRIu64 " bytes has no FREE_SPACE_INFO (F1)",
                      group->start, group->length);
    else if (result == 0 && item_size(path.nodes[0], path.slots[0]) != sizeof *info)
        result = fail(EUCLEAN, "block group %" PRIu64 ": a FREE_SPACE_INFO of %u bytes, not %zu",
                      group->start, item_size(path.nodes[0], path.slots[0]), sizeof *info);
    if (result == 0)
        memcpy(info, item_data(path.nodes[0], path.slots[0]), sizeof *info);
    path_release(tree, &path);
    return result;
}

static bool uses_bitmaps(const struct free_space_info *info)
{
    return from_le32(info->flags) & FREE_SPACE_USING_BITMAPS;
}

/* `before` stretches are to become `after`: sets the count to what it will be then, unless it is
 * one that the group cannot have (F1). */
static int plan_count(const struct free_space_group *group, struct free_space_info *info,
                      uint32_t before, uint32_t after)
{
    uint32_t count = from_le32(info->extent_count);
    uint64_t most = (group->length / group->sectorsize + 1) / 2; /* every other sector */
    if (count < before || (uint64_t)count - before + after > most)
        return fail(EUCLEAN,
                    "block group %" PRIu64 ": extent_count %u cannot be when %u stretches are to "
                    "become %u (F1)",
                    group->start, count, before, after);
    info->extent_count = to_le32(count - before + after);
    return 0;
}

static int write_info(struct tree *tree, const struct free_space_group *group,
                      const struct free_space_info *info)
{
    struct path path = {0};
    struct key key = info_key(group);
    int result = tree_change(tree, &key, &path);
    assert(result != 1); /* it was read before */
    if (result < 0)
        return result;
    memcpy(item_data(path.nodes[0], path.slots[0]), info, sizeof *info);
    tree_dirty(tree, path.nodes[0]);
    path_release(tree, &path);
    return 0;
}

/* --- as extents --------------------------------------------------------------------- */

static struct key extent_key(const struct stretch *stretch)
{
    return (struct key){stretch->start, FREE_SPACE_EXTENT_KEY, stretch->end - stretch->start};
}

/* An item that F4 does not allow. */
static int stray_item(const struct free_space_group *group, const struct key *key, const char *form)
{
    char text[KEY_TEXT_SIZE];
    return fail(EUCLEAN, "block group %" PRIu64 ": item %s among its free space as %s (F4)",
                group->start, key_format(key, text), form);
}

/* What a key among the extents of a group says is free. */
static int read_extent(const struct free_space_group *group, const struct key *key,
                       struct stretch *extent)
{
    if (key->type != FREE_SPACE_EXTENT_KEY)
        return stray_item(group, key, "extents");
    uint64_t end = group_end(group);
    assert(key->objectid >= group->start && key->objectid < end); /* nobody looks elsewhere */
    if (key->offset == 0 || key->offset > end - key->objectid ||
        key->objectid % group->sectorsize || key->offset % group->sectorsize) {
        char text[KEY_TEXT_SIZE];
        return fail(EUCLEAN,
                    "block group %" PRIu64 ": %s is not of whole sectors before %" PRIu64 " (F2)",
                    group->start, key_format(key, text), end);
    }
    *extent = (struct stretch){key->objectid, key->objectid + key->offset};
    return 0;
}

static int check_apart(const struct free_space_group *group, uint64_t end, uint64_t start)
{
    if (end < start)
        return 0;
    return fail(EUCLEAN,
                "block group %" PRIu64 ": free extents end at %" PRIu64 " and begin at %" PRIu64
                ", which is not behind it (F2)",
                group->start, end, start);
}

/* The extent of the item that a path leads to; nothing, where it is the info item, which precedes
 * all extents, or belongs to the next group. */
static int extent_at(const struct free_space_group *group, const struct path *path,
                     struct stretch *extent)
{
    struct key key = path_key(path), info = info_key(group);
    if (key_compare(&key, &info) == 0 || key.objectid >= group_end(group))
        return 0;
    return read_extent(group, &key, extent);
}

/* The last free extent that begins no later than `at`, and the first that begins behind it; nothing
 * where there is none. The info item exists, so there is always an item to step back to. */
static int find_extents(struct tree *tree, const struct free_space_group *group, uint64_t at,
                        struct stretch *before, struct stretch *behind)
{
    struct path path = {0};
    struct key key = {at, UINT8_MAX, UINT64_MAX};
    *before = *behind = (struct stretch){0};
    int result = tree_search(tree, &key, &path);
    if (result >= 0)
        result = path_previous(tree, &path);
    assert(result != 1);
    if (result == 0)
        result = extent_at(group, &path, before);
    if (result == 0)
        result = path_next(tree, &path);
    if (result == 0)
        result = extent_at(group, &path, behind);
    path_release(tree, &path);
    if (result < 0)
        return result;
    bool both = before->start < before->end && behind->start < behind->end;
    return both ? check_apart(group, before->end, behind->start) : 0;
}

/* Extents that go, and those that come in their place, in order. */
struct exchange {
    struct stretch old[2], new[2];
    uint32_t nold, nnew;
};

static int make_exchange(struct tree *tree, const struct free_space_group *group,
                         struct free_space_info *info, const struct exchange *exchange)
{
    int result = plan_count(group, info, exchange->nold, exchange->nnew);
    for (uint32_t i = 0; result == 0 && (i < exchange->nold || i < exchange->nnew); i++) {
        struct key old = extent_key(&exchange->old[i]), new = extent_key(&exchange->new[i]);
        if (i >= exchange->nold)
            result = tree_insert(tree, &new, NULL, 0);
        else if (i >= exchange->nnew)
            result = tree_delete(tree, &old);
        else
            result = tree_rekey(tree, &old, &new);
    }
    if (result == 0 && exchange->nold != exchange->nnew)
        result = write_info(tree, group, info);
    return result;
}

/* The range becomes free: the extents that touch it and itself become one. */
static int plan_add(const struct stretch *range, const struct stretch *before,
                    const struct stretch *behind, struct exchange *exchange)
{
    bool is_before = before->start < before->end, is_behind = behind->start < behind->end;
    if ((is_before && before->end > range->start) || (is_behind && behind->start < range->end))
        return 1;
    *exchange = (struct exchange){.new = {*range}, .nnew = 1};
    if (is_before && before->end == range->start) {
        exchange->old[exchange->nold++] = *before;
        exchange->new[0].start = before->start;
    }
    if (is_behind && behind->start == range->end) {
        exchange->old[exchange->nold++] = *behind;
        exchange->new[0].end = behind->end;
    }
    return 0;
}

/* The range becomes used: of the extent that holds it, what is before and what is behind stays. */
static int plan_remove(const struct stretch *range, const struct stretch *extent,
                       struct exchange *exchange)
{
    if (extent->end < range->end) /* or there is none, and its end is 0 */
        return 1;
    *exchange = (struct exchange){.old = {*extent}, .nold = 1};
    if (extent->start < range->start)
        exchange->new[exchange->nnew++] = (struct stretch){extent->start, range->start};
    if (range->end < extent->end)
        exchange->new[exchange->nnew++] = (struct stretch){range->end, extent->end};
    return 0;
}

/* The error for a range that is not in the state that it is to leave. */
static int wrong_state(const struct free_space_group *group, const struct stretch *range,
                       bool is_free)
{
    return fail(EUCLEAN, "block group %" PRIu64 ": [%" PRIu64 ", %" PRIu64 ") is not all %s",
                group->start, range->start, range->end, is_free ? "used" : "free");
}

static int change_extents(struct tree *tree, const struct free_space_group *group,
                          struct free_space_info *info, const struct stretch *range, bool is_free)
{
    struct stretch before, behind;
    struct exchange exchange;
    int result = find_extents(tree, group, range->start, &before, &behind);
    if (result < 0)
        return result;
    int impossible = is_free ? plan_add(range, &before, &behind, &exchange)
                             : plan_remove(range, &before, &exchange);
    if (impossible)
        return wrong_state(group, range, is_free);
    return make_exchange(tree, group, info, &exchange);
}

/* --- as bitmaps --------------------------------------------------------------------- */

/* The key of the bitmap that covers the address (F3). */
static struct key bitmap_key(const struct free_space_group *group, uint64_t at)
{
    uint64_t span = (uint64_t)BITMAP_SECTORS * group->sectorsize;
    uint64_t start = at - (at - group->start) % span, left = group_end(group) - start;
    return (struct key){start, FREE_SPACE_BITMAP_KEY, left < span ? left : span};
}

/* What of a range lies in one bitmap: bits [first, end) of it. */
struct bits {
    unsigned char *bytes;
    uint32_t first, end;
    uint64_t behind; /* the address where they end */
};

static bool bit_is_set(const struct bits *bits, uint32_t bit)
{
    return bits->bytes[bit / 8] >> bit % 8 & 1;
}

static void bit_set(struct bits *bits, uint32_t bit, bool is_free)
{
    unsigned char mask = (unsigned char)(1U << bit % 8);
    if (is_free)
        bits->bytes[bit / 8] |= mask;
    else
        bits->bytes[bit / 8] &= (unsigned char)~mask;
}

/* The search for a bitmap has ended with `found`: the bits from address range->start on. */
static int get_bits(const struct free_space_group *group, const struct path *path, int found,
                    const struct stretch *range, struct bits *bits)
{
    struct key key = bitmap_key(group, range->start);
    char text[KEY_TEXT_SIZE];
    if (found < 0)
        return found;
    if (found == 1)
        return fail(EUCLEAN, "block group %" PRIu64 ": no bitmap %s (F3)", group->start,
                    key_format(&key, text));
    uint64_t sectors = key.offset / group->sectorsize, end = key.objectid + key.offset;
    uint32_t size = item_size(path->nodes[0], path->slots[0]);
    if (size != (sectors + 7) / 8)
        return fail(EUCLEAN, "block group %" PRIu64 ": bitmap %s of %u bytes (F3)", group->start,
                    key_format(&key, text), size);
    bits->bytes = item_data(path->nodes[0], path->slots[0]);
    bits->behind = end < range->end ? end : range->end;
    bits->first = (uint32_t)((range->start - key.objectid) / group->sectorsize);
    bits->end = (uint32_t)((bits->behind - key.objectid) / group->sectorsize);
    return 0;
}

/* How many sectors of the range are free. */
static int count_bits(struct tree *tree, const struct free_space_group *group, struct stretch range,
                      uint64_t *count)
{
    int result = 0;
    *count = 0;
    while (range.start < range.end && result == 0) {
        struct path path = {0};
        struct bits bits;
        struct key key = bitmap_key(group, range.start);
        result = get_bits(group, &path, tree_search(tree, &key, &path), &range, &bits);
        if (result == 0) {
            for (uint32_t bit = bits.first; bit < bits.end; bit++)
                *count += bit_is_set(&bits, bit);
            range.start = bits.behind;
        }
        path_release(tree, &path);
    }
    return result;
}

static int set_bits(struct tree *tree, const struct free_space_group *group, struct stretch range,
                    bool is_free)
{
    int result = 0;
    while (range.start < range.end && result == 0) {
        struct path path = {0};
        struct bits bits;
        struct key key = bitmap_key(group, range.start);
        result = get_bits(group, &path, tree_change(tree, &key, &path), &range, &bits);
        if (result == 0) {
            for (uint32_t bit = bits.first; bit < bits.end; bit++)
                bit_set(&bits, bit, is_free);
            tree_dirty(tree, path.nodes[0]);
            range.start = bits.behind;
        }
        path_release(tree, &path);
    }
    return result;
}

/* Whether the sectors on both sides of the range are free decides what becomes of the count: a
 * range that becomes free joins what is free beside it, one that becomes used parts it. */
static int change_bitmaps(struct tree *tree, const struct free_space_group *group,
                          struct free_space_info *info, const struct stretch *range, bool is_free)
{
    uint32_t sector = group->sectorsize;
    struct stretch left = {range->start, range->start}, right = {range->end, range->end};
    if (range->start > group->start)
        left.start -= sector;
    if (range->end < group_end(group))
        right.end += sector;
    uint64_t inside, before, behind;
    int result = count_bits(tree, group, *range, &inside);
    if (result == 0 && inside != (is_free ? 0 : sectors_in(group, range)))
        result = wrong_state(group, range, is_free);
    if (result == 0)
        result = count_bits(tree, group, left, &before);
    if (result == 0)
        result = count_bits(tree, group, right, &behind);
    if (result < 0)
        return result;

    uint32_t beside = (uint32_t)(before + behind);
    result = plan_count(group, info, is_free ? beside : 1, is_free ? 1 : beside);
    if (result == 0)
        result = set_bits(tree, group, *range, is_free);
    if (result == 0 && beside != 1)
        result = write_info(tree, group, info);
    return result;
}

/* --- changes ------------------------------------------------------------------------ */

static int change(struct tree *tree, const struct free_space_group *group, uint64_t start,
                  uint64_t length, bool is_free)
{
    if (start < group->start || start >= group_end(group) || length == 0 ||
        length > group_end(group) - start || start % group->sectorsize ||
        length % group->sectorsize)
        return fail(EUCLEAN,
                    "block group %" PRIu64 " of %" PRIu64 " bytes: %" PRIu64 " bytes at %" PRIu64
                    " are not whole sectors of it",
                    group->start, group->length, length, start);
    struct stretch range = {start, start + length};
    struct free_space_info info;
    int result = read_info(tree, group, &info);
    if (result < 0)
        return result;
    return uses_bitmaps(&info) ? change_bitmaps(tree, group, &info, &range, is_free)
                               : change_extents(tree, group, &info, &range, is_free);
}

int free_space_add(struct tree *tree, const struct free_space_group *group, uint64_t start,
                   uint64_t length)
{
    return change(tree, group, start, length, true);
}

int free_space_remove(struct tree *tree, const struct free_space_group *group, uint64_t start,
                      uint64_t length)
{
    return change(tree, group, start, length, false);
}

/* --- whole groups ------------------------------------------------------------------- */

int free_space_create(struct tree *tree, const struct free_space_group *group)
{
    struct path path = {0};
    struct stretch all = {group->start, group_end(group)};
    struct key first = {group->start, 0, 0}, key = info_key(group), extent = extent_key(&all);
    int result = tree_seek(tree, &first, &path);
    bool is_taken = result == 0 && path_key(&path).objectid < all.end;
    path_release(tree, &path);
    if (result < 0)
        return result;
    if (is_taken)
        return fail(EUCLEAN, "block group %" PRIu64 " is new, but has free-space items",
                    group->start);
    struct free_space_info info = {.extent_count = to_le32(1)};
    result = tree_insert(tree, &key, &info, sizeof info);
    return result < 0 ? result : tree_insert(tree, &extent, NULL, 0);
}

int free_space_delete_group(struct tree *tree, const struct free_space_group *group)
{
    struct free_space_info info;
    struct key first = info_key(group), last = {group_end(group) - 1, UINT8_MAX, UINT64_MAX};
    uint64_t deleted;
    int result = read_info(tree, group, &info);
    return result < 0 ? result : tree_delete_range(tree, &first, &last, &deleted);
}

/* --- reading ------------------------------------------------------------------------ */

/* A stretch is held back until the next one does not touch it. */
struct walk {
    const struct free_space_group *group;
    bool uses_bitmaps;
    uint64_t reached; /* so far the items go; the group's start before the first */
    uint64_t count;   /* of stretches that were begun */
    struct stretch held;
    int (*visit)(uint64_t start, uint64_t length, void *context);
    void *context;
};

/* Hands on the stretch that is held, if any. */
static int hand_on(struct walk *walk)
{
    struct stretch held = walk->held;
    walk->held = (struct stretch){0};
    return held.start == held.end ? 0
                                  : walk->visit(held.start, held.end - held.start, walk->context);
}

static int walk_free(struct walk *walk, uint64_t start, uint64_t end)
{
    int result = 0;
    if (walk->held.end == start && walk->held.start < start) {
        walk->held.end = end;
    } else {
        result = hand_on(walk);
        walk->held = (struct stretch){start, end};
        walk->count++;
    }
    return result;
}

static int walk_extent(struct walk *walk, const struct path *path)
{
    struct stretch extent = {0};
    struct key key = path_key(path);
    int result = read_extent(walk->group, &key, &extent);
    if (result == 0 && walk->count > 0)
        result = check_apart(walk->group, walk->reached, extent.start);
    if (result < 0)
        return result;
    walk->reached = extent.end;
    return walk_free(walk, extent.start, extent.end);
}

static int walk_bitmap(struct walk *walk, const struct path *path)
{
    const struct free_space_group *group = walk->group;
    struct stretch rest = {walk->reached, group_end(group)};
    struct bits bits;
    struct key key = path_key(path), wanted = bitmap_key(group, rest.start);
    if (key.type != FREE_SPACE_BITMAP_KEY)
        return stray_item(group, &key, "bitmaps");
    int result = get_bits(group, path, key_compare(&key, &wanted) != 0, &rest, &bits);
    if (result < 0)
        return result;
    for (uint32_t bit = bits.first; bit < bits.end && result == 0; bit++) {
        uint64_t sector = rest.start + (uint64_t)bit * group->sectorsize;
        if (bit_is_set(&bits, bit))
            result = walk_free(walk, sector, sector + group->sectorsize);
    }
    walk->reached = bits.behind;
    return result;
}

static int walk_item(const struct path *path, void *context)
{
    struct walk *walk = context;
    struct key key = path_key(path), info = info_key(walk->group);
    if (key_compare(&key, &info) == 0)
        return 0;
    return walk->uses_bitmaps ? walk_bitmap(walk, path) : walk_extent(walk, path);
}

/* All items were walked: are they all that there must be? */
static int check_whole(const struct walk *walk, const struct free_space_info *info)
{
    uint64_t end = group_end(walk->group);
    if (walk->uses_bitmaps && walk->reached < end)
        return fail(EUCLEAN,
                    "block group %" PRIu64 ": bitmaps end at %" PRIu64 ", not at %" PRIu64 " (F3)",
                    walk->group->start, walk->reached, end);
    if (walk->count != from_le32(info->extent_count))
        return fail(EUCLEAN,
                    "block group %" PRIu64 ": extent_count %u, but %" PRIu64 " are there (F1)",
                    walk->group->start, from_le32(info->extent_count), walk->count);
    return 0;
}

int free_space_each(struct tree *tree, const struct free_space_group *group,
                    int (*visit)(uint64_t start, uint64_t length, void *context), void *context)
{
    struct free_space_info info;
    struct key first = {group->start, 0, 0};
    struct key last = {group_end(group) - 1, UINT8_MAX, UINT64_MAX};
    int result = read_info(tree, group, &info);
    if (result < 0)
        return result;
    struct walk walk = {
        .group = group,
        .uses_bitmaps = uses_bitmaps(&info),
        .reached = group->start,
        .visit = visit,
        .context = context,
    };
    result = tree_range(tree, &first, &last, walk_item, &walk);
    if (result == 0)
        result = check_whole(&walk, &info);
    return result != 0 ? result : hand_on(&walk);
}
