#include "extent_item.h"

#include "change.h"
#include "checksum.h"
#include "delete.h"
#include "fail.h"
#include "insert.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* --- references --------------------------------------------------------------------- */

/* Two halves of 32 bits that overlap in one bit: an accident of the first day. */
static uint64_t data_ref_hash(const struct extent_ref *ref)
{
    le64 root = to_le64(ref->root), file[] = {to_le64(ref->objectid), to_le64(ref->offset)};
    uint64_t high = crc32c(UINT32_MAX, &root, sizeof root);
    return high << 31 ^ crc32c(UINT32_MAX, file, sizeof file);
}

uint64_t extent_ref_offset(const struct extent_ref *ref)
{
    if (ref->type == EXTENT_DATA_REF_KEY)
        return data_ref_hash(ref);
    bool is_shared = ref->type == SHARED_BLOCK_REF_KEY || ref->type == SHARED_DATA_REF_KEY;
    return is_shared ? ref->parent : ref->root;
}

static int number_compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* E2, which leaves references of one hash in any order. */
static int place_compare(const struct extent_ref *a, const struct extent_ref *b)
{
    if (a->type != b->type)
        return number_compare(a->type, b->type);
    return number_compare(extent_ref_offset(b), extent_ref_offset(a));
}

int extent_ref_compare(const struct extent_ref *a, const struct extent_ref *b)
{
    int order = place_compare(a, b);
    if (order != 0 || a->type != EXTENT_DATA_REF_KEY)
        return order;
    if (a->root != b->root)
        return number_compare(a->root, b->root);
    if (a->objectid != b->objectid)
        return number_compare(a->objectid, b->objectid);
    return number_compare(a->offset, b->offset);
}

/* Is it of a type that refers to such an extent? */
static bool is_ref_of(const struct extent *extent, const struct extent_ref *ref)
{
    if (extent->is_block)
        return ref->type == TREE_BLOCK_REF_KEY || ref->type == SHARED_BLOCK_REF_KEY;
    return ref->type == EXTENT_DATA_REF_KEY || ref->type == SHARED_DATA_REF_KEY;
}

/* --- words for failures ------------------------------------------------------------- */

static struct key extent_key(const struct extent *extent)
{
    if (extent->is_block)
        return (struct key){extent->bytenr, METADATA_ITEM_KEY, extent->level};
    return (struct key){extent->bytenr, EXTENT_ITEM_KEY, extent->num_bytes};
}

enum { REF_TEXT_SIZE = 128 };

static const char *ref_format(const struct extent_ref *ref, char text[REF_TEXT_SIZE])
{
    const char *name = key_type_name(ref->type);
    if (ref->type == EXTENT_DATA_REF_KEY)
        snprintf(text, REF_TEXT_SIZE,
                 "%s root %" PRIu64 " objectid %" PRIu64 " offset %" PRIu64 ": ", name, ref->root,
                 ref->objectid, ref->offset);
    else
        snprintf(text, REF_TEXT_SIZE, "%s %" PRIu64 ": ", name, extent_ref_offset(ref));
    return text;
}

/* What is wrong with an extent, or with this reference of it. */
__attribute__((format(printf, 3, 4))) static int
bad_extent(const struct extent *extent, const struct extent_ref *ref, const char *format, ...)
{
    char text[256], key_text[KEY_TEXT_SIZE], ref_text[REF_TEXT_SIZE];
    struct key key = extent_key(extent);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fail(EUCLEAN, "extent %s: %s%s", key_format(&key, key_text),
                ref ? ref_format(ref, ref_text) : "", text);
}

/* --- references as bytes ------------------------------------------------------------ */

/* The size of an inline reference; 0 for a type that there is not. */
static uint32_t inline_size(uint8_t type)
{
    uint32_t size = sizeof(struct extent_inline_ref);
    switch (type) {
    case EXTENT_OWNER_REF_KEY:
    case TREE_BLOCK_REF_KEY:
    case SHARED_BLOCK_REF_KEY:
        return size;
    case SHARED_DATA_REF_KEY:
        return size + (uint32_t)sizeof(struct shared_data_ref);
    case EXTENT_DATA_REF_KEY:
        return size - (uint32_t)sizeof(le64) + (uint32_t)sizeof(struct extent_data_ref);
    default:
        return 0;
    }
}

