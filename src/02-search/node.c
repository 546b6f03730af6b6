#include "node.h"

#include "fail.h"

/* N3 to N5 for one pointer. */
static int check_pointer(const struct block *node, uint32_t slot, uint32_t sectorsize)
{
    struct key key = node_key(node, slot);
    if (slot > 0) {
        struct key previous = node_key(node, slot - 1);
        char before[KEY_TEXT_SIZE], here[KEY_TEXT_SIZE];
        if (key_compare(&previous, &key) >= 0)
            return fail(EUCLEAN, "node %" PRIu64 " slot %u: key %s does not come behind %s (N3)",
                        node->bytenr, slot, key_format(&key, here), key_format(&previous, before));
    }
    uint64_t child = from_le64(node_ptr(node, slot)->blockptr);
    if (child == 0 || child % sectorsize)
        return fail(EUCLEAN, "node %" PRIu64 " slot %u: child at %" PRIu64 " (N4)", node->bytenr,
                    slot, child);
    uint64_t generation = from_le64(node_ptr(node, slot)->generation);
    if (generation > block_generation(node))
        return fail(EUCLEAN,
                    "node %" PRIu64 " slot %u: child of generation %" PRIu64
                    " in a node of generation %" PRIu64 " (N5)",
                    node->bytenr, slot, generation, block_generation(node));
    return 0;
}

int node_check(const struct block *node, uint32_t sectorsize)
{
    uint8_t level = block_level(node);
    if (level == 0 || level >= MAX_LEVEL)
        return fail(EUCLEAN, "node %" PRIu64 ": level %u (N1)", node->bytenr, level);
    uint32_t nritems = block_nritems(node), capacity = node_capacity(node->size);
    if (nritems == 0 || nritems > capacity)
        return fail(EUCLEAN, "node %" PRIu64 ": %u pointers, room for %u (N2)", node->bytenr,
                    nritems, capacity);
    for (uint32_t slot = 0; slot < nritems; slot++) {
        int result = check_pointer(node, slot, sectorsize);
        if (result < 0)
            return result;
    }
    return 0;
}
