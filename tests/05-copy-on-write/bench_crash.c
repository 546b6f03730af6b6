/* What does a power cut leave, at each point of one commit?
 *
 * The device keeps a record. It is played again on two other devices: one has what was safe at the
 * last flush, one has all that was written. What a cut leaves lies between the two. A write that is
 * torn has its first half on the device and, behind it, what was there before. */
#include "bench.h"
#include "fail.h"
#include "lab_commits.h"

enum { IMAGE_BYTES = 80 << 20, ITEMS = 20000, ITEM_SIZE = 100 };

static void must(int result)
{
    if (result < 0) {
        fprintf(stderr, "%s\n", fail_message());
        exit(1);
    }
}

/* --- what an image is worth --------------------------------------------------------- */

struct worth {
    uint64_t generation;
    int mirror; /* the superblock that says so */
};

static int count_block(const struct block *block, void *context)
{
    (void)block;
    ++*(uint64_t *)context;
    return 0;
}

/* Of an image of which all trees can be read to the end; another one ends the program. */
static struct worth worth_of(struct device *device)
{
    static struct notes notes;
    struct volume volume;
    struct tree tree;
    uint64_t blocks = 0;
    must(volume_open(&volume, device, &notes));
    must(volume_tree(&volume, ROOT_TREE_OBJECTID, &tree));
    must(tree_walk(&tree, count_block, &blocks));
    must(volume_tree(&volume, LAB_TREE, &tree));
    must(tree_walk(&tree, count_block, &blocks));
    struct worth worth = {from_le64(volume.super.generation), volume.mirror};
    volume_close(&volume);
    return worth;
}

/* --- playing ------------------------------------------------------------------------ */

static void play(struct device *device, const struct device_event *event)
{
    if (event->type == DEVICE_WRITE)
        must(device_write(device, event->offset, event->data, event->length));
}

/* The first half alone of a write. */
static struct worth worth_when_torn(struct device *device, const struct device_event *event)
{
    void *before = malloc(event->length);
    if (!before)
        exit(1);
    must(device_read(device, event->offset, before, event->length));
    must(device_write(device, event->offset, event->data, event->length / 2));
    struct worth worth = worth_of(device);
    must(device_write(device, event->offset, before, event->length));
    free(before);
    return worth;
}

static void print_kind(const struct device_event *event)
{
    const struct block_header *header = event->data;
    if (event->type == DEVICE_FLUSH) {
        printf("flush,-,-");
        return;
    }
    for (int mirror = 0; mirror < SUPERBLOCK_MIRRORS; mirror++)
        if (event->offset == superblock_offset(mirror)) {
            printf("superblock,-,%d", mirror);
            return;
        }
    printf("block,%s,%u", from_le64(header->owner) == LAB_TREE ? "changed" : "root", header->level);
}

static void print_row(unsigned number, const struct device_event *event, struct device *safe,
                      struct device *all)
{
    struct worth least = worth_of(safe), most = worth_of(all), torn = {0};
    printf("%u,", number);
    if (event)
        print_kind(event);
    else
        printf("end,-,-");
    printf(",%zu,%" PRIu64 ",%" PRIu64, event ? event->length : 0, least.generation,
           most.generation);
    if (event && event->type == DEVICE_WRITE) {
        torn = worth_when_torn(all, event);
        printf(",%" PRIu64 ",%d\n", torn.generation, torn.mirror);
    } else {
        printf(",-,-\n");
    }
}

static int counts(void)
{
    struct lab_commits_setup setup = {"bump", 4096, ITEM_SIZE, ITEMS, 1};
    struct lab_commits commits;
    struct device *safe, *all;
    must(lab_commits_open(&commits, &setup));
    must(lab_commits_run(&commits, 1, ITEM_SIZE));
    uint64_t bytes;
    must(device_size(commits.image.device, &bytes));
    must(memory_device_open(bytes, &safe));
    must(memory_device_open(bytes, &all));
    size_t count, first = commits.device_events, unsafe = first;
    const struct device_event *events = recording_device_events(commits.image.device, &count);
    for (size_t i = 0; i < first; i++) {
        play(safe, &events[i]);
        play(all, &events[i]);
    }
    printf(
        "# one commit of one change, tree of 20,000 items, nodes of 4 KiB, space bump\n"
        "# least, most: the generations that a cut right before the event may leave\n"
        "# torn, mirror: the generation when the write is torn in the middle, and the copy of the "
        "superblock that says so\n"
        "event,kind,tree,level_or_mirror,bytes,least,most,torn,mirror\n");
    unsigned number = 0;
    for (size_t i = first; i < count; i++) {
        if (events[i].type == DEVICE_READ)
            continue;
        print_row(++number, &events[i], safe, all);
        play(all, &events[i]);
        for (; events[i].type == DEVICE_FLUSH && unsafe < i; unsafe++)
            play(safe, &events[unsafe]);
    }
    print_row(++number, NULL, safe, all);
    device_close(safe);
    device_close(all);
    lab_commits_close(&commits);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
