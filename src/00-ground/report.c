#include "report.h"

#include "fail.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <unistr.h>

enum { COLUMN_WIDTH = 22 };

/* --- yajl's memory ------------------------------------------------------------------ */

/* yajl does not look whether it got the memory that it asked for. So it gets pieces of one that was
 * there before, and what it writes goes straight to the file: all it keeps is its state. */
enum { JSON_MEMORY = 2048 };

struct json_memory {
    size_t used;
    _Alignas(max_align_t) unsigned char bytes[JSON_MEMORY];
};

static void *json_alloc(void *context, size_t size)
{
    struct json_memory *memory = context;
    size_t align = _Alignof(max_align_t), room = (size + align - 1) / align * align;
    assert(room <= JSON_MEMORY - memory->used);
    memory->used += room;
    return memory->bytes + memory->used - room;
}

/* Only its buffer would grow, and that is not used. */
static void *json_realloc(void *context, void *old, size_t size)
{
    (void)old;
    return json_alloc(context, size);
}

static void json_free(void *context, void *piece)
{
    (void)context, (void)piece;
}

static void json_print(void *file, const char *text, size_t length)
{
    fwrite_unlocked(text, 1, length, file);
}

/* --- opening ------------------------------------------------------------------------ */

int report_open(struct report *report, FILE *file, enum report_form form)
{
    *report = (struct report){.file = file, .form = form};
    if (form != REPORT_JSON)
        return 0;
    report->json_memory = calloc(1, sizeof *report->json_memory);
    if (!report->json_memory)
        return fail(ENOMEM, "out of memory");
    yajl_alloc_funcs functions = {json_alloc, json_realloc, json_free, report->json_memory};
    report->json = yajl_gen_alloc(&functions);
    yajl_gen_config(report->json, yajl_gen_print_callback, json_print, file);
    return 0;
}

void report_close(struct report *report)
{
    free(report->json_memory);
}

/* --- text --------------------------------------------------------------------------- */

static void put_bytes(struct report *report, const void *bytes, size_t length)
{
    fwrite_unlocked(bytes, 1, length, report->file);
}

static void put_text(struct report *report, const char *text)
{
    put_bytes(report, text, strlen(text));
}

static void put_spaces(struct report *report, unsigned count)
{
    static const char spaces[] = "                                ";
    put_bytes(report, spaces, count < sizeof spaces ? count : sizeof spaces - 1);
}

