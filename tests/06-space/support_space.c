#include "support_space.h"

#include "change.h"
#include "checksum.h"
#include "delete.h"
#include "fail.h"
#include "insert.h"
#include "support_audit.h"
#include "support_device.h"
#include "support_grove.h"
#include "support_image.h"
#include "writable.h"

#include <stdlib.h>
#include <string.h>

enum { PLAIN_KEY = 40, SLOTS = 8, EXTENT_SLOT = 4, MIB = 1 << 20 };

/* --- images
 * ---------------------------------------------------------------------------
 */

struct device *load_image(const char *name)
{
    const struct packed_image *packed = packed_image(name);
    struct device *device = make_memory(packed->size);
    for (size_t i = 0; i < packed->npieces; i++) {
        uint64_t offset = packed->pieces[i].offset, left = packed->size - offset;
        expect_success(device_write(device, offset, packed->pieces[i].bytes,
                                    left < PIECE_SIZE ? (size_t)left : PIECE_SIZE));
    }
    return device;
}

struct device *copy_device(struct device *device)
{
    static unsigned char bytes[MIB], zeros[MIB];
    uint64_t size;
    expect_success(device_size(device, &size));
    struct device *copy = make_memory(size);
    for (uint64_t at = 0; at < size; at += MIB) {
        size_t length = size - at < MIB ? (size_t)(size - at) : MIB;
        expect_success(device_read(device, at, bytes, length));
        if (memcmp(bytes, zeros, length) != 0)
            expect_success(device_write(copy, at, bytes, length));
    }
    return copy;
}

void check_sound(const char *at, struct device *device)
{
    char why[1000];
    expect(audit_image(device, why, sizeof why) == 0, "%s: %s", at, why);
}

/* --- opening
 * -------------------------------------------------------------------------- */

struct mkfs_options estate_options(uint32_t node_size)
{
    return (struct mkfs_options){
        .blank = {.fsid = "an estate", .node_size = node_size, .sector_size = 4096},
        .time = {.sec = to_le64(1000000000)},
    };
}

static void open_volume(struct estate *estate)
{
    expect_success(volume_open(&estate->volume, estate->device, &estate->notes));
    expect_success(volume_writable(&estate->volume));
    extent_allocator_open(&estate->allocator, &estate->volume);
}

void estate_open(struct estate *estate, struct device *device, const struct mkfs_options *options,
                 uint64_t seed)
{
    memset(estate, 0, sizeof *estate);
    estate->device = device;
    estate->dice = (struct dice){seed};
    if (options) {
        expect_success(mkfs(options, device, &estate->volume, &estate->allocator, &estate->notes));
    } else {
        open_volume(estate);
    }
    estate->most = from_le32(estate->volume.super.nodesize) / 5;
    estate->longest = 8;
    estate->now.trees[0].id = estate->committed.trees[0].id = FS_TREE_OBJECTID;
}

void estate_close(struct estate *estate)
{
    extent_allocator_close(&estate->allocator);
    volume_close(&estate->volume);
}

void estate_reopen(struct estate *estate)
{
    uint64_t grow_to = estate->allocator.groups.grow_to;
    estate_close(estate);
    open_volume(estate);
    estate->allocator.groups.grow_to = grow_to;
}

void estate_begin(struct estate *estate)
{
    transaction_begin(&estate->transaction, &estate->volume, &estate->allocator.space);
    estate->now = estate->committed;
}

int estate_commit(struct estate *estate)
{
    int result = transaction_commit(&estate->transaction);
    if (from_le64(estate->volume.super.generation) == estate->transaction.generation)
        estate->committed = estate->now;
    return result;
}

void estate_abort(struct estate *estate)
{
    transaction_abort(&estate->transaction);
}

/* --- damage
 * ---------------------------------------------------------------------------
 */

