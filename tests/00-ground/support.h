/* What every test begins with: Check, words for what is expected, the seeded random. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include "bytes.h"

#include <check.h>
#include <stddef.h>
#include <stdint.h>

#undef fail /* Check's own, of long ago */

/* The suite of a test file. `seconds` is the time limit of each test; SUITE_WITH calls `setup`
 * before the first one, in the process that all tests are forked from. */
#define SUITE_WITH(name, seconds, setup, ...)                                                      \
    Suite *suite_##name(void);                                                                     \
    Suite *suite_##name(void)                                                                      \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__, NULL};                                          \
        return make_suite(#name, seconds, setup, tests);                                           \
    }
#define SUITE(name, seconds, ...) SUITE_WITH(name, seconds, NULL, __VA_ARGS__)

Suite *make_suite(const char *name, double seconds, void (*setup)(void),
                  const TTest *const tests[]);

/* As ck_assert_msg, but free of charge while it holds: for loops of a million. */
#define expect(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

/* The call returns 0; else the test fails with the call's message. */
#define expect_success(call) check_success(AT, #call, call)
void check_success(const char *at, const char *call, int result);

/* The call returns -error, and its message has these words in it. */
#define expect_failure(error, words, call) check_failure(AT, #call, call, error, words)
void check_failure(const char *at, const char *call, int result, int error, const char *words);

/* A number of rounds. The sanitized build is many times slower and makes an eighth of them. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#define ROUNDS_OF(number) (SANITIZED ? (number) / 8 : (number))

#define AT             __FILE__ ":" TEXT_OF(__LINE__)
#define TEXT_OF(macro) TEXT(macro)
#define TEXT(token)    #token

/* Numbers that look random and are the same on every run: splitmix64. */
struct dice {
    uint64_t state;
};

uint64_t dice_next(struct dice *dice);
uint64_t dice_below(struct dice *dice, uint64_t limit); /* 0 .. limit - 1 */
void dice_fill(struct dice *dice, void *bytes, size_t length);

#endif
