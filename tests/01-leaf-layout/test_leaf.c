#include "leaf.h"

#include "fail.h"
#include "support.h"
#include "support_leaf.h"

#include <stdlib.h>
#include <string.h>

enum { ITEM = sizeof(struct item_header), HEADER = sizeof(struct block_header) };

/* --- by hand ------------------------------------------------------------------------ */

START_TEST(empty_leaf)
{
    struct block leaf = make_leaf(4096);
    const struct block_header *header = block_header(&leaf);
    ck_assert_uint_eq(from_le64(header->bytenr), 1 << 20);
    ck_assert_uint_eq(from_le64(header->flags), 1ULL << 56 | 1);
    ck_assert_uint_eq(block_generation(&leaf), 7);
    ck_assert_uint_eq(block_owner_id(&leaf), FS_TREE_OBJECTID);
    ck_assert_uint_eq(block_nritems(&leaf), 0);
    ck_assert_uint_eq(block_level(&leaf), 0);
    ck_assert_uint_eq(leaf_room(&leaf), 4096 - HEADER);
    ck_assert_uint_eq(leaf_free_space(&leaf), 4096 - HEADER);
    ck_assert_uint_eq(leaf_data_end(&leaf, 0), 4096 - HEADER);
    for (size_t i = 0; i < CSUM_SIZE + FSID_SIZE; i++)
        ck_assert_uint_eq(leaf.data[i], 0);
    expect_success(leaf_check(&leaf, NULL));
    free_block(&leaf);
}
END_TEST

/* The drawing in leaf.h, byte by byte: headers grow up, data grows down. */
START_TEST(layout)
{
    struct block leaf = make_leaf(4096);
    leaf_append(&leaf, (struct key){1, INODE_ITEM_KEY, 0}, "aaaa", 4);
    leaf_append(&leaf, (struct key){3, INODE_ITEM_KEY, 0}, "cc", 2);
    expect_success(leaf_insert(&leaf, 1, &(struct key){2, INODE_ITEM_KEY, 0}, "bbb", 3));
    ck_assert_mem_eq(leaf.data + 4096 - 9, "ccbbbaaaa", 9);
    static const uint32_t offsets[] = {4096 - HEADER - 4, 4096 - HEADER - 7, 4096 - HEADER - 9};
    for (uint32_t slot = 0; slot < 3; slot++) {
        ck_assert_uint_eq(from_le64(leaf_item(&leaf, slot)->key.objectid), slot + 1);
        ck_assert_ptr_eq(leaf_item(&leaf, slot), leaf.data + HEADER + slot * ITEM);
        ck_assert_uint_eq(item_offset(&leaf, slot), offsets[slot]);
        ck_assert_uint_eq(item_size(&leaf, slot), 4 - slot);
    }
    ck_assert_uint_eq(leaf_free_space(&leaf), 4096 - HEADER - 3 * ITEM - 9);

    leaf_remove(&leaf, 0, 1);
    ck_assert_mem_eq(leaf.data + 4096 - 5, "ccbbb", 5);
    expect_success(leaf_grow(&leaf, 0, 2));
    ck_assert_mem_eq(leaf.data + 4096 - 7, "ccbbb\0\0", 7);
    leaf_shrink(&leaf, 0, 4);
    ck_assert_mem_eq(leaf.data + 4096 - 3, "ccb", 3);
    leaf_shrink(&leaf, 1, 2);
    ck_assert_uint_eq(item_size(&leaf, 1), 0);
    leaf_remove(&leaf, 1, 0);
    leaf_remove(&leaf, 0, 2);
    ck_assert_uint_eq(leaf_free_space(&leaf), 4096 - HEADER);
    free_block(&leaf);
}
END_TEST

START_TEST(no_data_is_zeros)
{
    struct block leaf = make_leaf(4096);
    leaf_append(&leaf, (struct key){1, 1, 1}, NULL, 300);
    for (uint32_t i = 0; i < 300; i++)
        expect(((uint8_t *)item_data(&leaf, 0))[i] == 0, "byte %u", i);
    free_block(&leaf);
}
END_TEST

/* To the last byte, and not one more. */
START_TEST(full_leaf)
{
    struct block leaf = make_leaf(4096);
    uint32_t most = 4096 - HEADER - ITEM;
    struct key key = {1, 1, 1}, next = {2, 1, 1};
    expect_failure(ENOSPC, "3995 bytes free, the item needs 3996",
                   leaf_insert(&leaf, 0, &key, NULL, most + 1));
    expect_failure(ENOSPC, "the item needs 4294967320",
                   leaf_insert(&leaf, 0, &key, NULL, UINT32_MAX));
    expect_success(leaf_insert(&leaf, 0, &key, NULL, most));
    ck_assert_uint_eq(leaf_free_space(&leaf), 0);
    expect_success(leaf_check(&leaf, NULL));
    expect_failure(ENOSPC, "0 bytes free", leaf_insert(&leaf, 1, &next, NULL, 0));
    expect_failure(ENOSPC, "0 bytes free, slot 0 is to grow by 1", leaf_grow(&leaf, 0, 1));
    expect_success(leaf_grow(&leaf, 0, 0));
    leaf_shrink(&leaf, 0, ITEM - 1);
    expect_failure(ENOSPC, "24 bytes free", leaf_insert(&leaf, 1, &next, NULL, 0));
    leaf_shrink(&leaf, 0, 1);
    expect_success(leaf_insert(&leaf, 1, &next, NULL, 0));
    ck_assert_uint_eq(leaf_free_space(&leaf), 0);
    free_block(&leaf);
}
END_TEST