/* Writes at a place of the leaf that holds the item, counted from the leaf's begin. */
static void patch_leaf(struct estate *estate, const struct path *path, size_t offset,
                       const void *bytes, size_t length)
{
    struct block *leaf = path->nodes[0];
    const struct chunk *chunk;
    memcpy(leaf->data + offset, bytes, length);
    put_csum(from_le16(estate->volume.super.csum_type), leaf->data, leaf->size);
    expect_success(chunk_map_find(&estate->volume.chunks, leaf->bytenr, leaf->size, &chunk));
    for (unsigned copy = 0; copy < chunk->copies; copy++)
        expect_success(device_write(estate->device,
                                    chunk->physical[copy] + (leaf->bytenr - chunk->logical),
                                    leaf->data, leaf->size));
}

static void find_item(struct estate *estate, uint64_t id, const struct key *key, struct tree *tree,
                      struct path *path)
{
    expect_success(volume_tree(&estate->volume, id, tree));
    expect(tree_search(tree, key, path) == 0, "no item %ju %u %ju", (uintmax_t)key->objectid,
           key->type, (uintmax_t)key->offset);
}

void estate_patch(struct estate *estate, uint64_t id, const struct key *key, size_t offset,
                  const void *bytes, size_t length)
{
    struct tree tree;
    struct path path = {0};
    find_item(estate, id, key, &tree, &path);
    const unsigned char *data = item_data(path.nodes[0], path.slots[0]);
    patch_leaf(estate, &path, (size_t)(data - path.nodes[0]->data) + offset, bytes, length);
    path_release(&tree, &path);
}

void estate_patch_key(struct estate *estate, uint64_t id, const struct key *key,
                      const struct key *new_key)
{
    struct tree tree;
    struct path path = {0};
    struct disk_key disk_key = key_to_disk(new_key);
    find_item(estate, id, key, &tree, &path);
    const unsigned char *header = (unsigned char *)leaf_item(path.nodes[0], path.slots[0]);
    patch_leaf(estate, &path, (size_t)(header - path.nodes[0]->data), &disk_key, sizeof disk_key);
    path_release(&tree, &path);
}

/* --- the tree of a model
 * -------------------------------------------------------------- */

static struct key key_of(uint32_t number)
{
    uint64_t inode = ESTATE_INODE + number / SLOTS, slot = number % SLOTS;
    if (slot == 0)
        return (struct key){inode, INODE_ITEM_KEY, 0};
    if (slot < EXTENT_SLOT)
        return (struct key){inode, PLAIN_KEY, slot};
    return (struct key){inode, EXTENT_DATA_KEY, (slot - EXTENT_SLOT) * MIB};
}

/* The tree, with the limits of trees of files from now on. */
static int tree_of(struct estate *estate, unsigned tree, struct tree **found)
{
    estate->transaction.growth.max_items = estate->max_items;
    estate->transaction.growth.max_ptrs = estate->max_ptrs;
    return transaction_tree(&estate->transaction, estate->now.trees[tree].id, found);
}

/* Other trees have no limits. Returns `result`. */
static int unlimited(struct estate *estate, int result)
{
    estate->transaction.growth.max_items = estate->transaction.growth.max_ptrs = 0;
    return result;
}

int estate_new_tree(struct estate *estate, unsigned tree, uint64_t id)
{
    struct root_item item = {.root_dirid = to_le64(FIRST_FREE_OBJECTID), .refs = to_le32(1)};
    struct tree *made;
    int result = transaction_new_tree(&estate->transaction, id, &item, &made);
    memset(&estate->now.trees[tree], 0, sizeof estate->now.trees[tree]);
    estate->now.trees[tree].id = id;
    return result;
}

/* --- items
 * ----------------------------------------------------------------------------
 */

static int put_item(struct estate *estate, unsigned tree, uint32_t number,
                    const struct estate_item *item, const void *bytes, uint32_t size)
{
    struct key key = key_of(number);
    struct tree *at;
    int result = tree_of(estate, tree, &at);
    if (result == 0)
        result = tree_insert(at, &key, bytes, size);
    if (result == 0)
        estate->now.trees[tree].items[number] = *item;
    return unlimited(estate, result);
}

