#include "leaf_move.h"

#include "change.h"

#include <assert.h>
#include <string.h>

/* Copies the items [first, first + count) of `from` to the slots from `slot` on of `to`, where a
 * gap is open for them whose data ends at `end`. Data that is one stretch in one leaf is one
 * stretch in the other, so all offsets change by the same number. */
static void copy_items(const struct block *from, uint32_t first, uint32_t count, struct block *to,
                       uint32_t slot, uint32_t end)
{
    uint32_t from_end = leaf_data_end(from, first);
    uint32_t bytes = from_end - item_offset(from, first + count - 1);
    memcpy(leaf_item(to, slot), leaf_item(from, first), count * sizeof(struct item_header));
    for (uint32_t i = slot; i < slot + count; i++)
        leaf_item(to, i)->offset = to_le32(item_offset(to, i) + end - from_end);
    memcpy(to->data + sizeof(struct block_header) + end - bytes,
           from->data + sizeof(struct block_header) + from_end - bytes, bytes);
}

/* Moves the items [first, first + count) of `from` before the item at `slot` of `to`. */
static void move_items(struct tree *tree, struct block *from, uint32_t first, uint32_t count,
                       struct block *to, uint32_t slot)
{
    struct growth_counters *counters = &tree->growth->counters;
    uint64_t within = from->bytes_moved + to->bytes_moved;
    assert(first + count <= block_nritems(from));
    if (count == 0)
        return;
    uint32_t bytes = leaf_data_end(from, first) - item_offset(from, first + count - 1);
    uint32_t end = leaf_open_gap(to, slot, count, bytes);
    copy_items(from, first, count, to, slot, end);
    leaf_remove(from, first, count);
    tree_dirty(tree, from);
    tree_dirty(tree, to);
    counters->bytes_between += bytes + count * sizeof(struct item_header);
    counters->bytes_within += from->bytes_moved + to->bytes_moved - within;
}

void leaf_move_right(struct tree *tree, struct block *left, struct block *right, uint32_t count)
{
    move_items(tree, left, block_nritems(left) - count, count, right, 0);
}

void leaf_move_left(struct tree *tree, struct block *left, struct block *right, uint32_t count)
{
    move_items(tree, right, 0, count, left, block_nritems(left));
}
