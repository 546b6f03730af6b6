#include "superblock.h"

#include "checksum.h"
#include "fail.h"

#include <stdbool.h>
#include <string.h>

uint64_t superblock_offset(int mirror)
{
    static const uint64_t offsets[SUPERBLOCK_MIRRORS] = {1ULL << 16, 1ULL << 26, 1ULL << 38};
    return offsets[mirror];
}

/* --- features ----------------------------------------------------------------------- */

/* Names by bit, as `mkfs.btrfs -O` and sysfs spell them. */
static const char *const incompat_names[] = {
    "mixed-backref",   "default-subvol", "mixed-bg",         "compress-lzo",
    "compress-zstd",   "big-metadata",   "extref",           "raid56",
    "skinny-metadata", "no-holes",       "metadata-uuid",    "raid1c34",
    "zoned",           "extent-tree-v2", "raid-stripe-tree", NULL,
    "simple-quota",
};
static const char *const compat_ro_names[] = {
    "free-space-tree",
    "free-space-tree-valid",
    "verity",
    "block-group-tree",
};

const char *incompat_name(unsigned bit)
{
    return bit < LENGTH_OF(incompat_names) ? incompat_names[bit] : NULL;
}

const char *compat_ro_name(unsigned bit)
{
    return bit < LENGTH_OF(compat_ro_names) ? compat_ro_names[bit] : NULL;
}

/* RAID56 and RAID1C34 may be set without a chunk of these profiles; the chunk map looks. */
#define INCOMPAT_READABLE                                                                          \
    (INCOMPAT_MIXED_BACKREF | INCOMPAT_DEFAULT_SUBVOL | INCOMPAT_MIXED_GROUPS |                    \
     INCOMPAT_COMPRESS_LZO | INCOMPAT_COMPRESS_ZSTD | INCOMPAT_BIG_METADATA |                      \
     INCOMPAT_EXTENDED_IREF | INCOMPAT_RAID56 | INCOMPAT_SKINNY_METADATA | INCOMPAT_NO_HOLES |     \
     INCOMPAT_METADATA_UUID | INCOMPAT_RAID1C34 | INCOMPAT_SIMPLE_QUOTA)

int superblock_supported(const struct superblock *super)
{
    uint64_t unknown = from_le64(super->incompat_flags) & ~INCOMPAT_READABLE;
    for (unsigned bit = 0; bit < 64; bit++) {
        if (!(unknown >> bit & 1))
            continue;
        const char *name = incompat_name(bit);
        return name ? fail(EOPNOTSUPP, "the feature %s is not supported", name)
                    : fail(EOPNOTSUPP, "incompat feature bit %u is not known", bit);
    }
    uint64_t devices = from_le64(super->num_devices);
    if (devices > 1)
        return fail(EOPNOTSUPP, "several devices are not supported: this is one of %" PRIu64,
                    devices);
    return 0;
}

const uint8_t *superblock_metadata_fsid(const struct superblock *super)
{
    return from_le64(super->incompat_flags) & INCOMPAT_METADATA_UUID ? super->metadata_uuid
                                                                     : super->fsid;
}

/* --- checks ------------------------------------------------------------------------- */

static bool is_power_of_two(uint32_t n)
{
    return n && !(n & (n - 1));
}

/* U1 to U3: is this a superblock at all, and the one that was written here? */
static int check_identity(const struct superblock *super, uint64_t bytenr)
{
    if (from_le64(super->magic) != SUPERBLOCK_MAGIC)
        return fail(EUCLEAN, "superblock at %" PRIu64 ": no Btrfs magic (U1)", bytenr);

    uint16_t type = from_le16(super->csum_type);
    if (!csum_name(type))
        return fail(EUCLEAN, "superblock at %" PRIu64 ": checksum type %u is not known (U2)",
                    bytenr, type);
    uint8_t csum[CSUM_SIZE];
    csum_compute(type, super->fsid, SUPERBLOCK_SIZE - CSUM_SIZE, csum);
    if (memcmp(csum, super->csum, csum_size(type)) != 0)
        return fail(EUCLEAN, "superblock at %" PRIu64 ": wrong checksum (U2)", bytenr);

    if (from_le64(super->bytenr) != bytenr)
        return fail(EUCLEAN, "superblock at %" PRIu64 ": says that it lies at %" PRIu64 " (U3)",
                    bytenr, from_le64(super->bytenr));
    return 0;
}

/* U4: sizes that all arithmetic above relies on. */
static int check_sizes(const struct superblock *super, uint64_t bytenr)
{
    uint32_t sector = from_le32(super->sectorsize), node = from_le32(super->nodesize);
    if (!is_power_of_two(sector) || sector < 4096 || sector > SECTOR_SIZE_MAX)
        return fail(EUCLEAN, "superblock at %" PRIu64 ": sector size %u (U4)", bytenr, sector);
    if (!is_power_of_two(node) || node < sector || node > NODE_SIZE_MAX)
        return fail(EUCLEAN, "superblock at %" PRIu64 ": node size %u with sector size %u (U4)",
                    bytenr, node, sector);
    if (from_le32(super->leafsize_unused) != node)
        return fail(EUCLEAN, "superblock at %" PRIu64 ": leaf size %u, node size %u (U4)", bytenr,
                    from_le32(super->leafsize_unused), node);
    return 0;
}

