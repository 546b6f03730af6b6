#include "block_source.h"

#include "fail.h"
#include "support.h"
#include "support_device.h"
#include "support_faults.h"
#include "support_volume.h"

#include <string.h>

/* --- T1 to T6 ----------------------------------------------------------------------- */

/* The leaf [300, 310] of tree 5 and generation 7, and what is promised of it. */
static struct block good_leaf(void)
{
    struct block leaf = make_leaf(4096);
    leaf_append(&leaf, (struct key){300, ORPHAN_ITEM_KEY, 0}, NULL, 0);
    leaf_append(&leaf, (struct key){310, ORPHAN_ITEM_KEY, 0}, NULL, 0);
    return leaf;
}

/* A promise, and the keys that it points to, which a node would hold. */
struct promised {
    struct block_promise promise;
    struct disk_key first_key, next_key;
};

static const struct block_promise *promise_of(struct promised *promised)
{
    promised->promise.first_key = &promised->first_key;
    promised->promise.next_key = &promised->next_key;
    return &promised->promise;
}

static struct promised promise_made(uint64_t tree, uint8_t level, uint64_t generation,
                                    struct key first_key, struct key next_key)
{
    return (struct promised){
        .promise = {.tree = tree, .level = level, .generation = generation},
        .first_key = key_to_disk(&first_key),
        .next_key = key_to_disk(&next_key),
    };
}

static struct promised good_promise(void)
{
    return promise_made(FS_TREE_OBJECTID, 0, 7, (struct key){300, ORPHAN_ITEM_KEY, 0},
                        (struct key){310, ORPHAN_ITEM_KEY, 1});
}

START_TEST(each_promise)
{
    static const struct {
        const char *words;
        uint64_t tree;
        uint8_t level;
        uint64_t generation;
        struct key first_key, next_key;
    } broken[] = {
        {"level 0, not 1 (T1)", 5, 1, 7, {300, 48, 0}, {400, 0, 0}},
        {"generation 7, not 6 (T2)", 5, 0, 6, {300, 48, 0}, {400, 0, 0}},
        {"generation 7, not 8 (T2)", 5, 0, 8, {300, 48, 0}, {400, 0, 0}},
        {"begins with (300 ORPHAN_ITEM 0), its parent says (299 ORPHAN_ITEM 0) (T3)",
         5,
         0,
         7,
         {299, 48, 0},
         {400, 0, 0}},
        {"its parent says (300 ORPHAN_ITEM 1) (T3)", 5, 0, 7, {300, 48, 1}, {400, 0, 0}},
        {"ends with (310 ORPHAN_ITEM 0), not before (310 ORPHAN_ITEM 0) (T4)",
         5,
         0,
         7,
         {300, 48, 0},
         {310, 48, 0}},
        {"not before (305 ORPHAN_ITEM 0) (T4)", 5, 0, 7, {300, 48, 0}, {305, 48, 0}},
        {"owner 5 in tree 2 (T5)", 2, 0, 7, {300, 48, 0}, {400, 0, 0}},
    };
    struct block leaf = good_leaf();
    struct promised good = good_promise();
    expect_success(block_fulfils(&leaf, promise_of(&good)));
    good.promise.next_key = NULL; /* nothing is to the right */
    expect_success(block_fulfils(&leaf, &good.promise));
    for (size_t i = 0; i < LENGTH_OF(broken); i++) {
        struct promised promised =
            promise_made(broken[i].tree, broken[i].level, broken[i].generation, broken[i].first_key,
                         broken[i].next_key);
        expect_failure(EUCLEAN, broken[i].words, block_fulfils(&leaf, promise_of(&promised)));
        expect(strncmp(fail_message(), "block 1048576: ", 15) == 0, "%s", fail_message());
    }
    /* A root has no parent to say where it begins. */
    struct block_promise root = {.tree = 5, .generation = 7};
    expect_success(block_fulfils(&leaf, &root));
    free_block(&leaf);
}
END_TEST