/* The size of a keyed item, which holds what an inline reference ends with. */
static uint32_t keyed_size(uint8_t type)
{
    if (type == EXTENT_DATA_REF_KEY)
        return sizeof(struct extent_data_ref);
    return type == SHARED_DATA_REF_KEY ? sizeof(struct shared_data_ref) : 0;
}

enum { INLINE_SIZE_MOST = 29 };

/* A reference and how often it counts. */
struct counted_ref {
    struct extent_ref ref;
    uint32_t count;
};

/* Inline and keyed, a reference of data ends with its count. */
static void count_write(unsigned char *end, uint32_t count)
{
    le32 bytes = to_le32(count);
    memcpy(end - sizeof bytes, &bytes, sizeof bytes);
}

static uint32_t inline_write(unsigned char *bytes, const struct extent_ref *ref, uint32_t count)
{
    struct extent_inline_ref *head = (struct extent_inline_ref *)bytes;
    uint32_t size = inline_size(ref->type);
    head->type = ref->type;
    if (ref->type == EXTENT_DATA_REF_KEY)
        *(struct extent_data_ref *)&head->offset = (struct extent_data_ref){
            to_le64(ref->root), to_le64(ref->objectid), to_le64(ref->offset), to_le32(count)};
    else
        head->offset = to_le64(extent_ref_offset(ref));
    if (ref->type == SHARED_DATA_REF_KEY)
        count_write(bytes + size, count);
    return size;
}

static struct counted_ref data_ref_read(const struct extent_data_ref *data)
{
    return (struct counted_ref){
        .ref = {.type = EXTENT_DATA_REF_KEY,
                .root = from_le64(data->root),
                .objectid = from_le64(data->objectid),
                .offset = from_le64(data->offset)},
        .count = from_le32(data->count),
    };
}

/* A reference of a type that has an offset; `shared` is NULL but in a SHARED_DATA_REF. */
static struct counted_ref plain_ref_read(uint8_t type, uint64_t offset,
                                         const struct shared_data_ref *shared)
{
    bool is_shared = type == SHARED_BLOCK_REF_KEY || type == SHARED_DATA_REF_KEY;
    return (struct counted_ref){
        .ref = {.type = type, .root = is_shared ? 0 : offset, .parent = is_shared ? offset : 0},
        .count = shared ? from_le32(shared->count) : 1,
    };
}

/* Reads the inline reference that the `left` bytes begin with: its size, or EUCLEAN. */
static int inline_read(const struct extent *extent, const unsigned char *bytes, uint32_t left,
                       struct counted_ref *found)
{
    const struct extent_inline_ref *head = (const struct extent_inline_ref *)bytes;
    uint8_t type = head->type;
    bool is_blocks = type == TREE_BLOCK_REF_KEY || type == SHARED_BLOCK_REF_KEY;
    uint32_t size = inline_size(type);
    if (size == 0 || size > left || is_blocks != extent->is_block)
        return bad_extent(extent, NULL, "inline reference of type %u, %u bytes left", type, left);
    if (type == EXTENT_DATA_REF_KEY)
        *found = data_ref_read((const struct extent_data_ref *)&head->offset);
    else
        *found = plain_ref_read(
            type, from_le64(head->offset),
            type == SHARED_DATA_REF_KEY ? (const struct shared_data_ref *)(head + 1) : NULL);
    if (found->count == 0)
        return bad_extent(extent, &found->ref, "the inline reference counts 0");
    return (int)size;
}

/* --- the item of an extent ---------------------------------------------------------- */

