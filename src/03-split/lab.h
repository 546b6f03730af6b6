/* A tree on a bench: on a heap of its own, with a policy by name, counted and measured. */
#ifndef LAB_H
#define LAB_H

#include "heap.h"
#include "insert.h"
#include "report.h"

enum { LAB_BINS = 20 };

struct lab {
    const char *name;
    struct heap heap;
    struct growth growth;
    struct tree tree;
};

/* What is asked of a laboratory tree. */
struct lab_setup {
    uint32_t node_size;
    uint32_t max_items, max_ptrs; /* 0: as many as fit */
    const char *policy;           /* its name */
};

/* 0; EINVAL for a policy that there is not; ENOMEM. To be closed in any case. */
int lab_open(struct lab *lab, const char *name, uint64_t id, const struct lab_setup *setup);
void lab_close(struct lab *lab);

/* Throws the tree away and begins an empty one; counters stay. 0 or ENOMEM. */
int lab_clear(struct lab *lab);

/* Sets all counters to zero: what follows is measured. */
void lab_zero(struct lab *lab);

/* Adds the counters of `more` to those of `sum`, which was set to zero. */
void lab_add(struct lab *sum, const struct lab *more);

struct lab_measure {
    uint64_t leaves, nodes, items;
    uint64_t used, room;     /* bytes of all leaves */
    uint64_t bins[LAB_BINS]; /* leaves by fill, from 0 to full */
};
int lab_measure(struct lab *lab, struct lab_measure *measure);

/* Reports as fields of the open record: the counters that matter most, or all; and the tree's
 * height, blocks and fill. */
void lab_report(const struct lab *lab, bool all, struct report *report);
void lab_report_shape(const struct lab *lab, const struct lab_measure *measure,
                      struct report *report);

/* Draws the tree for Graphviz: nodes with their keys, leaves with their fill. EFBIG where it has
 * more blocks than a drawing can show. */
int lab_dot(struct lab *lab, FILE *file);

/* --- the options -------------------------------------------------------------------- */

struct invocation;

enum { LAB_HELP = 1 };

/* Reads --node-size, --max-items, --max-ptrs, --policy. 0; EXIT_USAGE; LAB_HELP when --policy=help
 * has been answered, and there is nothing else to do. */
int lab_options(const struct invocation *invocation, struct lab_setup *setup);

/* Does the command line ask for all counters: --stats or --json? */
bool lab_reports_all(const struct invocation *invocation);

#define LAB_OPTIONS                                                                                \
    {"node-size", 0, "BYTES", 0, "Size of a block: 4K, 8K, 16K, 32K, 64K (default 16K)", 0},       \
        {"max-items", 0, "N", 0, "At most N items in a leaf, so that trees get tall (N >= 3)", 0}, \
        {"max-ptrs", 0, "N", 0, "At most N pointers in a node (N >= 8)", 0},                       \
        {"stats", 0, NULL, 0, "Show all counters", 0},                                             \
    {                                                                                              \
        "policy", 0, "POLICY", 0, "How room is made; --policy=help tells", 0                       \
    }

#endif
