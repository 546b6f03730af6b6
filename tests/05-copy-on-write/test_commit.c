#include "commit.h"

#include "change.h"
#include "fail.h"
#include "insert.h"
#include "support_crash.h"
#include "support_device.h"
#include "support_faults.h"
#include "support_forest.h"
#include "support_volume.h"
#include "writable.h"

#include <stdlib.h>
#include <string.h>

static struct forest forest;
static struct overlay overlay;
static struct device *memory, *recorder;

enum { SMALL_SIZE = 8 << 20, SERIES_MOST = 16 };

/* --- what is recorded --------------------------------------------------------------- */

/* A forest of a few trees on a memory device, and over it a recorder for what comes then. */
static void record(void)
{
    overlay_open(&overlay, memory);
    expect_success(recording_device_open(&overlay.device, &recorder));
    forest_reopen(&forest, recorder);
}

static void begin(uint64_t size, uint32_t node_size, bool recycles)
{
    memory = make_memory(size);
    forest_open(&forest, memory, node_size, size + node_size);
    forest.max_items = 4;
    forest.max_ptrs = 8;
    forest.most = 100;
    if (recycles)
        forest_recycle(&forest);
    forest_begin(&forest);
    expect_success(forest_new_tree(&forest, 1, 300));
    expect_success(forest_new_tree(&forest, 2, CSUM_TREE_OBJECTID));
    expect_success(forest_steps(&forest, 300));
    expect_success(forest_commit(&forest));
    record();
}

/* The same with the empty tree 5 alone. */
static void begin_small(void)
{
    memory = make_memory(MIRRORED_SIZE);
    forest_open(&forest, memory, 4096, 1);
    record();
}

static void end(void)
{
    forest_close(&forest);
    device_close(recorder);
    overlay_close(&overlay);
    device_close(memory);
}

static const struct device_event *events(size_t *count)
{
    return recording_device_events(recorder, count);
}

/* --- W7 ----------------------------------------------------------------------------- */

/* "bbbbF0F1": blocks, flushes, superblocks by mirror, in the order of the events; of blocks that
 * come one behind the other there is one b. */
static void order_of(const struct device_event *first, size_t count, char *text)
{
    char *next = text;
    for (size_t i = 0; i < count; i++) {
        char kind = 'b';
        for (int mirror = 0; mirror < SUPERBLOCK_MIRRORS; mirror++)
            if (first[i].offset == superblock_offset(mirror))
                kind = (char)('0' + mirror);
        if (first[i].type == DEVICE_READ)
            continue;
        if (first[i].type == DEVICE_FLUSH)
            kind = 'F';
        if (kind != 'b' || next == text || next[-1] != 'b')
            *next++ = kind;
    }
    *next = '\0';
}

/* W7: blocks, flush, superblock, flush, mirrors; as many as the file system has. */
START_TEST(w7_order)
{
    static const struct {
        uint64_t size;
        const char *order;
    } right[] = {
        {SMALL_SIZE, "bF0F"},         {(64 << 20) - 4096, "bF0F"}, {(64 << 20) + 4095, "bF0F"},
        {(64 << 20) + 4096, "bF0F1"}, {MIRRORED_SIZE, "bF0F1"},
    };
    for (size_t i = 0; i < LENGTH_OF(right); i++) {
        char order[1000];
        size_t before, after;
        begin(right[i].size, 4096, false);
        for (unsigned round = 0; round < 4; round++) {
            events(&before);
            forest_begin(&forest);
            expect_success(forest_toggle(&forest, 0, 470 + round));
            expect_success(forest_steps(&forest, 60 * round));
            expect_success(forest_commit(&forest));
            const struct device_event *all = events(&after);
            order_of(all + before, after - before, order);
            ck_assert_str_eq(order, right[i].order);
        }
        end();
    }
}
END_TEST

/* Where the superblock alone changes: the same without blocks. */
START_TEST(w7_superblock)
{
    char order[100];
    size_t count;
    bool is_on_device = false;
    begin(MIRRORED_SIZE, 4096, false);
    events(&count);
    size_t before = count;
    strcpy(forest.volume.super.label, "changed");
    expect_success(superblock_commit(&forest.volume, &is_on_device));
    ck_assert(is_on_device);
    const struct device_event *all = events(&count);
    order_of(all + before, count - before, order);
    const char *tail = strstr(order, "0F1"); /* what stands before it may be a flush */
    ck_assert_ptr_nonnull(tail);
    ck_assert_ptr_null(strchr(order, 'b'));
    end();
}
END_TEST

