/* What the benchmarks share: the clock, seeded numbers, medians, the head of a file of times.
 *
 * A benchmark is called with the kind of data it shall print: `counts` are numbers of events,
 * seeded, the same on every machine and with every compiler; `times` are a sample, and its first
 * lines tell of which machine. Both are CSV. */
#ifndef BENCH_H
#define BENCH_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { BENCH_NO_SUCH_KIND = 3 };

/* --- numbers ------------------------------------------------------------------------ */

/* splitmix64 (Steele, Lea, Flood 2014): the whole state is one number, which is the seed. */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t mixed = *state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
}

/* 0 .. limit - 1; the limit is far below 2^32, so that the remainder favours nobody visibly. */
static inline uint32_t bench_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(bench_random(state) % limit);
}

/* --- time --------------------------------------------------------------------------- */

static inline double bench_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* Rounds are odd in number, so that the median and the quartiles are samples. */
struct bench_spread {
    double low, median, high; /* quartiles */
};

static inline int bench_compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sorts the samples. */
static inline struct bench_spread bench_spread(double *samples, size_t count)
{
    qsort(samples, count, sizeof *samples, bench_compare);
    return (struct bench_spread){
        .low = samples[count / 4],
        .median = samples[count / 2],
        .high = samples[count - 1 - count / 4],
    };
}

/* --- the head of a file of times ---------------------------------------------------- */

static inline void bench_processor(char *model, size_t size)
{
    snprintf(model, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        snprintf(model, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    fclose(file);
}

#ifdef __clang__
#define BENCH_COMPILER __VERSION__
#else
#define BENCH_COMPILER "gcc " __VERSION__
#endif

#ifdef __OPTIMIZE__
#define BENCH_OPTIMISED "with optimisation"
#else
#define BENCH_OPTIMISED "without optimisation"
#endif

/* `method` says in a few lines, without the comment marks, what was measured and how. */
static inline void bench_head(const char *const *method)
{
    char model[128], date[16];
    bench_processor(model, sizeof model);
    struct utsname system;
    if (uname(&system) != 0)
        memset(&system, 0, sizeof system);
    time_t now = time(NULL);
    struct tm day;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &day));
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

    printf("# machine: %s, %ld cores, %.0f GiB of memory\n", model, sysconf(_SC_NPROCESSORS_ONLN),
           memory / (1 << 30));
    printf("# kernel: %s %s\n", system.sysname, system.release);
    printf("# compiler: %s, %s\n", BENCH_COMPILER, BENCH_OPTIMISED);
    printf("# date: %s\n", date);
    for (; *method; method++)
        printf("# %s\n", *method);
}

/* --- the program -------------------------------------------------------------------- */

/* The whole of main. `counts` and `times` print and return an exit status; NULL for a kind that
 * this benchmark does not have. */
static inline int bench_run(int argc, char **argv, int (*counts)(void), int (*times)(void))
{
    if (argc != 2 || (strcmp(argv[1], "counts") != 0 && strcmp(argv[1], "times") != 0)) {
        fprintf(stderr, "usage: %s counts|times\n", argv[0]);
        return 2;
    }
    int (*print)(void) = strcmp(argv[1], "counts") == 0 ? counts : times;
    if (!print)
        return BENCH_NO_SUCH_KIND;
    int status = print();
    if (fflush(stdout) != 0 || ferror(stdout))
        return 1;
    return status;
}

#endif
