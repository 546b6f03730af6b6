#include "writable.h"

#include "commit.h"
#include "fail.h"

#include <string.h>

/* --- features ----------------------------------------------------------------------- */

#define COMPAT_RO_WRITABLE                                                                         \
    (COMPAT_RO_FREE_SPACE_TREE | COMPAT_RO_FREE_SPACE_TREE_VALID | COMPAT_RO_VERITY |              \
     COMPAT_RO_BLOCK_GROUP_TREE)

static int check_features(const struct superblock *super)
{
    uint64_t compat_ro = from_le64(super->compat_ro_flags);
    uint64_t incompat = from_le64(super->incompat_flags);
    for (unsigned bit = 0; bit < 64; bit++)
        if ((compat_ro & ~COMPAT_RO_WRITABLE) >> bit & 1)
            return fail(EOPNOTSUPP, "cannot be written: compat_ro feature bit %u is not known",
                        bit);
    if ((compat_ro & COMPAT_RO_FREE_SPACE_TREE) && !(compat_ro & COMPAT_RO_FREE_SPACE_TREE_VALID))
        return fail(EOPNOTSUPP, "cannot be written: its free-space tree is not valid; a mount "
                                "rebuilds it");
    if (!(incompat & INCOMPAT_SKINNY_METADATA) || !(incompat & INCOMPAT_MIXED_BACKREF))
        return fail(EOPNOTSUPP, "cannot be written: it is without skinny-metadata");
    if (incompat & INCOMPAT_SIMPLE_QUOTA)
        return fail(EOPNOTSUPP, "cannot be written: simple quota is on");
    return 0;
}

/* WRITTEN alone is set in the superblock of a file system in order. */
static int check_state(const struct superblock *super)
{
    uint64_t flags = from_le64(super->flags);
    if (flags & ~HEADER_FLAG_WRITTEN)
        return fail(EOPNOTSUPP,
                    "cannot be written: the superblock has flags 0x%" PRIx64
                    " (seed, error, or a conversion half done)",
                    flags);
    if (from_le64(super->log_root))
        return fail(EOPNOTSUPP,
                    "cannot be written: its log tree was not replayed; a mount does it");
    return 0;
}

/* --- what is going on --------------------------------------------------------------- */

/* Whether the root tree has an item with this objectid and type. */
static int has_item(struct volume *volume, uint64_t objectid, uint8_t type)
{
    struct tree roots;
    struct path path = {0};
    struct key key = {objectid, type, 0};
    int result = volume_tree(volume, ROOT_TREE_OBJECTID, &roots);
    if (result == 0)
        result = tree_seek(&roots, &key, &path);
    if (result != 0)
        return result < 0 ? result : 0;
    struct key found = path_key(&path);
    path_release(&roots, &path);
    return found.objectid == objectid && found.type == type;
}

static int check_balance(struct volume *volume)
{
    int result = has_item(volume, BALANCE_OBJECTID, TEMPORARY_ITEM_KEY);
    if (result == 0)
        result = has_item(volume, TREE_RELOC_OBJECTID, ROOT_ITEM_KEY);
    return result > 0 ? fail(EOPNOTSUPP, "cannot be written: a balance was interrupted; a mount "
                                         "goes on with it")
                      : result;
}

enum { QGROUP_STATUS_ON = 1 };

static int check_quota(struct volume *volume)
{
    struct tree quota;
    struct path path = {0};
    struct key key = {0, QGROUP_STATUS_KEY, 0};
    int result = volume_tree(volume, QUOTA_TREE_OBJECTID, &quota);
    if (result < 0)
        return result == -ENOENT ? 0 : result;
    result = tree_search(&quota, &key, &path);
    if (result < 0)
        return result;
    const struct qgroup_status_item *status =
        result == 0 ? item_data(path.nodes[0], path.slots[0]) : NULL;
    bool is_on = status && from_le64(status->flags) & QGROUP_STATUS_ON;
    path_release(&quota, &path);
    return is_on ? fail(EOPNOTSUPP, "cannot be written: quota is on") : 0;
}

/* --- equal copies ------------------------------------------------------------------- */

/* Whether the copy at the place of a mirror is not what a commit would write there. */
static int mirror_differs(struct volume *volume, int mirror)
{
    struct superblock right = volume->super, copy;
    superblock_seal(&right, mirror);
    int result = device_read(volume->device, superblock_offset(mirror), &copy, sizeof copy);
    return result < 0 ? result : memcmp(&right, &copy, sizeof copy) != 0;
}

/* The copy that is used is safe before another one is written. */
static int refresh_mirrors(struct volume *volume)
{
    struct device *device = volume->device;
    bool differs[SUPERBLOCK_MIRRORS] = {false}, any = false;
    int result = 0;
    for (int mirror = 0; mirror < SUPERBLOCK_MIRRORS && result >= 0; mirror++)
        if (superblock_has_mirror(&volume->super, mirror)) {
            result = mirror_differs(volume, mirror);
            differs[mirror] = result > 0;
            any = any || differs[mirror];
        }
    if (result < 0 || !any)
        return result < 0 ? result : 0;

    result = device_flush(device);
    for (int mirror = 0; mirror < SUPERBLOCK_MIRRORS && result == 0; mirror++)
        if (differs[mirror])
            result = superblock_write(device, &volume->super, mirror);
    if (result == 0)
        result = device_flush(device);
    volume->write_error = result;
    return result;
}

int volume_writable(struct volume *volume)
{
    int result = check_features(&volume->super);
    if (result == 0)
        result = check_state(&volume->super);
    if (result == 0)
        result = check_balance(volume);
    if (result == 0)
        result = check_quota(volume);
    return result < 0 ? result : refresh_mirrors(volume);
}
