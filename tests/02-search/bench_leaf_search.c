/* Within one leaf: binary search or from the front?
 *
 * From the front is one comparison a step, (n + 1) / 2 on average, and the processor foresees every
 * branch but the last. Binary search needs about log2 n, and each of its branches is a coin toss.
 * So the number of comparisons alone does not tell from how many items on binary search wins. */
#include "bench.h"
#include "bench_tree.h"

#include <math.h>
#include <stdbool.h>

enum {
    NODE_SIZE = 16384,
    ITEMS_MOST = (NODE_SIZE - 101) / (25 + BENCH_DATA),
    ROUNDS = 101,
    LOOKUPS = 2000, /* in each round and for each number of items */
};

typedef int search_function(const struct block *block, const struct key *key, uint32_t *slot,
                            uint64_t *comparisons);

/* The rival: the same contract as block_search, one step at a time. Not inlined, since
 * block_search, which is compiled apart, is not either. */
__attribute__((noinline)) static int linear_search(const struct block *leaf, const struct key *key,
                                                   uint32_t *slot, uint64_t *comparisons)
{
    const struct item_header *item = leaf_item(leaf, 0);
    uint32_t nritems = block_nritems(leaf);
    for (*slot = 0; *slot < nritems; ++*slot, item++) {
        struct key there = key_from_disk(&item->key);
        int order = key_compare(&there, key);
        ++*comparisons;
        if (order >= 0)
            return order > 0;
    }
    return 1;
}

static search_function *const searches[] = {linear_search, block_search};
enum { LINEAR, BINARY, SEARCHES };

/* --- the leaf ----------------------------------------------------------------------- */

static unsigned char leaf_bytes[NODE_SIZE];
static struct block leaf = {.data = leaf_bytes, .size = NODE_SIZE, .bytenr = NODE_SIZE};

/* Appends an item; they are numbered from 0. */
static int append(uint32_t number)
{
    struct key key = bench_key(number);
    return leaf_insert(&leaf, number, &key, NULL, BENCH_DATA);
}

/* Calls `step` with 1, 2, ... items in the leaf, until it is full. */
static int each_fill(int (*step)(uint32_t nritems))
{
    leaf_init(&leaf, BENCH_GENERATION, FS_TREE_OBJECTID);
    for (uint32_t nritems = 1; nritems <= ITEMS_MOST; nritems++) {
        int result = append(nritems - 1);
        if (result == 0)
            result = step(nritems);
        if (result < 0) {
            fprintf(stderr, "%s\n", fail_message());
            return 1;
        }
    }
    return 0;
}

/* --- counts ------------------------------------------------------------------------- */

/* Comparisons to find each item of the leaf once. */
static int count_all(search_function *search, uint32_t nritems, uint64_t *comparisons)
{
    *comparisons = 0;
    for (uint32_t number = 0; number < nritems; number++) {
        struct key key = bench_key(number);
        uint32_t slot;
        if (search(&leaf, &key, &slot, comparisons) != 0 || slot != number)
            return fail(EUCLEAN, "item %u of %u is not found", number, nritems);
    }
    return 0;
}

/* The steps to all items of a binary search tree whose levels are full but for the last: on level
 * d are 2^(d - 1) items, and the k = floor(log2 n) + 1 levels hold n. */
static uint64_t binary_formula(uint64_t nritems)
{
    uint64_t levels = 0;
    while (nritems >> levels)
        levels++;
    return levels * (nritems + 1) + 1 - (1ULL << levels);
}

static int print_counts(uint32_t nritems)
{
    uint64_t sums[SEARCHES];
    for (size_t which = 0; which < SEARCHES; which++) {
        int result = count_all(searches[which], nritems, &sums[which]);
        if (result < 0)
            return result;
    }
    printf("%u,%.3f,%.3f,%.3f,%.3f,%.3f\n", nritems, (double)sums[LINEAR] / nritems,
           (nritems + 1) / 2.0, (double)sums[BINARY] / nritems,
           (double)binary_formula(nritems) / nritems, log2(nritems));
    return 0;
}

