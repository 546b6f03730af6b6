/* coppice replay: a workload over trees in memory, and what it cost. */
#include "command.h"
#include "fail.h"
#include "lab_policies.h"
#include "lab_trace.h"

#include <string.h>

static const struct mix *find_mix(const char *name)
{
    for (const struct mix *mix = mixes; mix->name; mix++)
        if (strcmp(mix->name, name) == 0)
            return mix;
    return NULL;
}

/* --- the command line --------------------------------------------------------------- */

/* A trace may speak of every tree. */
static int no_round(struct replay *replay, uint32_t requests)
{
    (void)replay;
    (void)requests;
    return 0;
}

static int no_setup(struct replay *replay)
{
    (void)replay;
    return 0;
}

static const struct mix trace_mix = {"trace", (1 << REPLAY_TREES) - 1, 0, no_setup, no_round};

/* What the command line says. */
struct words {
    struct lab_setup setup;
    const struct mix *mix;
    const char *trace; /* NULL: a mix */
    bool dot;
    uint64_t requests, seed, log_rounds;
};

static int parse_words(const struct invocation *invocation, struct words *words)
{
    *words = (struct words){.requests = 100000, .seed = 1};
    int result = lab_options(invocation, &words->setup);
    if (result == 0)
        result = invocation_number(invocation, "requests", &words->requests);
    if (result == 0)
        result = invocation_number(invocation, "seed", &words->seed);
    if (result == 0)
        result = invocation_number(invocation, "log-rounds", &words->log_rounds);
    if (result != 0)
        return result;
    const char *name = invocation->nargs > 0 ? invocation->args[0] : NULL;
    words->trace = invocation_option(invocation, "trace");
    words->dot = invocation_option(invocation, "dot");
    words->mix = words->trace ? &trace_mix : name ? find_mix(name) : NULL;
    if (words->trace && name)
        return wrong_usage("a mix or a trace, not both");
    if (words->trace &&
        (invocation_option(invocation, "requests") || invocation_option(invocation, "log-rounds")))
        return wrong_usage("--requests and --log-rounds are for mixes");
    if (invocation_option(invocation, "log-rounds") && words->mix && words->mix->commit_every)
        return wrong_usage("--log-rounds is for relog");
    if (words->dot && (!words->trace || invocation_option(invocation, "json")))
        return wrong_usage("--dot draws the last operation of a --trace, and is no --json");
    if (!words->mix)
        return wrong_usage("%s%s%s; there are relog, overwrite, rndwr, seqwr and streams",
                           name ? "there is no mix '" : "no mix is named", name ? name : "",
                           name ? "'" : "");
    return 0;
}

/* --- the report --------------------------------------------------------------------- */

static int report_trees(struct replay *replay, bool all, struct report *report)
{
    report_list_begin(report, "trees");
    int result = 0;
    for (int i = 0; i < REPLAY_TREES && result == 0; i++) {
        struct lab *lab = &replay->labs[i];
        struct lab_measure measure;
        if (lab->name)
            result = lab_measure(lab, &measure);
        if (!lab->name || result < 0 || measure.items + lab->growth.counters.items_deleted == 0)
            continue; /* nothing was ever in it */
        report_begin(report, NULL);
        report_word(report, "tree", lab->name);
        lab_report_shape(lab, &measure, report);
        if (all)
            lab_report(lab, true, report);
        else
            report_number(report, "splits", lab->growth.counters.splits);
        report_end(report);
    }
    report_list_end(report);
    return result;
}

static int report_replay(const struct invocation *invocation, struct replay *replay,
                         const struct words *words)
{
    struct report report;
    struct lab total;
    bool all = lab_reports_all(invocation);
    enum report_form form = invocation_option(invocation, "json") ? REPORT_JSON : REPORT_COLUMNS;
    int result = lab_open(&total, "total", 0, &words->setup);
    if (result == 0)
        result = report_open(&report, invocation->out, form);
    if (result == 0) {
        lab_zero(&total);
        for (int i = 0; i < REPLAY_TREES; i++)
            if (replay->labs[i].name)
                lab_add(&total, &replay->labs[i]);
        report_begin(&report, "replay");
        report_word(&report, "mix", words->mix->name);
        report_number(&report, "node_size", words->setup.node_size);
        report_number(&report, "requests", replay->requests);
        report_number(&report, "seed", words->seed);
        report_word(&report, "policy", words->setup.policy);
        report_number(&report, "log_rounds", replay->log_rounds);
        lab_report(&total, all, &report);
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
    struct words words;
    struct replay replay;
    int result = parse_words(invocation, &words);
    if (result != 0)
        return result == LAB_HELP ? 0 : result;
    result = replay_open(&replay, words.mix, &words.setup, words.seed, words.log_rounds);
    if (result == 0)
        result = words.trace ? trace_run(&replay, words.trace, words.dot ? invocation->out : NULL)
                             : replay_run(&replay, words.mix, words.requests);
    if (result == 0 && !words.dot)
        result = report_replay(invocation, &replay, &words);
    replay_close(&replay);
    return result;
}

static const struct argp_option replay_options[] = {
    {"requests", 0, "N", 0, "How many requests (default 100000)", 0},
    {"seed", 0, "N", 0, "The same seed gives the same requests (default 1)", 0},
    {"log-rounds", 0, "K", 0, "relog: throw the log away each K rounds (default 0: never)", 0},
    {"trace", 0, "FILE", 0, "Replay the operations in the file, one a line; -, in standard input",
     0},
    LAB_OPTIONS,
    OPTION_JSON,
    {"dot", 0, NULL, 0, "Draw the leaves before and after the last operation of a trace", 0},
    {0},
};

extern const struct command cmd_replay;
const struct command cmd_replay = {
    .name = "replay",
    .args = "MIX\n--trace=FILE",
    .doc =
        "Replay what a workload asks of the trees; show what it cost.\v"
        "MIX is relog (fsync of changed files: their items in the log are dropped and inserted "
        "again), overwrite (extents of aged files, likewise), rndwr and seqwr (sysbench: 8 KiB "
        "writes to 512 files, fsync after each 100), or streams (512 files that grow).\n\n"
        "Lines of a trace: tree NAME (fs, extent, csum, log); insert KEY SIZE; batch N (the next N "
        "lines are one); extend KEY BYTES; truncate KEY SIZE; rekey KEY KEY; delete KEY; drop KEY "
        "KEY; commit; zero (counters begin here). A KEY is three words: 257 EXTENT_DATA 8192.",
    .has_no_image = true,
    .max_args = 1,
    .options = replay_options,
    .run = replay_command,
};
