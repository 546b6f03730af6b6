#include "lab_policies.h"

#include "fail.h"
#include "push.h"

#include <stdlib.h>
#include <string.h>

const char policy_words[] =
    "kernel   room is made as Linux has made it since 2017: push right, push left, split\n"
    "2013     as before November 2013: kernel,-shortcut,-need,-left-discount\n"
    "coppice  kernel,+decide-first,+append,+shortcut-left\n"
    "split    no pushing: a full leaf is divided where the kernel would divide it\n"
    "append   the same; but what comes behind all items begins a new leaf\n"
    "\n"
    "Behind kernel, 2013 and coppice rules may be switched, as in kernel,-shortcut,merge=4:\n"
    "shortcut       what comes behind all items goes to the front of the right leaf if that has "
    "room\n"
    "need           what a leaf has left counts towards what is needed\n"
    "left-discount  and is counted anew for the left neighbour\n"
    "shortcut-left  what comes before all items goes to the end of the left leaf if that has room\n"
    "append         what comes behind all items of the tree begins a new leaf\n"
    "three          two full leaves are split into three\n"
    "decide-first   nothing is shadowed before it is known to change\n"
    "merge=N        a leaf is merged that uses less than 1/N of its room (kernel: 3)\n"
    "balance=N      a node is balanced that has at most 1/N of its pointers (kernel: 4)\n\n";
const char policy_default[] = "kernel";

static bool *rule_named(struct push_policy *policy, const char *name)
{
    const struct {
        const char *name;
        bool *rule;
    } rules[] = {
        {"shortcut", &policy->shortcut},
        {"need", &policy->need},
        {"left-discount", &policy->left_discount},
        {"shortcut-left", &policy->shortcut_left},
        {"append", &policy->append},
        {"three", &policy->three},
    };
    for (size_t i = 0; i < LENGTH_OF(rules); i++)
        if (strcmp(rules[i].name, name) == 0)
            return rules[i].rule;
    return NULL;
}

/* "+shortcut", "-decide-first", "merge=4". */
static int switch_rule(struct push_policy *policy, struct growth *growth, const char *word)
{
    bool on = word[0] == '+';
    bool *rule = *word ? rule_named(policy, word + 1) : NULL;
    uint32_t *divisor = strncmp(word, "merge=", 6) == 0     ? &policy->merge
                        : strncmp(word, "balance=", 8) == 0 ? &policy->balance
                                                            : NULL;
    if (divisor) {
        const char *number = strchr(word, '=') + 1;
        if (strlen(number) != 1 || *number < '2' || *number > '9')
            return fail(EINVAL, "'%s': one part in 2 to 9", word);
        *divisor = (uint32_t)(*number - '0');
        return 0;
    }
    if ((on || word[0] == '-') && strcmp(word + 1, "decide-first") == 0)
        growth->shadow_first = !on;
    else if ((on || word[0] == '-') && rule)
        *rule = on;
    else
        return fail(EINVAL, "'%s' is no rule; +shortcut, -need, merge=4 are", word);
    return 0;
}

/* A policy without switches; the kernel's order of shadowing is for those that are the kernel's. */
static int named(struct push_policy *policy, struct growth *growth, const char *name)
{
    *policy = push_policy_kernel();
    growth->shadow_first = strcmp(name, "kernel") == 0 || strcmp(name, "2013") == 0;
    if (strcmp(name, "kernel") == 0)
        return 0;
    if (strcmp(name, "2013") == 0)
        *policy = push_policy_2013();
    else if (strcmp(name, "coppice") == 0)
        *policy = push_policy_coppice();
    else if (strcmp(name, "split") == 0)
        policy->policy = split_policy;
    else if (strcmp(name, "append") == 0)
        policy->policy = append_policy;
    else
        return fail(EINVAL, "there is no policy '%s'; --policy=help tells which there are", name);
    return 0;
}

