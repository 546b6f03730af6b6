#include "leaf_report.h"

#include "support.h"
#include "support_leaf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *draw(const struct block *leaf)
{
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    leaf_dot(leaf, file);
    fclose(file);
    return text;
}

static unsigned count(const char *text, const char *words)
{
    unsigned n = 0;
    for (; (text = strstr(text, words)); text++)
        n++;
    return n;
}

/* The column is 10 inches high and the boxes fill it: header, items, hole, data, without a gap.
 * Where each begins and ends is to scale. */
static void check_scale(const char *text, uint32_t nodesize)
{
    double sum = 0, inch = nodesize / 10.0;
    for (const char *box = text; (box = strstr(box, "[shape=box,")); box++) {
        double height, y;
        ck_assert_int_eq(
            sscanf(box, "[shape=box, fixedsize=true, width=1.60, height=%lf, pos=\"0,%lf!\"",
                   &height, &y),
            2);
        sum += height;
        double start = (10 - y - height / 2) * inch, end = (10 - y + height / 2) * inch;
        expect(start > -1 && end < nodesize + 1, "a box from %f to %f", start, end);
    }
    expect(fabs(sum - 10) < 0.01, "%f inches", sum);
}

START_TEST(a_small_leaf)
{
    struct block leaf = make_leaf(4096);
    leaf_append(&leaf, (struct key){256, INODE_ITEM_KEY, 0}, NULL, 160);
    leaf_append(&leaf, (struct key){256, INODE_REF_KEY, 256}, NULL, 12);
    leaf_append(&leaf, (struct key){257, ORPHAN_ITEM_KEY, 0}, NULL, 0);
    char *text = draw(&leaf);
    check_scale(text, 4096);
    static const char *const words[] = {
        "label=\"leaf 1048576: 4096 bytes, 3 items, 3748 bytes free; heights to scale\"",
        "label=\"block header: bytes 0 to 100\\l\"",
        "label=\"item 0 (256 INODE_ITEM 0)\\r\"",
        "label=\"item 2 (257 ORPHAN_ITEM 0)\\r\"",
        "label=\"data 0: bytes 3936 to 4095\\l\"",
        "label=\"data 1: bytes 3924 to 3935\\l\"",
        "label=\"3748 bytes free\"",
    };
    for (size_t i = 0; i < LENGTH_OF(words); i++)
        expect(count(text, words[i]) == 1, "'%s' is not in\n%s", words[i], text);
    /* No data, no box. */
    ck_assert_uint_eq(count(text, "data2"), 0);
    ck_assert_uint_eq(count(text, "{"), count(text, "}"));
    free(text);
    free_block(&leaf);
}
END_TEST

/* Empty; full to the last byte, and nearly; too many items to name them all. */
START_TEST(extremes)
{
    struct block leaf = make_leaf(4096);
    char *text = draw(&leaf);
    check_scale(text, 4096);
    ck_assert_uint_eq(count(text, "[shape=box,"), 2);
    free(text);
    leaf_append(&leaf, (struct key){1, 1, 1}, NULL, leaf_free_space(&leaf) - 25);
    text = draw(&leaf);
    check_scale(text, 4096);
    ck_assert_uint_eq(count(text, "free0"), 0);
    free(text);
    leaf_shrink(&leaf, 0, 40); /* a hole that is lower than a line of text */
    text = draw(&leaf);
    check_scale(text, 4096);
    ck_assert_uint_eq(count(text, "free0"), 1);
    ck_assert_uint_eq(count(text, "label=\"40 bytes free"), 0);
    free(text);
    free_block(&leaf);

    for (uint32_t items = 56; items <= 57; items++) {
        leaf = make_leaf(16384);
        for (uint32_t i = 0; i < items; i++)
            leaf_append(&leaf, (struct key){i, 1, 1}, NULL, 10);
        text = draw(&leaf);
        check_scale(text, 16384);
        ck_assert_uint_eq(count(text, "[shape=box,"), 2 + 2 * items);
        ck_assert_uint_eq(count(text, "[shape=plaintext,"), items == 56 ? 1 + 2 * items : 1);
        free(text);
        free_block(&leaf);
    }
}
END_TEST

SUITE(leaf_dot, 10, a_small_leaf, extremes)
