/* Little-endian numbers as they lie on disk.
 *
 * A number on disk is an array of bytes of its own type, so that it has no alignment, the same
 * layout on every machine, and cannot be used as a number by mistake: the compiler takes no le32
 * for an integer. It is read with from_leNN and made with to_leNN; structures are never swapped in
 * place. The compiler turns each of these functions into one load or store.
 */
#ifndef BYTES_H
#define BYTES_H

#include <stdint.h>

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
    return (uint16_t)(n.byte[0] | n.byte[1] << 8);
}

static inline uint32_t from_le32(le32 n)
{
    return n.byte[0] | (uint32_t)n.byte[1] << 8 | (uint32_t)n.byte[2] << 16 |
           (uint32_t)n.byte[3] << 24;
}

static inline uint64_t from_le64(le64 n)
{
    return n.byte[0] | (uint64_t)n.byte[1] << 8 | (uint64_t)n.byte[2] << 16 |
           (uint64_t)n.byte[3] << 24 | (uint64_t)n.byte[4] << 32 | (uint64_t)n.byte[5] << 40 |
           (uint64_t)n.byte[6] << 48 | (uint64_t)n.byte[7] << 56;
}

static inline le16 to_le16(uint16_t value)
{
    return (le16){{(uint8_t)value, (uint8_t)(value >> 8)}};
}

static inline le32 to_le32(uint32_t value)
{
    return (le32){
        {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)}};
}

static inline le64 to_le64(uint64_t value)
{
    return (le64){{(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                   (uint8_t)(value >> 24), (uint8_t)(value >> 32), (uint8_t)(value >> 40),
                   (uint8_t)(value >> 48), (uint8_t)(value >> 56)}};
}

#endif
