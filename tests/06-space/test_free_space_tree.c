#include "free_space_tree.h"

#include "fail.h"
#include "item.h"
#include "support_faults.h"
#include "support_rules.h"

#include <string.h>

/* --- the model: an array of sectors ------------------------------------------------- */

enum { GROUPS = 4, SECTORS_MOST = 5000, BITMAP_SECTORS = 2048 };

struct patch {
    struct free_space_group group;
    uint32_t sectors;
    bool has_bitmaps;
    bool is_free[SECTORS_MOST];
};

static struct grove grove; /* its tree, its watch and its dice; not its items */
static struct push_policy rules;
static struct patch patches[GROUPS];

static uint64_t address(const struct patch *patch, uint32_t sector)
{
    return patch->group.start + (uint64_t)sector * patch->group.sectorsize;
}

/* Groups side by side, all of them free, the n-th as bitmaps if bit n says so. */
static void lay_out(uint32_t sectorsize, unsigned forms)
{
    static const uint32_t sectors[GROUPS] = {4999, 77, 2 * BITMAP_SECTORS, 1};
    uint64_t start = 16 << 20;
    for (unsigned i = 0; i < GROUPS; i++) {
        struct patch *patch = &patches[i];
        uint64_t length = (uint64_t)sectors[i] * sectorsize;
        patch->group = (struct free_space_group){start, length, sectorsize};
        patch->sectors = sectors[i];
        patch->has_bitmaps = forms >> i & 1;
        memset(patch->is_free, true, sizeof patch->is_free);
        start += length;
    }
}

/* How many of the sectors [first, end) are free. */
static uint32_t count_free(const struct patch *patch, uint32_t first, uint32_t end)
{
    uint32_t count = 0;
    for (; first < end; first++)
        count += patch->is_free[first];
    return count;
}

static bool starts_run(const struct patch *patch, uint32_t sector)
{
    return patch->is_free[sector] && (sector == 0 || !patch->is_free[sector - 1]);
}

static uint32_t run_end(const struct patch *patch, uint32_t sector)
{
    while (sector < patch->sectors && patch->is_free[sector])
        sector++;
    return sector;
}

static uint32_t count_runs(const struct patch *patch)
{
    uint32_t count = 0;
    for (uint32_t sector = 0; sector < patch->sectors; sector++)
        count += starts_run(patch, sector);
    return count;
}

/* --- the items that the model asks for ---------------------------------------------- */

static uint32_t list_extents(const struct patch *patch, struct item *items)
{
    uint32_t count = 0;
    for (uint32_t sector = 0; sector < patch->sectors; sector++)
        if (starts_run(patch, sector)) {
            uint64_t length = address(patch, run_end(patch, sector)) - address(patch, sector);
            struct key key = {address(patch, sector), FREE_SPACE_EXTENT_KEY, length};
            items[count++] = (struct item){key, NULL, 0};
        }
    return count;
}

static uint32_t list_bitmaps(const struct patch *patch, struct item *items)
{
    static unsigned char bytes[SECTORS_MOST / 8 + 1];
    memset(bytes, 0, sizeof bytes);
    for (uint32_t sector = 0; sector < patch->sectors; sector++)
        if (patch->is_free[sector])
            bytes[sector / 8] |= (unsigned char)(1 << sector % 8);
    uint32_t count = 0;
    for (uint32_t first = 0; first < patch->sectors; first += BITMAP_SECTORS) {
        uint32_t left = patch->sectors - first;
        uint32_t sectors = left < BITMAP_SECTORS ? left : BITMAP_SECTORS;
        struct key key = {address(patch, first), FREE_SPACE_BITMAP_KEY,
                          (uint64_t)sectors * patch->group.sectorsize};
        items[count++] = (struct item){key, bytes + first / 8, (sectors + 7) / 8};
    }
    return count;
}

/* All items of a group, in order; valid until the next call. */
static uint32_t list_items(const struct patch *patch, const struct item **list)
{
    static struct item items[SECTORS_MOST / 2 + 2];
    static struct free_space_info info;
    info.extent_count = to_le32(count_runs(patch));
    info.flags = to_le32(patch->has_bitmaps);
    struct key key = {patch->group.start, FREE_SPACE_INFO_KEY, patch->group.length};
    items[0] = (struct item){key, &info, sizeof info};
    *list = items;
    return 1 +
           (patch->has_bitmaps ? list_bitmaps(patch, items + 1) : list_extents(patch, items + 1));
}

