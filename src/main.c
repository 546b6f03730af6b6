/* coppice: finds the command in the generated table, parses its line, runs it, and prints the one
 * error line. This is the only place that ends the process. */
#include "command.h"
#include "fail.h"

#include <assert.h>
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION "coppice 0.1"

enum { OPTION_TABLE = 48, KEY_FIRST = 1000 };

/* The options that a command takes: its own and, with an image, the global ones, each with a key of
 * its own. */
static void gather_options(const struct command *command, struct argp_option *table)
{
    int count = 0;
    for (const struct argp_option *own = command->options; own && own->name; own++)
        table[count++] = *own;
    for (int i = 0; global_options[i] && !command->has_no_image; i++)
        for (const struct argp_option *global = global_options[i]; global->name; global++)
            table[count++] = *global;
    assert(count < OPTION_TABLE);
    for (int i = 0; i < count; i++)
        if (!table[i].key)
            table[i].key = KEY_FIRST + i;
    table[count] = (struct argp_option){0};
}

struct parse {
    const struct argp_option *table;
    struct invocation *invocation;
};

static error_t parse_word(int key, char *value, struct argp_state *state)
{
    struct parse *parse = state->input;
    struct invocation *invocation = parse->invocation;
    const struct command *command = invocation->command;
    if (key == ARGP_KEY_ARGS || key == ARGP_KEY_NO_ARGS) {
        char **words = state->argv + state->next;
        int count = key == ARGP_KEY_ARGS ? state->argc - state->next : 0;
        if (command->has_no_image) {
            invocation->image = command->name;
        } else if (count == 0) {
            argp_error(state, "no image is named");
        } else {
            invocation->image = *words++;
            count--;
        }
        if (count < command->min_args)
            argp_error(state, "something is missing");
        if (count > command->max_args)
            argp_error(state, "too many words: '%s'", words[command->max_args]);
        invocation->args = words;
        invocation->nargs = count;
        return key == ARGP_KEY_ARGS ? 0 : ARGP_ERR_UNKNOWN;
    }
    for (const struct argp_option *option = parse->table; option->name; option++) {
        if (option->key != key)
            continue;
        if (invocation->noptions == INVOCATION_OPTIONS)
            argp_error(state, "too many options");
        invocation->options[invocation->noptions].name = option->name;
        invocation->options[invocation->noptions++].value = value ? value : "";
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static void print_usage(FILE *file)
{
    fprintf(file, "Usage: coppice COMMAND [OPTIONS] [IMAGE] [ARGUMENTS]\n\n"
                  "Coppice makes and reads Btrfs images in ordinary files, without root, mount or\n"
                  "driver, and grows trees in memory to watch them.\n\n"
                  "Commands:\n");
    for (int i = 0; commands[i]; i++)
        fprintf(file, "  %-8s %.*s\n", commands[i]->name, (int)strcspn(commands[i]->doc, "\v"),
                commands[i]->doc);
    fprintf(file, "\n'coppice COMMAND --help' tells more of each.\n");
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* One line on standard error. Names and words may hold anything; what a terminal would obey is
 * shown as \xNN. */
__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (const char *next = text; *next; next++) {
        if (iscntrl((unsigned char)*next))
            fprintf(stderr, "\\x%02x", (unsigned char)*next);
        else
            fputc(*next, stderr);
    }
    fputc('\n', stderr);
}

static void print_notes(const struct invocation *invocation)
{
    const struct notes *notes = invocation->notes;
    for (unsigned i = 0; i < notes->count && i < NOTES_KEPT; i++)
        complain("coppice: %s: warning: %s", invocation->image, notes->text[i]);
    if (notes->count > NOTES_KEPT)
        complain("coppice: %s: warning: and %u more of the kind", invocation->image,
                 notes->count - NOTES_KEPT);
}

/* A result that could not be written is no result, and neither is help: argp ends the process that
 * has printed it, so this waits for every end. */
static void finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    complain("coppice: cannot write the result: %s", strerror(errno));
    _exit(EXIT_FAILURE);
}

/* Runs a command whose line has been parsed; the exit status. */
static int run(struct invocation *invocation)
{
    int result = invocation->command->run(invocation);
    if (fflush(stdout) != 0 || ferror(stdout))
        return EXIT_FAILURE; /* finish_output says why */
    print_notes(invocation);
    if (result == 0)
        return EXIT_SUCCESS;
    complain("coppice: %s: %s", invocation->image, fail_message());
    if (result == EXIT_USAGE)
        complain("Try 'coppice %s --help'.", invocation->command->name);
    return result == EXIT_USAGE ? EXIT_USAGE : EXIT_FAILURE;
}

/* A file that is opened must not take the place of a closed standard stream: what is printed would
 * go into it. Opened for reading alone, so that printing to a closed stream fails as before. */
static void fill_standard_streams(void)
{
    int fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_RDONLY);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* a limit of the file size is an error of the write */
    atexit(finish_output);
    const char *first = argc > 1 ? argv[1] : "";
    if (strcmp(first, "--help") == 0 || strcmp(first, "help") == 0) {
        print_usage(stdout);
        return EXIT_SUCCESS;
    }
    if (strcmp(first, "--version") == 0) {
        puts(VERSION);
        return EXIT_SUCCESS;
    }
    const struct command *command = find_command(first);
    if (!command) {
        if (*first)
            complain("coppice: there is no command '%s'; 'coppice --help' lists them", first);
        else
            print_usage(stderr);
        return EXIT_USAGE;
    }

    struct argp_option table[OPTION_TABLE];
    gather_options(command, table);
    struct notes notes = {0};
    struct invocation invocation = {.command = command, .out = stdout, .notes = &notes};
    struct parse parse = {table, &invocation};
    struct argp argp = {table, parse_word, command->args, command->doc, NULL, NULL, NULL};
    char name[64];
    snprintf(name, sizeof name, "coppice %s", command->name);
    argv[1] = name;
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc - 1, argv + 1, 0, NULL, &parse);
    return run(&invocation);
}
