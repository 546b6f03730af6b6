/* How many durable commits a second, beside LMDB?
 *
 * Each commit inserts one item at a random place: a key of 17 bytes, 53 bytes of data, the same
 * keys in the same order in each store. A commit that has returned is safe from a power cut. Both
 * work on a file on a disk, which grows as it is written:
 *
 *   coppice  an image of 1 GiB on a file_device, one copy of everything: two flushes (fdatasync)
 *   LMDB     as it is by default: fdatasync, then a meta page through a descriptor with O_DSYNC
 *
 * The stores take turns, slice by slice, so that what the disk does meanwhile meets all alike. What
 * is flushed is counted by our own fdatasync and pwrite, which the library of LMDB finds first. */
#include "bench_image.h"

#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

enum {
    COMMITS = 10000,
    SLICE = 100,
    SLICES = COMMITS / SLICE,
    KEY_BYTES = 17,
    STORES = 3,
};

#define IMAGE_BYTES ((uint64_t)1 << 30)

/* --- what is flushed ---------------------------------------------------------------- */

static uint64_t flushes, written; /* by this process; bytes */

int fdatasync(int fd)
{
    flushes++;
    return (int)syscall(SYS_fdatasync, fd);
}

static ssize_t count_write(int fd, ssize_t result)
{
    int flags = fcntl(fd, F_GETFL);
    flushes += flags >= 0 && (flags & O_DSYNC) != 0;
    written += result > 0 ? (uint64_t)result : 0;
    return result;
}

/* Under the names with and without large files. */
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    return count_write(fd, syscall(SYS_pwrite64, fd, bytes, length, offset));
}
ssize_t plain_pwrite(int fd, const void *bytes, size_t length, off_t offset) __asm__("pwrite");
ssize_t plain_pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    return pwrite(fd, bytes, length, offset);
}

struct iovec;
ssize_t bench_pwritev(int fd, const struct iovec *parts, int count,
                      off_t offset) __asm__("pwritev");
ssize_t bench_pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    return count_write(fd, syscall(SYS_pwritev, fd, parts, count, offset, 0L));
}
ssize_t bench_pwritev64(int fd, const struct iovec *parts, int count,
                        off_t offset) __asm__("pwritev64");
ssize_t bench_pwritev64(int fd, const struct iovec *parts, int count, off_t offset)
{
    return bench_pwritev(fd, parts, count, offset);
}

/* --- the stores --------------------------------------------------------------------- */

static char folder[] = "coppice-bench-XXXXXX"; /* below the folder for temporary files */

static uint64_t number_of(uint64_t i)
{
    uint64_t state = i;
    return bench_random(&state); /* of each i another one */
}

static struct bench_image images[2];
static MDB_env *env;
static MDB_dbi dbi;

static void lmdb(int result)
{
    if (result == 0)
        return;
    fprintf(stderr, "LMDB: %s\n", mdb_strerror(result));
    exit(1);
}

static void coppice_insert(struct bench_image *image, uint64_t first, uint64_t count)
{
    struct transaction transaction;
    unsigned char data[BENCH_DATA] = "what the item holds";
    bench_begin(image, &transaction);
    struct tree *files = bench_files(&transaction);
    for (uint64_t i = first; i < first + count; i++) {
        struct key key = bench_key(number_of(i));
        must(tree_insert(files, &key, data, sizeof data));
    }
    must(transaction_commit(&transaction));
}

static void put_number(unsigned char *bytes, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> (56 - 8 * i));
}

static void lmdb_insert(uint64_t first, uint64_t count)
{
    MDB_txn *txn;
    unsigned char data[BENCH_DATA] = "what the item holds", bytes[KEY_BYTES];
    lmdb(mdb_txn_begin(env, NULL, 0, &txn));
    for (uint64_t i = first; i < first + count; i++) {
        struct key at = bench_key(number_of(i));
        put_number(bytes, at.objectid);
        bytes[8] = at.type;
        put_number(bytes + 9, at.offset);
        MDB_val key = {sizeof bytes, bytes}, value = {sizeof data, data};
        lmdb(mdb_put(txn, dbi, &key, &value, MDB_NOOVERWRITE));
    }
    lmdb(mdb_txn_commit(txn));
}

static void insert(unsigned store, uint64_t first, uint64_t count)
{
    if (store < 2)
        coppice_insert(&images[store], first, count);
    else
        lmdb_insert(first, count);
}

static const char *const store_names[STORES] = {"coppice", "coppice", "LMDB"};
static const uint32_t node_sizes[STORES] = {4096, 16384, 4096};
static const char *const files[STORES] = {"4k.img", "16k.img", "lmdb.mdb"};

