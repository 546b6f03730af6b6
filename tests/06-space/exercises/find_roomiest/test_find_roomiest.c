#include "lab_seeded.h"
#include "range_set.h"

#include <check.h>

Suite *suite_find_roomiest(void);
bool find_roomiest(const struct range_set *set, uint64_t length, uint64_t align, uint64_t *bytenr);

enum { ROUNDS = 3000, PLACES = 64, SECTOR = 4096, UNTOUCHED = 12345 };

/* A place for `length` in the run of free sectors [start, end); UNTOUCHED: none. */
static uint64_t place_in(uint64_t start, uint64_t end, uint64_t length, uint64_t align)
{
    for (uint64_t at = start; at + length <= end; at += SECTOR)
        if (at % align == 0)
            return at;
    return UNTOUCHED;
}

/* What is to be found among sectors, sector by sector. */
static uint64_t model(const bool *is_free, uint64_t length, uint64_t align)
{
    uint64_t longest = 0, found = UNTOUCHED;
    for (uint64_t i = 0; i < PLACES; i++) {
        uint64_t start = i;
        while (i < PLACES && is_free[i])
            i++;
        uint64_t place = place_in(start * SECTOR, i * SECTOR, length, align);
        if (place != UNTOUCHED && i - start > longest) {
            longest = i - start;
            found = place;
        }
    }
    return found;
}

START_TEST(test_like_the_model)
{
    struct seeded seeded = {1};
    unsigned found = 0, missed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct range_set set = {0};
        bool is_free[PLACES];
        uint64_t share = 1 + seeded_below(&seeded, 9);
        for (uint64_t i = 0; i < PLACES; i++) {
            is_free[i] = seeded_below(&seeded, 10) < share;
            if (is_free[i])
                ck_assert_int_eq(range_set_add(&set, i * SECTOR, (i + 1) * SECTOR), 0);
        }
        uint64_t length = SECTOR * (1 + seeded_below(&seeded, 6));
        uint64_t align = SECTOR << seeded_below(&seeded, 4);
        uint64_t expected = model(is_free, length, align), bytenr = UNTOUCHED;
        bool is_there = find_roomiest(&set, length, align, &bytenr);
        ck_assert_int_eq(is_there, expected != UNTOUCHED);
        ck_assert_uint_eq(bytenr, expected);
        found += is_there;
        missed += !is_there;
        range_set_close(&set);
    }
    /* There was something to tell apart. */
    ck_assert_uint_gt(found, ROUNDS / 10);
    ck_assert_uint_gt(missed, ROUNDS / 10);
}
END_TEST

START_TEST(test_empty_set)
{
    struct range_set set = {0};
    uint64_t bytenr = UNTOUCHED;
    ck_assert(!find_roomiest(&set, SECTOR, SECTOR, &bytenr));
    ck_assert_uint_eq(bytenr, UNTOUCHED);
}
END_TEST

Suite *suite_find_roomiest(void)
{
    Suite *suite = suite_create("find_roomiest");
    TCase *test = tcase_create("all");
    tcase_add_test(test, test_like_the_model);
    tcase_add_test(test, test_empty_set);
    suite_add_tcase(suite, test);
    return suite;
}
