#include "block_source.h"

#include "fail.h"
#include "item.h"
#include "leaf.h"
#include "node.h"

#include <stdlib.h>
#include <string.h>

/* --- promises ----------------------------------------------------------------------- */

bool is_subvolume(uint64_t tree)
{
    return tree == FS_TREE_OBJECTID || (tree >= FIRST_FREE_OBJECTID && tree <= INT64_MAX);
}

/* T5. Relocation trees are copies of others, and hold their blocks. */
static int check_owner(const struct block *block, uint64_t tree)
{
    uint64_t owner = block_owner_id(block);
    if (owner == tree || tree == TREE_RELOC_OBJECTID || (is_subvolume(owner) && is_subvolume(tree)))
        return 0;
    return fail(EUCLEAN, "block %" PRIu64 ": owner %" PRId64 " in tree %" PRId64 " (T5)",
                block->bytenr, (int64_t)owner, (int64_t)tree);
}

static struct key block_key(const struct block *block, uint32_t slot)
{
    return block_level(block) ? node_key(block, slot) : leaf_key(block, slot);
}

/* T3 and T4. */
static int check_keys(const struct block *block, const struct block_promise *promise)
{
    char text[KEY_TEXT_SIZE], promised[KEY_TEXT_SIZE];
    struct key key = block_key(block, 0), bound;
    if (promise->first_key) {
        bound = key_from_disk(promise->first_key);
        if (key_compare(&key, &bound) != 0)
            return fail(EUCLEAN, "block %" PRIu64 ": begins with %s, its parent says %s (T3)",
                        block->bytenr, key_format(&key, text), key_format(&bound, promised));
    }
    key = block_key(block, block_nritems(block) - 1);
    if (promise->next_key) {
        bound = key_from_disk(promise->next_key);
        if (key_compare(&key, &bound) >= 0)
            return fail(EUCLEAN, "block %" PRIu64 ": ends with %s, not before %s (T4)",
                        block->bytenr, key_format(&key, text), key_format(&bound, promised));
    }
    return 0;
}

/* These hold items from mkfs on. */
static bool is_never_empty(uint64_t tree)
{
    return tree == ROOT_TREE_OBJECTID || tree == EXTENT_TREE_OBJECTID ||
           tree == CHUNK_TREE_OBJECTID || tree == DEV_TREE_OBJECTID || tree == FS_TREE_OBJECTID ||
           tree == DATA_RELOC_TREE_OBJECTID;
}

int block_fulfils(const struct block *block, const struct block_promise *promise)
{
    if (block_level(block) != promise->level)
        return fail(EUCLEAN, "block %" PRIu64 ": level %u, not %u (T1)", block->bytenr,
                    block_level(block), promise->level);
    if (block_generation(block) != promise->generation)
        return fail(EUCLEAN, "block %" PRIu64 ": generation %" PRIu64 ", not %" PRIu64 " (T2)",
                    block->bytenr, block_generation(block), promise->generation);
    int result = check_owner(block, promise->tree);
    if (result < 0)
        return result;
    if (block_nritems(block) > 0)
        return check_keys(block, promise);
    if (promise->first_key || is_never_empty(promise->tree))
        return fail(EUCLEAN, "block %" PRIu64 ": empty (T6)", block->bytenr);
    return 0;
}

/* --- reading ------------------------------------------------------------------------ */

/* Reads one copy and checks all that can be checked. `promise` NULL: nothing was promised. */
static int read_copy(struct read_source *source, uint64_t physical,
                     const struct block_promise *promise, struct block *block)
{
    const struct superblock *super = source->super;
    source->blocks_read++;
    int result = device_read(source->device, physical, block->data, block->size);
    if (result == 0)
        result = block_check(block, super);
    if (result < 0)
        return result;
    struct item_context context = item_context_of(super);
    result =
        block_level(block) ? node_check(block, context.sectorsize) : leaf_check(block, &context);
    return result < 0 || !promise ? result : block_fulfils(block, promise);
}