static void plant(void)
{
    for (unsigned i = 0; i < GROUPS; i++) {
        const struct item *items;
        size_t inserted;
        uint32_t count = list_items(&patches[i], &items);
        expect_success(tree_insert_batch(&grove.tree, items, count, &inserted));
    }
    heap_commit(&grove.heap);
}

/* --- what must hold ----------------------------------------------------------------- */

static void open_tree(uint32_t node_size, const struct growth *limits, uint64_t seed)
{
    rules = push_policy_coppice();
    rules_open(&grove, &rules, node_size, limits, seed);
    grove.keys = 0;
}

static void check_tree(void)
{
    grove_check_shapes(&grove, &(struct item_context){patches[0].group.sectorsize, 4});
}

/* The tree holds the items of the model, every byte, and no others. */
static void compare(void)
{
    struct path path = {0};
    check_tree();
    int result = tree_seek(&grove.tree, &(struct key){0}, &path);
    for (unsigned i = 0; i < GROUPS; i++) {
        const struct item *items;
        uint32_t count = list_items(&patches[i], &items);
        for (uint32_t n = 0; n < count; n++, result = path_next(&grove.tree, &path)) {
            char text[KEY_TEXT_SIZE];
            expect(result == 0, "group %u: no item %u of %u", i, n, count);
            struct key key = path_key(&path);
            uint32_t size = item_size(path.nodes[0], path.slots[0]);
            expect(key_compare(&key, &items[n].key) == 0 && size == items[n].size,
                   "group %u item %u of %u: %s", i, n, count, key_format(&key, text));
            expect(size == 0 ||
                       memcmp(item_data(path.nodes[0], path.slots[0]), items[n].data, size) == 0,
                   "group %u item %u of %u: other data", i, n, count);
        }
    }
    expect(result == 1, "more items");
}

struct cursor {
    const struct patch *patch;
    uint32_t sector, runs, most;
};

static int compare_run(uint64_t start, uint64_t length, void *context)
{
    struct cursor *cursor = context;
    const struct patch *patch = cursor->patch;
    while (cursor->sector < patch->sectors && !patch->is_free[cursor->sector])
        cursor->sector++;
    expect(start == address(patch, cursor->sector), "not at sector %u", cursor->sector);
    cursor->sector = run_end(patch, cursor->sector);
    expect(start + length == address(patch, cursor->sector), "not to sector %u", cursor->sector);
    return ++cursor->runs == cursor->most ? 7 : 0;
}

static void compare_each(void)
{
    for (unsigned i = 0; i < GROUPS; i++) {
        struct cursor cursor = {.patch = &patches[i]};
        uint32_t runs = count_runs(&patches[i]);
        expect_success(free_space_each(&grove.tree, &patches[i].group, compare_run, &cursor));
        ck_assert_uint_eq(cursor.runs, runs);
        if (runs == 0)
            continue;
        cursor = (struct cursor){&patches[i], 0, 0, 1 + (uint32_t)dice_below(&grove.dice, runs)};
        ck_assert_int_eq(free_space_each(&grove.tree, &patches[i].group, compare_run, &cursor), 7);
        ck_assert_uint_eq(cursor.runs, cursor.most);
    }
}

/* --- steps -------------------------------------------------------------------------- */

struct step_range {
    struct patch *patch;
    uint32_t first, end;
    bool is_add;
};

static int call(const struct step_range *step)
{
    const struct patch *patch = step->patch;
    uint64_t start = address(patch, step->first), length = address(patch, step->end) - start;
    return (step->is_add ? free_space_add : free_space_remove)(&grove.tree, &patch->group, start,
                                                               length);
}

static bool is_right(const struct step_range *step)
{
    return count_free(step->patch, step->first, step->end) ==
           (step->is_add ? 0 : step->end - step->first);
}

static void apply(const struct step_range *step)
{
    memset(step->patch->is_free + step->first, step->is_add, step->end - step->first);
}

