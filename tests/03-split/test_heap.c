#include "heap.h"

#include "change.h"
#include "fail.h"
#include "support.h"
#include "support_faults.h"

#include <string.h>

static struct heap heap;
static struct growth growth;
static struct tree tree;

static void begin(uint32_t node_size)
{
    growth = (struct growth){0};
    heap_open(&heap, node_size);
    expect_success(heap_tree(&heap, &tree, 300, &growth));
}

static struct block *get_root(void)
{
    struct block *root;
    struct block_promise promise = {
        .tree = 300, .level = tree.level, .generation = tree.generation};
    expect_success(heap.source.get(&heap.source, tree.bytenr, &promise, &root));
    return root;
}

START_TEST(empty_tree)
{
    for (uint32_t size = 4096; size <= 65536; size *= 2) {
        begin(size);
        ck_assert_uint_eq(tree.id, 300);
        ck_assert_uint_eq(tree.level, 0);
        ck_assert_uint_eq(tree.generation, 1);
        ck_assert_ptr_eq(tree.growth, &growth);
        ck_assert_ptr_eq(growth.owner, &heap.owner);
        ck_assert_uint_ne(tree.bytenr, 0);
        ck_assert_uint_eq(tree.bytenr % size, 0);
        ck_assert_uint_eq(heap.held, 0);
        ck_assert_uint_eq(heap.counters.allocated, 1);
        ck_assert_uint_eq(heap.counters.leaves_written, 1);
        heap.is_checking = true;
        struct block *root = get_root();
        ck_assert_uint_eq(heap.held, 1);
        ck_assert_uint_eq(root->size, size);
        ck_assert_uint_eq(root->bytenr, tree.bytenr);
        ck_assert_uint_eq(block_nritems(root), 0);
        ck_assert_uint_eq(block_owner_id(root), 300);
        ck_assert_uint_eq(block_generation(root), 1);
        expect_success(leaf_check(root, NULL));
        heap.source.put(&heap.source, root);
        ck_assert_uint_eq(heap.held, 0);
        heap_close(&heap);
    }
}
END_TEST

/* The first claim in a transaction gives the block another address, the next ones nothing. */
START_TEST(claims)
{
    begin(4096);
    struct block *root = get_root(), *same = root;
    uint64_t highest = tree.bytenr;
    expect_success(heap.owner.claim(&heap.owner, &tree, &root)); /* it was made in this one */
    ck_assert_uint_eq(root->bytenr, highest);
    ck_assert_uint_eq(heap.counters.shadowed, 0);
    for (unsigned i = 1; i < 300; i++) {
        uint64_t before = root->bytenr;
        heap_commit(&heap);
        ck_assert_uint_eq(heap.generation, i + 1);
        for (unsigned times = 0; times < 3; times++) {
            expect_success(heap.owner.claim(&heap.owner, &tree, &root));
            ck_assert_ptr_eq(root, same);
            ck_assert_uint_gt(root->bytenr, before);
            ck_assert_uint_eq(from_le64(block_header(root)->bytenr), root->bytenr);
            ck_assert_uint_eq(block_generation(root), heap.generation);
            ck_assert_uint_eq(heap.counters.shadowed, i);
            ck_assert_uint_eq(heap.counters.leaves_written, i + 1);
        }
        ck_assert_ptr_null(heap.blocks[before / 4096]);
        ck_assert_uint_gt(root->bytenr, highest);
        highest = root->bytenr;
    }
    ck_assert_uint_eq(heap.counters.allocated, 1);
    ck_assert_uint_eq(heap.counters.wasted, 299);
    heap.source.put(&heap.source, root);
    heap_close(&heap);
}
END_TEST