/* Tries the copies in turn. */
static int read_copies(struct read_source *source, const struct chunk *chunk,
                       const struct block_promise *promise, struct block *block)
{
    uint64_t within = block->bytenr - chunk->logical;
    char faults[COPIES_MAX * NOTE_SIZE] = "";
    size_t length = 0;
    int result = 0;
    for (unsigned copy = 0; copy < chunk->copies; copy++) {
        uint64_t physical = chunk->physical[copy] + within;
        result = read_copy(source, physical, promise, block);
        if (result == 0 && copy > 0)
            note(source->notes, "%s; copy %u at %" PRIu64 " is used", faults, copy + 1, physical);
        if (result == 0 || result == -ENOMEM)
            return result;
        if (length < sizeof faults)
            length += (size_t)snprintf(faults + length, sizeof faults - length,
                                       "%scopy %u at %" PRIu64 ": %s", copy ? "; " : "", copy + 1,
                                       physical, fail_message());
    }
    return chunk->copies > 1 ? fail(-result, "%s", faults) : result;
}

static void put_block(struct block_source *source, struct block *block)
{
    (void)source;
    free(block);
}

int read_source_fill(struct read_source *source, const struct block_promise *promise,
                     struct block *block)
{
    if (block->bytenr % from_le32(source->super->sectorsize))
        return fail(EUCLEAN, "block %" PRIu64 ": no multiple of the sector size", block->bytenr);
    const struct chunk *chunk;
    int result = chunk_map_find(source->chunks, block->bytenr, block->size, &chunk);
    return result < 0 ? result : read_copies(source, chunk, promise, block);
}

static int read_block(struct read_source *source, uint64_t bytenr,
                      const struct block_promise *promise, struct block **block)
{
    uint32_t nodesize = from_le32(source->super->nodesize);
    /* The structure and its bytes in one piece. */
    struct block *read = malloc(sizeof *read + nodesize);
    if (!read)
        return fail(ENOMEM, "out of memory for block %" PRIu64, bytenr);
    *read = (struct block){
        .data = (unsigned char *)(read + 1),
        .size = nodesize,
        .bytenr = bytenr,
    };
    int result = read_source_fill(source, promise, read);
    if (result < 0)
        put_block(&source->source, read);
    else
        *block = read;
    return result;
}

static int get_block(struct block_source *source, uint64_t bytenr,
                     const struct block_promise *promise, struct block **block)
{
    return read_block((struct read_source *)source, bytenr, promise, block);
}

/* Without a promise only the generation tells which of two good copies is the current one. */
int read_source_get_any(struct read_source *source, uint64_t bytenr, struct block **block)
{
    int result = read_block(source, bytenr, NULL, block);
    const struct chunk *chunk;
    if (result < 0 || chunk_map_find(source->chunks, bytenr, (*block)->size, &chunk) < 0 ||
        chunk->copies == 1)
        return result;
    struct block other = **block;
    other.data = malloc(other.size);
    if (!other.data) {
        put_block(&source->source, *block);
        return fail(ENOMEM, "out of memory for block %" PRIu64, bytenr);
    }
    uint64_t second = chunk->physical[1] + (bytenr - chunk->logical);
    if (read_copy(source, second, NULL, &other) == 0 &&
        block_generation(&other) > block_generation(*block)) {
        note(source->notes,
             "block %" PRIu64 ": copy 1 is of generation %" PRIu64 ", copy 2 of %" PRIu64
             ", which is used",
             bytenr, block_generation(*block), block_generation(&other));
        memcpy((*block)->data, other.data, other.size);
    }
    free(other.data);
    return 0;
}

void read_source_open(struct read_source *source, struct device *device,
                      const struct chunk_map *chunks, const struct superblock *super,
                      struct notes *notes)
{
    *source = (struct read_source){
        .source = {get_block, put_block},
        .device = device,
        .chunks = chunks,
        .super = super,
        .notes = notes,
    };
}
