/* coppice grow: a tree in memory, from keys in a named order. */
#include "command.h"
#include "fail.h"
#include "lab.h"
#include "lab_policies.h"
#include "lab_seeded.h"

#include <stdlib.h>
#include <string.h>

enum { STREAMS_MOST = 100000, STEP = 4096 };
#define ITEMS_MOST (1ULL << 40)

/* --- orders ------------------------------------------------------------------------- */

struct growing {
    const struct order *order;
    uint64_t items;
    uint64_t streams;
    uint32_t least_size, most_size; /* bytes of data of an item */
    uint64_t commit_every;          /* items; 0: never */
    struct seeded seeded;
    uint64_t *lengths; /* zipf: items of each stream so far */
    uint64_t *weights; /* zipf: the sums of the weights of the streams up to each */
};

struct order {
    const char *name;
    struct key (*key)(struct growing *growing, uint64_t number);
};

/* A key in stream `stream`, the `number`-th from its beginning. */
static struct key stream_key(uint64_t stream, uint64_t number)
{
    return (struct key){FIRST_FREE_OBJECTID + stream, EXTENT_DATA_KEY, number * STEP};
}

static struct key ascending(struct growing *growing, uint64_t number)
{
    (void)growing;
    return stream_key(0, number);
}

static struct key descending(struct growing *growing, uint64_t number)
{
    return stream_key(0, growing->items - 1 - number);
}

static struct key random_key(struct growing *growing, uint64_t number)
{
    (void)number;
    return stream_key(0, seeded_below(&growing->seeded, 16 * growing->items));
}

static struct key interleaved(struct growing *growing, uint64_t number)
{
    return stream_key(number % growing->streams, number / growing->streams);
}

