/* What the benchmarks of policies share: replays and their sums, trees that grow and shrink.
 *
 * Everything here is seeded and counts; a failure is a fault of ours and ends the program. */
#ifndef BENCH_POLICIES_H
#define BENCH_POLICIES_H

#include "bench.h"
#include "delete.h"
#include "fail.h"
#include "lab_policies.h"
#include "lab_replay.h"
#include "push.h"

/* The data of an item where it does not matter: a file extent has as much. */
enum { BENCH_DATA = 53 };

static inline void must(int result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "%s\n", fail_message());
    exit(1);
}

/* The name of a policy as a field of CSV: with blanks for commas. Overwritten by the next call. */
static inline const char *bench_field(const char *policy)
{
    static char field[64];
    snprintf(field, sizeof field, "%s", policy);
    for (char *at = field; (at = strchr(at, ','));)
        *at = ' ';
    return field;
}

/* --- counters ----------------------------------------------------------------------- */

static inline struct push_policy *bench_rules(const struct lab *lab)
{
    return (struct push_policy *)lab->growth.policy;
}

/* Pushes to the right made by splits, with this outcome. */
static inline uint64_t bench_right(const struct lab *lab, enum push_outcome outcome)
{
    const struct push_counters *counters = &bench_rules(lab)->counters;
    return counters->right[PUSH_FOR_SPLIT][outcome] + counters->right[PUSH_FOR_DOUBLE][outcome];
}

static inline uint64_t bench_right_calls(const struct lab *lab)
{
    uint64_t calls = 0;
    for (int outcome = 0; outcome < PUSH_OUTCOMES; outcome++)
        calls += bench_right(lab, (enum push_outcome)outcome);
    return calls;
}

static inline uint64_t bench_operations(const struct lab *lab)
{
    const struct growth_counters *counters = &lab->growth.counters;
    return counters->items_inserted + counters->items_deleted + counters->items_changed;
}

static inline double bench_ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static inline double bench_fill(struct lab *lab)
{
    struct lab_measure measure;
    must(lab_measure(lab, &measure));
    return bench_ratio(measure.used, measure.room);
}

/* --- replays ------------------------------------------------------------------------ */

static inline const struct mix *bench_mix(const char *name)
{
    const struct mix *mix = mixes;
    while (strcmp(mix->name, name) != 0)
        mix++;
    return mix;
}

/* Replays a mix; *total gets the counters of all its trees, and is to be closed. */
static inline void bench_replay(struct replay *replay, const char *name,
                                const struct lab_setup *setup, uint64_t seed, uint64_t requests,
                                uint64_t log_rounds, struct lab *total)
{
    const struct mix *mix = bench_mix(name);
    must(replay_open(replay, mix, setup, seed, log_rounds));
    must(replay_run(replay, mix, requests));
    must(lab_open(total, "total", 0, setup));
    lab_zero(total);
    for (int i = 0; i < REPLAY_TREES; i++)
        if (replay->labs[i].name)
            lab_add(total, &replay->labs[i]);
}

/* --- single items ------------------------------------------------------------------- */

static inline struct key bench_key(uint64_t number)
{
    return (struct key){FIRST_FREE_OBJECTID, EXTENT_DATA_KEY, number};
}

/* False where the key is there already. */
static inline bool bench_insert(struct lab *lab, uint64_t number, uint32_t size)
{
    struct key key = bench_key(number);
    heap_operation(&lab->heap);
    int result = tree_insert(&lab->tree, &key, NULL, size);
    if (result == -EEXIST)
        return false;
    must(result);
    return true;
}

static inline void bench_delete(struct lab *lab, uint64_t number)
{
    struct key key = bench_key(number);
    heap_operation(&lab->heap);
    must(tree_delete(&lab->tree, &key));
}

/* Numbers 0 .. count - 1 in a random order; to be freed. */
static inline uint64_t *bench_shuffled(uint64_t *state, uint32_t count)
{
    uint64_t *numbers = malloc(count * sizeof *numbers);
    if (!numbers)
        must(fail(ENOMEM, "out of memory"));
    for (uint32_t i = 0; i < count; i++) { /* inside out */
        uint32_t at = bench_below(state, i + 1);
        numbers[i] = numbers[at];
        numbers[at] = i;
    }
    return numbers;
}

#endif
