#include "support_churn.h"

#include "change.h"
#include "checksum.h"
#include "delete.h"
#include "fail.h"
#include "insert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PREFIX           "user.churn."
#define INODE_PREALLOC   (1ULL << 4)
#define INODE_RO_FLAGS   (~0ULL << 32) /* fs-verity */
#define PREALLOC_SECTORS 48
#define TURNS            300 /* steps until growing turns to shrinking, in the mean */

enum { PREFIX_LENGTH = sizeof PREFIX - 1, NAME_LENGTH = PREFIX_LENGTH + 6 };

static uint64_t below(struct churn *churn, uint64_t limit)
{
    return seeded_below(&churn->seeded, limit);
}

static uint32_t sector_size(const struct churn *churn)
{
    return from_le32(churn->volume->super.sectorsize);
}

const char *churn_kind_name(enum churn_kind kind)
{
    static const char *const names[] = {"insert",   "delete",  "truncate",
                                        "prealloc", "reflink", "punch"};
    return names[kind];
}

/* --- the list of xattrs --------------------------------------------------------------- */

static int xattrs_add(struct churn_xattrs *xattrs, const struct churn_xattr *xattr)
{
    if (xattrs->count == xattrs->capacity) {
        size_t capacity = xattrs->capacity ? 2 * xattrs->capacity : 64;
        struct churn_xattr *list = realloc(xattrs->list, capacity * sizeof *list);
        if (!list)
            return fail(ENOMEM, "out of memory for the list of xattrs");
        xattrs->list = list;
        xattrs->capacity = capacity;
    }
    xattrs->list[xattrs->count++] = *xattr;
    return 0;
}

static int xattrs_copy(struct churn_xattrs *to, const struct churn_xattrs *from)
{
    int result = 0;
    to->count = 0;
    for (size_t i = 0; i < from->count && result == 0; i++)
        result = xattrs_add(to, &from->list[i]);
    return result;
}

static int compare_xattrs(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct churn_xattr));
}

/* --- one xattr ------------------------------------------------------------------------ */

/* The longest value that a leaf takes. */
static uint32_t value_limit(const struct churn *churn)
{
    uint32_t room =
        from_le32(churn->volume->super.nodesize) - (uint32_t)sizeof(struct block_header);
    return room - 2 * (uint32_t)sizeof(struct item_header) - (uint32_t)sizeof(struct dir_item) -
           NAME_LENGTH;
}

static uint64_t name_hash(const char *name, size_t length)
{
    return crc32c(0xfffffffe, name, length);
}

static void fill_value(uint64_t hash, unsigned char *value, size_t size)
{
    struct seeded bytes = {hash};
    for (size_t i = 0; i < size; i++)
        value[i] = (unsigned char)(seeded_next(&bytes) >> 56);
}

/* Whether the item at the path's end is an xattr of ours. */
static bool is_ours(const struct path *path)
{
    const struct block *leaf = path->nodes[0];
    uint32_t size = item_size(leaf, path->slots[0]);
    const struct dir_item *item = item_data(leaf, path->slots[0]);
    return path_key(path).type == XATTR_ITEM_KEY && size >= sizeof *item + NAME_LENGTH &&
           from_le16(item->name_len) == NAME_LENGTH &&
           size == sizeof *item + NAME_LENGTH + from_le16(item->data_len) &&
           memcmp(item + 1, PREFIX, PREFIX_LENGTH) == 0;
}

static int check_value(const struct path *path)
{
    const struct dir_item *item = item_data(path->nodes[0], path->slots[0]);
    const unsigned char *value = (const unsigned char *)(item + 1) + NAME_LENGTH;
    struct key key = path_key(path);
    struct seeded bytes = {key.offset};
    bool is_right = key.offset == name_hash((const char *)(item + 1), NAME_LENGTH);
    for (size_t i = 0; i < from_le16(item->data_len) && is_right; i++)
        is_right = value[i] == (unsigned char)(seeded_next(&bytes) >> 56);
    return is_right ? 0
                    : fail(EUCLEAN, "the xattr of inode %" PRIu64 " with hash %" PRIu64 " is wrong",
                           key.objectid, key.offset);
}

