/* How fast are these trees beside LMDB and SQLite?
 *
 * The same items go into each store and are looked up again: keys of 17 bytes, 53 bytes of data, in
 * one transaction that is not committed, all in memory. The two others get the key as 17 bytes
 * whose order as bytes is that of the keys. Each is set up as is fastest for it:
 *
 *   LMDB    a file in /dev/shm, no lock, no sync, one cursor for all; with MDB_APPEND where keys
 *           come in order and the program may say so; with and without MDB_WRITEMAP. Its pages have
 *           4 KiB. For lookups it commits, which is not timed, and reads from its map.
 *   SQLite  :memory:, no journal, one thread, no memory statistics; a table WITHOUT ROWID with the
 *           key as primary key; statements prepared once; pages of 16 KiB, faster here than of 4.
 *
 * All work in memory that was touched before. What the first touch of a page costs is a property of
 * the machine, and on a virtual one it can be more than all the rest. */
#include "bench.h"
#include "bench_tree.h"
#include "heap.h"
#include "insert.h"
#include "push.h"

#include <lmdb.h>
#include <malloc.h>
#include <sqlite3.h>
#include <sys/stat.h>

enum {
    MILLION = 1000000,
    ROUNDS = 5,
    KEY_BYTES = 17,
    LOOKUPS_MOST = MILLION,
    BYTES_MOST = 160, /* of memory for an item, in any store */
    PAGE = 4096,
};

#define LMDB_FILE "/dev/shm/coppice-bench.mdb"

/* What is timed. The first three begin with an empty store; the others look for what was inserted
 * at random, in another random order. */
enum way {
    APPEND,    /* in order, from one place to the next: tree_insert_next, MDB_APPEND */
    ASCENDING, /* in order, each by itself */
    RANDOM,
    LOOKUP, /* finds the item, and so where its data is */
    READ,   /* and reads the first bytes of its data */
};
enum { WAYS = 5 };
static const char *const way_names[WAYS] = {"append", "ascending", "random", "lookup", "read"};
enum {
    INSERTS = 1 << ASCENDING | 1 << RANDOM,
    LOOKS = 1 << LOOKUP | 1 << READ,
    ALL = 1 << APPEND | INSERTS | LOOKS,
};

/* Opened empty, a store gets items and is asked for them, in the order of the numbers. All return
 * 0, or -1 and have reported it. */
struct store {
    const char *name, *setup;
    uint32_t node_size;
    unsigned ways; /* bits of those that are timed */
    bool is_large; /* it takes part with 10 million items */
    int (*open)(const struct store *store);
    int (*insert)(enum way way, const uint32_t *numbers, uint32_t count);
    int (*begin_lookups)(void);
    int (*look)(enum way way, const uint32_t *numbers, uint32_t count);
    void (*close)(void);
    unsigned flags; /* for LMDB */
};

static int report(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return -1;
}

/* --- items -------------------------------------------------------------------------- */

/* Begins with the number of the item, so that a lookup can be checked. */
struct data {
    le64 number;
    unsigned char rest[BENCH_DATA - sizeof(le64)];
};

static struct data data_of(uint32_t number)
{
    return (struct data){to_le64(number), "what the item holds"};
}

static int check_data(const struct data *data, uint32_t number)
{
    return from_le64(data->number) == number ? 0 : report("lookup", "the data of another item");
}

/* From the highest byte on, so that the order of the bytes is that of the numbers. */
static void put_number(unsigned char *bytes, uint64_t number)
{
    number = htobe64(number);
    memcpy(bytes, &number, sizeof number);
}

static void put_key(unsigned char bytes[KEY_BYTES], uint32_t number)
{
    struct key key = bench_key(number);
    put_number(bytes, key.objectid);
    bytes[8] = key.type;
    put_number(bytes + 9, key.offset);
}

/* --- ours --------------------------------------------------------------------------- */

static struct heap heap;
static struct tree tree;
static struct growth growth;
static struct push_policy push_policy;

static int tree_open(const struct store *store)
{
    bool is_kernel = strncmp(store->setup, "kernel", 6) == 0;
    push_policy = is_kernel ? push_policy_kernel() : push_policy_coppice();
    growth = (struct growth){.policy = &push_policy.policy};
    if (strcmp(store->setup, "split") == 0)
        growth.policy = &split_policy;
    else if (strcmp(store->setup, "append") == 0)
        growth.policy = &append_policy;
    growth.shadow_first = strcmp(store->setup, "kernel") == 0;
    heap_open(&heap, store->node_size);
    int result = heap_tree(&heap, &tree, FS_TREE_OBJECTID, &growth);
    return result < 0 ? report("heap_tree", fail_message()) : 0;
}