/* Decimal digits: a dump writes so many numbers that printf would be most of its time. */
static size_t format_number(uint64_t value, char digits[20])
{
    char reversed[20];
    size_t length = 0;
    do {
        reversed[length++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    for (size_t i = 0; i < length; i++)
        digits[i] = reversed[length - 1 - i];
    return length;
}

static void end_line(struct report *report)
{
    if (report->line_open)
        putc_unlocked('\n', report->file);
    report->line_open = false;
}

static bool in_columns(const struct report *report)
{
    return report->form == REPORT_COLUMNS && report->depth == 1;
}

/* The name of a field and what stands between it and the value. */
static void put_field_name(struct report *report, const char *name)
{
    if (!in_columns(report)) {
        putc_unlocked(' ', report->file);
        put_text(report, name);
        putc_unlocked(' ', report->file);
        return;
    }
    put_spaces(report, report->indent);
    put_text(report, name);
    size_t used = report->indent + strlen(name);
    put_spaces(report, used < COLUMN_WIDTH ? (unsigned)(COLUMN_WIDTH - used) : 1);
}

static void put_field_end(struct report *report)
{
    report->line_open = true;
    if (in_columns(report))
        end_line(report);
}

static void put_field(struct report *report, const char *name, const char *text, size_t length)
{
    put_field_name(report, name);
    put_bytes(report, text, length);
    put_field_end(report);
}

/* What a terminal would obey, or show as nothing: control and format characters (those that turn
 * the direction of writing among them), line and paragraph separators. */
static bool is_unprintable(ucs4_t character)
{
    return uc_is_general_category_withtable(character, UC_CATEGORY_MASK_Cc | UC_CATEGORY_MASK_Cf |
                                                           UC_CATEGORY_MASK_Zl |
                                                           UC_CATEGORY_MASK_Zp);
}

/* How many of the bytes are ASCII that stands as it is: most names are that as a whole. */
static size_t plain_length(const uint8_t *bytes, size_t length)
{
    size_t plain = 0;
    while (plain < length && bytes[plain] >= ' ' && bytes[plain] < 0x7f && bytes[plain] != '"' &&
           bytes[plain] != '\\')
        plain++;
    return plain;
}

/* One character that is not plain; of bytes that are none, libunistring takes one or more at a
 * time. Returns how many bytes it was. */
static size_t put_character(FILE *file, const uint8_t *bytes, size_t length)
{
    ucs4_t character;
    size_t size = (size_t)u8_mbtouc(&character, bytes, length);
    if (u8_check(bytes, size) != NULL || is_unprintable(character)) {
        for (size_t i = 0; i < size; i++)
            fprintf(file, "\\x%02x", bytes[i]);
        return size;
    }
    if (character == '"' || character == '\\')
        putc_unlocked('\\', file);
    fwrite_unlocked(bytes, 1, size, file);
    return size;
}

void report_printable(FILE *file, const void *text, size_t length)
{
    const uint8_t *bytes = text;
    for (size_t at = 0; at < length;) {
        size_t plain = plain_length(bytes + at, length - at);
        fwrite_unlocked(bytes + at, 1, plain, file);
        at += plain;
        if (at < length)
            at += put_character(file, bytes + at, length - at);
    }
}

static void put_quoted(struct report *report, const uint8_t *bytes, size_t length)
{
    putc_unlocked('"', report->file);
    report_printable(report->file, bytes, length);
    putc_unlocked('"', report->file);
}

/* --- JSON --------------------------------------------------------------------------- */

static void json_text(struct report *report, const void *text, size_t length)
{
    yajl_gen_string(report->json, text, length);
}

static void json_key(struct report *report, const char *name)
{
    json_text(report, name, strlen(name));
}

static void json_key_with(struct report *report, const char *name, const char *suffix)
{
    char key[64];
    snprintf(key, sizeof key, "%s%s", name, suffix);
    json_key(report, key);
}

static void json_number(struct report *report, uint64_t value)
{
    char digits[20];
    yajl_gen_number(report->json, digits, format_number(value, digits));
}

/* One object a line: yajl begins anew when the outermost record ends. */
static void json_line(struct report *report)
{
    putc_unlocked('\n', report->file);
    yajl_gen_reset(report->json, NULL);
}

/* --- records ------------------------------------------------------------------------ */

void report_begin(struct report *report, const char *what)
{
    report->depth++;
    if (report->form == REPORT_JSON) {
        yajl_gen_map_open(report->json);
        if (what) {
            json_key(report, "what");
            json_key(report, what);
        }
    } else if (!in_columns(report)) {
        end_line(report);
        put_spaces(report, report->indent);
        put_text(report, what ? what : "");
        report->line_open = true;
    }
}

void report_end(struct report *report)
{
    report->depth--;
    if (report->form != REPORT_JSON) {
        end_line(report);
        return;
    }
    yajl_gen_map_close(report->json);
    if (report->depth == 0)
        json_line(report);
}

void report_list_begin(struct report *report, const char *name)
{
    if (report->form == REPORT_JSON) {
        json_key(report, name);
        yajl_gen_array_open(report->json);
    }
    report->indent += 2;
}

void report_list_end(struct report *report)
{
    if (report->form == REPORT_JSON)
        yajl_gen_array_close(report->json);
    report->indent -= 2;
}

/* --- fields ------------------------------------------------------------------------- */

void report_number(struct report *report, const char *name, uint64_t value)
{
    if (report->form == REPORT_JSON) {
        json_key(report, name);
        json_number(report, value);
        return;
    }
    char digits[20];
    put_field(report, name, digits, format_number(value, digits));
}

/* A number that is text already. */
static void put_digits(struct report *report, const char *name, const char *digits, size_t length)
{
    if (report->form != REPORT_JSON) {
        put_field(report, name, digits, length);
        return;
    }
    json_key(report, name);
    yajl_gen_number(report->json, digits, length);
}

void report_decimal(struct report *report, const char *name, double value, unsigned digits)
{
    char text[64];
    int length = snprintf(text, sizeof text, "%.*f", (int)digits, value);
    put_digits(report, name, text, (size_t)length);
}

void report_signed(struct report *report, const char *name, int64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRId64, value);
    put_digits(report, name, digits, (size_t)length);
}

void report_bool(struct report *report, const char *name, bool value)
{
    if (report->form == REPORT_JSON) {
        json_key(report, name);
        yajl_gen_bool(report->json, value);
        return;
    }
    report_word(report, name, value ? "yes" : "no");
}

void report_word(struct report *report, const char *name, const char *word)
{
    if (report->form == REPORT_JSON) {
        json_key(report, name);
        json_key(report, word);
        return;
    }
    put_field(report, name, word, strlen(word));
}

void report_name(struct report *report, const char *name, const void *bytes, size_t length)
{
    if (report->form != REPORT_JSON) {
        put_field_name(report, name);
        put_quoted(report, bytes, length);
        put_field_end(report);
        return;
    }
    json_key(report, name);
    if (u8_check(bytes, length) == NULL) {
        json_text(report, bytes, length);
        return;
    }
    yajl_gen_null(report->json);
    char key[64];
    snprintf(key, sizeof key, "%s_hex", name);
    report_hex(report, key, bytes, length);
}

void report_hex(struct report *report, const char *name, const void *bytes, size_t length)
{
    static const char digit[] = "0123456789abcdef";
    char hex[2 * STRIPE_LENGTH];
    if (length > sizeof hex / 2)
        length = sizeof hex / 2;
    for (size_t i = 0; i < length; i++) {
        uint8_t byte = ((const uint8_t *)bytes)[i];
        hex[2 * i] = digit[byte >> 4];
        hex[2 * i + 1] = digit[byte & 15];
    }
    if (report->form == REPORT_JSON) {
        json_key(report, name);
        json_text(report, hex, 2 * length);
        return;
    }
    put_field(report, name, hex, 2 * length);
}

void report_uuid(struct report *report, const char *name, const uint8_t uuid[UUID_SIZE])
{
    static const uint8_t none[UUID_SIZE];
    if (report->form != REPORT_JSON && memcmp(uuid, none, UUID_SIZE) == 0) {
        report_word(report, name, "-");
        return;
    }
    char text[37];
    size_t at = 0;
    for (int i = 0; i < UUID_SIZE; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text[at++] = '-';
        at += (size_t)snprintf(text + at, 3, "%02x", uuid[i]);
    }
    report_word(report, name, text);
}

void report_mode(struct report *report, const char *name, uint32_t mode)
{
    if (report->form == REPORT_JSON) {
        report_number(report, name, mode);
        return;
    }
    char text[16];
    snprintf(text, sizeof text, "0%o", mode);
    report_word(report, name, text);
}

void report_time(struct report *report, const char *name, const struct timespec_item *time)
{
    int64_t sec = (int64_t)from_le64(time->sec);
    uint32_t nsec = from_le32(time->nsec);
    if (report->form == REPORT_JSON) {
        json_key(report, name);
        yajl_gen_map_open(report->json);
        report_signed(report, "sec", sec);
        report_number(report, "nsec", nsec);
        yajl_gen_map_close(report->json);
        return;
    }
    char text[40];
    snprintf(text, sizeof text, "%" PRId64 ".%09u", sec, nsec);
    report_word(report, name, text);
}

void report_flags(struct report *report, const char *name, uint64_t flags,
                  const char *(*name_of)(unsigned bit))
{
    char text[512] = "";
    size_t length = 0;
    uint64_t nameless = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
        const char *word = flags >> bit & 1 ? name_of(bit) : NULL;
        if (word && length < sizeof text - 64)
            length += (size_t)snprintf(text + length, 32, "%s%s", length ? "|" : "", word);
        else
            nameless |= flags & 1ULL << bit;
    }
    if (nameless)
        length += (size_t)snprintf(text + length, 32, "%s0x%" PRIx64, length ? "|" : "", nameless);
    if (!length)
        memcpy(text, "0", 2);
    if (report->form == REPORT_JSON) {
        report_number(report, name, flags);
        json_key_with(report, name, "_names");
        json_key(report, text);
        return;
    }
    report_word(report, name, text);
}

void report_named(struct report *report, const char *name, uint64_t value, const char *value_name)
{
    if (report->form == REPORT_JSON || !value_name)
        report_number(report, name, value);
    if (!value_name)
        return;
    if (report->form == REPORT_JSON) {
        json_key_with(report, name, "_name");
        json_key(report, value_name);
        return;
    }
    report_word(report, name, value_name);
}

void report_line(struct report *report, const char *format, ...)
{
    if (report->form == REPORT_JSON)
        return;
    end_line(report);
    put_spaces(report, report->indent);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(report->file, format, arguments);
    va_end(arguments);
    putc_unlocked('\n', report->file);
}
