#include "writable.h"

#include "checksum.h"
#include "commit.h"
#include "fail.h"
#include "insert.h"
#include "support_crash.h"
#include "support_device.h"
#include "support_faults.h"
#include "support_forest.h"
#include "support_volume.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct image image;
static struct maker maker;

/* --- what is refused ---------------------------------------------------------------- */

/* The image at `path` opens, and may not be written: nothing is written. */
static void check_refused(const char *at, const char *path, const char *words)
{
    struct overlay overlay;
    struct device *file;
    struct volume volume;
    struct notes notes = {0};
    int64_t pieces = memory_pieces();
    expect_success(file_device_open(path, false, &file));
    overlay_open(&overlay, file);
    check_success(at, "volume_open", volume_open(&volume, &overlay.device, &notes));
    int result = volume_writable(&volume);
    check_failure(at, "volume_writable", result, EOPNOTSUPP, words);
    check_failure(at, "volume_writable", result, EOPNOTSUPP, "cannot be written: ");
    expect(overlay.calls[DEVICE_WRITE] + overlay.calls[DEVICE_FLUSH] == 0, "%s: written", at);
    volume_close(&volume);
    overlay_close(&overlay);
    device_close(file);
    ck_assert_int_eq(memory_pieces(), pieces);
}

static void check_allowed(const char *at, const char *path)
{
    struct overlay overlay;
    struct device *file;
    struct volume volume;
    struct notes notes = {0};
    expect_success(file_device_open(path, false, &file));
    overlay_open(&overlay, file);
    check_success(at, "volume_open", volume_open(&volume, &overlay.device, &notes));
    check_success(at, "volume_writable", volume_writable(&volume));
    volume_close(&volume);
    overlay_close(&overlay);
    device_close(file);
}

#define expect_refused(path, words) check_refused(AT, path, words)
#define expect_allowed(path)        check_allowed(AT, path)

/* What mkfs and the kernel made may be written. */
START_TEST(every_image)
{
    for (size_t i = 0; image_names[i]; i++) {
        image_open(&image, image_names[i]);
        check_allowed(image_names[i], image.path);
        image_close(&image);
    }
}
END_TEST

static void set_super(const struct superblock *super)
{
    image_undo(&image);
    image_put_super(&image, super);
}

/* Each feature of the kind "read only if not known", by its bit. */
START_TEST(compat_ro)
{
    image_open(&image, "first");
    uint64_t flags = from_le64(image.super.compat_ro_flags);
    ck_assert_uint_eq(flags, COMPAT_RO_FREE_SPACE_TREE | COMPAT_RO_FREE_SPACE_TREE_VALID);
    for (unsigned bit = 4; bit < 64; bit++) {
        struct superblock super = image.super;
        char words[100];
        super.compat_ro_flags = to_le64(flags | 1ULL << bit);
        set_super(&super);
        snprintf(words, sizeof words, "compat_ro feature bit %u is not known", bit);
        expect_refused(image.path, words);
    }
    struct superblock super = image.super;
    super.compat_ro_flags = to_le64(flags | COMPAT_RO_VERITY | COMPAT_RO_BLOCK_GROUP_TREE);
    set_super(&super);
    expect_allowed(image.path);
    super.compat_ro_flags = to_le64(COMPAT_RO_FREE_SPACE_TREE);
    set_super(&super);
    expect_refused(image.path, "its free-space tree is not valid; a mount rebuilds it");
    super.compat_ro_flags = to_le64(0);
    set_super(&super);
    expect_allowed(image.path);
    image_close(&image);
}
END_TEST

