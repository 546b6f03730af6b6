/* Damaged images before the whole tool. Whatever is in an image, each command ends with an error
 * that says what and where, or with a right result. It does not crash or hang, and its memory is
 * bounded. */
#include "checksum.h"
#include "fail.h"
#include "support.h"
#include "support_command.h"
#include "support_volume.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the image, and what is where in it --------------------------------------------- */

static struct image image;
static uint64_t chunk_root, root, extent, dev, fs, fs_leaf, fs_leaf2, csum, space;

/* The block as it is, in a buffer that stays until the next call. */
static struct block look(uint64_t bytenr)
{
    static unsigned char bytes[NODE_SIZE_MAX];
    image_get_block(&image, bytenr, bytes);
    return (struct block){.data = bytes, .size = image.nodesize, .bytenr = bytenr};
}

static void open_first(void)
{
    image_open(&image, "first");
    chunk_root = from_le64(image.super.chunk_root);
    root = from_le64(image.super.root);
    extent = find_root(&image, EXTENT_TREE_OBJECTID);
    dev = find_root(&image, DEV_TREE_OBJECTID);
    fs = find_root(&image, FS_TREE_OBJECTID);
    csum = find_root(&image, CSUM_TREE_OBJECTID);
    space = find_root(&image, FREE_SPACE_TREE_OBJECTID);
    struct block node = look(fs);
    ck_assert_uint_eq(block_level(&node), 1);
    fs_leaf = from_le64(node_ptr(&node, 0)->blockptr);
    fs_leaf2 = from_le64(node_ptr(&node, 1)->blockptr);
}

/* The slot of the first item of this type with this objectid (0: any); with this offset (-1: any).
 */
static uint32_t slot_of(const struct block *leaf, uint64_t objectid, uint8_t type, uint64_t offset)
{
    for (uint32_t slot = 0; slot < block_nritems(leaf); slot++) {
        struct key key = leaf_key(leaf, slot);
        if (key.type == type && (!objectid || key.objectid == objectid) &&
            (offset == UINT64_MAX || key.offset == offset))
            return slot;
    }
    ck_abort_msg("no item of type %u in leaf %ju", type, (uintmax_t)leaf->bytenr);
}

/* --- every command ------------------------------------------------------------------ */

static char root_word[24] = "0", leaf_word[24] = "0";
static const char *const commands_run[][6] = {
    {"dump"},
    {"dump", "--json"},
    {"dump", "--dot"},
    {"dump", "fs", "--stats"},
    {"info"},
    {"info", "--json"},
    {"info", "--mirror=1"},
    {"find", "fs", "256 INODE_ITEM 0"},
    {"find", "root", "FS_TREE ROOT_ITEM 0", "--json", "--stats"},
    {"find", "extent", "1,2,3"},
    {"leaf", root_word},
    {"leaf", leaf_word, "--json"},
    {"leaf", leaf_word, "--dot"},
};

/* One command on the image as it is now: success, or an error of those that an image can cause. */
static int try_command(const char *const words[])
{
    static struct notes notes;
    fail(0, "%s", "");
    int result = run_unseen(image.path, words, &notes);
    expect(result == 0 || result == -EUCLEAN || result == -EOPNOTSUPP || result == -ENOENT ||
               result == -EINVAL || result == -EIO,
           "%s: %d: %s", words[0], result, fail_message());
    expect(result == 0 || strlen(fail_message()) > 10, "%s: says '%s'", words[0], fail_message());
    return result;
}

static void name_blocks(void)
{
    snprintf(root_word, sizeof root_word, "%ju", (uintmax_t)root);
    snprintf(leaf_word, sizeof leaf_word, "%ju", (uintmax_t)fs_leaf);
}

static void try_commands(void)
{
    name_blocks();
    for (size_t i = 0; i < LENGTH_OF(commands_run); i++)
        try_command(commands_run[i]);
}

/* What an image needs to be read is little: with more, something has got out of bounds.
 * AddressSanitizer has reserved more than any limit, and a limit of its own. */
static void limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
    struct rlimit limit;
    getrlimit(RLIMIT_DATA, &limit);
    /* Beside what the program has already: the static data of all suites is in it. */
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    ck_assert(file && fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) == 1);
    fclose(file);
    limit.rlim_cur = (64 << 20) + pages * (rlim_t)sysconf(_SC_PAGESIZE);
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
#endif
}

static const char *const whole[] = {"dump", NULL};

/* The dump of all must fail, with these words and, unless it is 0, the address. */
static void expect_bad(const char *at, const char *words, uint64_t bytenr)
{
    char address[24];
    snprintf(address, sizeof address, "%ju", (uintmax_t)bytenr);
    int result = try_command(whole);
    expect(result < 0, "%s: accepted, not refused with '%s'", at, words);
    expect(strstr(fail_message(), words), "%s: says '%s', not '%s'", at, fail_message(), words);
    expect(!bytenr || strstr(fail_message(), address), "%s: '%s' does not name %s", at,
           fail_message(), address);
    try_commands();
}

/* --- one field of a block ----------------------------------------------------------- */

enum place {
    HEADER, /* a field of the block header */
    ITEM,   /* of the item header of the slot */
    DATA,   /* of the data of the item of the slot */
    PTR,    /* of the key pointer of the slot */
};