static int counts(void)
{
    printf("# comparisons of keys in one leaf of 16 KiB: the mean over all items in it\n"
           "# linear_formula: (n + 1) / 2\n"
           "# binary_formula: (k * (n + 1) + 1 - 2^k) / n with k = floor(log2 n) + 1\n"
           "items,linear,linear_formula,binary,binary_formula,log2_items\n");
    return each_fill(print_counts);
}

/* --- times -------------------------------------------------------------------------- */

static double samples[ITEMS_MOST + 1][SEARCHES][ROUNDS];
static size_t round_now;

/* ns a search. The next key waits for the slot that was found (the shift makes 0 of it), as in a
 * tree the next block waits for the search in the one above it. */
static double time_searches(search_function *search, uint32_t nritems, uint64_t seed)
{
    static struct key keys[LOOKUPS];
    for (size_t i = 0; i < LOOKUPS; i++)
        keys[i] = bench_key(bench_below(&seed, nritems));
    uint64_t comparisons = 0;
    uint32_t slot = 0;
    double start = bench_ns();
    for (size_t i = 0; i < LOOKUPS; i++)
        if (search(&leaf, keys + i + (slot >> 16), &slot, &comparisons) != 0)
            abort(); /* every key is there */
    return (bench_ns() - start) / LOOKUPS;
}

/* Both searches get the same keys, other ones in each round, so that no branch predictor can learn
 * them by heart. */
static int sample_both(uint32_t nritems)
{
    for (size_t which = 0; which < SEARCHES; which++)
        samples[nritems][which][round_now] =
            time_searches(searches[which], nritems, round_now << 32 | nritems);
    return 0;
}

static struct bench_spread spreads[ITEMS_MOST + 1][SEARCHES];

static bool binary_wins(uint32_t nritems)
{
    return spreads[nritems][BINARY].median < spreads[nritems][LINEAR].median;
}

/* The number of items from which on binary search is the faster one: where the fewest medians lie
 * on the wrong side of it; *wrong says how many. */
static uint32_t crossing(uint32_t *wrong)
{
    uint32_t best = 1, errors = 0;
    for (uint32_t nritems = 1; nritems <= ITEMS_MOST; nritems++)
        errors += !binary_wins(nritems);
    *wrong = errors;
    for (uint32_t from = 2; from <= ITEMS_MOST + 1; from++) {
        errors = binary_wins(from - 1) ? errors + 1 : errors - 1;
        if (errors < *wrong) {
            *wrong = errors;
            best = from;
        }
    }
    return best;
}

static int times(void)
{
    for (round_now = 0; round_now < ROUNDS; round_now++)
        if (each_fill(sample_both) != 0)
            return 1;
    for (uint32_t nritems = 1; nritems <= ITEMS_MOST; nritems++)
        for (size_t which = 0; which < SEARCHES; which++)
            spreads[nritems][which] = bench_spread(samples[nritems][which], ROUNDS);
    uint32_t wrong, from = crossing(&wrong);

    bench_head((const char *const[]){
        "method: searches in one leaf of 16 KiB that is in the first-level cache, for keys that "
        "are",
        "there, taken at random; each search waits for the one before. 101 rounds of 2,000 "
        "searches",
        "for each number of items, both searches in turn with the same keys, new ones each round;",
        "ns is the median of the rounds, low and high are their quartiles.",
        NULL,
    });
    printf(
        "# crossing: binary search is the faster one from %u items on (the column binary_wins);\n"
        "# of the %d pairs of medians %u say otherwise\n",
        from, ITEMS_MOST, wrong);
    printf("items,linear_ns,linear_low,linear_high,binary_ns,binary_low,binary_high,binary_wins\n");
    for (uint32_t nritems = 1; nritems <= ITEMS_MOST; nritems++) {
        printf("%u", nritems);
        for (size_t which = 0; which < SEARCHES; which++)
            printf(",%.2f,%.2f,%.2f", spreads[nritems][which].median, spreads[nritems][which].low,
                   spreads[nritems][which].high);
        printf(",%d\n", nritems >= from);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, times);
}