static int tree_inserts(enum way way, const uint32_t *numbers, uint32_t count)
{
    struct path path = {0};
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        struct key key = bench_key(numbers[i]);
        struct data data = data_of(numbers[i]);
        result = way == APPEND ? tree_insert_next(&tree, &path, &key, &data, sizeof data)
                               : tree_insert(&tree, &key, &data, sizeof data);
    }
    path_release(&tree, &path);
    return result < 0 ? report("tree_insert", fail_message()) : 0;
}

static int tree_begin_lookups(void)
{
    return 0;
}

static int tree_looks(enum way way, const uint32_t *numbers, uint32_t count)
{
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        struct key key = bench_key(numbers[i]);
        struct path path = {0};
        if (tree_search(&tree, &key, &path) != 0)
            return report("tree_search", "a key is not found");
        if (way == READ)
            result = check_data(item_data(path.nodes[0], path.slots[0]), numbers[i]);
        path_release(&tree, &path);
    }
    return result;
}

static void tree_close(void)
{
    heap_close(&heap);
}

/* --- LMDB --------------------------------------------------------------------------- */

static MDB_env *env;
static MDB_txn *txn;
static MDB_dbi dbi;
static MDB_cursor *cursor;
static uint64_t lmdb_most; /* bytes of the map */

static int lmdb(int result)
{
    return result == 0 ? 0 : report("LMDB", mdb_strerror(result));
}

static int lmdb_begin(unsigned flags)
{
    int result = lmdb(mdb_txn_begin(env, NULL, flags, &txn));
    if (result == 0)
        result = lmdb(mdb_dbi_open(txn, NULL, 0, &dbi));
    return result == 0 ? lmdb(mdb_cursor_open(txn, dbi, &cursor)) : result;
}

/* Touches each page of the map. MDB_FIXEDMAP is set for this: it makes LMDB tell where the map is.
 * */
static int lmdb_touch(bool writes)
{
    MDB_envinfo info;
    struct stat status;
    int fd, result = lmdb(mdb_env_info(env, &info));
    if (result == 0)
        result = lmdb(mdb_env_get_fd(env, &fd));
    if (result < 0 || fstat(fd, &status) != 0)
        return result < 0 ? result : report(LMDB_FILE, "no status");
    volatile unsigned char *map = info.me_mapaddr;
    for (uint64_t at = 0; at < (uint64_t)status.st_size; at += PAGE) {
        unsigned char byte = map[at];
        if (writes)
            map[at] = byte;
    }
    return 0;
}

static int lmdb_open(const struct store *store)
{
    unlink(LMDB_FILE);
    int result = lmdb(mdb_env_create(&env));
    if (result == 0)
        result = lmdb(mdb_env_set_mapsize(env, lmdb_most));
    if (result == 0)
        result = lmdb(mdb_env_open(env, LMDB_FILE,
                                   MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOLOCK | MDB_NORDAHEAD |
                                       MDB_NOMEMINIT | MDB_FIXEDMAP | store->flags,
                                   0600));
    if (result == 0 && store->flags & MDB_WRITEMAP)
        result = lmdb_touch(true);
    return result == 0 ? lmdb_begin(0) : result;
}

static int lmdb_inserts(enum way way, const uint32_t *numbers, uint32_t count)
{
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        unsigned char bytes[KEY_BYTES];
        put_key(bytes, numbers[i]);
        struct data data = data_of(numbers[i]);
        MDB_val key = {sizeof bytes, bytes}, value = {sizeof data, &data};
        result = mdb_cursor_put(cursor, &key, &value, way == APPEND ? MDB_APPEND : 0);
    }
    return lmdb(result);
}

static int lmdb_begin_lookups(void)
{
    mdb_cursor_close(cursor);
    int result = lmdb(mdb_txn_commit(txn));
    if (result == 0)
        result = lmdb_begin(MDB_RDONLY);
    return result == 0 ? lmdb_touch(false) : result;
}

static int lmdb_looks(enum way way, const uint32_t *numbers, uint32_t count)
{
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        unsigned char bytes[KEY_BYTES];
        put_key(bytes, numbers[i]);
        MDB_val key = {sizeof bytes, bytes}, value;
        result = lmdb(mdb_cursor_get(cursor, &key, &value, MDB_SET));
        if (result == 0 && way == READ)
            result = check_data(value.mv_data, numbers[i]);
    }
    return result;
}

static void lmdb_close(void)
{
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    unlink(LMDB_FILE);
}

/* --- SQLite ------------------------------------------------------------------------- */

static sqlite3 *db;
static sqlite3_stmt *statement;

static int sqlite(int result, int wanted)
{
    return result == wanted ? 0 : report("SQLite", sqlite3_errstr(result));
}

static int sqlite_prepare(const char *text)
{
    return sqlite(sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL),
                  SQLITE_OK);
}

