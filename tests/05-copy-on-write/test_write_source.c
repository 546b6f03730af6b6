#include "write_source.h"

#include "fail.h"
#include "support.h"
#include "support_faults.h"
#include "support_volume.h"

#include <stdlib.h>
#include <string.h>

/* A volume with one tree of one leaf, and the source over it. */
static struct maker maker;
static struct opened opened;
static struct write_source source;
static uint64_t leaf_bytenr;
static int64_t pieces;
static const struct block_promise leaf_promise = {.tree = FS_TREE_OBJECTID,
                                                  .generation = MAKER_GENERATION};

static void begin(void)
{
    maker_begin(&maker, 4096, CSUM_TYPE_CRC32, 1);
    struct block leaf = maker_block(&maker, FS_TREE_OBJECTID, 0);
    leaf_append(&leaf, (struct key){256, ORPHAN_ITEM_KEY, 0}, NULL, 0);
    maker_root(&maker, (struct key){FS_TREE_OBJECTID, ROOT_ITEM_KEY, 0}, &leaf);
    leaf_bytenr = leaf.bytenr;
    maker_write(&maker, &leaf);
    maker_end(&maker);
    expect_success(open_volume(&opened, maker.image.path));
    pieces = memory_pieces();
    write_source_open(&source, &opened.volume.source);
}

static void end(void)
{
    write_source_close(&source);
    ck_assert_int_eq(memory_pieces(), pieces);
    close_volume(&opened);
    maker_close(&maker);
}

static int get(uint64_t bytenr, struct block **block)
{
    return source.source.get(&source.source, bytenr, &leaf_promise, block);
}

static void put(struct block *block)
{
    source.source.put(&source.source, block);
}

/* --- reading ------------------------------------------------------------------------ */

/* What is not of the transaction is read each time, and gone when it is put. */
START_TEST(good_reads)
{
    struct block *one, *other;
    begin();
    uint64_t reads = opened.volume.source.blocks_read;
    expect_success(get(leaf_bytenr, &one));
    expect_success(get(leaf_bytenr, &other));
    ck_assert_uint_eq(opened.volume.source.blocks_read, reads + 2);
    ck_assert_ptr_ne(one, other);
    ck_assert_uint_eq(one->bytenr, leaf_bytenr);
    ck_assert_uint_eq(one->size, 4096);
    ck_assert_uint_eq(one->bytes_moved, 0);
    ck_assert_uint_eq(block_nritems(one), 1);
    ck_assert_uint_eq(source.held, 2);
    ck_assert_uint_eq(source.count, 0);
    put(one);
    put(other);
    ck_assert_uint_eq(source.held, 0);
    ck_assert_int_eq(memory_pieces(), pieces);
    end();
}
END_TEST

/* A block is never trusted: the promise is asked for, and what fails is not held. */
START_TEST(bad_reads)
{
    struct block *block;
    struct block_promise promise = leaf_promise;
    begin();
    promise.generation++;
    expect_failure(EUCLEAN, "(T2)",
                   source.source.get(&source.source, leaf_bytenr, &promise, &block));
    expect_failure(EUCLEAN, "no multiple of the sector size", get(leaf_bytenr + 1, &block));
    expect_failure(EUCLEAN, "is in no chunk", get(1ULL << 50, &block));
    faults_begin(&(struct fault){FAULT_READ, FAULT_ERROR, EIO, 0, 1});
    int result = get(leaf_bytenr, &block);
    faults_end();
    expect_failure(EIO, "cannot read", result);
    faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, 0, 1});
    result = get(leaf_bytenr, &block);
    faults_end();
    expect_failure(ENOMEM, "out of memory for block", result);
    ck_assert_uint_eq(source.held, 0);
    ck_assert_int_eq(memory_pieces(), pieces);
    end();
}
END_TEST

/* --- blocks of the transaction ------------------------------------------------------ */

/* Makes a block a leaf that can be asked for. */
static void make_empty_leaf(struct block *block)
{
    leaf_init(block, MAKER_GENERATION, CSUM_TREE_OBJECTID);
    block_header(block)->flags = to_le64(HEADER_FLAG_WRITTEN);
}

static int get_fresh(uint64_t bytenr, struct block **block)
{
    static const struct block_promise promise = {.tree = CSUM_TREE_OBJECTID,
                                                 .generation = MAKER_GENERATION};
    return source.source.get(&source.source, bytenr, &promise, block);
}

/* A fresh block is of zeros, is kept when it is put, and is one however often it is asked for. */
START_TEST(fresh)
{
    static const unsigned char zeros[4096];
    struct block *block, *same, *again;
    begin();
    uint64_t reads = opened.volume.source.blocks_read;
    expect_success(write_source_fresh(&source, 8192, &block));
    ck_assert_uint_eq(block->bytenr, 8192);
    ck_assert_uint_eq(block->size, 4096);
    ck_assert_mem_eq(block->data, zeros, 4096);
    make_empty_leaf(block);
    source.source.dirty(&source.source, block);
    expect_success(get_fresh(8192, &same));
    ck_assert_ptr_eq(same, block);
    ck_assert_uint_eq(source.held, 2);
    put(same);
    put(block);
    expect_success(get_fresh(8192, &again));
    ck_assert_ptr_eq(again, block);
    put(again);
    ck_assert_uint_eq(source.count, 1);
    ck_assert_uint_eq(source.held, 0);
    ck_assert_uint_eq(opened.volume.source.blocks_read, reads);
    end();
}
END_TEST

