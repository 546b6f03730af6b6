#include "chunk_map.h"

#include "fail.h"
#include "support.h"
#include "support_faults.h"
#include "support_volume.h"

#include <stdlib.h>
#include <string.h>

#define MIB (1ULL << 20)

/* A chunk as a test writes it down; made into the bytes of an item. */
struct plan {
    uint64_t logical, length, type;
    unsigned stripes;
    uint64_t physical[4];
};

static int add(struct chunk_map *map, const struct plan *plan)
{
    uint8_t item[CHUNK_ITEM_MOST];
    size_t size = make_chunk_item(item, plan->length, plan->type, plan->stripes, plan->physical);
    return chunk_map_add(map, plan->logical, (const struct chunk_item *)item, size);
}

static struct chunk_map empty_map(void)
{
    return (struct chunk_map){.devid = 1, .device_bytes = 64 * MIB, .sectorsize = 4096};
}

/* --- C1 to C6 ----------------------------------------------------------------------- */

enum {
    DATA = BLOCK_GROUP_DATA,
    SYSTEM = BLOCK_GROUP_SYSTEM,
    METADATA = BLOCK_GROUP_METADATA,
    DUP = BLOCK_GROUP_DUP,
    RAID0 = BLOCK_GROUP_RAID0,
};

START_TEST(right_chunks)
{
    static const struct plan right[] = {
        {8 * MIB, MIB, DATA, 1, {8 * MIB}},
        {8 * MIB, MIB, METADATA, 1, {0}},
        {8 * MIB, MIB, SYSTEM, 1, {63 * MIB}},
        {8 * MIB, MIB, DATA | METADATA, 1, {MIB}},
        {8 * MIB, MIB, DATA | METADATA | DUP, 2, {MIB, 2 * MIB}},
        {8 * MIB, MIB, METADATA | DUP, 2, {MIB, 63 * MIB}},
        {8 * MIB, MIB, DATA | RAID0, 1, {MIB}},
        {0, 4096, DATA, 1, {4096}},
        {0 - 64 * MIB, 64 * MIB - 4096, DATA, 1, {0}},
    };
    for (size_t i = 0; i < LENGTH_OF(right); i++) {
        struct chunk_map map = empty_map();
        int result = add(&map, &right[i]);
        expect(result == 0, "case %zu: %s", i, fail_message());
        const struct chunk *chunk;
        expect_success(chunk_map_find(&map, right[i].logical, right[i].length, &chunk));
        ck_assert_uint_eq(chunk->copies, right[i].stripes);
        for (unsigned copy = 0; copy < chunk->copies; copy++)
            ck_assert_uint_eq(chunk->physical[copy], right[i].physical[copy]);
        chunk_map_close(&map);
    }
}
END_TEST

