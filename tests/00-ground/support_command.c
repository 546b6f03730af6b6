#include "support_command.h"

#include "fail.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>

enum { WORDS = 16, BUFFER = 1 << 16 };

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    ck_abort_msg("there is no command %s", name);
}

/* The invocation that main.c would make of these words; `storage` holds what it points to. */
struct storage {
    char *args[WORDS + 1];
    char names[WORDS][32];
};

static struct invocation make_invocation(const char *image, const char *const words[],
                                         struct storage *storage)
{
    struct invocation invocation = {.command = find_command(words[0]), .image = image};
    for (size_t i = 1; words[i]; i++) {
        expect(i < WORDS, "too many words");
        if (strncmp(words[i], "--", 2) != 0) {
            storage->args[invocation.nargs++] = (char *)(uintptr_t)words[i];
            continue;
        }
        size_t length = strcspn(words[i] + 2, "=");
        const char *value = words[i] + 2 + length;
        snprintf(storage->names[i], sizeof storage->names[i], "%.*s", (int)length, words[i] + 2);
        invocation.options[invocation.noptions].name = storage->names[i];
        invocation.options[invocation.noptions++].value = *value ? value + 1 : "";
    }
    invocation.args = storage->args;
    expect(invocation.nargs >= invocation.command->min_args &&
               invocation.nargs <= invocation.command->max_args,
           "%s with %d words", words[0], invocation.nargs);
    return invocation;
}

void run_words(struct ran *ran, const char *image, const char *const words[],
               const struct fault *fault)
{
    *ran = (struct ran){0};
    struct storage storage;
    struct invocation invocation = make_invocation(image, words, &storage);
    invocation.notes = &ran->notes;

    /* A file with a buffer of its own, so that no fault can reach what only the test needs. */
    static char buffer[BUFFER];
    int fd = memfd_create("out", MFD_CLOEXEC);
    invocation.out = fdopen(fd, "w");
    ck_assert_ptr_nonnull(invocation.out);
    setvbuf(invocation.out, buffer, _IOFBF, sizeof buffer);

    int64_t before = memory_pieces();
    if (fault)
        faults_begin(fault);
    ran->result = invocation.command->run(&invocation);
    ran->calls = fault ? faults_end() : 0;
    ran->leaked = memory_pieces() - before;

    fflush(invocation.out);
    off_t length = lseek(fd, 0, SEEK_END);
    ran->length = (size_t)length;
    ran->out = calloc(1, ran->length + 1);
    ck_assert_int_eq(pread(fd, ran->out, ran->length, 0), length);
    fclose(invocation.out);
}

void check_output(const char *at, const char *words, const char *image, const char *const command[])
{
    struct ran ran;
    run_words(&ran, image, command, NULL);
    expect(ran.result == 0, "%s: %s: %d: %s", at, command[0], ran.result, fail_message());
    expect(strstr(ran.out, words), "%s: %s: '%s' is not in\n%s", at, command[0], words, ran.out);
    free(ran.out);
}

void check_refusal(const char *at, int result, const char *words, const char *image,
                   const char *const command[])
{
    struct ran ran;
    run_words(&ran, image, command, NULL);
    expect(ran.result == result, "%s: %s: %d, not %d: %s", at, command[0], ran.result, result,
           fail_message());
    expect(strstr(fail_message(), words), "%s: %s: says '%s', not '%s'", at, command[0],
           fail_message(), words);
    expect(ran.length == 0, "%s: %s: prints %s", at, command[0], ran.out);
    free(ran.out);
}

uint64_t check_faults(enum fault_call call, int error, const char *image,
                      const char *const command[], bool (*is_right)(const struct ran *ran))
{
    uint64_t faults = 0;
    for (int lasting = 0; lasting <= 1; lasting++) {
        struct fault fault = {
            .call = call, .error = error, .failing = lasting ? FAULTS_WITHOUT_END : 1};
        for (bool struck = true; struck; fault.first++) {
            struct ran ran;
            run_words(&ran, image, command, &fault);
            struck = ran.calls > fault.first;
            faults += struck;
            bool right = ran.result == 0 ? is_right(&ran) : struck && ran.result == -error;
            expect(right, "%s, call %ju: %d: %s\n%s", command[0], (uintmax_t)fault.first,
                   ran.result, fail_message(), ran.out);
            expect(ran.leaked == 0, "%s, call %ju: %jd pieces of memory leaked", command[0],
                   (uintmax_t)fault.first, (intmax_t)ran.leaked);
            free(ran.out);
        }
    }
    return faults;
}

int run_unseen(const char *image, const char *const words[], struct notes *notes)
{
    static FILE *nowhere;
    static char buffer[BUFFER];
    if (!nowhere) {
        nowhere = fopen("/dev/null", "w");
        setvbuf(nowhere, buffer, _IOFBF, sizeof buffer);
    }
    struct storage storage;
    struct invocation invocation = make_invocation(image, words, &storage);
    notes->count = 0;
    invocation.notes = notes;
    invocation.out = nowhere;
    int64_t before = memory_pieces();
    int result = invocation.command->run(&invocation);
    expect(memory_pieces() == before, "%s: memory leaked", words[0]);
    return result;
}

bool is_json_lines(const char *text, size_t length)
{
    bool right = true;
    const char *end = text + length;
    while (text < end && right) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        yajl_handle parser = yajl_alloc(NULL, NULL, NULL);
        right = newline && *text == '{' &&
                yajl_parse(parser, (const unsigned char *)text, (size_t)(newline - text)) ==
                    yajl_status_ok &&
                yajl_complete_parse(parser) == yajl_status_ok;
        yajl_free(parser);
        text = newline ? newline + 1 : end;
    }
    return right;
}