/* Does a step, right or wrong, and changes the model. */
static void take(const struct step_range *step)
{
    if (is_right(step)) {
        expect_success(call(step));
        apply(step);
    } else {
        expect_failure(EUCLEAN, step->is_add ? "is not all used" : "is not all free", call(step));
    }
}

/* Most steps are right: sectors of one state from the first one on. */
static struct step_range pick(struct dice *dice)
{
    struct step_range step = {.patch = &patches[dice_below(dice, 8) ? dice_below(dice, 3) : 3]};
    const struct patch *patch = step.patch;
    uint64_t most = dice_below(dice, 12) ? 12 : dice_below(dice, 3) ? 300 : SECTORS_MOST;
    step.first = (uint32_t)dice_below(dice, patch->sectors);
    if (patch->sectors > BITMAP_SECTORS && dice_below(dice, 6) == 0) /* at a border */
        step.first = BITMAP_SECTORS - 6 + (uint32_t)dice_below(dice, 12);
    step.end = step.first + 1 + (uint32_t)dice_below(dice, most);
    if (step.end > patch->sectors)
        step.end = patch->sectors;
    step.is_add = !patch->is_free[step.first];
    if (dice_below(dice, 8) == 0)
        step.is_add = dice_below(dice, 2);
    else
        for (uint32_t sector = step.first; sector < step.end; sector++)
            if (patch->is_free[sector] == step.is_add)
                step.end = sector;
    return step;
}

/* What a step does to its neighbours: bits 0 and 1 what is free beside it, bit 2 the bitmaps'
 * border in it or at it, bit 3 adds, bit 4 bitmaps; the last kind is wrong. */
enum { STEP_RANGE_KINDS = 33, WRONG = 32 };

static unsigned kind_of(const struct step_range *step)
{
    const struct patch *patch = step->patch;
    bool left = step->first > 0 && patch->is_free[step->first - 1];
    bool right = step->end < patch->sectors && patch->is_free[step->end];
    bool border =
        step->first > 0 && (step->first - 1) / BITMAP_SECTORS != step->end / BITMAP_SECTORS;
    if (!is_right(step))
        return WRONG;
    return left + 2U * right + 4U * border + 8U * step->is_add + 16U * patch->has_bitmaps;
}

static uint64_t seen[STEP_RANGE_KINDS];

static void live(uint32_t node_size, const struct growth *limits, uint32_t sectorsize,
                 unsigned forms)
{
    open_tree(node_size, limits, forms + sectorsize);
    lay_out(sectorsize, forms);
    plant();
    for (unsigned i = 0; i < ROUNDS_OF(24000); i++) {
        struct step_range step = pick(&grove.dice);
        seen[kind_of(&step)]++;
        take(&step);
        if (dice_below(&grove.dice, 20) == 0)
            heap_commit(&grove.heap);
        if (i % 64 == 0)
            compare();
        if (i % 256 == 0)
            compare_each();
    }
    compare();
    compare_each();
    grove_close(&grove);
}

START_TEST(lives)
{
    static const struct growth small = {.max_items = 3, .max_ptrs = 8}, large = {0};
    memset(seen, 0, sizeof seen);
    for (unsigned forms = 0; forms < 16; forms += 5) {
        live(4096, &small, 4096, forms);
        live(4096, &large, 65536, forms ^ 15);
        live(16384, &large, 4096, forms);
        live(65536, &large, 65536, forms);
    }
    for (unsigned kind = 0; kind < STEP_RANGE_KINDS; kind++)
        expect(seen[kind] > ROUNDS_OF(100), "kind %u: %ju", kind, (uintmax_t)seen[kind]);
}
END_TEST

/* What has changed was made dirty, and what was claimed has changed. */
START_TEST(dirtied)
{
    static const struct growth small = {.max_items = 3, .max_ptrs = 8};
    for (unsigned forms = 0; forms < 16; forms += 15) {
        open_tree(4096, &small, 1);
        lay_out(4096, forms);
        plant();
        for (unsigned i = 0; i < 3000; i++) {
            struct step_range step = pick(&grove.dice);
            struct snapshot snapshot;
            heap_commit(&grove.heap);
            snapshot_take(&snapshot, &grove);
            take(&step);
            ck_assert_uint_eq(snapshot_compare(&snapshot, &grove).wasted, 0);
            snapshot_free(&snapshot);
        }
        compare();
        grove_close(&grove);
    }
}
END_TEST

