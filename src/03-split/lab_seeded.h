/* Numbers that look random and are the same on every machine: splitmix64 (Steele, Lea, Flood: Fast
 * Splittable Pseudorandom Number Generators, 2014). */
#ifndef LAB_SEEDED_H
#define LAB_SEEDED_H

#include <assert.h>
#include <stdint.h>

struct seeded {
    uint64_t state;
};

static inline uint64_t seeded_next(struct seeded *seeded)
{
    uint64_t z = seeded->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* 0 .. limit - 1. The remainder favours small numbers by less than limit / 2^64. */
static inline uint64_t seeded_below(struct seeded *seeded, uint64_t limit)
{
    assert(limit > 0);
    return seeded_next(seeded) % limit;
}

#endif
