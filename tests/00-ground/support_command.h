/* Commands run inside this process, as main.c runs them. */
#ifndef SUPPORT_COMMAND_H
#define SUPPORT_COMMAND_H

#include "command.h"
#include "support_faults.h"

struct ran {
    int result;
    char *out; /* what it printed; the caller's to free */
    size_t length;
    struct notes notes;
    uint64_t calls; /* of the kind that a fault was asked for */
    int64_t leaked; /* pieces of memory */
};

/* Runs the command `words[0]` on an image. Behind it come its words and options, in any order, up
 * to NULL: "--json", "--mirror=1". `fault` may be NULL. */
void run_words(struct ran *ran, const char *image, const char *const words[],
               const struct fault *fault);

/* The same without a fault, for words that are written down. */
#define run_command(ran, image, ...)                                                               \
    run_words(ran, image, (const char *const[]){__VA_ARGS__, NULL}, NULL)

/* The command succeeds, and prints these words among others. */
#define expect_output(words, image, ...)                                                           \
    check_output(AT, words, image, (const char *const[]){__VA_ARGS__, NULL})
void check_output(const char *at, const char *words, const char *image,
                  const char *const command[]);

/* The command prints nothing and returns `result`, with these words in the message. */
#define expect_refusal(result, words, image, ...)                                                  \
    check_refusal(AT, result, words, image, (const char *const[]){__VA_ARGS__, NULL})
void check_refusal(const char *at, int result, const char *words, const char *image,
                   const char *const command[]);

/* Each call of a kind in the command fails: the first, the second, and so on until there is none
 * left; alone, then with all that follow it. The command ends with the fault's own error; or it
 * succeeds, and is_right says whether what it printed is right. It never leaks. Returns how many
 * faults there were. */
uint64_t check_faults(enum fault_call call, int error, const char *image,
                      const char *const command[], bool (*is_right)(const struct ran *ran));

/* As run_words, but what is printed goes nowhere; that nothing leaks is seen to. For the masses. */
int run_unseen(const char *image, const char *const words[], struct notes *notes);

/* Is every line of the text a JSON object, and nothing else? */
bool is_json_lines(const char *text, size_t length);

#endif
