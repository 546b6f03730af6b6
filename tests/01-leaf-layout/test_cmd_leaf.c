/* The same for both ways to find a block: by looking at every sector (chapter 01) and by the chunk
 * map (chapter 02). */
#include "fail.h"
#include "support.h"
#include "support_command.h"
#include "support_image.h"
#include "support_leaf.h"

#include <stdlib.h>
#include <string.h>

static struct image image;
static char address[24]; /* of the root tree's one leaf */
static struct ran right; /* what is to be shown of it */

static void setup(void)
{
    image_open(&image, "first");
    snprintf(address, sizeof address, "%ju", (uintmax_t)from_le64(image.super.root));
    run_command(&right, image.path, "leaf", address);
    expect_success(right.result);
}

static void teardown(void)
{
    image_close(&image);
    free(right.out);
}

static bool is_right(const struct ran *ran)
{
    return strcmp(ran->out, right.out) == 0;
}

START_TEST(each_form)
{
    setup();
    char words[64];
    snprintf(words, sizeof words, "leaf bytenr %s level 0 nritems ", address);
    expect_output(words, image.path, "leaf", address);
    expect_output("key (FS_TREE ROOT_ITEM 0)", image.path, "leaf", address);
    expect_output("graph leaf {", image.path, "leaf", address, "--dot");
    struct ran ran;
    run_command(&ran, image.path, "leaf", "--json", address);
    ck_assert(ran.result == 0 && is_json_lines(ran.out, ran.length));
    free(ran.out);
    snprintf(words, sizeof words, "0x%jx", (uintmax_t)from_le64(image.super.root));
    run_command(&ran, image.path, "leaf", words);
    ck_assert(ran.result == 0 && is_right(&ran));
    free(ran.out);
    teardown();
}
END_TEST

START_TEST(refused)
{
    setup();
    char node[24];
    snprintf(node, sizeof node, "%ju", (uintmax_t)find_root(&image, FS_TREE_OBJECTID));
    expect_refusal(-EINVAL, "is a node of level 1, not a leaf", image.path, "leaf", node);
    expect_refusal(EXIT_USAGE, "'x' is not a number", image.path, "leaf", "x");
    expect_refusal(EXIT_USAGE, "--offset: 'x' is not a number", image.path, "leaf", "--offset=x",
                   address);
    expect_refusal(-ENOENT, "No such file", "/nonexistent", "leaf", address);
    static const char *const elsewhere[] = {"0", "4096", "12345", "1T", "18446744073709551615"};
    for (size_t i = 0; i < LENGTH_OF(elsewhere); i++) {
        struct ran ran;
        run_command(&ran, image.path, "leaf", elsewhere[i]);
        expect((ran.result == -ENOENT || ran.result == -EUCLEAN) && ran.length == 0, "%s: %d: %s",
               elsewhere[i], ran.result, fail_message());
        free(ran.out);
    }
    image_write(&image, 65536, "torn", 4);
    image_write(&image, 64 << 20, "torn", 4);
    expect_refusal(-EUCLEAN, "superblock at 65536: wrong checksum (U2)", image.path, "leaf",
                   address);
    teardown();
}
END_TEST

/* One bad copy is not missed, two are. */
START_TEST(copies)
{
    setup();
    uint64_t offsets[IMAGE_COPIES];
    ck_assert_uint_eq(image_find_block(&image, from_le64(image.super.root), offsets), 2);
    for (unsigned bad = 0; bad < 2; bad++) {
        struct ran ran;
        image_write(&image, offsets[bad] + 200, "rotten", 6);
        run_command(&ran, image.path, "leaf", address);
        ck_assert(ran.result == 0 && is_right(&ran));
        free(ran.out);
        image_undo(&image);
    }
    struct ran ran;
    image_write(&image, offsets[0] + 200, "rotten", 6);
    image_write(&image, offsets[1] + 200, "rotten", 6);
    run_command(&ran, image.path, "leaf", address);
    expect(ran.result < 0 && strstr(fail_message(), address), "%d: %s", ran.result, fail_message());
    free(ran.out);
    teardown();
}
END_TEST

/* Blocks that were freed stay on the device until they are overwritten: an older one of the same
 * address, wherever it lies, is not shown. */
START_TEST(older_copies)
{
    setup();
    struct block older = make_leaf(image.nodesize);
    image_get_block(&image, from_le64(image.super.root), older.data);
    block_header(&older)->generation = to_le64(1);
    leaf_remove(&older, 0, 3);
    put_csum(CSUM_TYPE_CRC32, older.data, older.size);
    static const uint64_t places[] = {0, 1 << 20, (128 << 20) - 4096};
    for (size_t i = 0; i < LENGTH_OF(places); i++)
        image_write(&image, places[i], older.data, older.size);
    struct ran ran;
    run_command(&ran, image.path, "leaf", address);
    ck_assert(ran.result == 0 && is_right(&ran));
    free(ran.out);
    free_block(&older);
    teardown();
}
END_TEST

START_TEST(faults)
{
    static const char *const forms[] = {NULL, "--json", "--dot"};
    setup();
    for (size_t i = 0; i < LENGTH_OF(forms); i++) {
        const char *words[] = {"leaf", address, forms[i], NULL};
        free(right.out);
        run_words(&right, image.path, words, NULL);
        uint64_t reads = check_faults(FAULT_READ, EIO, image.path, words, is_right);
        uint64_t pieces = check_faults(FAULT_MEMORY, ENOMEM, image.path, words, is_right);
        ck_assert_uint_ge(reads, 4);
        ck_assert_uint_ge(pieces, 6);
    }
    teardown();
}
END_TEST

SUITE_WITH(cmd_leaf, 60, load_first_image, each_form, refused, copies, older_copies, faults)