/* Sets a field, in every copy of the block, with a right checksum. */
static void set_field(uint64_t bytenr, enum place place, uint32_t slot, size_t offset, size_t size,
                      uint64_t value)
{
    struct block block = look(bytenr);
    unsigned char *start = place == HEADER ? block.data
                           : place == ITEM ? (unsigned char *)leaf_item(&block, slot)
                           : place == DATA ? item_data(&block, slot)
                                           : (unsigned char *)node_ptr(&block, slot);
    le64 number = to_le64(value);
    memcpy(start + offset, &number, size < sizeof number ? size : sizeof number);
    image_put_block(&image, bytenr, block.data);
}

#define FIELD(type, field) offsetof(struct type, field), sizeof((struct type *)0)->field

/* One row, one broken rule: the checksum is right, one field is not. */
static void check_field(const char *at, uint64_t bytenr, enum place place, uint32_t slot,
                        size_t offset, size_t size, uint64_t value, const char *words)
{
    set_field(bytenr, place, slot, offset, size, value);
    expect_bad(at, words, bytenr);
    image_undo(&image);
}

#define BAD(...) check_field(AT, __VA_ARGS__)

START_TEST(untouched)
{
    open_first();
    name_blocks();
    for (size_t i = 0; i < LENGTH_OF(commands_run); i++) {
        int result = try_command(commands_run[i]);
        expect(result == 0 || i == 9, "%s: %s", commands_run[i][0], fail_message());
    }
    image_close(&image);
}
END_TEST

START_TEST(headers)
{
    open_first();
    const uint64_t leaves[] = {chunk_root, root, extent, fs_leaf, space};
    for (size_t i = 0; i < LENGTH_OF(leaves); i++) {
        uint64_t leaf = leaves[i];
        BAD(leaf, HEADER, 0, FIELD(block_header, fsid), 0, "(B3)");
        BAD(leaf, HEADER, 0, FIELD(block_header, level), 8, "level 8 (B4)");
        BAD(leaf, HEADER, 0, FIELD(block_header, level), 255, "level 255 (B4)");
        BAD(leaf, HEADER, 0, FIELD(block_header, nritems), 160, "160 items, room for 159 (L2)");
        BAD(leaf, HEADER, 0, FIELD(block_header, nritems), UINT32_MAX, "(L2)");
        BAD(leaf, HEADER, 0, FIELD(block_header, nritems), 1U << 31, "(L2)");
        BAD(leaf, HEADER, 0, FIELD(block_header, generation), 0, "generation 0, not ");
        BAD(leaf, HEADER, 0, FIELD(block_header, generation), UINT64_MAX, "(T2)");
        BAD(leaf, HEADER, 0, FIELD(block_header, owner), 99, "owner 99 in tree ");
        BAD(leaf, HEADER, 0, FIELD(block_header, owner), 0, "(T5)");
    }
    BAD(fs, HEADER, 0, FIELD(block_header, nritems), 0, "0 pointers, room for 121 (N2)");
    BAD(fs, HEADER, 0, FIELD(block_header, nritems), 122, "122 pointers, room for 121 (N2)");
    BAD(fs, HEADER, 0, FIELD(block_header, nritems), UINT32_MAX, "(N2)");
    BAD(fs, HEADER, 0, FIELD(block_header, level), 2, "level 2, not 1 (T1)");
    BAD(fs, HEADER, 0, FIELD(block_header, level), 7, "level 7, not 1 (T1)");
    BAD(fs_leaf, HEADER, 0, FIELD(block_header, nritems), 0, "empty (T6)");
    BAD(fs_leaf2, HEADER, 0, FIELD(block_header, nritems), 0, "empty (T6)");
    image_close(&image);
}
END_TEST

START_TEST(item_headers)
{
    open_first();
    const uint64_t leaves[] = {chunk_root, root, extent, fs_leaf2, space};
    for (size_t i = 0; i < LENGTH_OF(leaves); i++) {
        uint64_t leaf = leaves[i];
        struct block block = look(leaf);
        uint32_t last = block_nritems(&block) - 1, end = leaf_data_end(&block, 1);
        char words[32];
        BAD(leaf, ITEM, 0, FIELD(item_header, offset), 0, "slot 0: item data [0, ");
        BAD(leaf, ITEM, 0, FIELD(item_header, offset), UINT32_MAX, "(L4)");
        BAD(leaf, ITEM, 0, FIELD(item_header, size), UINT32_MAX, "(L4)");
        BAD(leaf, ITEM, 1, FIELD(item_header, offset), end + 1, "slot 1: item data");
        BAD(leaf, ITEM, 1, FIELD(item_header, key.objectid), 0, "slot 1: key ");
        snprintf(words, sizeof words, "slot %u: item data", last);
        BAD(leaf, ITEM, last, FIELD(item_header, size), 0 - item_offset(&block, last), words);
        /* offset + size is right in 32 bits */
        set_field(leaf, ITEM, 1, FIELD(item_header, offset), end + 4096);
        check_field(AT, leaf, ITEM, 1, FIELD(item_header, size), 0U - 4096, "(L4)");
    }
    image_close(&image);
}
END_TEST