static void open_store(unsigned store)
{
    struct device *device;
    MDB_txn *txn;
    unlink(files[store]);
    if (store < 2) {
        must(file_device_create(files[store], &device));
        must(device_resize(device, IMAGE_BYTES));
        bench_image_make(&images[store], device, IMAGE_BYTES, node_sizes[store]);
        return;
    }
    lmdb(mdb_env_create(&env));
    lmdb(mdb_env_set_mapsize(env, IMAGE_BYTES));
    lmdb(mdb_env_open(env, files[store], MDB_NOSUBDIR, 0600));
    lmdb(mdb_txn_begin(env, NULL, 0, &txn));
    lmdb(mdb_dbi_open(txn, NULL, 0, &dbi));
    lmdb(mdb_txn_commit(txn));
}

static void close_store(unsigned store)
{
    if (store < 2)
        bench_image_close(&images[store]);
    else
        mdb_env_close(env);
    unlink(files[store]);
    unlink("lmdb.mdb-lock");
}

/* --- slices ------------------------------------------------------------------------- */

struct result {
    double us[SLICES];    /* of one commit */
    double ratio[SLICES]; /* commits a second, to those of LMDB in the same turn */
    double ns, cpu_ns;    /* in all */
    uint64_t flushes, bytes;
};

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void run_slice(unsigned store, unsigned slice, uint64_t items, struct result *result)
{
    uint64_t flushes_before = flushes, written_before = written;
    double begin = bench_ns(), cpu_begin = cpu_ns();
    for (uint64_t i = 0; i < SLICE; i++)
        insert(store, items + slice * (uint64_t)SLICE + i, 1);
    double ns = bench_ns() - begin;
    result->us[slice] = ns / SLICE / 1000;
    result->ns += ns;
    result->cpu_ns += cpu_ns() - cpu_begin;
    result->flushes += flushes - flushes_before;
    result->bytes += written - written_before;
}

static void print_rows(uint64_t items)
{
    static struct result results[STORES];
    memset(results, 0, sizeof results);
    for (unsigned store = 0; store < STORES; store++) {
        open_store(store);
        insert(store, 0, items);
    }
    for (unsigned slice = 0; slice < SLICES; slice++) {
        for (unsigned i = 0; i < STORES; i++)
            run_slice((slice + i) % STORES, slice, items, &results[(slice + i) % STORES]);
        for (unsigned store = 0; store < STORES; store++)
            results[store].ratio[slice] = results[STORES - 1].us[slice] / results[store].us[slice];
    }
    for (unsigned store = 0; store < STORES; store++) {
        struct result *result = &results[store];
        double total = results[STORES - 1].ns / result->ns;
        struct bench_spread us = bench_spread(result->us, SLICES);
        struct bench_spread ratio = bench_spread(result->ratio, SLICES);
        printf("%s,%u,%" PRIu64 ",%d,%.1f,%.1f,%.1f,%.1f,%.3f,%.3f,%.3f,%.3f,%.1f,%.2f,%.0f\n",
               store_names[store], node_sizes[store], items, COMMITS, us.median, us.low, us.high,
               1e9 * COMMITS / result->ns, total, ratio.median, ratio.low, ratio.high,
               result->cpu_ns / COMMITS / 1000, (double)result->flushes / COMMITS,
               (double)result->bytes / COMMITS);
        close_store(store);
    }
    fflush(stdout);
}

/* Where the files are: below $TMPDIR, or in /var/tmp, which is on a disk. */
static void enter_folder(void)
{
    const char *parent = getenv("TMPDIR");
    if (chdir(parent ? parent : "/var/tmp") != 0 || !mkdtemp(folder) || chdir(folder) != 0) {
        perror("a folder for temporary files");
        exit(1);
    }
}

static int times(void)
{
    struct statfs system;
    char where[120];
    double load = 0;
    enter_folder();
    if (statfs(".", &system) != 0 || getloadavg(&load, 1) != 1)
        return 1;
    snprintf(where, sizeof where,
             "method: files on a file system of type 0x%lx; load average before: %.1f.",
             (unsigned long)system.f_type, load);
    const char *const method[] = {
        where,
        "10,000 commits of one insertion each, at random places, in slices of 100, in turns.",
        "us: of one commit, median and quartiles of the slices; per_second: of all commits.",
        "ratio: commits a second to those of LMDB, of all commits; median, low, high: of slices.",
        "cpu_us: of the processor, for a commit.",
        "flushes: fdatasync, and writes with O_DSYNC; bytes: written; both for a commit.",
        NULL,
    };
    bench_head(method);
    printf("store,node_size,items,commits,us,low,high,per_second,ratio,ratio_median,ratio_low,"
           "ratio_high,cpu_us,flushes,bytes\n");
    print_rows(10000);
    print_rows(100000);
    if (chdir("..") == 0)
        rmdir(folder);
    return 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, NULL, times);
}
