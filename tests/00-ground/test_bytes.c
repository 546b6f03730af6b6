#include "bytes.h"

#include "support.h"

#include <string.h>

/* A number has the same bytes everywhere: the lowest first. */
START_TEST(little_end_first)
{
    le16 two = to_le16(0x0201);
    le32 four = to_le32(0x04030201);
    le64 eight = to_le64(0x0807060504030201);
    ck_assert_mem_eq(&two, "\1\2", 2);
    ck_assert_mem_eq(&four, "\1\2\3\4", 4);
    ck_assert_mem_eq(&eight, "\1\2\3\4\5\6\7\10", 8);
}
END_TEST

/* Each bit alone, and random numbers, survive the way to disk and back. */
START_TEST(there_and_back)
{
    struct dice dice = {1};
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t value = i < 64 ? 1ULL << i : dice_next(&dice);
        expect(from_le64(to_le64(value)) == value, "64 bits: %jx", (uintmax_t)value);
        expect(from_le32(to_le32((uint32_t)value)) == (uint32_t)value, "32 bits: %jx",
               (uintmax_t)value);
        expect(from_le16(to_le16((uint16_t)value)) == (uint16_t)value, "16 bits: %jx",
               (uintmax_t)value);
    }
}
END_TEST

/* They have no alignment: any address will do. */
START_TEST(any_address)
{
    unsigned char bytes[16] = {0};
    for (size_t at = 0; at < 8; at++) {
        *(le64 *)(bytes + at) = to_le64(0x1122334455667788);
        ck_assert_uint_eq(from_le64(*(le64 *)(bytes + at)), 0x1122334455667788);
    }
    ck_assert_uint_eq(_Alignof(le16), 1);
    ck_assert_uint_eq(_Alignof(le32), 1);
    ck_assert_uint_eq(_Alignof(le64), 1);
}
END_TEST

SUITE(bytes, 10, little_end_first, there_and_back, any_address)