/* A reference in the item of its extent. */
struct place {
    struct path path; /* to the item */
    struct key key;   /* of the item */
    uint64_t refs;
    uint32_t at;          /* where the reference is in the item's data, or where it belongs */
    uint32_t count;       /* 0: it is not inline */
    uint32_t inline_refs; /* all of them; not the owner */
    bool has_keyed;       /* there are keyed ones too */
};

/* The item that the path leads to is one of this extent; *begin of its inline references. */
static int check_head(const struct extent *extent, const struct path *path, uint32_t *begin)
{
    uint32_t size = item_size(path->nodes[0], path->slots[0]);
    const struct extent_item *item = item_data(path->nodes[0], path->slots[0]);
    const struct tree_block_info *info = (const struct tree_block_info *)(item + 1);
    bool has_info = extent->is_block && path_key(path).type == EXTENT_ITEM_KEY;
    *begin = (uint32_t)(sizeof *item + (has_info ? sizeof *info : 0));
    if (size < *begin)
        return bad_extent(extent, NULL, "its item has %u bytes", size);
    uint64_t flags = from_le64(item->flags), kinds = EXTENT_FLAG_DATA | EXTENT_FLAG_TREE_BLOCK;
    if ((flags & kinds) != (extent->is_block ? EXTENT_FLAG_TREE_BLOCK : EXTENT_FLAG_DATA))
        return bad_extent(extent, NULL, "its flags are 0x%" PRIx64, flags);
    if (has_info && info->level != extent->level)
        return bad_extent(extent, NULL, "its item is of level %u", info->level);
    return 0;
}

/* 0 and the path to the extent's item; 1, or an error, and the path is released. */
static int find_item(struct tree *tree, const struct extent *extent, struct path *path,
                     uint32_t *begin)
{
    struct key key = extent_key(extent);
    *path = (struct path){0};
    int result = tree_search(tree, &key, path);
    if (result == 1 && extent->is_block) { /* the item may be of before SKINNY_METADATA */
        path_release(tree, path);
        key = (struct key){extent->bytenr, EXTENT_ITEM_KEY, extent->num_bytes};
        result = tree_search(tree, &key, path);
    }
    if (result == 0)
        result = check_head(extent, path, begin);
    if (result != 0)
        path_release(tree, path);
    return result;
}

/* find_item where there must be one. */
static int need_item(struct tree *tree, const struct extent *extent, const struct extent_ref *ref,
                     struct path *path, uint32_t *begin)
{
    int result = find_item(tree, extent, path, begin);
    return result == 1 ? bad_extent(extent, ref, "the extent is not in the extent tree") : result;
}

/* The place of `ref` among the inline references, which are all looked at: E2, E3. */
static int find_inline(const struct extent *extent, const unsigned char *data, uint32_t begin,
                       uint32_t size, const struct extent_ref *ref, struct place *place)
{
    struct counted_ref last = {0}, next;
    int length;
    place->at = begin;
    for (uint32_t at = begin; at < size; at += (uint32_t)length, last = next) {
        length = inline_read(extent, data + at, size - at, &next);
        if (length < 0)
            return length;
        int order = place_compare(&next.ref, ref);
        bool is_it = order == 0 && extent_ref_compare(&next.ref, ref) == 0;
        if (place_compare(&last.ref, &next.ref) > 0)
            return bad_extent(extent, &next.ref, "the inline reference is out of order (E2)");
        if (extent_ref_compare(&last.ref, &next.ref) == 0 || (is_it && place->count))
            return bad_extent(extent, &next.ref, "the inline reference is there twice (E3)");
        if (is_it) {
            place->at = at;
            place->count = next.count;
        } else if (order <= 0 && place->count == 0) {
            place->at = at + (uint32_t)length;
        }
        place->inline_refs += next.ref.type != EXTENT_OWNER_REF_KEY;
    }
    return 0;
}

static bool is_keyed_ref(const struct key *key, uint64_t bytenr)
{
    return key->objectid == bytenr && key->type > METADATA_ITEM_KEY &&
           key->type < BLOCK_GROUP_ITEM_KEY;
}