START_TEST(incompat)
{
    static const struct {
        uint64_t without, with;
        const char *words;
    } broken[] = {
        {INCOMPAT_SKINNY_METADATA, 0, "it is without skinny-metadata"},
        {INCOMPAT_MIXED_BACKREF, 0, "it is without "},
        {0, INCOMPAT_SIMPLE_QUOTA, "simple quota is on"},
    };
    image_open(&image, "first");
    uint64_t flags = from_le64(image.super.incompat_flags);
    for (size_t i = 0; i < LENGTH_OF(broken); i++) {
        struct superblock super = image.super;
        super.incompat_flags = to_le64((flags & ~broken[i].without) | broken[i].with);
        set_super(&super);
        expect_refused(image.path, broken[i].words);
    }
    image_close(&image);
}
END_TEST

/* Flags of the superblock: WRITTEN alone is right, or none. */
START_TEST(flags)
{
    image_open(&image, "first");
    for (unsigned bit = 0; bit < 64; bit++) {
        struct superblock super = image.super;
        char words[100];
        super.flags = to_le64(HEADER_FLAG_WRITTEN | 1ULL << bit);
        set_super(&super);
        snprintf(words, sizeof words, "flags 0x%jx", (uintmax_t)(1 | 1ULL << bit));
        if (bit == 0)
            expect_allowed(image.path);
        else
            expect_refused(image.path, words);
    }
    struct superblock super = image.super;
    super.flags = to_le64(1ULL << 32);
    set_super(&super);
    expect_refused(image.path, "(seed, error, or a conversion half done)");
    super.flags = to_le64(0);
    set_super(&super);
    expect_allowed(image.path);
    super = image.super;
    super.log_root = super.root;
    set_super(&super);
    expect_refused(image.path, "its log tree was not replayed; a mount does it");
    image_close(&image);
}
END_TEST

/* --- what is going on --------------------------------------------------------------- */

static void begin_made(void)
{
    maker_begin(&maker, 4096, CSUM_TYPE_CRC32, 1);
    maker.super.incompat_flags = to_le64(INCOMPAT_SKINNY_METADATA | INCOMPAT_MIXED_BACKREF);
    maker.super.dev_item.total_bytes = maker.super.total_bytes;
}

/* A tree of one leaf with one item. */
static void add_tree(uint64_t id, struct key key, const void *data, uint32_t size)
{
    struct block leaf = maker_block(&maker, id, 0);
    leaf_append(&leaf, key, data, size);
    maker_root(&maker, (struct key){id, ROOT_ITEM_KEY, 0}, &leaf);
    maker_write(&maker, &leaf);
}

static void add_files(void)
{
    add_tree(FS_TREE_OBJECTID, (struct key){256, ORPHAN_ITEM_KEY, 0}, NULL, 0);
}

/* An item behind the others of the root tree. */
static void append_root_item(struct key key, const void *data, uint32_t size)
{
    struct block roots = make_leaf(4096);
    uint64_t bytenr = from_le64(maker.super.root);
    image_get_block(&maker.image, bytenr, roots.data);
    expect_success(leaf_insert(&roots, block_nritems(&roots), &key, data, size));
    image_put_block(&maker.image, bytenr, roots.data);
    free_block(&roots);
}

static void end_made(const char *words)
{
    if (words)
        expect_refused(maker.image.path, words);
    else
        expect_allowed(maker.image.path);
    maker_close(&maker);
}

START_TEST(balance)
{
    static const struct balance_item item;
    static const struct {
        struct key key;
        bool is_refused;
    } cases[] = {
        {{BALANCE_OBJECTID, TEMPORARY_ITEM_KEY, 0}, true},
        {{BALANCE_OBJECTID, PERSISTENT_ITEM_KEY, 0}, false},
        {{BALANCE_OBJECTID - 1, TEMPORARY_ITEM_KEY, 0}, false},
        {{BALANCE_OBJECTID + 1, TEMPORARY_ITEM_KEY, 0}, false},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        begin_made();
        add_files();
        maker_end(&maker);
        append_root_item(cases[i].key, &item, sizeof item);
        end_made(cases[i].is_refused ? "a balance was interrupted; a mount goes on with it" : NULL);
    }
}
END_TEST