/* The same in a node. */
START_TEST(promises_of_a_node)
{
    struct block node = make_node(4096, 2);
    struct promised promised = good_promise();
    const struct block_promise *promise = promise_of(&promised);
    node_append(&node, (struct key){300, ORPHAN_ITEM_KEY, 0}, 4096, 7);
    node_append(&node, (struct key){310, ORPHAN_ITEM_KEY, 0}, 8192, 7);
    expect_failure(EUCLEAN, "level 2, not 0 (T1)", block_fulfils(&node, promise));
    promised.promise.level = 2;
    expect_success(block_fulfils(&node, promise));
    promised.next_key.offset = to_le64(0);
    expect_failure(EUCLEAN, "(T4)", block_fulfils(&node, promise));
    promised.first_key.type = 0;
    expect_failure(EUCLEAN, "(T3)", block_fulfils(&node, promise));
    free_block(&node);
}
END_TEST

/* T6: empty is a root, and no other, and not that of every tree. */
START_TEST(empty)
{
    struct block leaf = make_leaf(4096);
    struct promised promised = good_promise();
    struct block_promise promise = *promise_of(&promised);
    expect_failure(EUCLEAN, "block 1048576: empty (T6)", block_fulfils(&leaf, &promise));
    promise.first_key = promise.next_key = NULL; /* that of a root */
    static const uint64_t never[] = {1, 2, 3, 4, 5, DATA_RELOC_TREE_OBJECTID};
    for (size_t i = 0; i < LENGTH_OF(never); i++) {
        promise.tree = never[i];
        block_header(&leaf)->owner = to_le64(never[i]);
        expect_failure(EUCLEAN, "block 1048576: empty (T6)", block_fulfils(&leaf, &promise));
    }
    promise.tree = CSUM_TREE_OBJECTID;
    block_header(&leaf)->owner = to_le64(CSUM_TREE_OBJECTID);
    expect_success(block_fulfils(&leaf, &promise));
    free_block(&leaf);
}
END_TEST

/* T5: who may own a block of which tree. Snapshots share blocks; relocation trees hold those of others. */
START_TEST(owners)
{
    static const struct {
        uint64_t owner, tree, flags;
        bool right;
    } cases[] = {
        {5, 5, 0, true},
        {2, 2, 0, true},
        {2, 5, 0, false},
        {5, 2, 0, false},
        {5, 256, 0, true},
        {256, 5, 0, true},
        {256, 300, 0, true},
        {255, 300, 0, false},
        {300, 255, 0, false},
        {1, 2, 0, false},
        {2, 1, 0, false},
        {0, 5, 0, false},
        {UINT64_MAX, 5, 0, false},
        {DATA_RELOC_TREE_OBJECTID, DATA_RELOC_TREE_OBJECTID, 0, true},
        {DATA_RELOC_TREE_OBJECTID, 5, 0, false},
        {TREE_LOG_OBJECTID, TREE_LOG_OBJECTID, 0, true},
        {5, TREE_LOG_OBJECTID, 0, false},
        {2, TREE_RELOC_OBJECTID, 0, true},
        {2, 5, HEADER_FLAG_RELOC, false},
        {2, 5, HEADER_FLAG_WRITTEN, false},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct block leaf = good_leaf();
        struct promised promised = good_promise();
        struct block_promise promise = *promise_of(&promised);
        block_header(&leaf)->owner = to_le64(cases[i].owner);
        block_header(&leaf)->flags = to_le64(cases[i].flags);
        promise.tree = cases[i].tree;
        if (cases[i].right)
            expect_success(block_fulfils(&leaf, &promise));
        else
            expect_failure(EUCLEAN, "(T5)", block_fulfils(&leaf, &promise));
        free_block(&leaf);
    }
}
END_TEST

/* --- reading ------------------------------------------------------------------------ */

/* A volume with one tree of one leaf. */
static struct maker maker;
static struct opened opened;
static uint64_t bytenr;
static const struct block_promise leaf_promise = {.tree = FS_TREE_OBJECTID,
                                                  .generation = MAKER_GENERATION};

static void make_volume(uint32_t nodesize, uint16_t csum_type, unsigned copies)
{
    maker_begin(&maker, nodesize, csum_type, copies);
    struct block leaf = maker_block(&maker, FS_TREE_OBJECTID, 0);
    leaf_append(&leaf, (struct key){256, ORPHAN_ITEM_KEY, 0}, NULL, 0);
    maker_root(&maker, (struct key){FS_TREE_OBJECTID, ROOT_ITEM_KEY, 0}, &leaf);
    bytenr = leaf.bytenr;
    maker_write(&maker, &leaf);
    maker_end(&maker);
    expect_success(open_volume(&opened, maker.image.path));
}

