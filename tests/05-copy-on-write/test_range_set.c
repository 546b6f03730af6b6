#include "range_set.h"

#include "fail.h"
#include "support.h"
#include "support_faults.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 200, UNIT = 4096 };

/* --- against a map of bits ---------------------------------------------------------- */

struct model {
    bool bits[PLACES];
};

static unsigned count_bits(const struct model *model, unsigned start, unsigned end)
{
    unsigned count = 0;
    for (unsigned i = start; i < end; i++)
        count += model->bits[i];
    return count;
}

static void set_bits(struct model *model, unsigned start, unsigned end, bool value)
{
    for (unsigned i = start; i < end; i++)
        model->bits[i] = value;
}

/* The ranges are the runs of bits: in order, none empty, no two that touch. */
static void check_set(const struct range_set *set, const struct model *model)
{
    size_t next = 0;
    for (unsigned i = 0; i < PLACES;) {
        unsigned start = i;
        while (i < PLACES && model->bits[i])
            i++;
        if (i > start) {
            expect(next < set->count, "a range is missing");
            expect(set->ranges[next].start == start * UNIT && set->ranges[next].end == i * UNIT,
                   "range %zu differs", next);
            next++;
        } else
            i++;
    }
    expect(next == set->count, "%zu ranges, not %zu", set->count, next);
    expect(set->bytes == (uint64_t)count_bits(model, 0, PLACES) * UNIT, "%ju bytes",
           (uintmax_t)set->bytes);
    expect(set->count <= set->capacity, "more than there is room for");
}

static void check_find(const struct range_set *set, struct dice *dice)
{
    uint64_t address = dice_below(dice, PLACES * UNIT + 2);
    size_t right = 0;
    while (right < set->count && set->ranges[right].end <= address)
        right++;
    size_t found = range_set_find(set, address);
    expect(found == right, "%zu, not %zu", found, right);
}

/* What cannot be done is refused, and nothing is changed. */
static void step(struct range_set *set, struct model *model, struct dice *dice)
{
    unsigned start = (unsigned)dice_below(dice, PLACES);
    unsigned most = PLACES - start < 20 ? PLACES - start : 20;
    unsigned end = start + 1 + (unsigned)dice_below(dice, most);
    unsigned there = count_bits(model, start, end);
    switch (dice_below(dice, 5)) {
    case 0:
    case 1:
        if (there == 0) {
            expect_success(range_set_add(set, start * UNIT, end * UNIT));
            set_bits(model, start, end, true);
        } else
            expect_failure(EEXIST, "is there already, from ",
                           range_set_add(set, start * UNIT, end * UNIT));
        break;
    case 2:
    case 3:
        if (there == end - start) {
            expect_success(range_set_remove(set, start * UNIT, end * UNIT));
            set_bits(model, start, end, false);
        } else
            expect_failure(ENOENT, "is not there, or not all of it",
                           range_set_remove(set, start * UNIT, end * UNIT));
        break;
    default:
        expect_success(range_set_clear(set, start * UNIT, end * UNIT));
        set_bits(model, start, end, false);
    }
}

START_TEST(against_bits)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct dice dice = {seed};
        struct range_set set = {0};
        struct model model = {{0}};
        for (unsigned i = 0; i < ROUNDS_OF(8000); i++) {
            step(&set, &model, &dice);
            check_set(&set, &model);
            check_find(&set, &dice);
        }
        range_set_close(&set);
        ck_assert_uint_eq(set.count + set.capacity + set.bytes, 0);
    }
}
END_TEST

/* --- the cases ---------------------------------------------------------------------- */

static void check_ranges(const struct range_set *set, size_t count, const struct range *right)
{
    ck_assert_uint_eq(set->count, count);
    for (size_t i = 0; i < count; i++)
        expect(set->ranges[i].start == right[i].start && set->ranges[i].end == right[i].end,
               "range %zu is [%ju, %ju)", i, (uintmax_t)set->ranges[i].start,
               (uintmax_t)set->ranges[i].end);
}

/* A new range touches none, one before, one behind, both. */
START_TEST(joins)
{
    struct range_set set = {0};
    expect_success(range_set_add(&set, 10, 20));
    expect_success(range_set_add(&set, 40, 50));
    check_ranges(&set, 2, (const struct range[]){{10, 20}, {40, 50}});
    expect_success(range_set_add(&set, 20, 25));
    expect_success(range_set_add(&set, 35, 40));
    check_ranges(&set, 2, (const struct range[]){{10, 25}, {35, 50}});
    expect_success(range_set_add(&set, 25, 35));
    check_ranges(&set, 1, (const struct range[]){{10, 50}});
    ck_assert_uint_eq(set.bytes, 40);
    expect_success(range_set_add(&set, UINT64_MAX - 1, UINT64_MAX));
    expect_success(range_set_add(&set, 0, 1));
    check_ranges(&set, 3, (const struct range[]){{0, 1}, {10, 50}, {UINT64_MAX - 1, UINT64_MAX}});
    range_set_close(&set);
}
END_TEST

