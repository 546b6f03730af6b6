#include "block_group.h"

#include "blank.h"
#include "fail.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20 };

/* --- types -------------------------------------------------------------------------- */

static uint64_t type_flags(const struct block_groups *groups, enum group_type type)
{
    static const uint64_t flags[] = {BLOCK_GROUP_DATA, BLOCK_GROUP_SYSTEM, BLOCK_GROUP_METADATA};
    if (groups->is_mixed && type != GROUP_SYSTEM)
        return BLOCK_GROUP_DATA | BLOCK_GROUP_METADATA;
    return flags[type];
}

static bool is_of_type(const struct block_groups *groups, const struct block_group *group,
                       enum group_type type)
{
    return (group->flags & BLOCK_GROUP_TYPE_MASK) == type_flags(groups, type);
}

static unsigned copies_of(uint64_t profile)
{
    return profile & BLOCK_GROUP_DUP ? 2 : 1;
}

bool has_free_space_tree(const struct superblock *super)
{
    return from_le64(super->compat_ro_flags) & COMPAT_RO_FREE_SPACE_TREE;
}

uint64_t block_group_tree_id(const struct superblock *super)
{
    bool own_tree = from_le64(super->compat_ro_flags) & COMPAT_RO_BLOCK_GROUP_TREE;
    return own_tree ? BLOCK_GROUP_TREE_OBJECTID : EXTENT_TREE_OBJECTID;
}

/* --- the list ----------------------------------------------------------------------- */

