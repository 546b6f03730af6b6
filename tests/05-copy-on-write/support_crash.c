#include "support_crash.h"

#include "checksum.h"
#include "fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a device over another ---------------------------------------------------------- */

static bool is_struck(struct overlay *overlay, enum device_event_type type)
{
    bool struck = overlay->fault.type == type && overlay->calls[type] == overlay->fault.call;
    overlay->calls[type]++;
    overlay->fault.is_passed |= struck;
    return struck;
}

static int overlay_read(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    struct overlay *overlay = (struct overlay *)device;
    if (is_struck(overlay, DEVICE_READ))
        return fail(EIO, "the overlay fails to read at %" PRIu64, offset);
    int result = device_read(overlay->under, offset, buffer, length);
    for (size_t i = 0; i < overlay->count && result == 0; i++) {
        uint64_t start = overlay->writes[i].offset, end = start + overlay->writes[i].length;
        uint64_t from = start > offset ? start : offset;
        uint64_t to = end < offset + length ? end : offset + length;
        if (from < to)
            memcpy((unsigned char *)buffer + (from - offset),
                   overlay->writes[i].bytes + (from - start), to - from);
    }
    return result;
}

void overlay_put(struct overlay *overlay, uint64_t offset, const void *bytes, size_t length)
{
    expect(overlay->count < OVERLAY_WRITES, "too many writes");
    overlay->writes[overlay->count].offset = offset;
    overlay->writes[overlay->count].length = length;
    overlay->writes[overlay->count++].bytes = bytes;
}

static int overlay_write(struct device *device, uint64_t offset, const void *buffer, size_t length)
{
    struct overlay *overlay = (struct overlay *)device;
    uint64_t size;
    int result = device_size(overlay->under, &size);
    if (result == 0)
        result = device_check_range(size, offset, length, "write");
    if (result < 0)
        return result;
    bool struck = is_struck(overlay, DEVICE_WRITE);
    if (struck)
        length = overlay->fault.written;
    expect(overlay->used + length <= OVERLAY_ROOM, "too many bytes");
    if (length > 0) {
        memcpy(overlay->room + overlay->used, buffer, length);
        overlay_put(overlay, offset, overlay->room + overlay->used, length);
        overlay->used += length;
    }
    return struck ? fail(EIO, "the overlay fails to write at %" PRIu64, offset) : 0;
}

static int overlay_flush(struct device *device)
{
    return is_struck((struct overlay *)device, DEVICE_FLUSH)
               ? fail(EIO, "the overlay fails to flush")
               : 0;
}

static int overlay_size(struct device *device, uint64_t *size)
{
    return device_size(((struct overlay *)device)->under, size);
}

/* The overlay is the test's, whoever closes the device. */
static void overlay_leave(struct device *device)
{
    (void)device;
}

void overlay_clear(struct overlay *overlay)
{
    overlay->count = overlay->used = 0;
    memset(overlay->calls, 0, sizeof overlay->calls);
    overlay->fault.call = UINT64_MAX;
    overlay->fault.written = 0;
    overlay->fault.is_passed = false;
}

void overlay_open(struct overlay *overlay, struct device *under)
{
    overlay->device = (struct device){overlay_read, overlay_write, overlay_flush,
                                      overlay_size, NULL,          overlay_leave};
    overlay->under = under;
    overlay->room = malloc(OVERLAY_ROOM);
    ck_assert_ptr_nonnull(overlay->room);
    overlay_clear(overlay);
}

void overlay_close(struct overlay *overlay)
{
    free(overlay->room);
}

void overlay_settle(struct overlay *overlay)
{
    for (size_t i = 0; i < overlay->count; i++)
        expect_success(device_write(overlay->under, overlay->writes[i].offset,
                                    overlay->writes[i].bytes, overlay->writes[i].length));
    overlay_clear(overlay);
}

/* --- states ------------------------------------------------------------------------- */

static void digest(struct state *state, const void *bytes, size_t length)
{
    le64 sum[CSUM_SIZE / sizeof(le64)];
    csum_compute(CSUM_TYPE_XXHASH, bytes, length, (uint8_t *)sum);
    state->digest = (state->digest ^ from_le64(sum[0])) * 0x9e3779b97f4a7c15 + length;
}

