/* coppice leaf, before there is a map from logical to physical addresses: a block says itself where
 * it belongs, so it can be found by looking at every sector. The search reads the whole image;
 * chapter 02 reads the block's copies alone. */
#include "fail.h"
#include "leaf_report.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 };

/* Looks at one place: is this block `found->bytenr`, and newer than what was found before? Blocks
 * that were freed stay on the device until they are overwritten, so there may be several. */
static void try_place(unsigned char *bytes, const struct superblock *super, struct block *found)
{
    const struct block_header *header = (const struct block_header *)bytes;
    if (from_le64(header->bytenr) != found->bytenr ||
        from_le64(header->generation) <= block_generation(found))
        return;
    struct block candidate = *found;
    candidate.data = bytes;
    if (block_check(&candidate, super) == 0)
        memcpy(found->data, bytes, found->size);
}

/* Reads the device piece by piece; each piece begins where the last sector that could still hold a
 * whole block ended. `found` keeps generation 0 when there is no such block. */
static int scan_device(struct device *device, const struct superblock *super, struct block *found)
{
    uint64_t size;
    int result = device_size(device, &size);
    if (result < 0)
        return result;
    unsigned char *piece = malloc(PIECE);
    if (!piece)
        return fail(ENOMEM, "out of memory");
    uint32_t sector = from_le32(super->sectorsize);
    for (uint64_t offset = 0; result == 0 && offset + found->size <= size;) {
        size_t length = size - offset < PIECE ? (size_t)(size - offset) : PIECE;
        result = device_read(device, offset, piece, length);
        size_t at = 0;
        for (; result == 0 && at + found->size <= length; at += sector)
            try_place(piece + at, super, found);
        offset += at;
    }
    free(piece);
    return result;
}

static int leaf_run(struct invocation *invocation)
{
    uint64_t bytenr;
    if (parse_number(invocation->args[0], &bytenr) < 0)
        return wrong_usage("%s", fail_message());
    struct device *device;
    int result = invocation_open(invocation, false, &device);
    if (result != 0)
        return result;

    struct superblock super;
    int mirror;
    struct block block = {.bytenr = bytenr};
    result = superblock_open(device, &super, &mirror, invocation->notes);
    if (result == 0) {
        block.size = from_le32(super.nodesize);
        block.data = calloc(1, block.size);
        result = block.data ? scan_device(device, &super, &block) : fail(ENOMEM, "out of memory");
    }
    if (result == 0 && block_generation(&block) == 0)
        result = fail(ENOENT, "there is no tree block %" PRIu64, bytenr);
    if (result == 0)
        result = leaf_show(invocation, &block, &super);
    free(block.data);
    device_close(device);
    return result;
}

extern const struct command cmd_leaf;
const struct command cmd_leaf = {
    .name = "leaf",
    .args = "IMAGE BYTENR",
    .doc = "Show the leaf at a logical address, item by item.",
    .min_args = 1,
    .max_args = 1,
    .options = leaf_options,
    .run = leaf_run,
};