static void end_volume(void)
{
    close_volume(&opened);
    maker_close(&maker);
}

static int get(uint64_t address, const struct block_promise *promise, struct block **block)
{
    struct block_source *source = &opened.volume.source.source;
    return promise ? source->get(source, address, promise, block)
                   : read_source_get_any(&opened.volume.source, address, block);
}

static void put(struct block *block)
{
    opened.volume.source.source.put(&opened.volume.source.source, block);
}

/* Every node size and checksum, one copy and two. */
START_TEST(every_kind)
{
    for (uint32_t nodesize = 4096; nodesize <= NODE_SIZE_MAX; nodesize *= 2)
        for (uint16_t csum_type = 0; csum_type < 4; csum_type++)
            for (unsigned copies = 1; copies <= 2; copies++) {
                struct block *block;
                make_volume(nodesize, csum_type, copies);
                uint64_t reads = opened.volume.source.blocks_read;
                expect_success(get(bytenr, &leaf_promise, &block));
                ck_assert_uint_eq(block->size, nodesize);
                ck_assert_uint_eq(block->bytenr, bytenr);
                ck_assert_uint_eq(block_nritems(block), 1);
                ck_assert_uint_eq(opened.volume.source.blocks_read, reads + 1);
                put(block);
                expect_success(get(bytenr, NULL, &block));
                put(block);
                ck_assert_uint_eq(opened.notes.count, 0);
                end_volume();
            }
}
END_TEST

START_TEST(no_such_address)
{
    struct block *block;
    make_volume(16384, CSUM_TYPE_CRC32, 1);
    expect_failure(EUCLEAN, "block 16777217: no multiple of the sector size",
                   get(bytenr + 1, NULL, &block));
    expect_failure(EUCLEAN, "address 0 is in no chunk", get(0, NULL, &block));
    expect_failure(EUCLEAN, "is in no chunk", get(MAKER_METADATA + MAKER_LENGTH, NULL, &block));
    expect_failure(EUCLEAN, "16384 bytes at 20967424 pass the end of chunk 16777216",
                   get(MAKER_METADATA + MAKER_LENGTH - 4096, NULL, &block));
    expect_failure(EUCLEAN, "block 20955136: checksum", /* never written */
                   get(MAKER_METADATA + MAKER_LENGTH - 16384, NULL, &block));
    end_volume();
}
END_TEST

/* B1 to B5, the leaf checker, the node checker and the promise: all stand behind get. */
START_TEST(each_check)
{
    static const struct {
        const char *words;
        size_t offset;
        uint8_t value;
        bool repaired;
    } broken[] = {
        {"(B1)", 2000, 1, false},
        {"(B2)", offsetof(struct block_header, bytenr), 1, true},
        {"(B3)", offsetof(struct block_header, fsid), 'x', true},
        {"(B4)", offsetof(struct block_header, level), 8, true},
        {"(B5)", offsetof(struct block_header, flags), 0, true},
        {"(N4)", offsetof(struct block_header, level), 1, true},
        {"(L2)", offsetof(struct block_header, nritems) + 3, 1, true},
        {"(L6)", 101 + 8, INODE_ITEM_KEY, true},
        {"(T2)", offsetof(struct block_header, generation), 1, true},
        {"(T5)", offsetof(struct block_header, owner), 2, true},
    };
    make_volume(4096, CSUM_TYPE_CRC32, 1);
    for (size_t i = 0; i < LENGTH_OF(broken); i++) {
        unsigned char bytes[4096];
        struct block *block;
        image_read(&maker.image, bytenr, bytes, sizeof bytes);
        bytes[broken[i].offset] = broken[i].value;
        if (broken[i].repaired)
            put_csum(CSUM_TYPE_CRC32, bytes, sizeof bytes);
        image_write(&maker.image, bytenr, bytes, sizeof bytes);
        expect_failure(EUCLEAN, broken[i].words, get(bytenr, &leaf_promise, &block));
        image_undo(&maker.image);
    }
    end_volume();
}
END_TEST

static void damage(unsigned copy)
{
    image_write(&maker.image, bytenr + copy * MAKER_COPY + 2000, "rotten", 6);
}

/* DUP: one bad copy is no harm, and a note is made when it is the first; two are, and the error
 * names the fault of each. */
