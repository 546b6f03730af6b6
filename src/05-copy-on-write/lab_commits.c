#include "lab_commits.h"

#include "delete.h"
#include "fail.h"
#include "insert.h"

#include <stdlib.h>
#include <string.h>

/* --- the space that watches --------------------------------------------------------- */

static struct lab_watch *watch_of(struct space *space)
{
    struct lab_watch *watch = (struct lab_watch *)space; /* its first member */
    watch->under->transaction = space->transaction;
    return watch;
}

static int add_event(struct lab_watch *watch, const struct lab_event *event)
{
    if (watch->count == watch->capacity) {
        size_t capacity = watch->capacity ? 2 * watch->capacity : 64;
        struct lab_event *grown = realloc(watch->events, capacity * sizeof *grown);
        if (!grown)
            return fail(ENOMEM, "out of memory for %zu events", capacity);
        watch->events = grown;
        watch->capacity = capacity;
    }
    watch->events[watch->count++] = *event;
    return 0;
}

static int watch_alloc(struct space *space, struct tree *tree, uint8_t level, uint64_t *bytenr)
{
    struct lab_watch *watch = watch_of(space);
    int result = watch->under->alloc(watch->under, tree, level, bytenr);
    if (result < 0)
        return result;
    struct lab_event event = {LAB_ALLOCATE, tree->id, level, *bytenr, 0, false};
    watch->has_alloc = true;
    watch->has_shared = false;
    return add_event(watch, &event);
}

static int watch_free(struct space *space, struct tree *tree, const struct block *block)
{
    struct lab_watch *watch = watch_of(space);
    int result = watch->under->free(watch->under, tree, block);
    if (watch->has_alloc && watch->has_shared) {
        struct lab_event *event = &watch->events[watch->count - 1];
        event->kind = LAB_SHADOW;
        event->from = block->bytenr;
        watch->has_alloc = watch->has_shared = false;
        return result;
    }
    struct lab_event event = {LAB_FREE,      tree->id, block_level(block),
                              block->bytenr, 0,        watch->has_shared};
    watch->has_alloc = watch->has_shared = false;
    return result < 0 ? result : add_event(watch, &event);
}

static int watch_shared(struct space *space, struct tree *tree, const struct block *block)
{
    struct lab_watch *watch = watch_of(space);
    watch->has_shared = true;
    return watch->under->shared(watch->under, tree, block);
}

static int watch_settle(struct space *space)
{
    struct lab_watch *watch = watch_of(space);
    return watch->under->settle(watch->under);
}

static void watch_committed(struct space *space, bool is_on_device)
{
    struct lab_watch *watch = watch_of(space);
    watch->under->committed(watch->under, is_on_device);
}

/* --- the series --------------------------------------------------------------------- */

/* An unknown type: its data may be anything. */
enum { LAB_ITEM_TYPE = 2, LAB_IMAGE_BYTES = 80 << 20 };

static struct key random_key(struct seeded *seeded)
{
    return (struct key){FIRST_FREE_OBJECTID + seeded_below(seeded, 1 << 20), LAB_ITEM_TYPE,
                        seeded_below(seeded, 1 << 20)};
}

/* Deletes the item at or behind a random place; where there is none, nothing. */
static int delete_random(struct tree *tree, struct seeded *seeded)
{
    struct path path = {0};
    struct key key = random_key(seeded);
    int result = tree_seek(tree, &key, &path);
    if (result != 0)
        return result < 0 ? result : 0;
    key = path_key(&path);
    path_release(tree, &path);
    return tree_delete(tree, &key);
}

static int change(struct tree *tree, struct seeded *seeded, uint32_t item_size)
{
    if (seeded_below(seeded, 2))
        return delete_random(tree, seeded);
    struct key key = random_key(seeded);
    int result = tree_insert(tree, &key, NULL, item_size);
    return result == -EEXIST ? 0 : result;
}

struct key lab_commits_next_key(const struct lab_commits *commits)
{
    struct seeded seeded = commits->seeded;
    seeded_next(&seeded); /* which says whether it is an insertion */
    return random_key(&seeded);
}

static void begin(struct lab_commits *commits)
{
    commits->watch.count = 0;
    recording_device_events(commits->image.device, &commits->device_events);
    transaction_begin(&commits->transaction, &commits->image.volume, &commits->watch.space);
}

