/* Sets of addresses: ranges [start, end) in ascending order, none empty, no two that touch.
 *
 * Free space and pinned blocks are kept so. All are in one array: a search is binary, a change
 * moves what lies behind it.
 */
#ifndef RANGE_SET_H
#define RANGE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uint64_t start, end;
};

struct range_set {
    struct range *ranges;
    size_t count, capacity;
    uint64_t bytes; /* of all ranges together */
};

void range_set_close(struct range_set *set);

/* Adds [start, end), of which nothing may be in the set. 0; EEXIST, ENOMEM: nothing changed. */
int range_set_add(struct range_set *set, uint64_t start, uint64_t end);

/* Takes out [start, end), which must be in the set wholly. 0; ENOENT, ENOMEM: nothing changed. */
int range_set_remove(struct range_set *set, uint64_t start, uint64_t end);

/* Takes out of [start, end) what is in the set. */
int range_set_clear(struct range_set *set, uint64_t start, uint64_t end);

/* How many ranges end at or before `address`: the index of the one that holds it, or of the first
 * behind it. */
size_t range_set_find(const struct range_set *set, uint64_t address);

#endif
