/* coppice dump: every item of every tree. */
#include "command.h"
#include "dump.h"
#include "fail.h"

static void report_stats(const struct dump *dump, struct report *report)
{
    report_begin(report, "stats");
    report_number(report, "trees", dump->trees);
    report_number(report, "blocks", dump->blocks);
    report_number(report, "items", dump->items);
    report_number(report, "blocks_read_in_all", dump->volume->source.blocks_read);
    report_end(report);
}

static int dump_volume(struct invocation *invocation, struct volume *volume, bool all, uint64_t id)
{
    struct report report;
    enum report_form form = invocation_option(invocation, "json") ? REPORT_JSON : REPORT_LINES;
    bool draw = invocation_option(invocation, "dot") != NULL;
    int result = report_open(&report, invocation->out, form);
    if (result < 0)
        return result;
    struct dump dump = {
        .volume = volume,
        .report = draw ? NULL : &report,
        .file = invocation->out,
    };
    result = all ? dump_all(&dump) : dump_tree(&dump, id);
    if (result == 0 && !draw && invocation_option(invocation, "stats"))
        report_stats(&dump, &report);
    report_close(&report);
    return result;
}

static int dump_run(struct invocation *invocation)
{
    bool all = invocation->nargs == 0;
    uint64_t id = 0;
    if (!all && tree_parse(invocation->args[0], &id) < 0)
        return wrong_usage("%s", fail_message());
    if (invocation_option(invocation, "json") && invocation_option(invocation, "dot"))
        return wrong_usage("--json and --dot exclude each other");
    struct device *device;
    int result = invocation_open(invocation, false, &device);
    if (result != 0)
        return result;
    struct volume volume;
    result = volume_open(&volume, device, invocation->notes);
    if (result == 0) {
        result = dump_volume(invocation, &volume, all, id);
        volume_close(&volume);
    }
    device_close(device);
    return result;
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
    .doc = "Print a tree, or all trees: every block, item and what it holds.\v"
           "TREE is root, extent, chunk, dev, fs, csum, quota, uuid, free-space, block-group, log, "
           "data-reloc, or a number, such as that of a subvolume. With --json each item and each "
           "pointer is an object on a line of its own. With --dot the shape of the trees is drawn.",
    .max_args = 1,
    .options = dump_options,
    .run = dump_run,
};
