#include "delayed_ref.h"

#include "fail.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>

static int compare_bytenr(const void *a, const void *b)
{
    const struct delayed_extent *one = a, *other = b;
    uint64_t x = one->extent.bytenr, y = other->extent.bytenr;
    return x < y ? -1 : x > y;
}

void delayed_extent_free(struct delayed_extent *extent)
{
    free(extent->refs);
    free(extent);
}

struct delayed_extent *delayed_refs_find(const struct delayed_refs *refs, uint64_t bytenr)
{
    struct delayed_extent wanted = {.extent.bytenr = bytenr};
    struct delayed_extent **found = tfind(&wanted, &refs->extents, compare_bytenr);
    return found ? *found : NULL;
}

/* Finds the extent on the list, or puts it there. */
static int find_or_add(struct delayed_refs *refs, const struct extent *extent,
                       struct delayed_extent **found)
{
    *found = delayed_refs_find(refs, extent->bytenr);
    if (*found) {
        assert((*found)->extent.num_bytes == extent->num_bytes);
        return 0;
    }
    struct delayed_extent *new = calloc(1, sizeof *new);
    if (new)
        new->extent = *extent;
    if (!new || !tsearch(new, &refs->extents, compare_bytenr)) {
        free(new);
        return fail(ENOMEM, "out of memory for a reference to extent %" PRIu64, extent->bytenr);
    }
    refs->count++;
    *found = new;
    return 0;
}

static int add_ref(struct delayed_extent *at, const struct extent_ref *ref, int64_t delta)
{
    for (size_t i = 0; i < at->count; i++)
        if (extent_ref_compare(&at->refs[i].ref, ref) == 0) {
            at->refs[i].delta += delta;
            return 0;
        }
    if (at->count == at->capacity) {
        size_t capacity = at->capacity ? 2 * at->capacity : 2;
        struct delayed_ref *grown = realloc(at->refs, capacity * sizeof *grown);
        if (!grown)
            return fail(ENOMEM, "out of memory for a reference to extent %" PRIu64,
                        at->extent.bytenr);
        at->refs = grown;
        at->capacity = capacity;
    }
    at->refs[at->count++] = (struct delayed_ref){*ref, delta};
    return 0;
}

int delayed_refs_add(struct delayed_refs *refs, const struct extent *extent,
                     const struct extent_ref *ref, int64_t delta, bool is_new)
{
    struct delayed_extent *at;
    assert(!is_new || !delayed_refs_find(refs, extent->bytenr));
    int result = find_or_add(refs, extent, &at);
    if (result < 0)
        return result;
    bool was_empty = at->count == 0 && at->flags == 0;
    result = add_ref(at, ref, delta);
    if (result < 0 && was_empty)
        delayed_refs_forget(refs, at);
    else if (is_new)
        at->is_new = true;
    return result;
}

int delayed_refs_set_flags(struct delayed_refs *refs, const struct extent *extent, uint64_t flags)
{
    struct delayed_extent *at;
    int result = find_or_add(refs, extent, &at);
    if (result == 0)
        at->flags |= flags;
    return result;
}

int64_t delayed_extent_sum(const struct delayed_extent *extent)
{
    int64_t sum = 0;
    for (size_t i = 0; i < extent->count; i++)
        sum += extent->refs[i].delta;
    return sum;
}

void delayed_refs_forget(struct delayed_refs *refs, struct delayed_extent *extent)
{
    tdelete(extent, &refs->extents, compare_bytenr);
    refs->count--;
    delayed_extent_free(extent);
}

/* --- working off -------------------------------------------------------------------- */

struct gathered {
    struct delayed_extent **list;
    size_t count;
};

static void gather(const void *node, VISIT order, void *closure)
{
    struct gathered *all = closure;
    if (order == postorder || order == leaf)
        all->list[all->count++] = *(struct delayed_extent *const *)node;
}

static void keep_extent(void *extent)
{
    (void)extent;
}

int delayed_refs_take(struct delayed_refs *refs, struct delayed_extent ***list, size_t *count)
{
    struct gathered all = {malloc((refs->count + 1) * sizeof(void *)), 0};
    if (!all.list)
        return fail(ENOMEM, "out of memory for %zu delayed references", refs->count);
    twalk_r(refs->extents, gather, &all);
    assert(all.count == refs->count);
    tdestroy(refs->extents, keep_extent);
    *refs = (struct delayed_refs){0};
    *list = all.list;
    *count = all.count;
    return 0;
}

void delayed_refs_close(struct delayed_refs *refs)
{
    while (refs->extents)
        delayed_refs_forget(refs, *(struct delayed_extent **)refs->extents);
}
