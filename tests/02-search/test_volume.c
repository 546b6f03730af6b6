#include "volume.h"

#include "fail.h"
#include "support.h"
#include "support_device.h"
#include "support_faults.h"
#include "support_volume.h"

#include <stdlib.h>
#include <string.h>

static struct opened opened;
static struct maker maker;

/* --- opening ------------------------------------------------------------------------ */

struct names {
    char text[1024];
};

static int gather_name(struct tree *tree, void *context)
{
    char name[TREE_NAME_SIZE];
    struct names *names = context;
    strcat(strcat(names->text, tree_name(tree, name)), " ");
    return 0;
}

/* The images of mkfs and the kernel: every tree by name, and each can be walked to its end. */
static int count_block(const struct block *block, void *context)
{
    (void)block;
    ++*(uint64_t *)context;
    return 0;
}

static int walk_tree(struct tree *tree, void *context)
{
    return tree_walk(tree, count_block, context);
}

START_TEST(every_image)
{
    static const struct {
        const char *name, *trees;
    } right[] = {
        {"first", "root chunk extent dev fs csum uuid free-space data-reloc "},
        {"tall", "root chunk extent dev fs csum uuid free-space data-reloc "},
        {"bgt-default",
         "root chunk extent dev fs csum uuid free-space block-group 256 data-reloc "},
    };
    for (size_t i = 0; image_names[i]; i++) {
        struct image image;
        struct names names = {""};
        uint64_t blocks = 0;
        image_open(&image, image_names[i]);
        expect_success(open_volume(&opened, image.path));
        ck_assert_int_eq(opened.volume.mirror, 0);
        ck_assert_uint_eq(opened.volume.open_blocks, opened.volume.source.blocks_read);
        expect_success(volume_each_tree(&opened.volume, gather_name, &names));
        for (size_t j = 0; j < LENGTH_OF(right); j++)
            if (strcmp(right[j].name, image_names[i]) == 0)
                ck_assert_str_eq(names.text, right[j].trees);
        expect_success(volume_each_tree(&opened.volume, walk_tree, &blocks));
        expect(blocks >= 11, "%s: %ju blocks", image_names[i], (uintmax_t)blocks);
        ck_assert_uint_eq(opened.notes.count, 0);
        close_volume(&opened);
        image_close(&image);
    }
}
END_TEST

/* Opening and walking, with each read of the device the last one that succeeds. */
START_TEST(a_failing_device)
{
    struct image image;
    image_open(&image, "first");
    int64_t before = memory_pieces();
    uint64_t reads = 0, blocks;
    for (int result = -EIO; result < 0; reads++) {
        struct device *file, *failing;
        struct volume volume;
        struct notes notes = {0};
        blocks = 0;
        expect_success(file_device_open(image.path, 0, &file));
        expect_success(failing_device_open(file, 1U << DEVICE_READ, reads, EIO, &failing));
        result = volume_open(&volume, failing, &notes);
        if (result == 0) {
            result = volume_each_tree(&volume, walk_tree, &blocks);
            volume_close(&volume);
        }
        if (result < 0)
            expect_failure(EIO, "Input/output error", result);
        device_close(failing);
        ck_assert_int_eq(memory_pieces(), before);
    }
    ck_assert_uint_ge(reads, blocks);
    image_close(&image);
}
END_TEST

static int size_error(struct device *device, uint64_t *size)
{
    static int calls;
    (void)device;
    *size = 1 << 20;
    return calls++ ? fail(EIO, "no size") : 0;
}

static struct superblock super_read; /* what the device below holds */

static int read_super(struct device *device, uint64_t offset, void *buffer, size_t length)
{
    (void)device, (void)offset;
    memcpy(buffer, &super_read, length);
    return 0;
}

