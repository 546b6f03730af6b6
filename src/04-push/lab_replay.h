/* Replays: what a workload asks of the trees of a file system, item by item.
 *
 * A mix is a workload made from a seed: the items that writing, overwriting and fsync of files
 * leave in the fs tree, the extent tree, the checksum tree and the log tree. What the mixes are
 * modelled on is sysbench with 512 files, as in the mail that came with the patch of 2013.
 */
#ifndef LAB_REPLAY_H
#define LAB_REPLAY_H

#include "lab.h"
#include "lab_seeded.h"

enum replay_tree { REPLAY_FS, REPLAY_EXTENT, REPLAY_CSUM, REPLAY_LOG };
enum { REPLAY_TREES = 4, REPLAY_FILES = 512, REPLAY_ROUND = 100 /* requests */ };

struct replay {
    struct lab labs[REPLAY_TREES];
    struct seeded seeded;
    uint64_t requests; /* that have been made */
    uint64_t rounds;
    uint64_t commit_every; /* requests */
    uint64_t log_rounds;   /* the log tree is thrown away each so many rounds; 0: it is kept */
    uint64_t cursor;       /* where the next data extent begins */
    uint64_t position;     /* seqwr: the next block, counted through all files */
    uint64_t sizes[REPLAY_FILES];  /* streams: bytes of each file */
    uint32_t logged[REPLAY_FILES]; /* relog: items of each file in the log; 0: none */
};

struct mix {
    const char *name;
    unsigned trees;        /* bits: 1 << REPLAY_FS ... */
    uint64_t commit_every; /* requests; 0: never */
    int (*setup)(struct replay *replay);
    int (*round)(struct replay *replay, uint32_t requests); /* REPLAY_ROUND, the last one less */
};

extern const struct mix mixes[]; /* ends with one that has no name */

/* Opens the trees of the mix and sets them up; the counters are at zero then. To be closed in any
 * case. EINVAL, ENOMEM. */
int replay_open(struct replay *replay, const struct mix *mix, const struct lab_setup *setup,
                uint64_t seed, uint64_t log_rounds);
void replay_close(struct replay *replay);

int replay_run(struct replay *replay, const struct mix *mix, uint64_t requests);

#endif