/* --- W1 and W2 ---------------------------------------------------------------------- */

static bool meets(const struct range_set *set, uint64_t start, uint64_t end)
{
    size_t at = range_set_find(set, start);
    return at < set->count && set->ranges[at].start < end;
}

/* Up to the first flush and beyond: no write touches what the superblock reaches that was there
 * before, or a superblock but as such. The recycler gives out what was freed again. */
START_TEST(w1_untouched)
{
    unsigned reused = 0;
    begin(MIRRORED_SIZE, 4096, true);
    struct range_set ever = {0};
    for (unsigned round = 0; round < ROUNDS_OF(240); round++) {
        struct range_set reached;
        size_t before, after;
        reach_blocks(&forest.volume, &reached);
        events(&before);
        forest_begin(&forest);
        expect_success(forest_steps(&forest, 40));
        expect_success(forest_commit(&forest));
        const struct device_event *all = events(&after);
        for (size_t i = before; i < after; i++) {
            uint64_t start = all[i].offset, end = start + all[i].length;
            if (all[i].type != DEVICE_WRITE)
                continue;
            expect(!meets(&reached, start, end), "round %u: a write at %ju", round,
                   (uintmax_t)start);
            bool is_super = start == superblock_offset(0) || start == superblock_offset(1);
            expect(is_super || start >= 1 << 20, "a block at %ju", (uintmax_t)start);
            expect(is_super || end <= superblock_offset(1) ||
                       start >= superblock_offset(1) + SUPERBLOCK_SIZE,
                   "a block over a superblock");
            reused += !is_super && meets(&ever, start, end);
            if (!meets(&ever, start, end))
                expect_success(range_set_add(&ever, start, end));
        }
        range_set_close(&reached);
        overlay_settle(&overlay);
        if (round % 16 == 0)
            forest_check(&forest, recorder);
    }
    ck_assert_uint_gt(reused, 10);
    range_set_close(&ever);
    end();
}
END_TEST

/* --- power cuts --------------------------------------------------------------------- */

/* What the image held after each commit of a series. */
struct series {
    uint64_t digests[SERIES_MOST + 1];
    unsigned count;
    uint64_t old, new, torn; /* states that were found */
};

/* A commit passes two flushes. Behind an even number of flushes it is one state; behind an odd one
 * the superblock is under way: that or the next one. A torn superblock at 64 KiB is noticed. */
static void check_series(const struct crash *crash, void *context)
{
    struct series *series = context;
    struct state state;
    unsigned commit = crash->flushes / 2;
    int result = state_read(&state, crash->device);
    expect(result == 0, "%s: %s", crash->what, fail_message());
    bool is_old = state.digest == series->digests[commit];
    bool is_new = commit + 1 < series->count && state.digest == series->digests[commit + 1];
    expect(is_old || is_new, "%s: a third state, of generation %ju", crash->what,
           (uintmax_t)state.generation);
    expect(is_old || crash->flushes % 2, "%s: the new state too early", crash->what);
    expect((state.mirror != 0) == (state.notes.count > 0), "%s: mirror %d, %u notes", crash->what,
           state.mirror, state.notes.count);
    expect(state.mirror == 0 || crash->is_torn, "%s: a mirror is used", crash->what);
    series->old += is_old;
    series->new += is_new;
    series->torn += state.mirror != 0;
}

/* Commits, and tries all cuts in all of them. */
static uint64_t cut_series(unsigned commits, unsigned steps, struct crash_plan *plan)
{
    struct series series = {.count = 1};
    size_t before;
    series.digests[0] = state_of(&overlay.device).digest;
    events(&before);
    for (unsigned i = 0; i < commits; i++) {
        forest_begin(&forest);
        expect_success(forest_toggle(&forest, 0, 479 - i));
        expect_success(forest_steps(&forest, steps));
        expect_success(forest_commit(&forest));
        series.digests[series.count++] = state_of(&overlay.device).digest;
    }
    forest_check(&forest, &overlay.device);
    plan->before = memory;
    plan->events = events(&plan->count) + before;
    plan->count -= before;
    plan->check = check_series;
    plan->context = &series;
    uint64_t states = crash_each(plan);
    ck_assert_uint_gt(series.old, 0);
    ck_assert_uint_gt(series.new, 0);
    ck_assert_uint_gt(series.torn, 0);
    return states;
}

