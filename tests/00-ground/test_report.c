#include "report.h"

#include "fail.h"
#include "support.h"
#include "support_command.h"

#include <stdlib.h>
#include <string.h>

static const char *bit_name(unsigned bit)
{
    return bit == 0 ? "ZERO" : bit == 5 ? "FIVE" : NULL;
}

/* What `tell` reports in this form; the text stays until the next call. */
static const char *told(enum report_form form, void (*tell)(struct report *report))
{
    static char *text;
    size_t length;
    free(text);
    FILE *file = open_memstream(&text, &length);
    struct report report;
    expect_success(report_open(&report, file, form));
    tell(&report);
    report_close(&report);
    fclose(file);
    return text;
}

static void check_forms(void (*tell)(struct report *report), const char *lines, const char *columns,
                        const char *json)
{
    ck_assert_str_eq(told(REPORT_LINES, tell), lines);
    ck_assert_str_eq(told(REPORT_COLUMNS, tell), columns);
    const char *text = told(REPORT_JSON, tell);
    ck_assert_str_eq(text, json);
    ck_assert(is_json_lines(text, strlen(text)));
}

/* --- records ------------------------------------------------------------------------ */

static void tell_nested(struct report *report)
{
    for (uint64_t i = 1; i <= 2; i++) {
        report_begin(report, "tree");
        report_number(report, "id", i);
        report_list_begin(report, "leaves");
        report_begin(report, "leaf");
        report_number(report, "slot", 7);
        report_list_begin(report, "items");
        report_begin(report, "item");
        report_word(report, "type", "x");
        report_end(report);
        report_list_end(report);
        report_end(report);
        report_begin(report, NULL);
        report_end(report);
        report_list_end(report);
        report_end(report);
    }
}

START_TEST(records_and_lists)
{
    check_forms(tell_nested,
                "tree id 1\n  leaf slot 7\n    item type x\n  \n"
                "tree id 2\n  leaf slot 7\n    item type x\n  \n",
                "id                    1\n  leaf slot 7\n    item type x\n  \n"
                "id                    2\n  leaf slot 7\n    item type x\n  \n",
                "{\"what\":\"tree\",\"id\":1,\"leaves\":[{\"what\":\"leaf\",\"slot\":7,"
                "\"items\":[{\"what\":\"item\",\"type\":\"x\"}]},{}]}\n"
                "{\"what\":\"tree\",\"id\":2,\"leaves\":[{\"what\":\"leaf\",\"slot\":7,"
                "\"items\":[{\"what\":\"item\",\"type\":\"x\"}]},{}]}\n");
}
END_TEST

/* --- fields ------------------------------------------------------------------------- */

static void tell_numbers(struct report *report)
{
    report_begin(report, "r");
    report_number(report, "zero", 0);
    report_number(report, "most", UINT64_MAX);
    report_signed(report, "least", INT64_MIN);
    report_bool(report, "yes", true);
    report_bool(report, "no", false);
    report_mode(report, "mode", 0100644);
    report_mode(report, "none", 0);
    report_number(report, "a_name_longer_than_a_column", 1);
    report_end(report);
}

START_TEST(numbers)
{
    check_forms(tell_numbers,
                "r zero 0 most 18446744073709551615 least -9223372036854775808 yes yes no no "
                "mode 0100644 none 00 a_name_longer_than_a_column 1\n",
                "zero                  0\nmost                  18446744073709551615\n"
                "least                 -9223372036854775808\nyes                   yes\n"
                "no                    no\nmode                  0100644\n"
                "none                  00\na_name_longer_than_a_column 1\n",
                "{\"what\":\"r\",\"zero\":0,\"most\":18446744073709551615,"
                "\"least\":-9223372036854775808,\"yes\":true,\"no\":false,\"mode\":33188,"
                "\"none\":0,\"a_name_longer_than_a_column\":1}\n");
}
END_TEST