/* A relocation tree, whose key has the offset of the tree it is a copy of. */
START_TEST(relocation)
{
    for (uint64_t offset = 0; offset <= 5; offset += 5) {
        begin_made();
        add_files();
        struct block leaf = maker_block(&maker, TREE_RELOC_OBJECTID, 0);
        leaf_append(&leaf, (struct key){256, ORPHAN_ITEM_KEY, 0}, NULL, 0);
        maker_root(&maker, (struct key){TREE_RELOC_OBJECTID, ROOT_ITEM_KEY, offset}, &leaf);
        maker_write(&maker, &leaf);
        maker_end(&maker);
        end_made("a balance was interrupted");
    }
    begin_made(); /* the tree of data relocation is always there */
    add_files();
    add_tree(DATA_RELOC_TREE_OBJECTID, (struct key){256, ORPHAN_ITEM_KEY, 0}, NULL, 0);
    maker_end(&maker);
    end_made(NULL);
}
END_TEST

/* Quota counts if it is on; a tree without a status, or with one that is off, is no harm. */
START_TEST(quota)
{
    for (uint64_t bits = 0; bits < 8; bits++) {
        struct qgroup_status_item status = {.version = to_le64(1), .flags = to_le64(bits)};
        begin_made();
        add_files();
        add_tree(QUOTA_TREE_OBJECTID, (struct key){0, QGROUP_STATUS_KEY, 0}, &status,
                 sizeof status);
        maker_end(&maker);
        end_made(bits & 1 ? "quota is on" : NULL);
    }
    begin_made();
    add_files();
    add_tree(QUOTA_TREE_OBJECTID, (struct key){256, ORPHAN_ITEM_KEY, 0}, NULL, 0);
    maker_end(&maker);
    end_made(NULL);
}
END_TEST

/* --- equal copies ------------------------------------------------------------------- */

static struct overlay overlay;
static struct device *file;

/* The image "first" under an overlay, opened. */
static void begin(void)
{
    image_open(&image, "first");
    expect_success(file_device_open(image.path, false, &file));
    overlay_open(&overlay, file);
}

static void end(void)
{
    overlay_close(&overlay);
    device_close(file);
    image_close(&image);
}

static void expect_equal_copies(void)
{
    struct superblock one, other;
    expect_success(superblock_read(&overlay.device, 0, &one));
    expect_success(superblock_read(&overlay.device, 1, &other));
    other.bytenr = one.bytenr;
    memcpy(other.csum, one.csum, CSUM_SIZE);
    ck_assert_mem_eq(&one, &other, sizeof one);
}

/* What does not differ is not written, nor flushed. */
START_TEST(equal)
{
    struct volume volume;
    struct notes notes = {0};
    begin();
    expect_success(volume_open(&volume, &overlay.device, &notes));
    expect_success(volume_writable(&volume));
    ck_assert_uint_eq(overlay.calls[DEVICE_WRITE], 0);
    volume_close(&volume);
    end();
}
END_TEST