/* Small commits: every subset of what is written between two flushes, torn in many ways. */
START_TEST(every_subset)
{
    uint64_t states = 0;
    for (unsigned recycles = 0; recycles <= 1; recycles++) {
        struct crash_plan plan = {.all = SANITIZED ? 6 : 9, .random = 60, .tears = 1, .seed = 5};
        begin(MIRRORED_SIZE, 4096, recycles);
        states += cut_series(SANITIZED ? 4 : 10, 3, &plan);
        end();
    }
    expect(states > 2000, "%ju states", (uintmax_t)states);
}
END_TEST

/* Large ones: prefixes, all but one, random subsets; all node sizes. */
START_TEST(random_subsets)
{
    uint64_t states = 0;
    for (uint32_t node_size = 4096; node_size <= NODE_SIZE_MAX; node_size *= 4) {
        struct crash_plan plan = {.all = 2, .random = 30, .tears = 2, .seed = node_size};
        begin(MIRRORED_SIZE, node_size, node_size == 4096);
        if (node_size > 4096) { /* fewer and larger */
            forest.max_items = 12;
            forest.most = 900;
        }
        states += cut_series(SANITIZED ? 1 : 3, node_size == 4096 ? 60 : 12, &plan);
        end();
    }
    expect(states > 1000, "%ju states", (uintmax_t)states);
}
END_TEST

/* The note about a torn superblock says which one is used. */
START_TEST(torn_superblock)
{
    struct superblock super, old;
    size_t count;
    begin(MIRRORED_SIZE, 8192, false); /* so blocks have another length */
    expect_success(device_read(memory, superblock_offset(0), &old, sizeof old));
    forest_begin(&forest);
    expect_success(forest_toggle(&forest, 0, 479));
    expect_success(forest_commit(&forest));
    expect_success(device_read(&overlay.device, superblock_offset(0), &super, sizeof super));
    struct state before = state_of(memory);
    for (size_t cut = SECTOR; cut < SUPERBLOCK_SIZE; cut += SECTOR) {
        struct overlay torn;
        const struct device_event *all = events(&count);
        overlay_open(&torn, memory);
        for (size_t i = 0; i < count; i++)
            if (all[i].type == DEVICE_WRITE && all[i].length != SUPERBLOCK_SIZE)
                overlay_put(&torn, all[i].offset, all[i].data, all[i].length);
        overlay_put(&torn, superblock_offset(0), &super, cut);
        struct state state = state_of(&torn.device);
        if (memcmp((char *)&super + cut, (char *)&old + cut, SUPERBLOCK_SIZE - cut) == 0)
            ck_assert_int_eq(state.mirror, 0);
        else {
            ck_assert_int_eq(state.mirror, 1);
            ck_assert_uint_eq(state.digest, before.digest);
            ck_assert_uint_eq(state.notes.count, 1);
            expect(strstr(state.notes.text[0], "superblock at 65536: wrong checksum (U2); mirror 1 "
                                               "at 67108864 is used, of generation 2"),
                   "%s", state.notes.text[0]);
        }
        overlay_close(&torn);
    }
    end();
}
END_TEST

/* --- on from where it was cut ------------------------------------------------------- */

struct chain {
    uint64_t states, links;
    unsigned depth, deepest;
    uint64_t old, new;
    unsigned firm, done; /* behind fewer flushes it is the old state, behind so many the new one */
    struct overlay overlays[3];
    struct dice dice;
};

static void check_link(const struct crash *crash, void *context);

/* Where in the first chunk no block lies from there on. */
static uint64_t first_free(struct volume *volume)
{
    const struct chunk *chunk = &volume->chunks.chunks[0];
    struct range_set blocks;
    uint64_t end = chunk->logical;
    reach_blocks(volume, &blocks);
    for (size_t i = 0; i < blocks.count && blocks.ranges[i].start < chunk->logical + chunk->length;
         i++)
        end = blocks.ranges[i].end;
    range_set_close(&blocks);
    return end;
}

/* A program that opens what is there for writing, and commits one change. */
static void add_change(struct volume *volume, uint64_t number)
{
    struct key key = {900, 40, number};
    struct bump_space bump;
    struct transaction transaction;
    struct tree *tree;
    bump_space_open(&bump, volume, first_free(volume));
    transaction_begin(&transaction, volume, &bump.space);
    expect_success(transaction_tree(&transaction, FS_TREE_OBJECTID, &tree));
    expect_success(tree_insert(tree, &key, &number, sizeof number));
    expect_success(transaction_commit(&transaction));
}