/* Around the border of two bitmaps: each state of six sectors, each range of them, right or wrong;
 * all other sectors used or free. */
START_TEST(at_the_border)
{
    enum { SIX = 6, FIRST = BITMAP_SECTORS - 3 };
    struct dice dice = {1};
    for (unsigned state = 0; state < 1U << SIX; state += SANITIZED ? 9 : 1)
        for (unsigned way = 0; way < 4; way++) {
            struct growth limits = {0};
            lay_out(way & 1 ? 4096 : 65536, way & 1 ? 15 : 0);
            for (unsigned i = 0; i < GROUPS; i++)
                memset(patches[i].is_free, way & 2 ? 1 : 0, sizeof patches[i].is_free);
            struct patch *patch = &patches[dice_below(&dice, 2) * 2];
            for (unsigned i = 0; i < SIX; i++)
                patch->is_free[FIRST + i] = state >> i & 1;
            open_tree(4096, &limits, 1);
            plant();
            compare_each();
            for (uint32_t first = FIRST; first < FIRST + SIX; first++)
                for (uint32_t end = first + 1; end <= FIRST + SIX; end++)
                    for (unsigned is_add = 0; is_add < 2; is_add++) {
                        struct step_range step = {patch, first, end, is_add};
                        struct step_range back = {patch, first, end, !is_add};
                        bool right = is_right(&step);
                        take(&step);
                        compare();
                        if (right)
                            take(&back);
                    }
            compare();
            compare_each();
            grove_close(&grove);
        }
}
END_TEST

/* --- whole groups ------------------------------------------------------------------- */

/* Groups come, in any order, and go; those beside them stay. */
START_TEST(come_and_go)
{
    static const unsigned orders[][GROUPS] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
    for (unsigned way = 0; way < LENGTH_OF(orders); way++) {
        struct growth limits = {.max_items = 3, .max_ptrs = 8};
        open_tree(4096, &limits, way);
        lay_out(4096, 0);
        for (unsigned i = 0; i < GROUPS; i++) {
            const struct free_space_group *group = &patches[orders[way][i]].group;
            expect_success(free_space_create(&grove.tree, group));
            expect_failure(EUCLEAN, "is new, but has", free_space_create(&grove.tree, group));
        }
        compare();
        for (unsigned i = 0; i < 4000; i++) {
            struct step_range step = pick(&grove.dice);
            take(&step);
        }
        for (unsigned i = 0; i < GROUPS; i++) {
            struct patch *patch = &patches[orders[way][i]];
            expect_success(free_space_delete_group(&grove.tree, &patch->group));
            expect_failure(EUCLEAN, "has no FREE_SPACE_INFO",
                           free_space_delete_group(&grove.tree, &patch->group));
            memset(patch->is_free, true, sizeof patch->is_free);
            expect_success(free_space_create(&grove.tree, &patch->group));
            compare();
            /* And as bitmaps. */
            expect_success(free_space_delete_group(&grove.tree, &patch->group));
            patch->has_bitmaps = true;
            const struct item *items;
            size_t inserted;
            uint32_t count = list_items(patch, &items);
            expect_success(tree_insert_batch(&grove.tree, items, count, &inserted));
        }
        compare();
        for (unsigned i = 0; i < GROUPS; i++)
            expect_success(free_space_delete_group(&grove.tree, &patches[i].group));
        check_tree();
        ck_assert_uint_eq(grove.growth.counters.items_inserted,
                          grove.growth.counters.items_deleted);
        grove_close(&grove);
    }
}
END_TEST

