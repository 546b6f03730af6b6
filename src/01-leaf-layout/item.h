/* Items: what the data behind a key is.
 *
 * The type of a key says which structures its data holds. item_check tells whether it does (L6 of
 * the leaf checker), item_report says what is in it. Both are one walk over the same bytes: each
 * structure is taken from what is left of the data, so that no field is looked at before it is
 * known to be there, and is reported where there is a report.
 *
 * A type that is not known is no fault: later kernels bring new ones.
 */
#ifndef ITEM_H
#define ITEM_H

#include "leaf.h"
#include "report.h"
#include "superblock.h"

struct item_context item_context_of(const struct superblock *super);

/* L6 for one item that lies within its leaf. 0, or EUCLEAN with address, slot and key. */
int item_check(const struct block *leaf, uint32_t slot, const struct item_context *context);

/* Reports an item: slot, key, where its data lies, and the list "contents" of what it holds. With
 * `tree` not NULL also the tree's name and the block, so that the record stands by itself. The item
 * must have passed item_check. */
void item_report(const struct block *leaf, uint32_t slot, const struct item_context *context,
                 const char *tree, struct report *report);

/* Names of flags and enumerations; NULL for what has none. */
const char *block_group_flag_name(unsigned bit);
const char *header_flag_name(unsigned bit);

#endif