/* Is the item behind that of the path, which need not be read for it, a reference to `bytenr`? */
static bool keyed_ref_follows(const struct tree *tree, const struct path *path, uint64_t bytenr)
{
    const struct block *leaf = path->nodes[0];
    uint32_t next = path->slots[0] + 1;
    const struct disk_key *behind =
        next < block_nritems(leaf) ? &leaf_item(leaf, next)->key : path_bound(tree, path, 0);
    if (!behind)
        return false;
    struct key key = key_from_disk(behind);
    return is_keyed_ref(&key, bytenr);
}

/* Finds the extent's item and the place of `ref` in it; after an error the path is released. */
static int find_place(struct tree *tree, const struct extent *extent, const struct extent_ref *ref,
                      struct place *place)
{
    uint32_t begin;
    *place = (struct place){0};
    int result = need_item(tree, extent, ref, &place->path, &begin);
    if (result < 0)
        return result;
    const struct block *leaf = place->path.nodes[0];
    uint32_t slot = place->path.slots[0];
    const struct extent_item *item = item_data(leaf, slot);
    place->key = leaf_key(leaf, slot);
    place->refs = from_le64(item->refs);
    place->has_keyed = keyed_ref_follows(tree, &place->path, extent->bytenr);
    result =
        find_inline(extent, (const unsigned char *)item, begin, item_size(leaf, slot), ref, place);
    if (result < 0)
        path_release(tree, &place->path);
    return result;
}

/* --- changing the item -------------------------------------------------------------- */

/* Bytes of the item that the path leads to have changed. */
static void item_dirty(struct tree *tree, struct path *path)
{
    tree_dirty(tree, path->nodes[0]);
    tree->growth->counters.items_changed++;
}

/* Writes `bytes` at `at` into the data of an item. */
static int item_overwrite(struct tree *tree, const struct key *key, size_t at, const void *bytes,
                          size_t size)
{
    struct path path = {0};
    int result = tree_change(tree, key, &path);
    if (result == 1)
        return tree_no_item(tree, key);
    if (result == 0) {
        memcpy((unsigned char *)item_data(path.nodes[0], path.slots[0]) + at, bytes, size);
        item_dirty(tree, &path);
    }
    path_release(tree, &path);
    return result;
}

static int refs_change(struct tree *tree, const struct key *key, uint64_t refs)
{
    le64 bytes = to_le64(refs);
    return item_overwrite(tree, key, offsetof(struct extent_item, refs), &bytes, sizeof bytes);
}

/* Makes a gap of `bytes` at `at` in the data of the item that the path leads to, and claims it. */
static int open_gap(struct tree *tree, struct path *path, uint32_t at, uint32_t bytes)
{
    uint32_t size = item_size(path->nodes[0], path->slots[0]);
    struct key key = path_key(path);
    int result = tree_make_longer(tree, &key, path, bytes);
    if (result < 0)
        return result;
    struct block *leaf = path->nodes[0];
    result = leaf_grow(leaf, path->slots[0], bytes);
    assert(result == 0);
    unsigned char *data = item_data(leaf, path->slots[0]);
    memmove(data + at + bytes, data + at, size - at);
    return result;
}

/* Takes `bytes` out of the data of an item; the path is claimed. */
static void close_gap(struct path *path, uint32_t at, uint32_t bytes)
{
    struct block *leaf = path->nodes[0];
    unsigned char *data = item_data(leaf, path->slots[0]);
    uint32_t size = item_size(leaf, path->slots[0]);
    memmove(data + at, data + at + bytes, size - at - bytes);
    leaf_shrink(leaf, path->slots[0], bytes);
}

/* Puts the reference into its place, or changes how often the one there counts. */
static int inline_set(struct tree *tree, struct place *place, const struct extent_ref *ref,
                      uint32_t count, uint64_t refs)
{
    struct path *path = &place->path;
    uint32_t size = inline_size(ref->type);
    int result;
    if (place->count == 0)
        result = open_gap(tree, path, place->at, size);
    else
        result = path_claim(tree, path, 0);
    if (result < 0)
        return result;
    if (count > 0)
        inline_write((unsigned char *)item_data(path->nodes[0], path->slots[0]) + place->at, ref,
                     count);
    else
        close_gap(path, place->at, size);
    struct extent_item *item = item_data(path->nodes[0], path->slots[0]);
    item->refs = to_le64(refs);
    item_dirty(tree, path);
    return 0;
}

