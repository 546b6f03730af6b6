#include "extent_item.h"

#include "checksum.h"
#include "fail.h"
#include "push.h"
#include "support_rules.h"
#include "support_volume.h"

#include <stdlib.h>
#include <string.h>

enum { EXTENTS = 12, REFS_MOST = 900, TWINS = 320, NODE = 16384 };

static struct grove grove, copy;

/* --- references --------------------------------------------------------------------- */

static struct extent_ref data_ref(uint64_t root, uint64_t objectid, uint64_t offset)
{
    return (struct extent_ref){
        .type = EXTENT_DATA_REF_KEY, .root = root, .objectid = objectid, .offset = offset};
}

static struct extent_ref tree_ref(uint64_t root)
{
    return (struct extent_ref){.type = TREE_BLOCK_REF_KEY, .root = root};
}

static struct extent_ref shared_ref(const struct extent *extent, uint64_t parent)
{
    uint8_t type = extent->is_block ? SHARED_BLOCK_REF_KEY : SHARED_DATA_REF_KEY;
    return (struct extent_ref){.type = type, .parent = parent};
}

static bool is_same(const struct extent_ref *a, const struct extent_ref *b)
{
    return a->type == b->type && a->root == b->root && a->parent == b->parent &&
           a->objectid == b->objectid && a->offset == b->offset;
}

