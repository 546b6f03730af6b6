/* A device that is a part of another one: an image at an offset or in a partition of a disk. */
#include "device.h"
#include "fail.h"

#include <blkid/blkid.h>
#include <stdlib.h>

struct window_device {
    struct device device;
    struct device *under;
    uint64_t start;
    uint64_t length;
};

static int window_read(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    struct window_device *window = (struct window_device *)device;
    int result = device_check_range(window->length, offset, length, "read");
    return result < 0 ? result : device_read(window->under, window->start + offset, buffer, length);
}

static int window_write(struct device *device, uint64_t offset, const void *buffer, size_t length)
{
    struct window_device *window = (struct window_device *)device;
    int result = device_check_range(window->length, offset, length, "write");
    return result < 0 ? result
                      : device_write(window->under, window->start + offset, buffer, length);
}

static int window_flush(struct device *device)
{
    return device_flush(((struct window_device *)device)->under);
}

static int window_size(struct device *device, uint64_t *size)
{
    *size = ((struct window_device *)device)->length;
    return 0;
}

static int window_resize(struct device *device, uint64_t size)
{
    (void)device;
    return fail(EOPNOTSUPP, "cannot make an image within a disk %" PRIu64 " bytes long", size);
}

static void window_close(struct device *device)
{
    device_close(((struct window_device *)device)->under);
    free(device);
}

int window_device_open(struct device *under, uint64_t offset, uint64_t length,
                       struct device **device)
{
    uint64_t size;
    int result = device_size(under, &size);
    if (result < 0)
        return result;
    if (offset > size || length > size - offset)
        return fail(EINVAL, "offset %" PRIu64 " and length %" PRIu64 " pass the end at %" PRIu64,
                    offset, length, size);

    struct window_device *window = malloc(sizeof *window);
    if (!window)
        return fail(ENOMEM, "out of memory");
    *window = (struct window_device){
        .device = {window_read, window_write, window_flush, window_size, window_resize,
                   window_close},
        .under = under,
        .start = offset,
        .length = length ? length : size - offset,
    };
    *device = &window->device;
    return 0;
}

/* libblkid reads the table; it gives places in sectors of 512 bytes whatever the disk's own are. */
static int partition_find(blkid_probe probe, int number, uint64_t *start, uint64_t *length)
{
    blkid_probe_enable_partitions(probe, 1);
    blkid_partlist list = blkid_probe_get_partitions(probe);
    if (!list)
        return fail(EINVAL, "there is no partition table");
    int count = blkid_partlist_numof_partitions(list);
    for (int i = 0; i < count; i++) {
        blkid_partition partition = blkid_partlist_get_partition(list, i);
        if (blkid_partition_get_partno(partition) != number)
            continue;
        *start = (uint64_t)blkid_partition_get_start(partition) * 512;
        *length = (uint64_t)blkid_partition_get_size(partition) * 512;
        return *length ? 0 : fail(EINVAL, "partition %d is empty", number);
    }
    return fail(ENOENT, "there is no partition %d; the table has %d", number, count);
}

/* A GPT lies at the disk's second sector, and a file does not say how long the sectors of its disk
 * were: 512 bytes mostly, else 4096. */
static int partition_probe(const char *path, unsigned sector, int number, uint64_t *start,
                           uint64_t *length)
{
    blkid_probe probe = blkid_new_probe_from_filename(path);
    if (!probe)
        return fail(EINVAL, "cannot look for a partition table");
    int result = blkid_probe_set_sectorsize(probe, sector) < 0
                     ? fail(EINVAL, "cannot look in sectors of %u bytes", sector)
                     : partition_find(probe, number, start, length);
    blkid_free_probe(probe);
    return result;
}

int partition_device_open(struct device *under, const char *path, int number,
                          struct device **device)
{
    uint64_t start = 0, length = 0;
    int result = partition_probe(path, 512, number, &start, &length);
    if (result < 0)
        result = partition_probe(path, 4096, number, &start, &length);
    if (result < 0) /* again, for the message about the usual sectors */
        result = partition_probe(path, 512, number, &start, &length);
    if (result < 0)
        return result;
    result = window_device_open(under, start, length, device);
    return result < 0 ? fail_within(result, "partition %d", number) : 0;
}
