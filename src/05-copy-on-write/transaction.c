#include "transaction.h"

#include "change.h"
#include "commit.h"
#include "fail.h"
#include "insert.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct transaction *transaction_of(struct block_owner *owner)
{
    return (struct transaction *)((char *)owner - offsetof(struct transaction, owner));
}

static struct transaction_tree *transaction_tree_of(struct tree *tree)
{
    return (struct transaction_tree *)tree; /* its first member */
}

/* --- failure ------------------------------------------------------------------------ */

int transaction_fail(struct transaction *transaction, int result)
{
    if (result < 0 && transaction->error == 0)
        transaction->error = result;
    return result;
}

static int check_alive(const struct transaction *transaction)
{
    return transaction->error == 0 ? 0
                                   : fail(-transaction->error, "the transaction failed before: %s",
                                          strerror(-transaction->error));
}

/* --- the owner of blocks ------------------------------------------------------------ */

bool transaction_owns(const struct transaction *transaction, const struct block *block)
{
    return block_generation(block) == transaction->generation &&
           !(from_le64(block_header(block)->flags) & HEADER_FLAG_WRITTEN);
}

/* What the header of a block says that this transaction made for the tree. */
static void sign_block(const struct transaction *transaction, const struct tree *tree,
                       struct block *block)
{
    struct block_header *header = block_header(block);
    memcpy(header->fsid, superblock_metadata_fsid(&transaction->super), FSID_SIZE);
    header->bytenr = to_le64(block->bytenr);
    header->flags = to_le64((uint64_t)HEADER_MIXED_BACKREF_REV << HEADER_BACKREF_REV_SHIFT);
    header->generation = to_le64(transaction->generation);
    header->owner = to_le64(tree->id);
}

/* The tree gives up a block that it has claimed or not. */
static int give_up(struct transaction *transaction, struct tree *tree, const struct block *block)
{
    struct space *space = transaction->space;
    int result = 0;
    if (!transaction_owns(transaction, block))
        result = space->shared(space, tree, block);
    return result < 0 ? result : space->free(space, tree, block);
}

/* W3 to W5: what is ours stays, what is not gets a shadow. The memory of the block becomes the
 * shadow's: on the device the block is as it was. */
static int claim(struct block_owner *owner, struct tree *tree, struct block **block)
{
    struct transaction *transaction = transaction_of(owner);
    struct space *space = transaction->space;
    uint64_t bytenr;
    if (transaction_owns(transaction, *block))
        return 0;
    int result = check_alive(transaction);
    if (result == 0)
        result = space->alloc(space, tree, block_level(*block), &bytenr);
    if (result == 0)
        result = give_up(transaction, tree, *block);
    if (result == 0)
        result = write_source_move(&transaction->source, *block, bytenr);
    if (result < 0)
        return transaction_fail(transaction, result);
    sign_block(transaction, tree, *block);
    transaction->counters.shadowed++;
    return 0;
}

static int allocate(struct block_owner *owner, struct tree *tree, uint8_t level,
                    struct block **block)
{
    struct transaction *transaction = transaction_of(owner);
    struct space *space = transaction->space;
    uint64_t bytenr;
    int result = check_alive(transaction);
    if (result == 0)
        result = space->alloc(space, tree, level, &bytenr);
    if (result == 0)
        result = write_source_fresh(&transaction->source, bytenr, block);
    if (result < 0)
        return transaction_fail(transaction, result);
    leaf_init(*block, transaction->generation, tree->id);
    block_header(*block)->level = level;
    memcpy(block_header(*block)->chunk_tree_uuid, transaction->volume->chunk_tree_uuid, UUID_SIZE);
    sign_block(transaction, tree, *block);
    transaction_tree_of(tree)->bytes_used += (*block)->size;
    transaction->counters.allocated++;
    return 0;
}

static void free_block(struct block_owner *owner, struct tree *tree, struct block *block)
{
    struct transaction *transaction = transaction_of(owner);
    transaction_fail(transaction, give_up(transaction, tree, block));
    uint64_t *used = &transaction_tree_of(tree)->bytes_used;
    *used -= *used < block->size ? *used : block->size; /* others' counters may be wrong */
    transaction->counters.freed++;
    write_source_forget(&transaction->source, block);
}