START_TEST(pointers)
{
    open_first();
    BAD(fs, PTR, 0, FIELD(key_ptr, blockptr), 0, "slot 0: child at 0 (N4)");
    BAD(fs, PTR, 1, FIELD(key_ptr, blockptr), fs_leaf2 + 1, "slot 1: child at ");
    BAD(fs, PTR, 0, FIELD(key_ptr, generation), UINT64_MAX, "slot 0: child of generation ");
    BAD(fs, PTR, 1, FIELD(key_ptr, key.objectid), 0, "slot 1: key (0 ");
    static const struct {
        uint64_t *child;
        const char *words;
    } elsewhere[] = {
        {&fs, "level 1, not 0 (T1)"},    /* itself */
        {&fs_leaf, " its parent says "}, /* its sibling */
        {&root, ": "},                   /* a leaf of other trees */
        {&extent, ": "},
        {&chunk_root, ": "},
    };
    for (size_t i = 0; i < LENGTH_OF(elsewhere); i++) {
        set_field(fs, PTR, 1, FIELD(key_ptr, blockptr), *elsewhere[i].child);
        expect_bad(AT, elsewhere[i].words, *elsewhere[i].child);
        image_undo(&image);
    }
    static const uint64_t nowhere[] = {4096, 1ULL << 40, 0 - 4096ULL};
    for (size_t i = 0; i < LENGTH_OF(nowhere); i++) {
        set_field(fs, PTR, 0, FIELD(key_ptr, blockptr), nowhere[i]);
        expect_bad(AT, "is in no chunk", nowhere[i]);
        image_undo(&image);
    }
    /* The keys of a pointer and of its child must agree, at both ends. */
    struct block node = look(fs);
    uint64_t second = node_key(&node, 1).offset;
    set_field(fs, PTR, 1, FIELD(key_ptr, key.offset), second + 1);
    expect_bad(AT, "(T3)", fs_leaf2);
    image_undo(&image);
    set_field(fs, PTR, 1, FIELD(key_ptr, key.objectid), 256);
    expect_bad(AT, "", 0);
    image_undo(&image);
    image_close(&image);
}
END_TEST

/* A tree of three levels: pointers down, up, sideways and to blocks of the wrong level. */
START_TEST(loops)
{
    image_open(&image, "tall");
    root = from_le64(image.super.root);
    fs = find_root(&image, FS_TREE_OBJECTID);
    struct block top = look(fs);
    ck_assert_uint_eq(block_level(&top), 2);
    uint64_t middle = from_le64(node_ptr(&top, 0)->blockptr);
    uint64_t beside = from_le64(node_ptr(&top, 1)->blockptr);
    struct block node = look(middle);
    fs_leaf = from_le64(node_ptr(&node, 3)->blockptr);
    const struct {
        uint64_t from, to;
        const char *words;
    } cases[] = {
        {middle, fs, "level 2, not 0 (T1)"},     {middle, middle, "level 1, not 0 (T1)"},
        {middle, beside, "level 1, not 0 (T1)"}, {fs, fs, "level 2, not 1 (T1)"},
        {fs, fs_leaf, "level 0, not 1 (T1)"},    {fs, beside, "(T"},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        set_field(cases[i].from, PTR, 0, FIELD(key_ptr, blockptr), cases[i].to);
        expect_bad(AT, cases[i].words, cases[i].to);
        image_undo(&image);
    }
    image_close(&image);
}
END_TEST

/* --- items -------------------------------------------------------------------------- */

static uint32_t item_slot(uint64_t bytenr, uint64_t objectid, uint8_t type, uint64_t offset)
{
    struct block block = look(bytenr);
    return slot_of(&block, objectid, type, offset);
}

START_TEST(root_items)
{
    open_first();
    uint32_t slot = item_slot(root, FS_TREE_OBJECTID, ROOT_ITEM_KEY, 0);
    BAD(root, DATA, slot, FIELD(root_item, level), 8, "level 8, drop_level 0 (L6)");
    BAD(root, DATA, slot, FIELD(root_item, level), 255, "level 255, drop_level 0 (L6)");
    BAD(root, DATA, slot, FIELD(root_item, drop_level), 255, "drop_level 255 (L6)");
    static const struct {
        size_t offset, size;
        uint64_t value;
        const char *words;
    } cases[] = {
        {FIELD(root_item, level), 0, "tree fs: "},
        {FIELD(root_item, level), 2, "level 1, not 2 (T1)"},
        {FIELD(root_item, level), 7, "level 1, not 7 (T1)"},
        {FIELD(root_item, generation), 0, "not 0 (T2)"},
        {FIELD(root_item, bytenr), 1, "tree fs: block 1: no multiple of the sector size"},
        {FIELD(root_item, bytenr), 4096, "tree fs: address 4096 is in no chunk"},
        {FIELD(root_item, bytenr), UINT64_MAX, "no multiple of the sector size"},
        {FIELD(root_item, bytenr), 0 - 4096ULL, "is in no chunk"},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        set_field(root, DATA, slot, cases[i].offset, cases[i].size, cases[i].value);
        expect_bad(AT, cases[i].words, 0);
        image_undo(&image);
    }
    /* No root block. */
    set_field(root, DATA, slot, FIELD(root_item, bytenr), 0);
    expect_bad(AT, "tree fs: address 0 is in no chunk", 0);
    image_undo(&image);
    /* Being dropped, at no level (CVE-2026-43046). */
    BAD(root, DATA, slot, FIELD(root_item, drop_progress.objectid), 258, "drop_level is 0 (L6)");
    /* Progress is of a deletion only where no reference is left: else nothing is gone. */
    set_field(root, DATA, slot, FIELD(root_item, drop_progress.objectid), 261);
    set_field(root, DATA, slot, FIELD(root_item, drop_level), 1);
    ck_assert_int_eq(try_command(whole), 0);
    struct ran whole_tree, rest;
    run_command(&whole_tree, image.path, "dump");
    set_field(root, DATA, slot, FIELD(root_item, refs), 0);
    run_command(&rest, image.path, "dump");
    ck_assert_int_eq(rest.result, 0);
    ck_assert_uint_lt(rest.length, whole_tree.length);
    free(whole_tree.out);
    free(rest.out);
    image_undo(&image);
    /* Another tree's root (CVE-2018-14612: an essential tree without one). */
    set_field(root, DATA, slot, FIELD(root_item, bytenr), extent);
    expect_bad(AT, "tree fs: ", extent);
    image_undo(&image);
    image_close(&image);
}
END_TEST

