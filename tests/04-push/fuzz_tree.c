/* Fuzzing the trees: the input is a policy and a series of operations. After each the tree is sound
 * and holds what a sorted array holds. */
#include "change.h"
#include "command.h"
#include "delete.h"
#include "fail.h"
#include "heap.h"
#include "insert.h"
#include "push.h"

#include <stdlib.h>
#include <string.h>

const struct command *const commands[] = {NULL};
const struct argp_option *const global_options[] = {NULL};
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { KEYS = 256, NODE_SIZE = 4096 };

/* Key i is (256, EXTENT_DATA, i); the data of an item is its number, over and over. */
static struct {
    bool is_there[KEYS];
    uint32_t size[KEYS];
} model;

static struct key key_of(uint32_t number)
{
    return (struct key){FIRST_FREE_OBJECTID, EXTENT_DATA_KEY, number};
}

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, fail_message());
    abort();
}

/* --- is it what it should be? ------------------------------------------------------- */

struct walk {
    uint64_t blocks;
    uint32_t next; /* the next number to be met */
};

static int visit(const struct block *block, void *context)
{
    struct walk *walk = context;
    walk->blocks++;
    if (block_level(block) > 0)
        return 0;
    for (uint32_t slot = 0; slot < block_nritems(block); slot++) {
        struct key key = leaf_key(block, slot);
        while (walk->next < KEYS && !model.is_there[walk->next])
            walk->next++;
        uint32_t number = walk->next++;
        must(number < KEYS && key.offset == number, "an item that should not be there");
        must(item_size(block, slot) == model.size[number], "an item of another size");
        const unsigned char *data = item_data(block, slot);
        for (uint32_t i = 0; i < model.size[number]; i++)
            must(data[i] == (unsigned char)number, "an item with other data");
    }
    return 0;
}

static void check(struct heap *heap, struct tree *tree)
{
    struct walk walk = {0};
    must(heap->held == 0, "a block is still held");
    must(tree_walk(tree, visit, &walk) == 0, "the tree is not sound");
    for (; walk.next < KEYS; walk.next++)
        must(!model.is_there[walk.next], "an item is missing");
    must(walk.blocks == heap->counters.allocated - heap->counters.freed, "a block is lost");
}

/* --- operations --------------------------------------------------------------------- */

struct input {
    const uint8_t *bytes;
    size_t length;
};

static uint32_t take(struct input *input)
{
    if (input->length == 0)
        return 0;
    input->length--;
    return *input->bytes++;
}

/* A size: small ones are more common, and the largest there is can be had. */
static uint32_t take_size(struct input *input)
{
    uint32_t byte = take(input);
    return byte < 192 ? byte : (byte - 191) * 62;
}

static void insert(struct tree *tree, struct input *input, uint32_t number)
{
    static unsigned char data[NODE_SIZE];
    uint32_t size = take_size(input);
    struct key key = key_of(number);
    memset(data, (int)number, sizeof data);
    int result = tree_insert(tree, &key, data, size);
    must(result == (model.is_there[number]        ? -EEXIST
                    : size > NODE_SIZE - 101 - 25 ? -EOVERFLOW
                                                  : 0),
         "insert");
    if (result == 0) {
        model.is_there[number] = true;
        model.size[number] = size;
    }
}

static void insert_batch(struct tree *tree, struct input *input, uint32_t number)
{
    static unsigned char data[16][NODE_SIZE];
    struct item items[16];
    size_t count = 1 + take(input) % 16, made = 0, inserted;
    for (; made < count && number < KEYS; number++) {
        if (model.is_there[number] || take(input) % 4 == 0)
            continue;
        uint32_t size = take_size(input) % (NODE_SIZE - 125);
        memset(data[made], (int)number, sizeof data[made]);
        items[made] = (struct item){key_of(number), data[made], size};
        model.is_there[number] = true;
        model.size[number] = size;
        made++;
    }
    must(tree_insert_batch(tree, items, made, &inserted) == 0 && inserted == made, "batch");
}

static void extend(struct tree *tree, struct input *input, uint32_t number)
{
    static unsigned char data[NODE_SIZE];
    uint32_t bytes = take_size(input);
    struct key key = key_of(number);
    memset(data, (int)number, sizeof data);
    int result = tree_extend(tree, &key, data, bytes);
    must(result == (!model.is_there[number]                             ? -ENOENT
                    : model.size[number] + bytes > NODE_SIZE - 101 - 25 ? -EOVERFLOW
                                                                        : 0),
         "extend");
    if (result == 0)
        model.size[number] += bytes;
}

static void delete_some(struct tree *tree, struct input *input, uint32_t number)
{
    struct key first = key_of(number);
    uint32_t count = take(input) % 64;
    struct key last = key_of(number + count);
    uint64_t deleted, there = 0;
    for (uint32_t i = number; i <= number + count && i < KEYS; i++) {
        there += model.is_there[i];
        model.is_there[i] = false;
    }
    must(tree_delete_range(tree, &first, &last, &deleted) == 0 && deleted == there, "drop");
}

static void operate(struct heap *heap, struct tree *tree, struct input *input)
{
    uint32_t what = take(input) % 8, number = take(input);
    struct key key = key_of(number);
    switch (what) {
    case 0:
    case 1:
    case 2:
        insert(tree, input, number);
        break;
    case 3:
        insert_batch(tree, input, number);
        break;
    case 4:
        extend(tree, input, number);
        break;
    case 5:
        must(tree_delete(tree, &key) == (model.is_there[number] ? 0 : -ENOENT), "delete");
        model.is_there[number] = false;
        break;
    case 6:
        delete_some(tree, input, number);
        break;
    default:
        if (model.is_there[number]) {
            model.size[number] = model.size[number] * (take(input) & 3) / 4;
            must(tree_truncate(tree, &key, model.size[number]) == 0, "truncate");
        }
        heap_commit(heap);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct input input = {bytes, length};
    struct heap heap;
    struct tree tree;
    uint32_t rules = take(&input), limits = take(&input);
    struct push_policy policy = push_policy_kernel();
    policy.shortcut = rules & 1;
    policy.need = rules & 2;
    policy.left_discount = rules & 4;
    policy.shortcut_left = rules & 8;
    policy.append = rules & 16;
    policy.three = rules & 32;
    policy.merge = rules & 64 ? 3 : 4;
    policy.balance = limits & 128 ? 4 : 2;
    struct growth growth = {
        .policy = &policy.policy,
        .shadow_first = rules & 128,
        .max_items = limits & 7 ? 2 + (limits & 7) : 0,
        .max_ptrs = 8 + (limits >> 3 & 3),
    };
    if ((limits >> 5 & 3) == 3)
        growth.policy = rules & 16 ? &append_policy : &split_policy;

    memset(&model, 0, sizeof model);
    heap_open(&heap, NODE_SIZE);
    heap.is_checking = true;
    must(heap_tree(&heap, &tree, FIRST_FREE_OBJECTID, &growth) == 0, "heap_tree");
    while (input.length > 0) {
        operate(&heap, &tree, &input);
        check(&heap, &tree);
    }
    heap_close(&heap);
    return 0;
}