/* A mirror that lags behind, was torn, is of zeros, or of another file system. */
START_TEST(mirrors)
{
    enum { STALE, TORN, ZEROS, FOREIGN, CSUM_TAIL, KINDS };
    begin();
    struct superblock good = image.super;
    uint64_t digest = state_of(file).digest;
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (int mirror = 0; mirror < 2; mirror++) {
            struct superblock bad = good;
            struct volume volume;
            struct notes notes = {0};
            if (mirror == 0 && kind != TORN && kind != ZEROS)
                continue; /* then it counts */
            if (kind == FOREIGN)
                memset(bad.fsid, 7, FSID_SIZE), memset(bad.dev_item.fsid, 7, FSID_SIZE);
            bad.generation = to_le64(kind == FOREIGN ? 1 << 30 : from_le64(good.generation) - 1);
            superblock_seal(&bad, mirror);
            if (kind == TORN)
                memset((char *)&bad + 2048, 0x55, 1024);
            if (kind == ZEROS)
                memset(&bad, 0, sizeof bad);
            if (kind == CSUM_TAIL) { /* right, but not as it would be written */
                bad.generation = good.generation;
                superblock_seal(&bad, mirror);
                bad.csum[20] = 1;
            }
            overlay_clear(&overlay);
            overlay_put(&overlay, superblock_offset(mirror), &bad, sizeof bad);
            expect_success(volume_open(&volume, &overlay.device, &notes));
            ck_assert_int_eq(volume.mirror, 1 - mirror == 0 ? 0 : 1);
            expect_success(volume_writable(&volume));
            volume_close(&volume);
            ck_assert_uint_eq(overlay.calls[DEVICE_WRITE], 1);
            ck_assert_uint_ge(overlay.calls[DEVICE_FLUSH], 1);
            expect_equal_copies();
            struct state state = state_of(&overlay.device);
            ck_assert_uint_eq(state.digest, digest);
            ck_assert_int_eq(state.mirror, 0);
        }
    end();
}
END_TEST

/* The mirror is used, and it is of the state before: that is the state from then on. */
START_TEST(back_to_the_mirror)
{
    struct superblock old = {0}, torn = {0};
    struct volume volume;
    struct notes notes = {0};
    begin();
    old = image.super;
    strcpy(old.label, "of before");
    superblock_seal(&old, 1);
    overlay_put(&overlay, superblock_offset(0), &torn, sizeof torn);
    overlay_put(&overlay, superblock_offset(1), &old, sizeof old);
    expect_success(volume_open(&volume, &overlay.device, &notes));
    expect_success(volume_writable(&volume));
    volume_close(&volume);
    expect_equal_copies();
    expect_success(superblock_read(&overlay.device, 0, &torn));
    ck_assert_str_eq(torn.label, "of before");
    end();
}
END_TEST

/* Reads, writes and flushes that fail: the error, and after a failed write nothing more (W6). */
START_TEST(failures)
{
    struct superblock stale;
    begin();
    stale = image.super;
    stale.generation = to_le64(from_le64(stale.generation) - 1);
    superblock_seal(&stale, 1);
    uint64_t digest = state_of(file).digest;
    for (unsigned type = DEVICE_READ; type <= DEVICE_FLUSH; type++) {
        uint64_t faults = 0;
        for (bool struck = true; struck; faults++) {
            struct volume volume;
            struct notes notes = {0};
            bool is_on_device;
            overlay_clear(&overlay);
            overlay_put(&overlay, superblock_offset(1), &stale, sizeof stale);
            expect_success(volume_open(&volume, &overlay.device, &notes));
            memset(overlay.calls, 0, sizeof overlay.calls);
            overlay.fault.type = (enum device_event_type)type;
            overlay.fault.call = faults;
            int64_t pieces = memory_pieces();
            int result = volume_writable(&volume);
            ck_assert_int_eq(memory_pieces(), pieces);
            struck = overlay.fault.is_passed;
            if (struck && result == 0)
                ck_assert_uint_eq(notes.count, 1); /* of another copy of a block */
            else if (struck)
                expect_failure(EIO, "the overlay fails to", result);
            else
                expect_success(result);
            if (struck && type != DEVICE_READ) {
                uint64_t writes = overlay.calls[DEVICE_WRITE];
                expect_failure(EIO, "an earlier write failed",
                               superblock_commit(&volume, &is_on_device));
                ck_assert_uint_eq(overlay.calls[DEVICE_WRITE], writes);
            }
            volume_close(&volume);
            overlay.fault.call = UINT64_MAX;
            ck_assert_uint_eq(state_of(&overlay.device).digest, digest);
        }
        ck_assert_uint_ge(faults, type == DEVICE_READ ? 6 : 2);
    }
    end();
}
END_TEST