/* A group at the end of all addresses, one at their beginning. */
START_TEST(far_ends)
{
    for (unsigned way = 0; way < 2; way++) {
        struct growth limits = {0};
        struct free_space_group group = {way ? 0 : -(65536ULL * 11), 65536ULL * 10, 65536};
        open_tree(4096, &limits, 1);
        uint64_t end = group.start + group.length, sector = group.sectorsize;
        expect_success(free_space_create(&grove.tree, &group));
        expect_success(free_space_remove(&grove.tree, &group, group.start, group.length));
        expect_success(free_space_add(&grove.tree, &group, end - sector, sector));
        expect_success(free_space_add(&grove.tree, &group, group.start, sector));
        expect_success(
            free_space_add(&grove.tree, &group, group.start + sector, group.length - 2 * sector));
        expect_failure(EUCLEAN, "are not whole sectors of it",
                       free_space_remove(&grove.tree, &group, end - sector, 2 * sector));
        ck_assert_uint_eq(grove.growth.counters.items_inserted, 4);
        ck_assert_uint_eq(grove.growth.counters.items_deleted, 2);
        expect_success(free_space_delete_group(&grove.tree, &group));
        grove_close(&grove);
    }
}
END_TEST

/* --- what is wrong ------------------------------------------------------------------ */

static int visit_any(uint64_t start, uint64_t length, void *context)
{
    (void)start, (void)length, (void)context;
    return 0;
}

static int each(const struct free_space_group *group)
{
    return free_space_each(&grove.tree, group, visit_any, NULL);
}

static void plant_small(bool has_bitmaps)
{
    struct growth limits = {.max_items = 3, .max_ptrs = 8};
    open_tree(4096, &limits, 1);
    lay_out(4096, has_bitmaps ? 15 : 0);
    /* Free of group 1: [3, 10) and [20, 30). */
    memset(patches[1].is_free, false, sizeof patches[1].is_free);
    memset(patches[1].is_free + 3, true, 7);
    memset(patches[1].is_free + 20, true, 10);
    plant();
}

/* Sectors in the wrong state, and ranges that are none of the group. */
START_TEST(wrong_calls)
{
    for (unsigned way = 0; way < 2; way++) {
        plant_small(way);
        const struct free_space_group *group = &patches[1].group;
        uint64_t start = group->start, end = start + group->length;
        const uint64_t outside[][2] = {
            {start - 4096, 4096},
            {start - 4096, 8192},
            {end - 4096, 8192},
            {end, 4096},
            {start, group->length + 1},
            {start + 1, 4096},
            {start + 4096, 4095},
            {start + 4096, 0},
            {start + 4096, -4096ULL},
            {start + 4096, -8192ULL},
            {0, 4096},
            {-4096ULL, 4096},
            {start, UINT64_MAX},
            {start - 4096, 0},
            {end - 4096, -(end - 8192)},
        };
        for (unsigned i = 0; i < LENGTH_OF(outside); i++)
            for (unsigned is_add = 0; is_add < 2; is_add++)
                expect_failure(EUCLEAN, "are not whole sectors of it",
                               (is_add ? free_space_add : free_space_remove)(
                                   &grove.tree, group, outside[i][0], outside[i][1]));
        for (uint32_t first = 0; first < 40; first++)
            for (uint32_t last = first + 1; last <= 40; last++)
                for (unsigned is_add = 0; is_add < 2; is_add++) {
                    struct step_range step = {&patches[1], first, last, is_add};
                    if (!is_right(&step))
                        take(&step);
                }
        compare();
        ck_assert_uint_eq(grove.heap.counters.shadowed, 0);
        grove_close(&grove);
    }
}
END_TEST

static struct key info_key(const struct patch *patch)
{
    return (struct key){patch->group.start, FREE_SPACE_INFO_KEY, patch->group.length};
}

static void set_count(const struct patch *patch, uint32_t count)
{
    struct key key = info_key(patch);
    struct free_space_info info = {to_le32(count), to_le32(patch->has_bitmaps)};
    expect_success(tree_delete(&grove.tree, &key));
    expect_success(tree_insert(&grove.tree, &key, &info, sizeof info));
}

/* A call on group 1 that is right but for what was done to the items; nothing changes. */
static void refuse(const char *words, uint32_t first, uint32_t end, bool is_add)
{
    struct step_range step = {&patches[1], first, end, is_add};
    heap_commit(&grove.heap);
    uint64_t shadowed = grove.heap.counters.shadowed;
    expect_failure(EUCLEAN, words, call(&step));
    ck_assert_uint_eq(grove.heap.counters.shadowed, shadowed);
    check_tree();
}