static void tell_values(struct report *report)
{
    const uint8_t none[UUID_SIZE] = {0};
    const uint8_t uuid[UUID_SIZE] = {0,    0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                     0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
    const struct timespec_item early = {to_le64((uint64_t)-1), to_le32(5)};
    report_begin(report, "r");
    report_uuid(report, "none", none);
    report_uuid(report, "uuid", uuid);
    report_time(report, "time", &early);
    report_hex(report, "hex", "\x01\xff", 2);
    report_hex(report, "empty", "", 0);
    report_flags(report, "no_flags", 0, bit_name);
    report_flags(report, "flags", 1ULL | 1ULL << 5 | 1ULL << 63, bit_name);
    report_flags(report, "nameless", 2, bit_name);
    report_named(report, "named", 3, "three");
    report_named(report, "unnamed", 4, NULL);
    report_end(report);
}

START_TEST(values)
{
    check_forms(
        tell_values,
        "r none - uuid 00112233-4455-6677-8899-aabbccddeeff time -1.000000005 hex 01ff empty  "
        "no_flags 0 flags ZERO|FIVE|0x8000000000000000 nameless 0x2 named three unnamed 4\n",
        "none                  -\nuuid                  00112233-4455-6677-8899-aabbccddeeff\n"
        "time                  -1.000000005\nhex                   01ff\n"
        "empty                 \nno_flags              0\n"
        "flags                 ZERO|FIVE|0x8000000000000000\nnameless              0x2\n"
        "named                 three\nunnamed               4\n",
        "{\"what\":\"r\",\"none\":\"00000000-0000-0000-0000-000000000000\","
        "\"uuid\":\"00112233-4455-6677-8899-aabbccddeeff\",\"time\":{\"sec\":-1,\"nsec\":5},"
        "\"hex\":\"01ff\",\"empty\":\"\",\"no_flags\":0,\"no_flags_names\":\"0\","
        "\"flags\":9223372036854775841,\"flags_names\":\"ZERO|FIVE|0x8000000000000000\","
        "\"nameless\":2,\"nameless_names\":\"0x2\",\"named\":3,\"named_name\":\"three\","
        "\"unnamed\":4}\n");
}
END_TEST

/* --- names -------------------------------------------------------------------------- */

static const char *name_bytes;
static size_t name_length;

static void tell_name(struct report *report)
{
    report_begin(report, "r");
    report_name(report, "name", name_bytes, name_length);
    report_end(report);
}

/* Whatever the bytes are: text is printable, JSON is JSON. */
START_TEST(names)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *text, *json;
    } cases[] = {
        {"plain", 5, "\"plain\"", "\"name\":\"plain\""},
        {"", 0, "\"\"", "\"name\":\"\""},
        {"a\"b\\c", 5, "\"a\\\"b\\\\c\"", "\"name\":\"a\\\"b\\\\c\""},
        {"\n\t\x1b[31m\x7f", 8, "\"\\x0a\\x09\\x1b[31m\\x7f\"",
         "\"name\":\"\\n\\t\\u001B[31m\x7f\""},
        {"a\0b", 3, "\"a\\x00b\"", "\"name\":\"a\\u0000b\""},
        {"gr\xc3\xbcn", 5, "\"gr\xc3\xbcn\"", "\"name\":\"gr\xc3\xbcn\""},
        {"\xf0\x9f\x8c\xb3", 4, "\"\xf0\x9f\x8c\xb3\"", "\"name\":\"\xf0\x9f\x8c\xb3\""},
        /* U+0080, a control character; U+00A0 is none. */
        {"\xc2\x80x", 3, "\"\\xc2\\x80x\"", "\"name\":\"\xc2\x80x\""},
        /* right-to-left override, line separator */
        {"a\xe2\x80\xae"
         "b",
         5, "\"a\\xe2\\x80\\xaeb\"",
         "\"name\":\"a\xe2\x80\xae"
         "b\""},
        {"\xe2\x80\xa8", 3, "\"\\xe2\\x80\\xa8\"", "\"name\":\"\xe2\x80\xa8\""},
        {"\xc2\xa0", 2, "\"\xc2\xa0\"", "\"name\":\"\xc2\xa0\""},
        /* Right to left, a line separator, a byte order mark: obeyed by a terminal, and not seen. */
        {"\xe2\x80\xae", 3, "\"\\xe2\\x80\\xae\"", "\"name\":\"\xe2\x80\xae\""},
        {"\xe2\x80\xa8", 3, "\"\\xe2\\x80\\xa8\"", "\"name\":\"\xe2\x80\xa8\""},
        {"\xef\xbb\xbf", 3, "\"\\xef\\xbb\\xbf\"", "\"name\":\"\xef\xbb\xbf\""},
        /* Only some of it is UTF-8. */
        {"\xc3\xbc\xff\xc3\xbc", 5, "\"\xc3\xbc\\xff\xc3\xbc\"",
         "\"name\":null,\"name_hex\":\"c3bcffc3bc\""},
        /* No UTF-8: latin 1; cut short; a surrogate; the long form of '/'. */
        {"gr\xfcn", 4, "\"gr\\xfcn\"", "\"name\":null,\"name_hex\":\"6772fc6e\""},
        {"\xc3", 1, "\"\\xc3\"", "\"name\":null,\"name_hex\":\"c3\""},
        {"\xed\xa0\x80", 3, "\"\\xed\\xa0\\x80\"", "\"name\":null,\"name_hex\":\"eda080\""},
        {"\xc0\xaf", 2, "\"\\xc0\\xaf\"", "\"name\":null,\"name_hex\":\"c0af\""},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        char text[128], json[128], columns[128];
        name_bytes = cases[i].bytes;
        name_length = cases[i].length;
        snprintf(text, sizeof text, "r name %s\n", cases[i].text);
        snprintf(columns, sizeof columns, "name                  %s\n", cases[i].text);
        snprintf(json, sizeof json, "{\"what\":\"r\",%s}\n", cases[i].json);
        check_forms(tell_name, text, columns, json);
    }
}
END_TEST

