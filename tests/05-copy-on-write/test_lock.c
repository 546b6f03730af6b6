#include "device.h"

#include "fail.h"
#include "support.h"
#include "support_device.h"
#include "support_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A file with a name, since a lock belongs to the file that was opened. */
static char path[] = "/tmp/coppice-lock-XXXXXX";

static void make_file(void)
{
    int fd = mkstemp(path);
    expect(fd >= 0 && ftruncate(fd, 8192) == 0, "no file");
    close(fd);
}

static void expect_locked(void)
{
    struct device *device;
    int files = open_files();
    expect_failure(EBUSY, "is open for writing elsewhere", file_device_open(path, true, &device));
    ck_assert_int_eq(open_files(), files);
}

static void expect_free(void)
{
    struct device *device;
    expect_success(file_device_open(path, true, &device));
    device_close(device);
}

/* One writes, and any number read. */
START_TEST(one_writer)
{
    struct device *writer, *reader, *other;
    char byte = 'x';
    make_file();
    expect_success(file_device_open(path, false, &reader));
    expect_success(file_device_open(path, true, &writer));
    expect_locked();
    expect_locked();
    expect_success(file_device_open(path, false, &other));
    expect_success(device_write(writer, 100, &byte, 1));
    byte = 0;
    expect_success(device_read(other, 100, &byte, 1));
    ck_assert_int_eq(byte, 'x');
    device_close(other);
    device_close(reader); /* gives nothing free */
    expect_locked();
    device_close(writer);
    expect_free();
    expect_free();
    unlink(path);
}
END_TEST

/* The same file by another name is the same file. */
START_TEST(other_name)
{
    struct device *writer, *device;
    char link_path[64];
    make_file();
    snprintf(link_path, sizeof link_path, "%s-link", path);
    ck_assert_int_eq(link(path, link_path), 0);
    expect_success(file_device_open(link_path, true, &writer));
    expect_locked();
    device_close(writer);
    unlink(link_path);
    ck_assert_int_eq(symlink(path, link_path), 0);
    expect_success(file_device_open(link_path, true, &writer));
    expect_locked();
    expect_failure(EBUSY, "is open for writing elsewhere",
                   file_device_open(link_path, true, &device));
    device_close(writer);
    expect_free();
    unlink(link_path);
    unlink(path);
}
END_TEST

/* What the child finds: 0 it could be opened, 1 it is locked, 2 another error. */
static int try_in_child(bool writable)
{
    int status;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct device *device;
        int result = file_device_open(path, writable, &device);
        _exit(result == 0 ? 0 : result == -EBUSY ? 1 : 2);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(other_process)
{
    struct device *writer;
    make_file();
    ck_assert_int_eq(try_in_child(true), 0); /* and the lock ends with the child */
    expect_success(file_device_open(path, true, &writer));
    ck_assert_int_eq(try_in_child(true), 1);
    ck_assert_int_eq(try_in_child(false), 0);
    device_close(writer);
    ck_assert_int_eq(try_in_child(true), 0);
    unlink(path);
}
END_TEST

/* A writer that is killed leaves no lock. */
START_TEST(killed)
{
    int ready[2], status;
    char byte;
    make_file();
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct device *device;
        int result = file_device_open(path, true, &device);
        if (result == 0 && write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    expect_locked();
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    expect_free();
    close(ready[0]);
    close(ready[1]);
    unlink(path);
}
END_TEST

/* A file that must not be written can be read; root may write all files, and is no judge. */
START_TEST(read_only)
{
    struct device *device;
    char byte = 0;
    make_file();
    ck_assert_int_eq(chmod(path, 0444), 0);
    expect_success(file_device_open(path, false, &device));
    expect_success(device_read(device, 0, &byte, 1));
    int result = device_write(device, 0, &byte, 1);
    ck_assert_int_eq(result, -EBADF);
    device_close(device);
    if (geteuid() != 0)
        expect_failure(EACCES, "Permission denied", file_device_open(path, true, &device));
    int files = open_files();
    expect_failure(ENOENT, "No such file", file_device_open("/nowhere", true, &device));
    ck_assert_int_eq(open_files(), files);
    unlink(path);
}
END_TEST

SUITE(lock, 30, one_writer, other_name, other_process, killed, read_only)
