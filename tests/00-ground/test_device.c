#include "device.h"

#include "fail.h"
#include "support.h"

START_TEST(ranges)
{
    static const struct {
        uint64_t size, offset;
        size_t length;
        int within;
    } cases[] = {
        {0, 0, 0, 1},
        {0, 0, 1, 0},
        {100, 0, 100, 1},
        {100, 100, 0, 1},
        {100, 99, 1, 1},
        {100, 100, 1, 0},
        {100, 101, 0, 0},
        {100, 1, 100, 0},
        {100, UINT64_MAX, 2, 0},
        {100, 1, SIZE_MAX, 0},
        {UINT64_MAX, UINT64_MAX, 0, 1},
        {UINT64_MAX, UINT64_MAX, 1, 0},
        {UINT64_MAX, 1, SIZE_MAX - 1, 1},
        {UINT64_MAX, 2, SIZE_MAX - 1, 0},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        int result = device_check_range(cases[i].size, cases[i].offset, cases[i].length, "read");
        expect(result == (cases[i].within ? 0 : -EIO), "case %zu: %d", i, result);
    }
    expect_failure(EIO, "write of 8 bytes at 96 passes the end at 100",
                   device_check_range(100, 96, 8, "write"));
}
END_TEST

START_TEST(closing_none)
{
    device_close(NULL);
}
END_TEST

SUITE(device, 10, ranges, closing_none)
