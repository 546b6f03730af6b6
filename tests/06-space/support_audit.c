#include "support_audit.h"

#include "checksum.h"
#include "fail.h"
#include "volume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULT(...) fail(EUCLEAN, __VA_ARGS__)
#define U64        "%" PRIu64

/* --- lists -------------------------------------------------------------------------- */

struct list {
    void *items;
    size_t count;
    size_t capacity;
};

/* A new entry behind the last, all zero. */
static void *list_add(struct list *list, size_t size)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->items = realloc(list->items, list->capacity * size);
        if (!list->items)
            abort();
    }
    void *entry = (char *)list->items + list->count++ * size;
    memset(entry, 0, size);
    return entry;
}

/* The last entry whose first field, a uint64_t by which the list is sorted, is at most `start`. */
static void *list_find(const struct list *list, size_t size, uint64_t start)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t there;
        memcpy(&there, (char *)list->items + middle * size, sizeof there);
        if (there <= start)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? (char *)list->items + (low - 1) * size : NULL;
}

/* --- what is gathered --------------------------------------------------------------- */

struct group { /* a block group */
    uint64_t start;
    uint64_t length;
    uint64_t used;
    uint64_t flags;
    uint64_t sum; /* of its extents */
};

struct extent { /* an extent item */
    uint64_t start;
    uint64_t length;
    uint64_t refs;
    uint64_t generation;
    uint64_t flags;
    uint64_t sum; /* of the references that the extent tree holds */
    uint8_t level;
};

/* A reference, as a tree makes it or as the extent tree holds it. `origin` is a root, or the parent
 * where the type is a SHARED one. */
struct ref {
    uint64_t start;
    uint8_t type;
    uint64_t origin;
    uint64_t objectid;
    uint64_t offset;
    uint64_t count;
};

struct range { /* of checksums, or of free space */
    uint64_t start;
    uint64_t end;
};

struct dev_range { /* a dev extent */
    uint64_t start;
    uint64_t length;
    uint64_t chunk;
    bool matched;
};

struct system_chunk {
    uint64_t logical;
    uint32_t size;
    unsigned char bytes[sizeof(struct chunk_item) + COPIES_MAX * sizeof(struct stripe)];
};

struct seen { /* a tree block that was visited; bytenr 0: an empty place of the table */
    uint64_t bytenr;
    uint64_t blocks; /* in the subtree that begins here */
    uint64_t owner;
};

struct audit {
    unsigned checks;
    struct device *device;
    struct notes notes;
    struct volume volume;
    const struct superblock *super;
    uint64_t generation;
    uint32_t nodesize;
    uint32_t sectorsize;
    uint8_t chunk_tree_uuid[UUID_SIZE];
    struct dev_item dev_item;
    uint64_t dev_items;
    struct list systems;     /* struct system_chunk */
    struct list dev_extents; /* struct dev_range, by place */
    struct list groups;      /* struct group, by address */
    struct list extents;     /* struct extent, by address */
    struct list held;        /* struct ref: in the extent tree */
    struct list made;        /* struct ref: by the trees */
    struct list csums;       /* struct range, by address */
    struct key last;         /* the key before, in the tree that is gathered */
    struct seen *table;      /* of visited blocks */
    size_t table_size;
    size_t table_used;
    uint64_t inode_tree; /* the inode that was met last, and its flags */
    uint64_t inode;
    uint64_t inode_flags;
    unsigned char *copy; /* for another copy of a block or sector */
};

static struct group *find_group(const struct audit *audit, uint64_t start)
{
    struct group *group = list_find(&audit->groups, sizeof *group, start);
    return group && start - group->start < group->length ? group : NULL;
}

static struct extent *find_extent(const struct audit *audit, uint64_t start)
{
    struct extent *extent = list_find(&audit->extents, sizeof *extent, start);
    return extent && extent->start == start ? extent : NULL;
}

/* The place of a block in the table, or the empty one where it belongs. */
static struct seen *find_seen(const struct audit *audit, uint64_t bytenr)
{
    size_t at = (size_t)(bytenr / 4096 * 0x9e3779b97f4a7c15ULL >> 20);
    for (;; at++) {
        struct seen *seen = &audit->table[at & (audit->table_size - 1)];
        if (!seen->bytenr || seen->bytenr == bytenr)
            return seen;
    }
}

static void add_seen(struct audit *audit, const struct block *block)
{
    if (2 * audit->table_used >= audit->table_size) {
        struct audit bigger = *audit;
        bigger.table_size = audit->table_size ? 2 * audit->table_size : 1024;
        bigger.table = calloc(bigger.table_size, sizeof *bigger.table);
        if (!bigger.table)
            abort();
        for (size_t i = 0; i < audit->table_size; i++)
            if (audit->table[i].bytenr)
                *find_seen(&bigger, audit->table[i].bytenr) = audit->table[i];
        free(audit->table);
        audit->table = bigger.table;
        audit->table_size = bigger.table_size;
    }
    *find_seen(audit, block->bytenr) =
        (struct seen){.bytenr = block->bytenr, .owner = block_owner_id(block)};
    audit->table_used++;
}

/* --- references --------------------------------------------------------------------- */

