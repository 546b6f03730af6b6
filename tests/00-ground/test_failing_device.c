#include "device.h"

#include "fail.h"
#include "support.h"
#include "support_device.h"
#include "support_faults.h"

static struct device *make_failing(struct device *under, unsigned types, uint64_t calls)
{
    struct device *device;
    expect_success(failing_device_open(under, types, calls, EIO, &device));
    return device;
}

START_TEST(keeps_the_rules_until_then)
{
    struct device *device = make_failing(make_memory(20000), ~0U, UINT64_MAX);
    check_device_rules(device, true);
    device_close(device);
}
END_TEST

static int call(struct device *device, enum device_event_type type)
{
    char byte = 'x';
    switch (type) {
    case DEVICE_READ:
        return device_read(device, 3, &byte, 1);
    case DEVICE_WRITE:
        return device_write(device, 3, &byte, 1);
    case DEVICE_FLUSH:
        return device_flush(device);
    case DEVICE_RESIZE:
        return device_resize(device, 100);
    }
    return 0;
}

/* Each kind alone: `calls` of it pass, every further one fails and is not passed on; the other
 * kinds pass for ever and are not counted. */
START_TEST(fails_from_a_call_on)
{
    for (enum device_event_type type = DEVICE_READ; type <= DEVICE_RESIZE; type++) {
        struct device *recording;
        expect_success(recording_device_open(make_memory(100), &recording));
        struct device *device = make_failing(recording, 1U << type, 3);
        for (unsigned round = 0; round < 5; round++)
            for (enum device_event_type kind = DEVICE_READ; kind <= DEVICE_RESIZE; kind++) {
                if (kind == type && round >= 3)
                    expect_failure(EIO, "Input/output error", call(device, kind));
                else
                    expect_success(call(device, kind));
            }
        size_t count;
        recording_device_events(recording, &count);
        ck_assert_uint_eq(count, 5 * 4 - 2);
        ck_assert_uint_eq(failing_device_calls(device), 5);
        device_close(device);
    }
}
END_TEST

START_TEST(no_memory)
{
    struct device *under = make_memory(10), *device;
    faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, 0, 1});
    int result = failing_device_open(under, 0, 0, EIO, &device);
    faults_end();
    expect_failure(ENOMEM, "out of memory", result);
    device_close(under);
}
END_TEST

SUITE(failing_device, 20, keeps_the_rules_until_then, fails_from_a_call_on, no_memory)