/* The size is asked for twice; the second answer counts too. */
START_TEST(size_is_lost)
{
    struct device device = {.read = read_super, .size = size_error};
    struct volume volume;
    struct notes notes = {0};
    maker_begin(&maker, 4096, CSUM_TYPE_CRC32, 1);
    maker_end(&maker);
    image_read(&maker.image, superblock_offset(0), &super_read, sizeof super_read);
    super_read.total_bytes = to_le64(1 << 20);
    put_csum(CSUM_TYPE_CRC32, &super_read, sizeof super_read);
    expect_failure(EIO, "no size", volume_open(&volume, &device, &notes));
    maker_close(&maker);
}
END_TEST

/* What stops the opening names itself. */
START_TEST(chunk_tree_faults)
{
    maker_begin(&maker, 4096, CSUM_TYPE_CRC32, 1);
    maker_end(&maker);
    static const struct {
        const char *words;
        uint32_t slot, offset; /* in the item's data */
        uint64_t value;
    } broken[] = {
        {"chunk tree: leaf 1048576 slot 0: chunk 1048576: overlaps chunk 1048576 or differs", 0, 56,
         5 << 20},
        {"chunk tree: leaf 1048576 slot 1: chunk 16777216: length 0 (C1)", 1, 0, 0},
        {"chunk tree: leaf 1048576 slot 1: chunk 16777216: stripe length 0 (C2)", 1, 16, 0},
        {"chunk tree: leaf 1048576 slot 1: chunk 16777216: type 0x0 (C3)", 1, 24, 0},
        {"chunk 16777216: type 0x24 with 1 stripes (C4)", 1, 24, 0x24},
        {"chunk 16777216: the profile RAID1 is not supported", 1, 24, 0x14},
        {"chunk 16777216: stripe 0 is at 69206016", 1, 56, MAKER_SIZE},
        {"chunk tree: block 1048576: level 0, not 1 (T1)", 0, 0, 0},
    };
    for (size_t i = 0; i < LENGTH_OF(broken); i++) {
        struct block leaf = make_leaf(4096);
        struct superblock super = maker.super;
        le64 value = to_le64(broken[i].value);
        image_get_block(&maker.image, MAKER_SYSTEM, leaf.data);
        if (i + 1 < LENGTH_OF(broken))
            memcpy((char *)item_data(&leaf, broken[i].slot) + broken[i].offset, &value, 8);
        else
            super.chunk_root_level = 1;
        image_put_block(&maker.image, MAKER_SYSTEM, leaf.data);
        image_put_super(&maker.image, &super);
        int error = strstr(broken[i].words, "not supported") ? EOPNOTSUPP : EUCLEAN;
        expect_failure(error, broken[i].words, open_volume(&opened, maker.image.path));
        image_undo(&maker.image);
        free_block(&leaf);
    }
    expect_success(open_volume(&opened, maker.image.path));
    close_volume(&opened);
    maker_close(&maker);
}
END_TEST

/* --- trees -------------------------------------------------------------------------- */

/* A tree of one empty leaf under this key of the root tree. */
static uint64_t add_tree(uint64_t id, uint64_t offset, uint64_t owner)
{
    struct block leaf = maker_block(&maker, owner, 0);
    uint64_t bytenr = leaf.bytenr;
    leaf_append(&leaf, (struct key){256, ORPHAN_ITEM_KEY, 0}, NULL, 0);
    maker_root(&maker, (struct key){id, ROOT_ITEM_KEY, offset}, &leaf);
    maker_write(&maker, &leaf);
    return bytenr;
}

/* An item of another kind between the root items. */
static void insert_root_tree_item(uint32_t slot, struct key key)
{
    struct block roots = make_leaf(4096);
    uint64_t bytenr = from_le64(maker.super.root);
    image_get_block(&maker.image, bytenr, roots.data);
    expect_success(leaf_insert(&roots, slot, &key, "x", 1));
    image_put_block(&maker.image, bytenr, roots.data);
    free_block(&roots);
}