int policy_open(const char *text, struct growth *growth)
{
    struct push_policy *policy = malloc(sizeof *policy);
    char *words = strdup(text), *rest = words;
    int result = policy && words ? 0 : fail(ENOMEM, "out of memory for the policy");
    if (result == 0)
        result = named(policy, growth, strsep(&rest, ","));
    if (result == 0 && rest && policy->policy.leaf != push_make_leaf_room)
        result = fail(EINVAL, "'%s': there is no rule to switch in this policy", text);
    for (char *word; result == 0 && (word = strsep(&rest, ","));)
        result = switch_rule(policy, growth, word);
    free(words);
    if (result < 0)
        free(policy);
    growth->policy = result == 0 ? &policy->policy : NULL;
    return result;
}

void policy_close(struct growth *growth)
{
    free(growth->policy);
    growth->policy = NULL;
}

/* --- counters ----------------------------------------------------------------------- */

static struct push_counters *counters_of(const struct growth *growth)
{
    return &((struct push_policy *)growth->policy)->counters;
}

void policy_zero(struct growth *growth)
{
    *counters_of(growth) = (struct push_counters){0};
}

void policy_add(struct growth *growth, const struct growth *more)
{
    struct push_counters *to = counters_of(growth);
    const struct push_counters *from = counters_of(more);
    for (int reason = 0; reason < PUSH_REASONS; reason++)
        for (int outcome = 0; outcome < PUSH_OUTCOMES; outcome++) {
            to->right[reason][outcome] += from->right[reason][outcome];
            to->left[reason][outcome] += from->left[reason][outcome];
        }
    to->shortcuts_left += from->shortcuts_left;
    to->threes += from->threes;
    to->merged += from->merged;
    to->node_pushes += from->node_pushes;
    to->balances += from->balances;
}

static uint64_t by_splits(uint64_t counts[PUSH_REASONS][PUSH_OUTCOMES], enum push_outcome outcome)
{
    return counts[PUSH_FOR_SPLIT][outcome] + counts[PUSH_FOR_DOUBLE][outcome];
}

static uint64_t by_deletion(uint64_t counts[PUSH_REASONS][PUSH_OUTCOMES], enum push_outcome outcome)
{
    return counts[PUSH_FOR_DELETE][outcome];
}

/* Calls by outcome, under names that begin with `name`. The outcomes of calls that went in vain are
 * among all counters only. */
static void report_pushes(struct report *report, const char *name, bool all, bool has_shortcut,
                          uint64_t counts[PUSH_REASONS][PUSH_OUTCOMES],
                          uint64_t (*sum)(uint64_t counts[PUSH_REASONS][PUSH_OUTCOMES],
                                          enum push_outcome outcome))
{
    static const char *const outcomes[PUSH_OUTCOMES] = {
        "no_neighbour", "no_room", "nothing_fits", "moved", "shortcut",
    };
    uint64_t calls = 0;
    for (int outcome = 0; outcome < PUSH_OUTCOMES; outcome++)
        calls += sum(counts, outcome);
    char field[64];
    snprintf(field, sizeof field, "%s_calls", name);
    report_number(report, field, calls);
    for (int outcome = PUSH_OUTCOMES; outcome-- > (all ? 0 : PUSH_MOVED);) {
        if (outcome == PUSH_SHORTCUT && !has_shortcut)
            continue;
        snprintf(field, sizeof field, "%s_%s", name, outcomes[outcome]);
        report_number(report, field, sum(counts, outcome));
    }
}

void policy_report(const struct growth *growth, bool all, struct report *report)
{
    struct push_counters *counters = counters_of(growth);
    report_pushes(report, "push_right", all, true, counters->right, by_splits);
    report_pushes(report, "push_left", all, false, counters->left, by_splits);
    if (!all)
        return;
    report_pushes(report, "delete_push_right", all, false, counters->right, by_deletion);
    report_pushes(report, "delete_push_left", all, false, counters->left, by_deletion);
    report_number(report, "shortcuts_left", counters->shortcuts_left);
    report_number(report, "splits_into_three", counters->threes);
    report_number(report, "leaves_merged", counters->merged);
    report_number(report, "node_pushes", counters->node_pushes);
    report_number(report, "node_balances", counters->balances);
}
