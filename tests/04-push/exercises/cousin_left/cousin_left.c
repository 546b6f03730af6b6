/* Exercise of chapter 04: how much room has the next leaf to the right, under whichever node?
 *
 *   level 1      | a | b |         | c |
 *                      v             v
 *   level 0            path ------> cousin
 *
 * 0 and *left, what may still be spent in the leaf that follows that of the path in key order; 1 where
 * the path's is the last one; or an error. The path stays as it was, and nothing else is held
 * afterwards. This stub sees leaves under the same node only. */
#include "change.h"

int cousin_left(struct tree *tree, const struct path *path, uint32_t *left);

int cousin_left(struct tree *tree, const struct path *path, uint32_t *left)
{
    struct block *right;
    int result = path_neighbour(tree, path, 0, 1, &right);
    if (result == 0)
        *left = leaf_left(tree, right);
    tree_put(tree, right);
    return result;
}
