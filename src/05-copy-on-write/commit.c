#include "commit.h"

#include "checksum.h"
#include "fail.h"
#include "item.h"

#include <assert.h>
#include <string.h>

/* --- the superblock ----------------------------------------------------------------- */

void superblock_seal(struct superblock *super, int mirror)
{
    super->bytenr = to_le64(superblock_offset(mirror));
    csum_compute(from_le16(super->csum_type), super->fsid, SUPERBLOCK_SIZE - CSUM_SIZE,
                 super->csum);
}

bool superblock_has_mirror(const struct superblock *super, int mirror)
{
    return from_le64(super->dev_item.total_bytes) >= superblock_offset(mirror) + SUPERBLOCK_SIZE;
}

int superblock_write(struct device *device, const struct superblock *super, int mirror)
{
    struct superblock sealed = *super;
    superblock_seal(&sealed, mirror);
    int result = superblock_check(&sealed, superblock_offset(mirror));
    assert(result == 0);
    result = device_write(device, superblock_offset(mirror), &sealed, sizeof sealed);
    return result < 0 ? fail_within(result, "superblock %d", mirror) : 0;
}

int superblock_commit(struct volume *volume, bool *is_on_device)
{
    *is_on_device = false;
    int result = volume->write_error ? fail(-volume->write_error, "an earlier write failed") : 0;
    if (result == 0)
        result = device_flush(volume->device);
    if (result == 0)
        result = superblock_write(volume->device, &volume->super, 0);
    if (result == 0)
        result = device_flush(volume->device);
    *is_on_device = result == 0;
    for (int mirror = 1; mirror < SUPERBLOCK_MIRRORS && result == 0; mirror++)
        if (superblock_has_mirror(&volume->super, mirror))
            result = superblock_write(volume->device, &volume->super, mirror);
    volume->write_error = result;
    return result;
}

/* --- what it says after this transaction -------------------------------------------- */

/* The slot behind that of the last commit. */
static struct root_backup *next_backup(struct superblock *super)
{
    unsigned last = BACKUP_ROOTS - 1;
    for (unsigned slot = 0; slot < BACKUP_ROOTS; slot++)
        if (from_le64(super->super_roots[slot].tree_root_gen) == from_le64(super->generation))
            last = slot;
    return &super->super_roots[(last + 1) % BACKUP_ROOTS];
}

/* A tree that the image does not have is left at 0. */
static int back_up_tree(struct transaction *transaction, uint64_t id, le64 *root, le64 *generation,
                        uint8_t *level)
{
    struct tree *tree;
    int result = transaction_tree(transaction, id, &tree);
    if (result < 0)
        return result == -ENOENT ? 0 : result;
    *root = to_le64(tree->bytenr);
    *generation = to_le64(tree->generation);
    *level = tree->level;
    return 0;
}

static int back_up_roots(struct transaction *transaction, struct root_backup *backup)
{
    const struct superblock *super = &transaction->super;
    *backup = (struct root_backup){
        .total_bytes = super->total_bytes,
        .bytes_used = super->bytes_used,
        .num_devices = super->num_devices,
    };
#define BACK_UP(id, tree)                                                                          \
    if (result == 0)                                                                               \
    result =                                                                                       \
        back_up_tree(transaction, id, &backup->tree, &backup->tree##_gen, &backup->tree##_level)
    int result = 0;
    BACK_UP(ROOT_TREE_OBJECTID, tree_root);
    BACK_UP(CHUNK_TREE_OBJECTID, chunk_root);
    BACK_UP(EXTENT_TREE_OBJECTID, extent_root);
    BACK_UP(FS_TREE_OBJECTID, fs_root);
    BACK_UP(DEV_TREE_OBJECTID, dev_root);
    BACK_UP(CSUM_TREE_OBJECTID, csum_root);
#undef BACK_UP
    return result;
}

static int describe_state(struct transaction *transaction)
{
    struct superblock *super = &transaction->super;
    struct root_backup *backup = next_backup(super);
    struct tree *roots, *chunks;
    int result = transaction_tree(transaction, ROOT_TREE_OBJECTID, &roots);
    if (result == 0)
        result = transaction_tree(transaction, CHUNK_TREE_OBJECTID, &chunks);
    if (result < 0)
        return result;
    assert(roots->generation == transaction->generation); /* W4 */
    super->root = to_le64(roots->bytenr);
    super->root_level = roots->level;
    super->chunk_root = to_le64(chunks->bytenr);
    super->chunk_root_level = chunks->level;
    super->chunk_root_generation = to_le64(chunks->generation);
    /* A list of subvolumes by uuid that was up to date has stayed so. */
    uint64_t generation = from_le64(super->generation);
    if (generation && from_le64(super->uuid_tree_generation) == generation)
        super->uuid_tree_generation = to_le64(transaction->generation);
    super->generation = to_le64(transaction->generation);
    return back_up_roots(transaction, backup);
}

/* --- the blocks --------------------------------------------------------------------- */

/* The checkers that a reader will ask: a block that would not pass is not written. */
static int check_block(const struct transaction *transaction, const struct block *block)
{
    struct item_context context = item_context_of(&transaction->super);
    int result =
        block_level(block) ? node_check(block, context.sectorsize) : leaf_check(block, &context);
    return result < 0 ? fail_within(result, "not written") : 0;
}

static int write_block(struct block *block, void *context)
{
    struct transaction *transaction = context;
    struct block_header *header = block_header(block);
    const struct chunk *chunk;
    assert(transaction_owns(transaction, block)); /* W3 */
    int result = check_block(transaction, block);
    if (result == 0)
        result = chunk_map_find(&transaction->volume->chunks, block->bytenr, block->size, &chunk);
    if (result < 0)
        return result;
    header->flags = to_le64(from_le64(header->flags) | HEADER_FLAG_WRITTEN);
    block_csum(block, from_le16(transaction->super.csum_type), header->csum);
    for (unsigned copy = 0; copy < chunk->copies && result == 0; copy++)
        result = device_write(transaction->volume->device,
                              chunk->physical[copy] + (block->bytenr - chunk->logical), block->data,
                              block->size);
    transaction->counters.written++;
    return result < 0 ? fail_within(result, "block %" PRIu64, block->bytenr) : 0;
}

/* The file system may have become longer than the image. */
static int fit_device(struct device *device, const struct superblock *super)
{
    uint64_t size, needed = from_le64(super->dev_item.total_bytes);
    int result = device_size(device, &size);
    return result < 0 || size >= needed ? result : device_resize(device, needed);
}

int commit_write(struct transaction *transaction, bool *is_on_device)
{
    struct volume *volume = transaction->volume;
    *is_on_device = false;
    if (transaction->source.count == 0)
        return 0;
    int result = describe_state(transaction);
    if (result < 0)
        return result;
    result = fit_device(volume->device, &transaction->super);
    if (result == 0)
        result = write_source_each(&transaction->source, write_block, transaction);
    if (result < 0) {
        volume->write_error = result;
        return result;
    }
    struct superblock before = volume->super;
    volume->super = transaction->super;
    result = superblock_commit(volume, is_on_device);
    if (!*is_on_device)
        volume->super = before;
    return result;
}