/* --- keyed items -------------------------------------------------------------------- */

/* A reference as a keyed item. */
struct keyed {
    struct key key; /* of the item, or of the one that would be made */
    uint32_t count; /* 0: it is not there */
};

/* EXTENT_DATA_REFs whose hashes are the same take the next offsets that are free. One that was
 * dropped leaves a gap, behind which others may be; so far they are looked for, at least. */
enum { GAPS_MOST = 255 };

static int keyed_read(const struct extent *extent, const struct path *path,
                      struct counted_ref *found)
{
    char text[KEY_TEXT_SIZE];
    struct key key = path_key(path);
    uint32_t size = item_size(path->nodes[0], path->slots[0]);
    const void *data = item_data(path->nodes[0], path->slots[0]);
    if (size != keyed_size(key.type))
        return bad_extent(extent, NULL, "the item %s of %u bytes", key_format(&key, text), size);
    if (key.type == EXTENT_DATA_REF_KEY)
        *found = data_ref_read(data);
    else
        *found = plain_ref_read(key.type, key.offset, size ? data : NULL);
    if (found->count == 0)
        return bad_extent(extent, NULL, "the item %s counts 0", key_format(&key, text));
    return 0;
}

/* Finds the keyed item of a reference, no further behind a gap than `reach` from its hash. */
static int find_keyed(struct tree *tree, const struct extent *extent, const struct extent_ref *ref,
                      uint64_t reach, struct keyed *keyed)
{
    struct path path = {0};
    struct key first = {extent->bytenr, ref->type, extent_ref_offset(ref)};
    *keyed = (struct keyed){.key = first};
    int result = tree_seek(tree, &first, &path);
    while (result == 0) {
        struct key key = path_key(&path);
        struct counted_ref found;
        bool is_behind_gap = key.offset > keyed->key.offset;
        if (key.objectid != first.objectid || key.type != first.type ||
            (is_behind_gap && key.offset - first.offset > reach))
            break;
        result = keyed_read(extent, &path, &found);
        if (result < 0)
            break;
        if (extent_ref_compare(&found.ref, ref) == 0) {
            *keyed = (struct keyed){key, found.count};
            break;
        }
        keyed->key.offset += !is_behind_gap;
        result = path_next(tree, &path);
    }
    path_release(tree, &path);
    return result < 0 ? result : 0;
}

/* Sets how often the reference of a keyed item counts; the item comes and goes with it. */
static int keyed_set(struct tree *tree, const struct keyed *keyed, const struct extent_ref *ref,
                     uint32_t count)
{
    unsigned char bytes[INLINE_SIZE_MOST];
    uint32_t end = inline_write(bytes, ref, count), size = keyed_size(ref->type);
    if (keyed->count == 0)
        return tree_insert(tree, &keyed->key, bytes + end - size, size);
    if (count == 0)
        return tree_delete(tree, &keyed->key);
    return item_overwrite(tree, &keyed->key, 0, bytes + end - size, size);
}

static int count_two(const struct path *path, void *context)
{
    uint32_t *count = context;
    (void)path;
    return ++*count == 2;
}

/* How many keyed items an extent has: 0, 1, or 2 for more. */
static int count_keyed(struct tree *tree, const struct extent *extent, uint32_t *count)
{
    struct key first = {extent->bytenr, METADATA_ITEM_KEY + 1, 0};
    struct key last = {extent->bytenr, BLOCK_GROUP_ITEM_KEY - 1, UINT64_MAX};
    *count = 0;
    int result = tree_range(tree, &first, &last, count_two, count);
    return result < 0 ? result : 0;
}