/* The info item is not there, not for this length, or too short. */
START_TEST(bad_info)
{
    for (unsigned way = 0; way < 6; way++) {
        plant_small(way & 1);
        const struct patch *patch = &patches[1];
        struct key key = info_key(patch), other = key;
        other.offset += 4096;
        if (way / 2 == 2)
            expect_success(tree_truncate(&grove.tree, &key, 7));
        else
            expect_success(tree_delete(&grove.tree, &key));
        if (way / 2 == 1)
            expect_success(tree_insert(&grove.tree, &other, "\2\0\0\0\0\0\0", 8));
        const char *words = way / 2 == 2 ? "a FREE_SPACE_INFO of 7 bytes" : "no FREE_SPACE_INFO";
        heap_commit(&grove.heap);
        uint64_t shadowed = grove.heap.counters.shadowed;
        struct step_range add = {&patches[1], 10, 20, true}, remove = {&patches[1], 3, 4, false};
        expect_failure(EUCLEAN, words, call(&add));
        expect_failure(EUCLEAN, words, call(&remove));
        expect_failure(EUCLEAN, words, each(&patch->group));
        expect_failure(EUCLEAN, words, free_space_delete_group(&grove.tree, &patch->group));
        expect_failure(EUCLEAN, "is new, but has", free_space_create(&grove.tree, &patch->group));
        ck_assert_uint_eq(grove.heap.counters.shadowed, shadowed);
        ck_assert_uint_eq(grove.heap.held, 0);
        grove_close(&grove);
    }
}
END_TEST

START_TEST(bad_counts)
{
    for (unsigned way = 0; way < 2; way++) {
        plant_small(way);
        const struct patch *patch = &patches[1];
        static const uint32_t wrong[] = {0, 1, 3, 39, UINT32_MAX};
        for (unsigned i = 0; i < LENGTH_OF(wrong); i++) {
            set_count(patch, wrong[i]);
            expect_failure(EUCLEAN, "are there (F1)", each(&patch->group));
        }
        set_count(patch, 1);
        refuse("cannot be when 2 stretches are to become 1", 10, 20, true);
        set_count(patch, 0);
        refuse("cannot be when 1 stretches are to become 0", 3, 10, false);
        refuse("cannot be when 1 stretches are to become 1", 3, 5, false);
        refuse("cannot be when 1 stretches are to become 1", 0, 3, true);
        set_count(patch, 39); /* of 77 sectors, every other one */
        refuse("cannot be when 1 stretches are to become 2", 5, 6, false);
        refuse("cannot be when 0 stretches are to become 1", 0, 1, true);
        set_count(patch, UINT32_MAX);
        refuse("cannot be when 0 stretches are to become 1", 0, 1, true);
        set_count(patch, 2);
        expect_success(each(&patch->group));
        compare();
        grove_close(&grove);
    }
}
END_TEST

/* Adds an item to group 1, at a sector. */
static void plant_item(uint64_t objectid, uint8_t type, uint64_t offset, uint32_t size)
{
    struct key key = {objectid, type, offset};
    expect_success(tree_insert(&grove.tree, &key, NULL, size));
}

/* An item that is wrong at `sector` of group 1, whose extents are [3, 10) and [20, 30); and a
 * change of one sector that meets it, -1 where it hides from all. */
static void check_bad_extent(uint32_t sector, uint8_t type, uint64_t length, const char *words,
                             int changed, bool is_add)
{
    plant_small(false);
    plant_item(address(&patches[1], sector), type, length, 0);
    heap_commit(&grove.heap);
    uint64_t shadowed = grove.heap.counters.shadowed;
    expect_failure(EUCLEAN, words, each(&patches[1].group));
    struct step_range step = {&patches[1], (uint32_t)changed, (uint32_t)changed + 1, is_add};
    if (changed >= 0)
        expect_failure(EUCLEAN, words, call(&step));
    ck_assert_uint_eq(grove.heap.counters.shadowed, shadowed);
    ck_assert_uint_eq(grove.heap.held, 0);
    expect_success(each(&patches[0].group));
    expect_success(each(&patches[2].group));
    grove_close(&grove);
}

