#include "item.h"

#include "checksum.h"
#include "fail.h"
#include "record.h"

#include <stdarg.h>
#include <string.h>

/* A walk over the data of one item. */
struct walk {
    const struct block *leaf;
    uint32_t slot;
    struct key key;
    const struct item_context *context;
    const unsigned char *next; /* what has not been taken yet */
    uint32_t left;
    struct report *report; /* NULL in a check */
};

/* --- taking structures from the data ------------------------------------------------ */

/* What is wrong with the item, behind where it is. */
__attribute__((format(printf, 2, 3))) static int bad_item(const struct walk *walk,
                                                          const char *format, ...)
{
    char text[256], key[KEY_TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fail(EUCLEAN, "leaf %" PRIu64 " slot %u: item %s: %s (L6)", walk->leaf->bytenr,
                walk->slot, key_format(&walk->key, key), text);
}

/* The next `size` bytes; NULL, with the failure recorded, when there are not so many. */
static const void *take(struct walk *walk, const char *what, uint32_t size)
{
    if (size > walk->left) {
        bad_item(walk, "%s of %u bytes, %u left of the item", what, size, walk->left);
        return NULL;
    }
    const void *bytes = walk->next;
    walk->next += size;
    walk->left -= size;
    return bytes;
}

static const void *take_record(struct walk *walk, const struct record *record)
{
    return take(walk, record->what, record->size);
}

static int take_rest(struct walk *walk)
{
    walk->next += walk->left;
    walk->left = 0;
    return 0;
}

/* --- telling what was taken, where there is a report -------------------------------- */

static void begin_record(struct walk *walk, const char *what)
{
    if (walk->report)
        report_begin(walk->report, what);
}

static void close_record(struct walk *walk)
{
    if (walk->report)
        report_end(walk->report);
}

static void begin_list(struct walk *walk, const char *name)
{
    if (walk->report)
        report_list_begin(walk->report, name);
}

static void end_list(struct walk *walk)
{
    if (walk->report)
        report_list_end(walk->report);
}

static void tell_fields(struct walk *walk, const struct record *record, const void *bytes)
{
    if (walk->report)
        record_fields(record, bytes, walk->report);
}

static void tell_number(struct walk *walk, const char *name, uint64_t value)
{
    if (walk->report)
        report_number(walk->report, name, value);
}

/* Takes a structure and tells it as a record of its own, which stays open for what follows. */
static const void *open_record(struct walk *walk, const struct record *record)
{
    const void *bytes = take_record(walk, record);
    if (bytes) {
        begin_record(walk, record->what);
        tell_fields(walk, record, bytes);
    }
    return bytes;
}

/* --- items that are one structure --------------------------------------------------- */

static int walk_record(struct walk *walk, const struct record *record)
{
    if (!open_record(walk, record))
        return -EUCLEAN;
    close_record(walk);
    return 0;
}

static int walk_root(struct walk *walk)
{
    const struct root_item *root = (const struct root_item *)walk->next;
    bool old = walk->left == ROOT_ITEM_OLD_SIZE;
    if (!old && walk->left != sizeof *root)
        return bad_item(walk, "%u bytes, not %zu or %zu", walk->left, sizeof *root,
                        ROOT_ITEM_OLD_SIZE);
    if (root->level >= MAX_LEVEL || root->drop_level >= MAX_LEVEL)
        return bad_item(walk, "level %u, drop_level %u", root->level, root->drop_level);
    if (from_le64(root->drop_progress.objectid) && root->drop_level == 0)
        return bad_item(walk, "drop_progress is set, drop_level is 0");
    begin_record(walk, "root");
    tell_fields(walk, old ? &old_root_record : &root_record, root);
    close_record(walk);
    return take_rest(walk);
}

static int walk_dev(struct walk *walk)
{
    const struct dev_item *dev = open_record(walk, &dev_record);
    if (!dev)
        return -EUCLEAN;
    close_record(walk);
    uint64_t total = from_le64(dev->total_bytes), used = from_le64(dev->bytes_used);
    if (from_le64(dev->devid) != walk->key.offset)
        return bad_item(walk, "devid %" PRIu64, from_le64(dev->devid));
    if (total == 0 || used > total)
        return bad_item(walk, "%" PRIu64 " bytes used of %" PRIu64, used, total);
    return 0;
}

static int walk_block_group(struct walk *walk)
{
    const struct block_group_item *group = open_record(walk, &block_group_record);
    if (!group)
        return -EUCLEAN;
    close_record(walk);
    if (from_le64(group->used) > walk->key.offset)
        return bad_item(walk, "%" PRIu64 " bytes used, more than its length",
                        from_le64(group->used));
    return 0;
}

static int walk_chunk(struct walk *walk)
{
    const struct chunk_item *chunk = open_record(walk, &chunk_record);
    if (!chunk)
        return -EUCLEAN;
    unsigned stripes = from_le16(chunk->num_stripes);
    if (stripes == 0 || walk->left != stripes * sizeof(struct stripe))
        return bad_item(walk, "%u stripes in %u bytes", stripes, walk->left);
    begin_list(walk, "stripes");
    int result = 0;
    while (result == 0 && walk->left)
        result = walk_record(walk, &stripe_record);
    end_list(walk);
    close_record(walk);
    return result;
}

/* An item that says all with its key. */
static int walk_nothing(struct walk *walk)
{
    (void)walk;
    return 0;
}

/* --- names -------------------------------------------------------------------------- */

/* A name, or the value of an xattr. */
static int walk_name(struct walk *walk, const char *field, uint16_t length, uint16_t longest)
{
    if (length > longest)
        return bad_item(walk, "a %s of %u bytes", field, length);
    const void *bytes = take(walk, field, length);
    if (!bytes)
        return -EUCLEAN;
    if (walk->report)
        report_name(walk->report, field, bytes, length);
    return 0;
}

/* A structure that ends with the length of the name behind it. */
static int walk_named(struct walk *walk, const struct record *record)
{
    const unsigned char *bytes = open_record(walk, record);
    if (!bytes)
        return -EUCLEAN;
    const le16 *name_len = (const le16 *)(bytes + record->size - sizeof *name_len);
    int result = walk_name(walk, "name", from_le16(*name_len), NAME_MAX_LENGTH);
    if (result == 0)
        close_record(walk);
    return result;
}

static int walk_all_named(struct walk *walk, const struct record *record)
{
    int result;
    do
        result = walk_named(walk, record);
    while (result == 0 && walk->left);
    return result;
}

/* Names whose hashes are equal share an item, one entry behind the other. Xattrs look the same. */
static int walk_dir_entries(struct walk *walk)
{
    do {
        const struct dir_item *entry = open_record(walk, &dir_entry_record);
        if (!entry)
            return -EUCLEAN;
        uint16_t data_length = from_le16(entry->data_len);
        bool is_xattr = walk->key.type == XATTR_ITEM_KEY;
        if (is_xattr != (entry->type == FT_XATTR) || (!is_xattr && data_length) ||
            (entry->type & ~FT_ENCRYPTED) > FT_XATTR)
            return bad_item(walk, "an entry of type %u with %u bytes of data", entry->type,
                            data_length);
        int result = walk_name(walk, "name", from_le16(entry->name_len), NAME_MAX_LENGTH);
        if (result == 0 && is_xattr)
            result = walk_name(walk, "data", data_length, UINT16_MAX);
        if (result < 0)
            return result;
        close_record(walk);
    } while (walk->left);
    return 0;
}

/* --- file extents, checksums -------------------------------------------------------- */

static int walk_inline_extent(struct walk *walk, const struct file_extent_item *extent)
{
    uint64_t ram_bytes = from_le64(extent->ram_bytes);
    uint32_t data = walk->left - (uint32_t)FILE_EXTENT_INLINE_HEADER;
    if (walk->key.offset != 0)
        return bad_item(walk, "an inline extent that is not at offset 0");
    if (extent->compression == COMPRESS_NONE && ram_bytes != data)
        return bad_item(walk, "an inline extent of %" PRIu64 " bytes holds %u", ram_bytes, data);
    begin_record(walk, inline_extent_record.what);
    tell_fields(walk, &inline_extent_record, extent);
    tell_number(walk, "data_size", data);
    close_record(walk);
    return take_rest(walk);
}

static bool sum_wraps(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b;
}

static int walk_file_extent(struct walk *walk)
{
    const struct file_extent_item *extent = (const struct file_extent_item *)walk->next;
    if (walk->left < FILE_EXTENT_INLINE_HEADER)
        return bad_item(walk, "a file extent of %u bytes", walk->left);
    if (extent->type > FILE_EXTENT_PREALLOC || extent->compression > COMPRESS_ZSTD ||
        extent->encryption)
        return bad_item(walk, "extent type %u, compression %u, encryption %u", extent->type,
                        extent->compression, extent->encryption);
    if (extent->type == FILE_EXTENT_INLINE)
        return walk_inline_extent(walk, extent);

    if (!open_record(walk, &extent_data_record))
        return -EUCLEAN;
    close_record(walk);
    uint64_t num_bytes = from_le64(extent->num_bytes), offset = from_le64(extent->offset);
    uint64_t bytenr = from_le64(extent->disk_bytenr);
    if (sum_wraps(walk->key.offset, num_bytes) || sum_wraps(offset, num_bytes) ||
        sum_wraps(bytenr, from_le64(extent->disk_num_bytes)))
        return bad_item(walk, "offset %" PRIu64 " and num_bytes %" PRIu64 " pass 2^64", offset,
                        num_bytes);
    return 0;
}

/* One checksum for each sector from the key's offset on. */
static int walk_csums(struct walk *walk)
{
    uint32_t csum_size = walk->context->csum_size, sectorsize = walk->context->sectorsize;
    if (walk->left == 0 || walk->left % csum_size)
        return bad_item(walk, "%u bytes are no number of checksums of %u", walk->left, csum_size);
    uint64_t length = (uint64_t)(walk->left / csum_size) * sectorsize;
    if (walk->key.offset % sectorsize || sum_wraps(walk->key.offset, length))
        return bad_item(walk, "checksums of %" PRIu64 " bytes", length);
    begin_record(walk, "csums");
    tell_number(walk, "start", walk->key.offset);
    tell_number(walk, "end", walk->key.offset + length);
    tell_number(walk, "length", length);
    close_record(walk);
    return take_rest(walk);
}

/* --- extents and their back references ---------------------------------------------- */

/* The inline reference of a type that has only an offset: a root, or the address of a parent. */
static void tell_plain_ref(struct walk *walk, const char *what, const char *field, uint64_t offset)
{
    begin_record(walk, what);
    tell_number(walk, field, offset);
    close_record(walk);
}

static int check_count(struct walk *walk, uint32_t count)
{
    return count ? 0 : bad_item(walk, "an inline reference that counts 0");
}

/* An EXTENT_DATA_REF begins where the offset of the others stands. *count is how many references it
 * stands for. */
static int walk_data_ref(struct walk *walk, uint64_t *count)
{
    const struct extent_data_ref *ref = open_record(walk, &extent_data_ref_record);
    if (!ref)
        return -EUCLEAN;
    close_record(walk);
    *count = from_le32(ref->count);
    return check_count(walk, from_le32(ref->count));
}

static int walk_shared_data_ref(struct walk *walk, uint64_t parent, uint64_t *count)
{
    const struct shared_data_ref *ref = take_record(walk, &shared_data_ref_record);
    if (!ref)
        return -EUCLEAN;
    *count = from_le32(ref->count);
    begin_record(walk, "shared_data_ref");
    tell_number(walk, "parent", parent);
    tell_number(walk, "count", *count);
    close_record(walk);
    return check_count(walk, from_le32(ref->count));
}

/* One inline reference; blocks have other types of them than data. An owner stands for none. */
static int walk_inline_ref(struct walk *walk, bool is_data, uint64_t *count)
{
    const uint8_t *type = take(walk, "inline reference", sizeof *type);
    if (!type)
        return -EUCLEAN;
    if (*type == EXTENT_DATA_REF_KEY && is_data)
        return walk_data_ref(walk, count);

    const le64 *offset = take(walk, "inline reference", sizeof *offset);
    if (!offset)
        return -EUCLEAN;
    if (*type == SHARED_DATA_REF_KEY && is_data)
        return walk_shared_data_ref(walk, from_le64(*offset), count);
    *count = *type != EXTENT_OWNER_REF_KEY;
    if (*type == TREE_BLOCK_REF_KEY && !is_data)
        tell_plain_ref(walk, "tree_block_ref", "root", from_le64(*offset));
    else if (*type == SHARED_BLOCK_REF_KEY && !is_data)
        tell_plain_ref(walk, "shared_block_ref", "parent", from_le64(*offset));
    else if (*type == EXTENT_OWNER_REF_KEY && is_data)
        tell_plain_ref(walk, "extent_owner_ref", "root", from_le64(*offset));
    else
        return bad_item(walk, "inline reference of type %u", *type);
    return 0;
}

/* The inline references count for no more than all that the extent has. */
static int walk_inline_refs(struct walk *walk, bool is_data, uint64_t refs)
{
    uint64_t sum = 0;
    while (walk->left) {
        uint64_t count;
        int result = walk_inline_ref(walk, is_data, &count);
        if (result < 0)
            return result;
        sum += count;
    }
    if (sum > refs)
        return bad_item(walk, "%" PRIu64 " references, %" PRIu64 " of them inline", refs, sum);
    return 0;
}

static int walk_extent(struct walk *walk)
{
    const struct extent_item *extent = open_record(walk, &extent_record);
    if (!extent)
        return -EUCLEAN;
    uint64_t flags = from_le64(extent->flags), refs = from_le64(extent->refs);
    bool is_data = flags & EXTENT_FLAG_DATA, is_block = flags & EXTENT_FLAG_TREE_BLOCK;
    if (is_data == is_block || (is_data && walk->key.type == METADATA_ITEM_KEY))
        return bad_item(walk, "extent flags 0x%" PRIx64, flags);
    if (refs == 0)
        return bad_item(walk, "an extent with 0 references");
    if (sum_wraps(walk->key.objectid, walk->key.offset))
        return bad_item(walk, "an extent that passes 2^64");

    begin_list(walk, "refs");
    int result = 0;
    if (is_block && walk->key.type == EXTENT_ITEM_KEY)
        result = walk_record(walk, &tree_block_record);
    if (result == 0)
        result = walk_inline_refs(walk, is_data, refs);
    if (result < 0)
        return result;
    end_list(walk);
    close_record(walk);
    return 0;
}

/* --- the rest ----------------------------------------------------------------------- */

/* Free space as a bitmap, one bit for each sector, set where it is free. */
static int walk_bitmap(struct walk *walk)
{
    uint64_t sectors = walk->key.offset / walk->context->sectorsize, free_sectors = 0;
    if ((sectors + 7) / 8 != walk->left)
        return bad_item(walk, "a bitmap of %u bytes for %" PRIu64 " sectors", walk->left, sectors);
    for (uint32_t i = 0; i < walk->left; i++)
        free_sectors += (uint64_t)__builtin_popcount(walk->next[i]);
    begin_record(walk, "free_space_bitmap");
    tell_number(walk, "sectors", sectors);
    tell_number(walk, "free_sectors", free_sectors);
    close_record(walk);
    return take_rest(walk);
}

/* Counters of a device; older kernels may have had fewer. */
static int walk_dev_stats(struct walk *walk)
{
    static const char *const names[] = {"write_errs", "read_errs", "flush_errs", "corruption_errs",
                                        "generation"};
    if (walk->left % sizeof(le64) || walk->left > LENGTH_OF(names) * sizeof(le64))
        return bad_item(walk, "%u bytes", walk->left);
    begin_record(walk, "dev_stats");
    for (size_t i = 0; walk->left; i++) {
        const le64 *number = take(walk, "dev_stats", sizeof *number);
        tell_number(walk, names[i], from_le64(*number));
    }
    close_record(walk);
    return 0;
}

static int walk_uuid(struct walk *walk)
{
    if (walk->left == 0 || walk->left % sizeof(le64))
        return bad_item(walk, "%u bytes are no list of subvolumes", walk->left);
    while (walk->left) {
        const le64 *id = take(walk, "uuid", sizeof *id);
        tell_plain_ref(walk, "uuid", "subvol_id", from_le64(*id));
    }
    return 0;
}

static int walk_qgroup_status(struct walk *walk)
{
    if (walk->left != sizeof(struct qgroup_status_item) &&
        walk->left != offsetof(struct qgroup_status_item, enable_gen))
        return bad_item(walk, "%u bytes", walk->left);
    begin_record(walk, qgroup_status_record.what);
    tell_fields(walk, &qgroup_status_record, walk->next);
    close_record(walk);
    return take_rest(walk);
}

/* What has no structure that is known here. */
static int walk_bytes(struct walk *walk)
{
    begin_record(walk, "bytes");
    if (walk->report)
        report_hex(walk->report, "hex", walk->next, walk->left);
    close_record(walk);
    return take_rest(walk);
}

/* --- by type ------------------------------------------------------------------------ */

/* Files and directories. */
static int walk_file_item(struct walk *walk)
{
    switch (walk->key.type) {
    case INODE_ITEM_KEY:
        return walk_record(walk, &inode_record);
    case INODE_REF_KEY:
        return walk_all_named(walk, &inode_ref_record);
    case INODE_EXTREF_KEY:
        return walk_all_named(walk, &inode_extref_record);
    case XATTR_ITEM_KEY:
    case DIR_ITEM_KEY:
    case DIR_INDEX_KEY:
        return walk_dir_entries(walk);
    case ORPHAN_ITEM_KEY:
        return walk_nothing(walk);
    case DIR_LOG_ITEM_KEY:
    case DIR_LOG_INDEX_KEY:
        return walk_record(walk, &dir_log_record);
    case EXTENT_DATA_KEY:
        return walk_file_extent(walk);
    case EXTENT_CSUM_KEY:
        return walk_csums(walk);
    case VERITY_DESC_ITEM_KEY:
        return walk->key.offset == 0 ? walk_record(walk, &verity_record) : walk_bytes(walk);
    default:
        return walk_bytes(walk);
    }
}

/* Roots, extents, space and devices. */
static int walk_volume_item(struct walk *walk)
{
    switch (walk->key.type) {
    case ROOT_ITEM_KEY:
        return walk_root(walk);
    case ROOT_BACKREF_KEY:
    case ROOT_REF_KEY:
        return walk_named(walk, &root_ref_record);
    case EXTENT_ITEM_KEY:
    case METADATA_ITEM_KEY:
        return walk_extent(walk);
    case EXTENT_DATA_REF_KEY:
        return walk_record(walk, &extent_data_ref_record);
    case SHARED_DATA_REF_KEY:
        return walk_record(walk, &shared_data_ref_record);
    case BLOCK_GROUP_ITEM_KEY:
        return walk_block_group(walk);
    case FREE_SPACE_INFO_KEY:
        return walk_record(walk, &free_space_info_record);
    case FREE_SPACE_BITMAP_KEY:
        return walk_bitmap(walk);
    case TREE_BLOCK_REF_KEY:
    case SHARED_BLOCK_REF_KEY:
    case FREE_SPACE_EXTENT_KEY:
        return walk_nothing(walk);
    case DEV_EXTENT_KEY:
        return walk_record(walk, &dev_extent_record);
    case DEV_ITEM_KEY:
        return walk_dev(walk);
    case CHUNK_ITEM_KEY:
        return walk_chunk(walk);
    default:
        return walk_file_item(walk);
    }
}

/* What is kept about the state of the volume, and quota. */
static int walk_item(struct walk *walk)
{
    switch (walk->key.type) {
    case 0:
        return walk->key.objectid == FREE_SPACE_OBJECTID
                   ? walk_record(walk, &free_space_header_record)
                   : walk_bytes(walk);
    case QGROUP_STATUS_KEY:
        return walk_qgroup_status(walk);
    case QGROUP_INFO_KEY:
        return walk_record(walk, &qgroup_info_record);
    case QGROUP_LIMIT_KEY:
        return walk_record(walk, &qgroup_limit_record);
    case QGROUP_RELATION_KEY:
        return walk_nothing(walk);
    case TEMPORARY_ITEM_KEY:
        return walk->key.objectid == BALANCE_OBJECTID ? walk_record(walk, &balance_record)
                                                      : walk_bytes(walk);
    case PERSISTENT_ITEM_KEY:
        return walk->key.objectid == DEV_STATS_OBJECTID ? walk_dev_stats(walk) : walk_bytes(walk);
    case DEV_REPLACE_KEY:
        return walk_record(walk, &dev_replace_record);
    case UUID_KEY_SUBVOL:
    case UUID_KEY_RECEIVED_SUBVOL:
        return walk_uuid(walk);
    default:
        return walk_volume_item(walk);
    }
}

/* A walk takes all of the item, or the item is too long. */
static int walk_whole(struct walk *walk)
{
    int result = walk_item(walk);
    if (result == 0 && walk->left)
        return bad_item(walk, "%u bytes too many", walk->left);
    return result;
}

static struct walk begin_walk(const struct block *leaf, uint32_t slot,
                              const struct item_context *context, struct report *report)
{
    return (struct walk){
        .leaf = leaf,
        .slot = slot,
        .key = leaf_key(leaf, slot),
        .context = context,
        .next = item_data(leaf, slot),
        .left = item_size(leaf, slot),
        .report = report,
    };
}

struct item_context item_context_of(const struct superblock *super)
{
    return (struct item_context){
        .sectorsize = from_le32(super->sectorsize),
        .csum_size = (uint32_t)csum_size(from_le16(super->csum_type)),
    };
}

int item_check(const struct block *leaf, uint32_t slot, const struct item_context *context)
{
    struct walk walk = begin_walk(leaf, slot, context, NULL);
    return walk_whole(&walk);
}

void item_report(const struct block *leaf, uint32_t slot, const struct item_context *context,
                 const char *tree, struct report *report)
{
    struct walk walk = begin_walk(leaf, slot, context, report);
    char key[KEY_TEXT_SIZE];
    report_begin(report, "item");
    if (tree) {
        report_word(report, "tree", tree);
        report_number(report, "bytenr", leaf->bytenr);
        report_number(report, "level", 0);
    }
    report_number(report, "slot", slot);
    report_word(report, "key", key_format(&walk.key, key));
    if (report->form == REPORT_JSON) {
        report_number(report, "objectid", walk.key.objectid);
        report_number(report, "type", walk.key.type);
        report_number(report, "offset", walk.key.offset);
    }
    report_number(report, "data_offset", item_offset(leaf, slot));
    report_number(report, "size", walk.left);
    report_list_begin(report, "contents");
    walk_whole(&walk);
    report_list_end(report);
    report_end(report);
}