START_TEST(one_tree)
{
    struct tree tree;
    maker_begin(&maker, 4096, CSUM_TYPE_CRC32, 1);
    uint64_t fs = add_tree(FS_TREE_OBJECTID, 0, FS_TREE_OBJECTID);
    uint64_t snapshot = add_tree(300, 17, 300);
    add_tree(301, 0, 301);
    maker.roots[1].item.drop_level = 1;
    maker.roots[1].item.refs = to_le32(0);
    maker.roots[1].item.drop_progress.objectid = to_le64(257);
    maker.roots[1].item.drop_progress.offset = to_le64(9);
    uint64_t reloc = add_tree(TREE_RELOC_OBJECTID, 300, TREE_RELOC_OBJECTID);
    maker_end(&maker);
    insert_root_tree_item(1, (struct key){295, ROOT_ITEM_KEY + 1, 0});
    expect_success(open_volume(&opened, maker.image.path));

    expect_success(volume_tree(&opened.volume, FS_TREE_OBJECTID, &tree));
    ck_assert_uint_eq(tree.bytenr, fs);
    ck_assert_uint_eq(tree.id, FS_TREE_OBJECTID);
    ck_assert_uint_eq(tree.generation, MAKER_GENERATION);
    ck_assert(!tree.is_dropped);
    expect_success(volume_tree(&opened.volume, 300, &tree));
    ck_assert_uint_eq(tree.bytenr, snapshot);
    ck_assert_uint_eq(tree.offset, 17);
    ck_assert(tree.is_dropped && tree.drop_key.objectid == 257 && tree.drop_key.offset == 9);
    expect_success(volume_tree(&opened.volume, TREE_RELOC_OBJECTID, &tree));
    ck_assert_uint_eq(tree.bytenr, reloc);
    expect_success(volume_tree(&opened.volume, ROOT_TREE_OBJECTID, &tree));
    ck_assert_uint_eq(tree.bytenr, from_le64(maker.super.root));
    expect_success(volume_tree(&opened.volume, CHUNK_TREE_OBJECTID, &tree));
    ck_assert_uint_eq(tree.bytenr, MAKER_SYSTEM);

    static const struct {
        uint64_t id;
        const char *words;
    } none[] = {
        {295, "there is no tree 295"}, /* another item of this number */
        {299, "there is no tree 299"},
        {302, "there is no tree 302"},
        {UINT64_MAX, "there is no tree -1"},
        {0, "there is no tree 0"},
        {TREE_LOG_OBJECTID, "there is no tree -6"},
    };
    for (size_t i = 0; i < LENGTH_OF(none); i++)
        expect_failure(ENOENT, none[i].words, volume_tree(&opened.volume, none[i].id, &tree));
    close_volume(&opened);
    maker_close(&maker);
}
END_TEST

/* A tree that is in trouble says which one it is. */
START_TEST(faults_name_the_tree)
{
    struct names names = {""};
    struct tree tree;
    maker_begin(&maker, 4096, CSUM_TYPE_CRC32, 1);
    add_tree(FS_TREE_OBJECTID, 0, FS_TREE_OBJECTID);
    uint64_t bad = add_tree(300, 0, 300);
    maker_end(&maker);
    image_write(&maker.image, bad + 1000, "rotten", 6);
    expect_success(open_volume(&opened, maker.image.path));
    uint64_t blocks = 0;
    expect_failure(EUCLEAN, "tree 300: block 16781312: checksum",
                   volume_each_tree(&opened.volume, walk_tree, &blocks));
    expect_success(volume_each_tree(&opened.volume, gather_name, &names));
    ck_assert_str_eq(names.text, "root chunk fs 300 ");
    image_write(&maker.image, from_le64(maker.super.root) + 1000, "rotten", 6);
    expect_failure(EUCLEAN, "root tree: block 16785408: checksum",
                   volume_tree(&opened.volume, 300, &tree));
    close_volume(&opened);
    maker_close(&maker);
}
END_TEST