/* Items without data: as many as headers fit. */
START_TEST(only_headers)
{
    for (uint32_t size = 4096; size <= NODE_SIZE_MAX; size *= 2) {
        struct block leaf = make_leaf(size);
        uint32_t most = (size - HEADER) / ITEM;
        for (uint32_t i = 0; i < most; i++)
            leaf_append(&leaf, (struct key){i, 1, 0}, NULL, 0);
        expect_success(leaf_check(&leaf, NULL));
        expect_failure(ENOSPC, "bytes free",
                       leaf_insert(&leaf, most, &(struct key){most, 1, 0}, NULL, 0));
        ck_assert_uint_eq(block_nritems(&leaf), most);
        leaf_remove(&leaf, 0, most);
        ck_assert_uint_eq(leaf_free_space(&leaf), size - HEADER);
        free_block(&leaf);
    }
}
END_TEST

/* --- against a model ---------------------------------------------------------------- */

/* The leaf as it should be: an array of items. */
struct model {
    struct block leaf;
    struct block before; /* the leaf before the step */
    uint32_t nitems;
    struct model_item {
        uint64_t objectid;
        uint32_t size;
        unsigned char *data;
    } items[NODE_SIZE_MAX / ITEM];
    uint64_t steps;
    uint64_t refused;
    uint64_t items_seen; /* sum over all steps */
    struct dice dice;
};

static uint32_t data_from(const struct model *model, uint32_t slot)
{
    uint32_t bytes = 0;
    for (; slot < model->nitems; slot++)
        bytes += model->items[slot].size;
    return bytes;
}

static uint32_t free_space(const struct model *model)
{
    return model->leaf.size - HEADER - model->nitems * ITEM - data_from(model, 0);
}

/* The leaf is what the model is: L1 to L5, every key and byte, the free space. And `moved` bytes
 * were moved to come to it. */
static void compare(const struct model *model, const char *step, uint64_t moved)
{
    const struct block *leaf = &model->leaf;
    expect(leaf_check(leaf, NULL) == 0, "%s: %s", step, fail_message());
    expect(block_nritems(leaf) == model->nitems, "%s: %u items", step, block_nritems(leaf));
    expect(leaf_free_space(leaf) == free_space(model), "%s: %u bytes free, not %u", step,
           leaf_free_space(leaf), free_space(model));
    for (uint32_t slot = 0; slot < model->nitems; slot++) {
        const struct model_item *item = &model->items[slot];
        expect(leaf_key(leaf, slot).objectid == item->objectid, "%s: key %u", step, slot);
        expect(item_size(leaf, slot) == item->size, "%s: size of %u", step, slot);
        expect(memcmp(item_data(leaf, slot), item->data, item->size) == 0, "%s: data of %u", step,
               slot);
    }
    expect(leaf->bytes_moved - model->before.bytes_moved == moved, "%s: %ju bytes moved, not %ju",
           step, (uintmax_t)(leaf->bytes_moved - model->before.bytes_moved), (uintmax_t)moved);
}

/* A refusal leaves every byte as it was. */
static void expect_refused(struct model *model, const char *step, int result)
{
    expect(result == -ENOSPC, "%s: %d", step, result);
    expect(memcmp(model->leaf.data, model->before.data, model->leaf.size) == 0,
           "%s: refused, but the leaf has changed", step);
    expect(model->leaf.bytes_moved == model->before.bytes_moved, "%s: bytes moved", step);
    model->refused++;
}

/* Mostly small, now and then as large as there is room for, or a little more: seldom, since it
 * fills the leaf with a single item. */
static uint32_t pick_bytes(struct model *model)
{
    uint32_t room = free_space(model);
    switch (dice_below(&model->dice, 256)) {
    case 0:
        return room < ITEM ? 0 : room - ITEM;
    case 1:
        return room + (uint32_t)dice_below(&model->dice, 3);
    case 2:
        return (uint32_t)dice_below(&model->dice, model->leaf.size / 4);
    default:
        return (uint32_t)dice_below(&model->dice, 160);
    }
}