static int sqlite_open(const struct store *store)
{
    char text[300];
    snprintf(text, sizeof text,
             "PRAGMA page_size = %u; PRAGMA journal_mode = off; PRAGMA synchronous = off;"
             "CREATE TABLE items (key BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID; BEGIN",
             store->node_size);
    int result = sqlite(sqlite3_open(":memory:", &db), SQLITE_OK);
    if (result == 0)
        result = sqlite(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    return result == 0 ? sqlite_prepare("INSERT INTO items VALUES (?, ?)") : result;
}

static int sqlite_inserts(enum way way, const uint32_t *numbers, uint32_t count)
{
    (void)way;
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        unsigned char bytes[KEY_BYTES];
        put_key(bytes, numbers[i]);
        struct data data = data_of(numbers[i]);
        sqlite3_bind_blob(statement, 1, bytes, sizeof bytes, SQLITE_STATIC);
        sqlite3_bind_blob(statement, 2, &data, sizeof data, SQLITE_STATIC);
        result = sqlite(sqlite3_step(statement), SQLITE_DONE);
        sqlite3_reset(statement);
    }
    return result;
}

static int sqlite_begin_lookups(void)
{
    sqlite3_finalize(statement);
    return sqlite_prepare("SELECT data FROM items WHERE key = ?");
}

static int sqlite_looks(enum way way, const uint32_t *numbers, uint32_t count)
{
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        unsigned char bytes[KEY_BYTES];
        put_key(bytes, numbers[i]);
        sqlite3_bind_blob(statement, 1, bytes, sizeof bytes, SQLITE_STATIC);
        result = sqlite(sqlite3_step(statement), SQLITE_ROW);
        const struct data *data = sqlite3_column_blob(statement, 0);
        if (result == 0 && way == READ)
            result = check_data(data, numbers[i]);
        sqlite3_reset(statement);
    }
    return result;
}