/* Trees that hold something from mkfs on must not be empty; others may. */
START_TEST(empty_trees)
{
    open_first();
    const uint64_t leaves[] = {root, extent, dev, csum, space};
    for (size_t i = 0; i < LENGTH_OF(leaves); i++) {
        set_field(leaves[i], HEADER, 0, FIELD(block_header, nritems), 0);
        if (leaves[i] == csum || leaves[i] == space)
            ck_assert_int_eq(try_command(whole), 0);
        else
            expect_bad(AT, "empty (T6)", leaves[i]);
        image_undo(&image);
    }
    set_field(chunk_root, HEADER, 0, FIELD(block_header, nritems), 0);
    expect_bad(AT, "empty (T6)", chunk_root);
    image_close(&image);
}
END_TEST

START_TEST(chunk_items)
{
    open_first();
    struct block block = look(chunk_root);
    uint32_t first = slot_of(&block, 0, CHUNK_ITEM_KEY, UINT64_MAX),
             last = block_nritems(&block) - 1;
    static const struct {
        size_t offset, size;
        uint64_t value;
        const char *words;
    } cases[] = {
        {FIELD(chunk_item, length), 0, "length 0 (C1)"},
        {FIELD(chunk_item, length), 4097, "(C1)"},
        {FIELD(chunk_item, length), UINT64_MAX, "(C1)"},
        {FIELD(chunk_item, length), 1ULL << 60, "(C5)"},
        {FIELD(chunk_item, stripe_len), 0, "stripe length 0 (C2)"},
        {FIELD(chunk_item, stripe_len), 1, "stripe length 1 (C2)"},
        {FIELD(chunk_item, type), 0, "type 0x0 (C3)"},
        {FIELD(chunk_item, type), 3, "type 0x3 (C3)"},
        {FIELD(chunk_item, type), 7, "type 0x7 (C3)"},
        {FIELD(chunk_item, type), UINT64_MAX, "(C3)"},
        {FIELD(chunk_item, type), 1 | BLOCK_GROUP_RAID1, "the profile RAID1 is not supported"},
        {FIELD(chunk_item, type), 1 | BLOCK_GROUP_RAID5, "the profile RAID5 is not supported"},
        {FIELD(chunk_item, type), 1 | BLOCK_GROUP_RAID6, "the profile RAID6 is not supported"},
        {FIELD(chunk_item, type), 1 | BLOCK_GROUP_RAID10, "the profile RAID10 is not supported"},
        {FIELD(chunk_item, type), 1 | BLOCK_GROUP_RAID5 | BLOCK_GROUP_DUP, "(C4)"},
        {FIELD(chunk_item, num_stripes), 0, "0 stripes in"},
        {FIELD(chunk_item, num_stripes), 3, "3 stripes in"},
        {FIELD(chunk_item, num_stripes), 65535, "65535 stripes in"},
        {sizeof(struct chunk_item), 8, 2, "of device 2"},
        {sizeof(struct chunk_item) + 8, 8, 1ULL << 50, "(C5)"},
        {sizeof(struct chunk_item) + 8, 8, UINT64_MAX, "(C5)"},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++)
        for (uint32_t slot = first; slot <= last; slot++) {
            set_field(chunk_root, DATA, slot, cases[i].offset, cases[i].size, cases[i].value);
            expect_bad(AT, cases[i].words, chunk_root);
            image_undo(&image);
        }
    /* What is not used divides nothing: bko 97031 and its like. */
    static const size_t unused[][2] = {{FIELD(chunk_item, sub_stripes)},
                                       {FIELD(chunk_item, sector_size)},
                                       {FIELD(chunk_item, io_align)},
                                       {FIELD(chunk_item, io_width)},
                                       {FIELD(chunk_item, owner)}};
    for (size_t i = 0; i < LENGTH_OF(unused); i++) {
        set_field(chunk_root, DATA, last, unused[i][0], unused[i][1], 0);
        ck_assert_int_eq(try_command(whole), 0);
        image_undo(&image);
    }
    /* Overlaps and holes. */
    struct key key = leaf_key(&block, last);
    set_field(chunk_root, DATA, last, FIELD(chunk_item, type), BLOCK_GROUP_DATA | BLOCK_GROUP_DUP);
    set_field(chunk_root, ITEM, last, FIELD(item_header, key.offset), key.offset - 4096);
    expect_bad(AT, "", chunk_root);
    image_undo(&image);
    set_field(chunk_root, DATA, first + 1, FIELD(chunk_item, length), 4096);
    try_commands();
    image_undo(&image);
    image_close(&image);
}
END_TEST