/* A shadow is wasted until it is changed, once and in its own transaction. */
START_TEST(waste)
{
    begin(4096);
    struct block *root = get_root();
    tree_dirty(&tree, root);
    ck_assert_uint_eq(heap.counters.wasted, 0);
    heap_commit(&heap);
    expect_success(heap.owner.claim(&heap.owner, &tree, &root));
    ck_assert_uint_eq(heap.counters.wasted, 1);
    tree_dirty(&tree, root);
    tree_dirty(&tree, root);
    ck_assert_uint_eq(heap.counters.wasted, 0);
    heap_commit(&heap);
    expect_success(heap.owner.claim(&heap.owner, &tree, &root)); /* this one stays so */
    heap_commit(&heap);
    expect_success(heap.owner.claim(&heap.owner, &tree, &root));
    tree_dirty(&tree, root);
    ck_assert_uint_eq(heap.counters.wasted, 1);
    ck_assert_uint_eq(heap.counters.shadowed, 3);
    heap.source.put(&heap.source, root);
    heap_close(&heap);
}
END_TEST

/* leaves_dirtied counts a leaf once in each operation, and nodes never. */
START_TEST(operations)
{
    begin(4096);
    struct block *root = get_root(), *leaf, *node;
    expect_success(heap.owner.allocate(&heap.owner, &tree, 0, &leaf));
    expect_success(heap.owner.allocate(&heap.owner, &tree, 3, &node));
    ck_assert_uint_eq(block_level(node), 3);
    ck_assert_uint_eq(heap.counters.allocated, 3);
    ck_assert_uint_eq(heap.counters.leaves_written, 2);
    uint64_t dirtied = 0;
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned times = 0; times < 3; times++) {
            tree_dirty(&tree, root);
            tree_dirty(&tree, node);
        }
        ck_assert_uint_eq(heap.counters.leaves_dirtied, ++dirtied);
        tree_dirty(&tree, leaf);
        tree_dirty(&tree, root);
        ck_assert_uint_eq(heap.counters.leaves_dirtied, ++dirtied);
        heap_operation(&heap);
    }
    tree_dirty(&tree, root);
    uint64_t operation = heap.operation;
    heap_commit(&heap); /* ends the operation, too */
    ck_assert_uint_gt(heap.operation, operation);
    expect_success(heap.owner.claim(&heap.owner, &tree, &root));
    expect_success(heap.owner.claim(&heap.owner, &tree, &node));
    ck_assert_uint_eq(heap.counters.leaves_written, 3);
    tree_dirty(&tree, root);
    ck_assert_uint_eq(heap.counters.leaves_dirtied, dirtied + 2);
    uint64_t bytenr = leaf->bytenr;
    heap.owner.free(&heap.owner, &tree, leaf);
    heap.owner.free(&heap.owner, &tree, node);
    ck_assert_ptr_null(heap.blocks[bytenr / 4096]);
    ck_assert_uint_eq(heap.counters.freed, 2);
    ck_assert_uint_eq(heap.held, 1);
    heap.source.put(&heap.source, root);
    heap_close(&heap);
}
END_TEST

/* Addresses are multiples of the block size, ascend, and are never used again. */
START_TEST(addresses)
{
    begin(16384);
    uint64_t highest = tree.bytenr;
    for (unsigned i = 0; i < 1000; i++) {
        struct block *block;
        expect_success(heap.owner.allocate(&heap.owner, &tree, 0, &block));
        ck_assert_uint_eq(block->bytenr % 16384, 0);
        ck_assert_uint_gt(block->bytenr, highest);
        ck_assert_uint_eq(from_le64(block_header(block)->bytenr), block->bytenr);
        highest = block->bytenr;
        if (i % 2)
            heap.owner.free(&heap.owner, &tree, block);
        else
            heap.source.put(&heap.source, block);
    }
    ck_assert_uint_eq(heap.counters.allocated, 1001);
    ck_assert_uint_eq(heap.counters.freed, 500);
    heap_close(&heap);
}
END_TEST