START_TEST(two_copies)
{
    struct block *block;
    make_volume(4096, CSUM_TYPE_CRC32, 2);
    damage(1);
    expect_success(get(bytenr, &leaf_promise, &block));
    put(block);
    ck_assert_uint_eq(opened.notes.count, 0);
    image_undo(&maker.image);

    uint64_t reads = opened.volume.source.blocks_read;
    damage(0);
    expect_success(get(bytenr, &leaf_promise, &block));
    put(block);
    ck_assert_uint_eq(opened.volume.source.blocks_read, reads + 2);
    ck_assert_uint_eq(opened.notes.count, 1);
    expect(strstr(opened.notes.text[0], "copy 1 at 16777216: block 16777216: checksum") &&
               strstr(opened.notes.text[0], "; copy 2 at 37748736 is used"),
           "%s", opened.notes.text[0]);

    damage(1);
    expect_failure(EUCLEAN, "copy 1 at 16777216: block 16777216: checksum",
                   get(bytenr, &leaf_promise, &block));
    ck_assert_ptr_nonnull(strstr(fail_message(), "; copy 2 at 37748736: block 16777216: checksum"));
    ck_assert_uint_eq(opened.notes.count, 1);
    end_volume();
}
END_TEST

/* A copy that is whole but not what was promised, as an older one left behind, is a bad copy too.
 */
START_TEST(stale_copy)
{
    struct block *block;
    make_volume(4096, CSUM_TYPE_CRC32, 2);
    struct block stale = make_leaf(4096);
    image_read(&maker.image, bytenr, stale.data, stale.size);
    block_header(&stale)->generation = to_le64(MAKER_GENERATION - 1);
    put_csum(CSUM_TYPE_CRC32, stale.data, stale.size);
    image_write(&maker.image, bytenr, stale.data, stale.size);
    expect_success(get(bytenr, &leaf_promise, &block));
    ck_assert_uint_eq(block_generation(block), MAKER_GENERATION);
    put(block);
    ck_assert_ptr_nonnull(strstr(opened.notes.text[0], "generation 19, not 20 (T2)"));
    /* Where nothing is promised the younger one is the right one, and a note says so. */
    expect_success(get(bytenr, NULL, &block));
    ck_assert_uint_eq(block_generation(block), MAKER_GENERATION);
    ck_assert_ptr_nonnull(strstr(opened.notes.text[1], "generation 19, copy 2 of 20"));
    put(block);
    free_block(&stale);
    end_volume();
}
END_TEST

/* A read that fails: the other copy, or the error. */
START_TEST(read_errors)
{
    for (unsigned copies = 1; copies <= 2; copies++)
        for (uint64_t failing = 1; failing <= 2; failing++) {
            struct block *block;
            make_volume(4096, CSUM_TYPE_CRC32, copies);
            int64_t before = memory_pieces();
            faults_begin(&(struct fault){FAULT_READ, FAULT_ERROR, EIO, 0, failing});
            int result = get(bytenr, &leaf_promise, &block);
            faults_end();
            if (copies > failing) {
                expect_success(result);
                ck_assert_uint_eq(opened.notes.count, 1);
                put(block);
            } else
                expect_failure(EIO, "cannot read 4096 bytes at", result);
            ck_assert_int_eq(memory_pieces(), before);
            end_volume();
        }
}
END_TEST

static int no_memory_to_read(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    (void)device, (void)offset, (void)buffer, (void)length;
    return fail(ENOMEM, "out of memory in the device");
}

/* No memory is no fault of a copy: the other one is not tried. */
START_TEST(no_memory)
{
    struct block *block;
    make_volume(4096, CSUM_TYPE_CRC32, 2);
    faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, 0, 1});
    int result = get(bytenr, &leaf_promise, &block);
    faults_end();
    expect_failure(ENOMEM, "out of memory for block 16777216", result);

    struct device device = {.read = no_memory_to_read};
    opened.volume.source.device = &device;
    uint64_t reads = opened.volume.source.blocks_read;
    expect_failure(ENOMEM, "in the device", get(bytenr, &leaf_promise, &block));
    ck_assert_uint_eq(opened.volume.source.blocks_read, reads + 1);
    end_volume();
}
END_TEST

SUITE(block_source, 30, each_promise, promises_of_a_node, empty, owners, every_kind,
      no_such_address, each_check, two_copies, stale_copy, read_errors, no_memory)
