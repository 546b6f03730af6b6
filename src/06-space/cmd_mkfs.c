/* coppice mkfs IMAGE: makes an empty file system. */
#include "checksum.h"
#include "command.h"
#include "fail.h"
#include "mkfs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

/* --- options ------------------------------------------------------------------------ */

static int read_size32(const struct invocation *invocation, const char *name, uint32_t *value)
{
    uint64_t number = *value;
    int result = invocation_number(invocation, name, &number);
    if (result == 0 && number > UINT32_MAX)
        return wrong_usage("--%s: %" PRIu64 " is too large", name, number);
    *value = (uint32_t)number;
    return result;
}

static int read_csum(const struct invocation *invocation, uint16_t *type)
{
    static const char *const other_names[] = {"crc32c", "xxhash", "sha256", "blake2"};
    const char *text = invocation_option(invocation, "csum");
    if (!text)
        return 0;
    for (*type = 0; *type < LENGTH_OF(other_names); (*type)++)
        if (strcmp(text, csum_name(*type)) == 0 || strcmp(text, other_names[*type]) == 0)
            return 0;
    return wrong_usage("--csum: '%s' is not crc32c, xxhash64, sha256 or blake2b", text);
}

static int read_profile(const struct invocation *invocation, const char *name, bool *is_dup)
{
    const char *text = invocation_option(invocation, name);
    if (!text)
        return 0;
    *is_dup = strcmp(text, "dup") == 0;
    return *is_dup || strcmp(text, "single") == 0
               ? 0
               : wrong_usage("--%s: '%s' is neither single nor dup", name, text);
}

static int read_uuid(const struct invocation *invocation, uint8_t fsid[FSID_SIZE])
{
    const char *text = invocation_option(invocation, "uuid");
    if (!text)
        uuid_generate_random(fsid);
    else if (uuid_parse(text, fsid) < 0 || uuid_is_null(fsid))
        return wrong_usage("--uuid: '%s' is not a uuid", text);
    return 0;
}

/* Seconds since 1970 with up to nine digits behind the point, or a date and time of UTC. */
static int parse_time(const char *text, struct timespec_item *time)
{
    struct tm parts = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (end && !*end) {
        *time = (struct timespec_item){.sec = to_le64((uint64_t)timegm(&parts))};
        return 0;
    }
    char *point;
    errno = 0;
    long long seconds = strtoll(text, &point, 10);
    uint32_t nanoseconds = 0, unit = 1000000000;
    bool is_wrong = errno != 0 || point == text || isspace((unsigned char)text[0]);
    if (*point == '.')
        for (point++; isdigit((unsigned char)*point) && unit > 1; point++) {
            unit /= 10;
            nanoseconds += (uint32_t)(*point - '0') * unit;
        }
    if (is_wrong || *point)
        return wrong_usage("'%s' is neither seconds since 1970 nor like 2001-02-03T04:05:06Z",
                           text);
    *time = (struct timespec_item){to_le64((uint64_t)seconds), to_le32(nanoseconds)};
    return 0;
}

static int read_time(const struct invocation *invocation, struct timespec_item *time)
{
    const char *option = invocation_option(invocation, "time");
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    if (option || epoch)
        return parse_time(option ? option : epoch, time);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timespec_item){to_le64((uint64_t)now.tv_sec), to_le32((uint32_t)now.tv_nsec)};
    return 0;
}

static int read_options(const struct invocation *invocation, struct mkfs_options *options)
{
    struct blank_options *blank = &options->blank;
    options->mixed = invocation_option(invocation, "mixed") != NULL;
    options->block_group_tree = invocation_option(invocation, "block-group-tree") != NULL;
    blank->sector_size = 4096;
    int result = read_size32(invocation, "sector-size", &blank->sector_size);
    blank->node_size = options->mixed || blank->sector_size > 16384 ? blank->sector_size : 16384;
    if (result == 0)
        result = read_size32(invocation, "node-size", &blank->node_size);
    if (result == 0)
        result = invocation_number(invocation, "size", &blank->total_bytes);
    if (result == 0)
        result = read_csum(invocation, &blank->csum_type);
    if (result == 0)
        result = read_profile(invocation, "metadata", &options->metadata_dup);
    if (result == 0)
        result = read_profile(invocation, "data", &options->data_dup);
    if (result == 0)
        result = read_uuid(invocation, blank->fsid);
    if (result == 0)
        result = read_time(invocation, &options->time);
    blank->label = invocation_option(invocation, "label");
    if (result == 0 && blank->label &&
        (strlen(blank->label) >= LABEL_SIZE || strchr(blank->label, '\n')))
        result = wrong_usage("--label: a label is one line of at most %d bytes", LABEL_SIZE - 1);
    return result;
}

/* --- the image ---------------------------------------------------------------------- */

enum { FRONT = 1 << 20 }; /* what every file system, archive or table begins in */

