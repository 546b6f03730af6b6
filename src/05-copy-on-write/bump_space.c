#include "bump_space.h"

#include "blank.h"
#include "fail.h"
#include "insert.h"

#include <stdlib.h>

/* --- the seam ----------------------------------------------------------------------- */

/* W2: no block lies over a mirror. Logical and physical addresses are the same here. */
static void skip_mirrors(struct bump_space *bump)
{
    for (int mirror = 1; mirror < SUPERBLOCK_MIRRORS; mirror++) {
        uint64_t start = superblock_offset(mirror), end = start + STRIPE_LENGTH;
        if (bump->next < end && bump->next + bump->node_size > start)
            bump->next = end;
    }
}

static int alloc(struct space *space, struct tree *tree, uint8_t level, uint64_t *bytenr)
{
    struct bump_space *bump = (struct bump_space *)space;
    (void)level;
    skip_mirrors(bump);
    if (bump->next > bump->end || bump->end - bump->next < bump->node_size)
        return fail(ENOSPC, "no space for a block of tree %" PRId64, (int64_t)tree->id);
    *bytenr = bump->next;
    bump->next += bump->node_size;
    return 0;
}

static int free_block(struct space *space, struct tree *tree, const struct block *block)
{
    (void)space, (void)tree, (void)block;
    return 0;
}

static int shared(struct space *space, struct tree *tree, const struct block *block)
{
    (void)space, (void)tree, (void)block;
    return 0;
}

static int settle(struct space *space)
{
    (void)space;
    return 0;
}

static void committed(struct space *space, bool is_on_device)
{
    struct bump_space *bump = (struct bump_space *)space;
    if (!is_on_device)
        bump->next = bump->committed;
    bump->committed = bump->next;
}

void bump_space_open(struct bump_space *bump, const struct volume *volume, uint64_t next)
{
    const struct chunk *chunk = &volume->chunks.chunks[0];
    *bump = (struct bump_space){
        .space = {alloc, free_block, shared, settle, committed, NULL},
        .node_size = from_le32(volume->super.nodesize),
        .next = next,
        .end = chunk->logical + chunk->length,
        .committed = next,
    };
}

/* --- an image ----------------------------------------------------------------------- */

static int make_trees(struct transaction *transaction, const struct chunk_bytes *chunk)
{
    struct key key = {FIRST_CHUNK_TREE_OBJECTID, CHUNK_ITEM_KEY, DEVICE_RESERVED};
    struct key inode_key = {FIRST_FREE_OBJECTID, INODE_ITEM_KEY, 0};
    struct root_item root = {.refs = to_le32(1), .root_dirid = to_le64(FIRST_FREE_OBJECTID)};
    struct inode_item inode = {.nlink = to_le32(1), .mode = to_le32(040755)};
    struct tree *roots, *chunks, *files;
    int result = transaction_new_tree(transaction, ROOT_TREE_OBJECTID, NULL, &roots);
    if (result == 0)
        result = transaction_new_tree(transaction, CHUNK_TREE_OBJECTID, NULL, &chunks);
    if (result == 0)
        result = tree_insert(chunks, &key, chunk, chunk->size);
    if (result == 0)
        result = transaction_new_tree(transaction, FS_TREE_OBJECTID, &root, &files);
    if (result == 0)
        result = tree_insert(files, &inode_key, &inode, sizeof inode);
    return result;
}

/* Nothing is on the device yet: a failure leaves no image. */
int bump_format(struct bump_space *bump, struct volume *volume, struct device *device,
                uint32_t node_size, struct notes *notes)
{
    uint64_t size;
    struct blank_options options = {
        .fsid = "bump",
        .node_size = node_size,
        .sector_size = 4096,
        .incompat_flags = INCOMPAT_MIXED_BACKREF | INCOMPAT_BIG_METADATA |
                          INCOMPAT_SKINNY_METADATA | INCOMPAT_NO_HOLES,
    };
    int result = device_size(device, &size);
    if (result < 0)
        return result;
    if (size < DEVICE_RESERVED + STRIPE_LENGTH)
        return fail(ENOSPC, "%" PRIu64 " bytes are too few for an image", size);
    options.total_bytes = size;
    volume_blank(volume, device, &options, notes);
    struct chunk chunk = {
        .logical = DEVICE_RESERVED,
        .length = (size - DEVICE_RESERVED) / STRIPE_LENGTH * STRIPE_LENGTH,
        .type = BLOCK_GROUP_SYSTEM,
        .copies = 1,
        .physical = {DEVICE_RESERVED},
    };
    struct chunk_bytes bytes = chunk_describe(volume, &chunk);
    result = volume_add_chunk(volume, &volume->super, &chunk);
    if (result == 0) {
        struct transaction transaction;
        bump_space_open(bump, volume, DEVICE_RESERVED);
        transaction_begin(&transaction, volume, &bump->space);
        result = make_trees(&transaction, &bytes);
        result = result == 0 ? transaction_commit(&transaction)
                             : (transaction_abort(&transaction), result);
    }
    if (result < 0)
        volume_close(volume);
    return result;
}
