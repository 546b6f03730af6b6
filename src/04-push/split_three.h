/* Two full leaves into three: an alternative to dividing one in the middle. Each of the three is
 * two thirds full afterwards, where a split leaves two halves; the price is that two leaves change
 * and not one. B*-trees do this (Knuth, The Art of Computer Programming 3, 6.2.4); Btrfs does not.
 */
#ifndef SPLIT_THREE_H
#define SPLIT_THREE_H

#include "push.h"

/* Where to divide: `costs` holds what the items of both leaves cost, and the new one among them, in
 * key order. The first *left of them stay left, the last *right stay right, those between go into
 * the new leaf. False where that cannot be done evenly. */
bool split_three_plan(const uint32_t *costs, uint32_t count, uint32_t room, uint32_t *left,
                      uint32_t *right);

/* Divides the leaf of the path and a neighbour; 0, also when it was not possible, or an error. */
int split_three(struct push_policy *rules, struct tree *tree, struct path *path,
                const struct room *room);

#endif
