#include "lab_policies.h"

#include "fail.h"
#include "split.h"

#include <string.h>

const char policy_words[] =
    "split    a full leaf is divided where the kernel would divide it\n"
    "append   the same; but what comes behind all items begins a new leaf\n";
const char policy_default[] = "split";

int policy_open(const char *text, struct growth *growth)
{
    if (strcmp(text, "split") == 0)
        growth->policy = &split_policy;
    else if (strcmp(text, "append") == 0)
        growth->policy = &append_policy;
    else
        return fail(EINVAL, "there is no policy '%s'; --policy=help tells which there are", text);
    return 0;
}

/* These policies have no memory and no counters of their own. */

void policy_close(struct growth *growth)
{
    growth->policy = NULL;
}

void policy_zero(struct growth *growth)
{
    (void)growth;
}

void policy_add(struct growth *growth, const struct growth *more)
{
    (void)growth;
    (void)more;
}

void policy_report(const struct growth *growth, bool all, struct report *report)
{
    (void)growth;
    (void)all;
    (void)report;
}