/* What has something in it is not overwritten unasked. */
static int check_empty(struct device *device, uint64_t size)
{
    unsigned char *bytes = malloc(FRONT);
    size_t length = size < FRONT ? (size_t)size : FRONT, zeros = 0;
    if (!bytes)
        return fail(ENOMEM, "out of memory");
    int result = device_read(device, 0, bytes, length);
    while (result == 0 && zeros < length && bytes[zeros] == 0)
        zeros++;
    free(bytes);
    if (result == 0 && zeros < length)
        return fail(EEXIST, "is not empty; --force overwrites it");
    return result;
}

/* Superblocks of an older file system must not be found while the new one is half written, nor
 * later behind its end. */
static int wipe(struct device *device, uint64_t size)
{
    struct superblock old;
    void *zeros = calloc(1, FRONT);
    int result = zeros ? 0 : fail(ENOMEM, "out of memory");
    if (result == 0)
        result = device_write(device, 0, zeros, size < FRONT ? (size_t)size : FRONT);
    for (int mirror = 1; mirror < SUPERBLOCK_MIRRORS && result == 0; mirror++)
        if (size >= superblock_offset(mirror) + SUPERBLOCK_SIZE ||
            superblock_read(device, mirror, &old) == 0)
            result = device_write(device, superblock_offset(mirror), zeros, SUPERBLOCK_SIZE);
    if (result == 0)
        result = device_flush(device);
    free(zeros);
    return result;
}

/* A device as long as the file system is to be: made longer, never shorter, where --size asks. */
static int prepare_device(const struct invocation *invocation, struct mkfs_options *options,
                          struct device *device)
{
    bool force = invocation_option(invocation, "force") != NULL;
    uint64_t size, wanted = options->blank.total_bytes;
    int result = device_size(device, &size);
    if (result == 0 && !force)
        result = check_empty(device, size);
    if (result < 0)
        return result;
    if (!wanted)
        wanted = size ? size : mkfs_least_bytes(options);
    options->blank.total_bytes = wanted;
    result = mkfs_check(options);
    if (result == 0 && wanted > size)
        result = device_resize(device, wanted);
    return result < 0 || !force ? result : wipe(device, wanted);
}

static int make(const struct invocation *invocation, struct mkfs_options *options,
                struct device *device)
{
    struct volume volume;
    struct extent_allocator allocator;
    int result = prepare_device(invocation, options, device);
    if (result == 0)
        result = mkfs(options, device, &volume, &allocator, invocation->notes);
    if (result < 0)
        return result;
    extent_allocator_close(&allocator);
    volume_close(&volume);
    return 0;
}

/* A file that is made here is taken away again when no file system came to be in it. */
static int run(struct invocation *invocation)
{
    struct mkfs_options options = {0};
    struct device *device;
    bool is_new = false;
    int result = read_options(invocation, &options);
    if (result == 0 && mkfs_check(&options) < 0)
        return wrong_usage("%s", fail_message());
    bool is_within = invocation_option(invocation, "offset") ||
                     invocation_option(invocation, "partition"); /* of a disk that must be there */
    if (result == 0 && !is_within && access(invocation->image, F_OK) < 0 && errno == ENOENT) {
        result = file_device_create(invocation->image, &device);
        is_new = result == 0;
    } else if (result == 0) {
        result = invocation_open(invocation, true, &device);
    }
    if (result != 0)
        return result;
    result = make(invocation, &options, device);
    device_close(device);
    if (result < 0 && is_new)
        unlink(invocation->image);
    return result;
}

static const struct argp_option options[] = {
    {"size", 0x100, "BYTES", 0, "Length of the file system; without it that of IMAGE, or the least",
     0},
    {"label", 0x101, "NAME", 0, "Its name", 0},
    {"uuid", 0x102, "UUID", 0, "Its uuid, from which all others are made; random without", 0},
    {"time", 0x103, "TIME", 0, "Its time of birth, as seconds since 1970 or 2001-02-03T04:05:06Z",
     0},
    {"node-size", 0x104, "BYTES", 0, "Of a tree block: 4K to 64K, 16K without", 0},
    {"sector-size", 0x105, "BYTES", 0, "Of a piece of data: 4K to 64K, 4K without", 0},
    {"csum", 0x106, "NAME", 0, "crc32c, xxhash64, sha256 or blake2b", 0},
    {"metadata", 0x107, "PROFILE", 0, "single, or dup: two copies of every tree block", 0},
    {"data", 0x108, "PROFILE", 0, "single, or dup", 0},
    {"mixed", 0x109, NULL, 0, "Data and tree blocks in the same chunks", 0},
    {"block-group-tree", 0x10a, NULL, 0, "Items of block groups in a tree of their own", 0},
    {"force", 0x10b, NULL, 0, "Overwrite what is in IMAGE", 0},
    {0},
};

const struct command cmd_mkfs = {
    .name = "mkfs",
    .args = "IMAGE",
    .doc = "Make an empty file system.\v"
           "IMAGE is made where it does not exist, and made longer where --size asks for it. The "
           "same options with --uuid and --time make the same bytes; SOURCE_DATE_EPOCH in the "
           "environment stands for --time.",
    .min_args = 0,
    .max_args = 0,
    .options = options,
    .run = run,
};
