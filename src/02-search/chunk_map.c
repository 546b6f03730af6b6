#include "chunk_map.h"

#include "fail.h"
#include "item.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- what is in a chunk item -------------------------------------------------------- */

/* C1 to C3. */
static int check_extent(const struct chunk_map *map, uint64_t logical,
                        const struct chunk_item *item)
{
    uint64_t length = from_le64(item->length), type = from_le64(item->type);
    if (logical % map->sectorsize || length % map->sectorsize || length == 0 ||
        logical > UINT64_MAX - length)
        return fail(EUCLEAN, "chunk %" PRIu64 ": length %" PRIu64 " (C1)", logical, length);
    if (from_le64(item->stripe_len) != STRIPE_LENGTH)
        return fail(EUCLEAN, "chunk %" PRIu64 ": stripe length %" PRIu64 " (C2)", logical,
                    from_le64(item->stripe_len));
    uint64_t kind = type & BLOCK_GROUP_TYPE_MASK;
    if (kind != BLOCK_GROUP_DATA && kind != BLOCK_GROUP_SYSTEM && kind != BLOCK_GROUP_METADATA &&
        kind != (BLOCK_GROUP_DATA | BLOCK_GROUP_METADATA))
        return fail(EUCLEAN, "chunk %" PRIu64 ": type 0x%" PRIx64 " (C3)", logical, type);
    return 0;
}

/* C4: how many copies a chunk has. */
static int check_profile(uint64_t logical, const struct chunk_item *item)
{
    uint64_t type = from_le64(item->type);
    uint64_t profile = type & ~BLOCK_GROUP_TYPE_MASK;
    unsigned stripes = from_le16(item->num_stripes);
    bool one_bit = (profile & (profile - 1)) == 0;
    if (profile && profile != BLOCK_GROUP_DUP && profile != BLOCK_GROUP_RAID0) {
        const char *name =
            one_bit ? block_group_flag_name((unsigned)__builtin_ctzll(profile)) : NULL;
        return name ? fail(EOPNOTSUPP, "chunk %" PRIu64 ": the profile %s is not supported",
                           logical, name)
                    : fail(EUCLEAN, "chunk %" PRIu64 ": type 0x%" PRIx64 " (C4)", logical, type);
    }
    unsigned right = profile == BLOCK_GROUP_DUP ? 2 : 1;
    if (stripes != right)
        return fail(EUCLEAN, "chunk %" PRIu64 ": type 0x%" PRIx64 " with %u stripes (C4)", logical,
                    type, stripes);
    return 0;
}

/* C5, and the stripes' places into the chunk. */
static int take_stripes(const struct chunk_map *map, const struct stripe *stripes,
                        struct chunk *chunk)
{
    for (unsigned i = 0; i < chunk->copies; i++) {
        uint64_t devid = from_le64(stripes[i].devid), offset = from_le64(stripes[i].offset);
        if (devid != map->devid || offset > map->device_bytes ||
            chunk->length > map->device_bytes - offset)
            return fail(EUCLEAN,
                        "chunk %" PRIu64 ": stripe %u is at %" PRIu64 " of device %" PRIu64
                        ", the image is device %" PRIu64 " with %" PRIu64 " bytes (C5)",
                        chunk->logical, i, offset, devid, map->devid, map->device_bytes);
        chunk->physical[i] = offset;
    }
    return 0;
}

/* --- the map ------------------------------------------------------------------------ */

/* The number of chunks that begin at or before `logical`. */
static size_t chunks_up_to(const struct chunk_map *map, uint64_t logical)
{
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->chunks[middle].logical <= logical)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* C6, then the chunk goes to its place in the order. */
static int insert_chunk(struct chunk_map *map, const struct chunk *chunk)
{
    size_t at = chunks_up_to(map, chunk->logical);
    const struct chunk *before = at > 0 ? &map->chunks[at - 1] : NULL;
    const struct chunk *behind = at < map->count ? &map->chunks[at] : NULL;
    if (before && memcmp(before, chunk, sizeof *chunk) == 0)
        return 0;
    const struct chunk *overlapped = NULL;
    if (before && before->logical + before->length > chunk->logical)
        overlapped = before;
    else if (behind && chunk->logical + chunk->length > behind->logical)
        overlapped = behind;
    if (overlapped)
        return fail(EUCLEAN,
                    "chunk %" PRIu64 ": overlaps chunk %" PRIu64 " or differs from it (C6)",
                    chunk->logical, overlapped->logical);

    if (map->count == map->capacity) {
        size_t capacity = map->capacity ? 2 * map->capacity : 16;
        struct chunk *chunks = realloc(map->chunks, capacity * sizeof *chunks);
        if (!chunks)
            return fail(ENOMEM, "out of memory for the chunk map");
        map->chunks = chunks;
        map->capacity = capacity;
    }
    memmove(map->chunks + at + 1, map->chunks + at, (map->count - at) * sizeof *map->chunks);
    map->chunks[at] = *chunk;
    map->count++;
    return 0;
}

