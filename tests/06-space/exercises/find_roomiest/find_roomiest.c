/* Exercise of chapter 06: another policy of giving out.
 *
 * Of all ranges of the set in which `length` bytes have an aligned place, the longest; of those that
 * are as long as each other, the first. True and *bytenr, the first aligned place in it; false where
 * there is none, and *bytenr is as it was. This stub takes the first that will do. */
#include "range_set.h"

bool find_roomiest(const struct range_set *set, uint64_t length, uint64_t align, uint64_t *bytenr);

bool find_roomiest(const struct range_set *set, uint64_t length, uint64_t align, uint64_t *bytenr)
{
    for (size_t i = 0; i < set->count; i++) {
        uint64_t start = (set->ranges[i].start + align - 1) / align * align;
        if (start < set->ranges[i].end && set->ranges[i].end - start >= length) {
            *bytenr = start;
            return true;
        }
    }
    return false;
}
