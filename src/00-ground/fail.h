/* Errors: one message, one negative errno.
 *
 * A function that cannot do its work says why where it knows most, with fail(), and returns what
 * fail() returns. Callers pass that on; nobody prints. The message of the last failure of this
 * thread waits in a buffer for whoever reports it: main.c, a test, a program that uses the library.
 *
 *     return fail(EUCLEAN, "leaf %" PRIu64 " slot %u: ...", bytenr, slot);
 *
 * The errno values mean: EUCLEAN the image is damaged, EOPNOTSUPP it uses a feature that is not
 * supported here, EINVAL the caller or the command line asked for something that makes no sense,
 * ENOENT what was asked for is not there, ENOMEM, and those of the operating system.
 */
#ifndef FAIL_H
#define FAIL_H

#include <errno.h>
#include <inttypes.h>

/* Records the message and returns -error. A longer message than 1,000 bytes is cut. */
__attribute__((format(printf, 2, 3), cold)) int fail(int error, const char *format, ...);

/* Puts words in front of the recorded message, to say in what the failure happened: "words:
 * message". Returns `result` unchanged, so that a caller can write `return fail_within(result,
 * "tree %s", name)`. */
__attribute__((format(printf, 2, 3), cold)) int fail_within(int result, const char *format, ...);

/* The message of the last failure of this thread; "" before the first. */
const char *fail_message(void);

#endif