static unsigned count_flushes(const struct device *device)
{
    size_t count;
    unsigned flushes = 0;
    const struct device_event *all = recording_device_events(device, &count);
    for (size_t i = 0; i < count; i++)
        flushes += all[i].type == DEVICE_FLUSH;
    return flushes;
}

/* From this state on: opened for writing, changed, and cut again at each write. */
static void add_link(struct chain *chain, struct device *device)
{
    struct chain saved = {
        .old = chain->old, .new = chain->new, .firm = chain->firm, .done = chain->done};
    struct overlay *over = &chain->overlays[chain->depth];
    struct device *recording;
    struct volume volume;
    struct notes notes = {0};
    overlay_open(over, device);
    expect_success(recording_device_open(&over->device, &recording));
    expect_success(volume_open(&volume, recording, &notes));
    chain->old = state_of(device).digest;
    expect_success(volume_writable(&volume));
    struct state fresh = state_of(&over->device);
    expect(fresh.digest == chain->old && fresh.mirror == 0, "volume_writable changes the state");
    chain->firm = count_flushes(recording) + 1;
    chain->done = chain->firm + 1;
    add_change(&volume, 1000 * chain->depth + chain->links);
    volume_close(&volume);
    chain->new = state_of(&over->device).digest;
    chain->links++;
    chain->depth++;
    struct crash_plan plan = {
        .before = device, .all = 4, .cuts = true, .check = check_link, .context = chain, .seed = 3};
    plan.events = recording_device_events(recording, &plan.count);
    chain->states += crash_each(&plan);
    chain->depth--;
    device_close(recording);
    overlay_close(over);
    chain->old = saved.old;
    chain->new = saved.new;
    chain->firm = saved.firm;
    chain->done = saved.done;
}

static void check_link(const struct crash *crash, void *context)
{
    struct chain *chain = context;
    struct state state;
    int result = state_read(&state, crash->device);
    expect(result == 0, "link %ju, %s: %s", (uintmax_t)chain->links, crash->what, fail_message());
    bool right = (state.digest == chain->old && crash->flushes < chain->done) ||
                 (state.digest == chain->new && crash->flushes >= chain->firm);
    expect(right, "link %ju, %s: generation %ju, old %d, new %d", (uintmax_t)chain->links,
           crash->what, (uintmax_t)state.generation, state.digest == chain->old,
           state.digest == chain->new);
    /* From all of them at first, from some further on. */
    if (chain->depth < chain->deepest && dice_below(&chain->dice, chain->depth > 1 ? 24 : 1) == 0)
        add_link(chain, crash->device);
}

START_TEST(chains)
{
    static struct chain chain;
    begin_small();
    for (uint64_t seed = 1; seed <= (SANITIZED ? 1 : 4); seed++) {
        chain.dice = (struct dice){seed};
        chain.deepest = 3;
        add_link(&chain, &overlay.device);
    }
    expect(chain.links > 40 && chain.states > (SANITIZED ? 1000 : 5000), "%ju links, %ju states",
           (uintmax_t)chain.links, (uintmax_t)chain.states);
    end();
}
END_TEST

/* --- W6 ----------------------------------------------------------------------------- */

/* A change that takes several blocks. */
static int change_much(void)
{
    forest_begin(&forest);
    for (uint32_t i = 0; i < 8; i++) {
        int result = forest_insert(&forest, 0, 440 + 5 * i, 10);
        expect(result == 0 || result == -EEXIST, "%s", fail_message());
    }
    return forest_commit(&forest);
}

/* After a failure the volume is not written any more, by whatever way. */
static void expect_dead(uint64_t *calls)
{
    struct tree *tree;
    struct key key = {900, 40, 1};
    bool is_on_device;
    uint64_t writes = calls[DEVICE_WRITE], flushes = calls[DEVICE_FLUSH];
    for (unsigned i = 0; i < 2; i++) {
        forest_begin(&forest);
        expect_success(transaction_tree(&forest.transaction, FS_TREE_OBJECTID, &tree));
        expect_failure(EIO, "the transaction failed before", tree_insert(tree, &key, "x", 1));
        expect_failure(EIO, "failed before", forest_commit(&forest));
        forest_begin(&forest);
        expect_failure(EIO, "failed before", forest_commit(&forest));
        expect_failure(EIO, "an earlier write failed",
                       superblock_commit(&forest.volume, &is_on_device));
        ck_assert(!is_on_device);
    }
    ck_assert_uint_eq(calls[DEVICE_WRITE], writes);
    ck_assert_uint_eq(calls[DEVICE_FLUSH], flushes);
}

