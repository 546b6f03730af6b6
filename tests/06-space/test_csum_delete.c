#include "csum_delete.h"

#include "fail.h"
#include "item.h"
#include "support_faults.h"
#include "support_rules.h"

#include <string.h>

/* --- the model: an array of sectors ------------------------------------------------- */

enum { SECTORS_MOST = 20000, CSUM_MOST = 32 };

static struct grove grove; /* its tree, its watch and its dice; not its items */
static struct push_policy rules;

static bool is_alone; /* without the others */
static uint32_t csum_size, sectorsize, sectors;
static uint64_t base; /* the address of sector 0 */
static struct {
    uint32_t seed; /* of its checksum; 0: it has none */
    bool begins;   /* an item begins with it */
} model[SECTORS_MOST + 1];

/* Items that are no checksums of sectors: before all, behind all. */
static const struct key others[] = {
    {5, EXTENT_CSUM_KEY, 1 << 20},
    {EXTENT_CSUM_OBJECTID, CSUM_ITEM_KEY, 1 << 20},
    {EXTENT_CSUM_OBJECTID, EXTENT_CSUM_KEY + 1, 0},
    {EXTENT_CSUM_OBJECTID + 1, EXTENT_CSUM_KEY, 1 << 20},
};

static struct key key_of(uint32_t sector)
{
    return (struct key){EXTENT_CSUM_OBJECTID, EXTENT_CSUM_KEY,
                        base + (uint64_t)sector * sectorsize};
}

static void open_tree(uint32_t node_size, const struct growth *limits, uint64_t seed)
{
    rules = push_policy_coppice();
    rules_open(&grove, &rules, node_size, limits, seed);
    grove.keys = 0;
    memset(model, 0, sizeof model);
    for (unsigned i = 0; i < LENGTH_OF(others) && !is_alone; i++)
        expect_success(tree_insert(&grove.tree, &others[i], NULL, csum_size));
}

/* The item that begins at a sector: its checksums, and the sector behind them. */
static uint32_t item_at(uint32_t sector, unsigned char *bytes)
{
    do {
        dice_fill(&(struct dice){model[sector].seed}, bytes, csum_size);
        bytes += csum_size;
        sector++;
    } while (sector < sectors && model[sector].seed && !model[sector].begins);
    return sector;
}

static unsigned char buffer[SECTORS_MOST * CSUM_MOST];

/* Gives the sectors [first, end), which have none, checksums, in one item. */
static void give(uint32_t first, uint32_t end)
{
    static uint32_t seed;
    struct key key = key_of(first);
    for (uint32_t sector = first; sector < end; sector++) {
        model[sector].seed = ++seed;
        model[sector].begins = sector == first;
    }
    bool joined = end < sectors && model[end].seed && !model[end].begins;
    expect(!joined, "the test has forgotten an item");
    item_at(first, buffer);
    expect_success(tree_insert(&grove.tree, &key, buffer, (end - first) * csum_size));
}

static int take(uint32_t first, uint32_t end)
{
    return csum_delete(&grove.tree, csum_size, sectorsize, key_of(first).offset,
                       key_of(end).offset - key_of(first).offset);
}

static void note_taken(uint32_t first, uint32_t end)
{
    for (uint32_t sector = first; sector < end; sector++) {
        model[sector].seed = 0;
        model[sector].begins = false;
    }
    if (model[end].seed)
        model[end].begins = true;
}

/* --- what must hold ----------------------------------------------------------------- */

static void check_tree(void)
{
    grove_check_shapes(&grove, &(struct item_context){sectorsize, csum_size});
}

/* The item of the path is this one; to the next one. */
static int compare_item(struct path *path, const struct key *key, const void *data, uint32_t size)
{
    char text[KEY_TEXT_SIZE], wanted[KEY_TEXT_SIZE];
    struct key there = path_key(path);
    uint32_t there_size = item_size(path->nodes[0], path->slots[0]);
    expect(key_compare(&there, key) == 0 && there_size == size, "%s of %u bytes, not %s of %u",
           key_format(&there, text), there_size, key_format(key, wanted), size);
    expect(!data || memcmp(item_data(path->nodes[0], path->slots[0]), data, size) == 0,
           "%s: other checksums", key_format(key, wanted));
    return path_next(&grove.tree, path);
}

/* The tree holds what the model says, every byte, and nothing else. */
static void compare(void)
{
    struct path path = {0};
    check_tree();
    int result = tree_seek(&grove.tree, &(struct key){0}, &path);
    for (unsigned i = 0; i < LENGTH_OF(others); i++) {
        for (uint32_t sector = 0; i == 2 && sector < sectors; sector++)
            if (model[sector].begins) {
                struct key key = key_of(sector);
                uint32_t end = item_at(sector, buffer);
                expect(result == 0, "no item for sector %u", sector);
                result = compare_item(&path, &key, buffer, (end - sector) * csum_size);
                sector = end - 1;
            }
        if (is_alone)
            continue;
        expect(result == 0, "no item");
        result = compare_item(&path, &others[i], NULL, csum_size);
    }
    expect(result == 1, "more items");
}

