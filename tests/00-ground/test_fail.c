#include "fail.h"

#include "support.h"

#include <string.h>
#include <threads.h>

START_TEST(keeps_the_last_message)
{
    ck_assert_str_eq(fail_message(), "");
    ck_assert_int_eq(fail(EUCLEAN, "leaf %d", 7), -EUCLEAN);
    ck_assert_str_eq(fail_message(), "leaf 7");
    ck_assert_int_eq(fail(EIO, "later"), -EIO);
    ck_assert_str_eq(fail_message(), "later");
}
END_TEST

START_TEST(the_old_message_may_be_an_argument)
{
    fail(EIO, "inner");
    fail(EINVAL, "outer: %s", fail_message());
    ck_assert_str_eq(fail_message(), "outer: inner");
    ck_assert_int_eq(fail_within(-ENOENT, "tree %d", 5), -ENOENT);
    ck_assert_str_eq(fail_message(), "tree 5: outer: inner");
}
END_TEST

/* However long: a message is cut, ends, and nothing behind it is touched. */
START_TEST(long_messages_are_cut)
{
    char longer[5000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    fail(EIO, "%s", longer);
    ck_assert_uint_ge(strlen(fail_message()), 1000);
    ck_assert_uint_lt(strlen(fail_message()), 1100);
    fail_within(-EIO, "words");
    ck_assert_int_eq(strncmp(fail_message(), "words: xxx", 10), 0);
    fail_within(-EIO, "%s", longer);
    ck_assert_int_eq(strncmp(fail_message(), "xxx", 3), 0);
    for (size_t length = 990; length < 1100; length++) {
        fail(EIO, "inner");
        fail_within(-EIO, "%.*s", (int)length, longer);
        expect(strlen(fail_message()) < 1100, "%zu", length);
    }
}
END_TEST

static int fail_elsewhere(void *message_before)
{
    strcpy(message_before, fail_message());
    return fail(EIO, "elsewhere");
}

START_TEST(each_thread_has_its_own)
{
    char before[64] = "unset";
    thrd_t thread;
    int result = 0;
    fail(EINVAL, "here");
    ck_assert_int_eq(thrd_create(&thread, fail_elsewhere, before), thrd_success);
    thrd_join(thread, &result);
    ck_assert_int_eq(result, -EIO);
    ck_assert_str_eq(before, "");
    ck_assert_str_eq(fail_message(), "here");
}
END_TEST

SUITE(fail, 10, keeps_the_last_message, the_old_message_may_be_an_argument, long_messages_are_cut,
      each_thread_has_its_own)
