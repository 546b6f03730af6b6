/* Delayed references: what the extent tree must still be told.
 *
 * To note in the extent tree that a block was allocated, blocks of the extent tree are changed, so
 * shadowed, so allocated: an account that is kept at once never comes to an end. So allocations and
 * frees are put on this list, and the list is worked off when the transaction settles. What is
 * taken and given up again in between leaves the list, and the tree never hears of it.
 *
 * The kernel's names: btrfs_add_delayed_tree_ref, btrfs_add_delayed_data_ref,
 * btrfs_add_delayed_extent_op, btrfs_run_delayed_refs, cleanup_ref_head.
 */
#ifndef DELAYED_REF_H
#define DELAYED_REF_H

#include "extent_item.h"

struct delayed_ref {
    struct extent_ref ref;
    int64_t delta; /* of what it counts; 0 is nothing */
};

struct delayed_extent {
    struct extent extent;
    bool is_new;    /* it has no item yet */
    uint64_t flags; /* to be set */
    struct delayed_ref *refs;
    size_t count, capacity;
};

struct delayed_refs {
    void *extents; /* by bytenr, a search tree of <search.h> */
    size_t count;
};

void delayed_refs_close(struct delayed_refs *refs);

/* What waits for the extent at this address; NULL. */
struct delayed_extent *delayed_refs_find(const struct delayed_refs *refs, uint64_t bytenr);

/* A reference to the extent counts `delta` more, or less. is_new: the extent was allocated just
 * now. 0; ENOMEM: nothing changed. */
int delayed_refs_add(struct delayed_refs *refs, const struct extent *extent,
                     const struct extent_ref *ref, int64_t delta, bool is_new);

/* Flags of the extent's item are to be set. */
int delayed_refs_set_flags(struct delayed_refs *refs, const struct extent *extent, uint64_t flags);

/* The sum of what waits for an extent. */
int64_t delayed_extent_sum(const struct delayed_extent *extent);

/* Takes all from the list, by ascending address: an array, and each of its extents, that the caller
 * frees. What is added from now on is on a new list. ENOMEM: nothing changed. */
int delayed_refs_take(struct delayed_refs *refs, struct delayed_extent ***list, size_t *count);

/* Takes this one from the list, and frees it. */
void delayed_refs_forget(struct delayed_refs *refs, struct delayed_extent *extent);

void delayed_extent_free(struct delayed_extent *extent);

#endif