/* One call fails, alone, having written nothing, a part, or all: W6, nothing follows it. */
static void fail_one(enum device_event_type type, uint64_t call, size_t written, uint64_t blocks)
{
    overlay_clear(&overlay);
    forest_reopen(&forest, &overlay.device);
    struct state before = state_of(&overlay.device);
    forest.volume.write_error = 0;
    memset(overlay.calls, 0, sizeof overlay.calls);
    overlay.fault.type = type;
    overlay.fault.call = call;
    overlay.fault.written = written;
    int64_t pieces = memory_pieces();
    struct forest_model model = forest.now;
    int result = change_much();
    ck_assert_int_eq(memory_pieces(), pieces);
    expect_failure(EIO, "the overlay fails", result);
    ck_assert(overlay.fault.is_passed);
    /* What came before it in the order, and itself. */
    uint64_t writes = type == DEVICE_WRITE ? call + 1 : call == 0 ? blocks : blocks + 1;
    uint64_t flushes = type == DEVICE_FLUSH ? call + 1 : call < blocks ? 0 : call - blocks + 1;
    ck_assert_uint_eq(overlay.calls[DEVICE_WRITE], writes);
    ck_assert_uint_eq(overlay.calls[DEVICE_FLUSH], flushes);
    struct state after = state_of(&overlay.device);
    bool is_mirror = type == DEVICE_WRITE && call > blocks;
    bool is_open = (type == DEVICE_WRITE && call == blocks && written > 0) ||
                   (type == DEVICE_FLUSH && call == 1);
    if (!is_open)
        expect((after.digest == before.digest) == !is_mirror, "write %ju: generation %ju",
               (uintmax_t)call, (uintmax_t)after.generation);
    ck_assert_uint_le(after.generation - before.generation, 1);
    /* The volume is in the state that is safe. */
    ck_assert_uint_eq(from_le64(forest.volume.super.generation), before.generation + is_mirror);
    expect_dead(overlay.calls);
    forest.now = forest.committed = model;
}

/* How many blocks the change takes. */
static uint64_t measure(void)
{
    struct forest_model model = forest.now;
    forest_reopen(&forest, &overlay.device);
    overlay_clear(&overlay);
    expect_success(change_much());
    forest.now = forest.committed = model;
    uint64_t blocks = overlay.calls[DEVICE_WRITE] - 2;
    ck_assert_uint_eq(blocks, forest.transaction.counters.written);
    ck_assert_uint_gt(blocks, 6);
    return blocks;
}

START_TEST(w6_nothing_more)
{
    static const size_t written[] = {0, 512, 2048, 4096};
    begin(MIRRORED_SIZE, 4096, false);
    uint64_t blocks = measure();
    for (uint64_t call = 0; call < blocks + 2; call++)
        for (size_t i = 0; i < LENGTH_OF(written); i++)
            fail_one(DEVICE_WRITE, call, written[i], blocks);
    for (uint64_t call = 0; call < 2; call++)
        fail_one(DEVICE_FLUSH, call, 0, blocks);
    forest_reopen(&forest, recorder);
    end();
}
END_TEST

/* A device that fails from a call on, as broken ones do. */
START_TEST(w6_broken_device)
{
    static const enum device_event_type types[] = {DEVICE_WRITE, DEVICE_FLUSH, DEVICE_READ};
    begin(MIRRORED_SIZE, 4096, false);
    struct forest_model model = forest.now;
    uint64_t digest = state_of(&overlay.device).digest;
    for (size_t i = 0; i < LENGTH_OF(types); i++) {
        struct device *failing;
        uint64_t faults = 0, changed = 0;
        for (int result = -1; result < 0; faults++) {
            overlay_clear(&overlay);
            forest_reopen(&forest, &overlay.device);
            expect_success(
                failing_device_open(&overlay.device, 1U << types[i], faults, EIO, &failing));
            forest.volume.device = forest.volume.source.device = failing;
            if (types[i] != DEVICE_READ)
                result = change_much();
            else { /* up to the commit all can be read */
                forest_begin(&forest);
                result = forest_insert(&forest, 0, 441, 9);
                result = result == 0 ? forest_commit(&forest) : (forest_abort(&forest), result);
            }
            forest.now = forest.committed = model;
            if (result < 0) {
                expect_failure(EIO, "cannot ", result);
                changed += state_of(&overlay.device).digest != digest;
                if (types[i] != DEVICE_READ)
                    expect_dead(overlay.calls);
            }
            forest.volume.device = forest.volume.source.device = memory;
            device_close(failing);
        }
        /* The second flush fails, or the mirror: the new superblock is there. */
        ck_assert_uint_eq(changed, types[i] == DEVICE_READ ? 0 : 1);
        ck_assert_uint_gt(faults, types[i] == DEVICE_FLUSH ? 2 : 6);
    }
    forest_reopen(&forest, recorder);
    end();
}
END_TEST