/* Other items come with their inode. */
static int need_inode(struct estate *estate, unsigned tree, uint32_t number)
{
    struct inode_item inode = {.generation = to_le64(estate->transaction.generation),
                               .nlink = to_le32(1),
                               .mode = to_le32(0100644)};
    struct estate_item item = {.kind = ITEM_INODE};
    number -= number % SLOTS;
    if (estate->now.trees[tree].items[number].kind)
        return 0;
    return put_item(estate, tree, number, &item, &inode, sizeof inode);
}

int estate_insert(struct estate *estate, unsigned tree, uint32_t number, uint32_t size)
{
    struct estate_item item = {
        .kind = ITEM_PLAIN, .size = size, .seed = (uint32_t)dice_next(&estate->dice)};
    expect(number % SLOTS && number % SLOTS < EXTENT_SLOT, "no plain item");
    int result = need_inode(estate, tree, number);
    return result < 0 ? result : put_item(estate, tree, number, &item, grove_data(item.seed), size);
}

/* --- extents
 * -------------------------------------------------------------------------- */

static struct file_extent_item file_extent(const struct estate *estate,
                                           const struct estate_item *item)
{
    return (struct file_extent_item){
        .generation = to_le64(estate->transaction.generation),
        .ram_bytes = to_le64(item->num_bytes),
        .type = FILE_EXTENT_REG,
        .disk_bytenr = to_le64(item->bytenr),
        .disk_num_bytes = to_le64(item->num_bytes),
        .offset = to_le64(item->offset),
        .num_bytes = to_le64(item->length),
    };
}

/* The offset of the reference that an item makes wraps around where that of its part is larger. */
static uint64_t ref_offset(uint32_t number, const struct estate_item *item)
{
    return key_of(number).offset - item->offset;
}

static int add_extent(struct estate *estate, unsigned tree, uint32_t number,
                      const struct estate_item *item, bool is_new)
{
    struct file_extent_item bytes = file_extent(estate, item);
    expect(number % SLOTS >= EXTENT_SLOT, "no extent");
    int result = need_inode(estate, tree, number);
    if (result == 0)
        result = put_item(estate, tree, number, item, &bytes, sizeof bytes);
    if (result == 0 && item->bytenr)
        result = data_add_ref(&estate->allocator, item->bytenr, item->num_bytes,
                              estate->now.trees[tree].id, key_of(number).objectid,
                              ref_offset(number, item), is_new);
    return result;
}

/* Data is written at once, and a commit makes the image longer too late for that. */
static int fit_device(struct estate *estate)
{
    uint64_t size, needed = estate->volume.chunks.device_bytes;
    int result = device_size(estate->device, &size);
    return result < 0 || size >= needed ? result : device_resize(estate->device, needed);
}

/* Bytes and checksums of a new extent. */
static int put_data(struct estate *estate, const struct estate_item *item)
{
    static unsigned char data[1 << 20], sums[(1 << 20) / 4096 * CSUM_SIZE];
    const struct superblock *super = &estate->volume.super;
    uint32_t sector = from_le32(super->sectorsize), sectors = (uint32_t)item->num_bytes / sector;
    uint16_t type = from_le16(super->csum_type);
    size_t each = csum_size(type);
    struct key key = {EXTENT_CSUM_OBJECTID, EXTENT_CSUM_KEY, item->bytenr};
    const struct chunk *chunk;
    struct tree *csums;
    dice_fill(&estate->dice, data, item->num_bytes);
    int result = chunk_map_find(&estate->volume.chunks, item->bytenr, item->num_bytes, &chunk);
    if (result == 0)
        result = fit_device(estate);
    for (unsigned copy = 0; result == 0 && copy < chunk->copies; copy++)
        result =
            device_write(estate->device, chunk->physical[copy] + (item->bytenr - chunk->logical),
                         data, item->num_bytes);
    for (uint32_t i = 0; i < sectors; i++)
        csum_compute(type, data + i * sector, sector, sums + i * each);
    if (result == 0)
        result = transaction_tree(&estate->transaction, CSUM_TREE_OBJECTID, &csums);
    return result < 0 ? result : tree_insert(csums, &key, sums, sectors * (uint32_t)each);
}