/* The checksum bit by bit. */
static uint32_t slow_crc(uint32_t crc, const void *bytes, size_t length)
{
    for (const unsigned char *next = bytes; length > 0; next++, length--) {
        crc ^= *next;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return crc;
}

static uint32_t low_hash(uint64_t objectid, uint64_t offset)
{
    le64 file[] = {to_le64(objectid), to_le64(offset)};
    return slow_crc(UINT32_MAX, file, sizeof file);
}

static uint64_t slow_offset(const struct extent_ref *ref)
{
    le64 root = to_le64(ref->root);
    if (ref->type == EXTENT_DATA_REF_KEY)
        return (uint64_t)slow_crc(UINT32_MAX, &root, 8) << 31 ^
               low_hash(ref->objectid, ref->offset);
    return ref->type == TREE_BLOCK_REF_KEY ? ref->root : ref->parent;
}

/* A reference whose hash is that of (root, 257, 0): number 0 .. 2^10 - 1. The checksum is linear:
 * which bits of the offset cancel each other out is found by elimination. */
static struct extent_ref twin(uint64_t root, unsigned number)
{
    static uint64_t deltas[10];
    uint64_t rows[32] = {0}, offset = 0;
    uint32_t lead[32], found = 0, base = low_hash(257, 0);
    memset(lead, 0, sizeof lead);
    for (unsigned bit = 0; bit < 64 && deltas[9] == 0; bit++) {
        uint64_t bits = 1ULL << bit;
        uint32_t sum = low_hash(257, bits) ^ base;
        for (unsigned i = 0; i < 32; i++)
            if (sum >> i & 1) {
                if (lead[i] == 0) {
                    lead[i] = sum;
                    rows[i] = bits;
                    break;
                }
                sum ^= lead[i];
                bits ^= rows[i];
            }
        if (sum == 0 && found < LENGTH_OF(deltas))
            deltas[found++] = bits;
    }
    for (unsigned i = 0; i < LENGTH_OF(deltas); i++)
        offset ^= number >> i & 1 ? deltas[i] : 0;
    return data_ref(root, 257, offset);
}

/* --- the model ---------------------------------------------------------------------- */

/* What an extent should have. */
static struct known {
    struct extent extent;
    uint64_t generation, flags, refs; /* refs 0: it is not there */
    uint8_t key_type;
    bool has_owner;
    uint32_t nrefs;
    struct known_ref {
        struct extent_ref ref;
        uint32_t count;
        unsigned seen;
    } list[REFS_MOST];
} known[EXTENTS];

static uint32_t keyed_seen, inline_seen;

static void begin(uint32_t node_size, uint64_t seed, uint32_t max_items)
{
    static struct push_policy rules;
    struct growth limits = {.max_items = max_items, .max_ptrs = max_items ? 8 : 0};
    rules = push_policy_coppice();
    rules_open(&grove, &rules, node_size, &limits, seed);
    grove.keys = 1; /* its own model is not in use */
    memset(known, 0, sizeof known);
    for (unsigned i = 0; i < EXTENTS; i++)
        known[i].extent = (struct extent){
            .bytenr = (16 + i) << 20,
            .num_bytes = i % 2 ? NODE : 65536,
            .is_block = i % 2,
            .level = (uint8_t)(i % 2 * (i / 2 % 3)),
        };
}

static struct known_ref *known_find(struct known *item, const struct extent_ref *ref)
{
    for (uint32_t i = 0; i < item->nrefs; i++)
        if (is_same(&item->list[i].ref, ref))
            return &item->list[i];
    return NULL;
}

static void known_add(struct known *item, const struct extent_ref *ref, uint32_t count)
{
    struct known_ref *there = known_find(item, ref);
    if (!there) {
        expect(item->nrefs < REFS_MOST, "too many references");
        there = &item->list[item->nrefs++];
        *there = (struct known_ref){.ref = *ref};
    }
    there->count += count;
    item->refs += count;
}

static void known_drop(struct known *item, const struct extent_ref *ref, uint32_t count)
{
    struct known_ref *there = known_find(item, ref);
    there->count -= count;
    item->refs -= count;
    if (there->count == 0)
        *there = item->list[--item->nrefs];
}

/* A reference is met in the tree. */
static void see(struct known *item, const struct extent_ref *ref, uint32_t count)
{
    struct known_ref *there = known_find(item, ref);
    expect(there, "a reference of type %u that nobody knows", ref->type);
    expect(there->count == count, "it counts %u, not %u", count, there->count);
    expect(there->seen++ == 0, "a reference is there twice");
}

static uint64_t number_at(const unsigned char *bytes)
{
    le64 number;
    memcpy(&number, bytes, sizeof number);
    return from_le64(number);
}

static uint32_t count_at(const unsigned char *bytes)
{
    le32 number;
    memcpy(&number, bytes, sizeof number);
    return from_le32(number);
}

/* Takes a reference of `type` from its bytes: inline those behind the type, or of a keyed item
 * with the offset of the key in front of them. Its length. */
static uint32_t take_ref(uint8_t type, const unsigned char *bytes, struct extent_ref *ref,
                         uint32_t *count)
{
    *count = 1;
    *ref = (struct extent_ref){.type = type};
    switch (type) {
    case TREE_BLOCK_REF_KEY:
        ref->root = number_at(bytes);
        return 8;
    case EXTENT_DATA_REF_KEY:
        *ref = data_ref(number_at(bytes), number_at(bytes + 8), number_at(bytes + 16));
        *count = count_at(bytes + 24);
        return 28;
    case SHARED_DATA_REF_KEY:
        *count = count_at(bytes + 8);
        ref->parent = number_at(bytes);
        return 12;
    default:
        ref->parent = number_at(bytes);
        return 8;
    }
}

static void see_inline(struct known *item, const unsigned char *data, uint32_t size,
                       uint32_t node_size)
{
    uint32_t at = 24 + (item->key_type == EXTENT_ITEM_KEY && item->extent.is_block ? 18 : 0);
    uint64_t last_offset = 0;
    uint8_t last_type = 0;
    expect(number_at(data) == item->refs, "refs %ju", (uintmax_t)number_at(data));
    expect(number_at(data + 8) == item->generation, "another generation");
    expect(number_at(data + 16) == item->flags, "other flags");
    expect(size < (node_size - 101) / 16 - 25, "an item of %u bytes", size);
    if (item->has_owner) {
        expect(data[at] == EXTENT_OWNER_REF_KEY, "the owner is not first");
        at += 9;
    }
    while (at < size) {
        struct extent_ref ref;
        uint32_t count;
        at += 1 + take_ref(data[at], data + at + 1, &ref, &count);
        see(item, &ref, count);
        uint64_t offset = slow_offset(&ref);
        expect(ref.type > last_type || (ref.type == last_type && offset <= last_offset),
               "out of order");
        last_type = ref.type;
        last_offset = offset;
        inline_seen++;
    }
    expect(at == size, "%u bytes, not %u", at, size);
}

static void see_keyed(struct known *item, const struct key *key, const unsigned char *data,
                      uint32_t size)
{
    unsigned char bytes[64];
    struct extent_ref ref;
    uint32_t count, skipped = key->type == EXTENT_DATA_REF_KEY ? 0 : 8;
    le64 offset = to_le64(key->offset);
    memcpy(bytes, &offset, skipped);
    expect(size <= 28, "a keyed item of %u bytes", size);
    memcpy(bytes + skipped, data, size);
    uint32_t length = take_ref(key->type, bytes, &ref, &count);
    expect(length == skipped + size, "a keyed item of %u bytes", size);
    see(item, &ref, count);
    expect(key->offset - slow_offset(&ref) < (skipped ? 1 : REFS_MOST), "a wrong key");
    keyed_seen++;
}

static int see_item(const struct path *path, void *context)
{
    (void)context;
    struct key key = path_key(path);
    const unsigned char *data = item_data(path->nodes[0], path->slots[0]);
    uint32_t size = item_size(path->nodes[0], path->slots[0]);
    struct known *item = &known[(key.objectid >> 20) - 16];
    expect(item->refs > 0, "an item of an extent that is gone: type %u", key.type);
    if (key.type == item->key_type) {
        bool is_long = key.type == EXTENT_ITEM_KEY;
        expect(key.objectid == item->extent.bytenr, "another address");
        expect(key.offset == (is_long ? item->extent.num_bytes : item->extent.level),
               "a wrong key");
        see_inline(item, data, size, path->nodes[0]->size);
    } else {
        see_keyed(item, &key, data, size);
    }
    return 0;
}

static int check_block(const struct block *block, void *context)
{
    return block_level(block) ? node_check(block, block->size) : leaf_check(block, context);
}

/* The tree holds what the model says, and no more; E1 to E4. */
static void verify(void)
{
    struct key first = {0}, last = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
    struct item_context context = test_context;
    keyed_seen = inline_seen = 0;
    expect(grove.heap.held == 0, "a block is held");
    expect_success(tree_walk(&grove.tree, check_block, &context));
    expect_success(tree_range(&grove.tree, &first, &last, see_item, NULL));
    for (unsigned i = 0; i < EXTENTS; i++) {
        struct extent_info info = {0};
        int result = extent_lookup(&grove.tree, &known[i].extent, &info);
        expect(result == (known[i].refs == 0), "lookup: %d", result);
        expect(result == 1 || info.refs == known[i].refs, "lookup: refs");
        expect(result == 1 || info.generation == known[i].generation, "lookup: generation");
        expect(result == 1 || info.flags == known[i].flags, "lookup: flags");
        uint64_t sum = 0;
        for (uint32_t j = 0; j < known[i].nrefs; j++) {
            expect(known[i].list[j].seen == 1, "a reference is not there");
            known[i].list[j].seen = 0;
            sum += known[i].list[j].count;
        }
        expect(sum == known[i].refs, "the model is wrong");
    }
}

/* --- calls that are right, and what they do to the model ---------------------------- */

static void insert(struct known *item, uint64_t flags, struct extent_ref ref, uint32_t count)
{
    item->generation = grove.heap.generation;
    item->flags = flags | (item->extent.is_block ? EXTENT_FLAG_TREE_BLOCK : EXTENT_FLAG_DATA);
    item->key_type = item->extent.is_block ? METADATA_ITEM_KEY : EXTENT_ITEM_KEY;
    item->has_owner = false;
    expect_success(
        extent_insert(&grove.tree, &item->extent, item->generation, item->flags, &ref, count));
    known_add(item, &ref, count);
}

static void add(struct known *item, struct extent_ref ref, uint32_t count)
{
    expect_success(extent_add_ref(&grove.tree, &item->extent, &ref, count));
    known_add(item, &ref, count);
}

static void drop(struct known *item, struct extent_ref ref, uint32_t count)
{
    uint64_t left = 77;
    expect_success(extent_drop_ref(&grove.tree, &item->extent, &ref, count, &left));
    known_drop(item, &ref, count);
    expect(left == item->refs, "%ju are left", (uintmax_t)left);
}

/* An item as the disk may hold it: the model is told by see. */
static void plant(const struct known *item, const void *data, uint32_t size)
{
    struct key key = {item->extent.bytenr, item->key_type,
                      item->key_type == EXTENT_ITEM_KEY ? item->extent.num_bytes
                                                        : item->extent.level};
    expect_success(tree_insert(&grove.tree, &key, data, size));
}

/* The call fails so, and not a block is shadowed for it. */
#define expect_refused(words, call)                                                                \
    do {                                                                                           \
        heap_commit(&grove.heap);                                                                  \
        struct heap_counters before_ = grove.heap.counters;                                        \
        uint64_t bytenr_ = grove.tree.bytenr;                                                      \
        expect_failure(EUCLEAN, words, call);                                                      \
        ck_assert_mem_eq(&before_, &grove.heap.counters, sizeof before_);                          \
        ck_assert_uint_eq(bytenr_, grove.tree.bytenr);                                             \
        ck_assert_uint_eq(grove.heap.held, 0);                                                     \
    } while (0)

/* --- the format --------------------------------------------------------------------- */

/* Offsets of keyed items in an image that Linux 6.18 wrote. */
START_TEST(the_kernels_hashes)
{
    static const struct {
        uint64_t root, objectid, hash;
    } samples[] = {
        {256, 284, 1002667597147550567}, {256, 271, 1002667597186497323},
        {256, 314, 1002667597226484735}, {258, 269, 4960237775328384550},
        {258, 270, 4960237775532357333},
    };
    for (size_t i = 0; i < LENGTH_OF(samples); i++) {
        struct extent_ref ref = data_ref(samples[i].root, samples[i].objectid, 0);
        ck_assert_uint_eq(extent_ref_offset(&ref), samples[i].hash);
        ck_assert_uint_eq(slow_offset(&ref), samples[i].hash);
    }
    for (unsigned i = 0; i < TWINS; i++) {
        struct extent_ref ref = twin(5, i), other = twin(5, i + 1), first = twin(5, 0);
        ck_assert_uint_eq(slow_offset(&ref), slow_offset(&first));
        ck_assert(!is_same(&ref, &other));
    }
}
END_TEST

/* The order is total: by type, then the offset descends, then whatever tells them apart. */
START_TEST(compares)
{
    const struct extent block = {.is_block = true}, data = {0};
    const struct extent_ref refs[] = {
        tree_ref(300),          tree_ref(5),          data_ref(258, 270, 0), data_ref(256, 271, 0),
        data_ref(256, 284, 0),  data_ref(5, 257, 0),  shared_ref(&block, 9), shared_ref(&block, 8),
        shared_ref(&data, 700), shared_ref(&data, 1),
    };
    for (size_t i = 0; i < LENGTH_OF(refs); i++)
        for (size_t j = 0; j < LENGTH_OF(refs); j++) {
            int order = extent_ref_compare(&refs[i], &refs[j]);
            if (refs[i].type == EXTENT_DATA_REF_KEY && refs[j].type == EXTENT_DATA_REF_KEY &&
                i != j)
                ck_assert_int_eq(order<0, slow_offset(&refs[i])> slow_offset(&refs[j]));
            else
                ck_assert_int_eq((order > 0) - (order < 0), (i > j) - (i < j));
        }
    struct extent_ref a = twin(5, 1), b = twin(5, 2);
    ck_assert_int_ne(extent_ref_compare(&a, &b), 0);
    ck_assert_int_eq(extent_ref_compare(&a, &b), -extent_ref_compare(&b, &a));
    ck_assert_int_eq(extent_ref_compare(&a, &a), 0);
}
END_TEST

/* The bytes of items, as they are written down in the kernel's header. */
START_TEST(layout)
{
    static const unsigned char block_item[] = {
        2,      0, 0, 0, 0, 0, 0, 0, 1,   0, 0, 0,  0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 176,
        /**/ 5, 0, 0, 0, 0, 0, 0, 0, 182, 0, 0, 16, 0, 0, 0, 0, 0,
    };
    static const unsigned char data_item[] = {
        7, 0, 0,   0, 0, 0, 0, 0, 1, 0,   0, 0, 0,  0, 0, 0, 1, 0, 0, 0, 0,  0,
        0, 0, 178, 5, 0, 0, 0, 0, 0, 0,   0, 1, 1,  0, 0, 0, 0, 0, 0, 0, 16, 0,
        0, 0, 0,   0, 0, 3, 0, 0, 0, 184, 0, 0, 16, 0, 0, 0, 0, 0, 4, 0, 0,  0,
    };
    begin(NODE, 1, 0);
    insert(&known[1], BLOCK_FLAG_FULL_BACKREF, shared_ref(&known[1].extent, 1 << 20), 1);
    add(&known[1], tree_ref(5), 1);
    insert(&known[0], 0, data_ref(5, 257, 4096), 2);
    add(&known[0], shared_ref(&known[0].extent, 1 << 20), 4);
    add(&known[0], data_ref(5, 257, 4096), 1);
    verify();
    for (unsigned i = 0; i < 2; i++) {
        const struct block *leaf = grove_block(&grove, grove.tree.bytenr);
        ck_assert_uint_eq(block_nritems(leaf), 2);
        ck_assert_uint_eq(item_size(leaf, i), i ? sizeof block_item : sizeof data_item);
        ck_assert_mem_eq(item_data(leaf, i), i ? block_item : data_item, item_size(leaf, i));
    }
    grove_close(&grove);
}
END_TEST

/* How many references are inline before the first keyed one, and that none is after it, not even
 * where there would be room. */
START_TEST(limits)
{
    static const struct {
        uint32_t node_size, blocks, data;
    } sizes[] = {{4096, 22, 6}, {16384, 107, 33}, {65536, 448, 139}};
    for (unsigned i = 0; i < 2 * LENGTH_OF(sizes); i++) {
        struct known *item = &known[i % 2];
        uint32_t most = i % 2 ? sizes[i / 2].blocks : sizes[i / 2].data;
        begin(sizes[i / 2].node_size, 1, 0);
        for (uint32_t n = 0; n <= most; n++) {
            struct extent_ref ref = i % 2 ? tree_ref(1000 + n) : data_ref(5, 257 + n, 0);
            if (n == 0)
                insert(item, 0, ref, 1);
            else
                add(item, ref, 1);
        }
        verify();
        ck_assert_uint_eq(keyed_seen, 1);
        ck_assert_uint_eq(inline_seen, most);
        drop(item, i % 2 ? tree_ref(1001) : data_ref(5, 258, 0), 1);
        add(item, shared_ref(&item->extent, 4096), 1);
        verify();
        ck_assert_uint_eq(keyed_seen, 2);
        drop(item, shared_ref(&item->extent, 4096), 1);
        drop(item, i % 2 ? tree_ref(1000 + most) : data_ref(5, 257 + most, 0), 1);
        add(item, shared_ref(&item->extent, 4096), 1);
        verify();
        ck_assert_uint_eq(keyed_seen, 0);
        grove_close(&grove);
    }
}
END_TEST

/* --- seeded life -------------------------------------------------------------------- */

/* A reference out of few enough that they come again; some of data share a hash. */
static struct extent_ref pick_ref(const struct known *item)
{
    struct dice *dice = &grove.dice;
    if (dice_below(dice, 3) == 0)
        return shared_ref(&item->extent, (1 + dice_below(dice, 400)) << 12);
    if (item->extent.is_block)
        return tree_ref(dice_below(dice, 8) ? 256 + dice_below(dice, 400) : dice_next(dice));
    if (dice_below(dice, 4) == 0)
        return twin(5 + dice_below(dice, 2), (unsigned)dice_below(dice, 12));
    return data_ref(256 + dice_below(dice, 3), 257 + dice_below(dice, 120), dice_below(dice, 2));
}

static void live_up(struct known *item)
{
    struct extent_ref ref = pick_ref(item);
    struct known_ref *there = known_find(item, &ref);
    uint32_t count = item->extent.is_block ? 1 : 1 + (uint32_t)dice_below(&grove.dice, 3);
    if (item->refs == 0)
        insert(item, 0, ref, count);
    else if (there && item->extent.is_block)
        expect_failure(EUCLEAN, "there already (E3)",
                       extent_add_ref(&grove.tree, &item->extent, &ref, 1));
    else if (item->nrefs < REFS_MOST)
        add(item, ref, count);
}

static void live_down(struct known *item)
{
    uint64_t left;
    struct extent_ref ref = pick_ref(item);
    if (item->refs == 0) {
        expect_failure(EUCLEAN, "is not in the extent tree",
                       extent_drop_ref(&grove.tree, &item->extent, &ref, 1, &left));
        return;
    }
    if (dice_below(&grove.dice, 4))
        ref = item->list[dice_below(&grove.dice, item->nrefs)].ref;
    struct known_ref *there = known_find(item, &ref);
    if (!there)
        expect_failure(EUCLEAN, "to be dropped and is not there",
                       extent_drop_ref(&grove.tree, &item->extent, &ref, 1, &left));
    else
        drop(item, ref, 1 + (uint32_t)dice_below(&grove.dice, there->count));
}

/* Extents get and lose references, hundreds of them, and come and go. */
START_TEST(life)
{
    static const struct {
        uint32_t node_size, max_items;
    } ways[] = {{4096, 0}, {16384, 0}, {65536, 0}, {4096, 3}};
    for (unsigned way = 0; way < LENGTH_OF(ways); way++) {
        uint32_t most_keyed = 0, gone = 0, full = 0;
        begin(ways[way].node_size, 7 + way, ways[way].max_items);
        for (unsigned i = 0; i < ROUNDS_OF(48000); i++) {
            /* One extent in three is busy at a time, and grows or shrinks. */
            unsigned phase = i / ROUNDS_OF(4000);
            struct known *item = &known[(dice_below(&grove.dice, 4) + phase / 2 * 4) % EXTENTS];
            bool was_there = item->refs > 0;
            if (dice_below(&grove.dice, 10) < (phase % 2 ? 2 : 8))
                live_up(item);
            else
                live_down(item);
            gone += was_there && item->refs == 0;
            if (dice_below(&grove.dice, 60) == 0)
                heap_commit(&grove.heap);
            if (i % 150 == 0)
                verify();
            most_keyed = keyed_seen > most_keyed ? keyed_seen : most_keyed;
            full = item->nrefs > full ? item->nrefs : full;
        }
        verify();
        ck_assert_uint_eq(grove.heap.counters.wasted, 0); /* what was claimed was made dirty */
        expect(SANITIZED || (most_keyed > 60 && gone > 60 && full > 200),
               "way %u: %u keyed, %u gone, %u on one", way, most_keyed, gone, full);
        grove_close(&grove);
    }
}
END_TEST

/* References of one hash take the next offsets; gaps are filled; what lies behind one is found. */
START_TEST(twins)
{
    begin(4096, 3, 0);
    struct known *item = &known[0];
    insert(item, 0, twin(5, 0), 1);
    for (unsigned i = 1; i < TWINS; i++)
        add(item, twin(5, i), 1 + i % 3);
    verify();
    ck_assert_uint_eq(inline_seen, 6);
    struct path path = {0};
    struct key key = {item->extent.bytenr, EXTENT_ITEM_KEY, item->extent.num_bytes};
    expect_success(tree_search(&grove.tree, &key, &path));
    const unsigned char *data = item_data(path.nodes[0], path.slots[0]);
    for (unsigned i = 0; i < 6; i++) /* the last one behind the others, as the kernel does it */
        ck_assert_uint_eq(number_at(data + 24 + 29 * i + 17), twin(5, i).offset);
    path_release(&grove.tree, &path);
    for (unsigned i = 7; i < 12; i++)
        drop(item, twin(5, i), 1 + i % 3);
    verify();
    add(item, twin(5, 200), 1); /* and is not made again in the gap */
    verify();
    for (unsigned i = 300; i < 308; i++)
        add(item, twin(5, i + TWINS), 1);
    verify();
    for (unsigned i = 0; i < ROUNDS_OF(2000); i++) {
        struct extent_ref ref = twin(5, (unsigned)dice_below(&grove.dice, 240));
        struct known_ref *there = known_find(item, &ref);
        if (there && dice_below(&grove.dice, 2))
            drop(item, ref, there->count);
        else
            add(item, ref, 1);
        if (i % 50 == 0)
            verify();
    }
    while (item->nrefs > 0)
        drop(item, item->list[0].ref, item->list[0].count);
    verify();
    const struct block *root = grove_block(&grove, grove.tree.bytenr);
    ck_assert_uint_eq(block_nritems(root), 0);
    grove_close(&grove);
}
END_TEST

/* --- wrong calls -------------------------------------------------------------------- */

/* An extent with `n` references, shared ones and by tree, and data counting 2 each. */
static void fill(struct known *item, unsigned n)
{
    uint32_t count = item->extent.is_block ? 1 : 2;
    for (unsigned i = 0; i < n; i++) {
        struct extent_ref ref = item->extent.is_block ? tree_ref(256 + i) : data_ref(5, 257 + i, 0);
        if (i % 3 == 2)
            ref = shared_ref(&item->extent, 4096 * i);
        if (i == 0)
            insert(item, 0, ref, count);
        else
            add(item, ref, count);
    }
}

START_TEST(wrong_calls)
{
    begin(4096, 1, 0);
    uint64_t left = 77;
    struct tree *tree = &grove.tree;
    for (unsigned i = 0; i < 4; i++) {
        struct known *item = &known[i];
        const struct extent *extent = &item->extent;
        bool is_block = extent->is_block;
        struct extent_ref first = is_block ? tree_ref(256) : data_ref(5, 257, 0);
        struct extent_ref last = is_block ? tree_ref(256 + 60) : data_ref(5, 257 + 60, 0);
        struct extent_ref none = is_block ? tree_ref(7) : data_ref(5, 7, 0);
        struct extent_ref nobody = shared_ref(extent, 7);
        expect_refused("not in the extent tree", extent_add_ref(tree, extent, &first, 1));
        expect_refused("not in the extent tree", extent_drop_ref(tree, extent, &first, 1, &left));
        expect_refused("not in the extent tree",
                       extent_set_flags(tree, extent, BLOCK_FLAG_FULL_BACKREF));
        fill(item, i < 2 ? 3 : 61); /* all inline, or most of them keyed */
        verify();
        expect_refused("is in the extent tree already",
                       extent_insert(tree, extent, 1, item->flags, &none, 1));
        expect_refused("is not there", extent_drop_ref(tree, extent, &none, 1, &left));
        expect_refused("is not there", extent_drop_ref(tree, extent, &nobody, 1, &left));
        expect_refused("3 are to be dropped; it counts",
                       extent_drop_ref(tree, extent, &first, 3, &left));
        if (i >= 2)
            expect_refused("3 are to be dropped; it counts",
                           extent_drop_ref(tree, extent, &last, 3, &left));
        if (is_block) {
            expect_refused("TREE_BLOCK_REF 256: the reference is to be added and is there",
                           extent_add_ref(tree, extent, &first, 1));
            expect_refused("to be added 2 times", extent_add_ref(tree, extent, &none, 2));
        } else {
            expect_refused("the reference counts 2, and is to count 4294967294 more",
                           extent_add_ref(tree, extent, &first, UINT32_MAX - 1));
        }
        if (is_block && i >= 2)
            expect_refused("is there already", extent_add_ref(tree, extent, &last, 1));
        if (!is_block && i >= 2)
            expect_refused("EXTENT_DATA_REF root 5 objectid 317 offset 0: the reference counts 2",
                           extent_add_ref(tree, extent, &last, UINT32_MAX));
        ck_assert_uint_eq(left, 77);
        verify();
    }
    grove_close(&grove);
}
END_TEST

/* Bytes of an item, put together. */
struct bytes {
    unsigned char bytes[512];
    uint32_t size;
};

static void put(struct bytes *item, unsigned width, uint64_t number)
{
    le64 value = to_le64(number);
    memcpy(item->bytes + item->size, &value, width);
    item->size += width;
}

static struct bytes head(uint64_t refs, uint64_t flags)
{
    struct bytes item = {.size = 0};
    put(&item, 8, refs);
    put(&item, 8, 1);
    put(&item, 8, flags);
    return item;
}

static void put_ref(struct bytes *item, struct extent_ref ref, uint32_t count)
{
    put(item, 1, ref.type);
    if (ref.type == EXTENT_DATA_REF_KEY) {
        put(item, 8, ref.root);
        put(item, 8, ref.objectid);
        put(item, 8, ref.offset);
    } else {
        put(item, 8, ref.parent ? ref.parent : ref.root);
    }
    if (ref.type == EXTENT_DATA_REF_KEY || ref.type == SHARED_DATA_REF_KEY)
        put(item, 4, count);
}

/* Dropping `ref` from an item like this is refused, with these words; adding too where `adds`. */
static void check_damaged(unsigned number, const struct bytes *item, struct extent_ref ref,
                          bool adds, const char *words)
{
    struct known *extent = &known[number];
    uint64_t left;
    begin(NODE, 1, 0);
    extent->key_type = number % 2 ? METADATA_ITEM_KEY : EXTENT_ITEM_KEY;
    plant(extent, item->bytes, item->size);
    expect_refused(words, extent_drop_ref(&grove.tree, &extent->extent, &ref, 1, &left));
    struct extent_ref other = shared_ref(&extent->extent, 12345);
    if (adds)
        expect_refused(words, extent_add_ref(&grove.tree, &extent->extent, &other, 1));
    grove_close(&grove);
}

/* What no writer that is right makes. */
START_TEST(damaged)
{
    struct extent_ref owner = {.type = EXTENT_OWNER_REF_KEY, .root = 5};
    struct extent_ref odd = {.type = 180, .root = 5};
    struct extent_ref a = data_ref(256, 271, 0), b = data_ref(256, 284, 0); /* in this order */
    struct bytes item = head(1, EXTENT_FLAG_TREE_BLOCK);
    check_damaged(0, &item, a, true, "its flags are 0x2");
    item = head(1, EXTENT_FLAG_DATA);
    check_damaged(1, &item, tree_ref(5), true, "its flags are 0x1");
    item.size = 23;
    check_damaged(0, &item, a, true, "its item has 23 bytes");
    item = head(2, EXTENT_FLAG_DATA);
    put_ref(&item, b, 1);
    put_ref(&item, a, 1);
    check_damaged(0, &item, a, true, "objectid 271 offset 0: the inline reference is out of order");
    item = head(3, EXTENT_FLAG_DATA);
    put_ref(&item, a, 1);
    put_ref(&item, a, 1);
    check_damaged(0, &item, b, true, "is there twice (E3)");
    item = head(3, EXTENT_FLAG_DATA);
    put_ref(&item, twin(5, 1), 1);
    put_ref(&item, twin(5, 2), 1);
    put_ref(&item, twin(5, 1), 1);
    check_damaged(0, &item, twin(5, 1), false, "is there twice (E3)");
    item = head(2, EXTENT_FLAG_TREE_BLOCK);
    put_ref(&item, tree_ref(5), 1);
    put_ref(&item, tree_ref(7), 1);
    check_damaged(1, &item, tree_ref(5), true, "TREE_BLOCK_REF 7: the inline reference is out of");
    item = head(2, EXTENT_FLAG_DATA);
    put_ref(&item, a, 1);
    put_ref(&item, owner, 1);
    check_damaged(0, &item, a, true, "EXTENT_OWNER_REF 5: the inline reference is out of order");
    item = head(2, EXTENT_FLAG_DATA);
    put_ref(&item, odd, 1);
    check_damaged(0, &item, a, true, "inline reference of type 180, 9 bytes left");
    item = head(2, EXTENT_FLAG_DATA);
    put_ref(&item, tree_ref(5), 1);
    check_damaged(0, &item, a, true, "inline reference of type 176");
    item = head(2, EXTENT_FLAG_TREE_BLOCK);
    put_ref(&item, a, 1);
    check_damaged(1, &item, tree_ref(5), true, "inline reference of type 178");
    item = head(2, EXTENT_FLAG_DATA);
    put_ref(&item, a, 1);
    item.size--;
    check_damaged(0, &item, a, true, "inline reference of type 178, 28 bytes left");
    item = head(2, EXTENT_FLAG_DATA);
    put_ref(&item, a, 0);
    check_damaged(0, &item, a, true, "counts 0");
    item = head(5, EXTENT_FLAG_DATA); /* E1 */
    put_ref(&item, a, 1);
    check_damaged(0, &item, a, false, "it counts 1 and is the only one, the extent counts 5 (E1)");
    item = head(1, EXTENT_FLAG_DATA);
    put_ref(&item, a, 1);
    put_ref(&item, b, 1);
    check_damaged(0, &item, a, false, "and is not the only one, the extent counts 1 (E1)");
    item = head(1, EXTENT_FLAG_DATA);
    put_ref(&item, a, 3);
    check_damaged(0, &item, a, false, "it counts 3 and is the only one, the extent counts 1 (E1)");
    item = head(UINT64_MAX, EXTENT_FLAG_DATA);
    put_ref(&item, a, 3);
    begin(NODE, 1, 0);
    known[0].key_type = EXTENT_ITEM_KEY;
    plant(&known[0], item.bytes, item.size);
    expect_refused("the extent has 18446744073709551615 references",
                   extent_add_ref(&grove.tree, &known[0].extent, &a, 1));
    grove_close(&grove);
}
END_TEST

/* Keyed items that no writer makes, beside an extent item that counts `refs` and lists one. */
START_TEST(damaged_keyed)
{
    static const struct {
        uint64_t refs, offset; /* of the key behind the hash */
        uint32_t size, count;
        bool drops_inline;
        const char *words;
    } cases[] = {
        {2, 0, 27, 1, false, "of 27 bytes"},
        {2, 0, 0, 1, false, "of 0 bytes"},
        {2, 0, 28, 0, false, "counts 0"},
        {1, 0, 28, 1, false, "is not the only one, the extent counts 1 (E1)"},
        {1, 0, 28, 1, true, "is not the only one, the extent counts 1 (E1)"},
        {3, 0, 28, 3, false, "is not the only one, the extent counts 3 (E1)"},
    };
    struct extent_ref inside = data_ref(256, 271, 0), outside = data_ref(256, 284, 0);
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct bytes item = head(cases[i].refs, EXTENT_FLAG_DATA), keyed = {.size = 0};
        begin(NODE, 1, 0);
        known[0].key_type = EXTENT_ITEM_KEY;
        put_ref(&item, inside, 1);
        plant(&known[0], item.bytes, item.size);
        put_ref(&keyed, outside, cases[i].count);
        struct key key = {known[0].extent.bytenr, EXTENT_DATA_REF_KEY,
                          slow_offset(&outside) + cases[i].offset};
        expect_success(tree_insert(&grove.tree, &key, keyed.bytes + 1, cases[i].size));
        uint64_t left;
        uint32_t count = cases[i].count > 1 ? cases[i].count : 1;
        expect_refused(cases[i].words,
                       extent_drop_ref(&grove.tree, &known[0].extent,
                                       cases[i].drops_inline ? &inside : &outside, count, &left));
        if (cases[i].size != 28)
            expect_refused(cases[i].words,
                           extent_add_ref(&grove.tree, &known[0].extent, &outside, 1));
        grove_close(&grove);
    }
}
END_TEST