/* --- what a superblock says --------------------------------------------------------- */

static void expect_backup(const struct volume *volume, unsigned slot)
{
    const struct root_backup *backup = &volume->super.super_roots[slot];
    struct tree tree;
    struct volume *open = (struct volume *)(uintptr_t)volume;
    ck_assert_uint_eq(from_le64(backup->tree_root), from_le64(volume->super.root));
    ck_assert_uint_eq(from_le64(backup->tree_root_gen), from_le64(volume->super.generation));
    ck_assert_uint_eq(backup->tree_root_level, volume->super.root_level);
    ck_assert_uint_eq(from_le64(backup->chunk_root), from_le64(volume->super.chunk_root));
    ck_assert_uint_eq(from_le64(backup->chunk_root_gen),
                      from_le64(volume->super.chunk_root_generation));
    ck_assert_uint_eq(backup->chunk_root_level, volume->super.chunk_root_level);
    expect_success(volume_tree(open, FS_TREE_OBJECTID, &tree));
    ck_assert_uint_eq(from_le64(backup->fs_root), tree.bytenr);
    ck_assert_uint_eq(from_le64(backup->fs_root_gen), tree.generation);
    ck_assert_uint_eq(backup->fs_root_level, tree.level);
    expect_success(volume_tree(open, CSUM_TREE_OBJECTID, &tree));
    ck_assert_uint_eq(from_le64(backup->csum_root), tree.bytenr);
    ck_assert_uint_eq(from_le64(backup->csum_root_gen), tree.generation);
    ck_assert_uint_eq(backup->csum_root_level, tree.level);
    ck_assert_uint_eq(from_le64(backup->extent_root) + from_le64(backup->dev_root), 0);
    ck_assert_uint_eq(from_le64(backup->total_bytes), from_le64(volume->super.total_bytes));
    ck_assert_uint_eq(from_le64(backup->bytes_used), from_le64(volume->super.bytes_used));
    ck_assert_uint_eq(from_le64(backup->num_devices), 1);
}

/* The last four states, one in each slot in turn; the others stay as they were, and nothing is used
 * again, so each state can still be read. */
START_TEST(backup_roots)
{
    begin(SMALL_SIZE, 4096, false);
    unsigned slot = BACKUP_ROOTS;
    for (unsigned i = 0; i < BACKUP_ROOTS; i++)
        if (from_le64(forest.volume.super.super_roots[i].tree_root_gen) == 2)
            slot = i;
    ck_assert_uint_eq(slot, 1); /* the first commit made slot 0 */
    for (unsigned round = 0; round < 12; round++) {
        struct superblock before = forest.volume.super;
        if (round % 3 == 0)
            forest_reopen(&forest, recorder);
        forest_begin(&forest);
        expect_success(forest_toggle(&forest, round % 3, 440 + round));
        expect_success(forest_steps(&forest, 10));
        expect_success(forest_commit(&forest));
        slot = (slot + 1) % BACKUP_ROOTS;
        expect_backup(&forest.volume, slot);
        for (unsigned other = 0; other < BACKUP_ROOTS; other++)
            if (other != slot)
                ck_assert_mem_eq(&before.super_roots[other],
                                 &forest.volume.super.super_roots[other],
                                 sizeof(struct root_backup));
        for (unsigned i = 0; i < BACKUP_ROOTS; i++) {
            struct tree tree;
            const struct root_backup *backup = &forest.volume.super.super_roots[i];
            if (from_le64(backup->tree_root_gen) == 0)
                continue;
            expect_success(volume_tree(&forest.volume, ROOT_TREE_OBJECTID, &tree));
            tree.bytenr = from_le64(backup->tree_root);
            tree.generation = from_le64(backup->tree_root_gen);
            tree.level = backup->tree_root_level;
            struct path path = {0};
            struct key first = {0};
            ck_assert_int_eq(tree_seek(&tree, &first, &path), 0);
            path_release(&tree, &path);
        }
    }
    end();
}
END_TEST

/* A tree that is not there is 0 in the backup, also where the slot held another before; a backup of
 * another make, where no slot is of the last generation: the first slot. */