/* --- random lives ------------------------------------------------------------------- */

/* What a deletion meets: bit 0 an item across its start, 1 across its end, 2 whole items; 8: both
 * are one item. */
enum { WAYS = 9, WITHIN = 8 };

static uint64_t seen[WAYS];

static unsigned way_of(uint32_t first, uint32_t end)
{
    bool head = first > 0 && model[first - 1].seed && model[first].seed && !model[first].begins;
    bool tail = model[end].seed && model[end - 1].seed && !model[end].begins;
    uint32_t begun = 0;
    for (uint32_t sector = first; sector < end; sector++)
        begun += model[sector].begins;
    if (head && tail && begun == 0)
        return WITHIN;
    bool whole = begun > tail; /* the last one that begins may be that across the end */
    return head + 2U * tail + 4U * whole;
}

/* Fills a stretch without checksums, with items of up to as many as a leaf takes. */
static void give_some(struct dice *dice, uint32_t most)
{
    uint32_t first = (uint32_t)dice_below(dice, sectors), end = first;
    uint32_t length = 1 + (uint32_t)dice_below(dice, dice_below(dice, 4) ? 40 : most);
    if (dice_below(dice, 8) == 0)
        length = most;
    while (end < sectors && end - first < length && !model[end].seed)
        end++;
    if (end > first)
        give(first, end);
}

static void take_some(struct dice *dice)
{
    uint32_t first = (uint32_t)dice_below(dice, sectors);
    uint64_t most = dice_below(dice, 3) ? 20 : dice_below(dice, 20) ? 400 : 6000;
    uint32_t end = first + 1 + (uint32_t)dice_below(dice, most);
    if (end > sectors)
        end = sectors;
    seen[way_of(first, end)]++;
    expect_success(take(first, end));
    note_taken(first, end);
}

static void live(uint32_t node_size, const struct growth *limits, uint32_t size, uint32_t sector)
{
    csum_size = size;
    sectorsize = sector;
    sectors = SECTORS_MOST;
    base = 16 << 20;
    open_tree(node_size, limits, size + sector);
    uint32_t most =
        (node_size - (uint32_t)sizeof(struct block_header) - (uint32_t)sizeof(struct item_header)) /
        size;
    for (unsigned i = 0; i < ROUNDS_OF(20000); i++) {
        if (dice_below(&grove.dice, 2))
            give_some(&grove.dice, most);
        else
            take_some(&grove.dice);
        if (dice_below(&grove.dice, 20) == 0)
            heap_commit(&grove.heap);
        if (i % 128 == 0)
            compare();
    }
    compare();
    expect_success(take(0, sectors));
    note_taken(0, sectors);
    compare();
    grove_close(&grove);
}

START_TEST(lives)
{
    static const struct growth small = {.max_items = 3, .max_ptrs = 8}, large = {0};
    memset(seen, 0, sizeof seen);
    live(4096, &small, 4, 4096);
    live(4096, &large, 4, 65536);
    live(4096, &large, 32, 4096);
    live(16384, &large, 8, 4096);
    live(65536, &large, 32, 65536);
    for (unsigned way = 0; way < WAYS; way++)
        expect(seen[way] > 50, "way %u: %ju", way, (uintmax_t)seen[way]);
}
END_TEST

/* --- every case --------------------------------------------------------------------- */

/* Of seven sectors each has no checksum, or has one in the item of that before it, or in its
 * own. */
static bool plant(unsigned layout, const struct growth *limits)
{
    unsigned kinds[8] = {0};
    for (uint32_t sector = 0; sector < 7; sector++, layout /= 3)
        kinds[sector] = layout % 3;
    for (uint32_t sector = 0; sector < 7; sector++)
        if (kinds[sector] == 1 && (sector == 0 || kinds[sector - 1] == 0))
            return false; /* there is no such item */
    sectors = 7;
    open_tree(4096, limits, 1);
    for (uint32_t sector = 0; sector < 7; sector++)
        if (kinds[sector] == 2) {
            uint32_t end = sector + 1;
            while (kinds[end] == 1)
                end++;
            give(sector, end);
        }
    heap_commit(&grove.heap);
    return true;
}