START_TEST(each_rule)
{
    static const struct {
        int error;
        const char *words;
        struct plan plan;
    } broken[] = {
        {EUCLEAN, "chunk 8388608: length 0 (C1)", {8 * MIB, 0, DATA, 1, {MIB}}},
        {EUCLEAN, "length 4097 (C1)", {8 * MIB, 4097, DATA, 1, {MIB}}},
        {EUCLEAN, "chunk 8389120: length 1048576 (C1)", {8 * MIB + 512, MIB, DATA, 1, {MIB}}},
        {EUCLEAN, "(C1)", {0 - MIB, MIB, DATA, 1, {MIB}}},
        {EUCLEAN, "(C1)", {0 - MIB, 2 * MIB, DATA, 1, {MIB}}},
        {EUCLEAN, "length 18446744073709547520 (C1)", {8 * MIB, 0 - 4096ULL, DATA, 1, {MIB}}},
        {EUCLEAN, "type 0x0 (C3)", {8 * MIB, MIB, 0, 1, {MIB}}},
        {EUCLEAN, "type 0x3 (C3)", {8 * MIB, MIB, DATA | SYSTEM, 1, {MIB}}},
        {EUCLEAN, "type 0x6 (C3)", {8 * MIB, MIB, SYSTEM | METADATA, 1, {MIB}}},
        {EUCLEAN, "type 0x27 (C3)", {8 * MIB, MIB, 7 | DUP, 2, {MIB, MIB}}},
        {EUCLEAN, "type 0x20 (C3)", {8 * MIB, MIB, DUP, 2, {MIB, MIB}}},
        {EUCLEAN, "type 0x1 with 0 stripes (C4)", {8 * MIB, MIB, DATA, 0, {0}}},
        {EUCLEAN, "type 0x1 with 2 stripes (C4)", {8 * MIB, MIB, DATA, 2, {MIB, MIB}}},
        {EUCLEAN, "type 0x21 with 1 stripes (C4)", {8 * MIB, MIB, DATA | DUP, 1, {MIB}}},
        {EUCLEAN, "type 0x21 with 3 stripes (C4)", {8 * MIB, MIB, DATA | DUP, 3, {MIB}}},
        {EUCLEAN, "type 0x9 with 2 stripes (C4)", {8 * MIB, MIB, DATA | RAID0, 2, {MIB, MIB}}},
        {EUCLEAN, "type 0x29 (C4)", {8 * MIB, MIB, DATA | DUP | RAID0, 2, {MIB, MIB}}},
        {EUCLEAN, "type 0x801 (C4)", {8 * MIB, MIB, DATA | 1 << 11, 1, {MIB}}},
        {EUCLEAN, "type 0x8000000000000001 (C4)", {8 * MIB, MIB, DATA | 1ULL << 63, 1, {MIB}}},
        {EUCLEAN,
         "stripe 0 is at 66060289 of device 1, the image is device 1 with 67108864 bytes "
         "(C5)",
         {8 * MIB, MIB, DATA, 1, {63 * MIB + 1}}},
        {EUCLEAN, "stripe 1 is at 67108865", {8 * MIB, MIB, DATA | DUP, 2, {MIB, 64 * MIB + 1}}},
        {EUCLEAN, "(C5)", {8 * MIB, MIB, DATA, 1, {UINT64_MAX}}},
        {EUCLEAN, "(C5)", {8 * MIB, MIB, DATA, 1, {0 - MIB}}},
        {EUCLEAN, "(C5)", {8 * MIB, 65 * MIB, DATA, 1, {0}}},
    };
    for (size_t i = 0; i < LENGTH_OF(broken); i++) {
        struct chunk_map map = empty_map();
        expect_failure(broken[i].error, broken[i].words, add(&map, &broken[i].plan));
        ck_assert_uint_eq(map.count, 0);
        chunk_map_close(&map);
    }
}
END_TEST

/* C3 and C4: every combination of type and profile bits, with every number of stripes. */
START_TEST(all_types)
{
    for (uint64_t type = 0; type < 1 << 12; type++)
        for (unsigned stripes = 0; stripes <= 3; stripes++) {
            uint64_t kind = type & 7, profile = type & ~7ULL;
            bool right_kind = kind == 1 || kind == 2 || kind == 4 || kind == 5;
            bool one_bit = profile && !(profile & (profile - 1)) && profile < 1 << 11;
            bool many = one_bit && profile != RAID0 && profile != DUP;
            bool right =
                right_kind &&
                (!profile || profile == RAID0 ? stripes == 1 : profile == DUP && stripes == 2);
            struct chunk_map map = empty_map();
            struct plan plan = {8 * MIB, MIB, type, stripes, {MIB, 2 * MIB, 3 * MIB}};
            int result = add(&map, &plan);
            int wanted = right ? 0 : right_kind && many ? -EOPNOTSUPP : -EUCLEAN;
            expect(result == wanted, "type 0x%jx, %u stripes: %d: %s", (uintmax_t)type, stripes,
                   result, fail_message());
            chunk_map_close(&map);
        }
}
END_TEST

/* C2, and C5 for another device: fields that a plan does not have. */
START_TEST(other_fields)
{
    static const struct {
        const char *words;
        size_t offset;
        uint64_t value;
    } broken[] = {
        {"stripe length 0 (C2)", offsetof(struct chunk_item, stripe_len), 0},
        {"stripe length 4096 (C2)", offsetof(struct chunk_item, stripe_len), 4096},
        {"stripe length 18446744073709551615 (C2)", offsetof(struct chunk_item, stripe_len),
         UINT64_MAX},
        {"of device 2, the image is device 1 with", sizeof(struct chunk_item), 2},
        {"of device 0, the image is device 1 with", sizeof(struct chunk_item), 0},
    };
    for (size_t i = 0; i < LENGTH_OF(broken); i++) {
        struct chunk_map map = empty_map();
        uint8_t item[CHUNK_ITEM_MOST];
        size_t size = make_chunk_item(item, MIB, DATA, 1, (const uint64_t[]){MIB});
        le64 value = to_le64(broken[i].value);
        memcpy(item + broken[i].offset, &value, sizeof value);
        expect_failure(EUCLEAN, broken[i].words,
                       chunk_map_add(&map, MIB, (const struct chunk_item *)item, size));
        chunk_map_close(&map);
    }
}
END_TEST

