#include "device.h"

#include "fail.h"
#include "support.h"
#include "support_device.h"
#include "support_faults.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/coppice-test-XXXXXX";
static char path[64];

/* A file of `size` zeros in a folder of its own; remove_file takes both away. */
static void make_file(off_t size)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/image", folder);
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    ck_assert_int_eq(ftruncate(fd, size), 0);
    close(fd);
}

static void remove_file(void)
{
    unlink(path);
    rmdir(folder);
}

START_TEST(keeps_the_rules)
{
    make_file(20000);
    struct device *device;
    expect_success(file_device_open(path, 1, &device));
    check_device_rules(device, true);
    device_close(device);
    remove_file();
}
END_TEST

START_TEST(opened_for_reading)
{
    make_file(100);
    struct device *device;
    char bytes[100] = "x";
    expect_success(file_device_open(path, 0, &device));
    expect_success(device_read(device, 0, bytes, sizeof bytes));
    expect_failure(EBADF, "cannot write 1 bytes at 7", device_write(device, 7, bytes, 1));
    expect_failure(EINVAL, "cannot make the file 5 bytes long", device_resize(device, 5));
    expect_failure(EFBIG, "too long", device_resize(device, 1ULL << 63));
    device_close(device);
    remove_file();
}
END_TEST

/* What is no image is refused at once; nothing stays open. */
START_TEST(refused)
{
    make_file(0);
    char pipe[80];
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    const struct {
        const char *path;
        int error;
        const char *words;
    } cases[] = {
        {"/nonexistent/image", ENOENT, "No such file"},
        {"", ENOENT, "No such file"},
        {folder, EISDIR, "is a directory"},
        {pipe, EINVAL, "neither a regular file nor a block device"},
        {"/dev/null", EINVAL, "neither a regular file nor a block device"},
    };
    int before = open_files();
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct device *device;
        expect_failure(cases[i].error, cases[i].words, file_device_open(cases[i].path, 0, &device));
    }
    ck_assert_int_eq(open_files(), before);
    unlink(pipe);
    remove_file();
}
END_TEST

/* An interrupted call is repeated, one that does a part of the work is gone on with. */
START_TEST(short_transfers)
{
    make_file(4096);
    static const struct fault faults[] = {
        {.call = FAULT_READ, .way = FAULT_PART, .first = 0, .failing = 12},
        {.call = FAULT_READ, .error = EINTR, .first = 0, .failing = 3},
        {.call = FAULT_WRITE, .way = FAULT_PART, .first = 0, .failing = 12},
        {.call = FAULT_WRITE, .error = EINTR, .first = 0, .failing = 3},
    };
    struct dice dice = {5};
    for (size_t i = 0; i < LENGTH_OF(faults); i++) {
        struct device *device;
        unsigned char written[4096], read[4096] = {0};
        dice_fill(&dice, written, sizeof written);
        expect_success(file_device_open(path, 1, &device));
        faults_begin(&faults[i]);
        expect_success(device_write(device, 0, written, sizeof written));
        expect_success(device_read(device, 0, read, sizeof read));
        expect(faults_end() > faults[i].failing, "the fault did not strike");
        ck_assert_mem_eq(read, written, sizeof written);
        device_close(device);
    }
    remove_file();
}
END_TEST

START_TEST(failing_calls)
{
    make_file(4096);
    static const struct {
        struct fault fault;
        int error;
        const char *words;
    } cases[] = {
        {{FAULT_READ, FAULT_ERROR, EIO, 0, 1}, EIO, "cannot read 8 bytes at 16: Input/output"},
        {{FAULT_READ, FAULT_NONE, 0, 0, 1}, EIO, "cannot read 8 bytes at 16: the file ends there"},
        {{FAULT_WRITE, FAULT_ERROR, ENOSPC, 0, 1}, ENOSPC, "cannot write 8 bytes at 16: No space"},
        {{FAULT_WRITE, FAULT_NONE, 0, 0, 1}, EIO, "cannot write 8 bytes at 16: nothing was"},
        {{FAULT_FLUSH, FAULT_ERROR, EIO, 0, 1}, EIO, "cannot flush: Input/output error"},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct device *device;
        char bytes[8] = "";
        expect_success(file_device_open(path, 1, &device));
        faults_begin(&cases[i].fault);
        int result = cases[i].fault.call == FAULT_READ    ? device_read(device, 16, bytes, 8)
                     : cases[i].fault.call == FAULT_WRITE ? device_write(device, 16, bytes, 8)
                                                          : device_flush(device);
        faults_end();
        expect_failure(cases[i].error, cases[i].words, result);
        device_close(device);
    }
    remove_file();
}
END_TEST

/* Opening fails at every call that can, and leaves nothing open or allocated. */
START_TEST(failing_open)
{
    make_file(4096);
    static const struct {
        enum fault_call call;
        int error;
        const char *words;
    } cases[] = {
        {FAULT_STAT, EIO, "Input/output error"},
        {FAULT_SEEK, EIO, "cannot find its end"},
        {FAULT_MEMORY, ENOMEM, "out of memory"},
    };
    int files = open_files();
    int64_t pieces = memory_pieces();
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct device *device;
        faults_begin(&(struct fault){cases[i].call, FAULT_ERROR, cases[i].error, 0, 1});
        int result = file_device_open(path, 0, &device);
        faults_end();
        expect_failure(cases[i].error, cases[i].words, result);
    }
    ck_assert_int_eq(open_files(), files);
    ck_assert_int_eq(memory_pieces(), pieces);
    remove_file();
}
END_TEST

/* A file that became shorter behind our back: an error, and no bytes of nowhere. */
START_TEST(shrunk)
{
    make_file(4096);
    struct device *device;
    char bytes[4096];
    expect_success(file_device_open(path, 0, &device));
    ck_assert_int_eq(truncate(path, 1000), 0);
    expect_success(device_read(device, 0, bytes, 1000));
    expect_failure(EIO, "the file ends there", device_read(device, 0, bytes, 1001));
    device_close(device);
    remove_file();
}
END_TEST

SUITE(file_device, 20, keeps_the_rules, opened_for_reading, refused, short_transfers, failing_calls,
      failing_open, shrunk)
