/* The bytes of Btrfs: every structure that lies on disk, in one place.
 *
 * Each structure is made of bytes, le16, le32 and le64 alone, so it has no padding and may be laid
 * over any address; PINNED states its size and the offset of a late field, and the compiler holds
 * it to them. The names of structures and fields are the kernel's, without its prefix
 * (include/uapi/linux/btrfs_tree.h).
 *
 *   device    0        64 KiB        1 MiB                         64 MiB             256 GiB
 *             |reserved|superblock 0 |blocks and data ...          |superblock 1 ...  |superblock 2
 *
 *   a block   header (101 bytes), then in a leaf items, in a node key pointers
 */
#ifndef FORMAT_H
#define FORMAT_H

#include "bytes.h"

#include <stddef.h>

#define PINNED(type, size, field, offset)                                                          \
    _Static_assert(sizeof(struct type) == (size), #type " has its size on disk");                  \
    _Static_assert(offsetof(struct type, field) == (offset), #type "." #field " is in its place")

enum {
    CSUM_SIZE = 32, /* room for a checksum in a block; the algorithm fills the first bytes of it */
    FSID_SIZE = 16,
    UUID_SIZE = 16,
    LABEL_SIZE = 256,
    SYS_CHUNK_ARRAY_SIZE = 2048,
    BACKUP_ROOTS = 4,
    MAX_LEVEL = 8, /* a tree has levels 0 to 7 */
    NAME_MAX_LENGTH = 255,
    SUPERBLOCK_SIZE = 4096,
    SUPERBLOCK_MIRRORS = 3,
    STRIPE_LENGTH = 65536,
    DEVICE_RESERVED = 1 << 20, /* no chunk lies below it */
    NODE_SIZE_MAX = 65536,
    SECTOR_SIZE_MAX = 65536,
};

#define SUPERBLOCK_MAGIC 0x4d5f53665248425fULL /* the bytes "_BHRfS_M" */

/* --- keys, blocks ------------------------------------------------------------------- */

struct disk_key {
    le64 objectid;
    uint8_t type;
    le64 offset;
};
PINNED(disk_key, 17, offset, 9);

/* The first bytes of every tree block. csum covers all bytes behind itself. */
struct block_header {
    uint8_t csum[CSUM_SIZE];
    uint8_t fsid[FSID_SIZE];
    le64 bytenr; /* the logical address where this block lies */
    le64 flags;  /* HEADER_FLAG_..., and the back reference revision in the top byte */
    uint8_t chunk_tree_uuid[UUID_SIZE];
    le64 generation; /* the transaction that wrote it */
    le64 owner;      /* the tree that made it; a snapshot shares blocks of another owner */
    le32 nritems;
    uint8_t level; /* 0 in a leaf */
};
PINNED(block_header, 101, level, 100);

/* A leaf holds item headers; offset counts from the end of the block header. */
struct item_header {
    struct disk_key key;
    le32 offset;
    le32 size;
};
PINNED(item_header, 25, size, 21);

/* A node holds key pointers: a child's first key, where it lies, which transaction wrote it. */
struct key_ptr {
    struct disk_key key;
    le64 blockptr;
    le64 generation;
};
PINNED(key_ptr, 33, generation, 25);

#define HEADER_FLAG_WRITTEN      (1ULL << 0)
#define HEADER_FLAG_RELOC        (1ULL << 1)
#define HEADER_BACKREF_REV_SHIFT 56
#define HEADER_MIXED_BACKREF_REV 1

/* --- the superblock ----------------------------------------------------------------- */

struct dev_item {
    le64 devid;
    le64 total_bytes;
    le64 bytes_used;
    le32 io_align;
    le32 io_width;
    le32 sector_size;
    le64 type;
    le64 generation;
    le64 start_offset;
    le32 dev_group;
    uint8_t seek_speed;
    uint8_t bandwidth;
    uint8_t uuid[UUID_SIZE];
    uint8_t fsid[FSID_SIZE];
};
PINNED(dev_item, 98, fsid, 82);

struct root_backup {
    le64 tree_root;
    le64 tree_root_gen;
    le64 chunk_root;
    le64 chunk_root_gen;
    le64 extent_root;
    le64 extent_root_gen;
    le64 fs_root;
    le64 fs_root_gen;
    le64 dev_root;
    le64 dev_root_gen;
    le64 csum_root;
    le64 csum_root_gen;
    le64 total_bytes;
    le64 bytes_used;
    le64 num_devices;
    le64 unused[4];
    uint8_t tree_root_level;
    uint8_t chunk_root_level;
    uint8_t extent_root_level;
    uint8_t fs_root_level;
    uint8_t dev_root_level;
    uint8_t csum_root_level;
    uint8_t unused_8[10];
};
PINNED(root_backup, 168, tree_root_level, 152);

struct superblock {
    uint8_t csum[CSUM_SIZE];
    uint8_t fsid[FSID_SIZE];
    le64 bytenr; /* where on the device this copy lies */
    le64 flags;
    le64 magic;
    le64 generation; /* of the root tree's root block: the last transaction that was committed */
    le64 root;       /* logical address of the root of the root tree */
    le64 chunk_root;
    le64 log_root;
    le64 log_root_transid_unused;
    le64 total_bytes;
    le64 bytes_used;
    le64 root_dir_objectid;
    le64 num_devices;
    le32 sectorsize;
    le32 nodesize;
    le32 leafsize_unused; /* equals nodesize */
    le32 stripesize;
    le32 sys_chunk_array_size;
    le64 chunk_root_generation;
    le64 compat_flags;
    le64 compat_ro_flags;
    le64 incompat_flags;
    le16 csum_type;
    uint8_t root_level;
    uint8_t chunk_root_level;
    uint8_t log_root_level;
    struct dev_item dev_item;
    char label[LABEL_SIZE];
    le64 cache_generation;
    le64 uuid_tree_generation;
    uint8_t metadata_uuid[FSID_SIZE]; /* with METADATA_UUID: the fsid that the blocks bear */
    le64 nr_global_roots;
    le64 reserved[27];
    uint8_t sys_chunk_array[SYS_CHUNK_ARRAY_SIZE];
    struct root_backup super_roots[BACKUP_ROOTS];
    uint8_t padding[565];
};
PINNED(superblock, SUPERBLOCK_SIZE, sys_chunk_array, 811);
_Static_assert(offsetof(struct superblock, label) == 299, "the label is in its place");
_Static_assert(offsetof(struct superblock, super_roots) == 2859, "the backups are in their place");

enum csum_type {
    CSUM_TYPE_CRC32 = 0,
    CSUM_TYPE_XXHASH = 1,
    CSUM_TYPE_SHA256 = 2,
    CSUM_TYPE_BLAKE2 = 3,
};

#define COMPAT_RO_FREE_SPACE_TREE       (1ULL << 0)
#define COMPAT_RO_FREE_SPACE_TREE_VALID (1ULL << 1)
#define COMPAT_RO_VERITY                (1ULL << 2)
#define COMPAT_RO_BLOCK_GROUP_TREE      (1ULL << 3)

#define INCOMPAT_MIXED_BACKREF    (1ULL << 0)
#define INCOMPAT_DEFAULT_SUBVOL   (1ULL << 1)
#define INCOMPAT_MIXED_GROUPS     (1ULL << 2)
#define INCOMPAT_COMPRESS_LZO     (1ULL << 3)
#define INCOMPAT_COMPRESS_ZSTD    (1ULL << 4)
#define INCOMPAT_BIG_METADATA     (1ULL << 5)
#define INCOMPAT_EXTENDED_IREF    (1ULL << 6)
#define INCOMPAT_RAID56           (1ULL << 7)
#define INCOMPAT_SKINNY_METADATA  (1ULL << 8)
#define INCOMPAT_NO_HOLES         (1ULL << 9)
#define INCOMPAT_METADATA_UUID    (1ULL << 10)
#define INCOMPAT_RAID1C34         (1ULL << 11)
#define INCOMPAT_ZONED            (1ULL << 12)
#define INCOMPAT_EXTENT_TREE_V2   (1ULL << 13)
#define INCOMPAT_RAID_STRIPE_TREE (1ULL << 14)
#define INCOMPAT_SIMPLE_QUOTA     (1ULL << 16)

/* --- object ids and key types ------------------------------------------------------- */

#define ROOT_TREE_OBJECTID        1ULL
#define EXTENT_TREE_OBJECTID      2ULL
#define CHUNK_TREE_OBJECTID       3ULL
#define DEV_TREE_OBJECTID         4ULL
#define FS_TREE_OBJECTID          5ULL
#define ROOT_TREE_DIR_OBJECTID    6ULL
#define CSUM_TREE_OBJECTID        7ULL
#define QUOTA_TREE_OBJECTID       8ULL
#define UUID_TREE_OBJECTID        9ULL
#define FREE_SPACE_TREE_OBJECTID  10ULL
#define BLOCK_GROUP_TREE_OBJECTID 11ULL
#define RAID_STRIPE_TREE_OBJECTID 12ULL
#define REMAP_TREE_OBJECTID       13ULL
#define DEV_STATS_OBJECTID        0ULL
#define BALANCE_OBJECTID          (-4ULL)
#define ORPHAN_OBJECTID           (-5ULL)
#define TREE_LOG_OBJECTID         (-6ULL)
#define TREE_LOG_FIXUP_OBJECTID   (-7ULL)
#define TREE_RELOC_OBJECTID       (-8ULL)
#define DATA_RELOC_TREE_OBJECTID  (-9ULL)
#define EXTENT_CSUM_OBJECTID      (-10ULL)
#define FREE_SPACE_OBJECTID       (-11ULL)
#define FREE_INO_OBJECTID         (-12ULL)
#define MULTIPLE_OBJECTIDS        (-255ULL)
#define FIRST_FREE_OBJECTID       256ULL
#define LAST_FREE_OBJECTID        (-256ULL)
#define FIRST_CHUNK_TREE_OBJECTID 256ULL
#define DEV_ITEMS_OBJECTID        1ULL

enum key_type {
    INODE_ITEM_KEY = 1,
    INODE_REF_KEY = 12,
    INODE_EXTREF_KEY = 13,
    XATTR_ITEM_KEY = 24,
    VERITY_DESC_ITEM_KEY = 36,
    VERITY_MERKLE_ITEM_KEY = 37,
    ORPHAN_ITEM_KEY = 48,
    DIR_LOG_ITEM_KEY = 60,
    DIR_LOG_INDEX_KEY = 72,
    DIR_ITEM_KEY = 84,
    DIR_INDEX_KEY = 96,
    EXTENT_DATA_KEY = 108,
    CSUM_ITEM_KEY = 120, /* the old form, never written by a released kernel */
    EXTENT_CSUM_KEY = 128,
    ROOT_ITEM_KEY = 132,
    ROOT_BACKREF_KEY = 144,
    ROOT_REF_KEY = 156,
    EXTENT_ITEM_KEY = 168,
    METADATA_ITEM_KEY = 169,
    EXTENT_OWNER_REF_KEY = 172,
    TREE_BLOCK_REF_KEY = 176,
    EXTENT_DATA_REF_KEY = 178,
    EXTENT_REF_V0_KEY = 180,
    SHARED_BLOCK_REF_KEY = 182,
    SHARED_DATA_REF_KEY = 184,
    BLOCK_GROUP_ITEM_KEY = 192,
    FREE_SPACE_INFO_KEY = 198,
    FREE_SPACE_EXTENT_KEY = 199,
    FREE_SPACE_BITMAP_KEY = 200,
    DEV_EXTENT_KEY = 204,
    DEV_ITEM_KEY = 216,
    CHUNK_ITEM_KEY = 228,
    RAID_STRIPE_KEY = 230,
    QGROUP_STATUS_KEY = 240,
    QGROUP_INFO_KEY = 242,
    QGROUP_LIMIT_KEY = 244,
    QGROUP_RELATION_KEY = 246,
    TEMPORARY_ITEM_KEY = 248,
    PERSISTENT_ITEM_KEY = 249,
    DEV_REPLACE_KEY = 250,
    UUID_KEY_SUBVOL = 251,
    UUID_KEY_RECEIVED_SUBVOL = 252,
    STRING_ITEM_KEY = 253,
};

/* --- the volume: chunks, devices, block groups -------------------------------------- */

struct stripe {
    le64 devid;
    le64 offset; /* physical, on that device */
    uint8_t dev_uuid[UUID_SIZE];
};
PINNED(stripe, 32, dev_uuid, 16);

/* num_stripes stripes follow. */
struct chunk_item {
    le64 length;
    le64 owner;
    le64 stripe_len;
    le64 type; /* BLOCK_GROUP_... */
    le32 io_align;
    le32 io_width;
    le32 sector_size;
    le16 num_stripes;
    le16 sub_stripes;
};
PINNED(chunk_item, 48, num_stripes, 44);

#define BLOCK_GROUP_DATA         (1ULL << 0)
#define BLOCK_GROUP_SYSTEM       (1ULL << 1)
#define BLOCK_GROUP_METADATA     (1ULL << 2)
#define BLOCK_GROUP_RAID0        (1ULL << 3)
#define BLOCK_GROUP_RAID1        (1ULL << 4)
#define BLOCK_GROUP_DUP          (1ULL << 5)
#define BLOCK_GROUP_RAID10       (1ULL << 6)
#define BLOCK_GROUP_RAID5        (1ULL << 7)
#define BLOCK_GROUP_RAID6        (1ULL << 8)
#define BLOCK_GROUP_RAID1C3      (1ULL << 9)
#define BLOCK_GROUP_RAID1C4      (1ULL << 10)
#define BLOCK_GROUP_TYPE_MASK    0x7ULL
#define BLOCK_GROUP_PROFILE_MASK 0x7f8ULL

struct dev_extent {
    le64 chunk_tree;
    le64 chunk_objectid;
    le64 chunk_offset; /* logical start of the chunk */
    le64 length;
    uint8_t chunk_tree_uuid[UUID_SIZE];
};
PINNED(dev_extent, 48, chunk_tree_uuid, 32);

struct block_group_item {
    le64 used;
    le64 chunk_objectid;
    le64 flags;
};
PINNED(block_group_item, 24, flags, 16);

struct free_space_info {
    le32 extent_count;
    le32 flags;
};
PINNED(free_space_info, 8, flags, 4);

#define FREE_SPACE_USING_BITMAPS 1U

/* The head of a version 1 space cache file. */
struct free_space_header {
    struct disk_key location;
    le64 generation;
    le64 num_entries;
    le64 num_bitmaps;
};
PINNED(free_space_header, 41, num_bitmaps, 33);

struct disk_balance_args {
    le64 profiles;
    le64 usage;
    le64 devid;
    le64 pstart;
    le64 pend;
    le64 vstart;
    le64 vend;
    le64 target;
    le64 flags;
    le64 limit;
    le32 stripes_min;
    le32 stripes_max;
    le64 unused[6];
};
PINNED(disk_balance_args, 136, stripes_min, 80);

struct balance_item {
    le64 flags;
    struct disk_balance_args data;
    struct disk_balance_args meta;
    struct disk_balance_args sys;
    le64 unused[4];
};
PINNED(balance_item, 448, unused, 416);

/* --- extents and their back references ---------------------------------------------- */

struct extent_item {
    le64 refs;
    le64 generation;
    le64 flags; /* EXTENT_FLAG_... */
};
PINNED(extent_item, 24, flags, 16);

#define EXTENT_FLAG_DATA        (1ULL << 0)
#define EXTENT_FLAG_TREE_BLOCK  (1ULL << 1)
#define BLOCK_FLAG_FULL_BACKREF (1ULL << 8)

/* Follows the extent item of a tree block where metadata is not skinny. */
struct tree_block_info {
    struct disk_key key;
    uint8_t level;
};
PINNED(tree_block_info, 18, level, 17);

/* An inline reference: the type of the keyed item that it stands for, and that item's offset. In an
 * EXTENT_DATA_REF an extent_data_ref begins at `offset` instead; in a SHARED_DATA_REF a
 * shared_data_ref follows. */
struct extent_inline_ref {
    uint8_t type;
    le64 offset;
};
PINNED(extent_inline_ref, 9, offset, 1);

struct extent_data_ref {
    le64 root;
    le64 objectid;
    le64 offset; /* offset in the file minus the offset into the extent: the same for all parts */
    le32 count;
};
PINNED(extent_data_ref, 28, count, 24);

struct shared_data_ref {
    le32 count;
};
PINNED(shared_data_ref, 4, count, 0);

struct extent_owner_ref {
    le64 root_id;
};
PINNED(extent_owner_ref, 8, root_id, 0);

/* --- files -------------------------------------------------------------------------- */

struct timespec_item {
    le64 sec;
    le32 nsec;
};
PINNED(timespec_item, 12, nsec, 8);

struct inode_item {
    le64 generation;
    le64 transid;
    le64 size;
    le64 nbytes;
    le64 block_group;
    le32 nlink;
    le32 uid;
    le32 gid;
    le32 mode;
    le64 rdev;
    le64 flags; /* INODE_... */
    le64 sequence;
    le64 reserved[4];
    struct timespec_item atime;
    struct timespec_item ctime;
    struct timespec_item mtime;
    struct timespec_item otime; /* of birth */
};
PINNED(inode_item, 160, atime, 112);

#define INODE_NODATASUM (1ULL << 0)
#define INODE_NODATACOW (1ULL << 1)

/* The name follows. */
struct inode_ref {
    le64 index;
    le16 name_len;
};
PINNED(inode_ref, 10, name_len, 8);

struct inode_extref {
    le64 parent_objectid;
    le64 index;
    le16 name_len;
};
PINNED(inode_extref, 18, name_len, 16);

/* The name follows, then data_len bytes: the value of an xattr. */
struct dir_item {
    struct disk_key location;
    le64 transid;
    le16 data_len;
    le16 name_len;
    uint8_t type; /* FT_... */
};
PINNED(dir_item, 30, type, 29);

enum file_type {
    FT_UNKNOWN = 0,
    FT_REG_FILE = 1,
    FT_DIR = 2,
    FT_CHRDEV = 3,
    FT_BLKDEV = 4,
    FT_FIFO = 5,
    FT_SOCK = 6,
    FT_SYMLINK = 7,
    FT_XATTR = 8,
};
#define FT_ENCRYPTED 0x80

struct dir_log_item {
    le64 end;
};
PINNED(dir_log_item, 8, end, 0);

/* Inline data begins where disk_bytenr would stand. */
struct file_extent_item {
    le64 generation;
    le64 ram_bytes; /* length of the extent when decoded */
    uint8_t compression;
    uint8_t encryption;
    le16 other_encoding;
    uint8_t type;     /* FILE_EXTENT_... */
    le64 disk_bytenr; /* 0: a hole */
    le64 disk_num_bytes;
    le64 offset;    /* where in the decoded extent the file's part begins */
    le64 num_bytes; /* how much of it is the file's */
};
PINNED(file_extent_item, 53, disk_bytenr, 21);

#define FILE_EXTENT_INLINE_HEADER offsetof(struct file_extent_item, disk_bytenr)

enum file_extent_type {
    FILE_EXTENT_INLINE = 0,
    FILE_EXTENT_REG = 1,
    FILE_EXTENT_PREALLOC = 2,
};

enum compression_type {
    COMPRESS_NONE = 0,
    COMPRESS_ZLIB = 1,
    COMPRESS_LZO = 2,
    COMPRESS_ZSTD = 3,
};

struct verity_descriptor_item {
    le64 size;
    le64 reserved[2];
    uint8_t encryption;
};
PINNED(verity_descriptor_item, 25, encryption, 24);

/* --- roots -------------------------------------------------------------------------- */

/* Images of before Linux 3.6 end behind `level`: the item is 239 bytes there. */
struct root_item {
    struct inode_item inode;
    le64 generation;
    le64 root_dirid;
    le64 bytenr;
    le64 byte_limit;
    le64 bytes_used;
    le64 last_snapshot;
    le64 flags; /* ROOT_... */
    le32 refs;
    struct disk_key drop_progress;
    uint8_t drop_level;
    uint8_t level;
    le64 generation_v2; /* equals generation, or what follows is not valid */
    uint8_t uuid[UUID_SIZE];
    uint8_t parent_uuid[UUID_SIZE];
    uint8_t received_uuid[UUID_SIZE];
    le64 ctransid;
    le64 otransid;
    le64 stransid;
    le64 rtransid;
    struct timespec_item ctime;
    struct timespec_item otime;
    struct timespec_item stime;
    struct timespec_item rtime;
    le64 reserved[8];
};
PINNED(root_item, 439, generation_v2, 239);

#define ROOT_ITEM_OLD_SIZE offsetof(struct root_item, generation_v2)
#define ROOT_SUBVOL_RDONLY (1ULL << 0)
#define ROOT_SUBVOL_DEAD   (1ULL << 48)

/* The name follows. */
struct root_ref {
    le64 dirid;
    le64 sequence;
    le16 name_len;
};
PINNED(root_ref, 18, name_len, 16);

/* --- quota -------------------------------------------------------------------------- */

struct qgroup_status_item {
    le64 version;
    le64 generation;
    le64 flags;
    le64 rescan;
    le64 enable_gen; /* older kernels end the item before it */
};
PINNED(qgroup_status_item, 40, enable_gen, 32);

struct qgroup_info_item {
    le64 generation;
    le64 referenced;
    le64 referenced_compressed;
    le64 exclusive;
    le64 exclusive_compressed;
};
PINNED(qgroup_info_item, 40, exclusive, 24);

struct qgroup_limit_item {
    le64 flags;
    le64 max_referenced;
    le64 max_exclusive;
    le64 rsv_referenced;
    le64 rsv_exclusive;
};
PINNED(qgroup_limit_item, 40, rsv_exclusive, 32);

struct dev_replace_item {
    le64 src_devid;
    le64 cursor_left;
    le64 cursor_right;
    le64 cont_reading_from_srcdev_mode;
    le64 replace_state;
    le64 time_started;
    le64 time_stopped;
    le64 num_write_errors;
    le64 num_uncorrectable_read_errors;
};
PINNED(dev_replace_item, 72, time_stopped, 48);

#endif
