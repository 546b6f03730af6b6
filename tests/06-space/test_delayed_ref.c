#include "delayed_ref.h"

#include "fail.h"
#include "support.h"
#include "support_faults.h"

#include <stdlib.h>
#include <string.h>

static struct delayed_refs refs;

static struct extent block_at(uint64_t bytenr)
{
    return (struct extent){bytenr, 4096, true, 0};
}

static struct extent data_at(uint64_t bytenr)
{
    return (struct extent){.bytenr = bytenr, .num_bytes = 4096};
}

static struct extent_ref tree_ref(uint64_t root)
{
    return (struct extent_ref){.type = TREE_BLOCK_REF_KEY, .root = root};
}

static int add(uint64_t bytenr, uint64_t root, int64_t delta, bool is_new)
{
    struct extent extent = block_at(bytenr);
    struct extent_ref ref = tree_ref(root);
    return delayed_refs_add(&refs, &extent, &ref, delta, is_new);
}

static int64_t delta_of(uint64_t bytenr, const struct extent_ref *ref)
{
    const struct delayed_extent *at = delayed_refs_find(&refs, bytenr);
    for (size_t i = 0; at && i < at->count; i++)
        if (extent_ref_compare(&at->refs[i].ref, ref) == 0)
            return at->refs[i].delta;
    return INT64_MAX;
}

START_TEST(summed)
{
    struct extent_ref five = tree_ref(5), six = tree_ref(6);
    ck_assert_ptr_null(delayed_refs_find(&refs, 8192));
    expect_success(add(8192, 5, 1, true));
    expect_success(add(8192, 6, 1, false));
    expect_success(add(8192, 5, 1, false));
    expect_success(add(8192, 6, -3, false));
    const struct delayed_extent *at = delayed_refs_find(&refs, 8192);
    ck_assert_uint_eq(refs.count, 1);
    ck_assert_uint_eq(at->count, 2);
    ck_assert(at->is_new);
    ck_assert_int_eq(delta_of(8192, &five), 2);
    ck_assert_int_eq(delta_of(8192, &six), -2);
    ck_assert_int_eq(delayed_extent_sum(at), 0);
    ck_assert_uint_eq(at->flags, 0);
    struct extent extent = block_at(8192), other = block_at(4096);
    expect_success(delayed_refs_set_flags(&refs, &extent, 4));
    expect_success(delayed_refs_set_flags(&refs, &extent, 1));
    expect_success(delayed_refs_set_flags(&refs, &other, 2));
    ck_assert_uint_eq(delayed_refs_find(&refs, 8192)->flags, 5);
    ck_assert_uint_eq(delayed_refs_find(&refs, 4096)->flags, 2);
    ck_assert(!delayed_refs_find(&refs, 4096)->is_new);
    ck_assert_int_eq(delayed_extent_sum(delayed_refs_find(&refs, 4096)), 0);
    ck_assert_uint_eq(refs.count, 2);
    delayed_refs_close(&refs);
    ck_assert_uint_eq(refs.count, 0);
}
END_TEST

/* References that differ in one field are two. */
START_TEST(kinds)
{
    const struct extent_ref different[] = {
        {.type = EXTENT_DATA_REF_KEY, .root = 5, .objectid = 257, .offset = 0},
        {.type = EXTENT_DATA_REF_KEY, .root = 6, .objectid = 257, .offset = 0},
        {.type = EXTENT_DATA_REF_KEY, .root = 5, .objectid = 258, .offset = 0},
        {.type = EXTENT_DATA_REF_KEY, .root = 5, .objectid = 257, .offset = 4096},
        {.type = SHARED_DATA_REF_KEY, .parent = 4096},
        {.type = SHARED_DATA_REF_KEY, .parent = 8192},
    };
    struct extent extent = data_at(1 << 20);
    for (int64_t round = 1; round < 4; round++)
        for (size_t i = 0; i < LENGTH_OF(different); i++)
            expect_success(delayed_refs_add(&refs, &extent, &different[i], (int64_t)i - 2, false));
    ck_assert_uint_eq(refs.count, 1);
    ck_assert_uint_eq(delayed_refs_find(&refs, 1 << 20)->count, LENGTH_OF(different));
    for (size_t i = 0; i < LENGTH_OF(different); i++)
        ck_assert_int_eq(delta_of(1 << 20, &different[i]), 3 * ((int64_t)i - 2));
    delayed_refs_close(&refs);
}
END_TEST

