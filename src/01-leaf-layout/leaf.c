#include "leaf.h"

#include "fail.h"

#include <assert.h>
#include <string.h>

enum { ITEM = sizeof(struct item_header) };

/* --- motion ------------------------------------------------------------------------- */

/* All that a leaf ever does to make or close a gap is one of these two moves. */

/* Moves the item headers from `slot` on by `count` places: up for an insertion, down (count < 0)
 * for a removal. */
static void move_headers(struct block *leaf, uint32_t slot, int32_t count)
{
    size_t bytes = (size_t)(block_nritems(leaf) - slot) * ITEM;
    memmove(leaf_item(leaf, slot) + count, leaf_item(leaf, slot), bytes);
    leaf->bytes_moved += bytes;
}

/* Moves the data of the items from `slot` on, which ends at `end`, by `distance` bytes: towards the
 * end of the block, or (distance < 0) towards the item headers; their offsets follow. */
static void move_data(struct block *leaf, uint32_t slot, uint32_t end, int32_t distance)
{
    uint32_t nritems = block_nritems(leaf);
    uint32_t start = leaf_data_end(leaf, nritems);
    assert(start <= end);
    unsigned char *data = leaf->data + sizeof(struct block_header) + start;
    memmove(data + distance, data, end - start);
    leaf->bytes_moved += end - start;

    for (uint32_t i = slot; i < nritems; i++) {
        struct item_header *item = leaf_item(leaf, i);
        item->offset = to_le32(from_le32(item->offset) + (uint32_t)distance);
    }
}

static void set_nritems(struct block *leaf, uint32_t nritems)
{
    block_header(leaf)->nritems = to_le32(nritems);
}

/* --- changes ------------------------------------------------------------------------ */

void leaf_init(struct block *leaf, uint64_t generation, uint64_t owner)
{
    memset(leaf->data, 0, sizeof(struct block_header));
    struct block_header *header = block_header(leaf);
    header->bytenr = to_le64(leaf->bytenr);
    header->flags = to_le64(HEADER_FLAG_WRITTEN | (uint64_t)HEADER_MIXED_BACKREF_REV
                                                      << HEADER_BACKREF_REV_SHIFT);
    header->generation = to_le64(generation);
    header->owner = to_le64(owner);
}

uint32_t leaf_open_gap(struct block *leaf, uint32_t slot, uint32_t count, uint32_t bytes)
{
    uint32_t nritems = block_nritems(leaf);
    assert(slot <= nritems);
    assert(count * ITEM + bytes <= leaf_free_space(leaf));
    /* The data first: it is found through the headers, which must still be in their places. */
    uint32_t end = leaf_data_end(leaf, slot);
    move_data(leaf, slot, end, -(int32_t)bytes);
    move_headers(leaf, slot, (int32_t)count);
    set_nritems(leaf, nritems + count);
    return end;
}

int leaf_insert(struct block *leaf, uint32_t slot, const struct key *key, const void *data,
                uint32_t size)
{
    uint32_t room = leaf_free_space(leaf);
    if (room < ITEM || size > room - ITEM)
        return fail(ENOSPC, "leaf %" PRIu64 ": %u bytes free, the item needs %zu", leaf->bytenr,
                    room, size + (size_t)ITEM);
    uint32_t end = leaf_open_gap(leaf, slot, 1, size);
    *leaf_item(leaf, slot) = (struct item_header){
        .key = key_to_disk(key),
        .offset = to_le32(end - size),
        .size = to_le32(size),
    };
    if (data)
        memcpy(item_data(leaf, slot), data, size);
    else
        memset(item_data(leaf, slot), 0, size);
    return 0;
}

void leaf_remove(struct block *leaf, uint32_t slot, uint32_t count)
{
    uint32_t nritems = block_nritems(leaf);
    assert(slot <= nritems && count <= nritems - slot);
    if (count == 0)
        return;
    uint32_t start = item_offset(leaf, slot + count - 1);
    uint32_t gap = leaf_data_end(leaf, slot) - start;
    move_data(leaf, slot + count, start, (int32_t)gap);
    move_headers(leaf, slot + count, -(int32_t)count);
    set_nritems(leaf, nritems - count);
}

int leaf_grow(struct block *leaf, uint32_t slot, uint32_t bytes)
{
    assert(slot < block_nritems(leaf));
    if (bytes > leaf_free_space(leaf))
        return fail(ENOSPC, "leaf %" PRIu64 ": %u bytes free, slot %u is to grow by %u",
                    leaf->bytenr, leaf_free_space(leaf), slot, bytes);
    uint32_t size = item_size(leaf, slot);
    move_data(leaf, slot, leaf_data_end(leaf, slot), -(int32_t)bytes);
    leaf_item(leaf, slot)->size = to_le32(size + bytes);
    memset((unsigned char *)item_data(leaf, slot) + size, 0, bytes);
    return 0;
}

void leaf_shrink(struct block *leaf, uint32_t slot, uint32_t bytes)
{
    assert(slot < block_nritems(leaf));
    uint32_t size = item_size(leaf, slot);
    assert(bytes <= size);
    move_data(leaf, slot, leaf_data_end(leaf, slot) - bytes, (int32_t)bytes);
    leaf_item(leaf, slot)->size = to_le32(size - bytes);
}