/* --- what other images have --------------------------------------------------------- */

/* Blocks of before SKINNY_METADATA beside new ones. */
START_TEST(long_items)
{
    for (uint8_t level = 0; level < 3; level++) {
        begin(4096, 1, 0);
        struct known *item = &known[1];
        struct bytes bytes = head(1, EXTENT_FLAG_TREE_BLOCK);
        put(&bytes, 8, 256);
        put(&bytes, 1, INODE_ITEM_KEY);
        put(&bytes, 8, 0);
        put(&bytes, 1, level);
        put_ref(&bytes, tree_ref(5), 1);
        item->extent.level = level;
        item->key_type = EXTENT_ITEM_KEY;
        item->generation = 1;
        item->flags = EXTENT_FLAG_TREE_BLOCK;
        plant(item, bytes.bytes, bytes.size);
        known_add(item, &(struct extent_ref){.type = TREE_BLOCK_REF_KEY, .root = 5}, 1);
        verify();
        struct extent wrong = item->extent;
        uint64_t left;
        struct extent_ref ref = tree_ref(5);
        wrong.level++;
        expect_refused("its item is of level",
                       extent_drop_ref(&grove.tree, &wrong, &ref, 1, &left));
        expect_refused("is in the extent tree already",
                       extent_insert(&grove.tree, &item->extent, 1, item->flags, &ref, 1));
        for (unsigned i = 0; i < 60; i++)
            add(item, i % 2 ? tree_ref(256 + i) : shared_ref(&item->extent, 4096 + i), 1);
        verify();
        ck_assert_uint_eq(inline_seen, 20); /* 24 + 18 + 9 * 20 = 222 */
        expect_success(extent_set_flags(&grove.tree, &item->extent, BLOCK_FLAG_FULL_BACKREF));
        item->flags |= BLOCK_FLAG_FULL_BACKREF;
        verify();
        while (item->nrefs > 0)
            drop(item, item->list[dice_below(&grove.dice, item->nrefs)].ref, 1);
        verify();
        insert(item, 0, tree_ref(5), 1); /* and comes back as a short one */
        verify();
        grove_close(&grove);
    }
}
END_TEST