static int digest_item(const struct path *path, void *context)
{
    const struct block *leaf = path->nodes[0];
    uint32_t slot = path->slots[0];
    digest(context, &leaf_item(leaf, slot)->key, sizeof(struct disk_key));
    digest(context, item_data(leaf, slot), item_size(leaf, slot));
    return 0;
}

static int count_block(const struct block *block, void *context)
{
    (void)block;
    ((struct state *)context)->blocks++;
    return 0;
}

static int digest_tree(struct tree *tree, void *context)
{
    struct state *state = context;
    struct key first = {0}, last = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
    digest(state, &tree->id, sizeof tree->id);
    int result = tree_range(tree, &first, &last, digest_item, state);
    return result < 0 ? result : tree_walk(tree, count_block, state);
}

int state_read(struct state *state, struct device *device)
{
    static struct volume volume;
    state->notes.count = 0;
    int result = volume_open(&volume, device, &state->notes);
    if (result < 0)
        return result;
    struct superblock super = volume.super;
    memset(super.csum, 0, sizeof super.csum);
    super.bytenr = to_le64(0);
    state->digest = state->blocks = 0;
    state->generation = from_le64(super.generation);
    state->mirror = volume.mirror;
    digest(state, &super, sizeof super);
    result = volume_each_tree(&volume, digest_tree, state);
    volume_close(&volume);
    return result;
}

struct state state_of(struct device *device)
{
    struct state state;
    expect_success(state_read(&state, device));
    return state;
}

/* --- cuts --------------------------------------------------------------------------- */

enum { RUN_MOST = 512, SECTORS_MOST = NODE_SIZE_MAX / SECTOR };

/* The writes between two flushes, and the state that is made of them. */
struct run {
    const struct crash_plan *plan;
    const struct device_event *writes[RUN_MOST];
    size_t count;
    bool taken[RUN_MOST];
    struct overlay safe, over; /* what was flushed, and over it what may be there */
    struct dice dice;
    unsigned flushes;
    uint64_t states;
};

static bool is_super(const struct device_event *write)
{
    for (int mirror = 0; mirror < SUPERBLOCK_MIRRORS; mirror++)
        if (write->offset == superblock_offset(mirror))
            return true;
    return false;
}

/* Of a write those of its sectors that are set in the mask. */
static void put_sectors(struct run *run, const struct device_event *write, const bool *sectors)
{
    for (size_t i = 0; i * SECTOR < write->length; i++)
        if (sectors[i])
            overlay_put(&run->over, write->offset + i * SECTOR,
                        (const unsigned char *)write->data + i * SECTOR, SECTOR);
}

/* The writes that are taken, but for up to two: of these, those sectors. */
struct tear {
    size_t write; /* SIZE_MAX: none */
    bool sectors[SECTORS_MOST];
};

static void try_state(struct run *run, const struct tear *one, const struct tear *other)
{
    const struct crash_plan *plan = run->plan;
    struct crash crash = {.device = &run->over.device, .flushes = run->flushes};
    size_t taken = 0;
    overlay_clear(&run->over);
    for (size_t i = 0; i < run->count; i++) {
        const struct tear *tear = one && one->write == i       ? one
                                  : other && other->write == i ? other
                                                               : NULL;
        if (tear) {
            put_sectors(run, run->writes[i], tear->sectors);
            crash.is_torn |= is_super(run->writes[i]);
        } else if (run->taken[i]) {
            overlay_put(&run->over, run->writes[i]->offset, run->writes[i]->data,
                        run->writes[i]->length);
            taken++;
        }
    }
    snprintf(crash.what, sizeof crash.what,
             "state %ju: behind flush %u, %zu of %zu writes, torn: %jd, %jd",
             (uintmax_t)run->states, run->flushes, taken, run->count,
             one ? (intmax_t)run->writes[one->write]->offset : -1,
             other ? (intmax_t)run->writes[other->write]->offset : -1);
    plan->check(&crash, plan->context);
    run->states++;
}