/* Items whose shape depends on fields: sections 10.5, 10.12 to 10.15 and 10.26 of the faults that
 * broke other programs. */
START_TEST(other_items)
{
    open_first();
    uint32_t slot = item_slot(extent, 0, METADATA_ITEM_KEY, UINT64_MAX);
    BAD(extent, DATA, slot, FIELD(extent_item, refs), 0, "an extent with 0 references (L6)");
    BAD(extent, DATA, slot, FIELD(extent_item, flags), 0, "extent flags 0x0 (L6)");
    BAD(extent, DATA, slot, FIELD(extent_item, flags), 3, "extent flags 0x3 (L6)");
    BAD(extent, DATA, slot, sizeof(struct extent_item), 1, 0, "inline reference of type 0 (L6)");
    slot = item_slot(extent, 0, EXTENT_ITEM_KEY, UINT64_MAX);
    BAD(extent, DATA, slot, sizeof(struct extent_item) + 1 + 24, 4, 0, "that counts 0 (L6)");
    BAD(extent, DATA, slot, sizeof(struct extent_item) + 1 + 24, 4, UINT32_MAX, "inline (L6)");
    slot = item_slot(extent, 0, BLOCK_GROUP_ITEM_KEY, UINT64_MAX);
    BAD(extent, DATA, slot, FIELD(block_group_item, used), UINT64_MAX, "more than its length (L6)");

    slot = item_slot(fs_leaf, 256, DIR_ITEM_KEY, UINT64_MAX);
    BAD(fs_leaf, DATA, slot, FIELD(dir_item, name_len), 65535, "a name of 65535 bytes (L6)");
    BAD(fs_leaf, DATA, slot, FIELD(dir_item, name_len), 255, "left of the item (L6)");
    BAD(fs_leaf, DATA, slot, FIELD(dir_item, data_len), 65535, "65535 bytes of data (L6)");
    BAD(fs_leaf, DATA, slot, FIELD(dir_item, type), FT_XATTR, "an entry of type 8");
    slot = item_slot(fs_leaf, 256, INODE_REF_KEY, UINT64_MAX);
    BAD(fs_leaf, DATA, slot, FIELD(inode_ref, name_len), 3, "left of the item (L6)");
    BAD(fs_leaf, DATA, slot, FIELD(inode_ref, name_len), 0, "(L6)");
    slot = item_slot(fs_leaf, 256, INODE_ITEM_KEY, 0);
    BAD(fs_leaf, ITEM, slot, FIELD(item_header, key.type), DIR_LOG_ITEM_KEY, "too many");
    slot = item_slot(space, 0, FREE_SPACE_INFO_KEY, UINT64_MAX);
    BAD(space, ITEM, slot, FIELD(item_header, key.type), FREE_SPACE_BITMAP_KEY, "a bitmap of 8");
    slot = item_slot(csum, 0, EXTENT_CSUM_KEY, UINT64_MAX);
    BAD(csum, ITEM, slot, FIELD(item_header, key.offset), UINT64_MAX - 4095, "checksums of ");
    BAD(csum, ITEM, slot, FIELD(item_header, key.offset), 1, "checksums of ");

    /* The file of 20,000 bytes has an extent of its own. */
    struct block block = look(fs_leaf2);
    for (slot = 0; slot < block_nritems(&block); slot++) {
        const struct file_extent_item *item = item_data(&block, slot);
        if (leaf_key(&block, slot).type == EXTENT_DATA_KEY && item->type == FILE_EXTENT_REG)
            break;
    }
    ck_assert_uint_lt(slot, block_nritems(&block));
    BAD(fs_leaf2, DATA, slot, FIELD(file_extent_item, offset), 0 - 4096ULL, "pass 2^64 (L6)");
    BAD(fs_leaf2, DATA, slot, FIELD(file_extent_item, disk_bytenr), UINT64_MAX, "(L6)");
    BAD(fs_leaf2, DATA, slot, FIELD(file_extent_item, type), 3, "extent type 3");
    BAD(fs_leaf2, DATA, slot, FIELD(file_extent_item, type), 0, "(L6)");
    BAD(fs_leaf2, DATA, slot, FIELD(file_extent_item, compression), 9,
        "compression 9, encryption 0 (L6)");
    image_close(&image);
}
END_TEST

/* What a reader of one structure cannot know to be wrong, it must at least survive: structures that
 * ought to agree with others, and do not (10.1 to 10.3, 10.6, 10.10, 10.25). */