/* Stream i is taken with a probability that is proportional to 1 / (i + 1). */
static struct key zipf(struct growing *growing, uint64_t number)
{
    (void)number;
    uint64_t low = 0, high = growing->streams - 1;
    uint64_t at = seeded_below(&growing->seeded, growing->weights[high]);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (growing->weights[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return stream_key(low, growing->lengths[low]++);
}

static const struct order orders[] = {
    {"ascending", ascending}, {"descending", descending},
    {"random", random_key},   {"streams", interleaved},
    {"zipf", zipf},
};

static int growing_open(struct growing *growing)
{
    growing->lengths = calloc(growing->streams, sizeof(uint64_t));
    growing->weights = calloc(growing->streams, sizeof(uint64_t));
    if (!growing->lengths || !growing->weights)
        return fail(ENOMEM, "out of memory for %" PRIu64 " streams", growing->streams);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < growing->streams; i++)
        growing->weights[i] = sum += (1ULL << 32) / (i + 1);
    return 0;
}

static void growing_close(struct growing *growing)
{
    free(growing->lengths);
    free(growing->weights);
}

static int grow_tree(struct lab *lab, struct growing *growing)
{
    int result = 0;
    for (uint64_t number = 0; number < growing->items && result == 0; number++) {
        uint32_t sizes = growing->most_size - growing->least_size + 1;
        uint32_t size =
            growing->least_size + (sizes > 1 ? (uint32_t)seeded_below(&growing->seeded, sizes) : 0);
        heap_operation(&lab->heap);
        do { /* only keys at random can be there already */
            struct key key = growing->order->key(growing, number);
            result = tree_insert(&lab->tree, &key, NULL, size);
        } while (result == -EEXIST);
        if (growing->commit_every && (number + 1) % growing->commit_every == 0)
            heap_commit(&lab->heap);
    }
    return result;
}

/* --- the report --------------------------------------------------------------------- */

static int report_growth(const struct invocation *invocation, struct lab *lab,
                         const struct growing *growing, const struct lab_setup *setup)
{
    struct report report;
    struct lab_measure measure;
    enum report_form form = invocation_option(invocation, "json") ? REPORT_JSON : REPORT_COLUMNS;
    int result = lab_measure(lab, &measure);
    if (result == 0)
        result = report_open(&report, invocation->out, form);
    if (result < 0)
        return result;
    report_begin(&report, "grow");
    report_word(&report, "order", growing->order->name);
    report_word(&report, "policy", setup->policy);
    report_number(&report, "node_size", setup->node_size);
    lab_report(lab, lab_reports_all(invocation), &report);
    lab_report_shape(lab, &measure, &report);
    report_list_begin(&report, "leaves_by_fill");
    for (unsigned bin = 0; bin < LAB_BINS; bin++) {
        if (measure.bins[bin] == 0)
            continue;
        report_begin(&report, NULL);
        report_number(&report, "from_percent", bin * 100 / LAB_BINS);
        report_number(&report, "to_percent", (bin + 1) * 100 / LAB_BINS);
        report_number(&report, "leaves", measure.bins[bin]);
        report_end(&report);
    }
    report_list_end(&report);
    report_end(&report);
    report_close(&report);
    return 0;
}

/* --- the command line --------------------------------------------------------------- */

static int parse_order(const struct invocation *invocation, struct growing *growing)
{
    const char *name = invocation->args[0];
    for (size_t i = 0; i < LENGTH_OF(orders); i++)
        if (strcmp(orders[i].name, name) == 0)
            growing->order = &orders[i];
    return growing->order ? 0
                          : wrong_usage("there is no order '%s'; there are ascending, descending, "
                                        "random, streams and zipf",
                                        name);
}

/* "53" or "0-200". */
static int parse_sizes(const struct invocation *invocation, struct growing *growing)
{
    const char *text = invocation_option(invocation, "size");
    char least[32];
    uint64_t from = 53, to = 53;
    if (text) {
        size_t length = strcspn(text, "-");
        snprintf(least, sizeof least, "%.*s", (int)length, text);
        if (parse_number(least, &from) < 0 ||
            parse_number(text[length] ? text + length + 1 : least, &to) < 0)
            from = UINT64_MAX; /* the message below */
    }
    if (from > to || to > NODE_SIZE_MAX)
        return wrong_usage("--size: '%s' is no size; 53 is, or 10-200", text);
    growing->least_size = (uint32_t)from;
    growing->most_size = (uint32_t)to;
    return 0;
}

static int parse_growing(const struct invocation *invocation, struct growing *growing)
{
    int result = parse_order(invocation, growing);
    if (result == 0)
        result = parse_sizes(invocation, growing);
    if (result == 0)
        result = invocation_number(invocation, "items", &growing->items);
    if (result == 0)
        result = invocation_number(invocation, "streams", &growing->streams);
    if (result == 0)
        result = invocation_number(invocation, "seed", &growing->seeded.state);
    if (result == 0)
        result = invocation_number(invocation, "commit", &growing->commit_every);
    if (result == 0 && growing->items > ITEMS_MOST)
        result = wrong_usage("--items: %" PRIu64 " is more than %llu", growing->items, ITEMS_MOST);
    if (result == 0 && (growing->streams < 1 || growing->streams > STREAMS_MOST))
        result = wrong_usage("--streams: 1 to %d", STREAMS_MOST);
    if (result == 0 && invocation_option(invocation, "json") &&
        invocation_option(invocation, "dot"))
        result = wrong_usage("--json and --dot exclude each other");
    return result;
}

static int grow_run(struct invocation *invocation)
{
    struct lab_setup setup;
    struct growing growing = {.items = 100000, .streams = 8, .seeded = {1}};
    int result = lab_options(invocation, &setup);
    if (result == 0)
        result = parse_growing(invocation, &growing);
    if (result != 0)
        return result == LAB_HELP ? 0 : result;

    struct lab lab;
    result = lab_open(&lab, growing.order->name, FIRST_FREE_OBJECTID, &setup);
    if (result == 0)
        result = growing_open(&growing);
    if (result == 0)
        result = grow_tree(&lab, &growing);
    if (result == 0)
        result = invocation_option(invocation, "dot")
                     ? lab_dot(&lab, invocation->out)
                     : report_growth(invocation, &lab, &growing, &setup);
    growing_close(&growing);
    lab_close(&lab);
    return result;
}

static const struct argp_option grow_options[] = {
    {"items", 0, "N", 0, "How many items (default 100000)", 0},
    {"size", 0, "BYTES", 0, "Data of an item, or a range as in 10-200 (default 53)", 0},
    {"streams", 0, "N", 0, "How many streams (default 8)", 0},
    {"seed", 0, "N", 0, "The same seed gives the same keys and sizes (default 1)", 0},
    {"commit", 0, "N", 0, "Begin a new transaction after each N items (default 0: never)", 0},
    LAB_OPTIONS,
    OPTION_JSON,
    OPTION_DOT,
    {0},
};

extern const struct command cmd_grow;
const struct command cmd_grow = {
    .name = "grow",
    .args = "ORDER",
    .doc = "Grow a tree in memory from keys in a named order; show what it took.\v"
           "ORDER is ascending, descending, random, streams (ascending ones, in turn) or zipf (the "
           "same, stream n with a share of 1/n).",
    .has_no_image = true,
    .min_args = 1,
    .max_args = 1,
    .options = grow_options,
    .run = grow_run,
};
