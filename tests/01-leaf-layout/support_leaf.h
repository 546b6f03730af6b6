/* Leaves and items for tests. */
#ifndef SUPPORT_LEAF_H
#define SUPPORT_LEAF_H

#include "item.h"
#include "leaf.h"
#include "support_image.h"

/* An empty leaf of `size` bytes, block 1 MiB of tree 5 and generation 7, in memory of its own.
 * Outside of the header it is full of 0xee, so that nobody relies on zeros. */
struct block make_leaf(uint32_t size);
void free_block(struct block *block);

/* Puts an item behind the last one. */
void leaf_append(struct block *leaf, struct key key, const void *data, uint32_t size);

/* Where the root block of a tree lies, by its item in the root tree, which is one leaf. */
uint64_t find_root(const struct image *image, uint64_t tree);

/* What items are checked by in tests: sectors of 4 KiB, checksums of 4 bytes. */
extern const struct item_context test_context;

/* A right item of every type and shape there is. */
struct sample {
    const char *name;
    struct key key;
    uint32_t size;
    uint8_t bytes[480];
    const char *text; /* what item_report says of its contents */
};

const struct sample *all_samples(size_t *count);
const struct sample *find_sample(const char *name);

#endif