struct scan {
    struct churn_xattrs *xattrs;
    uint64_t tree;
};

static int scan_item(const struct path *path, void *context)
{
    struct scan *scan = context;
    struct key key = path_key(path);
    struct churn_xattr xattr = {scan->tree, key.objectid, key.offset};
    if (!is_ours(path))
        return 0;
    int result = check_value(path);
    return result < 0 ? result : xattrs_add(scan->xattrs, &xattr);
}

/* All xattrs of ours that are on the device. */
static int scan_trees(struct churn *churn, struct churn_xattrs *xattrs)
{
    struct key first = {0}, last = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
    int result = 0;
    xattrs->count = 0;
    for (size_t i = 0; i < churn->tree_count && result == 0; i++) {
        struct scan scan = {xattrs, churn->trees[i]};
        struct tree tree;
        result = volume_tree(churn->volume, churn->trees[i], &tree);
        if (result == 0)
            result = tree_range(&tree, &first, &last, scan_item, &scan);
    }
    return result;
}

int churn_verify(struct churn *churn)
{
    struct churn_xattrs found = {0};
    size_t size = sizeof *found.list;
    int result = scan_trees(churn, &found);
    if (result == 0 && found.count)
        qsort(found.list, found.count, size, compare_xattrs);
    if (result == 0 && churn->xattrs.count)
        qsort(churn->xattrs.list, churn->xattrs.count, size, compare_xattrs);
    if (result == 0 &&
        (found.count != churn->xattrs.count ||
         (found.count && memcmp(found.list, churn->xattrs.list, found.count * size))))
        result = fail(EUCLEAN, "%zu xattrs are there, and %zu should be; or others", found.count,
                      churn->xattrs.count);
    free(found.list);
    return result;
}

/* --- open and close --------------------------------------------------------------------- */

/* Adds a tree that can be changed to the list. */
static int list_tree(const struct path *path, void *context)
{
    struct churn *churn = context;
    struct key key = path_key(path);
    const struct root_item *item = item_data(path->nodes[0], path->slots[0]);
    bool is_files = key.objectid == FS_TREE_OBJECTID ||
                    (key.objectid >= FIRST_FREE_OBJECTID && key.objectid <= INT64_MAX);
    if (key.type != ROOT_ITEM_KEY || !is_files || from_le32(item->refs) == 0 ||
        from_le64(item->flags) & (ROOT_SUBVOL_RDONLY | ROOT_SUBVOL_DEAD))
        return 0;
    uint64_t *trees = realloc(churn->trees, (churn->tree_count + 1) * sizeof *trees);
    if (!trees)
        return fail(ENOMEM, "out of memory for the list of trees");
    churn->trees = trees;
    churn->trees[churn->tree_count++] = key.objectid;
    return 0;
}

int churn_open(struct churn *churn, struct volume *volume, struct extent_allocator *allocator,
               uint64_t seed)
{
    struct tree roots;
    struct key first = {0}, last = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
    *churn = (struct churn){
        .volume = volume,
        .allocator = allocator,
        .seeded = {seed},
        .kinds = (1U << CHURN_KINDS) - 1,
        .value_max = 3000,
        .is_growing = true,
    };
    int result = volume_tree(volume, ROOT_TREE_OBJECTID, &roots);
    if (result == 0)
        result = tree_range(&roots, &first, &last, list_tree, churn);
    if (result == 0)
        result = scan_trees(churn, &churn->xattrs);
    if (result < 0)
        churn_close(churn);
    return result;
}