START_TEST(backup_of_others)
{
    begin(SMALL_SIZE, 4096, false);
    memset(forest.volume.super.super_roots, 0x77, sizeof forest.volume.super.super_roots);
    forest_begin(&forest);
    expect_success(forest_toggle(&forest, 0, 479));
    expect_success(forest_commit(&forest));
    expect_backup(&forest.volume, 0);
    static const struct root_backup none;
    ck_assert_mem_eq(forest.volume.super.super_roots[0].unused, none.unused, sizeof none.unused);
    ck_assert_uint_eq(((uint8_t *)&forest.volume.super.super_roots[1])[0], 0x77);
    end();
}
END_TEST

/* All copies are the same but for their place; what is on the device is what the volume says. */
START_TEST(mirrors)
{
    begin(MIRRORED_SIZE, 4096, false);
    for (unsigned round = 0; round < 6; round++) {
        struct superblock copies[2];
        forest_begin(&forest);
        expect_success(forest_steps(&forest, 30));
        expect_success(forest_commit(&forest));
        for (int mirror = 0; mirror < 2; mirror++) {
            expect_success(superblock_read(recorder, mirror, &copies[mirror]));
            ck_assert_uint_eq(from_le64(copies[mirror].bytenr), superblock_offset(mirror));
            copies[mirror].bytenr = forest.volume.super.bytenr;
            memcpy(copies[mirror].csum, forest.volume.super.csum, CSUM_SIZE);
            ck_assert_mem_eq(&copies[mirror], &forest.volume.super, sizeof copies[mirror]);
        }
    }
    end();
}
END_TEST

START_TEST(has_mirror)
{
    struct superblock super = {0};
    for (int mirror = 1; mirror < SUPERBLOCK_MIRRORS; mirror++)
        for (int more = -1; more <= 1; more++) {
            uint64_t bytes = superblock_offset(mirror) + SUPERBLOCK_SIZE + (uint64_t)more;
            super.dev_item.total_bytes = to_le64(bytes);
            super.total_bytes = to_le64(UINT64_MAX); /* is of all devices */
            ck_assert(superblock_has_mirror(&super, mirror) == (more >= 0));
        }
}
END_TEST

/* The list of subvolumes by uuid: if it was up to date it is, if not it is not. */
START_TEST(uuid_tree_generation)
{
    begin(SMALL_SIZE, 4096, false);
    static const struct {
        uint64_t behind; /* the superblock's generation */
        bool is_set;
    } cases[] = {{0, true}, {1, false}, {2, false}};
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        uint64_t generation = from_le64(forest.volume.super.generation);
        forest.volume.super.uuid_tree_generation = to_le64(generation - cases[i].behind);
        forest_begin(&forest);
        expect_success(forest_toggle(&forest, 0, 479));
        expect_success(forest_steps(&forest, 20));
        expect_success(forest_commit(&forest));
        ck_assert_uint_eq(from_le64(forest.volume.super.uuid_tree_generation),
                          cases[i].is_set ? generation + 1 : generation - cases[i].behind);
    }
    end();
}
END_TEST

/* A file system that has become longer than its file: the file grows first. */
START_TEST(longer)
{
    struct device *device = make_memory(SMALL_SIZE);
    uint64_t size;
    forest_open(&forest, device, 4096, 1);
    forest_begin(&forest);
    expect_success(forest_insert(&forest, 0, 1, 9));
    forest.transaction.super.total_bytes = to_le64(MIRRORED_SIZE);
    forest.transaction.super.dev_item.total_bytes = to_le64(MIRRORED_SIZE);
    expect_success(forest_commit(&forest));
    expect_success(device_size(device, &size));
    ck_assert_uint_eq(size, MIRRORED_SIZE);
    struct superblock mirror;
    expect_success(superblock_read(device, 1, &mirror));
    forest_check(&forest, device);
    forest_close(&forest);
    device_close(device);
}
END_TEST

/* --- blocks ------------------------------------------------------------------------- */

/* A block that no reader would take is not written: the image stays, the volume is given up. */
START_TEST(bad_block)
{
    struct tree *tree;
    struct key key = {1000, INODE_ITEM_KEY, 0};
    begin(MIRRORED_SIZE, 4096, false);
    uint64_t digest = state_of(&overlay.device).digest;
    forest_begin(&forest);
    expect_success(transaction_tree(&forest.transaction, FS_TREE_OBJECTID, &tree));
    expect_success(tree_insert(tree, &key, "short", 5));
    expect_failure(EUCLEAN, "not written: leaf ", forest_commit(&forest));
    ck_assert_uint_eq(state_of(&overlay.device).digest, digest);
    forest_begin(&forest);
    expect_failure(EUCLEAN, "failed before", forest_commit(&forest));
    forest_reopen(&forest, recorder); /* opened anew it is as good as ever */
    forest_begin(&forest);
    expect_success(forest_steps(&forest, 30));
    expect_success(forest_commit(&forest));
    forest_check(&forest, recorder);
    end();
}
END_TEST

