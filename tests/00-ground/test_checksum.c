#include "checksum.h"

#include "support.h"

#include <stdio.h>
#include <string.h>

/* From the sources named: RFC 3720 B.4 (crc32c), the specification of xxhash (XXH64, seed 0), FIPS
 * 180-2 (sha256), and `b2sum -l 256`, which agrees with the test vectors of libb2 for the empty
 * message. */
static const struct {
    uint16_t type;
    const char *data;
    const char *csum;
} vectors[] = {
    {CSUM_TYPE_CRC32, "", "00000000"},
    {CSUM_TYPE_CRC32, "123456789", "839206e3"},
    {CSUM_TYPE_CRC32, "abc", "b73f4b36"},
    {CSUM_TYPE_XXHASH, "", "99e9d85137db46ef"},
    {CSUM_TYPE_XXHASH, "abc", "990977adf52cbc44"},
    {CSUM_TYPE_SHA256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {CSUM_TYPE_SHA256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {CSUM_TYPE_BLAKE2, "", "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
    {CSUM_TYPE_BLAKE2, "abc", "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"},
};

/* As the bytes lie on disk; what the algorithm does not fill is zero, whatever was there. */
START_TEST(published_vectors)
{
    for (size_t i = 0; i < LENGTH_OF(vectors); i++) {
        uint8_t csum[CSUM_SIZE];
        memset(csum, 0xaa, sizeof csum);
        csum_compute(vectors[i].type, vectors[i].data, strlen(vectors[i].data), csum);
        char hex[2 * CSUM_SIZE + 1] = "";
        size_t size = csum_size(vectors[i].type);
        for (size_t byte = 0; byte < size; byte++)
            sprintf(hex + 2 * byte, "%02x", csum[byte]);
        ck_assert_str_eq(hex, vectors[i].csum);
        for (size_t byte = size; byte < CSUM_SIZE; byte++)
            ck_assert_uint_eq(csum[byte], 0);
    }
}
END_TEST

/* RFC 3720 B.4: 32 bytes of zeros, ones, ascending, descending. */
START_TEST(crc32c_of_rfc_3720)
{
    uint8_t bytes[32];
    memset(bytes, 0, sizeof bytes);
    ck_assert_uint_eq(~crc32c(UINT32_MAX, bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    ck_assert_uint_eq(~crc32c(UINT32_MAX, bytes, sizeof bytes), 0x62a8ab43);
    for (uint8_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    ck_assert_uint_eq(~crc32c(UINT32_MAX, bytes, sizeof bytes), 0x46dd794e);
    for (uint8_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(31 - i);
    ck_assert_uint_eq(~crc32c(UINT32_MAX, bytes, sizeof bytes), 0x113fdb5c);
}
END_TEST

/* The plain definition, bit by bit. */
static uint32_t crc32c_by_bits(uint32_t crc, const uint8_t *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return crc;
}

/* The library's is the plain one at every length and alignment, from any seed, and in pieces. */
START_TEST(crc32c_against_its_definition)
{
    struct dice dice = {3};
    uint8_t data[4200];
    dice_fill(&dice, data, sizeof data);
    for (size_t length = 0; length < 4150; length = length < 300 ? length + 1 : length + 349) {
        size_t start = length % 17, cut = length ? dice_below(&dice, length) : 0;
        uint32_t seed = (uint32_t)dice_next(&dice);
        uint32_t right = crc32c_by_bits(seed, data + start, length);
        expect(crc32c(seed, data + start, length) == right, "%zu bytes", length);
        uint32_t first = crc32c(seed, data + start, cut);
        expect(crc32c(first, data + start + cut, length - cut) == right, "%zu bytes in two, at %zu",
               length, cut);
    }
}
END_TEST

/* The hash of a name as directories hold it: dump-tree of a real image says so. */
START_TEST(name_hash)
{
    ck_assert_uint_eq(crc32c(0xfffffffe, "default", 7), 2378154706U);
}
END_TEST

/* One bit is enough, in each algorithm and at each end. */
START_TEST(every_bit_counts)
{
    uint8_t data[64] = {0}, right[CSUM_SIZE], csum[CSUM_SIZE];
    for (uint16_t type = 0; csum_size(type); type++) {
        csum_compute(type, data, sizeof data, right);
        for (unsigned bit = 0; bit < 8 * sizeof data; bit++) {
            data[bit / 8] ^= (uint8_t)(1U << bit % 8);
            csum_compute(type, data, sizeof data, csum);
            expect(memcmp(csum, right, csum_size(type)) != 0, "%s, bit %u", csum_name(type), bit);
            data[bit / 8] = 0;
        }
    }
}
END_TEST

START_TEST(names_and_sizes)
{
    const char *names[] = {"crc32c", "xxhash64", "sha256", "blake2b"};
    const size_t sizes[] = {4, 8, 32, 32};
    for (uint16_t type = 0; type < 4; type++) {
        ck_assert_str_eq(csum_name(type), names[type]);
        ck_assert_uint_eq(csum_size(type), sizes[type]);
    }
    for (unsigned type = 4; type <= UINT16_MAX; type++)
        expect(!csum_name((uint16_t)type) && !csum_size((uint16_t)type), "type %u", type);
}
END_TEST

SUITE(checksum, 20, published_vectors, crc32c_of_rfc_3720, crc32c_against_its_definition, name_hash,
      every_bit_counts, names_and_sizes)