/* The owner of simple quota stays first, counts for nothing, and goes with the extent. */
START_TEST(owners)
{
    begin(4096, 1, 0);
    struct known *item = &known[0];
    struct extent_ref owner = {.type = EXTENT_OWNER_REF_KEY, .root = 5}, ref = data_ref(5, 257, 0);
    struct bytes bytes = head(1, EXTENT_FLAG_DATA);
    put_ref(&bytes, owner, 1);
    put_ref(&bytes, ref, 1);
    item->key_type = EXTENT_ITEM_KEY;
    item->generation = 1;
    item->flags = EXTENT_FLAG_DATA;
    item->has_owner = true;
    plant(item, bytes.bytes, bytes.size);
    known_add(item, &ref, 1);
    verify();
    for (unsigned i = 0; i < 20; i++)
        add(item, i % 2 ? data_ref(5, 300 + i, 0) : shared_ref(&item->extent, 4096 + i), 2);
    verify();
    while (item->nrefs > 0)
        drop(item, item->list[dice_below(&grove.dice, item->nrefs)].ref, 1);
    verify();
    grove_close(&grove);
}
END_TEST

/* Flags are set beside others; where they are set already nothing is claimed. */
START_TEST(flags)
{
    begin(4096, 1, 0);
    fill(&known[1], 2);
    heap_commit(&grove.heap);
    for (unsigned i = 0; i < 2; i++) {
        expect_success(extent_set_flags(&grove.tree, &known[1].extent, BLOCK_FLAG_FULL_BACKREF));
        ck_assert_uint_eq(grove.heap.counters.shadowed, 1);
        ck_assert_uint_eq(grove.heap.counters.wasted, 0);
        heap_commit(&grove.heap);
    }
    known[1].flags |= BLOCK_FLAG_FULL_BACKREF;
    verify();
    grove_close(&grove);
}
END_TEST

