#include "command.h"

#include "fail.h"
#include "support.h"
#include "support_device.h"
#include "support_image.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

START_TEST(numbers)
{
    static const struct {
        const char *text;
        uint64_t value;
    } right[] = {
        {"0", 0},
        {"4096", 4096},
        {"0x1000", 4096},
        {"0XfF", 255},
        {"007", 7},
        {"4K", 4096},
        {"4k", 4096},
        {"16M", 16 << 20},
        {"1G", 1 << 30},
        {"2T", 1ULL << 41},
        {"3P", 3ULL << 50},
        {"15E", 15ULL << 60},
        {"0x10K", 16384},
        {"18446744073709551615", UINT64_MAX},
        {"0xffffffffffffffff", UINT64_MAX},
    };
    for (size_t i = 0; i < LENGTH_OF(right); i++) {
        uint64_t value = 1;
        expect_success(parse_number(right[i].text, &value));
        ck_assert_uint_eq(value, right[i].value);
    }
    static const char *const wrong[] = {
        "",
        " 1",
        "-1",
        "+1",
        "x",
        "0x",
        "4B",
        "4KB",
        "4KK",
        "1.5K",
        "4 K",
        "K",
        "1 ",
        "0xg",
        "1e3",
        "18446744073709551616",
        "0x10000000000000000",
        "16E",
        "18014398509481984K",
    };
    for (size_t i = 0; i < LENGTH_OF(wrong); i++) {
        uint64_t value = 7;
        expect_failure(EINVAL, wrong[i], parse_number(wrong[i], &value));
        ck_assert_uint_eq(value, 7);
    }
}
END_TEST

START_TEST(options)
{
    struct invocation invocation = {
        .options = {{"offset", "4K"}, {"json", ""}, {"offset", "8K"}, {"size", "many"}},
        .noptions = 4,
    };
    uint64_t number = 5;
    ck_assert_str_eq(invocation_option(&invocation, "offset"), "8K");
    ck_assert_str_eq(invocation_option(&invocation, "json"), "");
    ck_assert_ptr_null(invocation_option(&invocation, "off"));
    ck_assert_int_eq(invocation_number(&invocation, "offset", &number), 0);
    ck_assert_uint_eq(number, 8192);
    ck_assert_int_eq(invocation_number(&invocation, "absent", &number), 0);
    ck_assert_uint_eq(number, 8192);
    ck_assert_int_eq(invocation_number(&invocation, "size", &number), EXIT_USAGE);
    ck_assert_str_eq(fail_message(), "--size: 'many' is not a number");
}
END_TEST

/* A message of any length. */
START_TEST(usage)
{
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    ck_assert_int_eq(wrong_usage("%s", longer), EXIT_USAGE);
    ck_assert_int_eq(strncmp(fail_message(), "xxxx", 4), 0);
    ck_assert_int_eq(wrong_usage("it is %d", 5), EXIT_USAGE);
    ck_assert_str_eq(fail_message(), "it is 5");
}
END_TEST

/* --- opening ------------------------------------------------------------------------ */

static int open_with(const struct image *image, const char *offset, const char *partition,
                     struct device **device)
{
    struct invocation invocation = {.image = image->path};
    if (offset)
        invocation.options[invocation.noptions].name = "offset";
    if (offset)
        invocation.options[invocation.noptions++].value = offset;
    if (partition)
        invocation.options[invocation.noptions].name = "partition";
    if (partition)
        invocation.options[invocation.noptions++].value = partition;
    return invocation_open(&invocation, false, device);
}

/* The whole file, the rest of it from an offset, a partition; each alone. */
START_TEST(places)
{
    struct image image;
    image_open_blank(&image, 8 << 20);
    char command[128];
    snprintf(command, sizeof command,
             "echo start=2048, size=2048 | PATH=$PATH:/usr/sbin sfdisk -q -X gpt /proc/%d/fd/%d",
             getpid(), image.fd);
    ck_assert_int_eq(system(command), 0);
    static const struct {
        const char *offset, *partition;
        uint64_t size; /* 0: refused */
        int result;
        const char *words;
    } cases[] = {
        {NULL, NULL, 8 << 20, 0, ""},
        {"0", NULL, 8 << 20, 0, ""},
        {"1M", NULL, 7 << 20, 0, ""},
        {NULL, "1", 1 << 20, 0, ""},
        {NULL, "2", 0, -ENOENT, "there is no partition 2"},
        {"8388609", NULL, 0, -EINVAL, "offset 8388609"},
        {"x", NULL, 0, EXIT_USAGE, "--offset: 'x' is not a number"},
        {NULL, "x", 0, EXIT_USAGE, "--partition: 'x' is not a number"},
        {NULL, "0", 0, EXIT_USAGE, "partitions are counted from 1"},
        {NULL, "2147483648", 0, EXIT_USAGE, "partitions are counted from 1"},
        {"0", "1", 0, EXIT_USAGE, "exclude each other"},
    };
    int files = open_files();
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct device *device;
        uint64_t size = 0;
        int result = open_with(&image, cases[i].offset, cases[i].partition, &device);
        expect(result == cases[i].result, "case %zu: %d: %s", i, result, fail_message());
        if (result == 0) {
            expect_success(device_size(device, &size));
            device_close(device);
        } else
            expect(strstr(fail_message(), cases[i].words), "case %zu: %s", i, fail_message());
        ck_assert_uint_eq(size, cases[i].size);
    }
    ck_assert_int_eq(open_files(), files);
    image_close(&image);

    struct device *device;
    struct invocation nowhere = {.image = "/nonexistent"};
    expect_failure(ENOENT, "No such file", invocation_open(&nowhere, false, &device));
}
END_TEST

SUITE(command, 20, numbers, options, usage, places)
