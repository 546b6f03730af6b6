/* The tables of fields, and the loop over them. */
#include "record.h"

#include "item.h"
#include "key.h"

#include <assert.h>
#include <string.h>

/* --- names -------------------------------------------------------------------------- */

const char *block_group_flag_name(unsigned bit)
{
    static const char *const names[] = {"DATA",   "SYSTEM", "METADATA", "RAID0",   "RAID1",  "DUP",
                                        "RAID10", "RAID5",  "RAID6",    "RAID1C3", "RAID1C4"};
    return bit < LENGTH_OF(names) ? names[bit] : NULL;
}

const char *header_flag_name(unsigned bit)
{
    static const char *const names[] = {"WRITTEN", "RELOC"};
    return bit < LENGTH_OF(names) ? names[bit] : NULL;
}

const char *extent_flag_name(unsigned bit)
{
    return bit == 0 ? "DATA" : bit == 1 ? "TREE_BLOCK" : bit == 8 ? "FULL_BACKREF" : NULL;
}

static const char *inode_flag_name(unsigned bit)
{
    static const char *const names[] = {"NODATASUM", "NODATACOW", "READONLY",  "NOCOMPRESS",
                                        "PREALLOC",  "SYNC",      "IMMUTABLE", "APPEND",
                                        "NODUMP",    "NOATIME",   "DIRSYNC",   "COMPRESS"};
    if (bit == 31)
        return "ROOT_ITEM_INIT";
    return bit < LENGTH_OF(names) ? names[bit] : NULL;
}

static const char *root_flag_name(unsigned bit)
{
    return bit == 0 ? "RDONLY" : bit == 48 ? "DEAD" : NULL;
}

static const char *free_space_flag_name(unsigned bit)
{
    return bit == 0 ? "USING_BITMAPS" : NULL;
}

static const char *file_type_name(unsigned type)
{
    static const char *const names[] = {"UNKNOWN", "FILE", "DIR",     "CHRDEV", "BLKDEV",
                                        "FIFO",    "SOCK", "SYMLINK", "XATTR"};
    return type < LENGTH_OF(names) ? names[type] : NULL;
}

static const char *file_extent_type_name(unsigned type)
{
    static const char *const names[] = {"inline", "regular", "prealloc"};
    return type < LENGTH_OF(names) ? names[type] : NULL;
}

static const char *compression_name(unsigned type)
{
    static const char *const names[] = {"none", "zlib", "lzo", "zstd"};
    return type < LENGTH_OF(names) ? names[type] : NULL;
}

static const char *qgroup_status_flag_name(unsigned bit)
{
    static const char *const names[] = {"ON", "RESCAN", "INCONSISTENT", "SIMPLE_MODE"};
    return bit < LENGTH_OF(names) ? names[bit] : NULL;
}

/* --- tables ------------------------------------------------------------------------- */

#define FIELD(type, member, form, name_of)                                                         \
    {                                                                                              \
#member, offsetof(struct type, member), sizeof(((struct type *)0)->member), form, name_of  \
    }
#define NUMBER(type, member)         FIELD(type, member, FIELD_NUMBER, NULL)
#define TIME(type, member)           FIELD(type, member, FIELD_TIME, NULL)
#define UUID(type, member)           FIELD(type, member, FIELD_UUID, NULL)
#define KEY(type, member)            FIELD(type, member, FIELD_KEY, NULL)
#define MODE(type, member)           FIELD(type, member, FIELD_MODE, NULL)
#define FLAGS(type, member, name_of) FIELD(type, member, FIELD_FLAGS, name_of)
#define NAMED(type, member, name_of) FIELD(type, member, FIELD_NAMED, name_of)

