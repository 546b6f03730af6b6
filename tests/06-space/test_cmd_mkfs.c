#include "mkfs.h"

#include "checksum.h"
#include "fail.h"
#include "support_audit.h"
#include "support_command.h"
#include "support_crash.h"
#include "support_device.h"
#include "support_image.h"
#include "support_space.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

#define UUID "--uuid=12345678-1234-4234-8234-123456789abc"

/* --- files
 * ----------------------------------------------------------------------------
 */

static char folder[] = "/tmp/mkfs-XXXXXX", path[64];

/* A path at which there is nothing. */
static const char *new_path(void)
{
    expect(mkdtemp(folder), "no folder");
    snprintf(path, sizeof path, "%s/image", folder);
    return path;
}

static void remove_all(void)
{
    unlink(path);
    expect(rmdir(folder) == 0, "something is left in %s", folder);
    strcpy(folder, "/tmp/mkfs-XXXXXX");
}

static bool exists(void)
{
    return access(path, F_OK) == 0;
}

static off_t file_size(void)
{
    struct stat status;
    expect(stat(path, &status) == 0, "no file");
    return status.st_size;
}

static void expect_image(void)
{
    char why[500];
    expect(audit_file(path, why, sizeof why) == 0, "%s", why);
}

static void make_file(off_t size)
{
    int fd = open(new_path(), O_CREAT | O_RDWR, 0644);
    expect(fd >= 0 && ftruncate(fd, size) == 0, "no file");
    close(fd);
}