/* C4: the profiles of several devices, each by name. */
START_TEST(unsupported_profiles)
{
    static const struct {
        uint64_t profile;
        const char *words;
    } profiles[] = {
        {BLOCK_GROUP_RAID1, "chunk 8388608: the profile RAID1 is not supported"},
        {BLOCK_GROUP_RAID10, "the profile RAID10 is"},
        {BLOCK_GROUP_RAID5, "the profile RAID5 is"},
        {BLOCK_GROUP_RAID6, "the profile RAID6 is"},
        {BLOCK_GROUP_RAID1C3, "the profile RAID1C3 is"},
        {BLOCK_GROUP_RAID1C4, "the profile RAID1C4 is"},
    };
    for (size_t i = 0; i < LENGTH_OF(profiles); i++)
        for (unsigned stripes = 0; stripes <= 4; stripes++) {
            struct chunk_map map = empty_map();
            struct plan plan = {8 * MIB, MIB, DATA | profiles[i].profile, stripes, {MIB}};
            expect_failure(EOPNOTSUPP, profiles[i].words, add(&map, &plan));
            chunk_map_close(&map);
        }
}
END_TEST

/* The item must be as long as its stripes say: nothing is read behind it. */
START_TEST(wrong_size)
{
    uint8_t item[CHUNK_ITEM_MOST];
    size_t size = make_chunk_item(item, MIB, DATA | DUP, 2, (const uint64_t[]){MIB, 2 * MIB});
    for (size_t given = 0; given <= size + 40; given++) {
        struct chunk_map map = empty_map();
        uint8_t *exact = malloc(given ? given : 1);
        memset(exact, 0, given);
        memcpy(exact, item, given < size ? given : size);
        int result = chunk_map_add(&map, MIB, (const struct chunk_item *)exact, given);
        if (given == size)
            expect_success(result);
        else
            expect_failure(EUCLEAN, "an item of", result);
        free(exact);
        chunk_map_close(&map);
    }
}
END_TEST

/* C6: the new chunk against one that is there, in each position. */
START_TEST(overlaps)
{
    static const struct {
        uint64_t logical, length;
        bool right;
    } cases[] = {
        {8 * MIB, 4 * MIB, true}, /* the same again */
        {4 * MIB, 4 * MIB, true},  {12 * MIB, MIB, true},         {8 * MIB, 3 * MIB, false},
        {8 * MIB, 5 * MIB, false}, {4 * MIB, 5 * MIB, false},     {4 * MIB, 16 * MIB, false},
        {9 * MIB, MIB, false},     {12 * MIB - 4096, MIB, false}, {4 * MIB, 4 * MIB + 4096, false},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct chunk_map map = empty_map();
        struct plan first = {8 * MIB, 4 * MIB, DATA, 1, {8 * MIB}};
        struct plan second = {cases[i].logical, cases[i].length, DATA, 1, {8 * MIB}};
        expect_success(add(&map, &first));
        if (cases[i].right)
            expect_success(add(&map, &second));
        else
            expect_failure(EUCLEAN, "overlaps chunk 8388608 or differs from it (C6)",
                           add(&map, &second));
        ck_assert_uint_eq(map.count, cases[i].right && i ? 2 : 1);
        chunk_map_close(&map);
    }
    /* The same place with another type or stripe is another chunk. */
    static const struct plan differs[] = {{8 * MIB, MIB, METADATA, 1, {8 * MIB}},
                                          {8 * MIB, MIB, DATA, 1, {9 * MIB}},
                                          {8 * MIB, MIB, DATA | DUP, 2, {8 * MIB, 9 * MIB}},
                                          {8 * MIB, MIB, DATA | RAID0, 1, {8 * MIB}}};
    for (size_t i = 0; i < LENGTH_OF(differs); i++) {
        struct chunk_map map = empty_map();
        expect_success(add(&map, &(struct plan){8 * MIB, MIB, DATA, 1, {8 * MIB}}));
        expect_failure(EUCLEAN, "(C6)", add(&map, &differs[i]));
        chunk_map_close(&map);
    }
}
END_TEST

/* --- the map ------------------------------------------------------------------------ */

