/* How fast are the checksums, and is a library worth it for crc32c?
 *
 * The rival of isa-l is the loop that everybody writes first: a table of 256 entries, a byte at a
 * time. */
#include "bench.h"
#include "checksum.h"

enum {
    ROUNDS = 31,
    SAMPLE_NS = 2000000, /* a sample takes at least as long */
    SIZES = 2,
};
static const size_t block_sizes[SIZES] = {4096, 16384};

/* --- the rival ---------------------------------------------------------------------- */

#define CRC32C_POLYNOMIAL 0x82f63b78U /* Castagnoli's, bits reversed */

static uint32_t crc_table[256];

static void table_fill(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ CRC32C_POLYNOMIAL : crc >> 1;
        crc_table[byte] = crc;
    }
}

static void table_crc32c(uint16_t type, const void *data, size_t length, uint8_t csum[CSUM_SIZE])
{
    (void)type;
    const uint8_t *bytes = data;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < length; i++)
        crc = crc >> 8 ^ crc_table[(crc ^ bytes[i]) & 0xff];
    le32 result = to_le32(~crc);
    memset(csum, 0, CSUM_SIZE);
    memcpy(csum, &result, sizeof result);
}

/* --- the race ----------------------------------------------------------------------- */

static const struct contestant {
    const char *library;
    uint16_t type;
    void (*compute)(uint16_t type, const void *data, size_t length, uint8_t csum[CSUM_SIZE]);
} contestants[] = {
    {"isa-l", CSUM_TYPE_CRC32, csum_compute},      {"byte table", CSUM_TYPE_CRC32, table_crc32c},
    {"xxhash", CSUM_TYPE_XXHASH, csum_compute},    {"libgcrypt", CSUM_TYPE_SHA256, csum_compute},
    {"libgcrypt", CSUM_TYPE_BLAKE2, csum_compute},
};
enum { CONTESTANTS = sizeof contestants / sizeof contestants[0] };

static unsigned char block[16384];
static uint8_t csum[CSUM_SIZE];

/* ns for one checksum of a block, the mean of `repeats`. The block bears its own checksum in its
 * first bytes, which are not summed. */
static double time_block(const struct contestant *who, size_t size, unsigned repeats)
{
    double start = bench_ns();
    for (unsigned i = 0; i < repeats; i++)
        who->compute(who->type, block + CSUM_SIZE, size - CSUM_SIZE, csum);
    return (bench_ns() - start) / repeats;
}

static unsigned calibrate(const struct contestant *who, size_t size)
{
    unsigned repeats = 1;
    while (time_block(who, size, repeats) * repeats < SAMPLE_NS)
        repeats *= 2;
    return repeats;
}

static int rival_agrees(void)
{
    uint8_t right[CSUM_SIZE];
    for (size_t length = 0; length < 300; length++) {
        csum_compute(CSUM_TYPE_CRC32, block, length, right);
        table_crc32c(CSUM_TYPE_CRC32, block, length, csum);
        if (memcmp(right, csum, CSUM_SIZE) != 0)
            return 0;
    }
    return 1;
}

static int times(void)
{
    table_fill();
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (unsigned char)bench_random(&seed);
    if (!rival_agrees()) {
        fprintf(stderr, "the byte table computes another crc32c than isa-l\n");
        return 1;
    }

    /* One sample of each in turn, so that a slow moment of the machine hits all alike. */
    unsigned repeats[CONTESTANTS][SIZES];
    static double samples[CONTESTANTS][SIZES][ROUNDS];
    for (size_t who = 0; who < CONTESTANTS; who++)
        for (size_t size = 0; size < SIZES; size++)
            repeats[who][size] = calibrate(&contestants[who], block_sizes[size]);
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t who = 0; who < CONTESTANTS; who++)
            for (size_t size = 0; size < SIZES; size++)
                samples[who][size][round] =
                    time_block(&contestants[who], block_sizes[size], repeats[who][size]);

    bench_head((const char *const[]){
        "method: checksums of one block that stays in the first-level cache, 2 ms or more a "
        "sample,",
        "31 rounds, one sample of each contestant in turn; median and quartiles of the rounds.",
        "gb_s is 10^9 bytes a second; of a block all but the first 32 bytes are summed.",
        NULL,
    });
    printf("checksum,library,gb_s_4k,low_4k,high_4k,ns_4k,gb_s_16k,low_16k,high_16k,ns_16k\n");
    for (size_t who = 0; who < CONTESTANTS; who++) {
        printf("%s,%s", csum_name(contestants[who].type), contestants[who].library);
        for (size_t size = 0; size < SIZES; size++) {
            struct bench_spread ns = bench_spread(samples[who][size], ROUNDS);
            double bytes = (double)(block_sizes[size] - CSUM_SIZE);
            printf(",%.3f,%.3f,%.3f,%.1f", bytes / ns.median, bytes / ns.high, bytes / ns.low,
                   ns.median);
        }
        printf("\n");
    }
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, NULL, times);
}