/* A volume with two copies of each block, and each kind of checksum. */
static struct maker maker;
static struct opened opened;

static void begin_copies(uint32_t node_size, uint16_t csum_type, unsigned copies)
{
    maker_begin(&maker, node_size, csum_type, copies);
    maker.super.dev_item.total_bytes = maker.super.total_bytes;
    struct block leaf = maker_block(&maker, FS_TREE_OBJECTID, 0);
    leaf_append(&leaf, (struct key){256, ORPHAN_ITEM_KEY, 0}, NULL, 0);
    maker_root(&maker, (struct key){FS_TREE_OBJECTID, ROOT_ITEM_KEY, 0}, &leaf);
    maker_write(&maker, &leaf);
    maker_end(&maker);
    struct device *file;
    opened.notes = (struct notes){0};
    expect_success(file_device_open(maker.image.path, false, &file));
    overlay_open(&overlay, file);
    expect_success(recording_device_open(&overlay.device, &recorder));
    memory = file;
    expect_success(volume_open(&opened.volume, recorder, &opened.notes));
}

static void end_copies(void)
{
    volume_close(&opened.volume);
    device_close(recorder);
    overlay_close(&overlay);
    device_close(memory);
    maker_close(&maker);
}

START_TEST(copies)
{
    for (uint16_t csum_type = 0; csum_type < 4; csum_type++)
        for (unsigned number = 1; number <= 2; number++) {
            size_t before, after;
            unsigned writes = 0;
            begin_copies(8192, csum_type, number);
            struct series series = {.count = 2, .digests = {state_of(&overlay.device).digest}};
            events(&before);
            add_change(&opened.volume, 1);
            series.digests[1] = state_of(&overlay.device).digest;
            const struct device_event *all = events(&after);
            for (size_t i = before; i < after; i++) {
                if (all[i].type != DEVICE_WRITE || all[i].length != 8192)
                    continue;
                const struct block_header *header = all[i].data;
                ck_assert(from_le64(header->flags) & HEADER_FLAG_WRITTEN);
                ck_assert(from_le64(header->flags) >> HEADER_BACKREF_REV_SHIFT == 1);
                writes++;
                for (size_t j = before; j < i; j++) /* the other copy */
                    if (all[j].offset + MAKER_COPY == all[i].offset)
                        ck_assert_mem_eq(all[j].data, all[i].data, 8192);
            }
            ck_assert_uint_eq(writes, 2 * number);
            struct crash_plan plan = {.before = memory,
                                      .events = all + before,
                                      .count = after - before,
                                      .all = 8,
                                      .tears = 2,
                                      .check = check_series,
                                      .context = &series,
                                      .seed = 9};
            ck_assert_uint_gt(crash_each(&plan), 300);
            end_copies();
        }
}
END_TEST

/* With two copies a commit reaches both: either can be lost afterwards. */
START_TEST(either_copy)
{
    for (unsigned lost = 0; lost < 2; lost++) {
        static const unsigned char zeros[8192];
        size_t before, after;
        begin_copies(8192, CSUM_TYPE_CRC32, 2);
        events(&before);
        add_change(&opened.volume, 1);
        struct state state = state_of(&overlay.device);
        const struct device_event *all = events(&after);
        for (size_t i = before; i < after; i++)
            if (all[i].type == DEVICE_WRITE && all[i].length == 8192 &&
                (all[i].offset >= MAKER_COPY) == lost)
                expect_success(device_write(&overlay.device, all[i].offset, zeros, 8192));
        struct state without = state_of(&overlay.device);
        ck_assert_uint_eq(without.digest, state.digest);
        ck_assert_int_eq(without.notes.count > 0, lost == 0);
        end_copies();
    }
}
END_TEST

SUITE(commit, 120, w7_order, w7_superblock, w1_untouched, every_subset, random_subsets,
      torn_superblock, chains, w6_nothing_more, w6_broken_device, backup_roots, backup_of_others,
      mirrors, has_mirror, uuid_tree_generation, longer, bad_block, copies, either_copy)
