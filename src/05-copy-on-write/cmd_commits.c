/* coppice commits: a seeded series of changes, commit by commit. */
#include "command.h"
#include "fail.h"
#include "lab_commits.h"

#include <string.h>

struct words {
    struct lab_commits_setup setup;
    uint64_t commits, changes;
    bool summary, dot, json;
};

/* NULL for a name that is none. */
static const char *find_space(const char *name)
{
    for (const char *const *space = lab_spaces; *space; space++)
        if (strcmp(*space, name) == 0)
            return *space;
    return NULL;
}

static int parse_words(const struct invocation *invocation, struct words *words)
{
    const char *space = invocation_option(invocation, "space");
    uint64_t node_size = 4096, item_size = 100;
    *words = (struct words){
        .setup = {.space = lab_spaces[0], .items = 1000, .seed = 1},
        .commits = 1,
        .changes = 1,
        .summary = invocation_option(invocation, "summary"),
        .dot = invocation_option(invocation, "dot"),
        .json = invocation_option(invocation, "json"),
    };
    struct {
        const char *name;
        uint64_t *value, least, most;
    } numbers[] = {
        {"commits", &words->commits, 1, 1000000},       {"changes", &words->changes, 1, 1000000},
        {"items", &words->setup.items, 0, 1000000},     {"item-size", &item_size, 0, 1000},
        {"node-size", &node_size, 4096, NODE_SIZE_MAX}, {"seed", &words->setup.seed, 0, UINT64_MAX},
    };
    for (size_t i = 0; i < LENGTH_OF(numbers); i++) {
        int result = invocation_number(invocation, numbers[i].name, numbers[i].value);
        if (result != 0)
            return result;
        if (*numbers[i].value < numbers[i].least || *numbers[i].value > numbers[i].most)
            return wrong_usage("--%s: %" PRIu64 " is not from %" PRIu64 " to %" PRIu64,
                               numbers[i].name, *numbers[i].value, numbers[i].least,
                               numbers[i].most);
    }
    if (node_size & (node_size - 1))
        return wrong_usage("--node-size: %" PRIu64 " is not 4K, 8K, 16K, 32K or 64K", node_size);
    words->setup.node_size = (uint32_t)node_size;
    words->setup.item_size = (uint32_t)item_size;
    if (space)
        words->setup.space = find_space(space);
    if (!words->setup.space)
        return wrong_usage("--space: there is no space '%s'", space);
    if (words->dot && words->json)
        return wrong_usage("--dot is no --json");
    return 0;
}

static int report_commit(const struct lab_commits *commits, const struct words *words,
                         struct report *report)
{
    const struct transaction *transaction = &commits->transaction;
    report_begin(report, "commit");
    report_number(report, "generation", transaction->generation);
    report_number(report, "changes", words->changes);
    report_number(report, "shadowed", transaction->counters.shadowed);
    report_number(report, "allocated", transaction->counters.allocated);
    report_number(report, "freed", transaction->counters.freed);
    report_number(report, "rounds", transaction->counters.rounds);
    report_number(report, "written", transaction->counters.written);
    int result = words->summary ? 0 : lab_commits_report(commits, report);
    report_end(report);
    return result;
}

static int run_series(const struct invocation *invocation, struct lab_commits *commits,
                      const struct words *words)
{
    struct report report;
    int result = report_open(&report, invocation->out, words->json ? REPORT_JSON : REPORT_LINES);
    if (result < 0)
        return result;
    for (uint64_t i = 0; i < words->commits && result == 0; i++) {
        result = lab_commits_run(commits, words->changes, words->setup.item_size);
        if (result == 0)
            result = report_commit(commits, words, &report);
    }
    report_close(&report);
    return result;
}

/* The way to the place of the first change of the last commit. */
static int draw(const struct invocation *invocation, struct lab_commits *commits,
                const struct words *words)
{
    struct lab_way before, after;
    int result = 0;
    for (uint64_t i = 1; i < words->commits && result == 0; i++)
        result = lab_commits_run(commits, words->changes, words->setup.item_size);
    struct key key = lab_commits_next_key(commits);
    if (result == 0)
        result = lab_way(&commits->image.volume, LAB_TREE, &key, &before);
    if (result == 0)
        result = lab_commits_run(commits, words->changes, words->setup.item_size);
    if (result == 0)
        result = lab_way(&commits->image.volume, LAB_TREE, &key, &after);
    if (result == 0)
        lab_draw_ways(&before, &after, invocation->out);
    return result;
}

static int run(struct invocation *invocation)
{
    struct words words;
    struct lab_commits commits;
    int result = parse_words(invocation, &words);
    if (result == 0)
        result = lab_commits_open(&commits, &words.setup);
    if (result != 0)
        return result;
    result =
        words.dot ? draw(invocation, &commits, &words) : run_series(invocation, &commits, &words);
    lab_commits_close(&commits);
    return result;
}

static const struct argp_option options[] = {
    {"commits", 0, "N", 0, "How many transactions (default 1)", 0},
    {"changes", 0, "N", 0, "Changes in each: insertions and deletions of items (default 1)", 0},
    {"items", 0, "N", 0, "Items in the tree to begin with (default 1000)", 0},
    {"item-size", 0, "BYTES", 0, "Data of an item (default 100)", 0},
    {"node-size", 0, "BYTES", 0, "Size of a block: 4K, 8K, 16K, 32K, 64K (default 4K)", 0},
    {"space", 0, "NAME", 0,
     "Who gives out addresses: bump counts them up and writes nothing down; the default is the "
     "best there is",
     0},
    {"seed", 0, "N", 0, "Of the random numbers (default 1)", 0},
    {"summary", 0, NULL, 0, "One line for a commit", 0},
    OPTION_DOT,
    OPTION_JSON,
    {0},
};

const struct command cmd_commits = {
    .name = "commits",
    .args = "",
    .doc = "Show what transactions do to blocks and to the device.\v"
           "An image is made in memory, with a tree of items. Then transactions change items at "
           "random places, and are committed: each is told with the blocks that it shadows, "
           "allocates and frees, and with what the device sees, in order. With --dot the way to "
           "one item is drawn, before the last commit and after it.",
    .has_no_image = true,
    .options = options,
    .run = run,
};
