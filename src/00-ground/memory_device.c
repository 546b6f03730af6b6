/* A device in memory: the stand-in for a file, and what tests run on. */
#include "device.h"
#include "fail.h"

#include <stdlib.h>
#include <string.h>

struct memory_device {
    struct device device;
    uint64_t size;
    unsigned char *bytes;
};

static int memory_read(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    struct memory_device *memory = (struct memory_device *)device;
    int result = device_check_range(memory->size, offset, length, "read");
    if (result == 0 && length > 0)
        memcpy(buffer, memory->bytes + offset, length);
    return result;
}

static int memory_write(struct device *device, uint64_t offset, const void *buffer, size_t length)
{
    struct memory_device *memory = (struct memory_device *)device;
    int result = device_check_range(memory->size, offset, length, "write");
    if (result == 0 && length > 0)
        memcpy(memory->bytes + offset, buffer, length);
    return result;
}

static int memory_flush(struct device *device)
{
    (void)device;
    return 0;
}

static int memory_size(struct device *device, uint64_t *size)
{
    *size = ((struct memory_device *)device)->size;
    return 0;
}

static int memory_resize(struct device *device, uint64_t size)
{
    struct memory_device *memory = (struct memory_device *)device;
    /* One byte at least, so that NULL means failure alone. */
    unsigned char *bytes = size < SIZE_MAX ? realloc(memory->bytes, size + 1) : NULL;
    if (!bytes)
        return fail(ENOMEM, "out of memory for a device of %" PRIu64 " bytes", size);
    if (size > memory->size)
        memset(bytes + memory->size, 0, size - memory->size);
    memory->bytes = bytes;
    memory->size = size;
    return 0;
}

static void memory_close(struct device *device)
{
    free(((struct memory_device *)device)->bytes);
    free(device);
}

int memory_device_open(uint64_t size, struct device **device)
{
    struct memory_device *memory = malloc(sizeof *memory);
    if (!memory)
        return fail(ENOMEM, "out of memory");
    *memory = (struct memory_device){
        .device = {memory_read, memory_write, memory_flush, memory_size, memory_resize,
                   memory_close},
    };
    /* calloc takes untouched pages from the system: a large empty device costs nothing. */
    memory->bytes = size < SIZE_MAX ? calloc(1, size + 1) : NULL;
    if (!memory->bytes) {
        free(memory);
        return fail(ENOMEM, "out of memory for a device of %" PRIu64 " bytes", size);
    }
    memory->size = size;
    *device = &memory->device;
    return 0;
}
