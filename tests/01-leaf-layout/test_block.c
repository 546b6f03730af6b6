#include "block.h"

#include "fail.h"
#include "support.h"
#include "support_image.h"
#include "support_leaf.h"

#include <string.h>

static struct superblock super_of(uint16_t csum_type)
{
    return (struct superblock){.csum_type = to_le16(csum_type), .fsid = "0123456789abcde"};
}

static struct block good_block(const struct superblock *super)
{
    struct block block = make_leaf(4096);
    memcpy(block_header(&block)->fsid, superblock_metadata_fsid(super), FSID_SIZE);
    put_csum(from_le16(super->csum_type), block.data, block.size);
    return block;
}

/* B1 to B5, one at a time; the twin that keeps all is accepted. */
START_TEST(each_rule)
{
    static const struct {
        const char *words;
        size_t offset;
        uint8_t value;
    } broken[] = {
        {"block 1048576: says that it is block 1048577 (B2)", offsetof(struct block_header, bytenr),
         1},
        {"block 1048576: belongs to another file system (B3)", offsetof(struct block_header, fsid),
         'x'},
        {"block 1048576: level 8 (B4)", offsetof(struct block_header, level), 8},
        {"block 1048576: not marked as written (B5)", offsetof(struct block_header, flags), 0},
        {"block 1048576: level 255 (B4)", offsetof(struct block_header, level), 255},
    };
    for (uint16_t type = 0; type < 4; type++) {
        struct superblock super = super_of(type);
        struct block block = good_block(&super);
        expect_success(block_check(&block, &super));
        for (size_t i = 0; i < LENGTH_OF(broken); i++) {
            unsigned char saved = block.data[broken[i].offset];
            block.data[broken[i].offset] = broken[i].value;
            expect_failure(EUCLEAN, "(B1)", block_check(&block, &super));
            put_csum(type, block.data, block.size);
            expect_failure(EUCLEAN, broken[i].words, block_check(&block, &super));
            block.data[broken[i].offset] = saved;
            put_csum(type, block.data, block.size);
        }
        block_header(&block)->level = 7;
        put_csum(type, block.data, block.size);
        expect_success(block_check(&block, &super));
        free_block(&block);
    }
}
END_TEST

/* B1: any bit of the block, and of the checksum's own bytes. */
START_TEST(any_bit)
{
    struct superblock super = super_of(CSUM_TYPE_CRC32);
    struct block block = good_block(&super);
    for (size_t bit = 0; bit < 8 * block.size; bit++) {
        if (bit / 8 >= 4 && bit / 8 < CSUM_SIZE)
            continue; /* a crc32c has 4 bytes */
        block.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        expect(block_check(&block, &super) == -EUCLEAN, "bit %zu", bit);
        block.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    block.data[200] ^= 1;
    uint8_t csum[CSUM_SIZE];
    block_csum(&block, CSUM_TYPE_CRC32, csum);
    char words[64];
    snprintf(words, sizeof words, ", not %02x%02x%02x%02x (B1)", csum[0], csum[1], csum[2],
             csum[3]);
    expect_failure(EUCLEAN, words, block_check(&block, &super));
    free_block(&block);
}
END_TEST

/* B3 where the blocks bear another uuid than the file system shows. */
START_TEST(metadata_uuid)
{
    struct superblock super = super_of(CSUM_TYPE_CRC32);
    struct block shown = good_block(&super);
    super.incompat_flags = to_le64(INCOMPAT_METADATA_UUID);
    memset(super.metadata_uuid, 7, FSID_SIZE);
    struct block borne = good_block(&super);
    expect_success(block_check(&borne, &super));
    expect_failure(EUCLEAN, "(B3)", block_check(&shown, &super));
    free_block(&shown);
    free_block(&borne);
}
END_TEST

SUITE(block, 20, each_rule, any_bit, metadata_uuid)