void churn_close(struct churn *churn)
{
    free(churn->trees);
    free(churn->xattrs.list);
    free(churn->committed.list);
    churn->trees = NULL;
    churn->xattrs = churn->committed = (struct churn_xattrs){0};
}

void churn_except(struct churn *churn, uint64_t tree)
{
    struct churn_xattrs *xattrs = &churn->xattrs;
    size_t trees = 0, kept = 0;
    for (size_t i = 0; i < churn->tree_count; i++)
        if (churn->trees[i] != tree)
            churn->trees[trees++] = churn->trees[i];
    churn->tree_count = trees;
    for (size_t i = 0; i < xattrs->count; i++)
        if (xattrs->list[i].tree != tree)
            xattrs->list[kept++] = xattrs->list[i];
    xattrs->count = kept;
}

void churn_only(struct churn *churn, uint64_t tree)
{
    for (size_t i = churn->tree_count; i-- > 0;)
        if (churn->trees[i] != tree)
            churn_except(churn, churn->trees[i]);
}

/* --- files ---------------------------------------------------------------------------- */

struct file {
    struct tree *tree;
    uint64_t number;
    struct inode_item inode;
};

static int random_tree(struct churn *churn, struct tree **tree)
{
    if (churn->tree_count == 0)
        return 1;
    return transaction_tree(&churn->transaction, churn->trees[below(churn, churn->tree_count)],
                            tree);
}

/* The last item before the key: 0; 1 where there is none, and the path is released. */
static int seek_before(struct tree *tree, const struct key *key, struct path *path)
{
    int result = tree_search(tree, key, path);
    return result < 0 ? result : path_previous(tree, path);
}

static bool can_change(const struct inode_item *inode, bool only_files)
{
    uint32_t mode = from_le32(inode->mode);
    uint64_t flags = from_le64(inode->flags);
    if (from_le32(inode->nlink) == 0 || flags & (INODE_NODATACOW | INODE_RO_FLAGS))
        return false;
    return S_ISREG(mode) || (S_ISDIR(mode) && !only_files);
}

/* The first inode from a random number on that can be changed. 1: none is near. */
static int random_file(struct churn *churn, struct tree *tree, bool only_files, struct file *file)
{
    struct path path = {0};
    struct key key = {LAST_FREE_OBJECTID, 0, 0};
    int result = seek_before(tree, &key, &path);
    if (result != 0)
        return result;
    uint64_t last = path_key(&path).objectid;
    path_release(tree, &path);
    if (last < FIRST_FREE_OBJECTID)
        return 1;
    key.objectid = FIRST_FREE_OBJECTID + below(churn, last - FIRST_FREE_OBJECTID + 1);
    for (int tries = 0; tries < 32; tries++) {
        key = (struct key){key.objectid, INODE_ITEM_KEY, 0};
        result = tree_seek(tree, &key, &path);
        if (result != 0)
            return result;
        key = path_key(&path);
        *file = (struct file){.tree = tree, .number = key.objectid};
        bool is_inode = key.type == INODE_ITEM_KEY && key.objectid <= last;
        if (is_inode)
            memcpy(&file->inode, item_data(path.nodes[0], path.slots[0]), sizeof file->inode);
        path_release(tree, &path);
        if (is_inode && can_change(&file->inode, only_files))
            return 0;
        key.objectid++;
    }
    return 1;
}

/* Writes the inode as `file` has it. */
static int put_inode(struct churn *churn, struct file *file)
{
    struct path path = {0};
    struct key key = {file->number, INODE_ITEM_KEY, 0};
    int result = tree_change(file->tree, &key, &path);
    if (result != 0)
        return result < 0 ? result : tree_no_item(file->tree, &key);
    file->inode.transid = to_le64(churn->transaction.generation);
    file->inode.sequence = to_le64(from_le64(file->inode.sequence) + 1);
    memcpy(item_data(path.nodes[0], path.slots[0]), &file->inode, sizeof file->inode);
    tree_dirty(file->tree, path.nodes[0]);
    path_release(file->tree, &path);
    return 0;
}

