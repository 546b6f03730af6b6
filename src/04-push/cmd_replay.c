/* coppice replay: a workload over trees in memory, and what it cost. */
#include "command.h"
#include "fail.h"
#include "lab_policies.h"
#include "lab_replay.h"

#include <string.h>

static const struct mix *find_mix(const char *name)
{
    for (const struct mix *mix = mixes; mix->name; mix++)
        if (strcmp(mix->name, name) == 0)
            return mix;
    return NULL;
}

/* --- the report --------------------------------------------------------------------- */

static int report_trees(struct replay *replay, bool all, struct report *report)
{
    report_list_begin(report, "trees");
    int result = 0;
    for (int i = 0; i < REPLAY_TREES && result == 0; i++) {
        struct lab *lab = &replay->labs[i];
        if (!lab->name)
            continue;
        struct lab_measure measure;
        result = lab_measure(lab, &measure);
        report_begin(report, "tree");
        report_word(report, "tree", lab->name);
        lab_report(lab, &measure, all, report);
        report_end(report);
    }
    report_list_end(report);
    return result;
}

static int report_replay(const struct invocation *invocation, struct replay *replay,
                         const char *mix, const struct lab_setup *setup, uint64_t seed)
{
    struct report report;
    struct lab total;
    bool all = lab_reports_all(invocation);
    enum report_form form = invocation_option(invocation, "json") ? REPORT_JSON : REPORT_COLUMNS;
    int result = lab_open(&total, "total", 0, setup);
    if (result == 0)
        result = report_open(&report, invocation->out, form);
    if (result == 0) {
        lab_zero(&total);
        for (int i = 0; i < REPLAY_TREES; i++)
            if (replay->labs[i].name)
                lab_add(&total, &replay->labs[i]);
        report_begin(&report, "replay");
        report_word(&report, "mix", mix);
        report_number(&report, "node_size", setup->node_size);
        report_number(&report, "requests", replay->requests);
        report_number(&report, "seed", seed);
        report_word(&report, "policy", setup->policy);
        report_number(&report, "log_rounds", replay->log_rounds);
        lab_report(&total, NULL, all, &report);
        result = report_trees(replay, all, &report);
        report_end(&report);
        report_close(&report);
    }
    lab_close(&total);
    return result;
}

/* --- the command -------------------------------------------------------------------- */

static int replay_command(struct invocation *invocation)
{
    struct lab_setup setup;
    uint64_t requests = 100000, seed = 1, log_rounds = 0;
    int result = lab_options(invocation, &setup);
    if (result == 0)
        result = invocation_number(invocation, "requests", &requests);
    if (result == 0)
        result = invocation_number(invocation, "seed", &seed);
    if (result == 0)
        result = invocation_number(invocation, "log-rounds", &log_rounds);
    if (result != 0)
        return result;
    const struct mix *mix = find_mix(invocation->args[0]);
    if (!mix)
        return wrong_usage("there is no mix '%s'", invocation->args[0]);

    struct replay replay;
    result = replay_open(&replay, mix, &setup, seed, log_rounds);
    if (result == 0)
        result = replay_run(&replay, mix, requests);
    if (result == 0)
        result = report_replay(invocation, &replay, mix->name, &setup, seed);
    replay_close(&replay);
    return result;
}

static const struct argp_option replay_options[] = {
    {"requests", 0, "N", 0, "How many requests: 100000", 0},
    {"seed", 0, "N", 0, "The same seed gives the same requests: 1", 0},
    {"log-rounds", 0, "K", 0, "Throw the log away each K rounds; 0, never", 0},
    LAB_OPTIONS,
    OPTION_JSON,
    {0},
};

extern const struct command cmd_replay;
const struct command cmd_replay = {
    .name = "replay",
    .args = "MIX",
    .doc = "Replay a workload.",
    .has_no_image = true,
    .min_args = 1,
    .max_args = 1,
    .options = replay_options,
    .run = replay_command,
};
