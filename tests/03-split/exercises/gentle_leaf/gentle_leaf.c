/* Exercise of chapter 03: one new leaf where split_leaf makes two.
 *
 * As split_leaf. But where a new item does not fit with what is behind it, and does fit with what is
 * before it, the leaf is divided once, and the item goes to the end of the left part. This stub does
 * no more than split_leaf. */
#include "change.h"
#include "split.h"

int gentle_leaf(struct tree *tree, struct path *path, const struct room *room);

int gentle_leaf(struct tree *tree, struct path *path, const struct room *room)
{
    return split_leaf(tree, path, room);
}