/* --- looking ------------------------------------------------------------------------ */

int extent_lookup(struct tree *tree, const struct extent *extent, struct extent_info *info)
{
    struct path path;
    uint32_t begin;
    int result = find_item(tree, extent, &path, &begin);
    if (result != 0)
        return result;
    const struct extent_item *item = item_data(path.nodes[0], path.slots[0]);
    *info = (struct extent_info){
        from_le64(item->refs),
        from_le64(item->generation),
        from_le64(item->flags),
    };
    path_release(tree, &path);
    return 0;
}

/* --- adding ------------------------------------------------------------------------- */

/* What an inline reference may make of the item: with its header, a sixteenth of a leaf. */
static bool fits_inline(const struct place *place, const struct extent_ref *ref)
{
    const struct block *leaf = place->path.nodes[0];
    uint32_t limit = (leaf_room(leaf) >> 4) - (uint32_t)sizeof(struct item_header);
    return item_size(leaf, place->path.slots[0]) + inline_size(ref->type) < limit;
}

/* May a reference that counts `have`, 0 where it is not there, count `more`? */
static int check_add(const struct extent *extent, const struct extent_ref *ref, uint32_t have,
                     uint32_t more)
{
    if (extent->is_block && have > 0)
        return bad_extent(extent, ref, "the reference is to be added and is there already (E3)");
    if (extent->is_block && more > 1)
        return bad_extent(extent, ref, "the reference is to be added %u times (E3)", more);
    if (more > UINT32_MAX - have)
        return bad_extent(extent, ref, "the reference counts %u, and is to count %u more", have,
                          more);
    return 0;
}

static int add_keyed(struct tree *tree, const struct extent *extent, const struct place *place,
                     const struct extent_ref *ref, uint32_t count)
{
    struct keyed keyed;
    int result = find_keyed(tree, extent, ref, GAPS_MOST, &keyed);
    if (result == 0)
        result = check_add(extent, ref, keyed.count, count);
    if (result == 0)
        result = keyed_set(tree, &keyed, ref, keyed.count + count);
    return result < 0 ? result : refs_change(tree, &place->key, place->refs + count);
}

int extent_add_ref(struct tree *tree, const struct extent *extent, const struct extent_ref *ref,
                   uint32_t count)
{
    assert(is_ref_of(extent, ref) && count > 0);
    struct place place;
    int result = find_place(tree, extent, ref, &place);
    if (result < 0)
        return result;
    result = check_add(extent, ref, place.count, count);
    if (result == 0 && count > UINT64_MAX - place.refs)
        result = bad_extent(extent, ref, "the extent has %" PRIu64 " references", place.refs);
    /* Where there are keyed ones this one may be among them, and otherwise follows them. */
    bool is_keyed = place.count == 0 && (place.has_keyed || !fits_inline(&place, ref));
    if (result == 0 && !is_keyed)
        result = inline_set(tree, &place, ref, place.count + count, place.refs + count);
    path_release(tree, &place.path);
    return result == 0 && is_keyed ? add_keyed(tree, extent, &place, ref, count) : result;
}

int extent_insert(struct tree *tree, const struct extent *extent, uint64_t generation,
                  uint64_t flags, const struct extent_ref *ref, uint32_t count)
{
    assert(is_ref_of(extent, ref) && count > 0);
    struct {
        struct extent_item head;
        unsigned char ref[INLINE_SIZE_MOST];
    } item = {.head = {to_le64(count), to_le64(generation), to_le64(flags)}};
    struct key key = extent_key(extent);
    struct extent_info info;
    int result = check_add(extent, ref, 0, count);
    if (result == 0)
        result = extent_lookup(tree, extent, &info);
    if (result == 0)
        return bad_extent(extent, ref, "the extent is new and is in the extent tree already");
    if (result < 0)
        return result;
    uint32_t size = (uint32_t)sizeof item.head + inline_write(item.ref, ref, count);
    return tree_insert(tree, &key, &item, size);
}