/* The references of a kernel's image, put in here in another order, make the same items. */
static int rebuild(const struct path *path, void *context)
{
    uint64_t *rebuilt = context;
    struct key key = path_key(path);
    if (key.type != EXTENT_ITEM_KEY && key.type != METADATA_ITEM_KEY)
        return 0;
    const unsigned char *data = item_data(path->nodes[0], path->slots[0]);
    uint32_t size = item_size(path->nodes[0], path->slots[0]), n = 0;
    struct known_ref list[256];
    uint64_t sum = 0;
    for (uint32_t at = 24; at < size; n++) {
        at += 1 + take_ref(data[at], data + at + 1, &list[n].ref, &list[n].count);
        sum += list[n].count;
    }
    if (sum != number_at(data)) /* others are keyed, and came when these were there */
        return 0;
    begin(path->nodes[0]->size, key.objectid, 0);
    bool is_block = key.type == METADATA_ITEM_KEY;
    struct extent extent = {key.objectid, is_block ? NODE : key.offset, is_block,
                            is_block ? (uint8_t)key.offset : 0};
    for (uint32_t left = n; left > 0; left--) {
        struct known_ref *ref = &list[dice_below(&grove.dice, left)];
        if (left == n)
            expect_success(extent_insert(&grove.tree, &extent, number_at(data + 8),
                                         number_at(data + 16), &ref->ref, ref->count));
        else
            expect_success(extent_add_ref(&grove.tree, &extent, &ref->ref, ref->count));
        *ref = list[left - 1];
    }
    const struct block *leaf = grove_block(&grove, grove.tree.bytenr);
    ck_assert_uint_eq(item_size(leaf, 0), size);
    ck_assert_mem_eq(item_data(leaf, 0), data, size);
    struct key made = leaf_key(leaf, 0);
    ck_assert_int_eq(key_compare(&made, &key), 0);
    grove_close(&grove);
    rebuilt[n > 1]++;
    return 0;
}