int chunk_map_add(struct chunk_map *map, uint64_t logical, const struct chunk_item *item,
                  size_t size)
{
    /* The shape first: are the stripes there that the item announces? */
    if (size < sizeof *item ||
        size != sizeof *item + from_le16(item->num_stripes) * sizeof(struct stripe))
        return fail(EUCLEAN, "chunk %" PRIu64 ": an item of %zu bytes", logical, size);
    int result = check_extent(map, logical, item);
    if (result == 0)
        result = check_profile(logical, item);
    if (result < 0)
        return result;

    /* Cleared whole, padding too: insert_chunk compares bytes. */
    struct chunk chunk;
    memset(&chunk, 0, sizeof chunk);
    chunk.logical = logical;
    chunk.length = from_le64(item->length);
    chunk.type = from_le64(item->type);
    chunk.copies = from_le16(item->num_stripes);
    result = take_stripes(map, (const struct stripe *)(item + 1), &chunk);
    return result < 0 ? result : insert_chunk(map, &chunk);
}

int chunk_map_find(const struct chunk_map *map, uint64_t logical, uint64_t length,
                   const struct chunk **chunk)
{
    size_t at = chunks_up_to(map, logical);
    const struct chunk *found = at > 0 ? &map->chunks[at - 1] : NULL;
    if (!found || logical - found->logical >= found->length)
        return fail(EUCLEAN, "address %" PRIu64 " is in no chunk", logical);
    if (length > found->length - (logical - found->logical))
        return fail(EUCLEAN, "%" PRIu64 " bytes at %" PRIu64 " pass the end of chunk %" PRIu64,
                    length, logical, found->logical);
    *chunk = found;
    return 0;
}

/* --- the chunks in the superblock --------------------------------------------------- */

/* The array holds keys, each with the chunk item behind it. */
static int read_sys_chunk_array(struct chunk_map *map, const struct superblock *super)
{
    const uint8_t *next = super->sys_chunk_array;
    size_t left = from_le32(super->sys_chunk_array_size);
    while (left) {
        const struct disk_key *disk_key = (const struct disk_key *)next;
        const struct chunk_item *item = (const struct chunk_item *)(disk_key + 1);
        size_t head = sizeof *disk_key + sizeof *item;
        if (left < head)
            return fail(EUCLEAN, "system chunk array: %zu bytes left, a chunk needs %zu", left,
                        head);
        size_t stripes = from_le16(item->num_stripes) * sizeof(struct stripe);
        if (left - head < stripes)
            return fail(EUCLEAN, "system chunk array: %zu bytes left, the stripes need %zu",
                        left - head, stripes);
        struct key key = key_from_disk(disk_key);
        if (key.type != CHUNK_ITEM_KEY || !(from_le64(item->type) & BLOCK_GROUP_SYSTEM))
            return fail(EUCLEAN, "system chunk array: key type %u, chunk type 0x%" PRIx64, key.type,
                        from_le64(item->type));
        int result = chunk_map_add(map, key.offset, item, sizeof *item + stripes);
        if (result < 0)
            return fail_within(result, "system chunk array");
        next += head + stripes;
        left -= head + stripes;
    }
    return 0;
}

int chunk_map_open(struct chunk_map *map, const struct superblock *super, uint64_t device_bytes)
{
    *map = (struct chunk_map){
        .devid = from_le64(super->dev_item.devid),
        .device_bytes = device_bytes,
        .sectorsize = from_le32(super->sectorsize),
    };
    int result = read_sys_chunk_array(map, super);
    if (result < 0)
        chunk_map_close(map);
    return result;
}

void chunk_map_close(struct chunk_map *map)
{
    free(map->chunks);
    map->chunks = NULL;
    map->count = map->capacity = 0;
}