/* --- trees -------------------------------------------------------------------------- */

static bool has_root_item(const struct tree *tree)
{
    return tree->id != ROOT_TREE_OBJECTID && tree->id != CHUNK_TREE_OBJECTID;
}

static struct key root_item_key(const struct tree *tree)
{
    return (struct key){tree->id, ROOT_ITEM_KEY, tree->offset};
}

/* The root item says now what is the case. */
static void note_item(struct transaction_tree *at)
{
    at->item.bytenr = at->tree.bytenr;
    at->item.bytes_used = at->bytes_used;
    at->item.level = at->tree.level;
}

/* The root's address tells of most changes; but blocks come and go below a root that has its shadow
 * already, and a root may become an empty leaf. */
static bool is_item_right(const struct transaction_tree *at)
{
    return at->item.bytenr == at->tree.bytenr && at->item.bytes_used == at->bytes_used &&
           at->item.level == at->tree.level;
}

/* What the transaction must know of a tree beside where its root is. */
static int read_root_item(struct transaction *transaction, struct transaction_tree *at)
{
    struct tree roots;
    struct path path = {0};
    struct key key = root_item_key(&at->tree);
    int result = volume_tree(transaction->volume, ROOT_TREE_OBJECTID, &roots);
    if (result == 0)
        result = tree_search(&roots, &key, &path);
    if (result < 0)
        return result;
    assert(result == 0); /* the tree was found by this item */
    const struct root_item *item = item_data(path.nodes[0], path.slots[0]);
    at->last_snapshot = from_le64(item->last_snapshot);
    at->bytes_used = from_le64(item->bytes_used);
    note_item(at);
    path_release(&roots, &path);
    return 0;
}

static struct transaction_tree *add_tree(struct transaction *transaction,
                                         const struct transaction_tree *tree)
{
    struct transaction_tree *at = malloc(sizeof *at);
    if (!at) {
        fail(ENOMEM, "out of memory for tree %" PRId64, (int64_t)tree->tree.id);
        return NULL;
    }
    *at = *tree;
    at->tree.source = &transaction->source.source;
    at->tree.growth = &transaction->growth;
    at->next = transaction->trees;
    transaction->trees = at;
    return at;
}

int transaction_tree(struct transaction *transaction, uint64_t id, struct tree **tree)
{
    for (struct transaction_tree *at = transaction->trees; at; at = at->next)
        if (at->tree.id == id) {
            *tree = &at->tree;
            return 0;
        }
    if (!from_le64(transaction->volume->super.root))
        return fail(ENOENT, "there is no tree %" PRId64 " yet", (int64_t)id);
    struct transaction_tree found = {0};
    int result = volume_tree(transaction->volume, id, &found.tree);
    if (result == 0 && has_root_item(&found.tree))
        result = read_root_item(transaction, &found);
    if (result < 0)
        return result;
    struct transaction_tree *at = add_tree(transaction, &found);
    if (!at)
        return -ENOMEM;
    *tree = &at->tree;
    return 0;
}

/* Sets what a root item tells of the root block. Items of before Linux 3.6 end before
 * generation_v2. */
static void describe_root(const struct transaction_tree *at, struct root_item *item, uint32_t size)
{
    item->bytenr = to_le64(at->tree.bytenr);
    item->level = at->tree.level;
    item->generation = to_le64(at->tree.generation);
    item->bytes_used = to_le64(at->bytes_used);
    if (size >= sizeof *item)
        item->generation_v2 = item->generation;
}

/* The root block of a tree that was added just now. */
static int make_root(struct transaction *transaction, struct transaction_tree *at)
{
    struct block *root;
    int result = allocate(&transaction->owner, &at->tree, 0, &root);
    if (result < 0)
        return result;
    at->tree.bytenr = root->bytenr;
    at->tree.generation = transaction->generation;
    note_item(at);
    tree_put(&at->tree, root);
    return 0;
}

static int insert_root_item(struct transaction *transaction, const struct transaction_tree *at,
                            struct root_item item)
{
    struct key key = root_item_key(&at->tree);
    struct tree *roots;
    describe_root(at, &item, sizeof item);
    int result = transaction_tree(transaction, ROOT_TREE_OBJECTID, &roots);
    return result < 0 ? result : tree_insert(roots, &key, &item, sizeof item);
}

