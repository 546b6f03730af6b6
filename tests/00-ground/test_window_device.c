#include "device.h"

#include "fail.h"
#include "support.h"
#include "support_device.h"
#include "support_faults.h"
#include "support_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

START_TEST(keeps_the_rules)
{
    struct device *device, *under = make_memory(40000);
    expect_success(window_device_open(under, 5000, 20000, &device));
    check_device_rules(device, false);
    expect_failure(EOPNOTSUPP, "within a disk", device_resize(device, 100));
    device_close(device);
}
END_TEST

/* The bytes of the window are those of the disk at its place, and no others change. */
START_TEST(lies_within_the_disk)
{
    struct device *window, *disk = make_memory(1000);
    unsigned char bytes[1000];
    uint64_t size;
    expect_success(window_device_open(disk, 300, 0, &window));
    expect_success(device_size(window, &size));
    ck_assert_uint_eq(size, 700);
    expect_success(device_write(window, 0, memset(bytes, 1, 700), 700));
    expect_success(device_read(disk, 0, bytes, sizeof bytes));
    for (size_t i = 0; i < sizeof bytes; i++)
        expect(bytes[i] == (i >= 300), "byte %zu", i);
    device_close(window);
}
END_TEST

START_TEST(must_be_within)
{
    static const struct {
        uint64_t offset, length, size; /* size 0: refused */
    } cases[] = {
        {0, 1000, 1000}, {999, 1, 1},  {999, 0, 1},        {0, 1001, 0},
        {1, 1000, 0},    {1001, 0, 0}, {UINT64_MAX, 2, 0}, {500, UINT64_MAX, 0},
    };
    struct device *disk = make_memory(1000);
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct device *window;
        uint64_t size;
        if (!cases[i].size) {
            expect_failure(EINVAL, "pass the end at 1000",
                           window_device_open(disk, cases[i].offset, cases[i].length, &window));
            continue;
        }
        expect_success(window_device_open(disk, cases[i].offset, cases[i].length, &window));
        expect_success(device_size(window, &size));
        ck_assert_uint_eq(size, cases[i].size);
        device_close(window);
        disk = make_memory(1000);
    }
    faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, 0, 1});
    struct device *window;
    int result = window_device_open(disk, 0, 0, &window);
    faults_end();
    expect_failure(ENOMEM, "out of memory", result);
    device_close(disk);
}
END_TEST

/* A device that cannot tell its size. */
static int no_size(struct device *device, uint64_t *size)
{
    (void)device, (void)size;
    return fail(EIO, "no size");
}

START_TEST(size_unknown)
{
    struct device under = {.size = no_size}, *window;
    expect_failure(EIO, "no size", window_device_open(&under, 0, 0, &window));
}
END_TEST

/* --- partitions --------------------------------------------------------------------- */

/* A disk of 16 MiB with the table that this program makes of the script. */
static void make_disk_with(struct image *disk, const char *program, const char *script)
{
    char command[512];
    image_open_blank(disk, 16 << 20);
    snprintf(command, sizeof command, "printf '%s' | PATH=$PATH:/usr/sbin:/sbin %s /proc/%d/fd/%d",
             script, program, getpid(), disk->fd);
    ck_assert_int_eq(system(command), 0);
}

static void make_disk(struct image *disk, const char *script)
{
    make_disk_with(disk, "sfdisk -q", script);
}

static int open_partition(const struct image *disk, int number, struct device **partition)
{
    struct device *file;
    expect_success(file_device_open(disk->path, 0, &file));
    int result = partition_device_open(file, disk->path, number, partition);
    if (result < 0)
        device_close(file);
    return result;
}

static void check_partition(const struct image *disk, int number, uint64_t start, uint64_t size)
{
    struct device *partition;
    uint64_t told;
    uint16_t here = 0x55aa, there = 0;
    ck_assert_int_eq(pwrite(disk->fd, &here, sizeof here, (off_t)start), sizeof here);
    expect_success(open_partition(disk, number, &partition));
    expect_success(device_size(partition, &told));
    ck_assert_uint_eq(told, size);
    expect_success(device_read(partition, 0, &there, sizeof there));
    ck_assert_uint_eq(there, here);
    device_close(partition);
}