/* --- xattrs --------------------------------------------------------------------------- */

static uint32_t random_size(struct churn *churn)
{
    static const uint32_t usual[] = {16, 100, 800};
    uint32_t limit = value_limit(churn);
    uint64_t turn = below(churn, 4);
    if (churn->value_max < limit)
        limit = churn->value_max;
    if (turn < 3 && usual[turn] < limit)
        limit = usual[turn];
    return 1 + (uint32_t)below(churn, limit);
}

static int step_insert(struct churn *churn)
{
    struct tree *tree;
    struct file file;
    int result = random_tree(churn, &tree);
    if (result == 0)
        result = random_file(churn, tree, false, &file);
    if (result != 0)
        return result;

    char name[NAME_LENGTH + 1];
    unsigned char data[sizeof(struct dir_item) + NODE_SIZE_MAX];
    uint32_t size = random_size(churn);
    snprintf(name, sizeof name, PREFIX "%06x", (unsigned)below(churn, 1 << 24));
    struct key key = {file.number, XATTR_ITEM_KEY, name_hash(name, NAME_LENGTH)};
    struct dir_item item = {
        .transid = to_le64(churn->transaction.generation),
        .data_len = to_le16((uint16_t)size),
        .name_len = to_le16(NAME_LENGTH),
        .type = FT_XATTR,
    };
    memcpy(data, &item, sizeof item);
    memcpy(data + sizeof item, name, NAME_LENGTH);
    fill_value(key.offset, data + sizeof item + NAME_LENGTH, size);
    struct path path = {0};
    result = tree_search(tree, &key, &path);
    path_release(tree, &path);
    if (result <= 0)
        return result < 0 ? result : 1; /* names of one hash share an item: not here */
    result = tree_insert(tree, &key, data, (uint32_t)sizeof item + NAME_LENGTH + size);
    struct churn_xattr xattr = {tree->id, key.objectid, key.offset};
    return result < 0 ? result : xattrs_add(&churn->xattrs, &xattr);
}

static int step_delete(struct churn *churn)
{
    struct churn_xattrs *xattrs = &churn->xattrs;
    struct tree *tree;
    struct path path = {0};
    if (xattrs->count == 0)
        return 1;
    size_t at = below(churn, xattrs->count);
    struct key key = {xattrs->list[at].inode, XATTR_ITEM_KEY, xattrs->list[at].hash};
    int result = transaction_tree(&churn->transaction, xattrs->list[at].tree, &tree);
    if (result == 0)
        result = tree_search(tree, &key, &path);
    if (result < 0)
        return result;
    result = result == 0 ? check_value(&path) : tree_no_item(tree, &key);
    path_release(tree, &path);
    if (result == 0)
        result = tree_delete(tree, &key);
    if (result == 0)
        xattrs->list[at] = xattrs->list[--xattrs->count];
    return result;
}

/* --- extents of files ------------------------------------------------------------------- */

struct file_extent {
    struct key key;
    struct file_extent_item item; /* of an inline extent the head alone */
};

struct file_extents {
    struct file_extent *list;
    size_t count;
};

static bool is_inline(const struct file_extent *extent)
{
    return extent->item.type == FILE_EXTENT_INLINE;
}

static bool has_space(const struct file_extent *extent)
{
    return !is_inline(extent) && from_le64(extent->item.disk_bytenr) != 0;
}

static void get_extent(const struct path *path, struct file_extent *extent)
{
    uint32_t size = item_size(path->nodes[0], path->slots[0]);
    *extent = (struct file_extent){.key = path_key(path)};
    memcpy(&extent->item, item_data(path->nodes[0], path->slots[0]),
           size < sizeof extent->item ? size : sizeof extent->item);
}

