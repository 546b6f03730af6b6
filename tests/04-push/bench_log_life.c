/* How does the share of the shortcut depend on how long a log tree lives? */
#include "bench_policies.h"

enum { REQUESTS = 100000, SEEDS = 5 };

static void count_one(uint32_t node_size, uint64_t rounds)
{
    double sum = 0, low = 100, high = 0;
    uint64_t all_calls = 0, all_splits = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct lab_setup setup = {.node_size = node_size, .policy = "kernel"};
        struct replay replay;
        struct lab total;
        bench_replay(&replay, "relog", &setup, seed, REQUESTS, rounds, &total);
        uint64_t calls = bench_right_calls(&total);
        double share = 100 * bench_ratio(bench_right(&total, PUSH_SHORTCUT), calls);
        sum += share;
        low = share < low ? share : low;
        high = share > high ? share : high;
        all_calls += calls;
        all_splits += total.growth.counters.splits;
        lab_close(&total);
        replay_close(&replay);
    }
    printf("%u,%" PRIu64 ",%.1f,%.1f,%.2f,%.2f,%.2f\n", node_size, rounds,
           bench_ratio(all_calls, SEEDS), bench_ratio(all_splits, SEEDS), sum / SEEDS, low, high);
}

static int counts(void)
{
    static const uint64_t lives[] = {1,  2,  3,   5,   7,   10,  15,  20,  30,
                                     50, 70, 100, 150, 200, 300, 500, 700, 1000};
    printf(
        "# relog, 100,000 requests (1,000 rounds), policy kernel; the log is thrown away each so "
        "many rounds\n"
        "# calls, splits, share: means of five seeds; low, high: the least and the largest share "
        "of the five\n"
        "node_size,log_rounds,right_calls,splits,share_percent,low,high\n");
    for (uint32_t node_size = 4096; node_size <= 16384; node_size *= 4)
        for (size_t i = 0; i < LENGTH_OF(lives); i++)
            count_one(node_size, lives[i]);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, counts, NULL);
}
