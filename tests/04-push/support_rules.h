/* Push policies for tests: every combination of switches. */
#ifndef SUPPORT_RULES_H
#define SUPPORT_RULES_H

#include "delete.h"
#include "push_node.h"
#include "split_three.h"
#include "support_grove.h"

enum { RULES = 256, RULES_KERNEL = 7 }; /* combinations; which of them is the kernel's */

/* Combination `number`: bit 0 shortcut, 1 need, 2 left_discount, 3 shortcut_left, 4 append, 5
 * three; 6 merges below a quarter and not a third, 7 balances at a half and not a quarter. */
struct push_policy rules_make(unsigned number);

/* An empty grove that grows and shrinks by these rules, which it keeps using. */
void rules_open(struct grove *grove, struct push_policy *rules, uint32_t node_size,
                const struct growth *limits, uint64_t seed);

/* Adds the counters of one to the other. */
void rules_sum(struct push_counters *sum, const struct push_counters *counters);

#endif