START_TEST(as_the_kernel)
{
    uint64_t rebuilt[2] = {0};
    for (unsigned i = 0; image_names[i]; i++) {
        struct image image;
        struct opened opened;
        struct tree tree;
        struct key first = {0}, last = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
        image_open(&image, image_names[i]);
        expect_success(open_volume(&opened, image.path));
        expect_success(volume_tree(&opened.volume, EXTENT_TREE_OBJECTID, &tree));
        expect_success(tree_range(&tree, &first, &last, rebuild, rebuilt));
        close_volume(&opened);
        image_close(&image);
    }
    expect(rebuilt[0] > 20 && rebuilt[1] > 0, "%ju and %ju", (uintmax_t)rebuilt[0],
           (uintmax_t)rebuilt[1]);
}
END_TEST

/* --- faults ------------------------------------------------------------------------- */

/* All items of a tree, one behind the other. */
struct content {
    size_t size;
    unsigned char bytes[1 << 16];
};

static int add_content(const struct path *path, void *context)
{
    struct content *content = context;
    struct disk_key key = leaf_item(path->nodes[0], path->slots[0])->key;
    uint32_t size = item_size(path->nodes[0], path->slots[0]);
    expect(content->size + sizeof key + size < sizeof content->bytes, "too many bytes");
    memcpy(content->bytes + content->size, &key, sizeof key);
    memcpy(content->bytes + content->size + sizeof key, item_data(path->nodes[0], path->slots[0]),
           size);
    content->size += sizeof key + size;
    return 0;
}