/* Chunks with holes between them, added in any order, and every address and length looked up in
 * them. */
START_TEST(find)
{
    enum { CHUNKS = 40, SECTORS = 200 };
    struct dice dice = {37};
    for (unsigned round = 0; round < 50; round++) {
        struct chunk_map map = empty_map();
        uint8_t owner[SECTORS] = {0}; /* of each sector: its chunk's number, from 1 */
        uint64_t starts[CHUNKS + 1], ends[CHUNKS + 1];
        uint8_t count = 0;
        for (unsigned try = 0; try < 200 && count < CHUNKS; try++) {
            uint64_t start = dice_below(&dice, SECTORS);
            uint64_t end = start + 1 + dice_below(&dice, 6);
            bool room = end <= SECTORS;
            for (uint64_t i = start; i < end && room; i++)
                room = !owner[i];
            if (!room)
                continue;
            count++;
            memset(owner + start, count, end - start);
            starts[count] = start;
            ends[count] = end;
            struct plan plan = {start * 4096, (end - start) * 4096, DATA, 1, {count * 65536UL}};
            expect_success(add(&map, &plan));
            if (dice_below(&dice, 4) == 0)
                expect_success(add(&map, &plan));
        }
        ck_assert_uint_eq(map.count, count);
        for (uint64_t sector = 0; sector < SECTORS; sector++)
            for (uint64_t bytes = 1; bytes < 8 * 4096; bytes += 4095) {
                const struct chunk *chunk = NULL;
                uint64_t logical = sector * 4096 + dice_below(&dice, 2);
                int result = chunk_map_find(&map, logical, bytes, &chunk);
                uint8_t number = owner[sector];
                if (!number)
                    expect_failure(EUCLEAN, "is in no chunk", result);
                else if (logical + bytes > ends[number] * 4096)
                    expect_failure(EUCLEAN, "pass the end of chunk", result);
                else
                    expect(result == 0 && chunk->logical == starts[number] * 4096 &&
                               chunk->physical[0] == number * 65536UL,
                           "%s", fail_message());
            }
        chunk_map_close(&map);
    }
}
END_TEST

START_TEST(find_at_the_edges)
{
    struct chunk_map map = empty_map();
    const struct chunk *chunk;
    expect_failure(EUCLEAN, "address 0 is in no chunk", chunk_map_find(&map, 0, 1, &chunk));
    expect_success(add(&map, &(struct plan){0 - 2 * MIB, MIB, DATA, 1, {0}}));
    expect_success(chunk_map_find(&map, 0 - 2 * MIB, MIB, &chunk));
    expect_failure(EUCLEAN, "pass the end", chunk_map_find(&map, 0 - 2 * MIB, MIB + 1, &chunk));
    expect_failure(EUCLEAN, "pass the end", chunk_map_find(&map, 0 - 2 * MIB, UINT64_MAX, &chunk));
    expect_failure(EUCLEAN, "in no chunk", chunk_map_find(&map, UINT64_MAX, 1, &chunk));
    expect_failure(EUCLEAN, "in no chunk", chunk_map_find(&map, 0, 1, &chunk));
    chunk_map_close(&map);
    chunk_map_close(&map);
}
END_TEST

START_TEST(no_memory)
{
    int64_t before = memory_pieces();
    struct chunk_map map = empty_map();
    unsigned refused = 0;
    for (uint64_t i = 0; i < 100; i++) {
        struct plan plan = {i * MIB, MIB, DATA, 1, {0}};
        faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, 0, 1});
        int result = add(&map, &plan);
        faults_end();
        refused += result < 0;
        if (result < 0) {
            expect_failure(ENOMEM, "out of memory", result);
            ck_assert_uint_eq(map.count, i);
            expect_success(add(&map, &plan));
        }
    }
    ck_assert_uint_eq(refused, 4); /* at 0, 16, 32, 64 */
    chunk_map_close(&map);
    ck_assert_int_eq(memory_pieces(), before);
}
END_TEST

/* --- the array in the superblock ---------------------------------------------------- */

