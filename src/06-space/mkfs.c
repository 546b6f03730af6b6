#include "mkfs.h"

#include "checksum.h"
#include "fail.h"
#include "insert.h"

#include <string.h>

enum { SYSTEM_NODES = 64, METADATA_NODES = 768, SYSTEM_LEAST = 1 << 20, DATA_LEAST = 4 << 20 };

#define INODE_ROOT_ITEM_INIT (1ULL << 31)

/* --- options ------------------------------------------------------------------------ */

static bool is_size(uint32_t n)
{
    return n >= 4096 && n <= NODE_SIZE_MAX && (n & (n - 1)) == 0;
}

int mkfs_check(const struct mkfs_options *options)
{
    const struct blank_options *blank = &options->blank;
    if (!is_size(blank->sector_size))
        return fail(EINVAL, "sector size %u: it is 4, 8, 16, 32 or 64 KiB", blank->sector_size);
    if (!is_size(blank->node_size) || blank->node_size < blank->sector_size)
        return fail(EINVAL, "node size %u: it is 4, 8, 16, 32 or 64 KiB, and no less than a sector",
                    blank->node_size);
    if (options->mixed && blank->node_size != blank->sector_size)
        return fail(EINVAL, "mixed: node size and sector size must be equal, not %u and %u",
                    blank->node_size, blank->sector_size);
    if (options->mixed && options->data_dup != options->metadata_dup)
        return fail(EINVAL, "mixed: data and metadata have the same profile");
    if (blank->total_bytes && blank->total_bytes < mkfs_least_bytes(options))
        return fail(EINVAL, "%" PRIu64 " bytes are too few: it takes %" PRIu64, blank->total_bytes,
                    mkfs_least_bytes(options));
    return 0;
}

struct lengths {
    uint64_t system, metadata, data; /* of the first chunks; data 0: in that of metadata */
};

/* The shortest in which the kernel, which keeps hundreds of nodes of metadata for itself, can still
 * write some files. */
static struct lengths least_lengths(const struct mkfs_options *options)
{
    uint64_t node = options->blank.node_size;
    struct lengths least = {
        .system = SYSTEM_NODES * node > SYSTEM_LEAST ? SYSTEM_NODES * node : SYSTEM_LEAST,
        .metadata = METADATA_NODES * node,
        .data = DATA_LEAST,
    };
    if (options->mixed) {
        least.metadata = 2 * DATA_LEAST;
        least.data = 0;
    }
    return least;
}

uint64_t mkfs_least_bytes(const struct mkfs_options *options)
{
    struct lengths least = least_lengths(options);
    unsigned metadata = options->metadata_dup ? 2 : 1, data = options->data_dup ? 2 : 1;
    return DEVICE_RESERVED + metadata * (least.system + least.metadata) + data * least.data;
}

static uint64_t features(const struct mkfs_options *options)
{
    uint64_t flags = INCOMPAT_MIXED_BACKREF | INCOMPAT_EXTENDED_IREF | INCOMPAT_SKINNY_METADATA |
                     INCOMPAT_NO_HOLES;
    if (options->blank.node_size > 4096)
        flags |= INCOMPAT_BIG_METADATA;
    if (options->mixed)
        flags |= INCOMPAT_MIXED_GROUPS;
    return flags;
}

/* --- trees -------------------------------------------------------------------------- */

/* What an inode of a directory without names says. Its size is twice that of the names it holds. */
static struct inode_item directory_inode(const struct mkfs_options *options, uint64_t size)
{
    return (struct inode_item){
        .generation = to_le64(1),
        .transid = to_le64(1),
        .size = to_le64(size),
        .nlink = to_le32(1),
        .mode = to_le32(040755),
        .atime = options->time,
        .ctime = options->time,
        .mtime = options->time,
        .otime = options->time,
    };
}

