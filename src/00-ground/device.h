/* A device: an array of bytes that can be read, written, flushed and measured.
 *
 * This is the lowest seam of the house. All that is above knows a device by these functions alone,
 * so the same code runs on a file, on memory, on a device that keeps a record of what it is asked,
 * and on one that fails when a test wants it to. Each kind embeds struct device as its first
 * member.
 *
 * Rules: a read or write is whole or it failed; one that would pass the end of the device fails
 * with EIO and names offset and length. What was written is safe from a power cut only after a
 * flush. Every function returns 0 or the negative errno of fail().
 */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device {
    int (*read)(struct device *device, uint64_t offset, void *buffer, size_t length);
    int (*write)(struct device *device, uint64_t offset, const void *buffer, size_t length);
    int (*flush)(struct device *device);
    int (*size)(struct device *device, uint64_t *size);
    int (*resize)(struct device *device, uint64_t size);
    void (*close)(struct device *device); /* frees the device itself too */
};

int device_read(struct device *device, uint64_t offset, void *buffer, size_t length);
int device_write(struct device *device, uint64_t offset, const void *buffer, size_t length);
int device_flush(struct device *device);
int device_size(struct device *device, uint64_t *size);
int device_resize(struct device *device, uint64_t size);

/* Closes and frees; nothing happens for NULL. What must not be lost is flushed before. */
void device_close(struct device *device);

/* Fails unless [offset, offset + length) lies within `size` bytes: the check all kinds share. */
int device_check_range(uint64_t size, uint64_t offset, size_t length, const char *verb);

/* A regular file or block device. `writable` asks for writing, which only one can do at a time:
 * EBUSY when the file is open for writing by another, under a loop device, or mounted. The path
 * must name one of the two: a directory, a pipe or a terminal is refused. On success *device is the
 * caller's to close. */
int file_device_open(const char *path, bool writable, struct device **device);

/* A new, empty file for writing. EEXIST where there is one. */
int file_device_create(const char *path, struct device **device);

/* `size` bytes of memory, all zero. */
int memory_device_open(uint64_t size, struct device **device);

/* The bytes [offset, offset + length) of another device, as a device of its own: an image within a
 * disk. Length 0 takes all up to the end. Closes `under` when it is closed itself; after a failure
 * `under` is still the caller's. */
int window_device_open(struct device *under, uint64_t offset, uint64_t length,
                       struct device **device);

/* Partition `number` (from 1, as the kernel counts) of a disk with a GPT or MBR partition table, as
 * a window. `path` is the disk's file, `under` the device opened on it. */
int partition_device_open(struct device *under, const char *path, int number,
                          struct device **device);

/* --- for tests and the laboratory --------------------------------------------------- */

enum device_event_type { DEVICE_READ, DEVICE_WRITE, DEVICE_FLUSH, DEVICE_RESIZE };

/* One call that a recording device passed on. `data` holds what was written, else NULL. */
struct device_event {
    enum device_event_type type;
    uint64_t offset; /* of a resize: the new size */
    size_t length;
    void *data;
};

/* Passes every call on to `under` and keeps a record of it, failed calls excepted. Closes `under`
 * when it is closed. The record belongs to the device. */
int recording_device_open(struct device *under, struct device **device);
const struct device_event *recording_device_events(const struct device *device, size_t *count);

/* Passes calls on to `under` until `calls` of them are done, then fails every further one of the
 * kinds in `types` (bits 1 << DEVICE_READ ...) with `error`, and passes on none of them. Calls of
 * other kinds are not counted. Closes `under` when it is closed. */
int failing_device_open(struct device *under, unsigned types, uint64_t calls, int error,
                        struct device **device);

/* How many calls of the counted kinds a failing device has seen. */
uint64_t failing_device_calls(const struct device *device);

#endif
