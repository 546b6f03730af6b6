#include "key.h"

#include "support.h"

#include <string.h>

/* Keys that differ in few bits, so that equal parts are met. */
static struct key random_key(struct dice *dice)
{
    static const uint64_t numbers[] = {0, 1, 255, 256, 1ULL << 32, UINT64_MAX - 1, UINT64_MAX};
    return (struct key){numbers[dice_below(dice, LENGTH_OF(numbers))], (uint8_t)dice_below(dice, 3),
                        numbers[dice_below(dice, LENGTH_OF(numbers))]};
}

/* The order of keys is that of their bytes, the highest first. */
static void big_endian(const struct key *key, unsigned char bytes[17])
{
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(key->objectid >> (56 - 8 * i));
        bytes[9 + i] = (unsigned char)(key->offset >> (56 - 8 * i));
    }
    bytes[8] = key->type;
}

static int sign(int n)
{
    return (n > 0) - (n < 0);
}

START_TEST(order)
{
    struct dice dice = {23};
    for (unsigned round = 0; round < 50000; round++) {
        struct key a = random_key(&dice), b = random_key(&dice);
        unsigned char a_bytes[17], b_bytes[17];
        big_endian(&a, a_bytes);
        big_endian(&b, b_bytes);
        expect(sign(key_compare(&a, &b)) == sign(memcmp(a_bytes, b_bytes, 17)), "round %u", round);
        expect(key_compare(&a, &b) == -key_compare(&b, &a), "round %u", round);
    }
}
END_TEST

START_TEST(there_and_back)
{
    struct key key = {0x0102030405060708, 0x99, 0x1112131415161718};
    struct disk_key disk = key_to_disk(&key);
    ck_assert_mem_eq(&disk, "\x08\x07\x06\x05\x04\x03\x02\x01\x99\x18\x17\x16\x15\x14\x13\x12\x11",
                     17);
    struct key back = key_from_disk(&disk);
    ck_assert_int_eq(key_compare(&key, &back), 0);
}
END_TEST

SUITE(key, 10, order, there_and_back)
