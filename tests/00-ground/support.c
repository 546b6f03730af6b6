#include "support.h"

#include "fail.h"

#include <string.h>

Suite *make_suite(const char *name, double seconds, void (*setup)(void), const TTest *const tests[])
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, seconds);
    if (setup)
        tcase_add_unchecked_fixture(tcase, setup, NULL);
    for (size_t i = 0; tests[i]; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}

void check_success(const char *at, const char *call, int result)
{
    expect(result == 0, "%s: %s returned %d: %s", at, call, result, fail_message());
}

void check_failure(const char *at, const char *call, int result, int error, const char *words)
{
    expect(result == -error, "%s: %s returned %d, not %d: %s", at, call, result, -error,
           fail_message());
    expect(strstr(fail_message(), words), "%s: %s says '%s', not '%s'", at, call, fail_message(),
           words);
}

uint64_t dice_next(struct dice *dice)
{
    uint64_t z = dice->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

uint64_t dice_below(struct dice *dice, uint64_t limit)
{
    return dice_next(dice) % limit;
}

void dice_fill(struct dice *dice, void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)dice_next(dice);
}