/* How many groups start at or before `bytenr`. */
static size_t groups_up_to(const struct block_groups *groups, uint64_t bytenr)
{
    size_t low = 0, high = groups->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (groups->groups[middle]->start <= bytenr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct block_group *block_groups_find(const struct block_groups *groups, uint64_t bytenr)
{
    size_t at = groups_up_to(groups, bytenr);
    struct block_group *group = at ? groups->groups[at - 1] : NULL;
    return group && bytenr - group->start < group->length ? group : NULL;
}

struct free_space_group block_groups_range(const struct block_groups *groups,
                                           const struct block_group *group)
{
    return (struct free_space_group){group->start, group->length,
                                     from_le32(groups->volume->super.sectorsize)};
}

/* The group of an extent, which must be wholly in it. */
static int group_of(const struct block_groups *groups, uint64_t bytenr, uint64_t length,
                    struct block_group **group)
{
    *group = block_groups_find(groups, bytenr);
    if (!*group || length > (*group)->length - (bytenr - (*group)->start))
        return fail(EUCLEAN, "extent %" PRIu64 " of %" PRIu64 " bytes is in no block group", bytenr,
                    length);
    return 0;
}

static int add_group(struct block_groups *groups, const struct chunk *chunk,
                     struct block_group **group)
{
    if (groups->count == groups->capacity) {
        size_t capacity = groups->capacity ? 2 * groups->capacity : 16;
        struct block_group **grown = realloc(groups->groups, capacity * sizeof(void *));
        if (!grown)
            return fail(ENOMEM, "out of memory for %zu block groups", capacity);
        groups->groups = grown;
        groups->capacity = capacity;
    }
    *group = calloc(1, sizeof **group);
    if (!*group)
        return fail(ENOMEM, "out of memory for a block group");
    (*group)->start = chunk->logical;
    (*group)->length = chunk->length;
    (*group)->flags = chunk->type;
    size_t at = groups_up_to(groups, chunk->logical);
    memmove(groups->groups + at + 1, groups->groups + at, (groups->count - at) * sizeof(void *));
    groups->groups[at] = *group;
    groups->count++;
    return 0;
}

static void free_group(struct block_group *group)
{
    range_set_close(&group->free);
    range_set_close(&group->pinned);
    free(group);
}

/* --- what is free in a group -------------------------------------------------------- */

static int add_free(uint64_t start, uint64_t length, void *context)
{
    struct block_group *group = context;
    return length ? range_set_add(&group->free, start, start + length) : 0;
}

/* W2: takes out of `free` what of a copy lies in [from, to) of the device. */
static int exclude(struct block_group *group, uint64_t physical, uint64_t from, uint64_t to)
{
    uint64_t end = physical + group->length;
    if (from < physical)
        from = physical;
    if (to > end)
        to = end;
    if (from >= to)
        return 0;
    return range_set_clear(&group->free, group->start + (from - physical),
                           group->start + (to - physical));
}

static int exclude_superblocks(const struct block_groups *groups, struct block_group *group)
{
    const struct chunk *chunk;
    int result = chunk_map_find(&groups->volume->chunks, group->start, group->length, &chunk);
    for (unsigned copy = 0; result == 0 && copy < chunk->copies; copy++) {
        uint64_t physical = chunk->physical[copy];
        result = exclude(group, physical, 0, DEVICE_RESERVED);
        for (int mirror = 1; mirror < SUPERBLOCK_MIRRORS && result == 0; mirror++)
            result = exclude(group, physical, superblock_offset(mirror),
                             superblock_offset(mirror) + STRIPE_LENGTH);
    }
    return result;
}

/* An extent of the extent tree, while the gaps between them are gathered. */
struct gaps {
    struct block_group *group;
    uint64_t end; /* of the extents so far */
    uint32_t node_size;
};

static int add_gap(const struct path *path, void *context)
{
    struct gaps *gaps = context;
    struct key key = path_key(path);
    if (key.type != EXTENT_ITEM_KEY && key.type != METADATA_ITEM_KEY)
        return 0;
    uint64_t length = key.type == METADATA_ITEM_KEY ? gaps->node_size : key.offset;
    if (key.objectid < gaps->end)
        return fail(EUCLEAN, "extent %" PRIu64 " begins in the one before it", key.objectid);
    int result = add_free(gaps->end, key.objectid - gaps->end, gaps->group);
    gaps->end = key.objectid + length;
    return result;
}

/* For images without a free-space tree. */
static int load_from_extents(struct block_groups *groups, struct block_group *group)
{
    struct tree extents;
    uint64_t end = group->start + group->length;
    struct gaps gaps = {group, group->start, from_le32(groups->volume->super.nodesize)};
    struct key first = {group->start, 0, 0}, last = {end - 1, UINT8_MAX, UINT64_MAX};
    int result = volume_tree(groups->volume, EXTENT_TREE_OBJECTID, &extents);
    if (result == 0)
        result = tree_range(&extents, &first, &last, add_gap, &gaps);
    if (result == 0 && gaps.end > end)
        result = fail(EUCLEAN, "an extent passes the end of the group");
    return result < 0 ? result : add_free(gaps.end, end - gaps.end, group);
}

static int load_from_free_space_tree(struct block_groups *groups, struct block_group *group)
{
    struct tree tree;
    struct free_space_group range = block_groups_range(groups, group);
    int result = volume_tree(groups->volume, FREE_SPACE_TREE_OBJECTID, &tree);
    return result < 0 ? result : free_space_each(&tree, &range, add_free, group);
}

/* Reads what is free in a group, as the state on the device says: what the running transaction has
 * freed in it is pinned and counts as used until it is committed. */
static int load_group(struct block_groups *groups, struct block_group *group)
{
    int result = has_free_space_tree(&groups->volume->super)
                     ? load_from_free_space_tree(groups, group)
                     : load_from_extents(groups, group);
    if (result == 0 && group->free.bytes != group->length - group->committed_used)
        result = fail(EUCLEAN, "%" PRIu64 " bytes are free, its item says %" PRIu64,
                      group->free.bytes, group->length - group->committed_used);
    if (result == 0)
        result = exclude_superblocks(groups, group);
    if (result < 0) {
        range_set_close(&group->free);
        return fail_within(result, "block group %" PRIu64, group->start);
    }
    group->is_loaded = true;
    groups->groups_loaded++;
    return 0;
}

/* Where a new group begins: behind all others, and the first one at 1 MiB. */
static uint64_t next_logical(const struct block_groups *groups)
{
    if (groups->count == 0)
        return DEVICE_RESERVED;
    const struct block_group *last = groups->groups[groups->count - 1];
    uint64_t end = last->start + last->length;
    return (end + STRIPE_LENGTH - 1) / STRIPE_LENGTH * STRIPE_LENGTH;
}

/* --- opening ------------------------------------------------------------------------ */

/* Leads the path, which may be at the group before, to a group's item. In tree 11 that is the next
 * one; in the extent tree the group's extents lie between. */
static int find_group_item(struct tree *tree, const struct key *key, struct path *path)
{
    if (path->nodes[0] && tree->id == BLOCK_GROUP_TREE_OBJECTID) {
        int result = path_next(tree, path);
        struct key next = result == 0 ? path_key(path) : (struct key){0};
        if (result < 0 || key_compare(&next, key) == 0)
            return result;
    }
    path_release(tree, path);
    return tree_search(tree, key, path);
}

static int read_group(struct block_groups *groups, struct tree *tree, const struct chunk *chunk,
                      struct path *path)
{
    struct block_group *group;
    struct key key = {chunk->logical, BLOCK_GROUP_ITEM_KEY, chunk->length};
    int result = find_group_item(tree, &key, path);
    if (result == 1)
        result = fail(EUCLEAN, "chunk %" PRIu64 " of %" PRIu64 " bytes has no block group (G1)",
                      chunk->logical, chunk->length);
    if (result == 0)
        result = add_group(groups, chunk, &group);
    if (result == 0) {
        const struct block_group_item *item = item_data(path->nodes[0], path->slots[0]);
        group->used = group->written_used = group->committed_used = from_le64(item->used);
        if (from_le64(item->flags) != chunk->type || group->used > group->length)
            result = fail(EUCLEAN,
                          "block group %" PRIu64 ": flags 0x%" PRIx64 ", %" PRIu64
                          " bytes used; its chunk has flags 0x%" PRIx64 ", %" PRIu64 " bytes (G1)",
                          chunk->logical, from_le64(item->flags), group->used, chunk->type,
                          chunk->length);
    }
    return result;
}

/* All of the device but what the stripes take. */
static int find_device_free(struct block_groups *groups)
{
    const struct chunk_map *map = &groups->volume->chunks;
    uint64_t total = from_le64(groups->volume->super.dev_item.total_bytes);
    uint64_t end = total / STRIPE_LENGTH * STRIPE_LENGTH;
    int result =
        end > DEVICE_RESERVED ? range_set_add(&groups->device_free, DEVICE_RESERVED, end) : 0;
    for (size_t i = 0; i < map->count; i++)
        for (unsigned copy = 0; copy < map->chunks[i].copies && result == 0; copy++) {
            uint64_t physical = map->chunks[i].physical[copy];
            result =
                range_set_clear(&groups->device_free, physical, physical + map->chunks[i].length);
        }
    return result;
}

/* New chunks are made as the last one of their type is. */
static void take_profile(struct block_groups *groups, const struct chunk *chunk)
{
    for (enum group_type type = GROUP_DATA; type <= GROUP_METADATA; type++)
        if (chunk->type & type_flags(groups, type))
            groups->profiles[type] = chunk->type & BLOCK_GROUP_PROFILE_MASK;
}

int block_groups_open(struct block_groups *groups, struct volume *volume)
{
    const struct superblock *super = &volume->super;
    struct tree tree = {0};
    struct path path = {0};
    *groups = (struct block_groups){
        .volume = volume,
        .is_mixed = from_le64(super->incompat_flags) & INCOMPAT_MIXED_GROUPS,
        .bytes_used = from_le64(super->bytes_used),
    };
    int result = find_device_free(groups);
    if (result == 0 && volume->chunks.count)
        result = volume_tree(volume, block_group_tree_id(super), &tree);
    for (size_t i = 0; i < volume->chunks.count && result == 0; i++) {
        result = read_group(groups, &tree, &volume->chunks.chunks[i], &path);
        take_profile(groups, &volume->chunks.chunks[i]);
    }
    path_release(&tree, &path);
    groups->first_new = next_logical(groups);
    groups->device_bytes = volume->chunks.device_bytes;
    if (result < 0)
        block_groups_close(groups);
    return result;
}

void block_groups_close(struct block_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        free_group(groups->groups[i]);
    free(groups->groups);
    range_set_close(&groups->device_free);
    groups->groups = NULL;
    groups->count = groups->capacity = 0;
}

/* --- new chunks --------------------------------------------------------------------- */

/* A tenth of the device, within limits; in multiples of what a stripe is. */
static uint64_t suitable_length(const struct block_groups *groups, enum group_type type)
{
    uint32_t node_size = from_le32(groups->volume->super.nodesize);
    uint64_t least[] = {8 * MIB, 64 * (uint64_t)node_size, 768 * (uint64_t)node_size};
    uint64_t most[] = {1024ULL * MIB, 8 * MIB, 256 * MIB};
    uint64_t length = groups->volume->chunks.device_bytes / 10;
    if (length > most[type])
        length = most[type];
    if (length < least[type])
        length = least[type];
    return length / STRIPE_LENGTH * STRIPE_LENGTH;
}

/* The first free range of the device that is so long; NULL where there is none. */
static const struct range *find_hole(const struct range_set *holes, uint64_t length)
{
    for (size_t i = 0; i < holes->count; i++)
        if (holes->ranges[i].end - holes->ranges[i].start >= length)
            return &holes->ranges[i];
    return NULL;
}

/* Bytes by which the image may still become longer, in whole stripes. */
static uint64_t growth_left(const struct block_groups *groups)
{
    uint64_t end = groups->volume->chunks.device_bytes / STRIPE_LENGTH * STRIPE_LENGTH;
    uint64_t most = groups->grow_to / STRIPE_LENGTH * STRIPE_LENGTH;
    return most > end ? most - end : 0;
}

/* By how much it must become longer for so many copies of this length. */
static uint64_t growth_needed(const struct block_groups *groups, unsigned copies, uint64_t length)
{
    const struct range_set *holes = &groups->device_free;
    uint64_t fitting = 0;
    for (size_t i = 0; i < holes->count; i++)
        fitting += (holes->ranges[i].end - holes->ranges[i].start) / length;
    return fitting < copies ? (copies - fitting) * length : 0;
}

/* Bytes for each copy of the largest chunk that fits into one hole, or behind the end. */
static uint64_t largest_length(const struct block_groups *groups, unsigned copies)
{
    const struct range_set *holes = &groups->device_free;
    uint64_t best = growth_left(groups);
    for (size_t i = 0; i < holes->count; i++)
        if (holes->ranges[i].end - holes->ranges[i].start > best)
            best = holes->ranges[i].end - holes->ranges[i].start;
    return best / copies / STRIPE_LENGTH * STRIPE_LENGTH;
}

/* Makes the image longer, so that there is a hole of `length` bytes at its end. */
static int grow_device(struct block_groups *groups, struct superblock *super, uint64_t length)
{
    uint64_t old = from_le64(super->dev_item.total_bytes);
    uint64_t old_end = old / STRIPE_LENGTH * STRIPE_LENGTH, end = old_end + length;
    int result = range_set_add(&groups->device_free, old_end, end);
    if (result < 0)
        return result;
    super->dev_item.total_bytes = to_le64(end);
    super->total_bytes = to_le64(from_le64(super->total_bytes) + (end - old));
    groups->volume->chunks.device_bytes = end;
    return 0;
}

/* Takes a hole for each copy, which must be there. Both may come out of one. */
static int take_stripes(struct block_groups *groups, struct chunk *chunk)
{
    int result = 0;
    for (unsigned copy = 0; copy < chunk->copies && result == 0; copy++) {
        const struct range *hole = find_hole(&groups->device_free, chunk->length);
        assert(hole);
        chunk->physical[copy] = hole->start;
        result = range_set_remove(&groups->device_free, hole->start, hole->start + chunk->length);
    }
    return result;
}

/* Finds room for a chunk of `length` bytes, 0 for what is suitable; the image grows where it must
 * and may. */
static int place_chunk(struct block_groups *groups, struct superblock *super, enum group_type type,
                       uint64_t length, struct chunk *chunk)
{
    chunk->length = length ? length : suitable_length(groups, type);
    if (!length && growth_needed(groups, chunk->copies, chunk->length) > growth_left(groups))
        chunk->length = largest_length(groups, chunk->copies);
    if (chunk->length < MIB)
        return fail(ENOSPC, "the device has no room for another chunk");
    uint64_t growth = growth_needed(groups, chunk->copies, chunk->length);
    if (growth > growth_left(groups))
        return fail(ENOSPC, "the device has no room for a chunk of %" PRIu64 " bytes",
                    chunk->length);
    int result = growth ? grow_device(groups, super, growth) : 0;
    return result < 0 ? result : take_stripes(groups, chunk);
}

int block_groups_add(struct block_groups *groups, struct transaction *transaction,
                     enum group_type type, uint64_t length)
{
    struct superblock *super = &transaction->super;
    struct chunk chunk;
    memset(&chunk, 0, sizeof chunk);
    chunk.logical = next_logical(groups);
    chunk.type = type_flags(groups, type) | groups->profiles[type];
    chunk.copies = copies_of(chunk.type);
    int result = place_chunk(groups, super, type, length, &chunk);
    if (result == 0)
        result = volume_add_chunk(groups->volume, super, &chunk);
    if (result < 0)
        return result;
    super->dev_item.bytes_used =
        to_le64(from_le64(super->dev_item.bytes_used) + chunk.copies * chunk.length);

    struct block_group *group;
    result = add_group(groups, &chunk, &group);
    if (result < 0) {
        volume_remove_chunk(groups->volume, chunk.logical);
        return result;
    }
    group->is_new = group->is_loaded = true;
    result = add_free(group->start, group->length, group);
    return result < 0 ? result : exclude_superblocks(groups, group);
}

/* --- giving out --------------------------------------------------------------------- */

/* The first aligned place in the set for so many bytes. */
static bool find_free(const struct range_set *set, uint64_t length, uint64_t align,
                      uint64_t *bytenr)
{
    if (set->bytes < length)
        return false;
    for (size_t i = 0; i < set->count; i++) {
        uint64_t start = (set->ranges[i].start + align - 1) / align * align;
        if (start < set->ranges[i].end && set->ranges[i].end - start >= length) {
            *bytenr = start;
            return true;
        }
    }
    return false;
}

/* 0 and *bytenr, 1 where the group has no such place. */
static int alloc_in_group(struct block_groups *groups, struct block_group *group, uint64_t length,
                          uint64_t align, uint64_t *bytenr)
{
    if (group->length - group->committed_used < length)
        return 1;
    int result = group->is_loaded ? 0 : load_group(groups, group);
    if (result < 0 || !find_free(&group->free, length, align, bytenr))
        return result < 0 ? result : 1;
    return range_set_remove(&group->free, *bytenr, *bytenr + length);
}

int block_groups_alloc(struct block_groups *groups, struct transaction *transaction,
                       enum group_type type, uint64_t length, uint64_t align, uint64_t *bytenr)
{
    int result = 1;
    for (size_t i = 0; i < groups->count && result == 1; i++)
        if (is_of_type(groups, groups->groups[i], type))
            result = alloc_in_group(groups, groups->groups[i], length, align, bytenr);
    if (result != 1)
        return result;
    result = block_groups_add(groups, transaction, type, 0);
    if (result < 0)
        return result;
    struct block_group *made = groups->groups[groups->count - 1];
    result = alloc_in_group(groups, made, length, align, bytenr);
    return result == 1 ? fail(ENOSPC, "a new chunk has no room for %" PRIu64 " bytes", length)
                       : result;
}

int block_groups_return(struct block_groups *groups, uint64_t bytenr, uint64_t length)
{
    struct block_group *group;
    int result = group_of(groups, bytenr, length, &group);
    return result < 0 ? result : range_set_add(&group->free, bytenr, bytenr + length);
}

/* --- the account -------------------------------------------------------------------- */

int block_groups_use(struct block_groups *groups, uint64_t bytenr, uint64_t length)
{
    struct block_group *group;
    int result = group_of(groups, bytenr, length, &group);
    if (result < 0)
        return result;
    if (length > group->length - group->used)
        return fail(EUCLEAN,
                    "block group %" PRIu64 ": %" PRIu64 " of %" PRIu64 " bytes are used, %" PRIu64
                    " more cannot be (G2)",
                    group->start, group->used, group->length, length);
    group->used += length;
    groups->bytes_used += length;
    return 0;
}

int block_groups_release(struct block_groups *groups, uint64_t bytenr, uint64_t length)
{
    struct block_group *group;
    int result = group_of(groups, bytenr, length, &group);
    if (result < 0)
        return result;
    if (length > group->used || length > groups->bytes_used)
        return fail(EUCLEAN,
                    "block group %" PRIu64 ": %" PRIu64 " bytes are used, %" PRIu64
                    " cannot be freed (G2)",
                    group->start, group->used, length);
    result = range_set_add(&group->pinned, bytenr, bytenr + length);
    if (result < 0)
        return result;
    group->used -= length;
    groups->bytes_used -= length;
    return 0;
}

/* Where memory is short, what was pinned in a group is read anew. */
void block_groups_commit(struct block_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        struct block_group *group = groups->groups[i];
        for (size_t j = 0; j < group->pinned.count && group->is_loaded; j++) {
            const struct range *range = &group->pinned.ranges[j];
            if (range_set_add(&group->free, range->start, range->end) < 0) {
                range_set_close(&group->free);
                group->is_loaded = false;
            }
        }
        group->pinned.count = 0;
        group->pinned.bytes = 0;
        group->committed_used = group->used;
    }
    groups->first_new = next_logical(groups);
    groups->device_bytes = groups->volume->chunks.device_bytes;
}

void block_groups_roll_back(struct block_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        if (groups->groups[i]->start >= groups->first_new)
            volume_remove_chunk(groups->volume, groups->groups[i]->start);
    groups->volume->chunks.device_bytes = groups->device_bytes;
    block_groups_close(groups);
}

uint64_t block_groups_free(const struct block_groups *groups, enum group_type type)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < groups->count; i++) {
        const struct block_group *group = groups->groups[i];
        if (is_of_type(groups, group, type))
            bytes += group->is_loaded ? group->free.bytes : group->length - group->committed_used;
    }
    return bytes;
}

uint64_t block_groups_unallocated(const struct block_groups *groups, enum group_type type)
{
    const struct range_set *holes = &groups->device_free;
    unsigned copies = copies_of(groups->profiles[type]);
    uint64_t growth = growth_left(groups) / copies, bytes = growth < MIB ? 0 : growth;
    for (size_t i = 0; i < holes->count; i++) {
        uint64_t length = (holes->ranges[i].end - holes->ranges[i].start) / copies;
        bytes += length < MIB ? 0 : length; /* too little for a chunk */
    }
    return bytes;
}