/* A superblock with the system chunks [1, 2) and [2, 3) MiB. */
static struct superblock array_of_two(void)
{
    struct superblock super = {.sectorsize = to_le32(4096), .dev_item.devid = to_le64(1)};
    uint8_t *next = super.sys_chunk_array;
    for (uint64_t at = MIB; at <= 2 * MIB; at += MIB) {
        struct disk_key key = {to_le64(256), CHUNK_ITEM_KEY, to_le64(at)};
        uint8_t item[CHUNK_ITEM_MOST];
        size_t size = make_chunk_item(item, MIB, SYSTEM, 1, &at);
        memcpy(next, &key, sizeof key);
        memcpy(next + sizeof key, item, size);
        next += sizeof key + size;
    }
    super.sys_chunk_array_size = to_le32((uint32_t)(next - super.sys_chunk_array));
    return super;
}

START_TEST(array)
{
    struct superblock super = array_of_two();
    struct chunk_map map;
    expect_success(chunk_map_open(&map, &super, 64 * MIB));
    ck_assert_uint_eq(map.count, 2);
    chunk_map_close(&map);
    static const struct {
        const char *words;
        size_t offset, size;
        uint64_t value;
    } broken[] = {
        {"key type 0, chunk type 0x2", 8, 1, 0},
        {"key type 216, chunk type 0x2", 97 + 8, 1, DEV_ITEM_KEY},
        {"key type 228, chunk type 0x1", 17 + 24, 8, DATA},
        {"key type 228, chunk type 0x4", 97 + 17 + 24, 8, METADATA},
        {"system chunk array: chunk 1048576: length 0 (C1)", 17, 8, 0},
        {"system chunk array: chunk 1048576: stripe length 1 (C2)", 17 + 16, 8, 1},
        {"system chunk array: chunk 1048576: type 0x3 (C3)", 17 + 24, 8, 3},
        {"system chunk array: chunk 1048576: stripe 0 is at", 17 + 48 + 8, 8, 64 * MIB},
        {"system chunk array: chunk 1048577: length", 9, 8, MIB + 1},
        {"chunk 2097152: overlaps chunk 1048576", 17, 8, MIB + 4096},
        {"18 bytes left, a chunk needs 65", 0, 0, 97 + 18},
        {"64 bytes left, a chunk needs 65", 0, 0, 97 + 64},
        {"0 bytes left, the stripes need 32", 0, 0, 97 + 65},
        {"31 bytes left, the stripes need 32", 0, 0, 97 + 96},
        {"129 bytes left, the stripes need 2097120", 17 + 44, 2, 65535},
        {"chunk 1048576: type 0x2 with 0 stripes (C4)", 17 + 44, 2, 0},
    };
    for (size_t i = 0; i < LENGTH_OF(broken); i++) {
        int64_t before = memory_pieces();
        super = array_of_two();
        if (broken[i].size == 0)
            super.sys_chunk_array_size = to_le32((uint32_t)broken[i].value);
        for (size_t byte = 0; byte < broken[i].size; byte++)
            super.sys_chunk_array[broken[i].offset + byte] = (uint8_t)(broken[i].value >> 8 * byte);
        expect_failure(EUCLEAN, broken[i].words, chunk_map_open(&map, &super, 64 * MIB));
        ck_assert_uint_eq(map.count, 0);
        ck_assert_int_eq(memory_pieces(), before);
    }
}
END_TEST

/* Full to the last byte: what is behind the array is not read as a part of it. */
START_TEST(full_array)
{
    struct superblock super = {.sectorsize = to_le32(4096), .dev_item.devid = to_le64(1)};
    struct chunk_map map;
    for (uint32_t size = 2000; size <= SYS_CHUNK_ARRAY_SIZE; size++) {
        memset(super.sys_chunk_array, 0, sizeof super.sys_chunk_array);
        super.sys_chunk_array_size = to_le32(size);
        uint32_t at = 0;
        for (uint64_t i = 0; at + 97 <= size; at += 97, i++) {
            struct disk_key key = {to_le64(256), CHUNK_ITEM_KEY, to_le64(i * MIB)};
            memcpy(super.sys_chunk_array + at, &key, sizeof key);
            make_chunk_item(super.sys_chunk_array + at + sizeof key, MIB, SYSTEM, 1,
                            (const uint64_t[]){i * MIB});
        }
        memset(super.super_roots, 0xff, sizeof super.super_roots);
        int result = chunk_map_open(&map, &super, 64 * MIB);
        if (at == size)
            expect_success(result);
        else
            expect_failure(EUCLEAN, "system chunk array: ", result);
        chunk_map_close(&map);
    }
}
END_TEST

SUITE(chunk_map, 20, right_chunks, each_rule, all_types, other_fields, unsupported_profiles,
      wrong_size, overlaps, find, find_at_the_edges, no_memory, array, full_array)
