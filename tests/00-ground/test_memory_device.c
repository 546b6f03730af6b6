#include "device.h"

#include "fail.h"
#include "support.h"
#include "support_device.h"
#include "support_faults.h"

START_TEST(keeps_the_rules)
{
    struct device *device = make_memory(20000);
    check_device_rules(device, true);
    device_close(device);
}
END_TEST

/* More than there can be: ENOMEM, and what was there stays. */
START_TEST(too_large)
{
    struct device *device;
    unsigned char byte = 7;
    for (uint64_t size = UINT64_MAX; size > 1ULL << 60; size /= 2)
        expect_failure(ENOMEM, "out of memory", memory_device_open(size, &device));
    device = make_memory(1);
    expect_success(device_write(device, 0, &byte, 1));
    for (uint64_t size = UINT64_MAX; size > 1ULL << 60; size /= 2)
        expect_failure(ENOMEM, "out of memory", device_resize(device, size));
    byte = 0;
    expect_success(device_read(device, 0, &byte, 1));
    ck_assert_uint_eq(byte, 7);
    device_close(device);
}
END_TEST

START_TEST(no_bytes_at_all)
{
    struct device *device = make_memory(0);
    uint64_t size = 1;
    expect_success(device_size(device, &size));
    ck_assert_uint_eq(size, 0);
    expect_success(device_read(device, 0, NULL, 0));
    expect_success(device_write(device, 0, NULL, 0));
    expect_success(device_resize(device, 5));
    expect_success(device_resize(device, 0));
    device_close(device);
}
END_TEST

START_TEST(no_memory)
{
    int64_t before = memory_pieces();
    for (uint64_t n = 0; n < 2; n++) {
        struct device *device;
        struct fault fault = {.call = FAULT_MEMORY, .error = ENOMEM, .first = n, .failing = 1};
        faults_begin(&fault);
        int result = memory_device_open(100, &device);
        faults_end();
        expect_failure(ENOMEM, "out of memory", result);
    }
    ck_assert_int_eq(memory_pieces(), before);
}
END_TEST

SUITE(memory_device, 20, keeps_the_rules, too_large, no_bytes_at_all, no_memory)
