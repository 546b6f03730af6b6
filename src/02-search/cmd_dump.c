/* coppice dump: every item of every tree. */
#include "dump.h"
#include "fail.h"
#include "volume_command.h"

static void report_stats(const struct dump *dump, struct report *report)
{
    report_begin(report, "stats");
    report_number(report, "trees", dump->trees);
    report_number(report, "blocks", dump->blocks);
    report_number(report, "items", dump->items);
    report_number(report, "blocks_read_in_all", dump->volume->source.blocks_read);
    report_end(report);
}

/* `context` is the number of the tree, or NULL for all. */
static int dump_volume(struct invocation *invocation, struct volume *volume, const void *context)
{
    const uint64_t *id = context;
    bool draw = invocation_option(invocation, "dot") != NULL;
    struct report report;
    enum report_form form = invocation_option(invocation, "json") ? REPORT_JSON : REPORT_LINES;
    int result = report_open(&report, invocation->out, form);
    if (result < 0)
        return result;
    struct dump dump = {
        .volume = volume,
        .report = draw ? NULL : &report,
        .file = invocation->out,
    };
    result = id ? dump_tree(&dump, *id) : dump_all(&dump);
    if (result == 0 && !draw && invocation_option(invocation, "stats"))
        report_stats(&dump, &report);
    report_close(&report);
    return result;
}

static int dump_run(struct invocation *invocation)
{
    uint64_t id;
    bool all = invocation->nargs == 0;
    if (!all && tree_parse(invocation->args[0], &id) < 0)
        return wrong_usage("%s", fail_message());
    bool draw = invocation_option(invocation, "dot") != NULL;
    if (draw && (invocation_option(invocation, "json") || invocation_option(invocation, "stats")))
        return wrong_usage("--dot excludes --json and --stats");
    return volume_command(invocation, dump_volume, all ? NULL : &id);
}

static const struct argp_option dump_options[] = {
    OPTION_JSON,
    OPTION_DOT,
    {"stats", 0, NULL, 0, "Count trees, blocks and items at the end", 0},
    {0},
};

extern const struct command cmd_dump;
const struct command cmd_dump = {
    .name = "dump",
    .args = "IMAGE [TREE]",
    .doc = "Print a tree, or all trees: every block, item and what it holds.\v" TREE_WORDS
           " With --json each item and each "
           "pointer is an object on a line of its own. With --dot the shape of the trees is drawn.",
    .max_args = 1,
    .options = dump_options,
    .run = dump_run,
};