START_TEST(every_case)
{
    static const struct growth limits = {.max_items = 3, .max_ptrs = 8};
    csum_size = 4;
    sectorsize = 4096;
    unsigned layouts = 0;
    for (unsigned layout = 0; layout < 2187; layout += SANITIZED ? 7 : 1)
        for (uint32_t first = 0; first < 7; first++)
            for (uint32_t end = first + 1; end <= 7; end++) {
                base = layout % 2 ? 0 : -(8ULL * sectorsize);
                is_alone = (first + end) % 2;
                if (!plant(layout, &limits))
                    continue;
                bool is_void = true;
                for (uint32_t sector = first; sector < end; sector++)
                    is_void = is_void && !model[sector].seed;
                struct snapshot snapshot;
                snapshot_take(&snapshot, &grove);
                expect_success(take(first, end));
                note_taken(first, end);
                compare();
                /* What has changed was made dirty; where there is nothing, nothing has. */
                struct changes changes = snapshot_compare(&snapshot, &grove);
                snapshot_free(&snapshot);
                ck_assert_uint_eq(changes.wasted, 0);
                ck_assert_int_eq(grove.heap.counters.shadowed == 0, is_void);
                grove_close(&grove);
                layouts++;
            }
    ck_assert_uint_ge(layouts, SANITIZED ? 1000 : 610 * 28); /* 610 layouts, 28 ranges */
    is_alone = false;
}
END_TEST

/* --- what is wrong ------------------------------------------------------------------ */

/* Items [2, 6) and [8, 12) of sixteen sectors. */
static void plant_two(void)
{
    static const struct growth limits = {.max_items = 3, .max_ptrs = 8};
    csum_size = 4;
    sectorsize = 4096;
    sectors = 16;
    base = 1 << 20;
    open_tree(4096, &limits, 1);
    give(2, 6);
    give(8, 12);
    heap_commit(&grove.heap);
}

START_TEST(no_range)
{
    plant_two();
    const uint64_t ranges[][2] = {
        {base + 1, 4096}, {base, 4095}, {base + 8192, 1}, {base + 8192, -8192ULL}, {-4096ULL, 8192},
    };
    for (unsigned i = 0; i < LENGTH_OF(ranges); i++)
        expect_failure(EUCLEAN, "no whole sectors",
                       csum_delete(&grove.tree, 4, 4096, ranges[i][0], ranges[i][1]));
    expect_success(csum_delete(&grove.tree, 4, 4096, base + 8192 * 2, 0));
    expect_success(csum_delete(&grove.tree, 4, 4096, -4096ULL, 0));
    expect_success(csum_delete(&grove.tree, 4, 4096, -8192ULL, 4096));
    expect_success(csum_delete(&grove.tree, 4, 4096, 0, base));
    compare();
    ck_assert_uint_eq(grove.heap.counters.shadowed, 0);
    grove_close(&grove);
}
END_TEST

/* A tree without any item. */
START_TEST(empty)
{
    static const struct growth limits = {0};
    rules = push_policy_coppice();
    rules_open(&grove, &rules, 4096, &limits, 1);
    grove.keys = 0;
    expect_success(csum_delete(&grove.tree, 32, 65536, 1 << 20, 1 << 20));
    ck_assert_uint_eq(grove.heap.held, 0);
    grove_close(&grove);
}
END_TEST

/* One more item, beside [2, 6) and [8, 12), and a deletion of one sector that meets it. */
static void check_bad_item(uint64_t offset, uint32_t size, uint32_t sector, const char *words)
{
    struct key key = {EXTENT_CSUM_OBJECTID, EXTENT_CSUM_KEY, offset};
    plant_two();
    expect_success(tree_insert(&grove.tree, &key, NULL, size));
    heap_commit(&grove.heap);
    uint64_t shadowed = grove.heap.counters.shadowed;
    expect_failure(EUCLEAN, words, take(sector, sector + 1));
    ck_assert_uint_eq(grove.heap.counters.shadowed, shadowed);
    ck_assert_uint_eq(grove.heap.held, 0);
    grove_close(&grove);
}

START_TEST(bad_items)
{
    plant_two();
    uint64_t start = base;
    grove_close(&grove);
    check_bad_item(start + 13 * 4096, 7, 13, "7 bytes are none of 4 bytes a sector");
    check_bad_item(start + 13 * 4096, 7, 14, "7 bytes are none of");
    check_bad_item(start + 13 * 4096 + 1, 4, 13, "4 bytes are none of");
    check_bad_item(-4096ULL, 8, 12, "8 bytes are none of"); /* the last sector, and one more */
    check_bad_item(start + 4 * 4096, 4, 3, "overlap");      /* behind the cut, in its item */
    check_bad_item(start + 4 * 4096, 4, 4, "overlap");
    check_bad_item(start + 5 * 4096, 8, 4, "overlap");
    check_bad_item(start + 1 * 4096, 8, 1, "overlap");
    check_bad_item(start + 1 * 4096, 8, 2, "overlap"); /* where an item begins */
    check_bad_item(start + 7 * 4096, 40, 7, "overlap");
    check_bad_item(start + 6 * 4096, 12, 7, "overlap");
}
END_TEST

