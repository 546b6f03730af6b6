/* Exercise of chapter 01: cut bytes off the front of an item's data.
 *
 *   before   | item headers |  hole  | data 2 | data 1      | data 0 |
 *   after    | item headers |  hole     | data 2 | data 1'  | data 0 |     slot 1, 3 bytes
 *
 * What stays of the data keeps its end; the key stays as it is. L2 to L5 hold afterwards. bytes_moved
 * counts what was moved. This stub does nothing yet. */
#include "leaf.h"

#include <assert.h>
#include <string.h>

void leaf_shrink_front(struct block *leaf, uint32_t slot, uint32_t bytes);

void leaf_shrink_front(struct block *leaf, uint32_t slot, uint32_t bytes)
{
    assert(slot < block_nritems(leaf) && bytes <= item_size(leaf, slot));
}