static int stop_at(struct tree *tree, void *context)
{
    uint64_t *left = context;
    (void)tree;
    return --*left == 0 ? 7 : 0;
}

/* Log trees: their roots are items of the log root tree, one transaction ahead. */
START_TEST(log_trees)
{
    struct names names = {""};
    struct tree tree;
    maker_begin(&maker, 4096, CSUM_TYPE_CRC32, 1);
    add_tree(FS_TREE_OBJECTID, 0, FS_TREE_OBJECTID);
    struct block log = maker_block(&maker, TREE_LOG_OBJECTID, 0);
    struct block roots = maker_block(&maker, TREE_LOG_OBJECTID, 0);
    block_header(&log)->generation = to_le64(MAKER_GENERATION + 1);
    block_header(&roots)->generation = to_le64(MAKER_GENERATION + 1);
    struct root_item item = {.generation = to_le64(MAKER_GENERATION + 1),
                             .bytenr = to_le64(log.bytenr)};
    leaf_append(&roots, (struct key){TREE_LOG_OBJECTID, ROOT_ITEM_KEY, FS_TREE_OBJECTID}, &item,
                sizeof item);
    maker.super.log_root = to_le64(roots.bytenr);
    maker_write(&maker, &log);
    maker_write(&maker, &roots);
    maker_end(&maker);

    expect_success(open_volume(&opened, maker.image.path));
    expect_success(volume_tree(&opened.volume, TREE_LOG_OBJECTID, &tree));
    ck_assert_uint_eq(tree.bytenr, from_le64(maker.super.log_root));
    expect_success(volume_each_tree(&opened.volume, gather_name, &names));
    ck_assert_str_eq(names.text, "root chunk log fs log/5 ");
    uint64_t blocks = 0;
    expect_success(volume_each_tree(&opened.volume, walk_tree, &blocks));
    ck_assert_uint_eq(blocks, 5);
    for (uint64_t stop = 1; stop <= 5; stop++) {
        uint64_t left = stop;
        ck_assert_int_eq(volume_each_tree(&opened.volume, stop_at, &left), 7);
        ck_assert_uint_eq(left, 0);
    }
    close_volume(&opened);
    maker_close(&maker);
}
END_TEST

/* Items of other types, and several relocation trees; any other tree has one root item. */
START_TEST(each_tree)
{
    struct names names = {""};
    maker_begin(&maker, 4096, CSUM_TYPE_CRC32, 1);
    add_tree(FS_TREE_OBJECTID, 0, FS_TREE_OBJECTID);
    add_tree(300, 0, 300);
    add_tree(301, 0, 301);
    add_tree(TREE_RELOC_OBJECTID, FS_TREE_OBJECTID, FS_TREE_OBJECTID);
    add_tree(TREE_RELOC_OBJECTID, 300, 300);
    maker_end(&maker);
    insert_root_tree_item(2, (struct key){300, ROOT_ITEM_KEY + 1, 0});
    expect_success(open_volume(&opened, maker.image.path));
    expect_success(volume_each_tree(&opened.volume, gather_name, &names));
    ck_assert_str_eq(names.text, "root chunk fs 300 301 reloc/5 reloc/300 ");
    close_volume(&opened);
    maker_close(&maker);

    static const struct key second[] = {{300, ROOT_ITEM_KEY, 1},
                                        {ROOT_TREE_OBJECTID, ROOT_ITEM_KEY, 0},
                                        {CHUNK_TREE_OBJECTID, ROOT_ITEM_KEY, 7}};
    for (size_t i = 0; i < LENGTH_OF(second); i++) {
        maker_begin(&maker, 4096, CSUM_TYPE_CRC32, 1);
        if (second[i].objectid < FIRST_FREE_OBJECTID)
            add_tree(second[i].objectid, second[i].offset, second[i].objectid);
        add_tree(300, 0, 300);
        if (second[i].objectid >= FIRST_FREE_OBJECTID)
            add_tree(second[i].objectid, second[i].offset, second[i].objectid);
        maker_end(&maker);
        expect_success(open_volume(&opened, maker.image.path));
        expect_failure(EUCLEAN, "a second root for the tree of",
                       volume_each_tree(&opened.volume, gather_name, &names));
        close_volume(&opened);
        maker_close(&maker);
    }
}
END_TEST