static void read_content(struct tree *tree, struct content *content)
{
    struct key first = {0}, last = {UINT64_MAX, UINT8_MAX, UINT64_MAX};
    content->size = 0;
    expect_success(tree_range(tree, &first, &last, add_content, content));
}

static bool content_is_same(const struct content *a, const struct content *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

struct call {
    const struct extent *extent;
    enum call_kind { CALL_INSERT, CALL_ADD, CALL_DROP, CALL_FLAGS } kind;
    struct extent_ref ref;
    uint32_t count;
    bool is_keyed; /* an item of its own changes, and then refs */
};

static int do_call(struct tree *tree, const struct call *call)
{
    uint64_t left, kind = call->extent->is_block ? EXTENT_FLAG_TREE_BLOCK : EXTENT_FLAG_DATA;
    switch (call->kind) {
    case CALL_INSERT:
        return extent_insert(tree, call->extent, 1, kind, &call->ref, call->count);
    case CALL_ADD:
        return extent_add_ref(tree, call->extent, &call->ref, call->count);
    case CALL_DROP:
        return extent_drop_ref(tree, call->extent, &call->ref, call->count, &left);
    case CALL_FLAGS:
    default:
        return extent_set_flags(tree, call->extent, BLOCK_FLAG_FULL_BACKREF);
    }
}

/* The n-th get or claim fails. 0 when there are not so many. */
static bool fail_once(const struct call *call, bool owns, uint64_t first)
{
    static struct content before, after, wanted;
    grove_copy(&copy, &grove);
    read_content(&copy.tree, &before);
    grove_close(&copy);
    grove_copy(&copy, &grove);
    expect_success(do_call(&copy.tree, call));
    read_content(&copy.tree, &wanted);
    grove_close(&copy);

    grove_copy(&copy, &grove);
    struct watch_calls *calls = owns ? &copy.watch.owns : &copy.watch.gets;
    *calls = (struct watch_calls){0, first, 1};
    int result = do_call(&copy.tree, call);
    bool is_met = calls->calls > first;
    *calls = (struct watch_calls){0, UINT64_MAX, 0};
    ck_assert_uint_eq(copy.heap.held, 0);
    read_content(&copy.tree, &after);
    expect(tree_walk(&copy.tree, check_block, NULL) == 0, "%s", fail_message());
    if (result == 0)
        ck_assert(content_is_same(&after, &wanted));
    else
        ck_assert_int_eq(result, owns ? -ENOSPC : -EIO);
    ck_assert(result == 0 || is_met);
    /* A deletion may be done already when the merge behind it fails. */
    bool is_kept = content_is_same(&after, &before);
    bool is_last = call->kind == CALL_DROP && content_is_same(&after, &wanted);
    ck_assert(result == 0 || is_kept || is_last || call->is_keyed);
    grove_close(&copy);
    return is_met;
}

/* Where a get or a claim fails, what is inline is as it was before; else leaves are sound. */
START_TEST(failing)
{
    uint64_t faults = 0;
    begin(4096, 1, 3); /* a tall tree */
    for (unsigned i = 0; i < EXTENTS - 2; i++)
        fill(&known[i], i < 6 ? 3 : 30);
    fill(&known[11], 1);
    const struct extent *data = &known[4].extent, *block = &known[5].extent;
    const struct extent *keyed_data = &known[8].extent, *keyed_block = &known[9].extent;
    const struct call calls[] = {
        {&known[10].extent, CALL_INSERT, data_ref(5, 257, 0), 1, false},
        {data, CALL_ADD, data_ref(5, 257, 0), 1, false},
        {data, CALL_ADD, data_ref(5, 300, 0), 1, false},
        {data, CALL_DROP, data_ref(5, 257, 0), 1, false},
        {data, CALL_DROP, data_ref(5, 257, 0), 2, false},
        {block, CALL_ADD, tree_ref(7), 1, false},
        {block, CALL_DROP, tree_ref(256), 1, false},
        {block, CALL_FLAGS, tree_ref(256), 1, false},
        {&known[11].extent, CALL_DROP, tree_ref(256), 1, false},
        {keyed_data, CALL_ADD, data_ref(5, 257, 0), 1, false},
        {keyed_data, CALL_ADD, data_ref(5, 285, 0), 1, true},
        {keyed_data, CALL_ADD, data_ref(5, 400, 0), 1, true},
        {keyed_data, CALL_DROP, data_ref(5, 285, 0), 1, true},
        {keyed_data, CALL_DROP, data_ref(5, 285, 0), 2, true},
        {keyed_block, CALL_ADD, tree_ref(7), 1, true},
        {keyed_block, CALL_DROP, tree_ref(284), 1, true},
    };
    verify();
    heap_commit(&grove.heap);
    for (size_t i = 0; i < LENGTH_OF(calls); i++)
        for (unsigned owns = 0; owns < 2; owns++)
            for (uint64_t first = 0; fail_once(&calls[i], owns, first); first++)
                faults++;
    expect(faults > 100, "%ju faults", (uintmax_t)faults);
    verify();
    grove_close(&grove);
}
END_TEST

SUITE_WITH(extent_item, 60, load_all_images, the_kernels_hashes, compares, layout, limits, life,
           twins, wrong_calls, damaged, damaged_keyed, long_items, owners, flags, as_the_kernel,
           failing)
