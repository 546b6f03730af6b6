#include "tree.h"

#include <check.h>
#include <stdlib.h>

Suite *suite_tree_last(void);
int tree_last(struct tree *tree, struct path *path);

enum { SIZE = 4096, BLOCKS = 64 };

/* A source that has its blocks in an array, by number. */
struct array_source {
    struct block_source source;
    struct block blocks[BLOCKS];
    unsigned gets, puts;
};

static int array_get(struct block_source *source, uint64_t bytenr,
                     const struct block_promise *promise, struct block **block)
{
    struct array_source *array = (struct array_source *)source;
    array->gets++;
    *block = &array->blocks[bytenr];
    return block_fulfils(*block, promise);
}

static void array_put(struct block_source *source, struct block *block)
{
    (void)block;
    ((struct array_source *)source)->puts++;
}

static void add_pointer(struct block *node, const struct block *child)
{
    uint32_t slot = block_nritems(node);
    struct key key = block_level(child) ? node_key(child, 0) : leaf_key(child, 0);
    *node_ptr(node, slot) = (struct key_ptr){key_to_disk(&key), to_le64(child->bytenr), to_le64(1)};
    block_header(node)->nritems = to_le32(slot + 1);
}

/* Leaves of 3 items in nodes of 3 pointers: `height` levels. Returns the number of the root. */
static uint64_t build(struct array_source *array, unsigned height, uint64_t *next_block,
                      uint64_t *next_key)
{
    struct block *block = &array->blocks[*next_block];
    block->bytenr = (*next_block)++;
    leaf_init(block, 1, FS_TREE_OBJECTID);
    block_header(block)->level = (uint8_t)(height - 1);
    for (uint32_t slot = 0; slot < 3; slot++) {
        if (height > 1) {
            uint64_t child = build(array, height - 1, next_block, next_key);
            add_pointer(block, &array->blocks[child]);
        } else {
            struct key key = {(*next_key)++, INODE_ITEM_KEY, 0};
            ck_assert_int_eq(leaf_insert(block, slot, &key, NULL, 10), 0);
        }
    }
    return block->bytenr;
}

START_TEST(test_every_height)
{
    struct array_source *array = calloc(1, sizeof *array);
    array->source = (struct block_source){.get = array_get, .put = array_put};
    for (unsigned i = 0; i < BLOCKS; i++)
        array->blocks[i] = (struct block){.data = calloc(1, SIZE), .size = SIZE};
    for (unsigned height = 1; height <= 4; height++) {
        uint64_t next_block = 0, next_key = 1;
        uint64_t root = build(array, height, &next_block, &next_key);
        struct tree tree = {.source = &array->source,
                            .id = FS_TREE_OBJECTID,
                            .bytenr = root,
                            .level = (uint8_t)(height - 1),
                            .generation = 1};
        struct path path = {0};
        ck_assert_int_eq(tree_last(&tree, &path), 0);
        ck_assert_uint_eq(path_key(&path).objectid, next_key - 1);
        ck_assert_uint_eq(tree.blocks, height);
        path_release(&tree, &path);
        ck_assert_uint_eq(array->gets, array->puts);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        free(array->blocks[i].data);
    free(array);
}
END_TEST

START_TEST(test_empty_tree)
{
    struct array_source array = {.source = {.get = array_get, .put = array_put}};
    unsigned char bytes[SIZE];
    array.blocks[0] = (struct block){.data = bytes, .size = SIZE};
    leaf_init(&array.blocks[0], 1, CSUM_TREE_OBJECTID);
    struct tree tree = {.source = &array.source, .id = CSUM_TREE_OBJECTID, .generation = 1};
    struct path path = {0};
    ck_assert_int_eq(tree_last(&tree, &path), 1);
    ck_assert_ptr_null(path.nodes[0]);
    ck_assert_uint_eq(array.gets, array.puts);
    ck_assert_uint_eq(array.gets, 1);
}
END_TEST

Suite *suite_tree_last(void)
{
    Suite *suite = suite_create("tree_last");
    TCase *test = tcase_create("all");
    tcase_add_test(test, test_every_height);
    tcase_add_test(test, test_empty_tree);
    suite_add_tcase(suite, test);
    return suite;
}