START_TEST(disagreements)
{
    open_first();
    struct {
        uint64_t bytenr;
        enum place place;
        uint32_t slot;
        size_t offset, size;
        uint64_t value;
    } cases[] = {
        {root, ITEM, item_slot(root, DATA_RELOC_TREE_OBJECTID, ROOT_ITEM_KEY, 0),
         FIELD(item_header, key.objectid), UINT64_MAX - 7}, /* an orphan relocation tree */
        {extent, ITEM, item_slot(extent, 0, BLOCK_GROUP_ITEM_KEY, UINT64_MAX),
         FIELD(item_header, key.offset), UINT64_MAX},
        {extent, DATA, item_slot(extent, 0, BLOCK_GROUP_ITEM_KEY, UINT64_MAX),
         FIELD(block_group_item, flags), 0},
        {chunk_root, DATA, item_slot(chunk_root, 1, DEV_ITEM_KEY, 1), FIELD(dev_item, total_bytes),
         0},
        {fs_leaf, DATA, item_slot(fs_leaf, 256, INODE_ITEM_KEY, 0), FIELD(inode_item, mode), 0},
        {fs_leaf, DATA, item_slot(fs_leaf, 256, INODE_ITEM_KEY, 0), FIELD(inode_item, nlink), 0},
        {fs_leaf, DATA, item_slot(fs_leaf, 256, DIR_ITEM_KEY, UINT64_MAX), FIELD(dir_item, type),
         FT_SOCK},
        {extent, ITEM, item_slot(extent, 0, METADATA_ITEM_KEY, UINT64_MAX),
         FIELD(item_header, key.offset), 256},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        set_field(cases[i].bytenr, cases[i].place, cases[i].slot, cases[i].offset, cases[i].size,
                  cases[i].value);
        try_commands();
        image_undo(&image);
    }
    image_close(&image);
}
END_TEST

/* --- the superblock ----------------------------------------------------------------- */

/* Each field of the superblock that says a size, a place or a level, in all copies; U1 to U10 are
 * tested in test_superblock.c, here it is what follows from them. */
START_TEST(superblocks)
{
    open_first();
    static const struct {
        size_t offset, size;
        uint64_t value;
        const char *words;
    } cases[] = {
        {FIELD(superblock, sectorsize), 0, "sector size 0 (U4)"},
        {FIELD(superblock, nodesize), 0, "node size 0"},
        {FIELD(superblock, csum_type), 77, "checksum type 77 is not known (U2)"},
        {FIELD(superblock, csum_type), 1, "chunk tree: "},
        {FIELD(superblock, root), 4096, "address 4096 is in no chunk"},
        {FIELD(superblock, root_level), 7, "level 0, not 7 (T1)"},
        {FIELD(superblock, chunk_root), 4096, "chunk tree: address 4096 is in no chunk"},
        {FIELD(superblock, chunk_root), 0 - 4096ULL, "is in no chunk"},
        {FIELD(superblock, chunk_root_level), 7, "chunk tree: "},
        {FIELD(superblock, chunk_root_generation), 1, "(T2)"},
        {FIELD(superblock, generation), 1ULL << 40, "(T2)"},
        {FIELD(superblock, log_root), 4096, "tree log: address 4096 is in no chunk"},
        {FIELD(superblock, num_devices), 2, "several devices are not supported"},
        {FIELD(superblock, num_devices), UINT64_MAX, "several devices are not supported"},
        {FIELD(superblock, total_bytes), 1ULL << 40, "it is truncated (U10)"},
        {FIELD(superblock, dev_item.devid), 2, "of device 1, the image is device 2"},
        {FIELD(superblock, sys_chunk_array_size), 98, "system chunk array: "},
        {FIELD(superblock, sys_chunk_array_size), 2048, "system chunk array: "},
        {FIELD(superblock, incompat_flags), 1ULL << 63, "incompat feature bit 63 is not known"},
        {FIELD(superblock, incompat_flags), INCOMPAT_ZONED, "the feature zoned is not supported"},
        {FIELD(superblock, incompat_flags), INCOMPAT_EXTENT_TREE_V2, "extent-tree-v2 is not"},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct superblock super = image.super;
        le64 value = to_le64(cases[i].value);
        memcpy((char *)&super + cases[i].offset, &value, cases[i].size);
        image_put_super(&image, &super);
        expect_bad(AT, cases[i].words, 0);
        image_undo(&image);
    }
    /* Node sizes that the blocks do not have. */
    for (uint32_t nodesize = 8192; nodesize <= 65536; nodesize *= 2) {
        struct superblock super = image.super;
        super.nodesize = super.leafsize_unused = to_le32(nodesize);
        image_put_super(&image, &super);
        expect_bad(AT, "chunk tree: ", chunk_root);
        super.sectorsize = to_le32(nodesize);
        image_put_super(&image, &super);
        expect_bad(AT, "", 0);
        image_undo(&image);
    }
    image_close(&image);
}
END_TEST

/* Every bit of the superblock, in all copies, with a right checksum. */
START_TEST(superblock_bits)
{
    open_first();
    limit_memory();
    name_blocks();
    for (size_t bit = CSUM_SIZE * 8; bit < 8 * sizeof(struct superblock); bit++) {
        struct superblock super = image.super;
        ((unsigned char *)&super)[bit / 8] ^= (unsigned char)(1U << bit % 8);
        image_put_super(&image, &super);
        try_command(commands_run[bit % LENGTH_OF(commands_run)]);
        /* What the opening of the trees looks at, for the label and padding are only shown. */
        size_t byte = bit / 8, array = offsetof(struct superblock, sys_chunk_array);
        if (byte < offsetof(struct superblock, label) || (byte >= array && byte < array + 129))
            try_command(whole);
        image_undo(&image);
    }
    image_close(&image);
}
END_TEST

