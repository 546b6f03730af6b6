/* How does the share of the shortcut depend on how long a log tree lives? */
#include "bench_policies.h"

enum { REQUESTS = 100000 };

static void count_one(uint32_t node_size, uint64_t rounds)
{
    uint64_t splits[2], calls = 0, shortcuts = 0;
    for (int i = 0; i < 2; i++) {
        struct lab_setup setup = {.node_size = node_size, .policy = i ? "kernel" : "2013"};
        struct replay replay;
        struct lab total;
        bench_replay(&replay, "relog", &setup, REQUESTS, rounds, &total);
        calls = bench_right_calls(&total);
        shortcuts = bench_right(&total, PUSH_SHORTCUT);
        splits[i] = total.growth.counters.splits;
        lab_close(&total);
        replay_close(&replay);
    }
    printf("%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.2f,%" PRIu64 ",%" PRIu64 "\n", node_size,
           rounds, calls, shortcuts, 100 * bench_ratio(shortcuts, calls), splits[0], splits[1]);
}

static int counts(void)
{
    static const uint64_t lives[] = {1,  2,  3,   5,   7,   10,  15,  20,  30,
                                     50, 70, 100, 150, 200, 300, 500, 700, 1000};
    printf("# relog, 100,000 requests (1,000 rounds), seed 1; the log is thrown away each so many "
           "rounds\n"
           "# right_calls and shortcuts are those of the policy kernel\n"
           "node_size,log_rounds,right_calls,shortcuts,share_percent,splits_2013,splits_kernel\n");
    for (uint32_t node_size = 4096; node_size <= 16384; node_size *= 4)
        for (size_t i = 0; i < LENGTH_OF(lives); i++)
            count_one(node_size, lives[i]);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
