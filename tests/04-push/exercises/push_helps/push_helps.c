/* Exercise of chapter 04: will a push have been of use?
 *
 * push_plan says how many items go. Afterwards the new item stands here or over there, and that leaf
 * has room for it or has not. `cost` is what the new item takes in all; question->need may be less.
 * This stub is an optimist. */
#include "push.h"

bool push_helps(const struct push_question *question, uint32_t cost);

bool push_helps(const struct push_question *question, uint32_t cost)
{
    (void)cost;
    return push_plan(question) > 0;
}
