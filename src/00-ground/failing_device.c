/* A device that fails from a chosen call on. */
#include "device.h"
#include "fail.h"

#include <stdlib.h>
#include <string.h>

struct failing_device {
    struct device device;
    struct device *under;
    unsigned types;
    uint64_t allowed;
    uint64_t seen;
    int error;
};

static int failing_gate(struct failing_device *failing, enum device_event_type type,
                        const char *verb, uint64_t offset)
{
    if (!(failing->types & 1U << type) || failing->seen++ < failing->allowed)
        return 0;
    return fail(failing->error, "cannot %s at %" PRIu64 ": %s", verb, offset,
                strerror(failing->error));
}

static int failing_read(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    struct failing_device *failing = (struct failing_device *)device;
    int result = failing_gate(failing, DEVICE_READ, "read", offset);
    return result < 0 ? result : device_read(failing->under, offset, buffer, length);
}

static int failing_write(struct device *device, uint64_t offset, const void *buffer, size_t length)
{
    struct failing_device *failing = (struct failing_device *)device;
    int result = failing_gate(failing, DEVICE_WRITE, "write", offset);
    return result < 0 ? result : device_write(failing->under, offset, buffer, length);
}

static int failing_flush(struct device *device)
{
    struct failing_device *failing = (struct failing_device *)device;
    int result = failing_gate(failing, DEVICE_FLUSH, "flush", 0);
    return result < 0 ? result : device_flush(failing->under);
}

static int failing_size(struct device *device, uint64_t *size)
{
    return device_size(((struct failing_device *)device)->under, size);
}

static int failing_resize(struct device *device, uint64_t size)
{
    struct failing_device *failing = (struct failing_device *)device;
    int result = failing_gate(failing, DEVICE_RESIZE, "resize", size);
    return result < 0 ? result : device_resize(failing->under, size);
}

static void failing_close(struct device *device)
{
    device_close(((struct failing_device *)device)->under);
    free(device);
}

int failing_device_open(struct device *under, unsigned types, uint64_t calls, int error,
                        struct device **device)
{
    struct failing_device *failing = malloc(sizeof *failing);
    if (!failing)
        return fail(ENOMEM, "out of memory");
    *failing = (struct failing_device){
        .device = {failing_read, failing_write, failing_flush, failing_size, failing_resize,
                   failing_close},
        .under = under,
        .types = types,
        .allowed = calls,
        .error = error,
    };
    *device = &failing->device;
    return 0;
}

uint64_t failing_device_calls(const struct device *device)
{
    return ((const struct failing_device *)device)->seen;
}
