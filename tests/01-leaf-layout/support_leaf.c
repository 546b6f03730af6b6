#include "support_leaf.h"

#include "support.h"

#include <stdlib.h>
#include <string.h>

struct block make_leaf(uint32_t size)
{
    struct block leaf = {.data = malloc(size), .size = size, .bytenr = 1 << 20};
    ck_assert_ptr_nonnull(leaf.data);
    memset(leaf.data, 0xee, size);
    leaf_init(&leaf, 7, FS_TREE_OBJECTID);
    return leaf;
}

void free_block(struct block *block)
{
    free(block->data);
}

void leaf_append(struct block *leaf, struct key key, const void *data, uint32_t size)
{
    expect_success(leaf_insert(leaf, block_nritems(leaf), &key, data, size));
}

uint64_t find_root(const struct image *image, uint64_t tree)
{
    struct block roots = make_leaf(image->nodesize);
    uint64_t bytenr = 0;
    image_get_block(image, from_le64(image->super.root), roots.data);
    ck_assert_uint_eq(block_level(&roots), 0);
    for (uint32_t slot = 0; slot < block_nritems(&roots); slot++) {
        struct key key = leaf_key(&roots, slot);
        const struct root_item *item = item_data(&roots, slot);
        if (key.objectid == tree && key.type == ROOT_ITEM_KEY)
            bytenr = from_le64(item->bytenr);
    }
    ck_assert_uint_ne(bytenr, 0);
    free_block(&roots);
    return bytenr;
}

const struct item_context test_context = {.sectorsize = 4096, .csum_size = 4};

/* --- samples ------------------------------------------------------------------------ */

static struct sample samples[64];
static size_t nsamples;

static void add(const char *name, uint64_t objectid, uint8_t type, uint64_t offset,
                const char *text)
{
    ck_assert_uint_lt(nsamples, LENGTH_OF(samples));
    samples[nsamples++] =
        (struct sample){.name = name, .key = {objectid, type, offset}, .text = text};
}

/* More bytes for the last sample. */
static void with(const void *bytes, size_t size)
{
    struct sample *sample = &samples[nsamples - 1];
    ck_assert_uint_le(sample->size + size, sizeof sample->bytes);
    memcpy(sample->bytes + sample->size, bytes, size);
    sample->size += (uint32_t)size;
}