/* Without a right checksum: the other copy is used, and all is as it was but for a note. */
START_TEST(superblock_copies)
{
    open_first();
    struct ran right;
    run_words(&right, image.path, whole, NULL);
    for (size_t byte = 0; byte < sizeof(struct superblock); byte += 13) {
        unsigned char wrong;
        struct ran ran;
        if (byte >= 4 && byte < CSUM_SIZE)
            continue; /* behind the crc32c */
        image_read(&image, superblock_offset(0) + byte, &wrong, 1);
        wrong ^= 0x40;
        image_write(&image, superblock_offset(0) + byte, &wrong, 1);
        run_words(&ran, image.path, whole, NULL);
        expect(ran.result == 0 && strcmp(ran.out, right.out) == 0, "byte %zu: %s", byte,
               fail_message());
        expect(ran.notes.count == 1 && strstr(ran.notes.text[0], "mirror 1 at 67108864 is used"),
               "byte %zu: '%s'", byte, ran.notes.text[0]);
        free(ran.out);
        image_write(&image, superblock_offset(1) + byte, &wrong, 1);
        expect_bad(AT, "superblock at 65536: ", 0);
        image_undo(&image);
    }
    free(right.out);
    image_close(&image);
}
END_TEST

/* --- every byte of every block ------------------------------------------------------ */

enum { BLOCKS_MOST = 4000 };
static uint64_t blocks[BLOCKS_MOST];
static size_t nblocks;

static int gather_block(const struct block *block, void *context)
{
    (void)context;
    ck_assert_uint_lt(nblocks, BLOCKS_MOST);
    blocks[nblocks++] = block->bytenr;
    return 0;
}

static int gather_tree(struct tree *tree, void *context)
{
    return tree_walk(tree, gather_block, context);
}

/* All tree blocks of the image. */
static void gather_blocks(void)
{
    struct opened opened;
    nblocks = 0;
    expect_success(open_volume(&opened, image.path));
    expect_success(volume_each_tree(&opened.volume, gather_tree, NULL));
    close_volume(&opened);
}

/* One copy of two damaged: the other one is used and the result is right. The checksum of both: an
 * error that names the block. */
START_TEST(block_bytes_without_checksum)
{
    struct dice dice = {41};
    struct ran right;
    open_first();
    gather_blocks();
    run_words(&right, image.path, whole, NULL);
    for (size_t i = 0; i < nblocks; i++)
        for (uint32_t byte = 0; byte < image.nodesize;
             byte += 1 + (uint32_t)dice_below(&dice, 60)) {
            uint64_t offsets[IMAGE_COPIES];
            unsigned char wrong;
            if (byte >= 4 && byte < CSUM_SIZE)
                continue;
            unsigned copies = image_find_block(&image, blocks[i], offsets);
            ck_assert_uint_eq(copies, 2);
            image_read(&image, offsets[0] + byte, &wrong, 1);
            wrong ^= (unsigned char)(1 + dice_below(&dice, 255));
            unsigned copy = (unsigned)dice_below(&dice, 2);
            image_write(&image, offsets[copy] + byte, &wrong, 1);
            struct ran ran;
            run_words(&ran, image.path, whole, NULL);
            expect(ran.result == 0 && strcmp(ran.out, right.out) == 0, "block %ju byte %u: %s",
                   (uintmax_t)blocks[i], byte, fail_message());
            expect((ran.notes.count > 0) == (copy == 0), "%u notes", ran.notes.count);
            free(ran.out);
            image_write(&image, offsets[!copy] + byte, &wrong, 1);
            int result = try_command(whole);
            expect(result == -EUCLEAN && strstr(fail_message(), "(B1)"), "%s", fail_message());
            image_undo(&image);
        }
    free(right.out);
    image_close(&image);
}
END_TEST

/* Every byte of every tree block xor'ed with a random number, in all copies, with right checksums.
 */
START_TEST(block_bytes_with_checksum)
{
    struct dice dice = {43};
    size_t refused = 0, accepted = 0;
    open_first();
    gather_blocks();
    limit_memory();
    for (size_t i = 0; i < nblocks; i++) {
        uint64_t offsets[IMAGE_COPIES];
        unsigned copies = image_find_block(&image, blocks[i], offsets);
        struct block block = look(blocks[i]);
        for (uint32_t byte = FSID_SIZE + CSUM_SIZE; byte < image.nodesize; byte++) {
            /* Not in the hole, which nobody reads: one byte of it for all. */
            uint32_t level = block_level(&block), nritems = block_nritems(&block);
            uint32_t hole = 101 + nritems * (level ? 33 : 25);
            uint32_t end = level ? image.nodesize : 101 + leaf_data_end(&block, nritems);
            if (byte > hole && byte < end)
                byte = end;
            if (byte >= image.nodesize)
                break;
            unsigned char saved = block.data[byte];
            block.data[byte] ^= (unsigned char)(1 + dice_below(&dice, 255));
            put_csum(CSUM_TYPE_CRC32, block.data, block.size);
            for (unsigned copy = 0; copy < copies; copy++)
                image_write(&image, offsets[copy], block.data, block.size);
            block.data[byte] = saved;
            int result = try_command(commands_run[dice_below(&dice, 3)]);
            accepted += result == 0;
            refused += result < 0;
            try_command(commands_run[3 + dice_below(&dice, LENGTH_OF(commands_run) - 3)]);
            image_undo(&image);
        }
    }
    expect(refused > 1000 && accepted > 1000, "%zu refused, %zu accepted", refused, accepted);
    image_close(&image);
}
END_TEST