/* A part is taken out at the front, at the end, in the middle; all of it. */
START_TEST(parts)
{
    struct range_set set = {0};
    expect_success(range_set_add(&set, 10, 50));
    expect_success(range_set_remove(&set, 10, 12));
    expect_success(range_set_remove(&set, 48, 50));
    expect_success(range_set_remove(&set, 20, 30));
    check_ranges(&set, 2, (const struct range[]){{12, 20}, {30, 48}});
    expect_success(range_set_remove(&set, 12, 20));
    check_ranges(&set, 1, (const struct range[]){{30, 48}});
    expect_success(range_set_remove(&set, 30, 48));
    check_ranges(&set, 0, NULL);
    ck_assert_uint_eq(set.bytes, 0);
    range_set_close(&set);
}
END_TEST

START_TEST(refusals)
{
    struct range_set set = {0};
    const struct range right[] = {{10, 20}, {30, 40}};
    static const struct range taken[] = {{10, 20}, {9, 11},  {19, 21}, {12, 13},
                                         {5, 50},  {20, 31}, {39, 45}};
    static const struct range absent[] = {{20, 30}, {9, 11},  {19, 21}, {10, 40}, {0, 5},
                                          {40, 41}, {15, 35}, {9, 20},  {30, 41}};
    expect_failure(ENOENT, "[1, 2) is not there", range_set_remove(&set, 1, 2));
    expect_success(range_set_add(&set, 10, 20));
    expect_success(range_set_add(&set, 30, 40));
    for (size_t i = 0; i < LENGTH_OF(taken); i++)
        expect_failure(EEXIST, "is there already",
                       range_set_add(&set, taken[i].start, taken[i].end));
    for (size_t i = 0; i < LENGTH_OF(absent); i++)
        expect_failure(ENOENT, "is not there, or not all of it",
                       range_set_remove(&set, absent[i].start, absent[i].end));
    expect_failure(EEXIST, "[5, 15) is there already, from 10 on", range_set_add(&set, 5, 15));
    check_ranges(&set, 2, right);
    ck_assert_uint_eq(set.bytes, 20);
    range_set_close(&set);
}
END_TEST

START_TEST(find)
{
    struct range_set set = {0};
    static const struct {
        uint64_t address;
        size_t at;
    } right[] = {{0, 0}, {9, 0}, {10, 0}, {19, 0}, {20, 1}, {29, 1}, {39, 1}, {40, 2}, {99, 2}};
    ck_assert_uint_eq(range_set_find(&set, 7), 0);
    expect_success(range_set_add(&set, 10, 20));
    expect_success(range_set_add(&set, 30, 40));
    for (size_t i = 0; i < LENGTH_OF(right); i++)
        ck_assert_uint_eq(range_set_find(&set, right[i].address), right[i].at);
    range_set_close(&set);
}
END_TEST

/* --- no memory ---------------------------------------------------------------------- */

static struct fault no_memory = {FAULT_MEMORY, FAULT_ERROR, ENOMEM, 0, FAULTS_WITHOUT_END};

/* `count` ranges that do not touch. */
static void fill(struct range_set *set, uint64_t count)
{
    *set = (struct range_set){0};
    for (uint64_t i = 0; i < count; i++)
        expect_success(range_set_add(set, 100 * i, 100 * i + 50));
}

/* When the array is full a further range needs memory; without it nothing changes. What makes no
 * further range needs none. */
START_TEST(memory)
{
    struct range_set set = {0};
    faults_begin(&no_memory);
    int result = range_set_add(&set, 10, 20);
    faults_end();
    expect_failure(ENOMEM, "out of memory for 8 ranges", result);
    ck_assert_uint_eq(set.count + set.bytes, 0);

    for (uint64_t count = 8; count <= 1024; count *= 2) {
        fill(&set, count);
        ck_assert_uint_eq(set.capacity, count);
        faults_begin(&no_memory);
        int added = range_set_add(&set, 100 * count, 100 * count + 1);
        int removed = range_set_remove(&set, 10, 20);
        int cleared = range_set_clear(&set, 110, 120);
        int joined = range_set_add(&set, 50, 60);
        int taken = range_set_remove(&set, 0, 60);
        int split = range_set_remove(&set, 110, 120); /* now there is room for one */
        faults_end();
        expect_failure(ENOMEM, "out of memory", added);
        ck_assert_int_eq(removed, -ENOMEM);
        ck_assert_int_eq(cleared, -ENOMEM);
        ck_assert_int_eq(joined | taken | split, 0);
        ck_assert_uint_eq(set.count, count);
        ck_assert_uint_eq(set.bytes, 50 * count - 50 - 10);
        range_set_close(&set);
    }
}
END_TEST

/* It takes out what is there, of any number of ranges, and the ends of those at the edges. */
START_TEST(clear)
{
    struct range_set set;
    fill(&set, 10);
    expect_success(range_set_clear(&set, 50, 100)); /* nothing is there */
    ck_assert_uint_eq(set.bytes, 500);
    expect_success(range_set_clear(&set, 125, 725));
    check_ranges(&set, 5,
                 (const struct range[]){{0, 50}, {100, 125}, {725, 750}, {800, 850}, {900, 950}});
    expect_success(range_set_clear(&set, 0, UINT64_MAX));
    check_ranges(&set, 0, NULL);
    expect_success(range_set_clear(&set, 0, UINT64_MAX));
    range_set_close(&set);
}
END_TEST

SUITE(range_set, 60, against_bits, joins, parts, refusals, find, memory, clear)
