/* Our replays beside another one of the same mixes, which was made without this code: at the level of
 * leaves, without nodes above them. Its numbers are constants here. */
#include "bench_policies.h"

static const struct reference {
    const char *mix;
    uint32_t node_size;
    uint64_t requests, log_rounds;
    uint64_t calls; /* pushes to the right made by splits, by the rules of today */
    const char *share;
    uint64_t splits_2013, splits; /* by the rules of 2013 and of today */
} references[] = {
    {"overwrite", 4096, 100000, 0, 1511, "100", 409, 0},
    {"overwrite", 16384, 100000, 0, 493, "100", 130, 0},
    {"relog", 4096, 20000, 0, 2399, "76", 129, 87},
    {"relog", 16384, 20000, 0, 434, "51", 20, 18},
    {"relog", 4096, 100000, 50, 16826, "34", 2216, 1874},
    {"relog", 16384, 100000, 50, 5051, "10", 390, 385},
    {"rndwr", 4096, 100000, 0, 82225, "1.6", 10234, 10239},
    {"seqwr", 4096, 100000, 0, 22742, "1.0", 6238, 6233},
    {"seqwr", 16384, 100000, 0, 5126, "0.4", 1411, 1411},
    {"streams", 4096, 100000, 0, 17770, "0.4", 4369, 4370},
};

static void count_one(const struct reference *other)
{
    uint64_t splits[2], calls = 0, shortcuts = 0;
    for (int i = 0; i < 2; i++) {
        struct lab_setup setup = {.node_size = other->node_size, .policy = i ? "kernel" : "2013"};
        struct replay replay;
        struct lab total;
        bench_replay(&replay, other->mix, &setup, 1, other->requests, other->log_rounds, &total);
        calls = bench_right_calls(&total);
        shortcuts = bench_right(&total, PUSH_SHORTCUT);
        splits[i] = total.growth.counters.splits;
        lab_close(&total);
        replay_close(&replay);
    }
    printf("%s,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%.1f,%" PRIu64 ",%" PRIu64
           ",%" PRIu64 ",%" PRIu64 "\n",
           other->mix, other->node_size, other->requests, other->log_rounds, other->calls, calls,
           other->share, 100 * bench_ratio(shortcuts, calls), other->splits_2013, splits[0],
           other->splits, splits[1]);
}

static int counts(void)
{
    printf("# another replay of the same mixes at leaf level, and ours with seed 1\n"
           "# log_rounds: the log is thrown away each so many rounds; 0: it is kept\n"
           "# calls: pushes to the right made by splits, policy kernel; share: of the shortcut, "
           "percent\n"
           "mix,node_size,requests,log_rounds,calls_other,calls,share_other,share,"
           "splits_2013_other,splits_2013,splits_other,splits\n");
    for (size_t i = 0; i < LENGTH_OF(references); i++)
        count_one(&references[i]);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