/* U5 to U9: where the trees begin. */
static int check_roots(const struct superblock *super, uint64_t bytenr)
{
    if (super->root_level >= MAX_LEVEL || super->chunk_root_level >= MAX_LEVEL ||
        super->log_root_level >= MAX_LEVEL)
        return fail(EUCLEAN, "superblock at %" PRIu64 ": root levels %u, %u, %u (U5)", bytenr,
                    super->root_level, super->chunk_root_level, super->log_root_level);

    uint64_t root = from_le64(super->root), chunk_root = from_le64(super->chunk_root);
    uint64_t log_root = from_le64(super->log_root), sector = from_le32(super->sectorsize);
    if (root % sector || chunk_root % sector || log_root % sector || !root || !chunk_root)
        return fail(EUCLEAN,
                    "superblock at %" PRIu64 ": roots at %" PRIu64 ", %" PRIu64 ", %" PRIu64
                    " (U6)",
                    bytenr, root, chunk_root, log_root);

    uint32_t array = from_le32(super->sys_chunk_array_size);
    uint32_t least = sizeof(struct disk_key) + sizeof(struct chunk_item) + sizeof(struct stripe);
    if (array < least || array > SYS_CHUNK_ARRAY_SIZE)
        return fail(EUCLEAN,
                    "superblock at %" PRIu64 ": the array of system chunks has %u bytes (U7)",
                    bytenr, array);

    uint64_t generation = from_le64(super->generation);
    if (generation == 0 || from_le64(super->chunk_root_generation) > generation)
        return fail(EUCLEAN,
                    "superblock at %" PRIu64 ": generation %" PRIu64
                    ", that of the chunk root %" PRIu64 " (U8)",
                    bytenr, generation, from_le64(super->chunk_root_generation));

    const uint8_t *fsid = superblock_metadata_fsid(super);
    if (!from_le64(super->num_devices) || memcmp(super->dev_item.fsid, fsid, FSID_SIZE) != 0)
        return fail(EUCLEAN,
                    "superblock at %" PRIu64 ": %" PRIu64
                    " devices, or dev_item of another file system (U9)",
                    bytenr, from_le64(super->num_devices));
    return 0;
}

int superblock_check(const struct superblock *super, uint64_t bytenr)
{
    int result = check_identity(super, bytenr);
    if (result == 0)
        result = check_sizes(super, bytenr);
    if (result == 0)
        result = check_roots(super, bytenr);
    return result;
}

/* U10: does the device hold as much as the superblock says? */
static int check_length(const struct superblock *super, uint64_t bytenr, uint64_t device_bytes)
{
    uint64_t total = from_le64(super->total_bytes), used = from_le64(super->bytes_used);
    if (!total || used > total)
        return fail(EUCLEAN,
                    "superblock at %" PRIu64 ": %" PRIu64 " bytes used of %" PRIu64 " (U10)",
                    bytenr, used, total);
    if (from_le64(super->num_devices) == 1 && total > device_bytes)
        return fail(EUCLEAN,
                    "superblock at %" PRIu64 ": the file system has %" PRIu64
                    " bytes, the image only %" PRIu64 ": it is truncated (U10)",
                    bytenr, total, device_bytes);
    return 0;
}

/* --- reading ------------------------------------------------------------------------ */

int superblock_read(struct device *device, int mirror, struct superblock *super)
{
    uint64_t bytenr = superblock_offset(mirror), size;
    int result = device_size(device, &size);
    if (result < 0)
        return result;
    if (size < bytenr + SUPERBLOCK_SIZE)
        return fail(ENOENT, "no superblock at %" PRIu64 ": there are only %" PRIu64 " bytes",
                    bytenr, size);
    result = device_read(device, bytenr, super, sizeof *super);
    if (result == 0)
        result = superblock_check(super, bytenr);
    if (result == 0)
        result = check_length(super, bytenr, size);
    return result;
}

/* A good mirror, when the primary is not good: of those with the fsid of the first one that is
 * good, the one with the highest generation. A later copy may be left over from another file
 * system. `fail` holds the primary's fault; it stays when no mirror is good either. */
static int superblock_fall_back(struct device *device, int primary_fault, struct superblock *super,
                                int *mirror, struct notes *notes)
{
    char fault[NOTE_SIZE / 2];
    strncpy(fault, fail_message(), sizeof fault - 1);
    fault[sizeof fault - 1] = '\0';

    *mirror = 0;
    for (int i = 1; i < SUPERBLOCK_MIRRORS; i++) {
        struct superblock copy;
        if (superblock_read(device, i, &copy) < 0)
            continue;
        if (*mirror == 0 || (memcmp(copy.fsid, super->fsid, FSID_SIZE) == 0 &&
                             from_le64(copy.generation) > from_le64(super->generation))) {
            *super = copy;
            *mirror = i;
        }
    }
    if (*mirror == 0)
        return fail(-primary_fault, "%s", fault);
    note(notes, "%s; mirror %d at %" PRIu64 " is used, of generation %" PRIu64, fault, *mirror,
         superblock_offset(*mirror), from_le64(super->generation));
    return 0;
}

int superblock_open(struct device *device, struct superblock *super, int *mirror,
                    struct notes *notes)
{
    *mirror = 0;
    int result = superblock_read(device, 0, super);
    if (result == -EUCLEAN || result == -EIO)
        result = superblock_fall_back(device, result, super, mirror, notes);
    if (result == -ENOENT)
        return fail(EUCLEAN, "is not a Btrfs image: %s", fail_message());
    return result < 0 ? result : superblock_supported(super);
}
