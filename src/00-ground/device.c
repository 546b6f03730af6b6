#include "device.h"

#include "fail.h"

int device_read(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    return device->read(device, offset, buffer, length);
}

int device_write(struct device *device, uint64_t offset, const void *buffer, size_t length)
{
    return device->write(device, offset, buffer, length);
}

int device_flush(struct device *device)
{
    return device->flush(device);
}

int device_size(struct device *device, uint64_t *size)
{
    return device->size(device, size);
}

int device_resize(struct device *device, uint64_t size)
{
    return device->resize(device, size);
}

void device_close(struct device *device)
{
    if (device)
        device->close(device);
}

int device_check_range(uint64_t size, uint64_t offset, size_t length, const char *verb)
{
    /* Written so that offset + length cannot wrap around. */
    if (offset <= size && length <= size - offset)
        return 0;
    return fail(EIO, "%s of %zu bytes at %" PRIu64 " passes the end at %" PRIu64, verb, length,
                offset, size);
}