/* The fsid that blocks bear is not the one that the file system shows. */
START_TEST(metadata_uuid)
{
    maker_begin(&maker, 4096, CSUM_TYPE_CRC32, 1);
    maker_end(&maker);
    struct superblock super = maker.super;
    super.incompat_flags = to_le64(INCOMPAT_METADATA_UUID);
    memcpy(super.metadata_uuid, super.fsid, FSID_SIZE);
    memset(super.fsid, 0x55, FSID_SIZE);
    image_put_super(&maker.image, &super);
    expect_success(open_volume(&opened, maker.image.path));
    close_volume(&opened);
    super.incompat_flags = to_le64(0);
    memcpy(super.dev_item.fsid, super.fsid, FSID_SIZE);
    image_put_super(&maker.image, &super);
    expect_failure(EUCLEAN, "chunk tree: block 1048576: belongs to another file system (B3)",
                   open_volume(&opened, maker.image.path));
    maker_close(&maker);
}
END_TEST

/* --- names -------------------------------------------------------------------------- */

START_TEST(tree_names)
{
    static const struct {
        const char *text;
        uint64_t id;
    } right[] = {
        {"root", 1},
        {"extent", 2},
        {"chunk", 3},
        {"dev", 4},
        {"fs", 5},
        {"csum", 7},
        {"quota", 8},
        {"uuid", 9},
        {"free-space", 10},
        {"block-group", 11},
        {"log", TREE_LOG_OBJECTID},
        {"reloc", TREE_RELOC_OBJECTID},
        {"data-reloc", DATA_RELOC_TREE_OBJECTID},
        {"257", 257},
        {"18446744073709551612", UINT64_MAX - 3},
    };
    for (size_t i = 0; i < LENGTH_OF(right); i++) {
        uint64_t id = 0;
        char name[TREE_NAME_SIZE];
        expect_success(tree_parse(right[i].text, &id));
        ck_assert_uint_eq(id, right[i].id);
        struct tree tree = {.id = id};
        ck_assert_str_eq(tree_name(&tree, name), right[i].text);
    }
    static const struct {
        const char *text;
        uint64_t id;
    } also[] = {{"FS", 5}, {"FS_TREE", 5}, {"-9", DATA_RELOC_TREE_OBJECTID}, {"0x101", 257}};
    for (size_t i = 0; i < LENGTH_OF(also); i++) {
        uint64_t id = 0;
        expect_success(tree_parse(also[i].text, &id));
        ck_assert_uint_eq(id, also[i].id);
    }
    uint64_t id = 99;
    expect_failure(EINVAL, "'bark' is not the name or number of a tree", tree_parse("bark", &id));
    expect_failure(EINVAL, "'' is not the name", tree_parse("", &id));
    ck_assert_uint_eq(id, 99);
    /* Only relocation and log trees come in several. */
    char name[TREE_NAME_SIZE];
    ck_assert_str_eq(tree_name(&(struct tree){.id = 5, .offset = 7}, name), "fs");
    ck_assert_str_eq(tree_name(&(struct tree){.id = TREE_LOG_OBJECTID, .offset = 257}, name),
                     "log/257");
    ck_assert_str_eq(
        tree_name(&(struct tree){.id = TREE_RELOC_OBJECTID, .offset = UINT64_MAX}, name),
        "reloc/18446744073709551615");
}
END_TEST

SUITE_WITH(volume, 30, load_all_images, every_image, a_failing_device, size_is_lost,
           chunk_tree_faults, one_tree, faults_name_the_tree, log_trees, each_tree, metadata_uuid,
           tree_names)