/* The subset as it is, and with one of the blocks torn. */
static void try_subset(struct run *run)
{
    try_state(run, NULL, NULL);
    for (unsigned i = 0; i < run->plan->tears && run->count > 0; i++) {
        struct tear tear = {.write = dice_below(&run->dice, run->count)};
        size_t sectors = run->writes[tear.write]->length / SECTOR;
        size_t at = 1 + dice_below(&run->dice, sectors - 1);
        bool is_cut = dice_below(&run->dice, 2);
        for (size_t j = 0; j < sectors; j++)
            tear.sectors[j] = is_cut ? j < at : dice_below(&run->dice, 2);
        if (!is_super(run->writes[tear.write]))
            try_state(run, &tear, NULL);
    }
}

static void take_all(struct run *run, size_t count)
{
    for (size_t i = 0; i < run->count; i++)
        run->taken[i] = i < count;
}

static void try_subsets(struct run *run)
{
    const struct crash_plan *plan = run->plan;
    if (run->count <= plan->all) {
        for (uint64_t mask = 0; mask < 1ULL << run->count; mask++) {
            for (size_t i = 0; i < run->count; i++)
                run->taken[i] = mask >> i & 1;
            try_subset(run);
        }
        return;
    }
    for (size_t prefix = 0; prefix <= run->count; prefix++) {
        take_all(run, prefix);
        try_subset(run);
    }
    for (size_t missing = 0; missing + 1 < run->count; missing++) {
        take_all(run, run->count);
        run->taken[missing] = false;
        try_subset(run);
    }
    for (unsigned i = 0; i < plan->random; i++) {
        for (size_t j = 0; j < run->count; j++)
            run->taken[j] = dice_below(&run->dice, 2);
        try_subset(run);
    }
}

static void tear_super(struct tear *tear, size_t write, unsigned mask)
{
    tear->write = write;
    for (unsigned sector = 0; sector < SUPERBLOCK_SIZE / SECTOR; sector++)
        tear->sectors[sector] = mask >> sector & 1;
}

/* Each superblock in all ways, alone with what is before it; then each pair, cut at all places. */
static void try_torn_supers(struct run *run)
{
    struct tear one, other;
    for (size_t i = 0; i < run->count; i++) {
        if (!is_super(run->writes[i]))
            continue;
        take_all(run, i);
        for (unsigned mask = 1; mask < 255; mask++) {
            if (run->plan->cuts && (mask & (mask + 1)))
                continue;
            tear_super(&one, i, mask);
            try_state(run, &one, NULL);
        }
        for (size_t j = 0; j < i; j++)
            for (unsigned cut = 1; cut < 8 && is_super(run->writes[j]); cut++)
                for (unsigned second = 1; second < 8; second++) {
                    tear_super(&one, i, (1U << cut) - 1);
                    tear_super(&other, j, (1U << second) - 1);
                    try_state(run, &one, &other);
                }
    }
}

/* A flush: all that was written is safe. */
static void pass_flush(struct run *run)
{
    for (size_t i = 0; i < run->count; i++)
        overlay_put(&run->safe, run->writes[i]->offset, run->writes[i]->data,
                    run->writes[i]->length);
    run->count = 0;
    run->flushes++;
}

static void try_run(struct run *run)
{
    try_subsets(run);
    try_torn_supers(run);
}

uint64_t crash_each(const struct crash_plan *plan)
{
    struct run *run = calloc(1, sizeof *run);
    ck_assert_ptr_nonnull(run);
    run->plan = plan;
    run->dice = (struct dice){plan->seed};
    overlay_open(&run->safe, plan->before);
    overlay_open(&run->over, &run->safe.device);
    for (size_t i = 0; i < plan->count; i++) {
        const struct device_event *event = &plan->events[i];
        if (event->type == DEVICE_WRITE) {
            expect(run->count < RUN_MOST, "too many writes between two flushes");
            run->writes[run->count++] = event;
        } else if (event->type == DEVICE_FLUSH) {
            try_run(run);
            pass_flush(run);
        }
    }
    try_run(run);
    uint64_t states = run->states;
    overlay_close(&run->safe);
    overlay_close(&run->over);
    free(run);
    return states;
}
