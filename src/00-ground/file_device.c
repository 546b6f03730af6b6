/* A device that is a regular file or a block device. */
#include "device.h"
#include "fail.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_device {
    struct device device;
    int fd;
    uint64_t size; /* of the file when it was opened or last resized */
};

/* pread and pwrite may do a part of the work, or be interrupted before any: go on until all is
 * done. No bytes at all means that the file has become shorter. */
static int file_read(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    struct file_device *file = (struct file_device *)device;
    int result = device_check_range(file->size, offset, length, "read");
    if (result < 0)
        return result;
    for (size_t done = 0; done < length;) {
        ssize_t n = pread(file->fd, (char *)buffer + done, length - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail(n < 0 ? errno : EIO, "cannot read %zu bytes at %" PRIu64 ": %s", length,
                        offset, n < 0 ? strerror(errno) : "the file ends there");
        done += (size_t)n;
    }
    return 0;
}

static int file_write(struct device *device, uint64_t offset, const void *buffer, size_t length)
{
    struct file_device *file = (struct file_device *)device;
    int result = device_check_range(file->size, offset, length, "write");
    if (result < 0)
        return result;
    for (size_t done = 0; done < length;) {
        ssize_t n =
            pwrite(file->fd, (const char *)buffer + done, length - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail(n < 0 ? errno : EIO, "cannot write %zu bytes at %" PRIu64 ": %s", length,
                        offset, n < 0 ? strerror(errno) : "nothing was written");
        done += (size_t)n;
    }
    return 0;
}

static int file_flush(struct device *device)
{
    struct file_device *file = (struct file_device *)device;
    if (fdatasync(file->fd) < 0)
        return fail(errno, "cannot flush: %s", strerror(errno));
    return 0;
}

static int file_size(struct device *device, uint64_t *size)
{
    *size = ((struct file_device *)device)->size;
    return 0;
}

static int file_resize(struct device *device, uint64_t size)
{
    struct file_device *file = (struct file_device *)device;
    if (size > INT64_MAX)
        return fail(EFBIG, "cannot make the file %" PRIu64 " bytes long: too long", size);
    if (ftruncate(file->fd, (off_t)size) < 0)
        return fail(errno, "cannot make the file %" PRIu64 " bytes long: %s", size,
                    strerror(errno));
    file->size = size;
    return 0;
}

static void file_close(struct device *device)
{
    close(((struct file_device *)device)->fd);
    free(device);
}

/* The end of a block device is found by seeking; st_size is 0 there. */
static int file_measure(int fd, uint64_t *size)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return fail(errno, "%s", strerror(errno));
    if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))
        return fail(S_ISDIR(status.st_mode) ? EISDIR : EINVAL, "%s",
                    S_ISDIR(status.st_mode) ? "is a directory"
                                            : "is neither a regular file nor a block device");
    off_t end = lseek(fd, 0, SEEK_END);
    if (end < 0)
        return fail(errno, "cannot find its end: %s", strerror(errno));
    *size = (uint64_t)end;
    return 0;
}

/* Whether this loop device stands on the file, by whatever name. One that is not in use has no such
 * attribute. */
static bool is_loop_on(const char *loop, const struct stat *wanted)
{
    char path[PATH_MAX], line[PATH_MAX] = "";
    struct stat status;
    snprintf(path, sizeof path, "/sys/block/%s/loop/backing_file", loop);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    if (fgets(line, sizeof line, file))
        line[strcspn(line, "\n")] = '\0';
    fclose(file);
    return stat(line, &status) == 0 && status.st_dev == wanted->st_dev &&
           status.st_ino == wanted->st_ino;
}

/* Whether the file lies under a loop device, and so may be mounted. */
static bool is_loop_file(int fd)
{
    struct stat wanted;
    DIR *blocks = fstat(fd, &wanted) == 0 ? opendir("/sys/block") : NULL;
    bool found = false;
    for (struct dirent *entry; blocks && !found && (entry = readdir(blocks));)
        found = strncmp(entry->d_name, "loop", 4) == 0 && is_loop_on(entry->d_name, &wanted);
    if (blocks)
        closedir(blocks);
    return found;
}

/* One writer at a time: the lock ends with the descriptor. A device that is mounted has one. */
static int file_lock(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? fail(EBUSY, "is open for writing elsewhere")
                   : fail(errno, "cannot be locked for writing: %s", strerror(errno));
    if (is_loop_file(fd))
        return fail(EBUSY, "is in use by a loop device");
    return 0;
}

/* Takes over the descriptor: what is open there becomes a device, or is closed. */
static int file_device_of(int fd, bool writable, struct device **device)
{
    uint64_t size = 0;
    int result = file_measure(fd, &size);
    if (result == 0 && writable)
        result = file_lock(fd);
    struct file_device *file = result < 0 ? NULL : malloc(sizeof *file);
    if (!file) {
        close(fd);
        return result < 0 ? result : fail(ENOMEM, "out of memory");
    }
    *file = (struct file_device){
        .device = {file_read, file_write, file_flush, file_size, file_resize, file_close},
        .fd = fd,
        .size = size,
    };
    *device = &file->device;
    return 0;
}

int file_device_open(const char *path, bool writable, struct device **device)
{
    /* O_NONBLOCK: a pipe is to be refused, not waited for. O_EXCL: a block device that is mounted
     * answers EBUSY. */
    int flags = O_CLOEXEC | O_NONBLOCK | (writable ? O_RDWR : O_RDONLY);
    struct stat status;
    if (writable && stat(path, &status) == 0 && S_ISBLK(status.st_mode))
        flags |= O_EXCL;
    int fd = open(path, flags);
    if (fd < 0)
        return fail(errno, "%s", errno == EBUSY ? "is mounted or in use" : strerror(errno));
    return file_device_of(fd, writable, device);
}

int file_device_create(const char *path, struct device **device)
{
    int fd = open(path, O_CLOEXEC | O_RDWR | O_CREAT | O_EXCL, 0666);
    if (fd < 0)
        return fail(errno, "cannot be created: %s", strerror(errno));
    return file_device_of(fd, true, device);
}
