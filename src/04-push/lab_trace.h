/* A trace: operations on trees, one a line, as text.
 *
 *   tree NAME                   what follows is about this tree; fs, extent, csum or log; fs at
 *   first insert KEY SIZE             an item with SIZE bytes of data batch N                    
 *   the next N lines are insert, their keys ascend, and one call inserts
 *                               them
 *   extend KEY BYTES            BYTES more data
 *   truncate KEY SIZE           no more than SIZE bytes of data
 *   rekey KEY KEY               another key, between the same two neighbours
 *   delete KEY
 *   drop KEY KEY                all items from the first key to the second
 *   commit                      the transaction ends, in all trees
 *   zero                        counters are set to zero: what came before made the trees
 *
 * A KEY is three words, as coppice find takes them: 257 EXTENT_DATA 8192; commas and brackets count
 * as blanks. A line has 255 bytes at most, without its comment. What follows a '#' is a comment;
 * one in the first line is the title of a drawing.
 */
#ifndef LAB_TRACE_H
#define LAB_TRACE_H

#include "lab_replay.h"

/* Runs the trace in the file ("-": standard input); each line but tree, commit and zero counts as a
 * request. With `dot` not NULL the leaves of the tree of the last operation are drawn, before and
 * after it. Errors name the line. EINVAL, and what the operations return. */
int trace_run(struct replay *replay, const char *file_name, FILE *dot);

/* --- drawings of leaves side by side --------------------------------------------------- */

enum { PICTURE_ITEMS = 2000, PICTURE_LEAVES = 8 };

/* What the leaves of a tree hold. */
struct picture {
    uint32_t leaves, items;
    uint32_t left[PICTURE_LEAVES],
        room[PICTURE_LEAVES];           /* what each leaf has left, and has in all */
    uint32_t first[PICTURE_LEAVES + 1]; /* the first item of each */
    struct {
        struct key key;
        uint32_t cost;
    } item[PICTURE_ITEMS];
};

/* EFBIG where the tree is too large for a drawing. */
int picture_take(struct lab *lab, struct picture *picture);

/* Draws the leaves before and after an operation, to scale. An item has the colour of the leaf in
 * which it was before; a new one has a colour of its own. */
void picture_dot(const struct picture *before, const struct picture *after, const char *title,
                 FILE *file);

#endif
