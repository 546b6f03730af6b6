/* A command of the tool: its name, its words and options, and the function that does it.
 *
 * A room that brings a command holds a file cmd_NAME.c with `const struct command cmd_NAME`; the
 * build gathers them into the table `commands`. Options that belong to every command are in files
 * options_NAME.c. main.c parses the line with argp and hands the command an invocation.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include "device.h"
#include "notes.h"

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { INVOCATION_OPTIONS = 32, EXIT_USAGE = 2 };

/* What the command line said. */
struct invocation {
    const struct command *command;
    const char *image; /* the first word; the command's name where there is no image */
    char **args;       /* the words behind it */
    int nargs;
    struct {
        const char *name;
        const char *value;         /* "" for an option that takes none */
    } options[INVOCATION_OPTIONS]; /* as given, in order */
    int noptions;
    FILE *out;           /* where results go */
    struct notes *notes; /* where warnings go */
};

struct command {
    const char *name;
    const char *args;  /* "IMAGE BYTENR", as --help shows it */
    const char *doc;   /* one line; behind a '\v' more, as argp wants it */
    bool has_no_image; /* its words are all arguments */
    int min_args;      /* words behind IMAGE */
    int max_args;
    const struct argp_option *options; /* beside the global ones; NULL for none */

    /* 0; a negative errno with fail()'s message; or EXIT_USAGE with it. */
    int (*run)(struct invocation *invocation);
};

extern const struct command *const commands[];           /* ends with NULL */
extern const struct argp_option *const global_options[]; /* ends with NULL */

/* Options that several commands share. */
#define OPTION_JSON                                                                                \
    {                                                                                              \
        "json", 0, NULL, 0, "Print JSON, one object a line", 0                                     \
    }
#define OPTION_DOT                                                                                 \
    {                                                                                              \
        "dot", 0, NULL, 0, "Print a drawing for Graphviz", 0                                       \
    }

/* The last value given for an option, or NULL. */
const char *invocation_option(const struct invocation *invocation, const char *name);

/* Its value as a number (parse_number) into *value, which stays as it is where the option was not
 * given. 0 or EXIT_USAGE. */
int invocation_number(const struct invocation *invocation, const char *name, uint64_t *value);

/* "4096", "0x1000", "4K", "16M", "1G", "2T" (powers of 1024): 0 or EINVAL. */
int parse_number(const char *text, uint64_t *value);

/* Records a message about the command line and returns EXIT_USAGE. */
__attribute__((format(printf, 1, 2))) int wrong_usage(const char *format, ...);

/* Opens the image that the command line names, at the place that --offset or --partition say. */
int invocation_open(const struct invocation *invocation, bool writable, struct device **device);

#endif