START_TEST(no_memory)
{
    begin();
    bool struck = true;
    for (uint64_t first = 0; struck; first++) {
        struct volume volume;
        struct notes notes = {0};
        overlay_clear(&overlay);
        expect_success(volume_open(&volume, &overlay.device, &notes));
        int64_t pieces = memory_pieces();
        faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, first, 1});
        int result = volume_writable(&volume);
        struck = faults_end() > first;
        ck_assert_int_eq(result, struck ? -ENOMEM : 0);
        ck_assert_int_eq(memory_pieces(), pieces);
        ck_assert_uint_eq(overlay.calls[DEVICE_WRITE], 0);
        volume_close(&volume);
    }
    end();
}
END_TEST

/* --- beyond the end ----------------------------------------------------------------- */

/* Opens for writing, changes the label, commits. */
static void change_label(struct device *device, const char *label)
{
    struct volume volume;
    struct notes notes = {0};
    bool is_on_device;
    expect_success(volume_open(&volume, device, &notes));
    expect_success(volume_writable(&volume));
    strcpy(volume.super.label, label);
    expect_success(superblock_commit(&volume, &is_on_device));
    volume_close(&volume);
}

/* A file longer than its file system: what lies behind is somebody else's, also where a superblock
 * would be. */
START_TEST(longer_file)
{
    static unsigned char theirs[1 << 20], now[1 << 20];
    struct device *device = make_memory(MIRRORED_SIZE);
    struct device *small;
    struct volume volume;
    struct notes notes = {0};
    struct bump_space bump;
    dice_fill(&(struct dice){1}, theirs, sizeof theirs);
    for (unsigned is_good = 0; is_good < 2; is_good++) {
        expect_success(device_write(device, superblock_offset(1), theirs, sizeof theirs));
        expect_success(window_device_open(device, 0, 8 << 20, &small));
        expect_success(bump_format(&bump, &volume, small, 4096, &notes));
        if (is_good) { /* a superblock of before, when it was longer */
            struct superblock old = volume.super;
            superblock_seal(&old, 1);
            expect_success(device_write(device, superblock_offset(1), &old, sizeof old));
            memcpy(theirs, &old, sizeof old);
        }
        volume_close(&volume);
        change_label(device, "short");
        expect_success(volume_open(&volume, device, &notes));
        struct transaction transaction;
        struct tree *tree;
        struct key key = {1000, 40, 0};
        bump_space_open(&bump, &volume, 2 << 20);
        transaction_begin(&transaction, &volume, &bump.space);
        expect_success(transaction_tree(&transaction, FS_TREE_OBJECTID, &tree));
        expect_success(tree_insert(tree, &key, "x", 1));
        expect_success(transaction_commit(&transaction));
        volume_close(&volume);
        ck_assert_uint_eq(state_of(device).generation, 2);
        expect_success(device_read(device, superblock_offset(1), now, sizeof now));
        ck_assert_mem_eq(now, theirs, sizeof now);
        free(small); /* the window, not what is under it */
    }
    device_close(device);
}
END_TEST

/* --- power cuts --------------------------------------------------------------------- */

struct labels {
    uint64_t digests[8];
    unsigned count;
};

/* Long ones, which lie in two sectors of the superblock, so that it can be torn. */
static void put_label(struct superblock *super, char letter)
{
    memset(super->label, 0, LABEL_SIZE);
    memset(super->label, letter, 250);
}

/* Any state that there was, but no other. */
static void check_labels(const struct crash *crash, void *context)
{
    const struct labels *labels = context;
    struct state state;
    int result = state_read(&state, crash->device);
    expect(result == 0, "%s: %s", crash->what, fail_message());
    unsigned found = 0;
    for (unsigned i = 0; i < labels->count; i++)
        found += state.digest == labels->digests[i];
    expect(found > 0, "%s: a third state", crash->what);
}