static int add_extent(const struct path *path, void *context)
{
    struct file_extents *extents = context;
    struct file_extent *list = realloc(extents->list, (extents->count + 1) * sizeof *list);
    if (!list)
        return fail(ENOMEM, "out of memory for the extents of a file");
    extents->list = list;
    get_extent(path, &list[extents->count++]);
    return 0;
}

/* The extents of a file, a list that the caller frees. */
static int get_extents(const struct file *file, struct file_extents *extents)
{
    struct key first = {file->number, EXTENT_DATA_KEY, 0};
    struct key last = {file->number, EXTENT_DATA_KEY, UINT64_MAX};
    *extents = (struct file_extents){0};
    return tree_range(file->tree, &first, &last, add_extent, extents);
}

/* The item at `key` refers to its extent, or (false) does no more. */
static int refer(struct churn *churn, const struct file *file, const struct file_extent *extent,
                 bool adds, bool is_new)
{
    uint64_t bytenr = from_le64(extent->item.disk_bytenr);
    uint64_t num_bytes = from_le64(extent->item.disk_num_bytes);
    uint64_t offset = extent->key.offset - from_le64(extent->item.offset);
    return adds ? data_add_ref(churn->allocator, bytenr, num_bytes, file->tree->id, file->number,
                               offset, is_new)
                : data_drop_ref(churn->allocator, bytenr, num_bytes, file->tree->id, file->number,
                                offset);
}

static int step_truncate(struct churn *churn)
{
    struct tree *tree;
    struct file file;
    struct file_extents extents;
    int result = random_tree(churn, &tree);
    if (result == 0)
        result = random_file(churn, tree, true, &file);
    if (result != 0 || from_le64(file.inode.size) == 0)
        return result < 0 ? result : 1;
    result = get_extents(&file, &extents);
    for (size_t i = 0; i < extents.count && result == 0; i++) {
        result = tree_delete(tree, &extents.list[i].key);
        if (result == 0 && has_space(&extents.list[i]))
            result = refer(churn, &file, &extents.list[i], false, false);
    }
    free(extents.list);
    file.inode.size = file.inode.nbytes = to_le64(0);
    return result < 0 ? result : put_inode(churn, &file);
}

/* Where a file can be continued. 1: its data is inline. */
static int find_end(struct churn *churn, const struct file *file, uint64_t *end)
{
    struct path path = {0};
    struct key key = {file->number, EXTENT_DATA_KEY, UINT64_MAX};
    struct file_extent extent = {0};
    uint64_t sector = sector_size(churn);
    int result = seek_before(file->tree, &key, &path);
    if (result != 0)
        return result;
    key = path_key(&path);
    bool has_extent = key.objectid == file->number && key.type == EXTENT_DATA_KEY;
    if (has_extent)
        get_extent(&path, &extent);
    path_release(file->tree, &path);
    *end = (from_le64(file->inode.size) + sector - 1) / sector * sector;
    if (!has_extent)
        return 0;
    uint64_t extent_end = extent.key.offset + from_le64(extent.item.num_bytes);
    if (!is_inline(&extent) && extent_end > *end)
        *end = extent_end;
    return is_inline(&extent);
}

/* Puts an extent behind the end of a file, which grows, unless it keeps its size. */
static int append(struct churn *churn, struct file *file, const struct file_extent *extent,
                  bool is_new, bool keeps_size)
{
    uint64_t length = from_le64(extent->item.num_bytes);
    int result = tree_insert(file->tree, &extent->key, &extent->item, sizeof extent->item);
    if (result == 0)
        result = refer(churn, file, extent, true, is_new);
    if (result < 0)
        return result;
    file->inode.nbytes = to_le64(from_le64(file->inode.nbytes) + length);
    if (!keeps_size)
        file->inode.size = to_le64(extent->key.offset + length);
    if (extent->item.type == FILE_EXTENT_PREALLOC)
        file->inode.flags = to_le64(from_le64(file->inode.flags) | INODE_PREALLOC);
    return put_inode(churn, file);
}