enum { MIB = 1 << 20 };

START_TEST(gpt)
{
    struct image disk;
    struct device *partition;
    make_disk(&disk, "label: gpt\\nstart=2048, size=4096\\n4: start=8192, size=8192\\n");
    check_partition(&disk, 1, MIB, 2 * MIB);
    check_partition(&disk, 4, 4 * MIB, 4 * MIB);
    expect_failure(ENOENT, "there is no partition 2; the table has 2",
                   open_partition(&disk, 2, &partition));
    image_close(&disk);
}
END_TEST

/* The image of a disk with longer sectors: its table lies elsewhere, and counts in them. */
START_TEST(gpt_of_long_sectors)
{
    struct image disk;
    struct device *partition;
    make_disk_with(&disk, "fdisk -b 4096 > /dev/null",
                   "g\\nn\\n1\\n256\\n767\\nn\\n2\\n1024\\n2047\\nw\\n");
    check_partition(&disk, 1, MIB, 2 * MIB);
    check_partition(&disk, 2, 4 * MIB, 4 * MIB);
    ck_assert_int_lt(open_partition(&disk, 3, &partition), 0);
    image_close(&disk);
}
END_TEST

/* Logical partitions are counted from 5, as the kernel does. */
START_TEST(mbr)
{
    struct image disk;
    struct device *partition;
    make_disk(&disk, "label: dos\\nstart=2048, size=4096, type=83\\n"
                     "start=8192, size=16384, type=5\\nstart=10240, size=2048, type=83\\n");
    check_partition(&disk, 1, MIB, 2 * MIB);
    check_partition(&disk, 5, 5 * MIB, 1 * MIB);
    expect_failure(ENOENT, "there is no partition 3", open_partition(&disk, 3, &partition));
    image_close(&disk);
}
END_TEST

/* A table that promises more than the file has; none at all; none that can be looked at. */
START_TEST(bad_tables)
{
    struct image disk;
    struct device *partition, *memory = make_memory(10);
    make_disk(&disk, "label: dos\\nstart=2048, size=16384, type=83\\n");
    ck_assert_int_eq(ftruncate(disk.fd, 4 * MIB), 0);
    expect_failure(EINVAL, "partition 1: offset 1048576 and length 8388608 pass the end",
                   open_partition(&disk, 1, &partition));
    image_close(&disk);

    image_open_blank(&disk, 16 * MIB);
    expect_failure(EINVAL, "there is no partition table", open_partition(&disk, 1, &partition));
    image_close(&disk);
    expect_failure(EINVAL, "cannot look for a partition table",
                   partition_device_open(memory, "/nonexistent", 1, &partition));
    device_close(memory);
}
END_TEST

/* libblkid runs out of memory: an error or the partition, and nothing is lost. */
START_TEST(no_memory_for_the_table)
{
    struct image disk;
    make_disk(&disk, "label: gpt\\nstart=2048, size=4096\\n");
    int64_t before = memory_pieces();
    uint64_t calls = 1, refused = 0;
    for (uint64_t n = 0; n < calls; n++) {
        struct device *partition, *file;
        expect_success(file_device_open(disk.path, 0, &file));
        faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, n, UINT64_MAX});
        int result = partition_device_open(file, disk.path, 1, &partition);
        calls = faults_end() + 1;
        refused += result < 0;
        device_close(result < 0 ? file : partition);
        expect(memory_pieces() == before, "call %ju: memory lost", (uintmax_t)n);
    }
    ck_assert_uint_gt(refused, 3);
    image_close(&disk);
}
END_TEST

SUITE(window_device, 20, keeps_the_rules, lies_within_the_disk, must_be_within, size_unknown, gpt,
      gpt_of_long_sectors, mbr, bad_tables, no_memory_for_the_table)