START_TEST(bad_extents)
{
    const uint8_t extent = FREE_SPACE_EXTENT_KEY, bitmap = FREE_SPACE_BITMAP_KEY;
    const uint64_t sector = 4096;
    const char *apart = "which is not behind it (F2)", *whole = "is not of whole sectors before";
    check_bad_extent(9, extent, sector, apart, 5, false);
    check_bad_extent(10, extent, sector, apart, 5, false);
    check_bad_extent(3, extent, sector, apart, -1, false);
    check_bad_extent(11, extent, 9 * sector, apart, 12, false);
    check_bad_extent(11, extent, 66 * sector, apart, 12, false);
    check_bad_extent(40, extent, 38 * sector, whole, 35, true);
    check_bad_extent(40, extent, -sector, whole, 35, true);
    check_bad_extent(40, extent, sector - 1, whole, 35, true);
    check_bad_extent(40, extent, sector + 1, whole, 40, false);
    check_bad_extent(40, extent, 0, whole, 45, true);
    check_bad_extent(76, extent, 2 * sector, whole, 75, true);
    check_bad_extent(40, bitmap, sector, "as extents (F4)", 45, true);
    check_bad_extent(40, FREE_SPACE_INFO_KEY, sector, "as extents (F4)", 45, true);
    check_bad_extent(40, EXTENT_ITEM_KEY, sector, "as extents (F4)", 35, true);
    check_bad_extent(0, bitmap, 77 * sector, "as extents (F4)", 0, true);
    check_bad_extent(0, FREE_SPACE_INFO_KEY, 78 * sector, "as extents (F4)", 0, true);
}
END_TEST

/* One that begins within a sector. */
START_TEST(unaligned)
{
    plant_small(false);
    plant_item(address(&patches[1], 40) + 1, FREE_SPACE_EXTENT_KEY, 4096, 0);
    struct step_range step = {&patches[1], 35, 36, true};
    expect_failure(EUCLEAN, "is not of whole sectors", each(&patches[1].group));
    expect_failure(EUCLEAN, "is not of whole sectors", call(&step));
    grove_close(&grove);
}
END_TEST

/* Group 0 as three bitmaps. One is not there, too short, or of another length; there is one too
 * many; an item of another kind is among them. */
START_TEST(bad_bitmaps)
{
    for (unsigned way = 0; way < 24; way++) {
        plant_small(true);
        struct patch *patch = &patches[0];
        const struct item *items;
        list_items(patch, &items);
        uint32_t which = way % 3;
        struct key key = items[1 + which].key, other = key;
        const char *words = "(F3)";
        switch (way / 3) {
        case 0:
            expect_success(tree_delete(&grove.tree, &key));
            break;
        case 1:
            expect_success(tree_truncate(&grove.tree, &key, items[1 + which].size - 1));
            break;
        case 2:
            expect_success(tree_extend(&grove.tree, &key, NULL, 1));
            break;
        case 3:
            other.offset -= 4096;
            expect_success(tree_rekey(&grove.tree, &key, &other));
            break;
        case 4:
            other.objectid += 4096;
            expect_success(tree_rekey(&grove.tree, &key, &other));
            break;
        case 5:
            plant_item(key.objectid + 4096, FREE_SPACE_BITMAP_KEY, 4096, 1);
            break;
        case 6:
            plant_item(key.objectid + 4096, FREE_SPACE_EXTENT_KEY, 4096, 0);
            words = "as bitmaps (F4)";
            break;
        default:
            plant_item(key.objectid, FREE_SPACE_EXTENT_KEY, key.offset, 0);
            words = "as bitmaps (F4)";
        }
        expect_failure(EUCLEAN, words, each(&patch->group));
        struct step_range step = {patch, 0, patch->sectors, false};
        heap_commit(&grove.heap);
        uint64_t shadowed = grove.heap.counters.shadowed;
        if (way / 3 < 5) {
            expect_failure(EUCLEAN, words, call(&step));
            ck_assert_uint_eq(grove.heap.counters.shadowed, shadowed);
        }
        ck_assert_uint_eq(grove.heap.held, 0);
        grove_close(&grove);
    }
}
END_TEST

