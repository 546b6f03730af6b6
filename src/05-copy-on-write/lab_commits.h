/* A series of commits, watched: which blocks a transaction takes, leaves and writes. */
#ifndef LAB_COMMITS_H
#define LAB_COMMITS_H

#include "lab_image.h"
#include "lab_seeded.h"
#include "report.h"

enum lab_event_kind { LAB_SHADOW, LAB_ALLOCATE, LAB_FREE };

struct lab_event {
    enum lab_event_kind kind;
    uint64_t tree;
    uint8_t level;
    uint64_t bytenr;
    uint64_t from;  /* of a shadow: the block that it stands for */
    bool is_pinned; /* of a free: an older transaction had made the block */
};

/* A space that passes everything on to another one and keeps a list of it. */
struct lab_watch {
    struct space space; /* must be first */
    struct space *under;
    struct lab_event *events;
    size_t count, capacity;
    bool has_alloc;  /* the last event is an allocation: of a shadow, if `shared` comes next */
    bool has_shared; /* and it has come */
};

struct lab_commits {
    struct lab_image image;
    struct lab_watch watch;
    struct seeded seeded;
    struct transaction transaction; /* of the last commit: its counters */
    size_t device_events;           /* of the recording device, before the last commit */
};

enum { LAB_TREE = 256 }; /* the tree that is changed */

struct lab_commits_setup {
    const char *space;
    uint32_t node_size;
    uint32_t item_size;
    uint64_t items; /* in the tree to begin with */
    uint64_t seed;
};

/* Makes the image and fills the tree. To be closed after success. */
int lab_commits_open(struct lab_commits *commits, const struct lab_commits_setup *setup);
void lab_commits_close(struct lab_commits *commits);

/* A transaction with `changes` changes, each an insertion or a deletion at a random place, and its
 * commit. */
int lab_commits_run(struct lab_commits *commits, uint64_t changes, uint32_t item_size);

/* The place of the first change that the next transaction will make. */
struct key lab_commits_next_key(const struct lab_commits *commits);

/* The last commit, event by event: what was asked of the space, then what the device saw. */
int lab_commits_report(const struct lab_commits *commits, struct report *report);

/* The way from the superblock to one item: bytenr, level and tree of each block, from the top. */
enum { LAB_WAY_MOST = 2 * MAX_LEVEL };
struct lab_way {
    uint64_t generation;
    unsigned length;
    struct {
        uint64_t tree, bytenr, generation;
        uint8_t level;
        uint32_t others; /* pointers to blocks that are not on the way; of a leaf, items */
    } steps[LAB_WAY_MOST];
};
int lab_way(struct volume *volume, uint64_t tree, const struct key *key, struct lab_way *way);

/* Draws two ways to one item, before a commit and after it, for Graphviz. */
void lab_draw_ways(const struct lab_way *before, const struct lab_way *after, FILE *file);

#endif
