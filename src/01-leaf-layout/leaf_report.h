/* Leaves told and drawn. */
#ifndef LEAF_REPORT_H
#define LEAF_REPORT_H

#include "command.h"
#include "item.h"
#include "superblock.h"

/* Reports a checked leaf: its header, and each item. */
void leaf_report(const struct block *leaf, const struct item_context *context,
                 struct report *report);

/* Draws a checked leaf for Graphviz, to scale: item headers growing up, data growing down, and the
 * hole between them. */
void leaf_dot(const struct block *leaf, FILE *file);

/* What `coppice leaf` does with the leaf it has got: report or drawing, as the options say. */
int leaf_show(const struct invocation *invocation, const struct block *leaf,
              const struct superblock *super);

/* The options of `coppice leaf`. */
extern const struct argp_option leaf_options[];

#endif
