#include "support_volume.h"

#include "checksum.h"
#include "support.h"

#include <string.h>

static const uint8_t fsid[FSID_SIZE] = "a made volume!!";

size_t make_chunk_item(uint8_t item[CHUNK_ITEM_MOST], uint64_t length, uint64_t type,
                       unsigned stripes, const uint64_t physical[])
{
    struct chunk_item head = {
        .length = to_le64(length),
        .owner = to_le64(EXTENT_TREE_OBJECTID),
        .stripe_len = to_le64(STRIPE_LENGTH),
        .type = to_le64(type),
        .sector_size = to_le32(4096),
        .num_stripes = to_le16((uint16_t)stripes),
    };
    memcpy(item, &head, sizeof head);
    for (unsigned i = 0; i < stripes; i++) {
        struct stripe stripe = {to_le64(1), to_le64(physical[i]), {1}};
        memcpy(item + sizeof head + i * sizeof stripe, &stripe, sizeof stripe);
    }
    return sizeof head + stripes * sizeof(struct stripe);
}

/* The item of the chunk at `logical`, which is its physical place too. */
static size_t maker_chunk(const struct maker *maker, uint64_t logical,
                          uint8_t item[CHUNK_ITEM_MOST])
{
    uint64_t type = logical == MAKER_SYSTEM ? BLOCK_GROUP_SYSTEM : BLOCK_GROUP_METADATA;
    uint64_t profile = maker->copies > 1 ? BLOCK_GROUP_DUP : 0;
    return make_chunk_item(item, MAKER_LENGTH, type | profile, maker->copies,
                           (const uint64_t[]){logical, logical + MAKER_COPY});
}

void maker_begin(struct maker *maker, uint32_t nodesize, uint16_t csum_type, unsigned copies)
{
    *maker = (struct maker){.copies = copies, .next = MAKER_METADATA};
    image_open_blank(&maker->image, MAKER_SIZE);
    struct superblock *super = &maker->super;
    *super = (struct superblock){
        .magic = to_le64(SUPERBLOCK_MAGIC),
        .generation = to_le64(MAKER_GENERATION),
        .chunk_root_generation = to_le64(MAKER_GENERATION),
        .total_bytes = to_le64(MAKER_SIZE),
        .bytes_used = to_le64(1 << 20),
        .num_devices = to_le64(1),
        .sectorsize = to_le32(4096),
        .nodesize = to_le32(nodesize),
        .leafsize_unused = to_le32(nodesize),
        .csum_type = to_le16(csum_type),
        .dev_item.devid = to_le64(1),
    };
    memcpy(super->fsid, fsid, FSID_SIZE);
    memcpy(super->dev_item.fsid, fsid, FSID_SIZE);

    struct disk_key key = {to_le64(FIRST_CHUNK_TREE_OBJECTID), CHUNK_ITEM_KEY,
                           to_le64(MAKER_SYSTEM)};
    uint8_t item[CHUNK_ITEM_MOST];
    size_t size = maker_chunk(maker, MAKER_SYSTEM, item);
    memcpy(super->sys_chunk_array, &key, sizeof key);
    memcpy(super->sys_chunk_array + sizeof key, item, size);
    super->sys_chunk_array_size = to_le32((uint32_t)(sizeof key + size));
    maker->image.super = *super;
    maker->image.nodesize = nodesize;
}

struct block maker_block(struct maker *maker, uint64_t owner, uint8_t level)
{
    struct block block = make_node(from_le32(maker->super.nodesize), level);
    memset(block.data + sizeof(struct block_header), 0, leaf_room(&block));
    struct block_header *header = block_header(&block);
    block.bytenr = owner == CHUNK_TREE_OBJECTID ? MAKER_SYSTEM : maker->next;
    maker->next += owner == CHUNK_TREE_OBJECTID ? 0 : block.size;
    header->bytenr = to_le64(block.bytenr);
    header->owner = to_le64(owner);
    header->generation = to_le64(MAKER_GENERATION);
    memcpy(header->fsid, fsid, FSID_SIZE);
    return block;
}

void maker_write(struct maker *maker, struct block *block)
{
    put_csum(from_le16(maker->super.csum_type), block->data, block->size);
    for (unsigned copy = 0; copy < maker->copies; copy++)
        image_write(&maker->image, block->bytenr + copy * MAKER_COPY, block->data, block->size);
    free_block(block);
}

void maker_root(struct maker *maker, struct key key, const struct block *root)
{
    ck_assert_uint_lt(maker->nroots, MAKER_ROOTS);
    maker->roots[maker->nroots].key = key;
    maker->roots[maker->nroots++].item = (struct root_item){
        .generation = block_header(root)->generation,
        .bytenr = to_le64(root->bytenr),
        .level = block_level(root),
        .refs = to_le32(1),
    };
}

void maker_end(struct maker *maker)
{
    static const uint64_t chunks[] = {MAKER_SYSTEM, MAKER_METADATA};
    struct block tree = maker_block(maker, CHUNK_TREE_OBJECTID, 0);
    for (size_t i = 0; i < LENGTH_OF(chunks); i++) {
        uint8_t item[CHUNK_ITEM_MOST];
        size_t size = maker_chunk(maker, chunks[i], item);
        leaf_append(&tree, (struct key){FIRST_CHUNK_TREE_OBJECTID, CHUNK_ITEM_KEY, chunks[i]}, item,
                    (uint32_t)size);
    }
    maker->super.chunk_root = to_le64(tree.bytenr);
    maker_write(maker, &tree);

    tree = maker_block(maker, ROOT_TREE_OBJECTID, 0);
    for (unsigned i = 0; i < maker->nroots; i++)
        leaf_append(&tree, maker->roots[i].key, &maker->roots[i].item, sizeof(struct root_item));
    maker->super.root = to_le64(tree.bytenr);
    maker_write(maker, &tree);
    image_put_super(&maker->image, &maker->super);
    maker->image.super = maker->super;
    image_keep(&maker->image);
}

void maker_close(struct maker *maker)
{
    image_close(&maker->image);
}

int open_volume(struct opened *opened, const char *path)
{
    opened->notes.count = 0;
    int result = file_device_open(path, 0, &opened->device);
    if (result < 0)
        return result;
    result = volume_open(&opened->volume, opened->device, &opened->notes);
    if (result < 0)
        device_close(opened->device);
    return result;
}

void close_volume(struct opened *opened)
{
    volume_close(&opened->volume);
    device_close(opened->device);
}
