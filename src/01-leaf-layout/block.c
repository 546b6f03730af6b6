#include "block.h"

#include "checksum.h"
#include "fail.h"

#include <stdio.h>
#include <string.h>

void block_csum(const struct block *block, uint16_t csum_type, uint8_t csum[CSUM_SIZE])
{
    csum_compute(csum_type, block->data + CSUM_SIZE, block->size - CSUM_SIZE, csum);
}

static int check_csum(const struct block *block, uint16_t csum_type)
{
    uint8_t right[CSUM_SIZE];
    block_csum(block, csum_type, right);
    const uint8_t *stored = block_header(block)->csum;
    if (memcmp(right, stored, csum_size(csum_type)) == 0)
        return 0;
    return fail(EUCLEAN, "block %" PRIu64 ": checksum %02x%02x%02x%02x, not %02x%02x%02x%02x (B1)",
                block->bytenr, stored[0], stored[1], stored[2], stored[3], right[0], right[1],
                right[2], right[3]);
}

int block_check(const struct block *block, const struct superblock *super)
{
    const struct block_header *header = block_header(block);
    int result = check_csum(block, from_le16(super->csum_type));
    if (result < 0)
        return result;
    if (from_le64(header->bytenr) != block->bytenr)
        return fail(EUCLEAN, "block %" PRIu64 ": says that it is block %" PRIu64 " (B2)",
                    block->bytenr, from_le64(header->bytenr));
    if (memcmp(header->fsid, superblock_metadata_fsid(super), FSID_SIZE) != 0)
        return fail(EUCLEAN, "block %" PRIu64 ": belongs to another file system (B3)",
                    block->bytenr);
    if (header->level >= MAX_LEVEL)
        return fail(EUCLEAN, "block %" PRIu64 ": level %u (B4)", block->bytenr, header->level);
    if (!(from_le64(header->flags) & HEADER_FLAG_WRITTEN))
        return fail(EUCLEAN, "block %" PRIu64 ": not marked as written (B5)", block->bytenr);
    return 0;
}
