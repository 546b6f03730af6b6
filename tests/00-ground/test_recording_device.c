#include "device.h"

#include "fail.h"
#include "support.h"
#include "support_device.h"
#include "support_faults.h"

#include <string.h>

static struct device *make_recording(struct device *under)
{
    struct device *device;
    expect_success(recording_device_open(under, &device));
    return device;
}

START_TEST(keeps_the_rules)
{
    struct device *device = make_recording(make_memory(20000));
    check_device_rules(device, true);
    device_close(device);
}
END_TEST

/* Every call in order, with a copy of what was written then. */
START_TEST(calls_in_order)
{
    struct device *device = make_recording(make_memory(100));
    char bytes[8] = "before!";
    expect_success(device_write(device, 8, bytes, sizeof bytes));
    strcpy(bytes, "behind!");
    expect_success(device_read(device, 0, bytes, 4));
    expect_success(device_flush(device));
    expect_success(device_resize(device, 50));
    expect_success(device_write(device, 50, bytes, 0));

    size_t count;
    const struct device_event *events = recording_device_events(device, &count);
    ck_assert_uint_eq(count, 5);
    static const struct device_event right[] = {{DEVICE_WRITE, 8, 8, NULL},
                                                {DEVICE_READ, 0, 4, NULL},
                                                {DEVICE_FLUSH, 0, 0, NULL},
                                                {DEVICE_RESIZE, 50, 0, NULL},
                                                {DEVICE_WRITE, 50, 0, NULL}};
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(events[i].type, right[i].type);
        ck_assert_uint_eq(events[i].offset, right[i].offset);
        ck_assert_uint_eq(events[i].length, right[i].length);
        ck_assert_int_eq(events[i].data != NULL, right[i].type == DEVICE_WRITE);
    }
    ck_assert_str_eq(events[0].data, "before!");
    device_close(device);
}
END_TEST

/* What failed is not in the record. */
START_TEST(failed_calls)
{
    struct device *failing;
    unsigned all = 1 << DEVICE_READ | 1 << DEVICE_WRITE | 1 << DEVICE_FLUSH | 1 << DEVICE_RESIZE;
    expect_success(failing_device_open(make_memory(100), all, 0, EIO, &failing));
    struct device *device = make_recording(failing);
    char bytes[8] = "";
    size_t count;
    expect_failure(EIO, "cannot read", device_read(device, 0, bytes, 8));
    expect_failure(EIO, "cannot write", device_write(device, 0, bytes, 8));
    expect_failure(EIO, "cannot flush", device_flush(device));
    expect_failure(EIO, "cannot resize", device_resize(device, 8));
    recording_device_events(device, &count);
    ck_assert_uint_eq(count, 0);
    device_close(device);
}
END_TEST

/* Where there is no memory for the record, nothing is done either; later calls are as before. */
START_TEST(no_memory)
{
    int64_t before = memory_pieces();
    struct device *under = make_memory(100), *device;
    static const struct fault fault = {FAULT_MEMORY, FAULT_ERROR, ENOMEM, 0, FAULTS_WITHOUT_END};
    faults_begin(&fault);
    int result = recording_device_open(under, &device);
    faults_end();
    expect_failure(ENOMEM, "out of memory", result);
    device = make_recording(under);

    char bytes[8] = "written";
    for (size_t done = 0; done < 200; done++) {
        faults_begin(&fault);
        int write = device_write(device, 0, "nothing", 8);
        bool is_full = device_read(device, 0, bytes, 8) < 0; /* grows at 0, 64, 128 ... */
        int flush = is_full ? device_flush(device) : -ENOMEM;
        int resize = is_full ? device_resize(device, 7) : -ENOMEM;
        faults_end();
        expect(write == -ENOMEM && flush == -ENOMEM && resize == -ENOMEM, "%s", fail_message());
        expect_success(device_write(device, 0, "written", 8));
        expect_success(device_read(device, 0, bytes, 8));
        ck_assert_str_eq(bytes, "written");
    }
    device_close(device);
    ck_assert_int_eq(memory_pieces(), before);
}
END_TEST

SUITE(recording_device, 20, keeps_the_rules, calls_in_order, failed_calls, no_memory)
