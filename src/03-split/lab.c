#include "lab.h"

#include "command.h"
#include "fail.h"
#include "lab_policies.h"

#include <string.h>

/* --- trees -------------------------------------------------------------------------- */

int lab_open(struct lab *lab, const char *name, uint64_t id, const struct lab_setup *setup)
{
    *lab = (struct lab){
        .name = name,
        .growth = {.max_items = setup->max_items, .max_ptrs = setup->max_ptrs},
    };
    heap_open(&lab->heap, setup->node_size);
    lab->tree.id = id;
    int result = policy_open(setup->policy, &lab->growth);
    return result < 0 ? result : lab_clear(lab);
}

void lab_close(struct lab *lab)
{
    heap_close(&lab->heap);
    policy_close(&lab->growth);
}

int lab_clear(struct lab *lab)
{
    struct heap_counters counters = lab->heap.counters;
    uint64_t generation = lab->heap.generation, operation = lab->heap.operation;
    heap_close(&lab->heap);
    heap_open(&lab->heap, lab->heap.node_size);
    lab->heap.counters = counters;
    lab->heap.generation = generation + 1;
    lab->heap.operation = operation + 1;
    return heap_tree(&lab->heap, &lab->tree, lab->tree.id, &lab->growth);
}

/* --- counters ----------------------------------------------------------------------- */

void lab_zero(struct lab *lab)
{
    lab->heap.counters = (struct heap_counters){0};
    lab->growth.counters = (struct growth_counters){0};
    policy_zero(&lab->growth);
}

void lab_add(struct lab *sum, const struct lab *more)
{
    struct heap_counters *to = &sum->heap.counters;
    const struct heap_counters *from = &more->heap.counters;
    struct growth_counters *grown = &sum->growth.counters;
    const struct growth_counters *growing = &more->growth.counters;
    to->allocated += from->allocated;
    to->shadowed += from->shadowed;
    to->wasted += from->wasted;
    to->freed += from->freed;
    to->leaves_dirtied += from->leaves_dirtied;
    to->leaves_written += from->leaves_written;
    grown->items_inserted += growing->items_inserted;
    grown->items_deleted += growing->items_deleted;
    grown->items_changed += growing->items_changed;
    grown->splits += growing->splits;
    grown->double_splits += growing->double_splits;
    grown->node_splits += growing->node_splits;
    grown->new_roots += growing->new_roots;
    grown->lost_roots += growing->lost_roots;
    grown->bytes_within += growing->bytes_within;
    grown->bytes_between += growing->bytes_between;
    policy_add(&sum->growth, &more->growth);
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

void lab_report(const struct lab *lab, bool all, struct report *report)
{
    const struct growth_counters *growth = &lab->growth.counters;
    const struct heap_counters *heap = &lab->heap.counters;
    uint64_t ops = growth->items_inserted + growth->items_deleted + growth->items_changed;
    report_number(report, "items_inserted", growth->items_inserted);
    report_number(report, "items_deleted", growth->items_deleted);
    report_number(report, "items_changed", growth->items_changed);
    report_number(report, "splits", growth->splits);
    report_number(report, "double_splits", growth->double_splits);
    policy_report(&lab->growth, all, report);
    report_decimal(report, "leaves_dirtied_per_op", ratio(heap->leaves_dirtied, ops), 4);
    report_number(report, "blocks_shadowed", heap->shadowed);
    report_number(report, "wasted_shadows", heap->wasted);
    report_number(report, "bytes_moved", growth->bytes_within + growth->bytes_between);
    if (all) {
        report_number(report, "bytes_moved_between_leaves", growth->bytes_between);
        report_number(report, "leaves_dirtied", heap->leaves_dirtied);
        report_number(report, "leaves_written", heap->leaves_written);
        report_number(report, "blocks_allocated", heap->allocated);
        report_number(report, "blocks_freed", heap->freed);
        report_number(report, "node_splits", growth->node_splits);
        report_number(report, "new_roots", growth->new_roots);
        report_number(report, "lost_roots", growth->lost_roots);
    }
}

void lab_report_shape(const struct lab *lab, const struct lab_measure *measure,
                      struct report *report)
{
    report_number(report, "height", lab->tree.level + 1U);
    report_number(report, "leaves", measure->leaves);
    report_number(report, "nodes", measure->nodes);
    report_number(report, "items", measure->items);
    report_decimal(report, "fill", ratio(measure->used, measure->room), 4);
}

bool lab_reports_all(const struct invocation *invocation)
{
    return invocation_option(invocation, "json") || invocation_option(invocation, "stats");
}

/* --- measures ----------------------------------------------------------------------- */

struct measuring {
    const struct tree *tree;
    struct lab_measure *measure;
};

static int measure_block(const struct block *block, void *context)
{
    const struct measuring *measuring = context;
    struct lab_measure *measure = measuring->measure;
    if (block_level(block) > 0) {
        measure->nodes++;
        return 0;
    }
    uint32_t room = leaf_room(block), used = room - leaf_left(measuring->tree, block);
    measure->leaves++;
    measure->items += block_nritems(block);
    measure->used += used;
    measure->room += room;
    uint32_t bin = used * LAB_BINS / room;
    measure->bins[bin < LAB_BINS ? bin : LAB_BINS - 1]++;
    return 0;
}

int lab_measure(struct lab *lab, struct lab_measure *measure)
{
    *measure = (struct lab_measure){0};
    struct measuring measuring = {&lab->tree, measure};
    return tree_walk(&lab->tree, measure_block, &measuring);
}

/* --- options ------------------------------------------------------------------------ */

/* A number within limits; 0 stands for "not given" where there is no option. */
static int limited(const struct invocation *invocation, const char *name, uint64_t least,
                   uint64_t most, uint32_t *value)
{
    uint64_t number = *value;
    int result = invocation_number(invocation, name, &number);
    if (result != 0 || !invocation_option(invocation, name))
        return result;
    if (number < least || number > most)
        return wrong_usage("--%s: %" PRIu64 " is not between %" PRIu64 " and %" PRIu64, name,
                           number, least, most);
    *value = (uint32_t)number;
    return 0;
}

int lab_options(const struct invocation *invocation, struct lab_setup *setup)
{
    *setup = (struct lab_setup){.node_size = 16384, .policy = policy_default};
    int result = limited(invocation, "node-size", 4096, NODE_SIZE_MAX, &setup->node_size);
    if (result == 0 && (setup->node_size & (setup->node_size - 1)))
        result = wrong_usage("--node-size: %u is not a power of two", setup->node_size);
    if (result == 0)
        result = limited(invocation, "max-items", MAX_ITEMS_LEAST, 10000, &setup->max_items);
    if (result == 0)
        result = limited(invocation, "max-ptrs", MAX_PTRS_LEAST, 10000, &setup->max_ptrs);
    const char *policy = invocation_option(invocation, "policy");
    if (result == 0 && policy && strcmp(policy, "help") == 0) {
        fprintf(invocation->out, "%sThe default is %s.\n", policy_words, policy_default);
        return LAB_HELP;
    }
    if (policy)
        setup->policy = policy;
    if (result != 0)
        return result;
    struct growth growth;
    result = policy_open(setup->policy, &growth);
    policy_close(&growth);
    return result == -EINVAL ? wrong_usage("--policy: %s", fail_message()) : result;
}
