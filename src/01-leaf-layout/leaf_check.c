/* The leaf checker: after a read, before a write, and after every step of a test. */
#include "fail.h"
#include "item.h"
#include "leaf.h"

/* L3: this key behind the one before it. */
static int check_order(const struct block *leaf, uint32_t slot)
{
    if (slot == 0)
        return 0;
    struct key previous = leaf_key(leaf, slot - 1), key = leaf_key(leaf, slot);
    if (key_compare(&previous, &key) < 0)
        return 0;
    char before[KEY_TEXT_SIZE], here[KEY_TEXT_SIZE];
    return fail(EUCLEAN, "leaf %" PRIu64 " slot %u: key %s does not come behind %s (L3)",
                leaf->bytenr, slot, key_format(&key, here), key_format(&previous, before));
}

/* L4 and L5 for one item: `end` is where its data must end. The sum is taken in 64 bits: an offset
 * and a size that wrap around 32 bits are no way through. */
static int check_place(const struct block *leaf, uint32_t slot, uint32_t nritems, uint32_t end)
{
    uint32_t offset = item_offset(leaf, slot), size = item_size(leaf, slot);
    if ((uint64_t)offset + size != end)
        return fail(EUCLEAN,
                    "leaf %" PRIu64 " slot %u: item data [%u, %" PRIu64 ") should end at %u (L4)",
                    leaf->bytenr, slot, offset, (uint64_t)offset + size, end);
    if (offset < nritems * sizeof(struct item_header))
        return fail(EUCLEAN,
                    "leaf %" PRIu64 " slot %u: item data [%u, %u) reaches into the %u item "
                    "headers (L5)",
                    leaf->bytenr, slot, offset, end, nritems);
    return 0;
}

int leaf_check(const struct block *leaf, const struct item_context *context)
{
    if (block_level(leaf) != 0)
        return fail(EUCLEAN, "leaf %" PRIu64 ": level %u, not 0 (L1)", leaf->bytenr,
                    block_level(leaf));
    uint32_t nritems = block_nritems(leaf), room = leaf_room(leaf);
    if (nritems > room / sizeof(struct item_header))
        return fail(EUCLEAN, "leaf %" PRIu64 ": %u items, room for %zu (L2)", leaf->bytenr, nritems,
                    room / sizeof(struct item_header));

    uint32_t end = room;
    for (uint32_t slot = 0; slot < nritems; slot++) {
        int result = check_order(leaf, slot);
        if (result == 0)
            result = check_place(leaf, slot, nritems, end);
        if (result == 0 && context)
            result = item_check(leaf, slot, context);
        if (result < 0)
            return result;
        end = item_offset(leaf, slot);
    }
    return 0;
}
