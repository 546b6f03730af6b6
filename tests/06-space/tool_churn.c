/* 06-churn IMAGE SEED TRANSACTIONS OPS: changes an image at random (support_churn.h), so many
 * times, and says what it did. Judges look at the image then.
 *
 *   --abort K      every K-th transaction is aborted, not committed
 *   --audit N      the auditor looks at the image after every N transactions; and at first: what
 *                  mkfs.btrfs and the kernel get wrong at times is left out if it is wrong then
 *   --only TREE, --except TREE (several times)
 *   --kinds insert,delete,...
 *   --value BYTES  the longest value of an xattr
 *
 * Exit status: 0; 1 where something is wrong, with the seed and the transaction.
 */
#include "support_audit.h"
#include "support_churn.h"

#include "command.h"
#include "fail.h"
#include "writable.h"

#include <getopt.h>
#include <stdlib.h>

enum { EXCEPT_MAX = 16 };

struct run {
    const char *image;
    uint64_t seed, transactions, ops;
    uint64_t abort_every, audit_every; /* 0: never */
    uint64_t only, except[EXCEPT_MAX];
    size_t except_count;
    unsigned kinds;  /* 0: all */
    unsigned checks; /* of the auditor */
    uint64_t value_max;
    struct device *device;
    struct churn churn;
    uint64_t begun, committed, aborted, no_space, audits;
    struct transaction_counters blocks;
};

/* --- the command line ----------------------------------------------------------------------- */

static void usage(const char *what)
{
    fprintf(stderr,
            "06-churn: %s\n06-churn IMAGE SEED TRANSACTIONS OPS [--abort K] [--audit N] "
            "[--only TREE] [--except TREE] [--kinds LIST] [--value BYTES]\n",
            what);
    exit(EXIT_USAGE);
}

static uint64_t number(const char *text)
{
    uint64_t value;
    if (parse_number(text, &value) != 0)
        usage(text);
    return value;
}

static unsigned parse_kinds(char *list)
{
    unsigned kinds = 0;
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        unsigned before = kinds;
        for (int kind = 0; kind < CHURN_KINDS; kind++)
            if (strcmp(word, churn_kind_name((enum churn_kind)kind)) == 0)
                kinds |= 1U << kind;
        if (kinds == before)
            usage(word);
    }
    return kinds;
}

static void parse(struct run *run, int argc, char **argv)
{
    static const struct option options[] = {
        {"abort", 1, NULL, 'b'},
        {"audit", 1, NULL, 'a'},
        {"only", 1, NULL, 'o'},
        {"except", 1, NULL, 'e'},
        {"kinds", 1, NULL, 'k'},
        {"value", 1, NULL, 'v'},
        {0},
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) >= 0;)
        if (option == 'b')
            run->abort_every = number(optarg);
        else if (option == 'a')
            run->audit_every = number(optarg);
        else if (option == 'o')
            run->only = number(optarg);
        else if (option == 'e' && run->except_count < EXCEPT_MAX)
            run->except[run->except_count++] = number(optarg);
        else if (option == 'k')
            run->kinds = parse_kinds(optarg);
        else if (option == 'v')
            run->value_max = number(optarg);
        else
            usage("what?");
    if (argc - optind != 4)
        usage("four words are needed");
    run->image = argv[optind];
    run->seed = number(argv[optind + 1]);
    run->transactions = number(argv[optind + 2]);
    run->ops = number(argv[optind + 3]);
}

/* --- transactions --------------------------------------------------------------------------- */

static int audit(struct run *run)
{
    char why[1024];
    int result = churn_verify(&run->churn);
    run->audits++;
    if (result == 0 && audit_image_for(run->device, run->checks, why, sizeof why) != 0)
        result = fail(EUCLEAN, "audit: %s", why);
    return result;
}

/* What others leave behind stays as it is, and is told: items of mkfs.btrfs 6.2 in the free-space
 * tree; a bytes_used of the extent tree that was seen to be wrong after a balance of the kernel. */
