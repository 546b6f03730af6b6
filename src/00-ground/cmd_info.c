/* coppice info: the superblock, and how its copies are. */
#include "checksum.h"
#include "command.h"
#include "fail.h"
#include "report.h"
#include "superblock.h"

#include <string.h>

static const char *compat_name(unsigned bit)
{
    (void)bit; /* no compat feature has been defined yet */
    return NULL;
}

static const char *super_flag_name(unsigned bit)
{
    switch (bit) {
    case 0:
        return "written";
    case 1:
        return "reloc";
    case 2:
        return "error";
    case 32:
        return "seeding";
    case 33:
        return "metadump";
    case 34:
        return "metadump-v2";
    case 35:
        return "changing-fsid";
    case 36:
        return "changing-fsid-v2";
    default:
        return NULL;
    }
}

static void report_sizes(struct report *report, const struct superblock *super)
{
    report_number(report, "total_bytes", from_le64(super->total_bytes));
    report_number(report, "bytes_used", from_le64(super->bytes_used));
    report_number(report, "sectorsize", from_le32(super->sectorsize));
    report_number(report, "nodesize", from_le32(super->nodesize));
    report_number(report, "num_devices", from_le64(super->num_devices));
    report_number(report, "devid", from_le64(super->dev_item.devid));
    report_uuid(report, "dev_uuid", super->dev_item.uuid);
    report_number(report, "dev_total_bytes", from_le64(super->dev_item.total_bytes));
    report_number(report, "dev_bytes_used", from_le64(super->dev_item.bytes_used));
}

static void report_roots(struct report *report, const struct superblock *super)
{
    report_number(report, "generation", from_le64(super->generation));
    report_number(report, "root", from_le64(super->root));
    report_number(report, "root_level", super->root_level);
    report_number(report, "chunk_root", from_le64(super->chunk_root));
    report_number(report, "chunk_root_level", super->chunk_root_level);
    report_number(report, "chunk_root_generation", from_le64(super->chunk_root_generation));
    report_number(report, "log_root", from_le64(super->log_root));
    report_number(report, "log_root_level", super->log_root_level);
    report_number(report, "sys_chunk_array_size", from_le32(super->sys_chunk_array_size));
    report_number(report, "cache_generation", from_le64(super->cache_generation));
    report_number(report, "uuid_tree_generation", from_le64(super->uuid_tree_generation));
}

static void report_features(struct report *report, const struct superblock *super)
{
    report_flags(report, "incompat_flags", from_le64(super->incompat_flags), incompat_name);
    report_flags(report, "compat_ro_flags", from_le64(super->compat_ro_flags), compat_ro_name);
    report_flags(report, "compat_flags", from_le64(super->compat_flags), compat_name);
    report_flags(report, "flags", from_le64(super->flags), super_flag_name);
}

/* How a good copy stands to the superblock in use: of another file system, of an older or a newer
 * state, or the same. */
static const char *mirror_state(const struct superblock *copy, const struct superblock *used)
{
    uint64_t generation = from_le64(copy->generation), current = from_le64(used->generation);
    if (memcmp(copy->fsid, used->fsid, FSID_SIZE) != 0)
        return "foreign";
    return generation < current ? "stale" : generation > current ? "newer" : "good";
}

/* One copy: its state, and what is wrong with a bad one. */
static int report_mirror(struct report *report, struct device *device, int mirror,
                         const struct superblock *used)
{
    struct superblock copy;
    int result = superblock_read(device, mirror, &copy);
    if (result == -ENOMEM)
        return result;
    report_begin(report, "mirror");
    report_number(report, "number", (uint64_t)mirror);
    report_number(report, "bytenr", superblock_offset(mirror));
    if (result == -ENOENT)
        report_word(report, "state", "absent");
    else if (result < 0) {
        report_word(report, "state", "bad");
        report_name(report, "reason", fail_message(), strlen(fail_message()));
    } else {
        report_word(report, "state", mirror_state(&copy, used));
        report_number(report, "generation", from_le64(copy.generation));
    }
    report_end(report);
    return 0;
}

static int report_superblock(struct report *report, struct device *device,
                             const struct superblock *super, int mirror)
{
    uint16_t csum_type = from_le16(super->csum_type);
    report_begin(report, NULL);
    report_name(report, "label", super->label, strnlen(super->label, LABEL_SIZE));
    report_uuid(report, "fsid", super->fsid);
    if (from_le64(super->incompat_flags) & INCOMPAT_METADATA_UUID)
        report_uuid(report, "metadata_uuid", super->metadata_uuid);
    report_number(report, "mirror_used", (uint64_t)mirror);
    report_named(report, "csum_type", csum_type, csum_name(csum_type));
    report_hex(report, "csum", super->csum, csum_size(csum_type));
    report_roots(report, super);
    report_sizes(report, super);
    report_features(report, super);
    report_list_begin(report, "mirrors");
    int result = 0;
    for (int i = 0; i < SUPERBLOCK_MIRRORS && result == 0; i++)
        result = report_mirror(report, device, i, super);
    report_list_end(report);
    report_end(report);
    return result;
}

/* Shows the superblock even of an image that is not supported; the failure says why it is not. */
static int info_show(const struct invocation *invocation, struct device *device, int mirror)
{
    struct superblock super;
    int result = invocation_option(invocation, "mirror")
                     ? superblock_read(device, mirror, &super)
                     : superblock_open(device, &super, &mirror, invocation->notes);
    if (result < 0 && result != -EOPNOTSUPP)
        return result;
    struct report report;
    enum report_form form = invocation_option(invocation, "json") ? REPORT_JSON : REPORT_COLUMNS;
    result = report_open(&report, invocation->out, form);
    if (result < 0)
        return result;
    result = report_superblock(&report, device, &super, mirror);
    report_close(&report);
    return result < 0 ? result : superblock_supported(&super);
}

static int info_run(struct invocation *invocation)
{
    uint64_t mirror = 0;
    int result = invocation_number(invocation, "mirror", &mirror);
    if (result != 0)
        return result;
    if (mirror >= SUPERBLOCK_MIRRORS)
        return wrong_usage("--mirror: the mirrors are 0, 1 and 2");
    struct device *device;
    result = invocation_open(invocation, false, &device);
    if (result != 0)
        return result;
    result = info_show(invocation, device, (int)mirror);
    device_close(device);
    return result;
}

static const struct argp_option info_options[] = {
    {"mirror", 0, "N", 0, "Show copy N of the superblock: 0, 1 or 2", 0},
    OPTION_JSON,
    {0},
};

extern const struct command cmd_info;
const struct command cmd_info = {
    .name = "info",
    .args = "IMAGE",
    .doc = "Show the superblock: features, sizes, roots, and how its copies are.",
    .options = info_options,
    .run = info_run,
};
