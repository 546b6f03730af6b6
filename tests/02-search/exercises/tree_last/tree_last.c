/* Exercise of chapter 02: the last item of a tree.
 *
 * 0: path leads to the last item. 1: the tree is empty, and the path is released. It asks the source
 * for as many blocks as the tree is high. This stub finds nothing. */
#include "tree.h"

int tree_last(struct tree *tree, struct path *path);

int tree_last(struct tree *tree, struct path *path)
{
    path_release(tree, path);
    return 1;
}
