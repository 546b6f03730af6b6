#include "leaf_report.h"

#include "fail.h"

void leaf_report(const struct block *leaf, const struct item_context *context,
                 struct report *report)
{
    uint32_t nritems = block_nritems(leaf);
    report_begin(report, "leaf");
    report_number(report, "bytenr", leaf->bytenr);
    report_number(report, "level", 0);
    report_number(report, "nritems", nritems);
    report_number(report, "free_space", leaf_free_space(leaf));
    report_number(report, "generation", block_generation(leaf));
    report_named(report, "owner", block_owner_id(leaf), objectid_name(block_owner_id(leaf)));
    report_list_begin(report, "items");
    for (uint32_t slot = 0; slot < nritems; slot++)
        item_report(leaf, slot, context, NULL, report);
    report_list_end(report);
    report_end(report);
}

int leaf_show(const struct invocation *invocation, const struct block *leaf,
              const struct superblock *super)
{
    struct item_context context = item_context_of(super);
    if (invocation_option(invocation, "json") && invocation_option(invocation, "dot"))
        return wrong_usage("--json and --dot exclude each other");
    if (block_level(leaf) > 0)
        return fail(EINVAL, "block %" PRIu64 " is a node of level %u, not a leaf", leaf->bytenr,
                    block_level(leaf));
    int result = leaf_check(leaf, &context);
    if (result < 0)
        return result;
    if (invocation_option(invocation, "dot")) {
        leaf_dot(leaf, invocation->out);
        return 0;
    }
    struct report report;
    enum report_form form = invocation_option(invocation, "json") ? REPORT_JSON : REPORT_LINES;
    result = report_open(&report, invocation->out, form);
    if (result < 0)
        return result;
    leaf_report(leaf, &context, &report);
    report_close(&report);
    return 0;
}

const struct argp_option leaf_options[] = {OPTION_JSON, OPTION_DOT, {0}};