static void sqlite_close(void)
{
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

/* --- who takes part ----------------------------------------------------------------- */

#define OURS   tree_open, tree_inserts, tree_begin_lookups, tree_looks, tree_close
#define LMDB   lmdb_open, lmdb_inserts, lmdb_begin_lookups, lmdb_looks, lmdb_close
#define SQLITE sqlite_open, sqlite_inserts, sqlite_begin_lookups, sqlite_looks, sqlite_close

static const struct store stores[] = {
    {"coppice", "append", 16384, ALL, true, OURS, 0},
    {"LMDB", "writemap", PAGE, ALL, true, LMDB, MDB_WRITEMAP},
    {"coppice", "kernel", 16384, ALL, true, OURS, 0},
    {"LMDB", "malloc", PAGE, ALL, false, LMDB, 0},
    {"coppice", "coppice", 16384, ALL, false, OURS, 0},
    {"SQLite", "16 KiB", 16384, INSERTS | LOOKS, true, SQLITE, 0},
    {"coppice", "append", 4096, ALL, false, OURS, 0},
    {"coppice", "append", 65536, ALL, false, OURS, 0},
    {"coppice", "split", 16384, INSERTS, false, OURS, 0},
    {"coppice", "kernel lazy", 16384, INSERTS, false, OURS, 0},
};
enum { STORES = LENGTH_OF(stores) };

/* --- rounds ------------------------------------------------------------------------- */

/* The numbers of the items: in order, and in two random orders, to insert and to look up. */
struct orders {
    uint32_t count;
    uint32_t *ascending, *random, *wanted;
};

static uint32_t *make_order(uint32_t count, uint64_t seed)
{
    uint32_t *numbers = malloc(count * sizeof *numbers);
    for (uint32_t i = 0; numbers && i < count; i++) { /* inside out; seed 0: in order */
        uint32_t at = seed ? bench_below(&seed, i + 1) : i;
        numbers[i] = numbers[at];
        numbers[at] = i;
    }
    return numbers;
}

/* Touches as much memory as a store may need; malloc keeps it. */
static int make_orders(struct orders *orders, uint32_t count)
{
    *orders =
        (struct orders){count, make_order(count, 0), make_order(count, 1), make_order(count, 2)};
    char *memory = malloc((size_t)count * BYTES_MOST);
    if (!orders->ascending || !orders->random || !orders->wanted || !memory)
        return report("bench", "out of memory");
    for (size_t at = 0; at < (size_t)count * BYTES_MOST; at += PAGE)
        ((volatile char *)memory)[at] = 1;
    free(memory);
    lmdb_most = (uint64_t)count * BYTES_MOST / PAGE * PAGE;
    return 0;
}

static void free_orders(struct orders *orders)
{
    free(orders->ascending);
    free(orders->random);
    free(orders->wanted);
}

/* The time of the processor, which others that want it too do not lengthen. */
static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* One way with a store that is open for it; *ns for an item. */
static int time_way(const struct store *store, enum way way, const struct orders *orders,
                    double *ns)
{
    uint32_t count = orders->count;
    bool looks = way == LOOKUP || way == READ;
    if (looks && count > LOOKUPS_MOST)
        count = LOOKUPS_MOST;
    double start = cpu_ns();
    int result =
        looks ? store->look(way, orders->wanted, count)
              : store->insert(way, way == RANDOM ? orders->random : orders->ascending, count);
    *ns = (cpu_ns() - start) / count;
    return result;
}

/* Inserts in this way; after RANDOM come the lookups. */
static int time_store(const struct store *store, enum way way, const struct orders *orders,
                      double ns[WAYS])
{
    int result = store->open(store);
    if (result == 0)
        result = time_way(store, way, orders, &ns[way]);
    if (result == 0 && way == RANDOM && store->ways & LOOKS) {
        result = store->begin_lookups();
        for (enum way look = LOOKUP; look <= READ && result == 0; look++)
            result = time_way(store, look, orders, &ns[look]);
    }
    if (result == 0)
        store->close();
    return result;
}

/* ns of each store in each way; 0: not timed. */
typedef double round_ns[STORES][WAYS];

/* The stores in turn, in one way after the other: what is compared is near in time. */
static int time_round(const struct orders *orders, bool all, round_ns ns)
{
    for (enum way way = APPEND; way <= RANDOM; way++)
        for (size_t i = 0; i < STORES; i++) {
            if (!(stores[i].ways & 1U << way) || !(all || stores[i].is_large))
                continue;
            int result = time_store(&stores[i], way, orders, ns[i]);
            if (result < 0)
                return result;
        }
    return 0;
}

/* LMDB's time in a round, with the better one of its setups. */
static double best_rival(round_ns ns, int way)
{
    double best = 0;
    for (size_t i = 0; i < STORES; i++)
        if (strcmp(stores[i].name, "LMDB") == 0 && ns[i][way] > 0 &&
            (best == 0 || ns[i][way] < best))
            best = ns[i][way];
    return best;
}

static void print_rows(uint32_t count, round_ns *rounds, uint32_t nrounds)
{
    for (size_t i = 0; i < STORES; i++)
        for (int way = 0; way < WAYS; way++) {
            double samples[ROUNDS], ratios[ROUNDS];
            for (uint32_t round = 0; round < nrounds; round++) {
                samples[round] = rounds[round][i][way];
                ratios[round] = samples[round] / best_rival(rounds[round], way);
            }
            struct bench_spread ns = bench_spread(samples, nrounds);
            if (ns.median > 0)
                printf("%s,%s,%u,%u,%s,%.1f,%.1f,%.1f,%.2f\n", stores[i].name, stores[i].setup,
                       stores[i].node_size, count, way_names[way], ns.median, ns.low, ns.high,
                       bench_spread(ratios, nrounds).median);
        }
    fflush(stdout);
}

static int time_rounds(uint32_t count, uint32_t nrounds, bool all)
{
    static round_ns rounds[ROUNDS];
    struct orders orders;
    int result = make_orders(&orders, count);
    memset(rounds, 0, sizeof rounds);
    for (uint32_t round = 0; round < nrounds && result == 0; round++)
        result = time_round(&orders, all, rounds[round]);
    if (result == 0)
        print_rows(count, rounds, nrounds);
    free_orders(&orders);
    return result;
}

static int times(void)
{
    bench_head((const char *const[]){
        "method: 17 bytes of key and 53 of data an item, one transaction, in memory that was "
        "touched",
        "before. The stores in turn, 5 rounds with 1 million items, 1 round with 10 million; ns is "
        "the",
        "median for one item, low and high are the quartiles; ratio: to the better of LMDB's two.",
        "append: in order, with tree_insert_next and MDB_APPEND. ascending: in order, each by "
        "itself.",
        "lookup finds an item, read reads 8 bytes of its data too; 1 million, after random "
        "insertions.",
        "LMDB in /dev/shm, MDB_NOSYNC, pages of 4 KiB, one cursor; writemap: MDB_WRITEMAP.",
        "SQLite in :memory:, journal off, WITHOUT ROWID, pages of 16 KiB.",
        NULL,
    });
    printf("store,setup,node_size,items,way,ns,low,high,ratio\n");
    /* malloc gives nothing back, and takes no memory from elsewhere. */
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    int result = time_rounds(MILLION, ROUNDS, true);
    if (result == 0)
        result = time_rounds(10 * MILLION, 1, false);
    return result < 0;
}

int main(int argc, char **argv)
{
    return bench_run(argc, argv, NULL, times);
}