START_TEST(random_names)
{
    struct dice dice = {11};
    static char bytes[40];
    name_bytes = bytes;
    for (unsigned round = 0; round < 20000; round++) {
        name_length = dice_below(&dice, sizeof bytes);
        dice_fill(&dice, bytes, name_length);
        const char *text = told(REPORT_JSON, tell_name);
        expect(is_json_lines(text, strlen(text)), "no JSON: %s", text);
        text = told(REPORT_LINES, tell_name);
        expect(strcspn(text, "\n") + 1 == strlen(text), "no line: %s", text);
    }
}
END_TEST

/* --- limits ------------------------------------------------------------------------- */

static const char *long_name(unsigned bit)
{
    return bit < 63 ? "abcdefghijklmnopqrstuvw" : NULL;
}

static void tell_long(struct report *report)
{
    static const unsigned char bytes[3 * STRIPE_LENGTH];
    report_begin(report, "r");
    report_flags(report, "flags", UINT64_MAX, long_name);
    report_hex(report, "hex", bytes, sizeof bytes);
    report_end(report);
}

/* More than there is room for: names that do not fit become bits of the number at the end. */
START_TEST(long_values)
{
    const char *text = told(REPORT_LINES, tell_long);
    const char *number = strstr(text, "|0x");
    ck_assert_ptr_nonnull(number);
    uint64_t bits = strtoull(number + 1, NULL, 16), named = 0;
    for (const char *at = text; (at = strstr(at, "abcdefghijklmnopqrstuvw")); at++)
        named++;
    ck_assert_uint_ge(named, 16);
    ck_assert_uint_eq(bits, UINT64_MAX << named);
    ck_assert_uint_eq(strlen(strstr(text, "hex ")), 4 + 2 * STRIPE_LENGTH + 1);
}
END_TEST

static void tell_deep(struct report *report)
{
    for (int i = 0; i < 20; i++) {
        report_begin(report, "r");
        report_list_begin(report, "list");
    }
    for (int i = 0; i < 20; i++) {
        report_list_end(report);
        report_end(report);
    }
}

START_TEST(deep_nesting)
{
    const char *text = told(REPORT_JSON, tell_deep);
    ck_assert(is_json_lines(text, strlen(text)));
    ck_assert_ptr_nonnull(strstr(told(REPORT_LINES, tell_deep), "\n          r\n"));
}
END_TEST

static void tell_lines(struct report *report)
{
    report_begin(report, "r");
    report_number(report, "n", 1);
    report_list_begin(report, "list");
    report_line(report, "in %s", "between");
    report_begin(report, "s");
    report_end(report);
    report_list_end(report);
    report_end(report);
    report_line(report, "behind");
}

START_TEST(lines_of_text)
{
    check_forms(tell_lines, "r n 1\n  in between\n  s\nbehind\n",
                "n                     1\n  in between\n  s\nbehind\n",
                "{\"what\":\"r\",\"n\":1,\"list\":[{\"what\":\"s\"}]}\n");
}
END_TEST

/* yajl itself does not look whether it got memory: it must not need any. */
START_TEST(no_memory)
{
    struct fault fault = {FAULT_MEMORY, FAULT_ERROR, ENOMEM, 0, FAULTS_WITHOUT_END};
    struct report report;
    FILE *file = fopen("/dev/null", "w");
    setvbuf(file, NULL, _IONBF, 0);
    int64_t before = memory_pieces();
    faults_begin(&fault);
    int lines = report_open(&report, file, REPORT_LINES);
    tell_values(&report);
    report_close(&report);
    int json = report_open(&report, file, REPORT_JSON);
    faults_end();
    expect_success(lines);
    expect_failure(ENOMEM, "out of memory", json);

    fault.first = 1;
    faults_begin(&fault);
    json = report_open(&report, file, REPORT_JSON);
    tell_values(&report);
    tell_deep(&report);
    report_close(&report);
    faults_end();
    expect_success(json);
    ck_assert_int_eq(memory_pieces(), before);
    fclose(file);
}
END_TEST

SUITE(report, 20, records_and_lists, numbers, values, names, random_names, long_values,
      deep_nesting, lines_of_text, no_memory)
