#include "lab_replay.h"

#include "change.h"
#include "checksum.h"
#include "delete.h"
#include "fail.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KIB 1024ULL
#define MIB (1024 * KIB)

enum {
    FIRST_INODE = 257,
    DIRECTORY = 256,
    BLOCK = 8192, /* bytes of a request */
    FILE_BLOCKS = 10 * 1024 * 1024 / BLOCK,
    FILE_EXTENT = sizeof(struct file_extent_item),
    EXTENT_DATA_ITEM = 53, /* an EXTENT_ITEM with one inline reference */
    SECTOR = 4096,
    CSUM = 4,
};

/* --- one item ----------------------------------------------------------------------- */

static struct key inode_key(uint32_t file, uint8_t type, uint64_t offset)
{
    return (struct key){FIRST_INODE + file, type, offset};
}

static int put(struct replay *replay, enum replay_tree in, struct key key, const void *data,
               uint32_t size)
{
    struct lab *lab = &replay->labs[in];
    heap_operation(&lab->heap);
    return tree_insert(&lab->tree, &key, data, size);
}

static int take(struct replay *replay, enum replay_tree from, struct key key)
{
    struct lab *lab = &replay->labs[from];
    heap_operation(&lab->heap);
    return tree_delete(&lab->tree, &key);
}

static bool has(struct replay *replay, enum replay_tree in, struct key key)
{
    struct path path = {0};
    bool found = tree_search(&replay->labs[in].tree, &key, &path) == 0;
    path_release(&replay->labs[in].tree, &path);
    return found;
}

/* --- files -------------------------------------------------------------------------- */

/* The four items that creating a file makes. */
static int create_file(struct replay *replay, uint32_t file)
{
    char name[32];
    uint32_t length = (uint32_t)snprintf(name, sizeof name, "test_file.%u", file);
    uint8_t hash[CSUM_SIZE];
    csum_compute(CSUM_TYPE_CRC32, name, length, hash);
    uint64_t name_hash = from_le32(*(const le32 *)hash);
    int result =
        put(replay, REPLAY_FS, inode_key(file, INODE_ITEM_KEY, 0), NULL, sizeof(struct inode_item));
    if (result == 0)
        result = put(replay, REPLAY_FS, inode_key(file, INODE_REF_KEY, DIRECTORY), NULL,
                     (uint32_t)sizeof(struct inode_ref) + length);
    if (result == 0)
        result = put(replay, REPLAY_FS, (struct key){DIRECTORY, DIR_ITEM_KEY, name_hash}, NULL,
                     (uint32_t)sizeof(struct dir_item) + length);
    if (result == 0)
        result = put(replay, REPLAY_FS, (struct key){DIRECTORY, DIR_INDEX_KEY, 2 + file}, NULL,
                     (uint32_t)sizeof(struct dir_item) + length);
    return result;
}

/* Data in the file: [offset, offset + length). */
static int put_file_extent(struct replay *replay, enum replay_tree in, uint32_t file,
                           uint64_t offset, uint64_t length)
{
    struct file_extent_item item = {.type = FILE_EXTENT_REG, .num_bytes = to_le64(length)};
    return put(replay, in, inode_key(file, EXTENT_DATA_KEY, offset), &item, sizeof item);
}

static int create_files(struct replay *replay, uint64_t extents, uint64_t length)
{
    int result = 0;
    for (uint32_t file = 0; file < REPLAY_FILES && result == 0; file++) {
        result = create_file(replay, file);
        for (uint64_t i = 0; i < extents && result == 0; i++)
            result = put_file_extent(replay, REPLAY_FS, file, i * length, length);
    }
    return result;
}

/* --- data extents ------------------------------------------------------------------- */

/* Items above the cursor, so that what grows at the cursor does not grow at the end of the tree. */
static int fill_extents(struct replay *replay)
{
    int result = 0;
    replay->cursor = 16 * 1024 * MIB;
    for (uint64_t i = 0; i < 3000 && result == 0; i++)
        result = put(replay, REPLAY_EXTENT,
                     (struct key){64 * 1024 * MIB + i * MIB, EXTENT_ITEM_KEY, MIB}, NULL,
                     EXTENT_DATA_ITEM);
    return result;
}

/* The checksums of [bytenr, bytenr + length): they lengthen the last item, as far as it may grow,
 * and begin new ones. */