int estate_write(struct estate *estate, unsigned tree, uint32_t number, uint64_t sectors)
{
    uint32_t sector = from_le32(estate->volume.super.sectorsize);
    struct estate_item item = {.kind = ITEM_EXTENT};
    int result = data_alloc(&estate->allocator, sectors * sector, &item.bytenr, &item.num_bytes);
    item.length = item.num_bytes;
    if (result == 0)
        result = put_data(estate, &item);
    return result < 0 ? result : add_extent(estate, tree, number, &item, true);
}

int estate_clone(struct estate *estate, unsigned tree, uint32_t number,
                 const struct estate_item *extent)
{
    uint32_t sector = from_le32(estate->volume.super.sectorsize);
    struct estate_item item = *extent;
    uint64_t sectors = item.num_bytes / sector;
    item.offset = dice_below(&estate->dice, sectors) * sector;
    item.length = (1 + dice_below(&estate->dice, sectors - item.offset / sector)) * sector;
    return add_extent(estate, tree, number, &item, false);
}

/* --- deletion
 * ------------------------------------------------------------------------- */

int estate_delete(struct estate *estate, unsigned tree, uint32_t first, uint32_t last)
{
    struct estate_item *items = estate->now.trees[tree].items;
    uint64_t deleted, there = 0;
    struct tree *at;
    if (last % SLOTS == 0)
        last += SLOTS - 1;
    if (first / SLOTS != last / SLOTS && first % SLOTS)
        last = last / SLOTS * SLOTS + SLOTS - 1;
    if (last / SLOTS * SLOTS >= first)
        last = last / SLOTS * SLOTS + SLOTS - 1;
    struct key first_key = key_of(first), last_key = key_of(last);
    int result = tree_of(estate, tree, &at);
    if (result == 0)
        result = tree_delete_range(at, &first_key, &last_key, &deleted);
    unlimited(estate, result);
    for (uint32_t number = first; number <= last && result == 0; number++) {
        const struct estate_item *item = &items[number];
        there += item->kind != ITEM_NONE;
        if (item->kind == ITEM_EXTENT && item->bytenr)
            result = data_drop_ref(&estate->allocator, item->bytenr, item->num_bytes,
                                   estate->now.trees[tree].id, key_of(number).objectid,
                                   ref_offset(number, item));
        items[number] = (struct estate_item){0};
    }
    if (result == 0)
        expect(there == deleted, "%ju items deleted of %ju", (uintmax_t)deleted, (uintmax_t)there);
    return result;
}

/* --- snapshots
 * ------------------------------------------------------------------------ */

/* Everything that the new root points to is pointed to once more. */
static int add_refs(struct estate *estate, const struct block *root, uint64_t id)
{
    int result = 0;
    for (uint32_t slot = 0; slot < block_nritems(root) && result == 0; slot++) {
        struct key key = block_level(root) ? node_key(root, slot) : leaf_key(root, slot);
        if (block_level(root)) {
            struct extent extent = {from_le64(node_ptr(root, slot)->blockptr), root->size, true,
                                    (uint8_t)(block_level(root) - 1)};
            struct extent_ref ref = {.type = TREE_BLOCK_REF_KEY, .root = id};
            result = delayed_refs_add(&estate->allocator.refs, &extent, &ref, 1, false);
        } else if (key.type == EXTENT_DATA_KEY) {
            const struct file_extent_item *item = item_data(root, slot);
            if (!from_le64(item->disk_bytenr))
                continue;
            result = data_add_ref(&estate->allocator, from_le64(item->disk_bytenr),
                                  from_le64(item->disk_num_bytes), id, key.objectid,
                                  key.offset - from_le64(item->offset), false);
        }
    }
    return result;
}

