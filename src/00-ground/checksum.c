#include "checksum.h"

#include "bytes.h"

#include <assert.h>
#include <gcrypt.h>
#include <isa-l.h>
#include <string.h>
#include <threads.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static const struct {
    const char *name;
    size_t size;
} csum_types[] = {
    [CSUM_TYPE_CRC32] = {"crc32c", 4},
    [CSUM_TYPE_XXHASH] = {"xxhash64", 8},
    [CSUM_TYPE_SHA256] = {"sha256", 32},
    [CSUM_TYPE_BLAKE2] = {"blake2b", 32},
};

size_t csum_size(uint16_t type)
{
    return type < LENGTH_OF(csum_types) ? csum_types[type].size : 0;
}

const char *csum_name(uint16_t type)
{
    return type < LENGTH_OF(csum_types) ? csum_types[type].name : NULL;
}

uint32_t crc32c(uint32_t seed, const void *data, size_t length)
{
    /* isa-l only reads, though it takes no const, and counts in int. */
    unsigned char *next = (unsigned char *)(uintptr_t)data;
    for (; length > INT32_MAX; next += INT32_MAX, length -= INT32_MAX)
        seed = crc32_iscsi(next, INT32_MAX, seed);
    return crc32_iscsi(next, (int)length, seed);
}

static once_flag gcrypt_once = ONCE_FLAG_INIT;

/* libgcrypt wants to be told once that nobody needs its locked memory. */
static void gcrypt_begin(void)
{
    gcry_check_version(NULL);
    gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
    gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
}

static void gcrypt_hash(int algorithm, const void *data, size_t length, uint8_t *csum)
{
    call_once(&gcrypt_once, gcrypt_begin);
    gcry_md_hash_buffer(algorithm, csum, data, length);
}

void csum_compute(uint16_t type, const void *data, size_t length, uint8_t csum[CSUM_SIZE])
{
    assert(csum_size(type) > 0);
    memset(csum, 0, CSUM_SIZE);
    switch ((enum csum_type)type) {
    case CSUM_TYPE_CRC32: {
        le32 crc = to_le32(~crc32c(UINT32_MAX, data, length));
        memcpy(csum, &crc, sizeof crc);
        break;
    }
    case CSUM_TYPE_XXHASH: {
        le64 hash = to_le64(XXH64(data, length, 0));
        memcpy(csum, &hash, sizeof hash);
        break;
    }
    case CSUM_TYPE_SHA256:
        gcrypt_hash(GCRY_MD_SHA256, data, length, csum);
        break;
    case CSUM_TYPE_BLAKE2:
        gcrypt_hash(GCRY_MD_BLAKE2B_256, data, length, csum);
        break;
    }
}