/* --- faults ------------------------------------------------------------------------- */

enum { FAULT_OF_GET, FAULT_OF_OWNER, FAULT_OF_MEMORY, FAULT_KINDS };

/* Each sector outside of the cut still has its checksum, in one item or another. */
static void check_kept(uint32_t first, uint32_t end)
{
    for (uint32_t sector = 0; sector < sectors; sector++) {
        if (!model[sector].seed || (first <= sector && sector < end))
            continue;
        unsigned char wanted[CSUM_MOST];
        dice_fill(&(struct dice){model[sector].seed}, wanted, csum_size);
        struct path path = {0};
        struct key key = key_of(sector);
        int result = tree_search(&grove.tree, &key, &path);
        if (result == 1)
            expect_success(path_previous(&grove.tree, &path));
        uint64_t at = (key.offset - path_key(&path).offset) / sectorsize * csum_size;
        expect(path_key(&path).objectid == key.objectid && path_key(&path).type == key.type &&
                   at < item_size(path.nodes[0], path.slots[0]),
               "sector %u has lost its checksum", sector);
        ck_assert_mem_eq((unsigned char *)item_data(path.nodes[0], path.slots[0]) + at, wanted,
                         csum_size);
        path_release(&grove.tree, &path);
    }
}

/* One fault; whether it was met. */
static bool fail_once(uint32_t cut_first, uint32_t cut_end, unsigned kind, uint64_t first,
                      uint64_t failing)
{
    static const int errors[] = {-EIO, -ENOSPC, -ENOMEM};
    plant_two();
    for (uint32_t sector = 0; sector < 2; sector++)
        give(sector, sector + 1);
    give(12, 16);
    heap_commit(&grove.heap);
    int64_t pieces = memory_pieces();
    struct watch_calls strike = {0, first, failing}, none = {0, UINT64_MAX, 0};
    struct fault fault = {FAULT_MEMORY, FAULT_ERROR, ENOMEM, first, failing};
    grove.watch.gets = kind == FAULT_OF_GET ? strike : none;
    grove.watch.owns = kind == FAULT_OF_OWNER ? strike : none;
    grove.watch.is_stingy = kind == FAULT_OF_MEMORY;
    fail(EINVAL, "nothing");
    uint64_t blocks = grove.heap.counters.allocated - grove.heap.counters.freed;
    if (kind == FAULT_OF_MEMORY)
        faults_begin(&fault);
    int result = take(cut_first, cut_end);
    uint64_t calls = kind == FAULT_OF_GET     ? grove.watch.gets.calls
                     : kind == FAULT_OF_OWNER ? grove.watch.owns.calls
                                              : faults_end();
    grove.watch.gets = grove.watch.owns = none;
    grove.watch.is_stingy = false;
    bool is_met = calls > first;
    expect(result == (is_met ? errors[kind] : 0), "kind %u fault %ju: %d: %s", kind,
           (uintmax_t)first, result, fail_message());
    ck_assert_int_eq(strcmp(fail_message(), "nothing") != 0, is_met);
    /* Memory is in blocks, and nowhere else. */
    ck_assert_int_eq(memory_pieces() - pieces,
                     (int64_t)(grove.heap.counters.allocated - grove.heap.counters.freed - blocks));
    check_tree();
    check_kept(cut_first, cut_end);
    if (!is_met) {
        note_taken(cut_first, cut_end);
        compare();
    }
    grove_close(&grove);
    return is_met;
}

START_TEST(failing)
{
    static const uint32_t cuts[][2] = {{3, 5}, {9, 10}, {4, 10}, {7, 10}, {4, 8}, {2, 12}, {6, 8}};
    uint64_t faults[FAULT_KINDS] = {0};
    for (unsigned i = 0; i < LENGTH_OF(cuts); i++)
        for (unsigned kind = 0; kind < FAULT_KINDS; kind++)
            for (unsigned all = 0; all < 2; all++)
                for (uint64_t first = 0;
                     fail_once(cuts[i][0], cuts[i][1], kind, first, all ? FAULTS_WITHOUT_END : 1);
                     first++)
                    faults[kind]++;
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++)
        expect(faults[kind] > 30, "kind %u: %ju", kind, (uintmax_t)faults[kind]);
}
END_TEST

SUITE(csum_delete, 60, lives, every_case, no_range, empty, bad_items, failing)