/* A heap that checks sees what is wrong with a block, one that does not does not look. */
START_TEST(checking)
{
    begin(4096);
    struct block *root = get_root(), *block;
    heap.source.put(&heap.source, root);
    struct block_promise promise = {.tree = 300, .level = 1, .generation = 1};
    expect_success(heap.source.get(&heap.source, tree.bytenr, &promise, &block));
    heap.source.put(&heap.source, block);
    heap.is_checking = true;
    expect_failure(EUCLEAN, "(T1)", heap.source.get(&heap.source, tree.bytenr, &promise, &block));
    promise.level = 0;
    promise.generation = 2;
    expect_failure(EUCLEAN, "(T2)", heap.source.get(&heap.source, tree.bytenr, &promise, &block));
    promise.generation = 1;
    block_header(root)->nritems = to_le32(1);
    memset(leaf_item(root, 0), 0xff, sizeof(struct item_header));
    expect_failure(EUCLEAN, "(L4)", heap.source.get(&heap.source, tree.bytenr, &promise, &block));
    block_header(root)->nritems = to_le32(0);
    block_header(root)->level = 1;
    promise.level = 1;
    expect_failure(EUCLEAN, "(N2)", heap.source.get(&heap.source, tree.bytenr, &promise, &block));
    ck_assert_uint_eq(heap.held, 0);
    heap_close(&heap);
}
END_TEST

/* Every allocation of a new tree fails; a claim and an allocation without memory change nothing. */
START_TEST(no_memory)
{
    for (uint64_t first = 0;; first++) {
        int64_t pieces = memory_pieces();
        heap_open(&heap, 4096);
        faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, first, 1});
        int result = heap_tree(&heap, &tree, 300, &growth);
        bool met = faults_end() > first;
        if (met) {
            expect_failure(ENOMEM, "out of memory", result);
            expect_success(heap_tree(&heap, &tree, 300, &growth));
        } else {
            ck_assert_int_eq(result, 0);
        }
        heap_close(&heap);
        ck_assert_int_eq(memory_pieces(), pieces);
        if (!met) {
            ck_assert_uint_eq(first, 2);
            break;
        }
    }

    begin(4096);
    struct block *root = get_root(), *block = NULL;
    struct heap_counters counters = heap.counters;
    heap_commit(&heap);
    heap.capacity = heap.count;
    uint64_t bytenr = root->bytenr;
    faults_begin(&(struct fault){FAULT_MEMORY, FAULT_ERROR, ENOMEM, 0, FAULTS_WITHOUT_END});
    int claimed = heap.owner.claim(&heap.owner, &tree, &root);
    int allocated = heap.owner.allocate(&heap.owner, &tree, 0, &block);
    faults_end();
    ck_assert_int_eq(claimed, -ENOMEM);
    ck_assert_int_eq(allocated, -ENOMEM);
    ck_assert_uint_eq(root->bytenr, bytenr);
    ck_assert_uint_eq(block_generation(root), 1);
    ck_assert_mem_eq(&counters, &heap.counters, sizeof counters);
    ck_assert_uint_eq(heap.held, 1);
    heap.source.put(&heap.source, root);
    heap_close(&heap);
}
END_TEST

/* Two trees on one heap have their own blocks, and close frees them all. */
START_TEST(two_trees)
{
    int64_t pieces = memory_pieces();
    struct growth other_growth = {0};
    struct tree other;
    begin(4096);
    expect_success(heap_tree(&heap, &other, 301, &other_growth));
    ck_assert_uint_ne(tree.bytenr, other.bytenr);
    ck_assert_uint_eq(heap.counters.allocated, 2);
    heap_close(&heap);
    ck_assert_int_eq(memory_pieces(), pieces);
    heap_open(&heap, 4096);
    heap_close(&heap);
    ck_assert_int_eq(memory_pieces(), pieces);
}
END_TEST

SUITE(heap, 60, empty_tree, claims, waste, operations, addresses, checking, no_memory, two_trees)