/* excerpt records */
/* clang-format off */
#define RECORD(record_name, type, what, ...)                                                       \
    static const struct field record_name##_fields[] = {__VA_ARGS__, {NULL, 0, 0, 0, NULL}};       \
    const struct record record_name = {what, sizeof(struct type), record_name##_fields}

RECORD(inode_record, inode_item, "inode",
    NUMBER(inode_item, generation), NUMBER(inode_item, transid), NUMBER(inode_item, size),
    NUMBER(inode_item, nbytes), NUMBER(inode_item, block_group), NUMBER(inode_item, nlink),
    NUMBER(inode_item, uid), NUMBER(inode_item, gid), MODE(inode_item, mode),
    NUMBER(inode_item, rdev), NUMBER(inode_item, sequence),
    FLAGS(inode_item, flags, inode_flag_name), TIME(inode_item, atime), TIME(inode_item, ctime),
    TIME(inode_item, mtime), TIME(inode_item, otime));

RECORD(inode_ref_record, inode_ref, "inode_ref",
    NUMBER(inode_ref, index));

RECORD(inode_extref_record, inode_extref, "inode_extref",
    NUMBER(inode_extref, parent_objectid), NUMBER(inode_extref, index));

RECORD(dir_entry_record, dir_item, "dir_entry",
    KEY(dir_item, location), NAMED(dir_item, type, file_type_name), NUMBER(dir_item, transid));

RECORD(dir_log_record, dir_log_item, "dir_log",
    NUMBER(dir_log_item, end));

RECORD(extent_data_record, file_extent_item, "file_extent",
    NUMBER(file_extent_item, generation), NAMED(file_extent_item, type, file_extent_type_name),
    NUMBER(file_extent_item, disk_bytenr), NUMBER(file_extent_item, disk_num_bytes),
    NUMBER(file_extent_item, offset), NUMBER(file_extent_item, num_bytes),
    NUMBER(file_extent_item, ram_bytes),
    NAMED(file_extent_item, compression, compression_name),
    NUMBER(file_extent_item, encryption), NUMBER(file_extent_item, other_encoding));

RECORD(inline_extent_record, file_extent_item, "file_extent",
    NUMBER(file_extent_item, generation), NAMED(file_extent_item, type, file_extent_type_name),
    NUMBER(file_extent_item, ram_bytes),
    NAMED(file_extent_item, compression, compression_name),
    NUMBER(file_extent_item, encryption), NUMBER(file_extent_item, other_encoding));

#define ROOT_FIELDS                                                                                \
    NUMBER(root_item, generation), NUMBER(root_item, root_dirid), NUMBER(root_item, bytenr),       \
    NUMBER(root_item, byte_limit), NUMBER(root_item, bytes_used),                                  \
    NUMBER(root_item, last_snapshot), FLAGS(root_item, flags, root_flag_name),                     \
    NUMBER(root_item, refs), KEY(root_item, drop_progress), NUMBER(root_item, drop_level),         \
    NUMBER(root_item, level)

RECORD(old_root_record, root_item, "root", ROOT_FIELDS);

RECORD(root_record, root_item, "root", ROOT_FIELDS,
    NUMBER(root_item, generation_v2), UUID(root_item, uuid), UUID(root_item, parent_uuid),
    UUID(root_item, received_uuid), NUMBER(root_item, ctransid), NUMBER(root_item, otransid),
    NUMBER(root_item, stransid), NUMBER(root_item, rtransid), TIME(root_item, ctime),
    TIME(root_item, otime), TIME(root_item, stime), TIME(root_item, rtime));

RECORD(root_ref_record, root_ref, "root_ref",
    NUMBER(root_ref, dirid), NUMBER(root_ref, sequence));

RECORD(extent_record, extent_item, "extent",
    NUMBER(extent_item, refs), NUMBER(extent_item, generation),
    FLAGS(extent_item, flags, extent_flag_name));

RECORD(tree_block_record, tree_block_info, "tree_block",
    KEY(tree_block_info, key), NUMBER(tree_block_info, level));

RECORD(extent_data_ref_record, extent_data_ref, "extent_data_ref",
    NUMBER(extent_data_ref, root), NUMBER(extent_data_ref, objectid),
    NUMBER(extent_data_ref, offset), NUMBER(extent_data_ref, count));

RECORD(shared_data_ref_record, shared_data_ref, "shared_data_ref",
    NUMBER(shared_data_ref, count));

RECORD(block_group_record, block_group_item, "block_group",
    NUMBER(block_group_item, used), NUMBER(block_group_item, chunk_objectid),
    FLAGS(block_group_item, flags, block_group_flag_name));

RECORD(free_space_info_record, free_space_info, "free_space_info",
    NUMBER(free_space_info, extent_count),
    FLAGS(free_space_info, flags, free_space_flag_name));

RECORD(free_space_header_record, free_space_header, "free_space_header",
    KEY(free_space_header, location), NUMBER(free_space_header, generation),
    NUMBER(free_space_header, num_entries), NUMBER(free_space_header, num_bitmaps));

RECORD(dev_extent_record, dev_extent, "dev_extent",
    NUMBER(dev_extent, chunk_tree), NUMBER(dev_extent, chunk_objectid),
    NUMBER(dev_extent, chunk_offset), NUMBER(dev_extent, length),
    UUID(dev_extent, chunk_tree_uuid));

RECORD(dev_record, dev_item, "dev",
    NUMBER(dev_item, devid), NUMBER(dev_item, total_bytes), NUMBER(dev_item, bytes_used),
    NUMBER(dev_item, io_align), NUMBER(dev_item, io_width), NUMBER(dev_item, sector_size),
    NUMBER(dev_item, type), NUMBER(dev_item, generation), NUMBER(dev_item, start_offset),
    NUMBER(dev_item, dev_group), NUMBER(dev_item, seek_speed), NUMBER(dev_item, bandwidth),
    UUID(dev_item, uuid), UUID(dev_item, fsid));

RECORD(chunk_record, chunk_item, "chunk",
    NUMBER(chunk_item, length), NUMBER(chunk_item, owner), NUMBER(chunk_item, stripe_len),
    FLAGS(chunk_item, type, block_group_flag_name), NUMBER(chunk_item, io_align),
    NUMBER(chunk_item, io_width), NUMBER(chunk_item, sector_size),
    NUMBER(chunk_item, num_stripes), NUMBER(chunk_item, sub_stripes));

RECORD(stripe_record, stripe, "stripe",
    NUMBER(stripe, devid), NUMBER(stripe, offset), UUID(stripe, dev_uuid));

RECORD(qgroup_status_record, qgroup_status_item, "qgroup_status",
    NUMBER(qgroup_status_item, version), NUMBER(qgroup_status_item, generation),
    FLAGS(qgroup_status_item, flags, qgroup_status_flag_name),
    NUMBER(qgroup_status_item, rescan));

RECORD(qgroup_info_record, qgroup_info_item, "qgroup_info",
    NUMBER(qgroup_info_item, generation), NUMBER(qgroup_info_item, referenced),
    NUMBER(qgroup_info_item, referenced_compressed), NUMBER(qgroup_info_item, exclusive),
    NUMBER(qgroup_info_item, exclusive_compressed));

RECORD(qgroup_limit_record, qgroup_limit_item, "qgroup_limit",
    NUMBER(qgroup_limit_item, flags), NUMBER(qgroup_limit_item, max_referenced),
    NUMBER(qgroup_limit_item, max_exclusive), NUMBER(qgroup_limit_item, rsv_referenced),
    NUMBER(qgroup_limit_item, rsv_exclusive));

RECORD(dev_replace_record, dev_replace_item, "dev_replace",
    NUMBER(dev_replace_item, src_devid), NUMBER(dev_replace_item, cursor_left),
    NUMBER(dev_replace_item, cursor_right),
    NUMBER(dev_replace_item, cont_reading_from_srcdev_mode),
    NUMBER(dev_replace_item, replace_state), NUMBER(dev_replace_item, time_started),
    NUMBER(dev_replace_item, time_stopped), NUMBER(dev_replace_item, num_write_errors),
    NUMBER(dev_replace_item, num_uncorrectable_read_errors));

RECORD(balance_record, balance_item, "balance",
    NUMBER(balance_item, flags));

RECORD(verity_record, verity_descriptor_item, "verity_descriptor",
    NUMBER(verity_descriptor_item, size), NUMBER(verity_descriptor_item, encryption));
/* clang-format on */
/* end records */

/* --- the loop ----------------------------------------------------------------------- */

static uint64_t read_number(const unsigned char *bytes, size_t size)
{
    assert(size <= sizeof(uint64_t));
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static void report_field(const struct field *field, const unsigned char *bytes,
                         struct report *report)
{
    uint64_t value = field->size <= sizeof value ? read_number(bytes, field->size) : 0;
    switch (field->form) {
    case FIELD_NUMBER:
        report_number(report, field->name, value);
        break;
    case FIELD_MODE:
        report_mode(report, field->name, (uint32_t)value);
        break;
    case FIELD_TIME:
        report_time(report, field->name, (const struct timespec_item *)bytes);
        break;
    case FIELD_UUID:
        report_uuid(report, field->name, bytes);
        break;
    case FIELD_KEY: {
        struct key key = key_from_disk((const struct disk_key *)bytes);
        char text[KEY_TEXT_SIZE];
        report_word(report, field->name, key_format(&key, text));
        break;
    }
    case FIELD_FLAGS:
        report_flags(report, field->name, value, field->name_of);
        break;
    case FIELD_NAMED:
        report_named(report, field->name, value, field->name_of((unsigned)value));
        break;
    }
}

void record_fields(const struct record *record, const void *bytes, struct report *report)
{
    for (const struct field *field = record->fields; field->name; field++)
        report_field(field, (const unsigned char *)bytes + field->offset, report);
}