static int first_audit(struct run *run)
{
    static const struct {
        enum audit_check check;
        const char *what;
    } known[] = {{AUDIT_STRAY, "free-space items that lie apart"},
                 {AUDIT_ROOT_BYTES, "bytes_used of roots"}};
    char why[1024], ignored[1024];
    for (size_t i = 0; i < LENGTH_OF(known); i++)
        if (audit_image_for(run->device, AUDIT_ALL & ~(unsigned)known[1 - i].check, ignored,
                            sizeof ignored) != 0) {
            run->checks &= ~(unsigned)known[i].check;
            printf("wrong before: %s: %s\n", known[i].what, ignored);
        }
    if (audit_image_for(run->device, run->checks, why, sizeof why) != 0)
        return fail(EUCLEAN, "audit, before the first transaction: %s", why);
    return 0;
}

static void count_blocks(struct run *run)
{
    const struct transaction_counters *counters = &run->churn.transaction.counters;
    run->blocks.shadowed += counters->shadowed;
    run->blocks.allocated += counters->allocated;
    run->blocks.freed += counters->freed;
    run->blocks.rounds += counters->rounds;
    run->blocks.written += counters->written;
}

/* Where metadata has no room the transaction is given up, and trees shrink for a while. */
static int one_transaction(struct run *run)
{
    struct churn *churn = &run->churn;
    int result = 0;
    churn_begin(churn);
    run->begun++;
    for (uint64_t op = 0; op < run->ops && result >= 0; op++)
        result = churn_step(churn);
    bool is_aborted = result < 0 || (run->abort_every && run->begun % run->abort_every == 0);
    if (is_aborted) {
        churn_abort(churn);
    } else {
        result = churn_commit(churn);
        count_blocks(run);
    }
    if (result == -ENOSPC) {
        run->no_space++;
        churn->is_growing = false;
        return 0;
    }
    if (is_aborted)
        run->aborted++;
    else if (result == 0)
        run->committed++;
    return result < 0 ? result : 0;
}

static int churn_all(struct run *run)
{
    struct churn *churn = &run->churn;
    for (size_t i = 0; i < run->except_count; i++)
        churn_except(churn, run->except[i]);
    if (run->only)
        churn_only(churn, run->only);
    if (run->kinds)
        churn->kinds = run->kinds;
    if (run->value_max)
        churn->value_max = (uint32_t)run->value_max;
    int result = run->audit_every ? first_audit(run) : 0;
    while (run->begun < run->transactions && result == 0) {
        result = one_transaction(run);
        if (result == 0 && run->audit_every && run->begun % run->audit_every == 0)
            result = audit(run);
    }
    return result < 0 ? result : churn_verify(churn);
}

static int churn_volume(struct run *run)
{
    struct notes notes = {0};
    struct volume volume;
    struct extent_allocator allocator;
    int result = volume_open(&volume, run->device, &notes);
    if (result < 0)
        return result;
    result = volume_writable(&volume);
    extent_allocator_open(&allocator, &volume);
    if (result == 0)
        result = churn_open(&run->churn, &volume, &allocator, run->seed);
    if (result == 0) {
        result = churn_all(run);
        churn_close(&run->churn);
    }
    extent_allocator_close(&allocator);
    volume_close(&volume);
    return result;
}

static void print(const struct run *run)
{
    const struct churn *churn = &run->churn;
    printf("%" PRIu64 " transactions: %" PRIu64 " committed, %" PRIu64 " aborted, %" PRIu64
           " without space; %" PRIu64 " audits\n",
           run->begun, run->committed, run->aborted, run->no_space, run->audits);
    printf("changes:");
    for (int kind = 0; kind < CHURN_KINDS; kind++)
        printf(" %" PRIu64 " %s,", churn->done[kind], churn_kind_name((enum churn_kind)kind));
    printf(" %" PRIu64 " skipped\n", churn->skipped);
    printf("blocks: %" PRIu64 " shadowed, %" PRIu64 " allocated, %" PRIu64 " freed, %" PRIu64
           " written; %" PRIu64 " rounds\n",
           run->blocks.shadowed, run->blocks.allocated, run->blocks.freed, run->blocks.written,
           run->blocks.rounds);
}

int main(int argc, char **argv)
{
    static struct run run = {.checks = AUDIT_ALL};
    parse(&run, argc, argv);
    int result = file_device_open(run.image, true, &run.device);
    if (result == 0) {
        result = churn_volume(&run);
        device_close(run.device);
    }
    if (result < 0) {
        fprintf(stderr, "06-churn: %s: seed %" PRIu64 ", transaction %" PRIu64 ": %s\n", run.image,
                run.seed, run.begun, fail_message());
        return 1;
    }
    print(&run);
    return 0;
}