static struct ref *add_ref(struct list *list, uint64_t start, uint8_t type, uint64_t origin)
{
    struct ref *ref = list_add(list, sizeof *ref);
    ref->start = start;
    ref->type = type;
    ref->origin = origin;
    ref->count = 1;
    return ref;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* The order of what they are, without the count. */
static int compare_refs(const void *left, const void *right)
{
    const struct ref *a = left, *b = right;
    int order = compare_numbers(a->start, b->start);
    order = order ? order : compare_numbers(a->type, b->type);
    order = order ? order : compare_numbers(a->origin, b->origin);
    order = order ? order : compare_numbers(a->objectid, b->objectid);
    return order ? order : compare_numbers(a->offset, b->offset);
}

enum { REF_TEXT_SIZE = 160 };

static const char *ref_text(const struct ref *ref, char text[REF_TEXT_SIZE])
{
    const char *name = key_type_name(ref->type);
    bool shared = ref->type == SHARED_BLOCK_REF_KEY || ref->type == SHARED_DATA_REF_KEY;
    int length = snprintf(text, REF_TEXT_SIZE, "%s %s %" PRId64, name ? name : "?",
                          shared ? "parent" : "root", (int64_t)ref->origin);
    if (ref->type == EXTENT_DATA_REF_KEY)
        length += snprintf(text + length, REF_TEXT_SIZE - (size_t)length,
                           " inode " U64 " offset %" PRId64, ref->objectid, (int64_t)ref->offset);
    snprintf(text + length, REF_TEXT_SIZE - (size_t)length, " count " U64, ref->count);
    return text;
}

/* hash_extent_data_ref: where the keyed item lies, and the order of the inline ones. */
static uint64_t data_ref_hash(const struct extent_data_ref *ref)
{
    uint64_t high = crc32c(~0U, &ref->root, sizeof ref->root);
    uint32_t low = crc32c(~0U, &ref->objectid, sizeof ref->objectid);
    low = crc32c(low, &ref->offset, sizeof ref->offset);
    return high << 31 ^ low;
}

static void fill_data_ref(struct ref *ref, const struct extent_data_ref *disk)
{
    ref->origin = from_le64(disk->root);
    ref->objectid = from_le64(disk->objectid);
    ref->offset = from_le64(disk->offset);
    ref->count = from_le32(disk->count);
}

/* --- the superblock ----------------------------------------------------------------- */

/* Each mirror that has room is as the first one, but for its own address. */
static int check_mirrors(struct audit *audit)
{
    for (int mirror = 0; mirror < SUPERBLOCK_MIRRORS; mirror++) {
        struct superblock copy, primary = *audit->super;
        uint64_t offset = superblock_offset(mirror);
        if (offset + SUPERBLOCK_SIZE > from_le64(primary.total_bytes))
            break;
        int result = superblock_read(audit->device, mirror, &copy);
        if (result < 0)
            return fail_within(result, "mirror %d", mirror);
        const unsigned char *a = (const unsigned char *)&copy, *b = (unsigned char *)&primary;
        for (size_t i = CSUM_SIZE; i < sizeof copy; i++) {
            size_t bytenr = offsetof(struct superblock, bytenr);
            if (a[i] != b[i] && (i < bytenr || i >= bytenr + sizeof copy.bytenr))
                return FAULT("superblock mirror %d: differs from the primary one at byte %zu",
                             mirror, i);
        }
    }
    return 0;
}

static int check_super(struct audit *audit)
{
    const struct superblock *super = audit->super;
    uint64_t bgt = COMPAT_RO_BLOCK_GROUP_TREE, ro = from_le64(super->compat_ro_flags);
    uint64_t known =
        bgt | COMPAT_RO_FREE_SPACE_TREE | COMPAT_RO_FREE_SPACE_TREE_VALID | COMPAT_RO_VERITY;
    if (from_le64(super->flags) != HEADER_FLAG_WRITTEN)
        return FAULT("superblock: flags 0x%" PRIx64, from_le64(super->flags));
    if (from_le64(super->compat_flags) || ro & ~known ||
        (ro & COMPAT_RO_FREE_SPACE_TREE_VALID && !(ro & COMPAT_RO_FREE_SPACE_TREE)))
        return FAULT("superblock: compat_flags 0x%" PRIx64 ", compat_ro_flags 0x%" PRIx64,
                     from_le64(super->compat_flags), ro);
    if (from_le64(super->log_root) || super->log_root_level)
        return FAULT("superblock: log_root " U64 " level %u: an image with a log is not audited",
                     from_le64(super->log_root), super->log_root_level);
    if (from_le64(super->root_dir_objectid) != ROOT_TREE_DIR_OBJECTID)
        return FAULT("superblock: root_dir_objectid " U64, from_le64(super->root_dir_objectid));
    if (from_le64(super->num_devices) != 1)
        return FAULT("superblock: num_devices " U64, from_le64(super->num_devices));
    if (from_le32(super->stripesize) != 4096 && from_le32(super->stripesize) != audit->sectorsize)
        return FAULT("superblock: stripesize %u", from_le32(super->stripesize));
    if (from_le64(super->uuid_tree_generation) > audit->generation)
        return FAULT("superblock: uuid_tree_generation " U64 ", generation " U64,
                     from_le64(super->uuid_tree_generation), audit->generation);
    if ((from_le64(super->incompat_flags) & INCOMPAT_MIXED_BACKREF) == 0)
        return FAULT("superblock: incompat_flags without MIXED_BACKREF");
    if ((ro & bgt) && (!(ro & COMPAT_RO_FREE_SPACE_TREE) ||
                       !(from_le64(super->incompat_flags) & INCOMPAT_NO_HOLES)))
        return FAULT("superblock: BLOCK_GROUP_TREE without FREE_SPACE_TREE or NO_HOLES");
    return check_mirrors(audit);
}

/* --- chunk tree, dev tree ----------------------------------------------------------- */

static int wrong_key(const struct path *path, const char *tree)
{
    struct key key = path_key(path);
    char text[KEY_TEXT_SIZE];
    return FAULT("leaf " U64 " slot %u: item %s does not belong into the %s tree",
                 path->nodes[0]->bytenr, path->slots[0], key_format(&key, text), tree);
}

static const void *path_data(const struct path *path)
{
    return item_data(path->nodes[0], path->slots[0]);
}

static uint32_t path_size(const struct path *path)
{
    return item_size(path->nodes[0], path->slots[0]);
}

/* What the chunk map does not check. */
static int check_chunk(struct audit *audit, uint64_t logical, const struct chunk_item *item)
{
    const struct stripe *stripes = (const struct stripe *)(item + 1);
    if (from_le64(item->owner) != EXTENT_TREE_OBJECTID)
        return FAULT("chunk " U64 ": owner " U64, logical, from_le64(item->owner));
    if (from_le32(item->sector_size) != audit->sectorsize)
        return FAULT("chunk " U64 ": sector_size %u", logical, from_le32(item->sector_size));
    for (unsigned i = 0; i < from_le16(item->num_stripes); i++)
        if (memcmp(stripes[i].dev_uuid, audit->super->dev_item.uuid, UUID_SIZE) != 0)
            return FAULT("chunk " U64 ": stripe %u has another uuid than the device", logical, i);
    return 0;
}

static int gather_chunk(const struct path *path, void *context)
{
    struct audit *audit = context;
    struct key key = path_key(path);
    if (key.objectid == DEV_ITEMS_OBJECTID && key.type == DEV_ITEM_KEY) {
        memcpy(&audit->dev_item, path_data(path), sizeof audit->dev_item);
        audit->dev_items++;
        return 0;
    }
    if (key.objectid != FIRST_CHUNK_TREE_OBJECTID || key.type != CHUNK_ITEM_KEY)
        return wrong_key(path, "chunk");
    const struct chunk_item *item = path_data(path);
    if (from_le64(item->type) & BLOCK_GROUP_SYSTEM) {
        struct system_chunk *chunk = list_add(&audit->systems, sizeof *chunk);
        chunk->logical = key.offset;
        chunk->size = path_size(path);
        memcpy(chunk->bytes, item, chunk->size);
    }
    return check_chunk(audit, key.offset, item);
}

static int gather_dev_extent(const struct path *path, void *context)
{
    struct audit *audit = context;
    struct key key = path_key(path);
    if (key.objectid == DEV_STATS_OBJECTID && key.type == PERSISTENT_ITEM_KEY)
        return 0;
    if (key.type != DEV_EXTENT_KEY || key.objectid != audit->volume.chunks.devid)
        return wrong_key(path, "dev");
    const struct dev_extent *item = path_data(path);
    struct dev_range *range = list_add(&audit->dev_extents, sizeof *range);
    range->start = key.offset;
    range->length = from_le64(item->length);
    range->chunk = from_le64(item->chunk_offset);
    if (from_le64(item->chunk_tree) != CHUNK_TREE_OBJECTID ||
        from_le64(item->chunk_objectid) != FIRST_CHUNK_TREE_OBJECTID)
        return FAULT("dev extent " U64 ": of chunk tree " U64 ", chunk_objectid " U64, range->start,
                     from_le64(item->chunk_tree), from_le64(item->chunk_objectid));
    return 0;
}

static int gather(struct audit *audit, uint64_t id, int (*visit)(const struct path *, void *))
{
    struct tree tree;
    struct key first = {0, 0, 0}, last = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
    char name[TREE_NAME_SIZE];
    memset(&audit->last, 0, sizeof audit->last);
    int result = volume_tree(&audit->volume, id, &tree);
    if (result == 0)
        result = tree_range(&tree, &first, &last, visit, audit);
    return result < 0 ? fail_within(result, "tree %s", tree_name(&tree, name)) : 0;
}

/* Every system chunk once, and nothing else. */
static int check_system_array(struct audit *audit)
{
    const unsigned char *at = audit->super->sys_chunk_array;
    const unsigned char *end = at + from_le32(audit->super->sys_chunk_array_size);
    const struct system_chunk *chunks = audit->systems.items;
    size_t count = 0;
    for (; at < end; count++) {
        struct key key = key_from_disk((const struct disk_key *)at);
        const unsigned char *item = at + sizeof(struct disk_key);
        size_t i = 0;
        while (i < audit->systems.count && chunks[i].logical != key.offset)
            i++;
        if (i == audit->systems.count)
            return FAULT("sys_chunk_array: chunk " U64 " is no SYSTEM chunk of the chunk tree",
                         key.offset);
        if ((size_t)(end - item) < chunks[i].size ||
            memcmp(item, chunks[i].bytes, chunks[i].size) != 0)
            return FAULT("sys_chunk_array: chunk " U64 " differs from that of the chunk tree",
                         key.offset);
        at = item + chunks[i].size;
    }
    if (count != audit->systems.count)
        return FAULT("sys_chunk_array: %zu chunks, the chunk tree has %zu", count,
                     audit->systems.count);
    return 0;
}

/* Dev extents do not overlap and stay out of the first MiB; their sum is the dev item's. */
static int check_device(struct audit *audit)
{
    const struct dev_range *ranges = audit->dev_extents.items;
    uint64_t sum = 0, end = 1 << 20, total = from_le64(audit->dev_item.total_bytes);
    for (size_t i = 0; i < audit->dev_extents.count; i++) {
        if (ranges[i].start < end)
            return FAULT("dev extent " U64 ": begins before " U64, ranges[i].start, end);
        end = ranges[i].start + ranges[i].length;
        sum += ranges[i].length;
    }
    if (audit->dev_items != 1)
        return FAULT("chunk tree: " U64 " DEV_ITEMs", audit->dev_items);
    if (end > total)
        return FAULT("dev extents end at " U64 ", the device at " U64, end, total);
    if (from_le64(audit->dev_item.bytes_used) != sum)
        return FAULT("DEV_ITEM: bytes_used " U64 ", its dev extents have " U64,
                     from_le64(audit->dev_item.bytes_used), sum);
    if (memcmp(&audit->dev_item, &audit->super->dev_item, sizeof audit->dev_item) != 0)
        return FAULT("superblock: dev_item differs from the DEV_ITEM");
    if (from_le64(audit->super->total_bytes) != total)
        return FAULT("superblock: total_bytes " U64 ", the DEV_ITEM has " U64,
                     from_le64(audit->super->total_bytes), total);
    return 0;
}

/* Each stripe has its dev extent. */
static int check_stripes(struct audit *audit, const struct chunk *chunk)
{
    for (unsigned i = 0; i < chunk->copies; i++) {
        struct dev_range *range = list_find(&audit->dev_extents, sizeof *range, chunk->physical[i]);
        if (!range || range->start != chunk->physical[i])
            return FAULT("chunk " U64 ": stripe %u at " U64 " has no dev extent", chunk->logical, i,
                         chunk->physical[i]);
        if (range->chunk != chunk->logical || range->length != chunk->length || range->matched)
            return FAULT("chunk " U64 " of " U64 " bytes: dev extent " U64 " is of chunk " U64
                         ", " U64 " bytes",
                         chunk->logical, chunk->length, range->start, range->chunk, range->length);
        range->matched = true;
    }
    return 0;
}

/* Chunks, dev extents and block groups: one to one, both ways. */
static int check_chunks(struct audit *audit)
{
    const struct chunk_map *map = &audit->volume.chunks;
    for (size_t i = 0; i < map->count; i++) {
        const struct chunk *chunk = &map->chunks[i];
        const struct group *group = find_group(audit, chunk->logical);
        int result = check_stripes(audit, chunk);
        if (result < 0)
            return result;
        if (!group || group->start != chunk->logical)
            return FAULT("chunk " U64 ": has no block group", chunk->logical);
        if (group->length != chunk->length || group->flags != chunk->type)
            return FAULT("block group " U64 ": length " U64 " flags 0x%" PRIx64
                         ", its chunk has " U64 " and 0x%" PRIx64,
                         group->start, group->length, group->flags, chunk->length, chunk->type);
    }
    const struct dev_range *ranges = audit->dev_extents.items;
    for (size_t i = 0; i < audit->dev_extents.count; i++)
        if (!ranges[i].matched)
            return FAULT("dev extent " U64 ": no chunk " U64 " has a stripe there", ranges[i].start,
                         ranges[i].chunk);
    const struct group *groups = audit->groups.items;
    for (size_t i = 0; i < audit->groups.count; i++) {
        const struct chunk *chunk;
        if (chunk_map_find(map, groups[i].start, 1, &chunk) < 0 ||
            chunk->logical != groups[i].start)
            return FAULT("block group " U64 ": has no chunk", groups[i].start);
    }
    return 0;
}

/* --- extent tree, block group tree -------------------------------------------------- */

static int gather_group(struct audit *audit, const struct path *path)
{
    struct key key = path_key(path);
    const struct block_group_item *item = path_data(path);
    struct group *group = list_add(&audit->groups, sizeof *group);
    *group =
        (struct group){key.objectid, key.offset, from_le64(item->used), from_le64(item->flags), 0};
    if (from_le64(item->chunk_objectid) != FIRST_CHUNK_TREE_OBJECTID)
        return FAULT("block group " U64 ": chunk_objectid " U64, key.objectid,
                     from_le64(item->chunk_objectid));
    if (audit->groups.count > 1 && group[-1].start + group[-1].length > group->start)
        return FAULT("block group " U64 ": overlaps block group " U64, group->start,
                     group[-1].start);
    return 0;
}

static int gather_only_group(const struct path *path, void *context)
{
    if (path_key(path).type != BLOCK_GROUP_ITEM_KEY)
        return wrong_key(path, "block group");
    return gather_group(context, path);
}

/* The references behind the extent item: types ascend, and in a type they descend. */
static int gather_inline(struct audit *audit, struct extent *extent, const unsigned char *at,
                         const unsigned char *end)
{
    uint8_t last_type = 0;
    uint64_t last = UINT64_MAX;
    while (at < end) {
        const struct extent_inline_ref *item = (const struct extent_inline_ref *)at;
        uint64_t place = from_le64(item->offset);
        if (item->type == EXTENT_OWNER_REF_KEY)
            return FAULT("extent " U64 ": an owner reference, as of simple quota", extent->start);
        struct ref *ref = add_ref(&audit->held, extent->start, item->type, place);
        at += sizeof *item;
        if (item->type == EXTENT_DATA_REF_KEY) {
            const struct extent_data_ref *data = (const struct extent_data_ref *)&item->offset;
            fill_data_ref(ref, data);
            place = data_ref_hash(data);
            at = (const unsigned char *)(data + 1);
        } else if (item->type == SHARED_DATA_REF_KEY) {
            ref->count = from_le32(((const struct shared_data_ref *)at)->count);
            at += sizeof(struct shared_data_ref);
        }
        if (item->type < last_type || (item->type == last_type && place > last))
            return FAULT("extent " U64 ": inline references are out of order", extent->start);
        last_type = item->type;
        last = place;
        extent->sum += ref->count;
    }
    return 0;
}

static int gather_extent(struct audit *audit, const struct path *path)
{
    struct key key = path_key(path);
    const struct extent_item *item = path_data(path);
    const unsigned char *at = (const unsigned char *)(item + 1);
    const unsigned char *end = (const unsigned char *)item + path_size(path);
    struct extent *extent = list_add(&audit->extents, sizeof *extent);
    extent->start = key.objectid;
    extent->length = key.offset;
    extent->refs = from_le64(item->refs);
    extent->generation = from_le64(item->generation);
    extent->flags = from_le64(item->flags);
    bool skinny = from_le64(audit->super->incompat_flags) & INCOMPAT_SKINNY_METADATA;
    if (key.type == METADATA_ITEM_KEY) {
        if (!skinny)
            return wrong_key(path, "extent");
        extent->length = audit->nodesize;
        extent->level = (uint8_t)key.offset;
        if (key.offset >= MAX_LEVEL)
            return FAULT("extent " U64 ": level " U64, key.objectid, key.offset);
    } else if (extent->flags & EXTENT_FLAG_TREE_BLOCK) {
        extent->level = ((const struct tree_block_info *)at)->level;
        at += sizeof(struct tree_block_info);
        if (key.offset != audit->nodesize)
            return FAULT("extent " U64 ": a tree block of " U64 " bytes", key.objectid, key.offset);
    }
    return gather_inline(audit, extent, at, end);
}

/* References that have an item of their own follow their extent item. */
static int gather_keyed(struct audit *audit, const struct path *path)
{
    struct key key = path_key(path);
    struct extent *extent = audit->extents.items;
    if (audit->extents.count == 0 || extent[audit->extents.count - 1].start != key.objectid)
        return FAULT("extent " U64 ": a keyed reference without an extent item", key.objectid);
    extent += audit->extents.count - 1;
    struct ref *ref = add_ref(&audit->held, key.objectid, key.type, key.offset);
    if (key.type == SHARED_DATA_REF_KEY)
        ref->count = from_le32(((const struct shared_data_ref *)path_data(path))->count);
    if (key.type == EXTENT_DATA_REF_KEY) {
        const struct extent_data_ref *data = path_data(path);
        fill_data_ref(ref, data);
        /* References with equal hashes lie one behind the other. */
        struct key before = {key.objectid, key.type, key.offset - 1};
        if (data_ref_hash(data) != key.offset && key_compare(&before, &audit->last) != 0)
            return FAULT("extent " U64 ": a keyed EXTENT_DATA_REF at " U64 ", its hash is " U64,
                         key.objectid, key.offset, data_ref_hash(data));
    }
    extent->sum += ref->count;
    return 0;
}

static int gather_extent_item(const struct path *path, void *context)
{
    struct audit *audit = context;
    struct key key = path_key(path);
    int result;
    switch (key.type) {
    case EXTENT_ITEM_KEY:
    case METADATA_ITEM_KEY:
        result = gather_extent(audit, path);
        break;
    case TREE_BLOCK_REF_KEY:
    case SHARED_BLOCK_REF_KEY:
    case EXTENT_DATA_REF_KEY:
    case SHARED_DATA_REF_KEY:
        result = gather_keyed(audit, path);
        break;
    case BLOCK_GROUP_ITEM_KEY:
        if (from_le64(audit->super->compat_ro_flags) & COMPAT_RO_BLOCK_GROUP_TREE)
            return wrong_key(path, "extent");
        result = gather_group(audit, path);
        break;
    default:
        return wrong_key(path, "extent");
    }
    audit->last = key;
    return result;
}

/* --- extents and where they lie ----------------------------------------------------- */

/* Nothing is allocated in the first MiB of the device, nor over a superblock. */
static int check_places(struct audit *audit, const struct extent *extent)
{
    const struct chunk *chunk;
    int result = chunk_map_find(&audit->volume.chunks, extent->start, extent->length, &chunk);
    if (result < 0)
        return fail_within(result, "extent " U64, extent->start);
    for (unsigned copy = 0; copy < chunk->copies; copy++) {
        uint64_t start = chunk->physical[copy] + (extent->start - chunk->logical);
        if (start < 1 << 20)
            return FAULT("extent " U64 ": lies at " U64 ", in the first MiB", extent->start, start);
        for (int mirror = 1; mirror < SUPERBLOCK_MIRRORS; mirror++) {
            uint64_t super = superblock_offset(mirror);
            if (start < super + STRIPE_LENGTH && start + extent->length > super)
                return FAULT("extent " U64 ": lies over superblock mirror %d", extent->start,
                             mirror);
        }
    }
    return 0;
}

static int check_extent(struct audit *audit, const struct extent *extent, uint64_t end)
{
    struct group *group = find_group(audit, extent->start);
    bool is_data = extent->flags & EXTENT_FLAG_DATA;
    uint64_t known = EXTENT_FLAG_DATA | EXTENT_FLAG_TREE_BLOCK | BLOCK_FLAG_FULL_BACKREF;
    if (extent->start < end)
        return FAULT("extent " U64 ": overlaps the one before, which ends at " U64, extent->start,
                     end);
    if (extent->start % audit->sectorsize || extent->length % audit->sectorsize || !extent->length)
        return FAULT("extent " U64 ": length " U64, extent->start, extent->length);
    if (is_data == ((extent->flags & EXTENT_FLAG_TREE_BLOCK) != 0) || extent->flags & ~known ||
        (is_data && extent->flags != EXTENT_FLAG_DATA))
        return FAULT("extent " U64 ": flags 0x%" PRIx64, extent->start, extent->flags);
    if (extent->generation > audit->generation)
        return FAULT("extent " U64 ": generation " U64 ", the superblock's is " U64, extent->start,
                     extent->generation, audit->generation);
    if (extent->refs == 0 || extent->refs != extent->sum)
        return FAULT("extent " U64 ": refs " U64 ", its references count " U64, extent->start,
                     extent->refs, extent->sum);
    if (!group || extent->length > group->length - (extent->start - group->start))
        return FAULT("extent " U64 " of " U64 " bytes: is in no block group", extent->start,
                     extent->length);
    uint64_t type = group->flags & BLOCK_GROUP_TYPE_MASK;
    if (is_data ? !(type & BLOCK_GROUP_DATA) : type == BLOCK_GROUP_DATA)
        return FAULT("extent " U64 ": flags 0x%" PRIx64 " in a block group of type 0x%" PRIx64,
                     extent->start, extent->flags, type);
    group->sum += extent->length;
    return check_places(audit, extent);
}

static int check_extents(struct audit *audit)
{
    const struct extent *extents = audit->extents.items;
    const struct group *groups = audit->groups.items;
    uint64_t end = 0, sum = 0;
    for (size_t i = 0; i < audit->extents.count; i++) {
        int result = check_extent(audit, &extents[i], end);
        if (result < 0)
            return result;
        end = extents[i].start + extents[i].length;
    }
    for (size_t i = 0; i < audit->groups.count; i++) {
        sum += groups[i].sum;
        if (groups[i].used != groups[i].sum)
            return FAULT("block group " U64 ": used " U64 ", its extents have " U64,
                         groups[i].start, groups[i].used, groups[i].sum);
    }
    if (from_le64(audit->super->bytes_used) != sum)
        return FAULT("superblock: bytes_used " U64 ", the extents have " U64,
                     from_le64(audit->super->bytes_used), sum);
    return 0;
}

/* --- checksums ---------------------------------------------------------------------- */

/* The checksum is that of the sector, in every copy. */
static int check_sector(struct audit *audit, uint64_t start, const unsigned char *csum)
{
    uint16_t type = from_le16(audit->super->csum_type);
    const struct chunk *chunk;
    int result = chunk_map_find(&audit->volume.chunks, start, audit->sectorsize, &chunk);
    if (result < 0)
        return fail_within(result, "checksums");
    for (unsigned copy = 0; copy < chunk->copies; copy++) {
        uint8_t right[CSUM_SIZE];
        result = device_read(audit->device, chunk->physical[copy] + (start - chunk->logical),
                             audit->copy, audit->sectorsize);
        if (result < 0)
            return result;
        csum_compute(type, audit->copy, audit->sectorsize, right);
        if (memcmp(right, csum, csum_size(type)) != 0)
            return FAULT("sector " U64 ": copy %u does not have its checksum", start, copy + 1);
    }
    return 0;
}

static int gather_csums(const struct path *path, void *context)
{
    struct audit *audit = context;
    struct key key = path_key(path);
    size_t each = csum_size(from_le16(audit->super->csum_type));
    if (key.objectid != EXTENT_CSUM_OBJECTID || key.type != EXTENT_CSUM_KEY)
        return wrong_key(path, "csum");
    uint64_t end = key.offset + path_size(path) / each * audit->sectorsize;
    struct range *before = audit->csums.items;
    before = audit->csums.count ? before + audit->csums.count - 1 : NULL;
    if (before && key.offset < before->end)
        return FAULT("csum item " U64 ": overlaps the one before, which ends at " U64, key.offset,
                     before->end);
    if (before && key.offset == before->end) {
        before->end = end;
    } else {
        struct range *range = list_add(&audit->csums, sizeof *range);
        *range = (struct range){key.offset, end};
    }
    const unsigned char *csum = path_data(path);
    uint64_t first = audit->checks & AUDIT_DATA ? key.offset : end;
    for (uint64_t start = first; start < end; start += audit->sectorsize, csum += each) {
        int result = check_sector(audit, start, csum);
        if (result < 0)
            return result;
    }
    return 0;
}

/* Each sector with a checksum is in a data extent. */
static int check_csums(struct audit *audit)
{
    const struct range *ranges = audit->csums.items;
    for (size_t i = 0; i < audit->csums.count; i++)
        for (uint64_t at = ranges[i].start; at < ranges[i].end;) {
            const struct extent *extent = list_find(&audit->extents, sizeof *extent, at);
            if (!extent || at - extent->start >= extent->length ||
                !(extent->flags & EXTENT_FLAG_DATA))
                return FAULT("csums of [" U64 ", " U64 "): sector " U64 " is in no data extent",
                             ranges[i].start, ranges[i].end, at);
            at = extent->start + extent->length;
        }
    return 0;
}

/* Finds the flags of the inode that an extent belongs to. 1: it is gone, in a tree that is being
 * deleted. */
static int find_inode(struct audit *audit, struct tree *tree, uint64_t inode)
{
    if (audit->inode_tree == tree->id && audit->inode == inode)
        return 0;
    struct path path = {0};
    struct key key = {inode, INODE_ITEM_KEY, 0};
    int result = tree->is_dropped ? 1 : tree_search(tree, &key, &path);
    if (result == 1 && !tree->is_dropped)
        result = FAULT("inode " U64 ": has extents, but no inode item", inode);
    if (result == 0) {
        audit->inode_flags = from_le64(((const struct inode_item *)path_data(&path))->flags);
        audit->inode_tree = tree->id;
        audit->inode = inode;
    }
    path_release(tree, &path);
    return result;
}

/* What a file shows of an extent has checksums; compressed, the whole extent has. */
static int check_needed(struct audit *audit, struct tree *tree, uint64_t inode,
                        const struct file_extent_item *item)
{
    if (item->type != FILE_EXTENT_REG || tree->id == DATA_RELOC_TREE_OBJECTID)
        return 0;
    int result = find_inode(audit, tree, inode);
    if (result != 0 || audit->inode_flags & INODE_NODATASUM)
        return result < 0 ? result : 0;
    uint64_t start = from_le64(item->disk_bytenr), length = from_le64(item->disk_num_bytes);
    if (item->compression == COMPRESS_NONE) {
        start += from_le64(item->offset);
        length = from_le64(item->num_bytes);
    }
    const struct range *range = list_find(&audit->csums, sizeof *range, start);
    if (!range || range->end < start + length)
        return FAULT("inode " U64 ": no checksums for [" U64 ", " U64 ")", inode, start,
                     start + length);
    return 0;
}

/* --- the walk ----------------------------------------------------------------------- */

static int check_header(struct audit *audit, const struct block *block)
{
    const struct block_header *header = block_header(block);
    uint64_t flags = from_le64(header->flags);
    uint64_t revision = (uint64_t)HEADER_MIXED_BACKREF_REV << HEADER_BACKREF_REV_SHIFT;
    if ((flags & ~HEADER_FLAG_RELOC) != (HEADER_FLAG_WRITTEN | revision))
        return FAULT("block " U64 ": header flags 0x%" PRIx64, block->bytenr, flags);
    if (block_generation(block) > audit->generation)
        return FAULT("block " U64 ": generation " U64 ", the superblock's is " U64, block->bytenr,
                     block_generation(block), audit->generation);
    if (audit->table_used == 0)
        memcpy(audit->chunk_tree_uuid, header->chunk_tree_uuid, UUID_SIZE);
    if (memcmp(audit->chunk_tree_uuid, header->chunk_tree_uuid, UUID_SIZE) != 0)
        return FAULT("block " U64 ": another chunk_tree_uuid than the root tree has",
                     block->bytenr);
    return 0;
}

/* The copies of a block are alike. */
static int check_copies(struct audit *audit, const struct block *block)
{
    const struct chunk *chunk;
    int result = chunk_map_find(&audit->volume.chunks, block->bytenr, block->size, &chunk);
    for (unsigned i = 0; result == 0 && chunk->copies > 1 && i < chunk->copies; i++) {
        uint64_t physical = chunk->physical[i] + (block->bytenr - chunk->logical);
        result = device_read(audit->device, physical, audit->copy, block->size);
        if (result == 0 && memcmp(audit->copy, block->data, block->size) != 0)
            return FAULT("block " U64 ": copy %u at " U64 " is not like the others", block->bytenr,
                         i + 1, physical);
    }
    return result;
}

/* The extent item of a block agrees with it, and it lies in a group of the right type. */
static int check_block_extent(struct audit *audit, const struct block *block,
                              const struct extent *extent)
{
    if (!extent || !(extent->flags & EXTENT_FLAG_TREE_BLOCK))
        return FAULT("block " U64 ": level %u of owner %" PRId64 ", has no extent item",
                     block->bytenr, block_level(block), (int64_t)block_owner_id(block));
    if (extent->level != block_level(block))
        return FAULT("block " U64 ": level %u, its extent item says %u", block->bytenr,
                     block_level(block), extent->level);
    if (extent->generation != block_generation(block))
        return FAULT("block " U64 ": generation " U64 ", its extent item says " U64, block->bytenr,
                     block_generation(block), extent->generation);
    const struct group *group = find_group(audit, block->bytenr);
    bool in_system = group->flags & BLOCK_GROUP_SYSTEM;
    if (in_system != (block_owner_id(block) == CHUNK_TREE_OBJECTID))
        return FAULT("block " U64 ": owner %" PRId64 " in a block group of type 0x%" PRIx64,
                     block->bytenr, (int64_t)block_owner_id(block), group->flags);
    return 0;
}

/* A file extent: its reference, and whether it agrees with the extent it leads to. */
static int visit_file_extent(struct audit *audit, struct tree *tree, const struct block *leaf,
                             uint32_t slot, bool full)
{
    const struct file_extent_item *item = item_data(leaf, slot);
    struct key key = leaf_key(leaf, slot);
    if (item->type == FILE_EXTENT_INLINE) /* which ends before disk_bytenr */
        return 0;
    uint64_t start = from_le64(item->disk_bytenr);
    if (start == 0)
        return 0;
    struct ref *ref = add_ref(&audit->made, start, full ? SHARED_DATA_REF_KEY : EXTENT_DATA_REF_KEY,
                              full ? leaf->bytenr : block_owner_id(leaf));
    if (!full) {
        ref->objectid = key.objectid;
        ref->offset = key.offset - from_le64(item->offset);
    }
    const struct extent *extent = find_extent(audit, start);
    uint64_t end = from_le64(item->offset) + from_le64(item->num_bytes);
    if (!extent || !(extent->flags & EXTENT_FLAG_DATA) ||
        extent->length != from_le64(item->disk_num_bytes))
        return FAULT("leaf " U64 " slot %u: extent " U64 " of " U64 " bytes has no extent item",
                     leaf->bytenr, slot, start, from_le64(item->disk_num_bytes));
    if (end > from_le64(item->ram_bytes) ||
        (item->compression == COMPRESS_NONE && end > extent->length))
        return FAULT("leaf " U64 " slot %u: the file's part ends at " U64 " of the extent",
                     leaf->bytenr, slot, end);
    if (from_le64(item->generation) > audit->generation)
        return FAULT("leaf " U64 " slot %u: generation " U64, leaf->bytenr, slot,
                     from_le64(item->generation));
    return audit->checks & AUDIT_NEEDED ? check_needed(audit, tree, key.objectid, item) : 0;
}

static int visit_leaf(struct audit *audit, struct tree *tree, const struct block *leaf, bool full)
{
    for (uint32_t slot = 0; slot < block_nritems(leaf); slot++) {
        struct key key = leaf_key(leaf, slot);
        if (key.type == INODE_ITEM_KEY) {
            audit->inode_tree = tree->id;
            audit->inode = key.objectid;
            audit->inode_flags = from_le64(((struct inode_item *)item_data(leaf, slot))->flags);
        } else if (key.type == EXTENT_DATA_KEY) {
            int result = visit_file_extent(audit, tree, leaf, slot, full);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

/* Before this key the deletion of a tree has taken everything. */
static bool is_gone(const struct tree *tree, const struct block *node, uint32_t slot)
{
    if (!tree->is_dropped || slot + 1 >= block_nritems(node))
        return false;
    struct key next = node_key(node, slot + 1);
    return key_compare(&next, &tree->drop_key) <= 0;
}

/* The block at `level` of the path, and what is below it. A block that is met again makes no new
 * references: those it makes are the same for all who lead to it. */
static int visit_block(struct audit *audit, struct tree *tree, struct path *path, unsigned level)
{
    const struct block *block = path->nodes[level];
    if (audit->table_used && find_seen(audit, block->bytenr)->bytenr)
        return 0;
    const struct extent *extent = find_extent(audit, block->bytenr);
    int result = check_header(audit, block);
    if (result == 0)
        result = check_copies(audit, block);
    if (result == 0)
        result = check_block_extent(audit, block, extent);
    if (result < 0)
        return result;
    add_seen(audit, block);
    bool full = extent->flags & BLOCK_FLAG_FULL_BACKREF;
    uint64_t blocks = 1;
    if (level == 0)
        result = visit_leaf(audit, tree, block, full);
    for (uint32_t slot = 0; level > 0 && slot < block_nritems(block) && result == 0; slot++) {
        if (is_gone(tree, block, slot))
            continue;
        uint64_t child = from_le64(node_ptr(block, slot)->blockptr);
        add_ref(&audit->made, child, full ? SHARED_BLOCK_REF_KEY : TREE_BLOCK_REF_KEY,
                full ? block->bytenr : block_owner_id(block));
        path->slots[level] = slot;
        result = path_child(tree, path, level, &path->nodes[level - 1]);
        if (result < 0)
            return result;
        result = visit_block(audit, tree, path, level - 1);
        tree->source->put(tree->source, path->nodes[level - 1]);
        path->nodes[level - 1] = NULL;
        blocks += find_seen(audit, child)->blocks;
    }
    find_seen(audit, block->bytenr)->blocks = blocks;
    return result;
}

static int visit_tree(struct tree *tree, void *context)
{
    struct audit *audit = context;
    struct path path = {0};
    struct block_promise promise = {
        .tree = tree->id, .level = tree->level, .generation = tree->generation};
    if (tree->id == TREE_RELOC_OBJECTID)
        return FAULT("a relocation tree is not audited");
    add_ref(&audit->made, tree->bytenr, TREE_BLOCK_REF_KEY, tree->id);
    int result = tree->source->get(tree->source, tree->bytenr, &promise, &path.nodes[tree->level]);
    if (result == 0 && block_owner_id(path.nodes[tree->level]) != tree->id)
        result = FAULT("root block " U64 ": owner %" PRId64, tree->bytenr,
                       (int64_t)block_owner_id(path.nodes[tree->level]));
    if (result == 0)
        result = visit_block(audit, tree, &path, tree->level);
    path_release(tree, &path);
    return result;
}

/* --- references: made and held ------------------------------------------------------ */

/* Sorted; equal ones become one that counts for all, where that is allowed. */
static int merge_refs(struct list *list, bool allowed)
{
    struct ref *refs = list->items;
    size_t kept = 0;
    char text[REF_TEXT_SIZE];
    if (list->count == 0)
        return 0;
    qsort(refs, list->count, sizeof *refs, compare_refs);
    for (size_t i = 1; i < list->count; i++) {
        if (compare_refs(&refs[kept], &refs[i]) != 0) {
            refs[++kept] = refs[i];
            continue;
        }
        if (!allowed)
            return FAULT("extent " U64 ": holds the reference %s twice", refs[i].start,
                         ref_text(&refs[i], text));
        refs[kept].count += refs[i].count;
    }
    list->count = kept + 1;
    return 0;
}

static int compare_references(struct audit *audit)
{
    int result = merge_refs(&audit->held, false);
    if (result == 0)
        result = merge_refs(&audit->made, true);
    if (result < 0)
        return result;
    const struct ref *held = audit->held.items, *made = audit->made.items;
    const struct ref *held_end = held + audit->held.count, *made_end = made + audit->made.count;
    char text[REF_TEXT_SIZE], other[REF_TEXT_SIZE];
    while (held < held_end || made < made_end) {
        int order = held == held_end ? 1 : made == made_end ? -1 : compare_refs(held, made);
        if (order > 0)
            return FAULT("extent " U64 ": lacks the reference %s", made->start,
                         ref_text(made, text));
        if (order < 0)
            return FAULT("extent " U64 ": holds the reference %s, which nobody makes", held->start,
                         ref_text(held, text));
        if (held->count != made->count)
            return FAULT("extent " U64 ": holds the reference %s, not %s", held->start,
                         ref_text(held, text), ref_text(made, other));
        held++;
        made++;
    }
    return 0;
}

/* --- free space --------------------------------------------------------------------- */

struct space {
    struct audit *audit;
    size_t next;               /* the group that comes next */
    const struct group *group; /* the one whose items are read */
    uint64_t count;            /* as its info says */
    bool bitmaps;
    uint64_t covered;  /* by bitmaps so far */
    struct list told;  /* struct range: as the tree says */
    struct list right; /* struct range: what is between the extents */
};

static void add_range(struct list *list, uint64_t start, uint64_t end, bool join)
{
    struct range *range = list->items;
    if (start == end)
        return;
    if (join && list->count && range[list->count - 1].end == start) {
        range[list->count - 1].end = end;
        return;
    }
    range = list_add(list, sizeof *range);
    *range = (struct range){start, end};
}

/* The free ranges of the group as they must be. */
static void find_free(struct space *space)
{
    const struct group *group = space->group;
    const struct extent *extents = space->audit->extents.items;
    const struct extent *end = extents + space->audit->extents.count;
    const struct extent *at = list_find(&space->audit->extents, sizeof *at, group->start);
    uint64_t start = group->start;
    space->right.count = 0;
    for (at = at ? at : extents; at < end && at->start < group->start + group->length; at++) {
        if (at->start < group->start)
            continue;
        add_range(&space->right, start, at->start, false);
        start = at->start + at->length;
    }
    add_range(&space->right, start, group->start + group->length, false);
}

/* All items of the group have been read. */
static int end_group(struct space *space)
{
    const struct group *group = space->group;
    if (!group)
        return 0;
    find_free(space);
    const struct range *told = space->told.items, *right = space->right.items;
    for (size_t i = 0; i < space->told.count || i < space->right.count; i++) {
        if (i >= space->told.count || i >= space->right.count || told[i].start != right[i].start ||
            told[i].end != right[i].end) {
            bool lacks = i >= space->told.count ||
                         (i < space->right.count && right[i].start < told[i].start);
            const struct range *range = lacks ? &right[i] : &told[i];
            return FAULT("free space of block group " U64 ": [" U64 ", " U64 ") %s", group->start,
                         range->start, range->end, lacks ? "is missing" : "is wrong");
        }
    }
    if (space->count != space->right.count)
        return FAULT("free space of block group " U64 ": extent_count " U64 ", there are %zu",
                     group->start, space->count, space->right.count);
    if (space->bitmaps && space->covered != group->start + group->length)
        return FAULT("free space of block group " U64 ": bitmaps end at " U64, group->start,
                     space->covered);
    return 0;
}

/* An item that no block group has room for; mkfs.btrfs 6.2 leaves some. */
static int check_stray(const struct space *space, uint64_t start, uint64_t length)
{
    const struct group *groups = space->audit->groups.items;
    bool apart = true;
    for (size_t i = 0; i < space->audit->groups.count; i++)
        if (start < groups[i].start + groups[i].length && groups[i].start < start + length)
            apart = false;
    if (apart && !(space->audit->checks & AUDIT_STRAY))
        return 0;
    return FAULT("free space: [" U64 ", " U64 ") is not of a block group", start, start + length);
}

static int begin_group(struct space *space, const struct path *path)
{
    struct key key = path_key(path);
    const struct free_space_info *info = path_data(path);
    const struct group *groups = space->audit->groups.items;
    int result = end_group(space);
    if (result < 0)
        return result;
    space->group = NULL;
    if (space->next == space->audit->groups.count || key.objectid < groups[space->next].start)
        return check_stray(space, key.objectid, key.offset);
    space->group = &groups[space->next++];
    if (key.objectid != space->group->start || key.offset != space->group->length)
        return FAULT("free space of block group " U64 ": no info of " U64 " bytes",
                     space->group->start, space->group->length);
    space->count = from_le32(info->extent_count);
    space->bitmaps = from_le32(info->flags) & FREE_SPACE_USING_BITMAPS;
    if (from_le32(info->flags) & ~FREE_SPACE_USING_BITMAPS)
        return FAULT("free space of block group " U64 ": flags 0x%x", space->group->start,
                     from_le32(info->flags));
    space->covered = space->group->start;
    space->told.count = 0;
    return 0;
}

/* Bits that are set are free sectors; the bitmaps of a group lie one behind the other. */
static int take_bitmap(struct space *space, const struct path *path)
{
    struct key key = path_key(path);
    uint64_t sector = space->audit->sectorsize, bits = key.offset / sector;
    uint64_t most = 256 * 8 * sector, left = space->group->start + space->group->length;
    const unsigned char *bytes = path_data(path);
    left -= space->covered;
    if (key.objectid != space->covered || key.offset != (left < most ? left : most) ||
        path_size(path) != (bits + 7) / 8)
        return FAULT("free space: a bitmap of %u bytes for " U64 " bytes at " U64
                     ", the one before ends at " U64,
                     path_size(path), key.offset, key.objectid, space->covered);
    space->covered += key.offset;
    for (uint64_t bit = 0; bit < path_size(path) * 8ULL; bit++) {
        if (!(bytes[bit / 8] >> bit % 8 & 1))
            continue;
        uint64_t start = key.objectid + bit * sector;
        if (bit >= bits)
            return FAULT("free space: the bitmap at " U64 " goes on behind its end", key.objectid);
        add_range(&space->told, start, start + sector, true);
    }
    return 0;
}

static int visit_space(const struct path *path, void *context)
{
    struct space *space = context;
    struct key key = path_key(path);
    const struct group *group = space->group;
    if (key.type == FREE_SPACE_INFO_KEY)
        return begin_group(space, path);
    if (key.type != FREE_SPACE_EXTENT_KEY && key.type != FREE_SPACE_BITMAP_KEY)
        return wrong_key(path, "free space");
    if (!group || key.objectid - group->start >= group->length ||
        key.offset > group->length - (key.objectid - group->start))
        return check_stray(space, key.objectid, key.offset);
    if (space->bitmaps != (key.type == FREE_SPACE_BITMAP_KEY))
        return FAULT("free space of block group " U64 ": extents and bitmaps", group->start);
    if (space->bitmaps)
        return take_bitmap(space, path);
    if (key.offset == 0)
        return FAULT("free space: nothing at " U64, key.objectid);
    add_range(&space->told, key.objectid, key.objectid + key.offset, false);
    return 0;
}

static int check_space(struct audit *audit)
{
    uint64_t valid = COMPAT_RO_FREE_SPACE_TREE | COMPAT_RO_FREE_SPACE_TREE_VALID;
    if ((from_le64(audit->super->compat_ro_flags) & valid) != valid)
        return 0;
    struct tree tree;
    struct space space = {.audit = audit};
    struct key first = {0, 0, 0}, last = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
    int result = volume_tree(&audit->volume, FREE_SPACE_TREE_OBJECTID, &tree);
    if (result == 0)
        result = tree_range(&tree, &first, &last, visit_space, &space);
    if (result == 0)
        result = end_group(&space);
    if (result == 0 && space.next < audit->groups.count)
        result = FAULT("free space of block group " U64 ": no info",
                       ((const struct group *)audit->groups.items)[space.next].start);
    free(space.told.items);
    free(space.right.items);
    return result;
}

/* --- roots -------------------------------------------------------------------------- */

static bool is_file_tree(uint64_t id)
{
    return id == FS_TREE_OBJECTID || id == DATA_RELOC_TREE_OBJECTID ||
           (id >= FIRST_FREE_OBJECTID && id <= LAST_FREE_OBJECTID);
}

/* Level, generation and address were promised when the tree was walked, and were kept. */
static int check_root_item(const struct path *path, void *context)
{
    struct audit *audit = context;
    struct key key = path_key(path);
    const struct root_item *item = path_data(path);
    if (key.type != ROOT_ITEM_KEY)
        return 0;
    int64_t id = (int64_t)key.objectid;
    if (path_size(path) == sizeof *item &&
        from_le64(item->generation_v2) != from_le64(item->generation))
        return FAULT("root item %" PRId64 ": generation_v2 " U64 ", generation " U64, id,
                     from_le64(item->generation_v2), from_le64(item->generation));
    if (from_le64(item->last_snapshot) > audit->generation)
        return FAULT("root item %" PRId64 ": last_snapshot " U64, id,
                     from_le64(item->last_snapshot));
    if (is_file_tree(key.objectid) && from_le64(item->root_dirid) != FIRST_FREE_OBJECTID)
        return FAULT("root item %" PRId64 ": root_dirid " U64, id, from_le64(item->root_dirid));
    bool named = key.objectid >= FIRST_FREE_OBJECTID && key.objectid <= LAST_FREE_OBJECTID;
    if (key.offset && !named)
        return FAULT("root item %" PRId64 ": key offset " U64, id, key.offset);
    if (from_le32(item->refs) && (from_le64(item->drop_progress.objectid) || item->drop_level))
        return FAULT("root item %" PRId64 ": drop_level %u, refs 1", id, item->drop_level);
    if (from_le32(item->refs) > 1 || (!is_file_tree(key.objectid) && from_le32(item->refs) == 0))
        return FAULT("root item %" PRId64 ": refs %u", id, from_le32(item->refs));
    uint64_t bytes = find_seen(audit, from_le64(item->bytenr))->blocks * audit->nodesize;
    bool dropped = from_le32(item->refs) == 0 && from_le64(item->drop_progress.objectid) != 0;
    if ((audit->checks & AUDIT_ROOT_BYTES) && !dropped && from_le64(item->bytes_used) != bytes)
        return FAULT("root item %" PRId64 ": bytes_used " U64 ", its blocks have " U64, id,
                     from_le64(item->bytes_used), bytes);
    return 0;
}

/* The trees that every image has. */
static int check_trees_exist(struct audit *audit)
{
    static const uint64_t needed[] = {
        EXTENT_TREE_OBJECTID, DEV_TREE_OBJECTID,        FS_TREE_OBJECTID,
        CSUM_TREE_OBJECTID,   DATA_RELOC_TREE_OBJECTID,
    };
    uint64_t ro = from_le64(audit->super->compat_ro_flags);
    struct tree tree;
    int result = 0;
    for (size_t i = 0; i < LENGTH_OF(needed) && result == 0; i++)
        result = volume_tree(&audit->volume, needed[i], &tree);
    if (result == 0 && ro & COMPAT_RO_FREE_SPACE_TREE)
        result = volume_tree(&audit->volume, FREE_SPACE_TREE_OBJECTID, &tree);
    if (result == 0 && ro & COMPAT_RO_BLOCK_GROUP_TREE)
        result = volume_tree(&audit->volume, BLOCK_GROUP_TREE_OBJECTID, &tree);
    return result;
}

/* --- backups ------------------------------------------------------------------------ */

static bool backup_has(const struct audit *audit, const struct root_backup *backup,
                       const struct tree trees[4])
{
    const struct superblock *super = audit->super;
    const struct {
        uint64_t have, right;
    } fields[] = {
        {from_le64(backup->tree_root), from_le64(super->root)},
        {from_le64(backup->tree_root_gen), from_le64(super->generation)},
        {backup->tree_root_level, super->root_level},
        {from_le64(backup->chunk_root), from_le64(super->chunk_root)},
        {from_le64(backup->chunk_root_gen), from_le64(super->chunk_root_generation)},
        {backup->chunk_root_level, super->chunk_root_level},
        {from_le64(backup->extent_root), trees[0].bytenr},
        {from_le64(backup->extent_root_gen), trees[0].generation},
        {backup->extent_root_level, trees[0].level},
        {from_le64(backup->fs_root), trees[1].bytenr},
        {from_le64(backup->fs_root_gen), trees[1].generation},
        {backup->fs_root_level, trees[1].level},
        {from_le64(backup->dev_root), trees[2].bytenr},
        {from_le64(backup->dev_root_gen), trees[2].generation},
        {backup->dev_root_level, trees[2].level},
        {from_le64(backup->csum_root), trees[3].bytenr},
        {from_le64(backup->csum_root_gen), trees[3].generation},
        {backup->csum_root_level, trees[3].level},
        {from_le64(backup->total_bytes), from_le64(super->total_bytes)},
        {from_le64(backup->bytes_used), from_le64(super->bytes_used)},
        {from_le64(backup->num_devices), from_le64(super->num_devices)},
    };
    for (size_t i = 0; i < LENGTH_OF(fields); i++)
        if (fields[i].have != fields[i].right)
            return false;
    return true;
}

static int check_backups(struct audit *audit)
{
    static const uint64_t ids[4] = {EXTENT_TREE_OBJECTID, FS_TREE_OBJECTID, DEV_TREE_OBJECTID,
                                    CSUM_TREE_OBJECTID};
    struct tree trees[4];
    for (size_t i = 0; i < LENGTH_OF(ids); i++) {
        int result = volume_tree(&audit->volume, ids[i], &trees[i]);
        if (result < 0)
            return result;
    }
    for (size_t i = 0; i < BACKUP_ROOTS; i++)
        if (backup_has(audit, &audit->super->super_roots[i], trees))
            return 0;
    return FAULT("superblock: no backup root describes the current state");
}

/* --- all of it ---------------------------------------------------------------------- */

static int audit_trees(struct audit *audit)
{
    bool bgt = from_le64(audit->super->compat_ro_flags) & COMPAT_RO_BLOCK_GROUP_TREE;
    int result = check_trees_exist(audit);
    if (result == 0)
        result = gather(audit, CHUNK_TREE_OBJECTID, gather_chunk);
    if (result == 0)
        result = check_system_array(audit);
    if (result == 0)
        result = gather(audit, DEV_TREE_OBJECTID, gather_dev_extent);
    if (result == 0)
        result = check_device(audit);
    if (result == 0 && bgt)
        result = gather(audit, BLOCK_GROUP_TREE_OBJECTID, gather_only_group);
    if (result == 0)
        result = gather(audit, EXTENT_TREE_OBJECTID, gather_extent_item);
    if (result == 0)
        result = check_chunks(audit);
    if (result == 0)
        result = check_extents(audit);
    if (result == 0)
        result = gather(audit, CSUM_TREE_OBJECTID, gather_csums);
    if (result == 0)
        result = check_csums(audit);
    if (result == 0)
        result = volume_each_tree(&audit->volume, visit_tree, audit);
    if (result == 0)
        result = compare_references(audit);
    if (result == 0 && audit->checks & AUDIT_SPACE)
        result = check_space(audit);
    if (result == 0)
        result = gather(audit, ROOT_TREE_OBJECTID, check_root_item);
    if (result == 0 && audit->checks & AUDIT_BACKUP)
        result = check_backups(audit);
    return result;
}

static int audit_volume(struct audit *audit)
{
    audit->super = &audit->volume.super;
    audit->generation = from_le64(audit->super->generation);
    audit->nodesize = from_le32(audit->super->nodesize);
    audit->sectorsize = from_le32(audit->super->sectorsize);
    audit->copy = malloc(audit->nodesize);
    if (!audit->copy)
        abort();
    int result = check_super(audit);
    if (result == 0)
        result = audit_trees(audit);
    if (result == 0 && audit->notes.count)
        result = FAULT("%s", audit->notes.text[0]);
    free(audit->systems.items);
    free(audit->dev_extents.items);
    free(audit->groups.items);
    free(audit->extents.items);
    free(audit->held.items);
    free(audit->made.items);
    free(audit->csums.items);
    free(audit->table);
    free(audit->copy);
    return result;
}

int audit_image_for(struct device *device, unsigned checks, char *why, size_t size)
{
    struct audit audit = {.checks = checks, .device = device};
    int result = volume_open(&audit.volume, device, &audit.notes);
    if (result == 0) {
        result = audit_volume(&audit);
        volume_close(&audit.volume);
    }
    snprintf(why, size, "%s", result < 0 ? fail_message() : "");
    return result < 0 ? -1 : 0;
}

int audit_image(struct device *device, char *why, size_t size)
{
    return audit_image_for(device, AUDIT_ALL, why, size);
}

int audit_file(const char *path, char *why, size_t size)
{
    struct device *device;
    if (file_device_open(path, false, &device) < 0) {
        snprintf(why, size, "%s", fail_message());
        return -1;
    }
    int result = audit_image(device, why, size);
    device_close(device);
    return result;
}
