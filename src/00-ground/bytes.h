/* Little-endian numbers as they lie on disk.
 *
 * A number on disk is an array of bytes of its own type, so that it has no alignment, the same
 * layout on every machine, and cannot be used as a number by mistake: the compiler takes no le32
 * for an integer. It is read with from_leNN and made with to_leNN; structures are never swapped in
 * place. The compiler turns each of these functions into one load or store.
 */
#ifndef BYTES_H
#define BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define LENGTH_OF(array) (sizeof(array) / sizeof(array)[0])

typedef struct {
    uint8_t byte[2];
} le16;
typedef struct {
    uint8_t byte[4];
} le32;
typedef struct {
    uint8_t byte[8];
} le64;

static inline uint16_t from_le16(le16 n)
{
    uint16_t value;
    memcpy(&value, n.byte, sizeof value);
    return le16toh(value);
}

static inline uint32_t from_le32(le32 n)
{
    uint32_t value;
    memcpy(&value, n.byte, sizeof value);
    return le32toh(value);
}

static inline uint64_t from_le64(le64 n)
{
    uint64_t value;
    memcpy(&value, n.byte, sizeof value);
    return le64toh(value);
}

static inline le16 to_le16(uint16_t value)
{
    le16 n;
    value = htole16(value);
    memcpy(n.byte, &value, sizeof value);
    return n;
}

static inline le32 to_le32(uint32_t value)
{
    le32 n;
    value = htole32(value);
    memcpy(n.byte, &value, sizeof value);
    return n;
}

static inline le64 to_le64(uint64_t value)
{
    le64 n;
    value = htole64(value);
    memcpy(n.byte, &value, sizeof value);
    return n;
}

#endif