/* --- dropping ----------------------------------------------------------------------- */

/* Where a reference was found: inline, where place.count is not 0, or keyed. */
struct found {
    struct place place;
    struct keyed keyed;
    uint32_t keyed_refs; /* of this extent: 0, 1, or 2 for more */
};

/* Looks for a reference that is to be dropped; after an error the path is released. */
static int find_ref(struct tree *tree, const struct extent *extent, const struct extent_ref *ref,
                    struct found *found)
{
    *found = (struct found){0};
    int result = find_place(tree, extent, ref, &found->place);
    if (result < 0 || !found->place.has_keyed)
        return result;
    result = count_keyed(tree, extent, &found->keyed_refs);
    if (result == 0 && found->place.count == 0)
        result = find_keyed(tree, extent, ref, UINT64_MAX, &found->keyed);
    if (result < 0)
        path_release(tree, &found->place.path);
    return result;
}

/* May the reference lose `count`? */
static int check_drop(const struct extent *extent, const struct extent_ref *ref, uint32_t count,
                      const struct found *found)
{
    uint32_t have = found->place.count + found->keyed.count;
    uint64_t refs = found->place.refs;
    if (have == 0)
        return bad_extent(extent, ref, "the reference is to be dropped and is not there");
    if (count > have || count > refs)
        return bad_extent(extent, ref, "%u are to be dropped; it counts %u, the extent %" PRIu64,
                          count, have, refs);
    bool others = found->place.inline_refs + found->keyed_refs > 1;
    bool is_last = count == have && !others;
    if (is_last != (count == refs))
        return bad_extent(extent, ref, "it counts %u and is %s, the extent counts %" PRIu64 " (E1)",
                          have, others ? "not the only one" : "the only one", refs);
    return 0;
}

/* Drops `count` of what was found, which is not all that the extent has. Releases the path. */
static int drop_some(struct tree *tree, struct found *found, const struct extent_ref *ref,
                     uint32_t count)
{
    struct place *place = &found->place;
    uint64_t refs = place->refs - count;
    int result;
    if (place->count > 0) {
        result = inline_set(tree, place, ref, place->count - count, refs);
        path_release(tree, &place->path);
        return result;
    }
    path_release(tree, &place->path);
    result = keyed_set(tree, &found->keyed, ref, found->keyed.count - count);
    return result < 0 ? result : refs_change(tree, &place->key, refs);
}

/* Drops the last reference and the extent. Releases the path. */
static int drop_all(struct tree *tree, struct found *found)
{
    path_release(tree, &found->place.path);
    int result = 0;
    if (found->keyed.count > 0)
        result = tree_delete(tree, &found->keyed.key);
    return result < 0 ? result : tree_delete(tree, &found->place.key);
}

int extent_drop_ref(struct tree *tree, const struct extent *extent, const struct extent_ref *ref,
                    uint32_t count, uint64_t *refs_left)
{
    assert(is_ref_of(extent, ref) && count > 0);
    struct found found;
    int result = find_ref(tree, extent, ref, &found);
    if (result < 0)
        return result;
    result = check_drop(extent, ref, count, &found);
    if (result < 0) {
        path_release(tree, &found.place.path);
        return result;
    }
    *refs_left = found.place.refs - count;
    return *refs_left ? drop_some(tree, &found, ref, count) : drop_all(tree, &found);
}

/* --- flags -------------------------------------------------------------------------- */

int extent_set_flags(struct tree *tree, const struct extent *extent, uint64_t flags)
{
    struct path path;
    uint32_t begin;
    int result = need_item(tree, extent, NULL, &path, &begin);
    if (result < 0)
        return result;
    const struct extent_item *item = item_data(path.nodes[0], path.slots[0]);
    uint64_t had = from_le64(item->flags);
    le64 all = to_le64(had | flags);
    struct key key = path_key(&path);
    path_release(tree, &path);
    if ((had | flags) == had)
        return 0;
    return item_overwrite(tree, &key, offsetof(struct extent_item, flags), &all, sizeof all);
}