static int put_csums(struct replay *replay, uint64_t bytenr, uint64_t length)
{
    struct lab *lab = &replay->labs[REPLAY_CSUM];
    uint32_t room = lab->heap.node_size - (uint32_t)sizeof(struct block_header);
    uint32_t most = ((room - 2 * (uint32_t)sizeof(struct item_header)) / CSUM - 1) * CSUM;
    uint64_t end = bytenr + length;
    int result = 0;
    while (bytenr < end && result == 0) {
        struct path path = {0};
        struct key key = {EXTENT_CSUM_OBJECTID, EXTENT_CSUM_KEY, bytenr};
        uint32_t bytes = (uint32_t)((end - bytenr) / SECTOR * CSUM), size = 0;
        result = tree_search(&lab->tree, &key, &path);
        if (result < 0)
            return result;
        bool is_next = false;
        if (path.slots[0] > 0) { /* does the item before it end here? */
            path.slots[0]--;
            key = path_key(&path);
            size = item_size(path.nodes[0], path.slots[0]);
            is_next = key.offset + size / CSUM * SECTOR == bytenr && size < most;
        }
        path_release(&lab->tree, &path);
        heap_operation(&lab->heap);
        if (is_next) {
            bytes = bytes < most - size ? bytes : most - size;
            result = tree_extend(&lab->tree, &key, NULL, bytes);
        } else {
            bytes = bytes < most ? bytes : most;
            key.offset = bytenr;
            key.objectid = EXTENT_CSUM_OBJECTID;
            key.type = EXTENT_CSUM_KEY;
            result = tree_insert(&lab->tree, &key, NULL, bytes);
        }
        bytenr += bytes / CSUM * SECTOR;
    }
    return result;
}

/* Data of `length` bytes at the cursor: its checksums and its extent item. */
static int write_data(struct replay *replay, uint64_t length)
{
    int result = put_csums(replay, replay->cursor, length);
    replay->cursor += length;
    return result;
}

/* The extent items of what was written since `from`, extents of `lengths`, by address. */
static int put_extents(struct replay *replay, uint64_t from, const uint64_t *lengths,
                       uint32_t count)
{
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; from += lengths[i++])
        result = put(replay, REPLAY_EXTENT, (struct key){from, EXTENT_ITEM_KEY, lengths[i]}, NULL,
                     EXTENT_DATA_ITEM);
    return result;
}

/* --- the log ------------------------------------------------------------------------ */

static int put_if_missing(struct replay *replay, struct key key, uint32_t size)
{
    return has(replay, REPLAY_LOG, key) ? 0 : put(replay, REPLAY_LOG, key, NULL, size);
}

/* fsync of a file with a new extent: the items that the log does not hold yet. */
static int log_extent(struct replay *replay, uint32_t file, uint64_t offset)
{
    int result =
        put_if_missing(replay, inode_key(file, INODE_ITEM_KEY, 0), sizeof(struct inode_item));
    if (result == 0)
        result = put_if_missing(replay, inode_key(file, INODE_REF_KEY, DIRECTORY), 22);
    if (result == 0)
        result = put_if_missing(replay, inode_key(file, EXTENT_DATA_KEY, offset), FILE_EXTENT);
    return result;
}

/* --- overwrite ---------------------------------------------------------------------- */

enum { AGED_EXTENTS = 200 };

static int overwrite_setup(struct replay *replay)
{
    return create_files(replay, AGED_EXTENTS, BLOCK);
}

static int overwrite_round(struct replay *replay, uint32_t requests)
{
    int result = 0;
    while (requests-- > 0 && result == 0) {
        uint64_t index = seeded_below(&replay->seeded, REPLAY_FILES * AGED_EXTENTS);
        uint32_t file = (uint32_t)(index / AGED_EXTENTS);
        uint64_t offset = index % AGED_EXTENTS * BLOCK;
        result = take(replay, REPLAY_FS, inode_key(file, EXTENT_DATA_KEY, offset));
        if (result == 0)
            result = put_file_extent(replay, REPLAY_FS, file, offset, BLOCK);
    }
    return result;
}

/* --- relog -------------------------------------------------------------------------- */

enum { LOGGED_FILES = 91, LOGGED_EXTENTS = 4 };

