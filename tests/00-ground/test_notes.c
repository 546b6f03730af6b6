#include "notes.h"

#include "support.h"

#include <string.h>

/* All are counted, the first NOTES_KEPT are kept, a long one is cut. */
START_TEST(kept_and_counted)
{
    static struct notes notes;
    char longer[2 * NOTE_SIZE];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    note(&notes, "%s", longer);
    for (unsigned i = 1; i < 2 * NOTES_KEPT; i++)
        note(&notes, "note %u", i);
    ck_assert_uint_eq(notes.count, 2 * NOTES_KEPT);
    ck_assert_uint_eq(strlen(notes.text[0]), NOTE_SIZE - 1);
    ck_assert_str_eq(notes.text[1], "note 1");
    ck_assert_str_eq(notes.text[NOTES_KEPT - 1], "note 15");
}
END_TEST

/* What is met twice is told once. */
START_TEST(the_same_once)
{
    static struct notes notes;
    for (unsigned i = 0; i < 30; i++)
        note(&notes, "note %u", i % 3);
    ck_assert_uint_eq(notes.count, 3);
    ck_assert_str_eq(notes.text[2], "note 2");
    ck_assert_str_eq(notes.text[3], "");
}
END_TEST

SUITE(notes, 10, kept_and_counted, the_same_once)
