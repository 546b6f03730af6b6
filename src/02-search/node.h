/* Nodes: key pointers.
 *
 *   0        101
 *   | header | key, blockptr, generation | key, blockptr, generation | ...    (33 bytes each)
 *
 * Pointer i leads to all items from its key up to, but without, the key of pointer i + 1. Its key
 * is the first key of the child.
 *
 * What must hold in a node (node_check reports the number):
 *   N1  the level is 1 to 7
 *   N2  there is at least one pointer, and all fit into the block
 *   N3  keys ascend strictly
 *   N4  each child's address is a multiple of the sector size, and not 0
 *   N5  no child is younger than the node: whoever changes a child writes its parents anew
 */
#ifndef NODE_H
#define NODE_H

#include "block.h"
#include "key.h"

static inline struct key_ptr *node_ptr(const struct block *node, uint32_t slot)
{
    return (struct key_ptr *)(node->data + sizeof(struct block_header)) + slot;
}

static inline struct key node_key(const struct block *node, uint32_t slot)
{
    return key_from_disk(&node_ptr(node, slot)->key);
}

/* How many pointers fit into a node of this size. */
static inline uint32_t node_capacity(uint32_t nodesize)
{
    return (nodesize - (uint32_t)sizeof(struct block_header)) / (uint32_t)sizeof(struct key_ptr);
}

/* N1 to N5; 0, or EUCLEAN with address, slot and rule. */
int node_check(const struct block *node, uint32_t sectorsize);

#endif
