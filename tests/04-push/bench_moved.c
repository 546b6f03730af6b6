/* How many bytes does an insertion at random move, and does it allocate?
 *
 * Leaves that are split in the middle and filled at random are of all fills from 1/2 to 1, those of
 * fill x in proportion to 1/x^2. The leaf that an insertion meets is the fuller the likelier: its
 * mean fill is the mean of x^2 divided by that of x, (1/2) / ln 2. Half of what is used lies behind
 * the slot and moves. So an insertion moves 1 / (4 ln 2) = 0.36 of the room of a leaf, whatever the
 * items are. */
#include "bench_policies.h"

#include <math.h>
#include <string.h>

enum {
    LEAVES = 200, /* about as many are there at the end */
    LOOKUPS = 10000,
};

/* --- allocations -------------------------------------------------------------------- */

/* The calls of malloc and its kin in this process. */
static uint64_t allocations;

#ifndef __SANITIZE_ADDRESS__
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    allocations++;
    return __libc_realloc(memory, size);
}
#endif

/* Adds to *needless the allocations of an insertion that makes no block. */
static void insert(struct lab *lab, uint64_t number, uint32_t size, uint64_t *needless)
{
    uint64_t blocks = lab->heap.counters.allocated, before = allocations;
    if (!bench_insert(lab, number, size))
        must(fail(EEXIST, "a key comes twice"));
    if (lab->heap.counters.allocated == blocks)
        *needless += allocations - before;
}

/* The allocations of lookups. */
static uint64_t look(struct lab *lab, const uint64_t *numbers, uint32_t count)
{
    uint64_t before = allocations;
    for (uint32_t i = 0; i < count && i < LOOKUPS; i++) {
        struct key key = bench_key(numbers[i]);
        struct path path = {0};
        if (tree_search(&lab->tree, &key, &path) != 0)
            must(fail(ENOENT, "a key is not found"));
        path_release(&lab->tree, &path);
    }
    return allocations - before;
}

/* --- one row ------------------------------------------------------------------------ */

/* The leaves fill and split in step at first, so the mean is taken while their number doubles. */
static void print_row(const char *policy, uint32_t node_size, uint32_t size)
{
    struct lab_setup setup = {.node_size = node_size, .policy = policy};
    struct lab lab;
    uint32_t room = node_size - (uint32_t)sizeof(struct block_header);
    uint32_t cost = size + (uint32_t)sizeof(struct item_header);
    uint32_t count = (uint32_t)(LEAVES * M_LN2 * room / cost);
    uint64_t seed = 1, needless = 0, within = 0, between = 0;
    uint64_t *numbers = bench_shuffled(&seed, count);
    must(lab_open(&lab, "bench", FIRST_FREE_OBJECTID, &setup));
    const struct growth_counters *counters = &lab.growth.counters;
    for (uint32_t i = 0; i < count; i++) {
        if (i == count / 2) {
            within = counters->bytes_within;
            between = counters->bytes_between;
        }
        insert(&lab, numbers[i], size, &needless);
    }
    double inserted = count - count / 2;
    printf("%s,%u,%u,%u,%.1f,%.1f,%.1f,%.4f,%.4f,%" PRIu64 ",%" PRIu64 "\n", bench_field(policy),
           node_size, size, count, (double)(counters->bytes_within - within) / inserted,
           (double)(counters->bytes_between - between) / inserted, room / (4 * M_LN2),
           (double)(counters->bytes_within - within) / inserted / room, bench_fill(&lab), needless,
           look(&lab, numbers, count));
    lab_close(&lab);
    free(numbers);
}

static int counts(void)
{
    static const uint32_t sizes[] = {25, 53, 100, 200, 400};
    static const char *const policies[] = {"split", "kernel"};
    printf("# insertions in random order, items all of one size; the second half of them counts\n"
           "# within: bytes moved in leaves for an insertion; share: within / (node size - 101)\n"
           "# formula: (node size - 101) / (4 ln 2); between: bytes moved from leaf to leaf\n"
           "# needless: calls of malloc, calloc, realloc in all insertions that made no block;\n"
           "# looking: the same in 10,000 lookups\n"
           "policy,node_size,data,items,within,between,formula,share,fill,needless,looking\n");
    for (size_t i = 0; i < LENGTH_OF(policies); i++)
        for (uint32_t node_size = 4096; node_size <= NODE_SIZE_MAX; node_size *= 4)
            for (size_t j = 0; j < LENGTH_OF(sizes); j++)
                print_row(policies[i], node_size, sizes[j]);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