/* A directory whose parent is itself: inode and the name "..". */
static int make_directory(struct tree *tree, uint64_t objectid, const struct inode_item *inode)
{
    struct {
        struct inode_ref ref;
        char name[2];
    } up = {.ref = {.name_len = to_le16(2)}, .name = {'.', '.'}};
    struct key key = {objectid, INODE_ITEM_KEY, 0}, up_key = {objectid, INODE_REF_KEY, objectid};
    int result = tree_insert(tree, &key, inode, sizeof *inode);
    return result < 0 ? result : tree_insert(tree, &up_key, &up, sizeof up);
}

static struct root_item root_item_of(const struct mkfs_options *options, uint64_t id)
{
    bool holds_files = id == FS_TREE_OBJECTID || id == DATA_RELOC_TREE_OBJECTID;
    struct root_item item = {
        .inode = directory_inode(options, 3),
        .root_dirid = to_le64(holds_files ? FIRST_FREE_OBJECTID : 0),
        .refs = to_le32(1),
    };
    item.inode.nbytes = to_le64(options->blank.node_size);
    if (id == FS_TREE_OBJECTID) {
        item.inode.flags = to_le64(INODE_ROOT_ITEM_INIT);
        uuid_derive(options->blank.fsid, "tree 5", item.uuid);
        item.ctime = item.otime = options->time;
        item.ctransid = item.otransid = to_le64(1);
    }
    return item;
}

/* The root directory of a tree that holds files. */
static int make_files(struct transaction *transaction, const struct mkfs_options *options,
                      uint64_t id)
{
    struct inode_item inode = directory_inode(options, 0);
    struct tree *tree;
    int result = transaction_tree(transaction, id, &tree);
    return result < 0 ? result : make_directory(tree, FIRST_FREE_OBJECTID, &inode);
}

/* The directory of subvolumes, in the root tree: "default" is the one that is mounted. */
static int make_root_directory(struct transaction *transaction, const struct mkfs_options *options)
{
    static const char name[] = {'d', 'e', 'f', 'a', 'u', 'l', 't'};
    struct {
        struct dir_item item;
        char name[sizeof name];
    } entry = {.item = {
                   .location = {to_le64(FS_TREE_OBJECTID), ROOT_ITEM_KEY, to_le64(UINT64_MAX)},
                   .transid = to_le64(1),
                   .name_len = to_le16(sizeof name),
                   .type = FT_DIR,
               }};
    struct {
        struct inode_ref ref;
        char name[sizeof name];
    } back = {.ref = {.name_len = to_le16(sizeof name)}};
    memcpy(entry.name, name, sizeof name);
    memcpy(back.name, name, sizeof name);

    struct inode_item inode = directory_inode(options, 0);
    struct key key = {ROOT_TREE_DIR_OBJECTID, DIR_ITEM_KEY, crc32c(~1U, name, sizeof name)};
    struct key back_key = {FS_TREE_OBJECTID, INODE_REF_KEY, ROOT_TREE_DIR_OBJECTID};
    struct tree *roots;
    int result = transaction_tree(transaction, ROOT_TREE_OBJECTID, &roots);
    if (result == 0)
        result = make_directory(roots, ROOT_TREE_DIR_OBJECTID, &inode);
    if (result == 0)
        result = tree_insert(roots, &key, &entry, sizeof entry);
    return result < 0 ? result : tree_insert(roots, &back_key, &back, sizeof back);
}

/* The uuid tree leads from the uuid of a subvolume, taken as a key, to its id. */
static int make_uuid_item(struct transaction *transaction, const struct mkfs_options *options)
{
    uint8_t uuid[UUID_SIZE];
    le64 halves[2], id = to_le64(FS_TREE_OBJECTID);
    struct tree *uuids;
    uuid_derive(options->blank.fsid, "tree 5", uuid);
    memcpy(halves, uuid, sizeof halves);
    struct key key = {from_le64(halves[0]), UUID_KEY_SUBVOL, from_le64(halves[1])};
    int result = transaction_tree(transaction, UUID_TREE_OBJECTID, &uuids);
    transaction->super.uuid_tree_generation = to_le64(transaction->generation);
    return result < 0 ? result : tree_insert(uuids, &key, &id, sizeof id);
}

