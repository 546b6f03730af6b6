/* coppice leaf, with the chunk map: one read for each copy of the block. */
#include "fail.h"
#include "leaf_report.h"
#include "volume_command.h"

static int show_leaf(struct invocation *invocation, struct volume *volume, const void *context)
{
    const uint64_t *bytenr = context;
    struct block *block;
    int result = read_source_get_any(&volume->source, *bytenr, &block);
    if (result < 0)
        return result;
    result = leaf_show(invocation, block, &volume->super);
    volume->source.source.put(&volume->source.source, block);
    return result;
}

static int leaf_run(struct invocation *invocation)
{
    uint64_t bytenr;
    if (parse_number(invocation->args[0], &bytenr) < 0)
        return wrong_usage("%s", fail_message());
    return volume_command(invocation, show_leaf, &bytenr);
}

extern const struct command cmd_leaf;
const struct command cmd_leaf = {
    .name = "leaf",
    .args = "IMAGE BYTENR",
    .doc = "Show the leaf at a logical address, item by item.",
    .min_args = 1,
    .max_args = 1,
    .options = leaf_options,
    .run = leaf_run,
};