static int step_prealloc(struct churn *churn)
{
    struct tree *tree;
    struct file file;
    uint64_t end, bytenr, length = (1 + below(churn, PREALLOC_SECTORS)) * sector_size(churn);
    bool keeps_size = below(churn, 4) == 0;
    int result = random_tree(churn, &tree);
    if (result == 0)
        result = random_file(churn, tree, true, &file);
    if (result == 0)
        result = find_end(churn, &file, &end);
    if (result != 0)
        return result;
    result = data_alloc(churn->allocator, length, &bytenr, &length);
    if (result < 0)
        return result == -ENOSPC ? 1 : result;
    struct file_extent extent = {
        .key = {file.number, EXTENT_DATA_KEY, end},
        .item =
            {
                .generation = to_le64(churn->transaction.generation),
                .ram_bytes = to_le64(length),
                .type = FILE_EXTENT_PREALLOC,
                .disk_bytenr = to_le64(bytenr),
                .disk_num_bytes = to_le64(length),
                .num_bytes = to_le64(length),
            },
    };
    return append(churn, &file, &extent, true, keeps_size);
}

/* An extent of a random file that has space, and the file. 1: it has none. */
static int random_extent(struct churn *churn, struct tree *tree, struct file *file,
                         struct file_extent *extent)
{
    struct file_extents extents;
    int result = random_file(churn, tree, true, file);
    if (result != 0)
        return result;
    result = get_extents(file, &extents);
    if (result == 0 && extents.count)
        *extent = extents.list[below(churn, extents.count)];
    bool is_found = result == 0 && extents.count && has_space(extent);
    free(extents.list);
    return result < 0 ? result : !is_found;
}

/* Takes the extent's item to a part of what it was. */
static void cut(struct file_extent *extent, uint64_t from, uint64_t length)
{
    extent->key.offset += from;
    extent->item.offset = to_le64(from_le64(extent->item.offset) + from);
    extent->item.num_bytes = to_le64(length);
}

static int step_reflink(struct churn *churn)
{
    struct tree *tree;
    struct file from, to;
    struct file_extent extent;
    uint64_t end, sector = sector_size(churn);
    int result = random_tree(churn, &tree);
    if (result == 0)
        result = random_extent(churn, tree, &from, &extent);
    if (result == 0)
        result = random_file(churn, tree, true, &to);
    if (result == 0)
        result = find_end(churn, &to, &end);
    if (result != 0)
        return result;
    if ((from_le64(from.inode.flags) ^ from_le64(to.inode.flags)) & INODE_NODATASUM)
        return 1;
    uint64_t sectors = from_le64(extent.item.num_bytes) / sector;
    uint64_t skipped = below(churn, sectors);
    cut(&extent, skipped * sector, (1 + below(churn, sectors - skipped)) * sector);
    extent.key = (struct key){to.number, EXTENT_DATA_KEY, end};
    return append(churn, &to, &extent, false, false);
}

/* Without NO_HOLES a hole is an item too. */
static int put_hole(struct churn *churn, const struct file *file, uint64_t offset, uint64_t length)
{
    struct key key = {file->number, EXTENT_DATA_KEY, offset};
    struct file_extent_item hole = {
        .generation = to_le64(churn->transaction.generation),
        .ram_bytes = to_le64(length),
        .type = FILE_EXTENT_REG,
        .num_bytes = to_le64(length),
    };
    if (from_le64(churn->volume->super.incompat_flags) & INCOMPAT_NO_HOLES)
        return 0;
    return tree_insert(file->tree, &key, &hole, sizeof hole);
}

