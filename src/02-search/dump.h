/* All that is in trees. */
#ifndef DUMP_H
#define DUMP_H

#include "report.h"
#include "volume.h"

struct dump {
    struct volume *volume;
    struct report *report; /* as text or as JSON; NULL: draw for Graphviz on `file` */
    FILE *file;
    uint64_t trees;
    uint64_t blocks;
    uint64_t items;
};

/* The tree `id`, or every tree. Memory does not depend on the size of the image. */
int dump_tree(struct dump *dump, uint64_t id);
int dump_all(struct dump *dump);

#endif