static uint64_t cut(struct device *recorder, struct labels *labels)
{
    struct crash_plan plan = {
        .before = file, .all = 6, .check = check_labels, .context = labels, .seed = 1};
    plan.events = recording_device_events(recorder, &plan.count);
    return crash_each(&plan);
}

/* What was written last is safe. */
static void expect_flushed(const struct device *recorder)
{
    size_t count;
    const struct device_event *events = recording_device_events(recorder, &count);
    while (count > 0 && events[count - 1].type == DEVICE_READ)
        count--;
    ck_assert_uint_gt(count, 1);
    ck_assert_int_eq(events[count - 1].type, DEVICE_FLUSH);
}

/* A mirror is brought up to date, and the power is cut: nothing is lost. */
START_TEST(cut_while_refreshing)
{
    struct superblock bad = {0};
    for (int mirror = 0; mirror < 2; mirror++) {
        struct device *recorder;
        struct volume volume;
        struct notes notes = {0};
        struct overlay damaged;
        begin();
        overlay_open(&damaged, file);
        overlay_put(&damaged, superblock_offset(mirror), &bad, sizeof bad);
        overlay.under = &damaged.device;
        expect_success(recording_device_open(&overlay.device, &recorder));
        expect_success(volume_open(&volume, recorder, &notes));
        expect_success(volume_writable(&volume));
        volume_close(&volume);
        expect_flushed(recorder);
        struct labels labels = {{state_of(&overlay.device).digest}, 1};
        struct device *under = file;
        file = &damaged.device;
        ck_assert_uint_gt(cut(recorder, &labels), 254);
        file = under;
        device_close(recorder);
        overlay_close(&damaged);
        end();
    }
}
END_TEST

/* Label after label, by one volume and by several: mirrors of one are not under way together with
 * the primary of the next. */
START_TEST(cut_between_labels)
{
    for (unsigned reopens = 0; reopens < 2; reopens++) {
        struct device *recorder;
        struct volume volume;
        struct notes notes = {0};
        struct labels labels = {.count = 1};
        bool is_on_device;
        begin();
        expect_success(recording_device_open(&overlay.device, &recorder));
        labels.digests[0] = state_of(file).digest;
        expect_success(volume_open(&volume, recorder, &notes));
        expect_success(volume_writable(&volume));
        for (unsigned i = 0; i < 3; i++) {
            if (reopens) {
                volume_close(&volume);
                expect_success(volume_open(&volume, recorder, &notes));
                expect_success(volume_writable(&volume));
            }
            put_label(&volume.super, (char)('a' + i));
            expect_success(superblock_commit(&volume, &is_on_device));
            labels.digests[labels.count++] = state_of(&overlay.device).digest;
        }
        volume_close(&volume);
        cut(recorder, &labels);
        device_close(recorder);
        end();
    }
}
END_TEST

/* A program is killed between the superblock and the flush; the next one opens the image, and the
 * power is cut. What it finds need not be safe yet. */
START_TEST(killed_before_the_flush)
{
    struct device *recorder;
    struct volume volume;
    struct notes notes = {0};
    struct labels labels = {.count = 2};
    begin();
    expect_success(recording_device_open(&overlay.device, &recorder));
    labels.digests[0] = state_of(file).digest;
    struct superblock super = image.super;
    put_label(&super, 'a');
    expect_success(superblock_write(recorder, &super, 0));
    labels.digests[1] = state_of(&overlay.device).digest;
    expect_success(volume_open(&volume, recorder, &notes));
    expect_success(volume_writable(&volume));
    volume_close(&volume);
    expect_equal_copies();
    cut(recorder, &labels);
    device_close(recorder);
    end();
}
END_TEST

SUITE_WITH(writable, 60, load_all_images, every_image, compat_ro, incompat, flags, balance,
           relocation, quota, equal, mirrors, back_to_the_mirror, failures, no_memory, longer_file,
           cut_while_refreshing, cut_between_labels, killed_before_the_flush)
