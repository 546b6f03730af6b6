#include "range_set.h"

#include "fail.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void range_set_close(struct range_set *set)
{
    free(set->ranges);
    *set = (struct range_set){0};
}

size_t range_set_find(const struct range_set *set, uint64_t address)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Puts `count` ranges in place of `replaced` ones at `at`. */
static int replace(struct range_set *set, size_t at, size_t replaced, const struct range *ranges,
                   size_t count)
{
    size_t needed = set->count - replaced + count;
    if (needed > set->capacity) {
        size_t capacity = set->capacity ? 2 * set->capacity : 8;
        struct range *grown = realloc(set->ranges, capacity * sizeof *grown);
        if (!grown)
            return fail(ENOMEM, "out of memory for %zu ranges", capacity);
        set->ranges = grown;
        set->capacity = capacity;
    }
    memmove(set->ranges + at + count, set->ranges + at + replaced,
            (set->count - at - replaced) * sizeof *ranges);
    if (count)
        memcpy(set->ranges + at, ranges, count * sizeof *ranges);
    set->count = needed;
    return 0;
}

int range_set_add(struct range_set *set, uint64_t start, uint64_t end)
{
    assert(start < end);
    size_t at = range_set_find(set, start);
    const struct range *behind = at < set->count ? &set->ranges[at] : NULL;
    if (behind && behind->start < end)
        return fail(EEXIST, "[%" PRIu64 ", %" PRIu64 ") is there already, from %" PRIu64 " on",
                    start, end, behind->start);
    bool touches_before = at > 0 && set->ranges[at - 1].end == start;
    bool touches_behind = behind && behind->start == end;
    struct range joined = {
        touches_before ? set->ranges[at - 1].start : start,
        touches_behind ? behind->end : end,
    };
    int result =
        replace(set, at - touches_before, (size_t)touches_before + touches_behind, &joined, 1);
    if (result == 0)
        set->bytes += end - start;
    return result;
}

int range_set_remove(struct range_set *set, uint64_t start, uint64_t end)
{
    assert(start < end);
    size_t at = range_set_find(set, start);
    const struct range *holder = at < set->count ? &set->ranges[at] : NULL;
    if (!holder || holder->start > start || holder->end < end)
        return fail(ENOENT, "[%" PRIu64 ", %" PRIu64 ") is not there, or not all of it", start,
                    end);
    struct range left[2];
    size_t count = 0;
    if (holder->start < start)
        left[count++] = (struct range){holder->start, start};
    if (end < holder->end)
        left[count++] = (struct range){end, holder->end};
    int result = replace(set, at, 1, left, count);
    if (result == 0)
        set->bytes -= end - start;
    return result;
}

int range_set_clear(struct range_set *set, uint64_t start, uint64_t end)
{
    int result = 0;
    size_t at = range_set_find(set, start);
    while (result == 0 && at < set->count && set->ranges[at].start < end) {
        const struct range *range = &set->ranges[at];
        result = range_set_remove(set, range->start > start ? range->start : start,
                                  range->end < end ? range->end : end);
        at = range_set_find(set, start);
    }
    return result;
}