/* Several fields of several blocks at once, in each image. */
START_TEST(many_fields)
{
    struct dice dice = {47};
    limit_memory();
    for (size_t name = 0; image_names[name]; name++) {
        image_open(&image, image_names[name]);
        root = from_le64(image.super.root);
        fs_leaf = from_le64(image.super.chunk_root);
        name_blocks();
        nblocks = 0;
        bool many = strcmp(image_names[name], "tall") == 0;
        if (!many)
            gather_blocks();
        blocks[nblocks++] = root;
        blocks[nblocks++] = fs_leaf;
        for (unsigned round = 0; round < 80; round++) {
            for (uint64_t changes = 1 + dice_below(&dice, 6); changes > 0; changes--) {
                uint64_t bytenr = blocks[dice_below(&dice, nblocks)];
                struct block block = look(bytenr);
                uint32_t byte = 80 + (uint32_t)dice_below(&dice, dice_below(&dice, 2) ? 200 : 4000);
                uint64_t value = dice_next(&dice) >> dice_below(&dice, 64);
                memcpy(block.data + byte, &value, 1 + dice_below(&dice, 8));
                image_put_block(&image, bytenr, block.data);
            }
            try_command(commands_run[dice_below(&dice, 4)]);
            try_command(commands_run[4 + dice_below(&dice, LENGTH_OF(commands_run) - 4)]);
            image_undo(&image);
        }
        image_close(&image);
    }
}
END_TEST

/* --- what is no image --------------------------------------------------------------- */

/* The image cut off at many places: never read as if it were whole. */
START_TEST(truncated)
{
    struct dice dice = {53};
    open_first();
    uint64_t size = image.size;
    for (unsigned round = 0; round < 400; round++) {
        static const uint64_t edges[] = {0,
                                         1,
                                         65535,
                                         65536,
                                         65537,
                                         69631,
                                         69632,
                                         69633,
                                         70656,
                                         1048576,
                                         (64 << 20) + 4095,
                                         (64 << 20) + 4096,
                                         (128 << 20) - 1};
        image.size = round < LENGTH_OF(edges) ? edges[round]
                     : round % 2              ? dice_below(&dice, 200000)
                                              : dice_below(&dice, size);
        struct image cut;
        image_open_blank(&cut, image.size);
        for (size_t i = 0; i < packed_image("first")->npieces; i++) {
            const struct piece *piece = &packed_image("first")->pieces[i];
            if (piece->offset + PIECE_SIZE <= cut.size)
                image_write(&cut, piece->offset, piece->bytes, PIECE_SIZE);
            image_keep(&cut);
        }
        bool is_one = cut.size >= 65536 + 4096;
        for (size_t i = 0; i < LENGTH_OF(commands_run); i++) {
            static struct notes notes;
            if (strcmp(commands_run[i][1] ? commands_run[i][1] : "", "--mirror=1") == 0)
                continue;
            expect(run_unseen(cut.path, commands_run[i], &notes) == -EUCLEAN, "%s at %ju: %s",
                   commands_run[i][0], (uintmax_t)cut.size, fail_message());
            expect(
                strstr(fail_message(), is_one ? "it is truncated (U10)" : "is not a Btrfs image"),
                "%ju: %s", (uintmax_t)cut.size, fail_message());
        }
        image_close(&cut);
    }
    image.size = size;
    image_close(&image);
}
END_TEST

/* Cut off, and the superblock says that this is all: then a chunk passes the end (C5). */
START_TEST(truncated_with_consent)
{
    open_first();
    for (uint64_t size = 2 << 20; size < from_le64(image.super.dev_item.bytes_used);
         size += 5 << 20) {
        struct superblock super = image.super;
        super.total_bytes = to_le64(size);
        super.bytes_used = to_le64(1 << 20);
        image.size = size;
        image_put_super(&image, &super);
        ck_assert_int_eq(ftruncate(image.fd, (off_t)size), 0);
        expect_bad(AT, "(C5)", 0);
        image_close(&image);
        open_first();
    }
    image_close(&image);
}
END_TEST

START_TEST(no_images)
{
    char folder[] = "/tmp/coppice-test-XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    static struct notes notes;
    for (size_t length = 0; length < 300000; length = 3 * length + 1) {
        FILE *file = fopen(path, "w");
        for (size_t i = 0; i < length; i++)
            fputc("All that is gold does not glitter\n"[i % 34], file);
        fclose(file);
        for (size_t i = 0; i < LENGTH_OF(commands_run); i++) {
            int result = run_unseen(path, commands_run[i], &notes);
            expect(result == -EUCLEAN || (result == -ENOENT && i == 6), "%s: %d: %s",
                   commands_run[i][0], result, fail_message());
        }
    }
    unlink(path);
    for (size_t i = 0; i < LENGTH_OF(commands_run); i++) {
        ck_assert_int_eq(run_unseen(folder, commands_run[i], &notes), -EISDIR);
        ck_assert_int_eq(run_unseen(path, commands_run[i], &notes), -ENOENT);
        ck_assert_int_eq(run_unseen("/dev/null", commands_run[i], &notes), -EINVAL);
        ck_assert_int_eq(run_unseen("/dev/zero", commands_run[i], &notes), -EINVAL);
    }
    rmdir(folder);
}
END_TEST

SUITE_WITH(bad_images, 120, load_all_images, untouched, headers, item_headers, pointers, loops,
           root_items, empty_trees, chunk_items, other_items, disagreements, superblocks,
           superblock_bits, superblock_copies, block_bytes_without_checksum,
           block_bytes_with_checksum, many_fields, truncated, truncated_with_consent, no_images)