/* What is forgotten leaves nothing; it may come again. */
START_TEST(cancelled)
{
    for (uint64_t i = 1; i <= 100; i++)
        expect_success(add(i * 4096, 5, 1, true));
    for (uint64_t i = 1; i <= 100; i += 2)
        delayed_refs_forget(&refs, delayed_refs_find(&refs, i * 4096));
    ck_assert_uint_eq(refs.count, 50);
    for (uint64_t i = 1; i <= 100; i++)
        ck_assert_int_eq(delayed_refs_find(&refs, i * 4096) == NULL, i % 2);
    for (uint64_t i = 1; i <= 100; i += 2)
        expect_success(add(i * 4096, 6, 1, true));
    ck_assert_uint_eq(refs.count, 100);
    delayed_refs_close(&refs);
    ck_assert_ptr_null(refs.extents);
}
END_TEST

/* Against an array that does the same. */
START_TEST(in_order)
{
    enum { PLACES = 300 };
    static int64_t sums[PLACES];
    static bool there[PLACES];
    struct dice dice = {3};
    for (unsigned round = 0; round < 20; round++) {
        struct delayed_extent **list;
        size_t count, expected = 0, next = 0;
        memset(sums, 0, sizeof sums);
        memset(there, 0, sizeof there);
        for (unsigned i = 0; i < 1000; i++) {
            uint64_t at = dice_below(&dice, PLACES);
            int64_t delta = (int64_t)dice_below(&dice, 7) - 3;
            expect_success(add(at * 4096, dice_below(&dice, 4), delta, false));
            sums[at] += delta;
            expected += !there[at];
            there[at] = true;
            ck_assert_int_eq(delayed_extent_sum(delayed_refs_find(&refs, at * 4096)), sums[at]);
        }
        ck_assert_uint_eq(refs.count, expected);
        expect_success(delayed_refs_take(&refs, &list, &count));
        ck_assert_uint_eq(count, expected);
        ck_assert_uint_eq(refs.count, 0);
        ck_assert_ptr_null(refs.extents);
        expect_success(add(4096, 5, 1, true)); /* on a new list */
        for (size_t i = 0; i < count; i++, next++) {
            while (!there[next])
                next++;
            ck_assert_uint_eq(list[i]->extent.bytenr, next * 4096);
            ck_assert_int_eq(delayed_extent_sum(list[i]), sums[next]);
            delayed_extent_free(list[i]);
        }
        free(list);
        ck_assert_uint_eq(refs.count, 1);
        delayed_refs_close(&refs);
    }
}
END_TEST

START_TEST(nothing_to_take)
{
    struct delayed_extent **list;
    size_t count;
    expect_success(delayed_refs_take(&refs, &list, &count));
    ck_assert_uint_eq(count, 0);
    free(list);
}
END_TEST

/* Each piece of memory refused: nothing has changed, nothing leaks. */
START_TEST(no_memory)
{
    for (unsigned had = 0; had < 6; had++)
        for (unsigned way = 0; way < 3; way++)
            for (uint64_t first = 0;; first++) {
                struct fault fault = {FAULT_MEMORY, FAULT_ERROR, ENOMEM, first, 1};
                struct delayed_extent **list = NULL;
                struct extent extent = block_at(4096);
                size_t count = 0;
                int64_t before = memory_pieces();
                for (unsigned i = 0; i < had; i++)
                    expect_success(add(4096, 10 + i, 2, false));
                faults_begin(&fault);
                int result = way == 0   ? add(4096, 5, 1, had == 0)
                             : way == 1 ? delayed_refs_set_flags(&refs, &extent, 3)
                                        : delayed_refs_take(&refs, &list, &count);
                bool struck = faults_end() > first;
                const struct delayed_extent *at = delayed_refs_find(&refs, 4096);
                if (struck) {
                    expect_failure(ENOMEM, "out of memory", result);
                    ck_assert_uint_eq(refs.count, had > 0);
                    ck_assert_int_eq(at ? delayed_extent_sum(at) : 0, 2 * had);
                    ck_assert(!at || (at->flags == 0 && !at->is_new));
                } else {
                    expect_success(result);
                }
                for (size_t i = 0; i < count; i++)
                    delayed_extent_free(list[i]);
                free(list);
                delayed_refs_close(&refs);
                ck_assert_int_eq(memory_pieces(), before);
                if (!struck)
                    break;
            }
}
END_TEST

SUITE(delayed_ref, 20, summed, kinds, cancelled, in_order, nothing_to_take, no_memory)
