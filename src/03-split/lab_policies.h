/* Policies by name, for the commands of the laboratory. Which names there are is each chapter's
 * own: a later lab_policies.c takes the place of an earlier one.
 */
#ifndef LAB_POLICIES_H
#define LAB_POLICIES_H

#include "growth.h"
#include "report.h"

/* What --policy=help prints: the names, and what they are, in lines. */
extern const char policy_words[];

/* The one that is taken when none is named. */
extern const char policy_default[];

/* Gives `growth` the policy that the text names, with counters at zero; policy_close frees it.
 * EINVAL, ENOMEM. */
int policy_open(const char *text, struct growth *growth);
void policy_close(struct growth *growth);

/* The counters of the policy: sets them to zero, adds those of `more` (a policy of the same name),
 * reports those that matter most, or all, as fields of the open record. */
void policy_zero(struct growth *growth);
void policy_add(struct growth *growth, const struct growth *more);
void policy_report(const struct growth *growth, bool all, struct report *report);

#endif