static int compare_offsets(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* `count` distinct numbers below `limit`, ascending. */
static void draw(struct seeded *seeded, uint64_t limit, uint64_t *numbers, uint32_t count)
{
    for (uint32_t have = 0; have < count;) {
        uint64_t number = seeded_below(seeded, limit);
        bool is_new = true;
        for (uint32_t i = 0; i < have; i++)
            is_new = is_new && numbers[i] != number;
        if (is_new)
            numbers[have++] = number;
    }
    qsort(numbers, count, sizeof *numbers, compare_offsets);
}

static int relog_file(struct replay *replay, uint32_t file)
{
    struct lab *lab = &replay->labs[REPLAY_LOG];
    uint32_t had = replay->logged[file], extents = had == 0 ? 1 : had - 1;
    if (extents > LOGGED_EXTENTS)
        extents = LOGGED_EXTENTS;
    struct key first = inode_key(file, 0, 0), last = inode_key(file, UINT8_MAX, UINT64_MAX);
    uint64_t deleted, offsets[LOGGED_EXTENTS];
    heap_operation(&lab->heap);
    int result = tree_delete_range(&lab->tree, &first, &last, &deleted);
    if (result < 0)
        return result;

    struct item items[2 + LOGGED_EXTENTS] = {
        {inode_key(file, INODE_ITEM_KEY, 0), NULL, sizeof(struct inode_item)},
        {inode_key(file, INODE_REF_KEY, DIRECTORY), NULL, 22},
    };
    draw(&replay->seeded, FILE_BLOCKS, offsets, extents);
    for (uint32_t i = 0; i < extents; i++)
        items[2 + i] =
            (struct item){inode_key(file, EXTENT_DATA_KEY, offsets[i] * BLOCK), NULL, FILE_EXTENT};
    replay->logged[file] = 2 + extents;
    size_t inserted;
    heap_operation(&lab->heap);
    return tree_insert_batch(&lab->tree, items, 2 + extents, &inserted);
}

static int relog_round(struct replay *replay, uint32_t requests)
{
    uint32_t count = (LOGGED_FILES * requests + REPLAY_ROUND - 1) / REPLAY_ROUND;
    if (replay->log_rounds && replay->rounds % replay->log_rounds == 0) {
        int result = lab_clear(&replay->labs[REPLAY_LOG]);
        if (result < 0)
            return result;
        memset(replay->logged, 0, sizeof replay->logged);
    }
    uint64_t files[LOGGED_FILES];
    draw(&replay->seeded, REPLAY_FILES, files, count);
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++)
        result = relog_file(replay, (uint32_t)files[i]);
    return result;
}

/* --- streams ------------------------------------------------------------------------ */

static int streams_setup(struct replay *replay)
{
    int result = create_files(replay, 0, 0);
    return result < 0 ? result : fill_extents(replay);
}

static int streams_round(struct replay *replay, uint32_t requests)
{
    uint64_t from = replay->cursor, lengths[REPLAY_ROUND];
    int result = 0;
    for (uint32_t i = 0; i < requests && result == 0; i++) {
        uint32_t file = (uint32_t)seeded_below(&replay->seeded, REPLAY_FILES);
        result = put_file_extent(replay, REPLAY_FS, file, replay->sizes[file], BLOCK);
        replay->sizes[file] += BLOCK;
        if (result == 0)
            result = write_data(replay, BLOCK);
        lengths[i] = BLOCK;
    }
    return result < 0 ? result : put_extents(replay, from, lengths, requests);
}

/* --- rndwr -------------------------------------------------------------------------- */

static int rndwr_setup(struct replay *replay)
{
    int result = create_files(replay, 1, FILE_BLOCKS * BLOCK);
    return result < 0 ? result : fill_extents(replay);
}

/* Makes place for new data [offset, offset + BLOCK) in a file that is covered by extents: the one
 * that holds it is shortened, split, or dropped. */
static int drop_extent(struct replay *replay, uint32_t file, uint64_t offset)
{
    struct lab *lab = &replay->labs[REPLAY_FS];
    struct key key = inode_key(file, EXTENT_DATA_KEY, offset);
    struct path path = {0};
    int result = tree_search(&lab->tree, &key, &path);
    if (result < 0)
        return result;
    if (result == 1) {
        result = path.slots[0] > 0 ? (path.slots[0]--, 0) : path_previous(&lab->tree, &path);
        assert(result == 0);
    }
    key = path_key(&path);
    struct file_extent_item item;
    memcpy(&item, item_data(path.nodes[0], path.slots[0]), sizeof item);
    path_release(&lab->tree, &path);
    assert(key.objectid == FIRST_INODE + file && key.type == EXTENT_DATA_KEY);

    uint64_t end = key.offset + from_le64(item.num_bytes), new_end = offset + BLOCK;
    heap_operation(&lab->heap);
    if (key.offset == offset && end == new_end)
        return tree_delete(&lab->tree, &key);
    if (key.offset == offset) { /* the front goes: the rest begins further on */
        struct key rest = inode_key(file, EXTENT_DATA_KEY, new_end);
        item.num_bytes = to_le64(end - new_end);
        result = tree_change(&lab->tree, &key, &path);
        if (result != 0)
            return result;
        memcpy(item_data(path.nodes[0], path.slots[0]), &item, sizeof item);
        tree_dirty(&lab->tree, path.nodes[0]);
        path_release(&lab->tree, &path);
        return tree_rekey(&lab->tree, &key, &rest);
    }
    item.num_bytes = to_le64(offset - key.offset);
    result = tree_change(&lab->tree, &key, &path);
    if (result != 0)
        return result;
    memcpy(item_data(path.nodes[0], path.slots[0]), &item, sizeof item);
    tree_dirty(&lab->tree, path.nodes[0]);
    lab->growth.counters.items_changed++;
    path_release(&lab->tree, &path);
    return end == new_end ? 0 : put_file_extent(replay, REPLAY_FS, file, new_end, end - new_end);
}

