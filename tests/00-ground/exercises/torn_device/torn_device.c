/* Exercise of chapter 00: a device whose power fails in the middle of a write.
 *
 *   a write of 8 bytes, kept = 3      under before  |old old old old old old old old|
 *                                     under after   |new new new old old old old old|
 *
 * torn_device.h says what it does. This stub passes every call on: write, flush and resize are
 * yours. */
#include "torn_device.h"

#include "fail.h"

#include <stdbool.h>
#include <stdlib.h>

struct torn_device {
    struct device device;
    struct device *under;
    uint64_t writes; /* that are still passed on whole */
    size_t kept;
    bool dead;
};

static int torn_read(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    return device_read(((struct torn_device *)device)->under, offset, buffer, length);
}

static int torn_write(struct device *device, uint64_t offset, const void *buffer, size_t length)
{
    return device_write(((struct torn_device *)device)->under, offset, buffer, length);
}

static int torn_flush(struct device *device)
{
    return device_flush(((struct torn_device *)device)->under);
}

static int torn_size(struct device *device, uint64_t *size)
{
    return device_size(((struct torn_device *)device)->under, size);
}

static int torn_resize(struct device *device, uint64_t size)
{
    return device_resize(((struct torn_device *)device)->under, size);
}

static void torn_close(struct device *device)
{
    device_close(((struct torn_device *)device)->under);
    free(device);
}

int torn_device_open(struct device *under, uint64_t writes, size_t kept, struct device **device)
{
    struct torn_device *torn = malloc(sizeof *torn);
    if (!torn)
        return fail(ENOMEM, "out of memory");
    *torn = (struct torn_device){
        .device = {torn_read, torn_write, torn_flush, torn_size, torn_resize, torn_close},
        .under = under,
        .writes = writes,
        .kept = kept,
    };
    *device = &torn->device;
    return 0;
}
