/* What the benchmarks of this chapter share: trees in the laboratory, keys in four orders. */
#ifndef BENCH_GROW_H
#define BENCH_GROW_H

#include "bench.h"
#include "fail.h"
#include "lab.h"
#include "lab_seeded.h"

enum { DATA = 53, COST = DATA + sizeof(struct item_header), STREAMS = 8 };

enum grow_order { ASCENDING, DESCENDING, RANDOM, IN_STREAMS };
enum { GROW_ORDERS = 4 };

static const char *const grow_names[GROW_ORDERS] = {"ascending", "descending", "random", "streams"};

/* The key of the `number`-th item. Those at random come from a range that is large enough for no
 * two to be equal. */
static inline struct key grow_key(enum grow_order order, uint64_t number, struct seeded *seeded)
{
    struct key key = {FIRST_FREE_OBJECTID, EXTENT_DATA_KEY, number};
    if (order == DESCENDING)
        key.offset = UINT32_MAX - number;
    else if (order == RANDOM)
        key.offset = seeded_next(seeded);
    else if (order == IN_STREAMS) {
        key.objectid += number % STREAMS;
        key.offset = number / STREAMS;
    }
    return key;
}

static inline int grow_open(struct lab *lab, uint32_t node_size, const char *policy)
{
    struct lab_setup setup = {.node_size = node_size, .policy = policy};
    return lab_open(lab, "bench", FIRST_FREE_OBJECTID, &setup);
}

#endif