/* Puts a copy of the source's root in place of the empty leaf that the new tree begins with. */
static int copy_root(struct estate *estate, const struct block *source, struct tree *copy)
{
    struct block_owner *owner = &estate->transaction.owner;
    struct block_promise promise = {copy->id, copy->level, copy->generation, NULL, NULL};
    size_t header = sizeof(struct block_header);
    struct block *root, *empty;
    int result = copy->source->get(copy->source, copy->bytenr, &promise, &empty);
    if (result < 0)
        return result;
    result = owner->allocate(owner, copy, block_level(source), &root);
    if (result < 0) {
        tree_put(copy, empty);
        return result;
    }
    owner->free(owner, copy, empty);
    memcpy(root->data + header, source->data + header, source->size - header);
    block_header(root)->nritems = block_header(source)->nritems;
    tree_dirty(copy, root);
    copy->bytenr = root->bytenr;
    copy->level = block_level(root);
    copy->generation = block_generation(root);
    result = add_refs(estate, root, copy->id);
    tree_put(copy, root);
    return result;
}

/* Sets last_snapshot in the source's root item, which is copied to *item. */
static int change_root_item(struct estate *estate, const struct tree *source,
                            struct root_item *item)
{
    struct key key = {source->id, ROOT_ITEM_KEY, source->offset};
    struct path path = {0};
    struct tree *roots;
    int result = transaction_tree(&estate->transaction, ROOT_TREE_OBJECTID, &roots);
    if (result == 0)
        result = tree_change(roots, &key, &path);
    if (result < 0)
        return result;
    expect(result == 0, "no root item of tree %ju", (uintmax_t)source->id);
    struct root_item *changed = item_data(path.nodes[0], path.slots[0]);
    changed->last_snapshot = to_le64(estate->transaction.generation);
    *item = *changed;
    tree_dirty(roots, path.nodes[0]);
    path_release(roots, &path);
    return 0;
}

static int make_snapshot(struct estate *estate, struct tree *source, struct path *path, uint64_t id)
{
    struct transaction_tree *from = (struct transaction_tree *)source, *to;
    struct root_item item;
    struct tree *copy;
    int result = path_claim(source, path, source->level);
    if (result == 0)
        result = change_root_item(estate, source, &item);
    if (result == 0)
        result = transaction_new_tree(&estate->transaction, id, &item, &copy);
    if (result == 0)
        result = copy_root(estate, path->nodes[source->level], copy);
    if (result < 0)
        return result;
    to = (struct transaction_tree *)copy;
    to->bytes_used = from->bytes_used;
    to->last_snapshot = from->last_snapshot = estate->transaction.generation;
    return 0;
}

int estate_snapshot(struct estate *estate, unsigned source, unsigned tree, uint64_t id)
{
    struct path path = {0};
    struct key first = {0};
    struct tree *from;
    int result = transaction_tree(&estate->transaction, estate->now.trees[source].id, &from);
    if (result == 0)
        result = tree_search(from, &first, &path);
    if (result < 0)
        return result;
    result = make_snapshot(estate, from, &path, id);
    path_release(from, &path);
    estate->now.trees[tree] = estate->now.trees[source];
    estate->now.trees[tree].id = id;
    return result;
}

/* --- random changes
 * ------------------------------------------------------------------- */

static unsigned random_tree(struct estate *estate)
{
    unsigned tree;
    do
        tree = (unsigned)dice_below(&estate->dice, ESTATE_TREES);
    while (!estate->now.trees[tree].id);
    return tree;
}

/* An extent of any tree; NULL where none was met. */
static const struct estate_item *random_extent(struct estate *estate)
{
    const struct estate_tree *tree = &estate->now.trees[random_tree(estate)];
    uint32_t at = (uint32_t)dice_below(&estate->dice, ESTATE_KEYS);
    for (uint32_t i = 0; i < ESTATE_KEYS; i++)
        if (tree->items[(at + i) % ESTATE_KEYS].bytenr)
            return &tree->items[(at + i) % ESTATE_KEYS];
    return NULL;
}

