/* A device that keeps a record of what it is asked. */
#include "device.h"
#include "fail.h"

#include <stdlib.h>
#include <string.h>

struct recording_device {
    struct device device;
    struct device *under;
    struct device_event *events;
    size_t count;
    size_t capacity;
};

/* Makes room for one event first, so that nothing is done that cannot be recorded. */
static int recording_reserve(struct recording_device *recording)
{
    if (recording->count < recording->capacity)
        return 0;
    size_t capacity = recording->capacity ? 2 * recording->capacity : 64;
    struct device_event *events = realloc(recording->events, capacity * sizeof *events);
    if (!events)
        return fail(ENOMEM, "out of memory for the record of a device");
    recording->events = events;
    recording->capacity = capacity;
    return 0;
}

static int recording_read(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    struct recording_device *recording = (struct recording_device *)device;
    int result = recording_reserve(recording);
    if (result == 0)
        result = device_read(recording->under, offset, buffer, length);
    if (result == 0)
        recording->events[recording->count++] =
            (struct device_event){DEVICE_READ, offset, length, NULL};
    return result;
}

static int recording_write(struct device *device, uint64_t offset, const void *buffer,
                           size_t length)
{
    struct recording_device *recording = (struct recording_device *)device;
    int result = recording_reserve(recording);
    if (result < 0)
        return result;
    void *copy = malloc(length ? length : 1);
    if (!copy)
        return fail(ENOMEM, "out of memory for the record of a device");
    if (length > 0)
        memcpy(copy, buffer, length);
    result = device_write(recording->under, offset, buffer, length);
    if (result < 0)
        free(copy);
    else
        recording->events[recording->count++] =
            (struct device_event){DEVICE_WRITE, offset, length, copy};
    return result;
}

static int recording_flush(struct device *device)
{
    struct recording_device *recording = (struct recording_device *)device;
    int result = recording_reserve(recording);
    if (result == 0)
        result = device_flush(recording->under);
    if (result == 0)
        recording->events[recording->count++] = (struct device_event){.type = DEVICE_FLUSH};
    return result;
}

static int recording_size(struct device *device, uint64_t *size)
{
    return device_size(((struct recording_device *)device)->under, size);
}

static int recording_resize(struct device *device, uint64_t size)
{
    struct recording_device *recording = (struct recording_device *)device;
    int result = recording_reserve(recording);
    if (result == 0)
        result = device_resize(recording->under, size);
    if (result == 0)
        recording->events[recording->count++] =
            (struct device_event){.type = DEVICE_RESIZE, .offset = size};
    return result;
}

static void recording_close(struct device *device)
{
    struct recording_device *recording = (struct recording_device *)device;
    for (size_t i = 0; i < recording->count; i++)
        free(recording->events[i].data);
    free(recording->events);
    device_close(recording->under);
    free(recording);
}

int recording_device_open(struct device *under, struct device **device)
{
    struct recording_device *recording = malloc(sizeof *recording);
    if (!recording)
        return fail(ENOMEM, "out of memory");
    *recording = (struct recording_device){
        .device = {recording_read, recording_write, recording_flush, recording_size,
                   recording_resize, recording_close},
        .under = under,
    };
    *device = &recording->device;
    return 0;
}

const struct device_event *recording_device_events(const struct device *device, size_t *count)
{
    const struct recording_device *recording = (const struct recording_device *)device;
    *count = recording->count;
    return recording->events;
}