static void step_insert(struct model *model)
{
    uint32_t slot = (uint32_t)dice_below(&model->dice, model->nitems + 1), size = pick_bytes(model);
    uint64_t low = slot ? model->items[slot - 1].objectid + 1 : 0;
    uint64_t high = slot < model->nitems ? model->items[slot].objectid : 1ULL << 63;
    if (low >= high)
        return;
    struct key key = {low + dice_below(&model->dice, high - low), INODE_ITEM_KEY, 0};
    unsigned char *data = malloc(size + 1);
    dice_fill(&model->dice, data, size < 64 ? size : 64);
    memset(data + (size < 64 ? size : 64), (int)size, size + 1 - (size < 64 ? size : 64));

    uint64_t moved = ITEM * (model->nitems - slot) + data_from(model, slot);
    bool fits = size + (uint64_t)ITEM <= free_space(model);
    int result = leaf_insert(&model->leaf, slot, &key, data, size);
    if (!fits) {
        free(data);
        expect_refused(model, "insert", result);
        return;
    }
    expect(result == 0, "insert: %s", fail_message());
    memmove(model->items + slot + 1, model->items + slot,
            (model->nitems - slot) * sizeof *model->items);
    model->items[slot] = (struct model_item){key.objectid, size, data};
    model->nitems++;
    compare(model, "insert", moved);
}

static void step_remove(struct model *model)
{
    uint32_t slot = (uint32_t)dice_below(&model->dice, model->nitems);
    uint32_t count = 1 + (uint32_t)dice_below(&model->dice, 4);
    if (count > model->nitems - slot)
        count = model->nitems - slot;
    leaf_remove(&model->leaf, slot, count);
    for (uint32_t i = slot; i < slot + count; i++)
        free(model->items[i].data);
    model->nitems -= count;
    memmove(model->items + slot, model->items + slot + count,
            (model->nitems - slot) * sizeof *model->items);
    compare(model, "remove", ITEM * (model->nitems - slot) + data_from(model, slot));
}

static void step_grow(struct model *model)
{
    uint32_t slot = (uint32_t)dice_below(&model->dice, model->nitems), bytes = pick_bytes(model);
    struct model_item *item = &model->items[slot];
    uint64_t moved = data_from(model, slot);
    bool fits = bytes <= free_space(model);
    int result = leaf_grow(&model->leaf, slot, bytes);
    if (!fits) {
        expect_refused(model, "grow", result);
        return;
    }
    expect(result == 0, "grow: %s", fail_message());
    item->data = realloc(item->data, item->size + bytes + 1);
    memset(item->data + item->size, 0, bytes);
    item->size += bytes;
    compare(model, "grow", moved);
}

static void step_shrink(struct model *model)
{
    uint32_t slot = (uint32_t)dice_below(&model->dice, model->nitems);
    struct model_item *item = &model->items[slot];
    uint32_t bytes = (uint32_t)dice_below(&model->dice, item->size + 1);
    leaf_shrink(&model->leaf, slot, bytes);
    item->size -= bytes;
    compare(model, "shrink", data_from(model, slot));
}

/* `steps` steps on a leaf of `size` bytes. It grows to the brim and is emptied again, many times.
 */
static void run_model(uint32_t size, uint64_t steps)
{
    static struct model model;
    model = (struct model){.leaf = make_leaf(size), .dice = {size}};
    model.before = make_leaf(size);
    bool filling = true;
    for (; model.steps < steps; model.steps++) {
        memcpy(model.before.data, model.leaf.data, size);
        model.before.bytes_moved = model.leaf.bytes_moved;
        if (dice_below(&model.dice, size / 16) == 0)
            filling = !filling;
        model.items_seen += model.nitems;
        uint64_t pick = dice_below(&model.dice, 100);
        if (model.nitems == 0 || pick < (filling ? 60 : 20))
            step_insert(&model);
        else if (pick < (filling ? 70 : 60))
            step_remove(&model);
        else if (pick < 85)
            step_grow(&model);
        else
            step_shrink(&model);
    }
    expect(model.refused > steps / 100, "only %ju refusals", (uintmax_t)model.refused);
    expect(model.items_seen / steps > size / 400, "%ju items on average",
           (uintmax_t)(model.items_seen / steps));
    while (model.nitems > 0)
        free(model.items[--model.nitems].data);
    free_block(&model.leaf);
    free_block(&model.before);
}

/* 1,000,000 steps in all. */
START_TEST(model_4k)
{
    run_model(4096, 500000);
}
END_TEST

START_TEST(model_8k)
{
    run_model(8192, 200000);
}
END_TEST

START_TEST(model_16k)
{
    run_model(16384, 200000);
}
END_TEST

START_TEST(model_32k)
{
    run_model(32768, 60000);
}
END_TEST

START_TEST(model_64k)
{
    run_model(65536, 40000);
}
END_TEST

SUITE(leaf, 120, empty_leaf, layout, no_data_is_zeros, full_leaf, only_headers, model_4k, model_8k,
      model_16k, model_32k, model_64k)