static int put_extent(struct tree *tree, const struct file_extent *extent)
{
    struct path path = {0};
    int result = tree_change(tree, &extent->key, &path);
    if (result != 0)
        return result < 0 ? result : tree_no_item(tree, &extent->key);
    memcpy(item_data(path.nodes[0], path.slots[0]), &extent->item, sizeof extent->item);
    tree_dirty(tree, path.nodes[0]);
    path_release(tree, &path);
    return 0;
}

static int step_punch(struct churn *churn)
{
    struct tree *tree;
    struct file file;
    struct file_extent left;
    uint64_t sector = sector_size(churn);
    int result = random_tree(churn, &tree);
    if (result == 0)
        result = random_extent(churn, tree, &file, &left);
    uint64_t sectors = result == 0 ? from_le64(left.item.num_bytes) / sector : 0;
    if (result != 0 || sectors < 3)
        return result < 0 ? result : 1;

    /* At least a sector stays at each side. */
    uint64_t start = (1 + below(churn, sectors - 2)) * sector;
    uint64_t length = (1 + below(churn, sectors - 1 - start / sector)) * sector;
    struct file_extent right = left;
    cut(&right, start + length, sectors * sector - start - length);
    cut(&left, 0, start);
    result = put_extent(tree, &left);
    if (result == 0)
        result = put_hole(churn, &file, left.key.offset + start, length);
    if (result == 0)
        result = tree_insert(tree, &right.key, &right.item, sizeof right.item);
    if (result == 0)
        result = refer(churn, &file, &right, true, false);
    file.inode.nbytes = to_le64(from_le64(file.inode.nbytes) - length);
    return result < 0 ? result : put_inode(churn, &file);
}

/* --- transactions ------------------------------------------------------------------------- */

void churn_begin(struct churn *churn)
{
    transaction_begin(&churn->transaction, churn->volume, &churn->allocator->space);
    /* For churn_abort; what cannot be kept ends the transaction. */
    transaction_fail(&churn->transaction, xattrs_copy(&churn->committed, &churn->xattrs));
}

/* Trees grow for a while and shrink for a while. */
static enum churn_kind random_kind(struct churn *churn)
{
    static const unsigned weights[2][CHURN_KINDS] = {{4, 12, 3, 2, 2, 1}, {12, 4, 1, 4, 4, 2}};
    const unsigned *weight = weights[churn->is_growing];
    uint64_t sum = 0;
    if (below(churn, TURNS) == 0)
        churn->is_growing = !churn->is_growing;
    for (int kind = 0; kind < CHURN_KINDS; kind++)
        sum += churn->kinds >> kind & 1 ? weight[kind] : 0;
    uint64_t at = below(churn, sum);
    for (int kind = 0; kind < CHURN_KINDS; kind++) {
        uint64_t share = churn->kinds >> kind & 1 ? weight[kind] : 0;
        if (at < share)
            return (enum churn_kind)kind;
        at -= share;
    }
    abort(); /* the shares are the sum */
}

int churn_step(struct churn *churn)
{
    static int (*const steps[])(struct churn *) = {step_insert,   step_delete,  step_truncate,
                                                   step_prealloc, step_reflink, step_punch};
    enum churn_kind kind = random_kind(churn);
    int result = steps[kind](churn);
    if (result == 0)
        churn->done[kind]++;
    if (result > 0)
        churn->skipped++;
    return result < 0 ? fail_within(result, "churn: %s", churn_kind_name(kind)) : result;
}

static void restore_list(struct churn *churn)
{
    struct churn_xattrs lost = churn->xattrs;
    churn->xattrs = churn->committed;
    churn->committed = lost;
}

int churn_commit(struct churn *churn)
{
    uint64_t generation = from_le64(churn->volume->super.generation);
    bool has_changed = churn->transaction.source.count > 0;
    int result = transaction_commit(&churn->transaction);
    if (has_changed && from_le64(churn->volume->super.generation) == generation)
        restore_list(churn);
    return result;
}

void churn_abort(struct churn *churn)
{
    transaction_abort(&churn->transaction);
    restore_list(churn);
}