/* A bitmap beside the range is not there: the count cannot be known. */
START_TEST(bad_neighbour)
{
    for (unsigned side = 0; side < 2; side++) {
        plant_small(true);
        const struct item *items;
        list_items(&patches[0], &items);
        struct key key = items[side ? 3 : 1].key;
        expect_success(tree_delete(&grove.tree, &key));
        struct step_range step = {&patches[0], BITMAP_SECTORS, 2 * BITMAP_SECTORS, false};
        expect_failure(EUCLEAN, "no bitmap", call(&step));
        grove_close(&grove);
    }
}
END_TEST

/* --- faults ------------------------------------------------------------------------- */

enum { FAULT_OF_GET, FAULT_OF_OWNER, FAULT_OF_MEMORY, FAULT_KINDS };

/* What is to fail: 0 to 5 steps of group 1 or across a border of group 0, then whole groups. */
static int do_way(unsigned way, struct step_range *step)
{
    static const struct step_range steps[] = {
        {&patches[1], 10, 20, true},   {&patches[1], 5, 7, false},
        {&patches[1], 3, 10, false},   {&patches[1], 50, 51, true},
        {&patches[0], 0, 4999, false}, {&patches[0], 2040, 2060, false},
    };
    const struct free_space_group fresh = {1 << 20, 1 << 20, 4096};
    step->patch = NULL;
    if (way < LENGTH_OF(steps)) {
        *step = steps[way];
        return call(step);
    }
    if (way == LENGTH_OF(steps))
        return free_space_create(&grove.tree, &fresh);
    if (way == LENGTH_OF(steps) + 1)
        return free_space_delete_group(&grove.tree, &patches[2].group);
    return each(&patches[0].group);
}
enum { FAULT_WAYS = 9 };

/* One fault; whether it was met. The tree is sound, if not what it was. */
static bool fail_once(unsigned way, bool has_bitmaps, unsigned kind, uint64_t first,
                      uint64_t failing)
{
    static const int errors[] = {-EIO, -ENOSPC, -ENOMEM};
    struct step_range step;
    plant_small(has_bitmaps);
    struct watch_calls strike = {0, first, failing}, none = {0, UINT64_MAX, 0};
    struct fault fault = {FAULT_MEMORY, FAULT_ERROR, ENOMEM, first, failing};
    grove.watch.gets = kind == FAULT_OF_GET ? strike : none;
    grove.watch.owns = kind == FAULT_OF_OWNER ? strike : none;
    grove.watch.is_stingy = kind == FAULT_OF_MEMORY;
    fail(EINVAL, "nothing");
    if (kind == FAULT_OF_MEMORY)
        faults_begin(&fault);
    int result = do_way(way, &step);
    uint64_t calls = kind == FAULT_OF_GET     ? grove.watch.gets.calls
                     : kind == FAULT_OF_OWNER ? grove.watch.owns.calls
                                              : faults_end();
    grove.watch.gets = grove.watch.owns = none;
    grove.watch.is_stingy = false;
    bool is_met = calls > first;
    expect(result == (is_met ? errors[kind] : 0), "way %u kind %u fault %ju: %d: %s", way, kind,
           (uintmax_t)first, result, fail_message());
    ck_assert_int_eq(strcmp(fail_message(), "nothing") != 0, is_met);
    check_tree();
    if (!is_met && step.patch) {
        apply(&step);
        compare();
    }
    grove_close(&grove);
    return is_met;
}

START_TEST(failing)
{
    uint64_t faults[FAULT_KINDS] = {0};
    for (unsigned way = 0; way < FAULT_WAYS; way++)
        for (unsigned form = 0; form < 2; form++)
            for (unsigned kind = 0; kind < FAULT_KINDS; kind++)
                for (unsigned all = 0; all < 2; all++)
                    for (uint64_t first = 0;
                         fail_once(way, form, kind, first, all ? FAULTS_WITHOUT_END : 1); first++)
                        faults[kind]++;
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++)
        expect(faults[kind] > 40, "kind %u: %ju", kind, (uintmax_t)faults[kind]);
}
END_TEST

SUITE(free_space_tree, 60, lives, dirtied, at_the_border, come_and_go, far_ends, wrong_calls,
      bad_info, bad_counts, bad_extents, unaligned, bad_bitmaps, bad_neighbour, failing)