/* Numbers of 64 bits: their count, then they. */
static void with_numbers(size_t count, const uint64_t numbers[])
{
    for (size_t i = 0; i < count; i++) {
        le64 number = to_le64(numbers[i]);
        with(&number, sizeof number);
    }
}
#define NUMBERS(...)                                                                               \
    with_numbers(sizeof(uint64_t[]){__VA_ARGS__} / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

/* 1, 2, 3, ... in every byte: each field has a number of its own. */
static void with_counting(size_t size)
{
    for (size_t i = 0; i < size; i++)
        with(&(uint8_t){(uint8_t)(i + 1)}, 1);
}

static void add_file_samples(void)
{
    struct inode_item inode = {
        .generation = to_le64(1),
        .transid = to_le64(2),
        .size = to_le64(3),
        .nbytes = to_le64(4),
        .block_group = to_le64(5),
        .nlink = to_le32(6),
        .uid = to_le32(7),
        .gid = to_le32(8),
        .mode = to_le32(0100644),
        .rdev = to_le64(9),
        .flags = to_le64(1ULL << 31 | 0x1fff),
        .sequence = to_le64(10),
        .atime = {to_le64(11), to_le32(12)},
        .ctime = {to_le64(13), to_le32(14)},
        .mtime = {to_le64(15), to_le32(16)},
        .otime = {to_le64(17), to_le32(18)},
    };
    add("inode", 256, INODE_ITEM_KEY, 0,
        "inode generation 1 transid 2 size 3 nbytes 4 block_group 5 nlink 6 uid 7 gid 8 "
        "mode 0100644 rdev 9 sequence 10 flags NODATASUM|NODATACOW|READONLY|NOCOMPRESS|PREALLOC|"
        "SYNC|IMMUTABLE|APPEND|NODUMP|NOATIME|DIRSYNC|COMPRESS|ROOT_ITEM_INIT|0x1000 "
        "atime 11.000000012 ctime 13.000000014 mtime 15.000000016 otime 17.000000018");
    with(&inode, sizeof inode);

    add("inode_ref", 257, INODE_REF_KEY, 256,
        "inode_ref index 2 name \"oak\"\n  inode_ref index 3 name \"elm\"");
    with(&(struct inode_ref){to_le64(2), to_le16(3)}, sizeof(struct inode_ref));
    with("oak", 3);
    with(&(struct inode_ref){to_le64(3), to_le16(3)}, sizeof(struct inode_ref));
    with("elm", 3);

    add("inode_extref", 257, INODE_EXTREF_KEY, 77,
        "inode_extref parent_objectid 256 index 5 name \"oak\"");
    with(&(struct inode_extref){to_le64(256), to_le64(5), to_le16(3)}, sizeof(struct inode_extref));
    with("oak", 3);

    struct dir_item entry = {.location = {to_le64(257), INODE_ITEM_KEY, to_le64(0)},
                             .transid = to_le64(7),
                             .name_len = to_le16(3),
                             .type = FT_REG_FILE};
    add("dir_item", 256, DIR_ITEM_KEY, 77,
        "dir_entry location (257 INODE_ITEM 0) type FILE transid 7 name \"oak\"\n"
        "  dir_entry location (257 INODE_ITEM 0) type FILE transid 7 name \"elm\"");
    with(&entry, sizeof entry);
    with("oak", 3);
    with(&entry, sizeof entry);
    with("elm", 3);

    entry.type = FT_ENCRYPTED | FT_DIR;
    add("dir_index", 256, DIR_INDEX_KEY, 2,
        "dir_entry location (257 INODE_ITEM 0) type 130 transid 7 name \"oak\"");
    with(&entry, sizeof entry);
    with("oak", 3);

    entry = (struct dir_item){
        .data_len = to_le16(5), .name_len = to_le16(9), .type = FT_XATTR, .transid = to_le64(7)};
    add("xattr", 257, XATTR_ITEM_KEY, 77,
        "dir_entry location (0 UNKNOWN.0 0) type XATTR transid 7 name \"user.wood\" data "
        "\"hazel\"");
    with(&entry, sizeof entry);
    with("user.woodhazel", 14);

    add("orphan", ORPHAN_OBJECTID, ORPHAN_ITEM_KEY, 257, "");
    add("dir_log_item", 256, DIR_LOG_ITEM_KEY, 1, "dir_log end 9");
    NUMBERS(9);
    add("dir_log_index", 256, DIR_LOG_INDEX_KEY, 1, "dir_log end 9");
    NUMBERS(9);
    add("verity_descriptor", 257, VERITY_DESC_ITEM_KEY, 0, "verity_descriptor size 9 encryption 4");
    NUMBERS(9, 0, 0);
    with("\4", 1);
    add("verity_bytes", 257, VERITY_DESC_ITEM_KEY, 1, "bytes hex 010203");
    with_counting(3);
    add("verity_merkle", 257, VERITY_MERKLE_ITEM_KEY, 0, "bytes hex 0102");
    with_counting(2);
}

static void add_extent_samples(void)
{
    struct file_extent_item extent = {
        .generation = to_le64(7),
        .ram_bytes = to_le64(16384),
        .compression = COMPRESS_ZSTD,
        .other_encoding = to_le16(2),
        .type = FILE_EXTENT_REG,
        .disk_bytenr = to_le64(1 << 20),
        .disk_num_bytes = to_le64(8192),
        .offset = to_le64(4096),
        .num_bytes = to_le64(12288),
    };
    add("file_extent", 257, EXTENT_DATA_KEY, 4096,
        "file_extent generation 7 type regular disk_bytenr 1048576 disk_num_bytes 8192 offset 4096 "
        "num_bytes 12288 ram_bytes 16384 compression zstd encryption 0 other_encoding 2");
    with(&extent, sizeof extent);
    extent.type = FILE_EXTENT_PREALLOC;
    extent.compression = COMPRESS_NONE;
    add("prealloc", 257, EXTENT_DATA_KEY, 8192, "type prealloc");
    with(&extent, sizeof extent);

    extent.type = FILE_EXTENT_INLINE;
    extent.ram_bytes = to_le64(6);
    add("inline", 257, EXTENT_DATA_KEY, 0,
        "file_extent generation 7 type inline ram_bytes 6 compression none encryption 0 "
        "other_encoding 2 data_size 6");
    with(&extent, FILE_EXTENT_INLINE_HEADER);
    with("Hello\n", 6);
    extent.compression = COMPRESS_LZO;
    extent.ram_bytes = to_le64(4000);
    add("inline_lzo", 257, EXTENT_DATA_KEY, 0, "ram_bytes 4000 compression lzo");
    with(&extent, FILE_EXTENT_INLINE_HEADER);
    with("lzo", 3);

    add("csums", EXTENT_CSUM_OBJECTID, EXTENT_CSUM_KEY, 1 << 20,
        "csums start 1048576 end 1060864 length 12288");
    with_counting(12);

    add("extent", 1 << 20, EXTENT_ITEM_KEY, 8192,
        "extent refs 9 generation 7 flags DATA\n"
        "    extent_data_ref root 5 objectid 257 offset 4096 count 3\n"
        "    shared_data_ref parent 65536 count 4\n"
        "    extent_owner_ref root 5");
    NUMBERS(9, 7, EXTENT_FLAG_DATA);
    with(&(uint8_t){EXTENT_DATA_REF_KEY}, 1);
    NUMBERS(5, 257, 4096);
    with("\3\0\0\0", 4);
    with(&(uint8_t){SHARED_DATA_REF_KEY}, 1);
    NUMBERS(65536);
    with("\4\0\0\0", 4);
    with(&(uint8_t){EXTENT_OWNER_REF_KEY}, 1);
    NUMBERS(5);

    add("metadata", 1 << 20, METADATA_ITEM_KEY, 1,
        "extent refs 2 generation 7 flags TREE_BLOCK|FULL_BACKREF\n"
        "    tree_block_ref root 5\n"
        "    shared_block_ref parent 65536");
    NUMBERS(2, 7, EXTENT_FLAG_TREE_BLOCK | BLOCK_FLAG_FULL_BACKREF);
    with(&(uint8_t){TREE_BLOCK_REF_KEY}, 1);
    NUMBERS(5);
    with(&(uint8_t){SHARED_BLOCK_REF_KEY}, 1);
    NUMBERS(65536);

    struct tree_block_info info = {{to_le64(256), INODE_ITEM_KEY, to_le64(0)}, 3};
    add("tree_block", 1 << 20, EXTENT_ITEM_KEY, 16384,
        "extent refs 1 generation 7 flags TREE_BLOCK\n"
        "    tree_block key (256 INODE_ITEM 0) level 3\n"
        "    tree_block_ref root 2");
    NUMBERS(1, 7, EXTENT_FLAG_TREE_BLOCK);
    with(&info, sizeof info);
    with(&(uint8_t){TREE_BLOCK_REF_KEY}, 1);
    NUMBERS(2);

    add("tree_block_ref", 1 << 20, TREE_BLOCK_REF_KEY, 5, "");
    add("shared_block_ref", 1 << 20, SHARED_BLOCK_REF_KEY, 65536, "");
    add("extent_data_ref", 1 << 20, EXTENT_DATA_REF_KEY, 77,
        "extent_data_ref root 5 objectid 257 offset 4096 count 3");
    NUMBERS(5, 257, 4096);
    with("\3\0\0\0", 4);
    add("shared_data_ref", 1 << 20, SHARED_DATA_REF_KEY, 65536, "shared_data_ref count 4");
    with("\4\0\0\0", 4);
}

static void add_root_samples(void)
{
    struct root_item root = {
        .generation = to_le64(7),
        .root_dirid = to_le64(256),
        .bytenr = to_le64(1 << 20),
        .byte_limit = to_le64(1),
        .bytes_used = to_le64(4096),
        .last_snapshot = to_le64(6),
        .flags = to_le64(ROOT_SUBVOL_RDONLY | ROOT_SUBVOL_DEAD | 2),
        .refs = to_le32(1),
        .drop_progress = {to_le64(257), INODE_ITEM_KEY, to_le64(0)},
        .drop_level = 1,
        .level = 2,
        .generation_v2 = to_le64(7),
        .uuid = {1},
        .ctransid = to_le64(2),
        .otransid = to_le64(3),
        .stransid = to_le64(4),
        .rtransid = to_le64(5),
        .otime = {to_le64(6), to_le32(7)},
    };
    add("root", 257, ROOT_ITEM_KEY, 0,
        "root generation 7 root_dirid 256 bytenr 1048576 byte_limit 1 bytes_used 4096 "
        "last_snapshot 6 flags RDONLY|DEAD|0x2 refs 1 drop_progress (257 INODE_ITEM 0) "
        "drop_level 1 level 2 generation_v2 7 uuid 01000000-0000-0000-0000-000000000000 "
        "parent_uuid - received_uuid - ctransid 2 otransid 3 stransid 4 rtransid 5 "
        "ctime 0.000000000 otime 6.000000007 stime 0.000000000 rtime 0.000000000");
    with(&root, sizeof root);
    add("old_root", 258, ROOT_ITEM_KEY, 0, "drop_level 1 level 2\n");
    with(&root, ROOT_ITEM_OLD_SIZE);

    for (unsigned back = 0; back < 2; back++) {
        add(back ? "root_backref" : "root_ref", 257, back ? ROOT_BACKREF_KEY : ROOT_REF_KEY, 5,
            "root_ref dirid 256 sequence 2 name \"home\"");
        with(&(struct root_ref){to_le64(256), to_le64(2), to_le16(4)}, sizeof(struct root_ref));
        with("home", 4);
    }
    add("uuid", 1, UUID_KEY_SUBVOL, 2, "uuid subvol_id 257\n  uuid subvol_id 258");
    NUMBERS(257, 258);
    add("received_uuid", 1, UUID_KEY_RECEIVED_SUBVOL, 2, "uuid subvol_id 257");
    NUMBERS(257);
}

static void add_space_samples(void)
{
    add("block_group", 1 << 20, BLOCK_GROUP_ITEM_KEY, 8 << 20,
        "block_group used 4096 chunk_objectid 256 flags METADATA|DUP");
    NUMBERS(4096, 256, BLOCK_GROUP_METADATA | BLOCK_GROUP_DUP);
    add("free_space_info", 1 << 20, FREE_SPACE_INFO_KEY, 8 << 20,
        "free_space_info extent_count 4 flags USING_BITMAPS");
    with("\4\0\0\0\1\0\0\0", 8);
    add("free_space_extent", 1 << 20, FREE_SPACE_EXTENT_KEY, 8 << 20, "");
    add("free_space_bitmap", 1 << 20, FREE_SPACE_BITMAP_KEY, 20 * 4096,
        "free_space_bitmap sectors 20 free_sectors 11");
    with("\xff\x03\x01", 3);
    add("free_space_header", FREE_SPACE_OBJECTID, 0, 1 << 20,
        "free_space_header location (257 INODE_ITEM 0) generation 7 num_entries 8 num_bitmaps 9");
    with(&(struct disk_key){to_le64(257), INODE_ITEM_KEY, to_le64(0)}, sizeof(struct disk_key));
    NUMBERS(7, 8, 9);

    add("dev_extent", 1, DEV_EXTENT_KEY, 1 << 20,
        "dev_extent chunk_tree 3 chunk_objectid 256 chunk_offset 1048576 length 8388608 "
        "chunk_tree_uuid 01020304-0506-0708-090a-0b0c0d0e0f10");
    NUMBERS(3, 256, 1 << 20, 8 << 20);
    with_counting(UUID_SIZE);
    struct dev_item dev = {.devid = to_le64(1),
                           .total_bytes = to_le64(14),
                           .bytes_used = to_le64(3),
                           .io_align = to_le32(4),
                           .io_width = to_le32(5),
                           .sector_size = to_le32(6),
                           .type = to_le64(7),
                           .generation = to_le64(8),
                           .start_offset = to_le64(9),
                           .dev_group = to_le32(10),
                           .seek_speed = 11,
                           .bandwidth = 12,
                           .fsid = {13}};
    add("dev", DEV_ITEMS_OBJECTID, DEV_ITEM_KEY, 1,
        "dev devid 1 total_bytes 14 bytes_used 3 io_align 4 io_width 5 sector_size 6 type 7 "
        "generation 8 start_offset 9 dev_group 10 seek_speed 11 bandwidth 12 uuid - "
        "fsid 0d000000-0000-0000-0000-000000000000");
    with(&dev, sizeof dev);
    struct chunk_item chunk = {.length = to_le64(8 << 20),
                               .owner = to_le64(2),
                               .stripe_len = to_le64(STRIPE_LENGTH),
                               .type = to_le64(BLOCK_GROUP_SYSTEM | BLOCK_GROUP_DUP | 1ULL << 40),
                               .io_align = to_le32(1),
                               .io_width = to_le32(2),
                               .sector_size = to_le32(4096),
                               .num_stripes = to_le16(2),
                               .sub_stripes = to_le16(1)};
    add("chunk", FIRST_CHUNK_TREE_OBJECTID, CHUNK_ITEM_KEY, 1 << 20,
        "chunk length 8388608 owner 2 stripe_len 65536 type SYSTEM|DUP|0x10000000000 io_align 1 "
        "io_width 2 sector_size 4096 num_stripes 2 sub_stripes 1\n"
        "    stripe devid 1 offset 1048576 dev_uuid 01000000-0000-0000-0000-000000000000\n"
        "    stripe devid 1 offset 9437184 dev_uuid -");
    with(&chunk, sizeof chunk);
    with(&(struct stripe){to_le64(1), to_le64(1 << 20), {1}}, sizeof(struct stripe));
    with(&(struct stripe){to_le64(1), to_le64(9 << 20), {0}}, sizeof(struct stripe));
}

static void add_state_samples(void)
{
    add("qgroup_status", 0, QGROUP_STATUS_KEY, 0,
        "qgroup_status version 1 generation 7 flags ON|RESCAN|INCONSISTENT|SIMPLE_MODE|0x10 "
        "rescan 4\n");
    NUMBERS(1, 7, 31, 4);
    add("qgroup_status_simple", 0, QGROUP_STATUS_KEY, 1, "version 1 generation 7 flags 0 rescan 4");
    NUMBERS(1, 7, 0, 4, 5);
    add("qgroup_info", 0, QGROUP_INFO_KEY, 5,
        "qgroup_info generation 1 referenced 2 referenced_compressed 3 exclusive 4 "
        "exclusive_compressed 5");
    NUMBERS(1, 2, 3, 4, 5);
    add("qgroup_limit", 0, QGROUP_LIMIT_KEY, 5,
        "qgroup_limit flags 1 max_referenced 2 max_exclusive 3 rsv_referenced 4 rsv_exclusive 5");
    NUMBERS(1, 2, 3, 4, 5);
    add("qgroup_relation", 5, QGROUP_RELATION_KEY, 1ULL << 48 | 7, "");

    static const uint8_t zeros[440];
    add("balance", BALANCE_OBJECTID, TEMPORARY_ITEM_KEY, 0, "balance flags 7");
    NUMBERS(7);
    with(zeros, sizeof zeros);
    add("temporary", 0, TEMPORARY_ITEM_KEY, 0, "bytes hex 01020304");
    with_counting(4);
    add("dev_stats", DEV_STATS_OBJECTID, PERSISTENT_ITEM_KEY, 1,
        "dev_stats write_errs 1 read_errs 2 flush_errs 3 corruption_errs 4 generation 5");
    NUMBERS(1, 2, 3, 4, 5);
    add("persistent", 3, PERSISTENT_ITEM_KEY, 1, "bytes hex 0100000000000000");
    NUMBERS(1);
    add("dev_replace", 0, DEV_REPLACE_KEY, 0,
        "dev_replace src_devid 1 cursor_left 2 cursor_right 3 cont_reading_from_srcdev_mode 4 "
        "replace_state 5 time_started 6 time_stopped 7 num_write_errors 8 "
        "num_uncorrectable_read_errors 9");
    NUMBERS(1, 2, 3, 4, 5, 6, 7, 8, 9);
    add("string", 1, STRING_ITEM_KEY, 2, "bytes hex 01");
    with_counting(1);
    add("unknown", 1, 77, 2, "bytes hex 010203");
    with_counting(3);
    add("untyped", 1, 0, 2, "bytes hex 010203");
    with_counting(3);
    add("nothing", 1, 77, 3, "bytes hex \n");
}

const struct sample *all_samples(size_t *count)
{
    if (nsamples == 0) {
        add_file_samples();
        add_extent_samples();
        add_root_samples();
        add_space_samples();
        add_state_samples();
    }
    *count = nsamples;
    return samples;
}

const struct sample *find_sample(const char *name)
{
    size_t count;
    all_samples(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(samples[i].name, name) == 0)
            return &samples[i];
    ck_abort_msg("there is no sample %s", name);
}