static int put_at(struct estate *estate, unsigned tree, uint32_t number)
{
    const struct estate_item *extent = random_extent(estate);
    uint32_t size = (uint32_t)dice_below(&estate->dice, estate->most);
    if (number % SLOTS == 0)
        return need_inode(estate, tree, number);
    if (number % SLOTS < EXTENT_SLOT)
        return estate_insert(estate, tree, number, size);
    if (!estate->longest)
        return 0;
    if (dice_below(&estate->dice, 8) == 0) /* a hole, which may have an item */
        return add_extent(estate, tree, number, &(struct estate_item){ITEM_EXTENT, .length = 4096},
                          false);
    if (extent && dice_below(&estate->dice, 2))
        return estate_clone(estate, tree, number, extent);
    return estate_write(estate, tree, number, 1 + dice_below(&estate->dice, estate->longest));
}

int estate_step(struct estate *estate)
{
    unsigned tree = random_tree(estate);
    uint32_t number = (uint32_t)dice_below(&estate->dice, ESTATE_KEYS);
    bool is_there = estate->now.trees[tree].items[number].kind != ITEM_NONE;
    uint32_t last = number;
    if (dice_below(&estate->dice, 60) == 0)
        last = number + (uint32_t)dice_below(&estate->dice, ESTATE_KEYS - number);
    else if (!is_there)
        return put_at(estate, tree, number);
    return estate_delete(estate, tree, number, last);
}

int estate_steps(struct estate *estate, unsigned steps)
{
    int result = 0;
    for (unsigned i = 0; i < steps && result == 0; i++)
        result = estate_step(estate);
    return result;
}

/* --- what must hold
 * ------------------------------------------------------------------- */

struct comparison {
    const struct estate *estate;
    const struct estate_tree *tree;
    uint32_t next;
};

static bool is_right(const struct comparison *comparison, uint32_t number, const void *bytes,
                     uint32_t size)
{
    const struct estate_item *item = &comparison->tree->items[number];
    if (item->kind == ITEM_INODE)
        return size == sizeof(struct inode_item);
    if (item->kind == ITEM_PLAIN)
        return size == item->size && memcmp(bytes, grove_data(item->seed), size) == 0;
    struct file_extent_item wanted = file_extent(comparison->estate, item), there;
    if (size != sizeof there)
        return false;
    memcpy(&there, bytes, size);
    wanted.generation = there.generation;
    return memcmp(&there, &wanted, size) == 0;
}

static int compare_item(const struct path *path, void *context)
{
    struct comparison *comparison = context;
    struct key key = path_key(path);
    while (comparison->next < ESTATE_KEYS && !comparison->tree->items[comparison->next].kind)
        comparison->next++;
    uint32_t number = comparison->next++;
    struct key wanted = key_of(number);
    if (number == ESTATE_KEYS || key_compare(&key, &wanted) != 0)
        return fail(EUCLEAN, "tree %ju: item %ju %u %ju, the next should be number %u",
                    (uintmax_t)comparison->tree->id, (uintmax_t)key.objectid, key.type,
                    (uintmax_t)key.offset, number);
    if (!is_right(comparison, number, item_data(path->nodes[0], path->slots[0]),
                  item_size(path->nodes[0], path->slots[0])))
        return fail(EUCLEAN, "tree %ju: item %u is another", (uintmax_t)comparison->tree->id,
                    number);
    return 0;
}

void check_estate(const char *at, struct estate *estate)
{
    struct key first = {ESTATE_INODE, 0, 0}, last = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
    check_sound(at, estate->device);
    for (unsigned i = 0; i < ESTATE_TREES; i++) {
        struct comparison comparison = {estate, &estate->committed.trees[i], 0};
        struct tree tree;
        if (!comparison.tree->id)
            continue;
        check_success(at, "volume_tree", volume_tree(&estate->volume, comparison.tree->id, &tree));
        check_success(at, "comparison",
                      tree_range(&tree, &first, &last, compare_item, &comparison));
        for (; comparison.next < ESTATE_KEYS; comparison.next++)
            expect(!comparison.tree->items[comparison.next].kind, "%s: tree %ju lacks item %u", at,
                   (uintmax_t)comparison.tree->id, comparison.next);
    }
}
