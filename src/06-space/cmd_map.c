/* coppice map IMAGE: what lies where on the device. */
#include "fail.h"
#include "item.h"
#include "map.h"
#include "volume_command.h"

static const char *const kinds[] = {"reserved", "unallocated", "stripe"};

static void report_entry(const struct map_entry *entry, struct report *report)
{
    report_begin(report, kinds[entry->kind]);
    report_number(report, "at", entry->start);
    report_number(report, "length", entry->length);
    if (entry->kind == MAP_STRIPE) {
        report_number(report, "chunk", entry->group->start);
        report_flags(report, "type", entry->group->flags, block_group_flag_name);
        report_number(report, "copy", entry->copy);
        report_number(report, "used", entry->group->used);
        report_number(report, "blocks", entry->blocks);
        report_number(report, "data_extents", entry->data_extents);
    }
    report_end(report);
}

static int show(struct invocation *invocation, const struct map *map)
{
    struct report report;
    bool json = invocation_option(invocation, "json");
    int result = report_open(&report, invocation->out, json ? REPORT_JSON : REPORT_LINES);
    if (result < 0)
        return result;
    for (size_t i = 0; i < map->count; i++)
        report_entry(&map->entries[i], &report);
    report_close(&report);
    return 0;
}

static int use(struct invocation *invocation, struct volume *volume, const void *context)
{
    struct block_groups groups;
    struct map map;
    (void)context;
    int result = block_groups_open(&groups, volume);
    if (result < 0)
        return result;
    result = map_open(&map, volume, &groups);
    if (result == 0) {
        if (invocation_option(invocation, "dot"))
            map_draw(&map, volume, invocation->out);
        else
            result = show(invocation, &map);
        map_close(&map);
    }
    block_groups_close(&groups);
    return result;
}

static int run(struct invocation *invocation)
{
    if (invocation_option(invocation, "dot") && invocation_option(invocation, "json"))
        return wrong_usage("--dot is no --json");
    return volume_command(invocation, use, NULL);
}

static const struct argp_option options[] = {OPTION_DOT, OPTION_JSON, {0}};

const struct command cmd_map = {
    .name = "map",
    .args = "IMAGE",
    .doc = "Show what lies where on the device.\v"
           "Each line is a stretch of the device: a copy of a chunk, with what is used of it and "
           "how many tree blocks and extents of data lie in it; or room that no chunk has.",
    .options = options,
    .run = run,
};
