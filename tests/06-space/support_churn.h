/* Churn: seeded random changes that leave a file system valid for every judge.
 *
 * What is changed are the trees of files: tree 5 and the subvolumes and snapshots that can be
 * written. A change is what the kernel might have done on somebody's behalf:
 *
 *   insert    an xattr "user.churn.NNNNNN" of a file or folder
 *   delete    one of these
 *   truncate  a file to nothing: its extents lose references
 *   prealloc  an extent behind the end of a file
 *   reflink   a part of an extent of one file, behind the end of another
 *   punch     a hole in the middle of an extent: two items refer to it then
 *
 * The value of an xattr is told by its name, so that it can be looked at afterwards; and all that
 * were made are remembered, in this run or an earlier one: churn_open finds them by their prefix.
 */
#ifndef SUPPORT_CHURN_H
#define SUPPORT_CHURN_H

#include "extent_allocator.h"
#include "lab_seeded.h"
#include "volume.h"

enum churn_kind {
    CHURN_INSERT,
    CHURN_DELETE,
    CHURN_TRUNCATE,
    CHURN_PREALLOC,
    CHURN_REFLINK,
    CHURN_PUNCH,
    CHURN_KINDS,
};

struct churn_xattr {
    uint64_t tree, inode, hash;
};

struct churn_xattrs {
    struct churn_xattr *list; /* in no order */
    size_t count, capacity;
};

struct churn {
    struct volume *volume; /* the caller's, as the allocator */
    struct extent_allocator *allocator;
    struct transaction transaction; /* begun and ended by churn_begin, churn_commit, churn_abort */
    struct seeded seeded;
    unsigned kinds;     /* bits 1 << CHURN_...: which changes are made; all */
    uint32_t value_max; /* the longest value of an xattr: 3000, or what a leaf takes */
    bool is_growing;    /* more inserts than deletes; turns by itself */
    uint64_t *trees;    /* ids of those that are changed */
    size_t tree_count;
    struct churn_xattrs xattrs;
    struct churn_xattrs committed; /* as on the device */
    uint64_t done[CHURN_KINDS];    /* changes made, those of transactions that were aborted too */
    uint64_t skipped;              /* steps that found nothing to change, or no room for data */
};

/* Finds what can be changed. The volume may be written (volume_writable); it and the allocator must
 * outlive the churn. 0, and the caller closes it; or an error. */
int churn_open(struct churn *churn, struct volume *volume, struct extent_allocator *allocator,
               uint64_t seed);
void churn_close(struct churn *churn);

/* Leaves a tree alone; or all but one. */
void churn_except(struct churn *churn, uint64_t tree);
void churn_only(struct churn *churn, uint64_t tree);

void churn_begin(struct churn *churn);

/* One change in the running transaction. 1: there was nothing to change, and nothing was. After an
 * error (ENOSPC of metadata is one) the transaction must be aborted. */
int churn_step(struct churn *churn);

/* Ends the transaction, as transaction_commit and transaction_abort do. */
int churn_commit(struct churn *churn);
void churn_abort(struct churn *churn);

/* Between transactions: whether the trees hold the xattrs that were made and no others, each with
 * its value. 0, EUCLEAN. */
int churn_verify(struct churn *churn);

/* "insert", "delete" ... */
const char *churn_kind_name(enum churn_kind kind);

#endif