static int rndwr_round(struct replay *replay, uint32_t requests)
{
    uint64_t blocks[REPLAY_ROUND], from = replay->cursor, lengths[REPLAY_ROUND];
    draw(&replay->seeded, (uint64_t)REPLAY_FILES * FILE_BLOCKS, blocks, requests);
    int result = 0;
    for (uint32_t i = 0; i < requests && result == 0; i++) {
        uint32_t file = (uint32_t)(blocks[i] / FILE_BLOCKS);
        uint64_t offset = blocks[i] % FILE_BLOCKS * BLOCK;
        result = drop_extent(replay, file, offset);
        if (result == 0)
            result = put_file_extent(replay, REPLAY_FS, file, offset, BLOCK);
        if (result == 0)
            result = write_data(replay, BLOCK);
        if (result == 0)
            result = log_extent(replay, file, offset);
        lengths[i] = BLOCK;
    }
    return result < 0 ? result : put_extents(replay, from, lengths, requests);
}

/* --- seqwr -------------------------------------------------------------------------- */

enum { SEQWR_CUTS = 8 };

static int seqwr_setup(struct replay *replay)
{
    int result = create_files(replay, 0, 0);
    return result < 0 ? result : fill_extents(replay);
}

static int seqwr_round(struct replay *replay, uint32_t requests)
{
    uint64_t blocks[REPLAY_ROUND], cuts[SEQWR_CUTS + 1], lengths[REPLAY_ROUND];
    uint64_t from = replay->cursor, total = (uint64_t)REPLAY_FILES * FILE_BLOCKS;
    uint32_t extents = 0, done = 0;
    for (uint32_t i = 0; i < requests; i++) { /* shuffled, inside out */
        uint64_t at = seeded_below(&replay->seeded, i + 1);
        blocks[i] = blocks[at];
        blocks[at] = replay->position++ % total;
    }
    for (uint32_t i = 0; i < SEQWR_CUTS; i++)
        cuts[i] = seeded_below(&replay->seeded, requests + 1);
    cuts[SEQWR_CUTS] = requests;
    qsort(cuts, SEQWR_CUTS, sizeof *cuts, compare_offsets);

    int result = 0;
    for (uint32_t part = 0; part <= SEQWR_CUTS; part++) {
        uint32_t end = (uint32_t)cuts[part];
        qsort(blocks + done, end - done, sizeof *blocks, compare_offsets);
        while (done < end && result == 0) {
            uint32_t run = 1;
            uint64_t first = blocks[done], file = first / FILE_BLOCKS;
            while (done + run < end && blocks[done + run] == first + run &&
                   blocks[done + run] / FILE_BLOCKS == file)
                run++;
            uint64_t offset = first % FILE_BLOCKS * BLOCK, length = (uint64_t)run * BLOCK;
            result = put_file_extent(replay, REPLAY_FS, (uint32_t)file, offset, length);
            if (result == 0)
                result = write_data(replay, length);
            if (result == 0)
                result = log_extent(replay, (uint32_t)file, offset);
            lengths[extents++] = length;
            done += run;
        }
    }
    return result < 0 ? result : put_extents(replay, from, lengths, extents);
}

/* --- the table ---------------------------------------------------------------------- */

enum {
    FS = 1 << REPLAY_FS,
    EXTENT = 1 << REPLAY_EXTENT,
    CHECKSUM = 1 << REPLAY_CSUM,
    LOG = 1 << REPLAY_LOG,
};

static int no_setup(struct replay *replay)
{
    (void)replay;
    return 0;
}

const struct mix mixes[] = {
    {"relog", LOG, 0, no_setup, relog_round},
    {"overwrite", FS, 4000, overwrite_setup, overwrite_round},
    {"rndwr", FS | EXTENT | CHECKSUM | LOG, 4000, rndwr_setup, rndwr_round},
    {"seqwr", FS | EXTENT | CHECKSUM | LOG, 24000, seqwr_setup, seqwr_round},
    {"streams", FS | EXTENT | CHECKSUM, 8000, streams_setup, streams_round},
    {0},
};