int transaction_new_tree(struct transaction *transaction, uint64_t id, const struct root_item *item,
                         struct tree **tree)
{
    int result = transaction_tree(transaction, id, tree);
    if (result != -ENOENT)
        return result < 0 ? result : fail(EEXIST, "tree %" PRId64 " is there already", (int64_t)id);
    struct transaction_tree *at = add_tree(transaction, &(struct transaction_tree){.tree.id = id});
    if (!at)
        return -ENOMEM;
    result = make_root(transaction, at);
    if (result == 0 && item)
        result = insert_root_item(transaction, at, *item);
    *tree = &at->tree;
    return transaction_fail(transaction, result); /* half a tree is not committed */
}

/* --- settling ----------------------------------------------------------------------- */

static int update_root_item(struct transaction *transaction, struct transaction_tree *at)
{
    struct tree *roots;
    struct path path = {0};
    struct key key = root_item_key(&at->tree);
    int result = transaction_tree(transaction, ROOT_TREE_OBJECTID, &roots);
    if (result == 0)
        result = tree_change(roots, &key, &path);
    if (result != 0)
        return result < 0 ? result : tree_no_item(roots, &key);
    struct block *leaf = path.nodes[0];
    describe_root(at, item_data(leaf, path.slots[0]), item_size(leaf, path.slots[0]));
    tree_dirty(roots, leaf);
    path_release(roots, &path);
    note_item(at);
    return 1;
}

/* The superblock's generation is that of the root of the root tree, whatever else has changed. */
static int claim_root_of_roots(struct transaction *transaction)
{
    struct tree *roots;
    struct path path = {0};
    int result = transaction_tree(transaction, ROOT_TREE_OBJECTID, &roots);
    if (result < 0 || roots->generation == transaction->generation)
        return result;
    struct key first = {0};
    result = tree_search(roots, &first, &path);
    if (result >= 0)
        result = path_claim(roots, &path, roots->level);
    path_release(roots, &path);
    return result < 0 ? result : 1;
}

/* 1 where a root item has changed, 0 where all were right. */
static int update_root_items(struct transaction *transaction)
{
    int changed = transaction->source.count ? claim_root_of_roots(transaction) : 0;
    for (struct transaction_tree *at = transaction->trees; at && changed >= 0; at = at->next) {
        if (!has_root_item(&at->tree) || is_item_right(at))
            continue;
        int result = update_root_item(transaction, at);
        changed = result < 0 ? result : 1;
    }
    return changed;
}

int transaction_settle(struct transaction *transaction)
{
    struct space *space = transaction->space;
    int changed = check_alive(transaction);
    do {
        transaction->counters.rounds++;
        if (changed >= 0)
            changed = space->settle(space);
        int updated = changed < 0 ? changed : update_root_items(transaction);
        changed = updated < 0 ? updated : changed | updated;
    } while (changed > 0);
    return transaction_fail(transaction, changed);
}

/* --- begin and end ------------------------------------------------------------------ */

void transaction_begin(struct transaction *transaction, struct volume *volume, struct space *space)
{
    *transaction = (struct transaction){
        .volume = volume,
        .space = space,
        .super = volume->super,
        .generation = from_le64(volume->super.generation) + 1,
        .owner = {.claim = claim, .allocate = allocate, .free = free_block},
        .policy = push_policy_coppice(),
        .error = volume->write_error,
    };
    transaction->growth = (struct growth){
        .owner = &transaction->owner,
        .policy = &transaction->policy.policy,
    };
    write_source_open(&transaction->source, &volume->source);
    space->transaction = transaction;
}

static void end(struct transaction *transaction, bool is_on_device)
{
    struct space *space = transaction->space;
    write_source_close(&transaction->source);
    while (transaction->trees) {
        struct transaction_tree *at = transaction->trees;
        transaction->trees = at->next;
        free(at);
    }
    space->committed(space, is_on_device);
    space->transaction = NULL;
}

int transaction_commit(struct transaction *transaction)
{
    bool is_on_device = false;
    int result = transaction_settle(transaction);
    if (result == 0)
        result = commit_write(transaction, &is_on_device);
    end(transaction, is_on_device);
    return result;
}

void transaction_abort(struct transaction *transaction)
{
    end(transaction, false);
}
