/* What a command says about the structures of an image, as text or as JSON.
 *
 * A report is a series of records; a record has a kind ("inode"), and fields with names and values,
 * and may hold lists of further records. The code that knows the structures says each field once;
 * how it looks is decided here:
 *
 *   REPORT_LINES    a record is a line:          inode generation 7 size 20 mode 0100644
 *                   lists: their records on lines of their own, two columns further right
 *   REPORT_COLUMNS  a field of an outermost record is a line, records in its lists are lines too:
 *                                                generation          7
 *   REPORT_JSON     an outermost record is a line that holds one JSON object; yajl writes it
 *
 * Text holds names as "quoted", with \xNN for each byte of a character that is not printable and
 * for each that is not UTF-8. JSON holds them as strings; where the bytes are no UTF-8,
 * "name" is null and "name_hex" has the bytes. Numbers are exact in both, up to 64 bits.
 */
#ifndef REPORT_H
#define REPORT_H

#include "format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <yajl/yajl_gen.h>

enum report_form { REPORT_LINES, REPORT_COLUMNS, REPORT_JSON };

struct report {
    FILE *file;
    enum report_form form;
    yajl_gen json;
    struct json_memory *json_memory;
    unsigned depth;  /* records that are open */
    unsigned indent; /* of the next line, in columns */
    bool line_open;  /* text stands on the current line */
};

/* Begins a report on `file`, which stays the caller's. ENOMEM. Write errors stay in the file's
 * error flag, where the caller of all looks once, at the end. */
int report_open(struct report *report, FILE *file, enum report_form form);
void report_close(struct report *report);

/* A record; `what` is its kind, shown as "what" in JSON; NULL for none. */
void report_begin(struct report *report, const char *what);
void report_end(struct report *report);

/* A list of records inside a record, behind its fields. In text the name is not shown. */
void report_list_begin(struct report *report, const char *name);
void report_list_end(struct report *report);

/* Fields. */
void report_number(struct report *report, const char *name, uint64_t value);
/* A number with `digits` digits behind the point, rounded; at most 9. */
void report_decimal(struct report *report, const char *name, double value, unsigned digits);
void report_signed(struct report *report, const char *name, int64_t value);
void report_bool(struct report *report, const char *name, bool value);

/* A word or sentence of our own. */
void report_word(struct report *report, const char *name, const char *word);

/* Bytes of the image that are meant as text. */
void report_name(struct report *report, const char *name, const void *bytes, size_t length);

/* Such a name outside of a report, without the quotes. */
void report_printable(FILE *file, const void *bytes, size_t length);

/* Bytes as hexadecimal digits. */
void report_hex(struct report *report, const char *name, const void *bytes, size_t length);

/* Text: "-" for a uuid of zeros. */
void report_uuid(struct report *report, const char *name, const uint8_t uuid[UUID_SIZE]);

/* Text: octal with a leading 0. JSON: the number. */
void report_mode(struct report *report, const char *name, uint32_t mode);

/* Text: seconds.nanoseconds. JSON: {"sec": ..., "nsec": ...}. */
void report_time(struct report *report, const char *name, const struct timespec_item *time);

/* Flags by name. Text: NAME|NAME, with what has no name as 0x..., 0 for none. JSON: the number, and
 * NAME_names with the text. `name_of` gives the name of a bit or NULL. */
void report_flags(struct report *report, const char *name, uint64_t flags,
                  const char *(*name_of)(unsigned bit));

/* A number that has a name. Text: the name, or the number where there is none. JSON: both, the name
 * as NAME_name. */
void report_named(struct report *report, const char *name, uint64_t value, const char *value_name);

/* A line of text, with the indent of where we are; nothing in JSON. */
__attribute__((format(printf, 2, 3))) void report_line(struct report *report, const char *format,
                                                       ...);

#endif