static void put_byte(off_t offset, unsigned char byte)
{
    int fd = open(path, O_RDWR);
    ck_assert_int_eq(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

static void get_bytes(off_t offset, void *bytes, size_t length)
{
    int fd = open(path, O_RDONLY);
    ck_assert_int_eq(pread(fd, bytes, length, offset), (ssize_t)length);
    close(fd);
}

static struct superblock superblock_at(off_t offset)
{
    struct superblock super;
    get_bytes(offset, &super, sizeof super);
    return super;
}

static int make(const char *const words[])
{
    struct ran ran;
    run_words(&ran, path, words, NULL);
    ck_assert_uint_eq(ran.length, 0);
    ck_assert_int_eq(ran.leaked, 0);
    free(ran.out);
    return ran.result;
}

#define make_image(...) expect_success(make((const char *const[]){"mkfs", __VA_ARGS__, NULL}))

/* What libraries keep once they have been used is no leak. */
static void warm_up(void)
{
    struct tm parts = {0};
    uint8_t sum[CSUM_SIZE];
    for (uint16_t type = 0; type < 4; type++)
        csum_compute(type, "", 0, sum);
    timegm(&parts);
    new_path();
    make_image("--label=warm");
    remove_all();
}

/* --- what it makes
 * -------------------------------------------------------------------- */

START_TEST(new_file)
{
    int files = open_files();
    new_path();
    make_image("--label=name");
    expect_image();
    ck_assert_int_eq(file_size(), 18 * MIB);
    expect_output("\"name\"", path, "info");
    ck_assert_int_eq(open_files(), files);
    remove_all();
}
END_TEST

START_TEST(empty_file)
{
    make_file(0);
    make_image("--size=40M");
    ck_assert_int_eq(file_size(), 40 * MIB);
    expect_image();
    remove_all();
    make_file(30 * MIB);
    make_image("--metadata=single");
    ck_assert_int_eq(file_size(), 30 * MIB);
    ck_assert_uint_eq(from_le64(superblock_at(65536).total_bytes), 30 * MIB);
    expect_image();
    remove_all();
}
END_TEST

/* A file that is longer than what is asked for keeps its length. */
START_TEST(longer_file)
{
    make_file(50 * MIB + 1000);
    make_image("--size=40M");
    ck_assert_int_eq(file_size(), 50 * MIB + 1000);
    ck_assert_uint_eq(from_le64(superblock_at(65536).total_bytes), 40 * MIB);
    expect_image();
    remove_all();
}
END_TEST

START_TEST(all_options)
{
    static const char *const nodes[] = {NULL, "--node-size=4K", "--node-size=64K"};
    static const uint32_t sizes[] = {16384, 4096, 65536};
    static const char *const sums[] = {NULL, "--csum=xxhash64", "--csum=sha256", "--csum=blake2b"};
    static const char *const metadata[] = {NULL, "--metadata=single", "--metadata=dup"};
    static const char *const data[] = {NULL, "--data=dup"};
    static const char *const trees[] = {NULL, "--block-group-tree"};
    for (unsigned i = 0; i < 3 * 4 * 3 * 2 * 2; i += SANITIZED ? 7 : 1) {
        const char *const all[] = {nodes[i % 3], sums[i / 3 % 4], metadata[i / 12 % 3],
                                   data[i / 36 % 2], trees[i / 72]};
        const char *words[8] = {"mkfs"};
        unsigned count = 1;
        for (size_t j = 0; j < LENGTH_OF(all); j++)
            if (all[j])
                words[count++] = all[j];
        new_path();
        expect_success(make(words));
        expect_image();
        struct superblock super = superblock_at(65536);
        ck_assert_uint_eq(from_le16(super.csum_type), i / 3 % 4);
        ck_assert_uint_eq(from_le32(super.nodesize), sizes[i % 3]);
        ck_assert_int_eq((from_le64(super.compat_ro_flags) & COMPAT_RO_BLOCK_GROUP_TREE) != 0,
                         i / 72);
        remove_all();
    }
}
END_TEST

START_TEST(names_of_sums)
{
    static const char *const names[] = {"--csum=crc32c", "--csum=xxhash", "--csum=sha256",
                                        "--csum=blake2"};
    for (uint16_t i = 0; i < LENGTH_OF(names); i++) {
        new_path();
        make_image(names[i]);
        ck_assert_uint_eq(from_le16(superblock_at(65536).csum_type), i);
        remove_all();
    }
}
END_TEST

START_TEST(mixed)
{
    new_path();
    make_image("--mixed");
    expect_image();
    ck_assert_uint_eq(from_le32(superblock_at(65536).nodesize), 4096);
    ck_assert_int_le(file_size(), 16 * MIB);
    remove_all();
    new_path();
    make_image("--mixed", "--sector-size=16K", "--metadata=dup", "--data=dup");
    expect_image();
    ck_assert_uint_eq(from_le32(superblock_at(65536).nodesize), 16384);
    remove_all();
    new_path();
    make_image("--sector-size=64K");
    ck_assert_uint_eq(from_le32(superblock_at(65536).nodesize), 65536);
    expect_image();
    remove_all();
}
END_TEST

/* --- the same bytes
 * ------------------------------------------------------------------- */

static uint64_t file_digest(void)
{
    static unsigned char bytes[18 * MIB];
    le64 sum[CSUM_SIZE / sizeof(le64)];
    get_bytes(0, bytes, sizeof bytes);
    csum_compute(CSUM_TYPE_XXHASH, bytes, sizeof bytes, (uint8_t *)sum);
    return from_le64(sum[0]);
}

/* The time of birth of the tree of files. */
static struct timespec_item birth(void)
{
    struct volume volume;
    struct notes notes = {0};
    struct tree roots;
    struct path at = {0};
    struct device *device;
    struct key key = {FS_TREE_OBJECTID, ROOT_ITEM_KEY, 0};
    expect_success(file_device_open(path, false, &device));
    expect_success(volume_open(&volume, device, &notes));
    expect_success(volume_tree(&volume, ROOT_TREE_OBJECTID, &roots));
    ck_assert_int_eq(tree_search(&roots, &key, &at), 0);
    struct timespec_item time = ((struct root_item *)item_data(at.nodes[0], at.slots[0]))->otime;
    path_release(&roots, &at);
    volume_close(&volume);
    device_close(device);
    return time;
}

START_TEST(times)
{
    static const struct {
        const char *option;
        int64_t seconds;
        uint32_t nanoseconds;
    } cases[] = {
        {"--time=0", 0, 0},
        {"--time=1000000000", 1000000000, 0},
        {"--time=-5", -5, 0},
        {"--time=12.5", 12, 500000000},
        {"--time=12.000000001", 12, 1},
        {"--time=7.123456789", 7, 123456789},
        {"--time=12.", 12, 0},
        {"--time=2001-02-03T04:05:06Z", 981173106, 0},
        {"--time=1970-01-01T00:00:00Z", 0, 0},
        {"--time=1969-12-31T23:59:59Z", -1, 0},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        new_path();
        make_image(cases[i].option);
        struct timespec_item time = birth();
        expect((int64_t)from_le64(time.sec) == cases[i].seconds &&
                   from_le32(time.nsec) == cases[i].nanoseconds,
               "%s: %jd.%u", cases[i].option, (intmax_t)from_le64(time.sec), from_le32(time.nsec));
        remove_all();
    }
}
END_TEST

START_TEST(source_date_epoch)
{
    new_path();
    setenv("SOURCE_DATE_EPOCH", "86400", 1);
    make_image(UUID);
    ck_assert_uint_eq(from_le64(birth().sec), 86400);
    uint64_t digest = file_digest();
    remove_all();
    new_path();
    make_image(UUID, "--time=1970-01-02T00:00:00Z");
    ck_assert_uint_eq(file_digest(), digest);
    remove_all();
    new_path();
    make_image(UUID, "--time=86401");
    ck_assert_uint_eq(from_le64(birth().sec), 86401); /* the option counts */
    ck_assert_uint_ne(file_digest(), digest);
    remove_all();
    setenv("SOURCE_DATE_EPOCH", "yesterday", 1);
    new_path();
    expect_refusal(EXIT_USAGE, "'yesterday' is neither", path, "mkfs");
    ck_assert(!exists());
    remove_all();
    unsetenv("SOURCE_DATE_EPOCH");
    new_path();
    time_t before = time(NULL);
    make_image(UUID);
    ck_assert_int_ge((int64_t)from_le64(birth().sec), before);
    ck_assert_int_le((int64_t)from_le64(birth().sec), time(NULL));
    remove_all();
}
END_TEST

/* Without --uuid each is another. */
START_TEST(uuids)
{
    struct superblock supers[3];
    static const uint8_t wanted[] = {0x12, 0x34, 0x56, 0x78, 0x12, 0x34, 0x42, 0x34,
                                     0x82, 0x34, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc};
    for (int i = 0; i < 3; i++) {
        new_path();
        if (i == 2)
            make_image(UUID);
        else
            make_image("--label=x");
        supers[i] = superblock_at(65536);
        remove_all();
    }
    ck_assert_mem_ne(supers[0].fsid, supers[1].fsid, FSID_SIZE);
    ck_assert_mem_eq(supers[2].fsid, wanted, FSID_SIZE);
}
END_TEST

/* --- wrong usage
 * ---------------------------------------------------------------------- */

START_TEST(wrong_words)
{
    static const struct {
        const char *option, *words;
    } cases[] = {
        {"--size=abc", ""},
        {"--size=1M", "are too few"},
        {"--size=-1", ""},
        {"--node-size=5000", "node size 5000"},
        {"--node-size=8G", "too large"},
        {"--node-size=", ""},
        {"--node-size=2K", "node size 2048"},
        {"--sector-size=128K", "sector size 131072"},
        {"--csum=md5", "'md5' is not"},
        {"--csum=", "'' is not"},
        {"--metadata=raid1", "'raid1' is neither"},
        {"--data=", "'' is neither"},
        {"--uuid=123", "'123' is not a uuid"},
        {"--uuid=00000000-0000-0000-0000-000000000000", "is not a uuid"},
        {"--time=", "'' is neither"},
        {"--time=now", "'now' is neither"},
        {"--time= 5", "' 5' is neither"},
        {"--time=5x", "'5x' is neither"},
        {"--time=1.2.3", "is neither"},
        {"--time=.5", "'.5' is neither"},
        {"--time=1.1234567891", "is neither"},
        {"--time=99999999999999999999", "is neither"},
        {"--time=2001-02-03T04:05:06", "is neither"},
        {"--time=2001-13-03T04:05:06Z", "is neither"},
        {"--label=two\nlines", "one line"},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        new_path();
        expect_refusal(EXIT_USAGE, cases[i].words, path, "mkfs", cases[i].option);
        expect(!exists(), "%s: a file was made", cases[i].option);
        remove_all();
    }
    new_path();
    expect_refusal(EXIT_USAGE, "mixed", path, "mkfs", "--mixed", "--node-size=16K");
    expect_refusal(EXIT_USAGE, "mixed", path, "mkfs", "--mixed", "--data=dup");
    char label[300] = "--label=";
    memset(label + 8, 'x', 256);
    expect_refusal(EXIT_USAGE, "at most 255", path, "mkfs", label);
    ck_assert(!exists());
    label[8 + 255] = 0;
    make_image(label);
    expect_image();
    remove_all();
}
END_TEST

/* --- what is there already
 * ------------------------------------------------------------ */

START_TEST(not_empty)
{
    static const off_t places[] = {0, 1, 65535, MIB - 1};
    for (size_t i = 0; i < LENGTH_OF(places); i++) {
        make_file(30 * MIB);
        put_byte(places[i], 1);
        expect_refusal(-EEXIST, "is not empty; --force", path, "mkfs");
        unsigned char byte;
        get_bytes(places[i], &byte, 1);
        ck_assert_uint_eq(byte, 1);
        ck_assert_uint_eq(from_le64(superblock_at(65536).magic) == SUPERBLOCK_MAGIC, 0);
        make_image("--force");
        expect_image();
        remove_all();
    }
}
END_TEST

/* A short one with something in it is refused, and is not made longer. */
START_TEST(short_and_not_empty)
{
    make_file(100);
    put_byte(99, 7);
    expect_refusal(-EEXIST, "is not empty", path, "mkfs", "--size=30M");
    ck_assert_int_eq(file_size(), 100);
    make_image("--force", "--size=30M");
    ck_assert_int_eq(file_size(), 30 * MIB);
    expect_image();
    remove_all();
}
END_TEST

/* A file that is too short stays as it is. */
START_TEST(too_short)
{
    make_file(10 * MIB);
    expect_refusal(-EINVAL, "are too few", path, "mkfs");
    ck_assert_int_eq(file_size(), 10 * MIB);
    remove_all();
}
END_TEST

/* Of an older file system that was larger, with other chunks, no superblock is left. */
START_TEST(old_superblocks)
{
    new_path();
    make_image("--size=300M", "--label=old");
    ck_assert_uint_eq(from_le64(superblock_at(64 * MIB).magic), SUPERBLOCK_MAGIC);
    expect_refusal(-EEXIST, "is not empty", path, "mkfs", "--size=40M");
    make_image("--force", "--size=40M", "--label=new");
    expect_image();
    ck_assert_str_eq(superblock_at(65536).label, "new");
    expect(from_le64(superblock_at(64 * MIB).magic) != SUPERBLOCK_MAGIC,
           "the old superblock is at 64 MiB");
    make_image("--force", "--label=newer");
    expect_image();
    ck_assert_str_eq(superblock_at(64 * MIB).label, "newer");
    remove_all();
}
END_TEST

/* Bytes around a window do not change. */
START_TEST(window)
{
    enum { WHOLE = 40 * MIB, OFFSET = 3 * MIB, LENGTH = 30 * MIB };
    static unsigned char before[WHOLE], after[WHOLE];
    struct dice dice = {1};
    make_file(WHOLE);
    dice_fill(&dice, before, OFFSET);
    dice_fill(&dice, before + OFFSET + LENGTH, WHOLE - OFFSET - LENGTH);
    int fd = open(path, O_RDWR);
    ck_assert_int_eq(pwrite(fd, before, WHOLE, 0), WHOLE);
    close(fd);
    expect_refusal(-EOPNOTSUPP, "within a disk", path, "mkfs", "--offset=3M", "--size=38M");
    expect_refusal(-EEXIST, "is not empty", path, "mkfs", "--offset=2M", "--size=30M");
    make_image("--offset=3M", "--size=30M");
    get_bytes(0, after, WHOLE);
    ck_assert(memcmp(before, after, OFFSET) == 0);
    ck_assert(memcmp(before + OFFSET + LENGTH, after + OFFSET + LENGTH, WHOLE - OFFSET - LENGTH) ==
              0);
    struct device *file, *inside;
    char why[500];
    expect_success(file_device_open(path, false, &file));
    expect_success(window_device_open(file, OFFSET, 0, &inside));
    expect(audit_image(inside, why, sizeof why) == 0, "%s", why);
    device_close(inside);
    make_image("--offset=3M", "--size=29M", "--force");
    get_bytes(0, after, WHOLE);
    ck_assert(memcmp(before, after, OFFSET) == 0);
    ck_assert(memcmp(before + OFFSET + LENGTH, after + OFFSET + LENGTH, WHOLE - OFFSET - LENGTH) ==
              0);
    remove_all();
}
END_TEST

/* --- failures
 * ------------------------------------------------------------------------- */

START_TEST(second_writer)
{
    struct device *device;
    make_file(30 * MIB);
    expect_success(file_device_open(path, true, &device));
    expect_refusal(-EBUSY, "", path, "mkfs");
    expect_refusal(-EBUSY, "", path, "mkfs", "--force");
    device_close(device);
    make_image("--force");
    expect_image();
    remove_all();
}
END_TEST

START_TEST(no_such_folder)
{
    struct ran ran;
    run_command(&ran, "/tmp/there/is/no/such/folder", "mkfs");
    ck_assert_int_eq(ran.result, -ENOENT);
    free(ran.out);
    run_command(&ran, "/tmp", "mkfs");
    ck_assert_int_lt(ran.result, 0);
    free(ran.out);
}
END_TEST

/* Each call of each kind fails: a new file is gone again, unless all is well. */
static void check_new_file(const struct fault *kind, uint64_t stride)
{
    uint64_t from = kind->first;
    const char *const words[] = {"mkfs", UUID, "--time=0", "--node-size=4K", NULL};
    uint64_t struck = 0;
    for (uint64_t first = from;; first += stride) {
        struct fault fault = *kind;
        struct ran ran;
        fault.first = first;
        new_path();
        run_words(&ran, path, words, &fault);
        ck_assert_int_eq(ran.leaked, 0);
        free(ran.out);
        if (ran.result == 0) {
            expect_image();
        } else {
            expect(ran.result == -kind->error, "call %ju: %d: %s", (uintmax_t)first, ran.result,
                   fail_message());
            expect(!exists(), "call %ju: the file is left", (uintmax_t)first);
        }
        remove_all();
        if (ran.calls <= first)
            break;
        struck++;
    }
    expect(struck > 0, "no call was struck");
}

/* Pieces of memory that a file takes to be made. The C library's glob, by which its lock is found
 * out, frees one twice when it is refused one: nothing can be refused before. */
static uint64_t pieces_of_file(void)
{
    struct fault never = {FAULT_MEMORY, FAULT_ERROR, ENOMEM, UINT64_MAX, 0};
    struct device *device;
    new_path();
    faults_begin(&never);
    expect_success(file_device_create(path, &device));
    uint64_t pieces = faults_end();
    device_close(device);
    remove_all();
    return pieces;
}

START_TEST(removed_after_failure)
{
    uint64_t pieces = pieces_of_file();
    check_new_file(&(struct fault){FAULT_WRITE, FAULT_ERROR, EIO, 0, 1}, 1);
    check_new_file(&(struct fault){FAULT_WRITE, FAULT_ERROR, ENOSPC, 0, FAULTS_WITHOUT_END}, 1);
    check_new_file(&(struct fault){FAULT_FLUSH, FAULT_ERROR, EIO, 0, 1}, 1);
    check_new_file(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, pieces, 1},
                   SANITIZED ? 31 : 5);
}
END_TEST

/* A file that was there is left, whatever fails; the old file system is gone when it is forced. */
START_TEST(kept_after_failure)
{
    struct fault fault = {FAULT_WRITE, FAULT_ERROR, EIO, 3, 1};
    struct ran ran;
    make_file(30 * MIB);
    run_words(&ran, path, (const char *const[]){"mkfs", NULL}, &fault);
    ck_assert_int_eq(ran.result, -EIO);
    free(ran.out);
    ck_assert_int_eq(file_size(), 30 * MIB);
    make_image("--force", "--label=old");
    run_words(&ran, path, (const char *const[]){"mkfs", "--force", NULL}, &fault);
    ck_assert_int_eq(ran.result, -EIO);
    free(ran.out);
    expect(from_le64(superblock_at(65536).magic) != SUPERBLOCK_MAGIC, "an old superblock is left");
    make_image("--force");
    expect_image();
    remove_all();
}
END_TEST

SUITE_WITH(cmd_mkfs, 60, warm_up, new_file, empty_file, longer_file, all_options, names_of_sums,
           mixed, times, source_date_epoch, uuids, wrong_words, not_empty, short_and_not_empty,
           too_short, old_superblocks, window, second_writer, no_such_folder, removed_after_failure,
           kept_after_failure)