static int make_trees(struct transaction *transaction, const struct mkfs_options *options)
{
    static const uint64_t ids[] = {
        EXTENT_TREE_OBJECTID,      DEV_TREE_OBJECTID,        FS_TREE_OBJECTID,
        CSUM_TREE_OBJECTID,        UUID_TREE_OBJECTID,       FREE_SPACE_TREE_OBJECTID,
        BLOCK_GROUP_TREE_OBJECTID, DATA_RELOC_TREE_OBJECTID,
    };
    struct tree *tree;
    int result = transaction_new_tree(transaction, ROOT_TREE_OBJECTID, NULL, &tree);
    if (result == 0)
        result = transaction_new_tree(transaction, CHUNK_TREE_OBJECTID, NULL, &tree);
    for (size_t i = 0; i < LENGTH_OF(ids) && result == 0; i++) {
        struct root_item item = root_item_of(options, ids[i]);
        if (ids[i] != BLOCK_GROUP_TREE_OBJECTID || options->block_group_tree)
            result = transaction_new_tree(transaction, ids[i], &item, &tree);
    }
    if (result == 0)
        result = make_root_directory(transaction, options);
    if (result == 0)
        result = make_files(transaction, options, FS_TREE_OBJECTID);
    if (result == 0)
        result = make_files(transaction, options, DATA_RELOC_TREE_OBJECTID);
    return result < 0 ? result : make_uuid_item(transaction, options);
}

/* --- chunks ------------------------------------------------------------------------- */

/* In a small image the first chunks are the shortest that do; else each is as long as the allocator
 * would make it. */
static int make_chunks(struct transaction *transaction, struct block_groups *groups,
                       const struct mkfs_options *options)
{
    struct lengths least = least_lengths(options), lengths = {0};
    if (options->blank.total_bytes < 2 * mkfs_least_bytes(options))
        lengths = least;
    int result = block_groups_add(groups, transaction, GROUP_SYSTEM, lengths.system);
    if (result == 0)
        result = block_groups_add(groups, transaction, GROUP_METADATA, lengths.metadata);
    if (result == 0 && !options->mixed)
        result = block_groups_add(groups, transaction, GROUP_DATA, lengths.data);
    return result;
}

static int first_transaction(struct volume *volume, struct extent_allocator *allocator,
                             const struct mkfs_options *options)
{
    struct block_groups *groups = &allocator->groups;
    struct transaction transaction;
    transaction_begin(&transaction, volume, &allocator->space);
    int result = extent_allocator_load(allocator);
    groups->profiles[GROUP_DATA] = options->data_dup ? BLOCK_GROUP_DUP : 0;
    groups->profiles[GROUP_METADATA] = groups->profiles[GROUP_SYSTEM] =
        options->metadata_dup ? BLOCK_GROUP_DUP : 0;
    if (result == 0)
        result = make_chunks(&transaction, groups, options);
    if (result == 0)
        result = make_trees(&transaction, options);
    if (result == 0)
        return transaction_commit(&transaction);
    transaction_abort(&transaction);
    return result;
}

int mkfs(const struct mkfs_options *options, struct device *device, struct volume *volume,
         struct extent_allocator *allocator, struct notes *notes)
{
    struct blank_options blank = options->blank;
    int result = mkfs_check(options);
    if (result < 0)
        return result;
    if (!blank.total_bytes)
        blank.total_bytes = mkfs_least_bytes(options);
    blank.total_bytes -= blank.total_bytes % blank.sector_size;
    blank.incompat_flags = features(options);
    blank.compat_ro_flags = COMPAT_RO_FREE_SPACE_TREE | COMPAT_RO_FREE_SPACE_TREE_VALID |
                            (options->block_group_tree ? COMPAT_RO_BLOCK_GROUP_TREE : 0);
    volume_blank(volume, device, &blank, notes);
    extent_allocator_open(allocator, volume);
    result = first_transaction(volume, allocator, options);
    if (result < 0) {
        extent_allocator_close(allocator);
        volume_close(volume);
    }
    return result;
}