/* Ends the transaction, whose counters stay. */
static int finish(struct lab_commits *commits, int result)
{
    if (result == 0)
        return transaction_commit(&commits->transaction);
    transaction_abort(&commits->transaction);
    return result;
}

int lab_commits_run(struct lab_commits *commits, uint64_t changes, uint32_t item_size)
{
    struct tree *tree;
    begin(commits);
    int result = transaction_tree(&commits->transaction, LAB_TREE, &tree);
    for (uint64_t i = 0; i < changes && result == 0; i++)
        result = change(tree, &commits->seeded, item_size);
    return finish(commits, result);
}

static int fill(struct lab_commits *commits, const struct lab_commits_setup *setup)
{
    struct root_item item = {.refs = to_le32(1), .root_dirid = to_le64(FIRST_FREE_OBJECTID)};
    struct tree *tree;
    begin(commits);
    int result = transaction_new_tree(&commits->transaction, LAB_TREE, &item, &tree);
    for (uint64_t i = 0; i < setup->items && result == 0; i++) {
        struct key key = random_key(&commits->seeded);
        result = tree_insert(tree, &key, NULL, setup->item_size);
        if (result == -EEXIST)
            result = 0;
    }
    return finish(commits, result);
}

int lab_commits_open(struct lab_commits *commits, const struct lab_commits_setup *setup)
{
    uint64_t bytes = LAB_IMAGE_BYTES + 16 * setup->items * setup->item_size;
    *commits = (struct lab_commits){.seeded.state = setup->seed};
    int result = lab_image_open(&commits->image, setup->space, bytes, setup->node_size);
    if (result < 0)
        return result;
    commits->watch = (struct lab_watch){
        .space = {watch_alloc, watch_free, watch_shared, watch_settle, watch_committed, NULL},
        .under = commits->image.space,
    };
    result = fill(commits, setup);
    if (result < 0)
        lab_commits_close(commits);
    return result;
}

void lab_commits_close(struct lab_commits *commits)
{
    lab_image_close(&commits->image);
    free(commits->watch.events);
}

/* --- the report --------------------------------------------------------------------- */

static void report_tree(struct report *report, uint64_t id)
{
    char text[TREE_NAME_SIZE];
    struct tree tree = {.id = id};
    report_word(report, "tree", tree_name(&tree, text));
}

static void report_event(struct report *report, const struct lab_event *event)
{
    static const char *const kinds[] = {"shadow", "allocate", "free"};
    report_begin(report, kinds[event->kind]);
    report_tree(report, event->tree);
    report_number(report, "level", event->level);
    if (event->kind == LAB_SHADOW)
        report_number(report, "from", event->from);
    report_number(report, event->kind == LAB_SHADOW ? "to" : "block", event->bytenr);
    if (event->kind == LAB_FREE)
        report_bool(report, "pinned", event->is_pinned);
    report_end(report);
}

/* What a write of the device was: a superblock, or a copy of the block whose header it bears. */
static void report_write(struct report *report, const struct device_event *event)
{
    for (int mirror = 0; mirror < SUPERBLOCK_MIRRORS; mirror++)
        if (event->offset == superblock_offset(mirror)) {
            report_begin(report, "write superblock");
            report_number(report, "mirror", (uint64_t)mirror);
            report_number(report, "at", event->offset);
            report_end(report);
            return;
        }
    const struct block_header *header = event->data;
    report_begin(report, "write block");
    report_tree(report, from_le64(header->owner));
    report_number(report, "level", header->level);
    report_number(report, "block", from_le64(header->bytenr));
    report_number(report, "at", event->offset);
    report_end(report);
}

static void report_device(const struct lab_commits *commits, struct report *report)
{
    size_t count;
    const struct device_event *events = recording_device_events(commits->image.device, &count);
    for (size_t i = commits->device_events; i < count; i++) {
        if (events[i].type == DEVICE_WRITE)
            report_write(report, &events[i]);
        if (events[i].type == DEVICE_FLUSH) {
            report_begin(report, "flush");
            report_end(report);
        }
    }
}

int lab_commits_report(const struct lab_commits *commits, struct report *report)
{
    report_list_begin(report, "space");
    for (size_t i = 0; i < commits->watch.count; i++)
        report_event(report, &commits->watch.events[i]);
    report_list_end(report);
    report_list_begin(report, "device");
    report_device(commits, report);
    report_list_end(report);
    return 0;
}
