#include "support_rules.h"

struct push_policy rules_make(unsigned number)
{
    struct push_policy rules = push_policy_2013();
    rules.shortcut = number & 1;
    rules.need = number & 2;
    rules.left_discount = number & 4;
    rules.shortcut_left = number & 8;
    rules.append = number & 16;
    rules.three = number & 32;
    rules.merge = number & 64 ? 4 : 3;
    rules.balance = number & 128 ? 2 : 4;
    return rules;
}

void rules_open(struct grove *grove, struct push_policy *rules, uint32_t node_size,
                const struct growth *limits, uint64_t seed)
{
    struct growth growth = *limits;
    growth.policy = &rules->policy;
    grove_open(grove, node_size, &growth, seed);
    grove->remove = tree_delete;
    grove->remove_range = tree_delete_range;
}

void rules_sum(struct push_counters *sum, const struct push_counters *counters)
{
    for (unsigned reason = 0; reason < PUSH_REASONS; reason++)
        for (unsigned outcome = 0; outcome < PUSH_OUTCOMES; outcome++) {
            sum->right[reason][outcome] += counters->right[reason][outcome];
            sum->left[reason][outcome] += counters->left[reason][outcome];
        }
    sum->shortcuts_left += counters->shortcuts_left;
    sum->threes += counters->threes;
    sum->merged += counters->merged;
    sum->node_pushes += counters->node_pushes;
    sum->balances += counters->balances;
}