/* A block that was read gets a new address, and its bytes stay; the old address is read again. */
START_TEST(move)
{
    struct block *block, *same, *old;
    begin();
    expect_success(get(leaf_bytenr, &block));
    expect_success(write_source_move(&source, block, 1 << 30));
    ck_assert_uint_eq(block->bytenr, 1 << 30);
    ck_assert_uint_eq(block_nritems(block), 1);
    expect_success(get(1 << 30, &same));
    ck_assert_ptr_eq(same, block);
    expect_success(get(leaf_bytenr, &old));
    ck_assert_ptr_ne(old, block);
    ck_assert_uint_eq(source.count, 1);
    put(old);
    put(same);
    put(block);
    expect_success(get(1 << 30, &same)); /* still there */
    ck_assert_ptr_eq(same, block);
    put(same);
    end();
}
END_TEST

START_TEST(forget)
{
    struct block *block;
    begin();
    expect_success(write_source_fresh(&source, 8192, &block));
    write_source_forget(&source, block);
    ck_assert_uint_eq(source.count, 0);
    ck_assert_uint_eq(source.held, 0);
    ck_assert_int_eq(memory_pieces(), pieces);
    expect_success(write_source_fresh(&source, 8192, &block)); /* the address is free again */
    write_source_forget(&source, block);
    /* A block that is not of the transaction can be forgotten too: it is put. */
    expect_success(get(leaf_bytenr, &block));
    write_source_forget(&source, block);
    ck_assert_uint_eq(source.held, 0);
    ck_assert_int_eq(memory_pieces(), pieces);
    end();
}
END_TEST

/* No memory: nothing has changed. */
START_TEST(memory)
{
    struct block *block, *other;
    begin();
    for (uint64_t first = 0; first < 2; first++) {
        faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, first, 1});
        int result = write_source_fresh(&source, 8192, &block);
        faults_end();
        expect_failure(ENOMEM, "out of memory for block 8192", result);
        ck_assert_uint_eq(source.count + source.held, 0);
        ck_assert_int_eq(memory_pieces(), pieces);
    }
    expect_success(get(leaf_bytenr, &block));
    faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, 0, 1});
    int result = write_source_move(&source, block, 8192);
    faults_end();
    expect_failure(ENOMEM, "out of memory for block", result);
    ck_assert_uint_eq(block->bytenr, leaf_bytenr);
    ck_assert_uint_eq(source.count, 0);
    expect_success(write_source_fresh(&source, 8192, &other)); /* 8192 was not taken */
    put(other);
    put(block);
    end();
}
END_TEST

/* --- all of them -------------------------------------------------------------------- */

struct visited {
    uint64_t last, count, stop;
};

static int visit(struct block *block, void *context)
{
    struct visited *visited = context;
    expect(block->bytenr > visited->last, "not in ascending order");
    visited->last = block->bytenr;
    return ++visited->count == visited->stop ? 17 : 0;
}

/* Fresh and moved and forgotten at random; each is visited once, in order; a visit can end it. */
START_TEST(each)
{
    bool there[512] = {false};
    struct dice dice = {3};
    struct block *block;
    begin();
    struct visited none = {0};
    ck_assert_int_eq(write_source_each(&source, visit, &none), 0);
    ck_assert_uint_eq(none.count, 0);
    uint64_t count = 0;
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t number = 1 + dice_below(&dice, 511);
        if (there[number]) {
            expect_success(get_fresh(number * 4096, &block));
            write_source_forget(&source, block);
        } else {
            expect_success(write_source_fresh(&source, number * 4096, &block));
            make_empty_leaf(block);
            put(block);
        }
        there[number] = !there[number];
        count += there[number] ? 1 : UINT64_MAX;
        ck_assert_uint_eq(source.count, count);
    }
    struct visited all = {0};
    ck_assert_int_eq(write_source_each(&source, visit, &all), 0);
    ck_assert_uint_eq(all.count, count);
    for (uint64_t stop = 1; stop <= count; stop++) {
        struct visited some = {.stop = stop};
        ck_assert_int_eq(write_source_each(&source, visit, &some), 17);
        ck_assert_uint_eq(some.count, stop);
    }
    end();
}
END_TEST

/* Closing forgets, and the source can be used again. */
START_TEST(close_and_again)
{
    struct block *block;
    begin();
    for (uint64_t i = 1; i <= 100; i++) {
        expect_success(write_source_fresh(&source, i * 4096, &block));
        put(block);
    }
    write_source_close(&source);
    ck_assert_uint_eq(source.count, 0);
    ck_assert_int_eq(memory_pieces(), pieces);
    expect_success(write_source_fresh(&source, 4096, &block));
    put(block);
    end();
}
END_TEST

SUITE(write_source, 30, good_reads, bad_reads, fresh, move, forget, memory, each, close_and_again)
