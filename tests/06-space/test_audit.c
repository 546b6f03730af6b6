/* The auditor itself: it finds the images sound, and names each fault that is planted in one. */
#include "support.h"
#include "support_audit.h"
#include "support_volume.h"

#include <string.h>

/* --- the image, and what is where in it --------------------------------------------- */

static struct image image;
static uint64_t chunk_root, root, extent, dev, fs, csum, space;
static uint64_t file_leaf; /* where the file extent of "wood" is, the one file with data */
static uint64_t data;      /* that extent */

/* The block as it is, in a buffer that stays until the next call. */
static struct block look(uint64_t bytenr)
{
    static unsigned char bytes[NODE_SIZE_MAX];
    image_get_block(&image, bytenr, bytes);
    return (struct block){.data = bytes, .size = image.nodesize, .bytenr = bytenr};
}

/* The slot of the first item of this type; with this objectid unless it is 0. */
static bool find_slot(const struct block *leaf, uint64_t objectid, uint8_t type, uint32_t *slot)
{
    for (*slot = 0; *slot < block_nritems(leaf); ++*slot) {
        struct key key = leaf_key(leaf, *slot);
        if (key.type == type && (!objectid || key.objectid == objectid))
            return true;
    }
    return false;
}

static uint32_t slot_of(uint64_t bytenr, uint64_t objectid, uint8_t type)
{
    struct block leaf = look(bytenr);
    uint32_t slot;
    ck_assert(find_slot(&leaf, objectid, type, &slot));
    return slot;
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
    uint32_t slot = slot_of(extent, 0, EXTENT_ITEM_KEY);
    struct block leaf = look(extent);
    data = leaf_key(&leaf, slot).objectid;
    struct block node = look(fs);
    file_leaf = from_le64(node_ptr(&node, 1)->blockptr);
}

/* --- planting ----------------------------------------------------------------------- */

enum { FIRST_IS = AUDIT_ALL & ~AUDIT_STRAY };

/* The auditor finds a fault, and says these words; then the image is as it was. */
static void check_found(const char *at, const char *words)
{
    char why[1024];
    struct device *device;
    expect_success(file_device_open(image.path, false, &device));
    int result = audit_image_for(device, FIRST_IS, why, sizeof why);
    device_close(device);
    expect(result == -1, "%s: found sound, not '%s'", at, words);
    expect(strstr(why, words), "%s: says '%s', not '%s'", at, why, words);
    image_undo(&image);
}

#define FOUND(words) check_found(AT, words)

#define FIELD(type, field) offsetof(struct type, field), sizeof((struct type *)0)->field

/* Sets `size` bytes at `offset` of what `place` says, with right checksums in every copy. */
enum place { HEADER, ITEM, DATA };

static void set(uint64_t bytenr, enum place place, uint32_t slot, size_t offset, size_t size,
                uint64_t value)
{
    struct block block = look(bytenr);
    unsigned char *start = place == HEADER ? block.data
                           : place == ITEM ? (unsigned char *)leaf_item(&block, slot)
                                           : item_data(&block, slot);
    le64 number = to_le64(value);
    memcpy(start + offset, &number, size < sizeof number ? size : sizeof number);
    image_put_block(&image, bytenr, block.data);
}

static uint64_t get(uint64_t bytenr, enum place place, uint32_t slot, size_t offset)
{
    struct block block = look(bytenr);
    const unsigned char *start =
        place == ITEM ? (unsigned char *)leaf_item(&block, slot) : item_data(&block, slot);
    le64 number;
    memcpy(&number, start + offset, sizeof number);
    return from_le64(number);
}

static void drop(uint64_t bytenr, uint32_t slot)
{
    struct block leaf = look(bytenr);
    leaf_remove(&leaf, slot, 1);
    image_put_block(&image, bytenr, leaf.data);
}

static void put(uint64_t bytenr, struct key key, const void *bytes, uint32_t size)
{
    struct block leaf = look(bytenr);
    uint32_t slot;
    uint64_t comparisons = 0;
    ck_assert_int_eq(block_search(&leaf, &key, &slot, &comparisons), 1);
    expect_success(leaf_insert(&leaf, slot, &key, bytes, size));
    image_put_block(&image, bytenr, leaf.data);
}

/* One field of an item, of the first one of its type. */
static void plant(const char *at, const char *words, uint64_t bytenr, uint64_t objectid,
                  uint8_t type, size_t offset, size_t size, uint64_t value)
{
    set(bytenr, DATA, slot_of(bytenr, objectid, type), offset, size, value);
    check_found(at, words);
}

#define PLANT(words, ...) plant(AT, words, __VA_ARGS__)

/* One field of the superblock, in all mirrors. */
static void plant_super(const char *at, const char *words, size_t offset, size_t size,
                        uint64_t value)
{
    struct superblock super = image.super;
    le64 number = to_le64(value);
    memcpy((char *)&super + offset, &number, size);
    image_put_super(&image, &super);
    check_found(at, words);
}

#define PLANT_SUPER(words, ...) plant_super(AT, words, __VA_ARGS__)

/* --- sound -------------------------------------------------------------------------- */

START_TEST(images_are_sound)
{
    char why[1024];
    for (size_t i = 0; image_names[i]; i++) {
        image_open(&image, image_names[i]);
        struct device *device;
        bool first = strcmp(image_names[i], "first") == 0;
        expect_success(file_device_open(image.path, false, &device));
        int result = audit_image_for(device, first ? FIRST_IS : AUDIT_ALL, why, sizeof why);
        expect(result == 0 && why[0] == '\0', "%s: %s", image_names[i], why);
        device_close(device);
        image_close(&image);
    }
}
END_TEST

/* What mkfs.btrfs left in this one. */
START_TEST(stray_free_space)
{
    char why[1024];
    open_first();
    ck_assert_int_eq(audit_file(image.path, why, sizeof why), -1);
    expect(strstr(why, "free space: [1048576, 5242880) is not of a block group"), "%s", why);
    image_close(&image);
    image_open(&image, "tall");
    expect(audit_file(image.path, why, sizeof why) == 0, "%s", why);
    image_close(&image);
    ck_assert_int_eq(audit_file("/nowhere", why, sizeof why), -1);
    expect(strstr(why, "No such file"), "%s", why);
}
END_TEST

/* --- the superblock ----------------------------------------------------------------- */

START_TEST(superblocks)
{
    open_first();
    const struct superblock *super = &image.super;
    uint64_t generation = from_le64(super->generation);
    PLANT_SUPER("superblock: bytes_used", FIELD(superblock, bytes_used),
                from_le64(super->bytes_used) + image.nodesize);
    PLANT_SUPER("superblock: total_bytes", FIELD(superblock, total_bytes),
                from_le64(super->total_bytes) - 4096);
    PLANT_SUPER("dev_item differs from the DEV_ITEM", FIELD(superblock, dev_item.bytes_used),
                from_le64(super->dev_item.bytes_used) + 4096);
    PLANT_SUPER("uuid_tree_generation", FIELD(superblock, uuid_tree_generation), generation + 1);
    PLANT_SUPER("(T2)", FIELD(superblock, generation), generation + 1);
    PLANT_SUPER("(T2)", FIELD(superblock, chunk_root_generation),
                from_le64(super->chunk_root_generation) - 1);
    PLANT_SUPER("(T1)", FIELD(superblock, root_level), 1);
    PLANT_SUPER("(T1)", FIELD(superblock, chunk_root_level), 1);
    PLANT_SUPER("superblock: log_root", FIELD(superblock, log_root), root);
    PLANT_SUPER("root_dir_objectid", FIELD(superblock, root_dir_objectid), 0);
    PLANT_SUPER("superblock: flags 0x0", FIELD(superblock, flags), 0);
    PLANT_SUPER("compat_ro_flags 0x2", FIELD(superblock, compat_ro_flags),
                COMPAT_RO_FREE_SPACE_TREE_VALID);
    PLANT_SUPER("compat_ro_flags 0x80", FIELD(superblock, compat_ro_flags), 1U << 31);
    PLANT_SUPER("stripesize", FIELD(superblock, stripesize), 0);
    PLANT_SUPER("without MIXED_BACKREF", FIELD(superblock, incompat_flags),
                from_le64(super->incompat_flags) & ~INCOMPAT_MIXED_BACKREF);
    PLANT_SUPER("there is no tree 11", FIELD(superblock, compat_ro_flags),
                from_le64(super->compat_ro_flags) | COMPAT_RO_BLOCK_GROUP_TREE);
    PLANT_SUPER("sys_chunk_array: chunk ",
                offsetof(struct superblock, sys_chunk_array) + sizeof(struct disk_key) +
                    offsetof(struct chunk_item, io_align),
                4, 1);
    image_close(&image);
}
END_TEST

START_TEST(mirrors)
{
    open_first();
    struct superblock copy = image.super;
    copy.bytenr = to_le64(superblock_offset(1));
    copy.generation = to_le64(from_le64(copy.generation) - 1);
    put_csum(CSUM_TYPE_CRC32, &copy, sizeof copy);
    image_write(&image, superblock_offset(1), &copy, sizeof copy);
    FOUND("superblock mirror 1: differs from the primary one at byte 72");
    memset(&copy, 0, sizeof copy);
    image_write(&image, superblock_offset(1), &copy, sizeof copy);
    FOUND("mirror 1: superblock at 67108864: no Btrfs magic");
    image_write(&image, superblock_offset(0), &copy, sizeof copy);
    FOUND("mirror 0: superblock at 65536: no Btrfs magic");
    image_close(&image);
}
END_TEST

START_TEST(backups)
{
    open_first();
    struct superblock super = image.super;
    memset(super.super_roots, 0, sizeof super.super_roots);
    image_put_super(&image, &super);
    FOUND("no backup root describes the current state");
    static const size_t fields[] = {
        offsetof(struct root_backup, tree_root),  offsetof(struct root_backup, extent_root_gen),
        offsetof(struct root_backup, csum_root),  offsetof(struct root_backup, dev_root_level),
        offsetof(struct root_backup, bytes_used), offsetof(struct root_backup, num_devices),
    };
    for (size_t i = 0; i < LENGTH_OF(fields); i++) {
        super = image.super;
        for (size_t slot = 0; slot < BACKUP_ROOTS; slot++)
            ((unsigned char *)&super.super_roots[slot])[fields[i]] ^= 1;
        image_put_super(&image, &super);
        FOUND("no backup root describes the current state");
    }
    image_close(&image);
}
END_TEST

/* --- chunks, dev extents, block groups ---------------------------------------------- */

START_TEST(chunks)
{
    open_first();
    uint32_t dev_item = slot_of(chunk_root, 1, DEV_ITEM_KEY);
    uint64_t used = from_le64(image.super.dev_item.bytes_used) + 4096;
    struct superblock super = image.super;
    super.dev_item.bytes_used = to_le64(used);
    image_put_super(&image, &super);
    set(chunk_root, DATA, dev_item, FIELD(dev_item, bytes_used), used);
    FOUND("DEV_ITEM: bytes_used");
    PLANT("dev_item differs", chunk_root, 1, DEV_ITEM_KEY, FIELD(dev_item, uuid), 7);
    PLANT("owner 3", chunk_root, 0, CHUNK_ITEM_KEY, FIELD(chunk_item, owner), 3);
    PLANT("sector_size 1", chunk_root, 0, CHUNK_ITEM_KEY, FIELD(chunk_item, sector_size), 1);
    PLANT("another uuid", chunk_root, 0, CHUNK_ITEM_KEY,
          sizeof(struct chunk_item) + offsetof(struct stripe, dev_uuid), 8, 7);
    PLANT("its chunk has", chunk_root, 0, CHUNK_ITEM_KEY, FIELD(chunk_item, type),
          BLOCK_GROUP_METADATA);
    PLANT("of chunk 4096,", dev, 0, DEV_EXTENT_KEY, FIELD(dev_extent, chunk_offset), 4096);
    PLANT("bytes_used", dev, 0, DEV_EXTENT_KEY, FIELD(dev_extent, length), 4096);
    PLANT("chunk_objectid 0", dev, 0, DEV_EXTENT_KEY, FIELD(dev_extent, chunk_objectid), 0);
    uint32_t first = slot_of(dev, 1, DEV_EXTENT_KEY);
    uint64_t at = get(dev, ITEM, first, offsetof(struct item_header, key.offset));
    set(dev, ITEM, first, FIELD(item_header, key.offset), at - 65536);
    FOUND("has no dev extent");
    set(dev, ITEM, first, FIELD(item_header, key.offset), 65536);
    FOUND("begins before 1048576");
    set(dev, ITEM, first, FIELD(item_header, key.offset), at + 4096);
    FOUND("begins before ");
    drop(dev, first);
    FOUND("bytes_used");
    image_close(&image);
}
END_TEST

START_TEST(block_groups)
{
    open_first();
    uint8_t type = BLOCK_GROUP_ITEM_KEY;
    uint32_t slot = slot_of(extent, 0, type);
    uint64_t used = get(extent, DATA, slot, offsetof(struct block_group_item, used));
    PLANT(": used ", extent, 0, type, FIELD(block_group_item, used), used + 4096);
    PLANT("chunk_objectid 0", extent, 0, type, FIELD(block_group_item, chunk_objectid), 0);
    PLANT("its chunk has", extent, 0, type, FIELD(block_group_item, flags), BLOCK_GROUP_METADATA);
    drop(extent, slot);
    FOUND("has no block group");
    struct block_group_item item = {.chunk_objectid = to_le64(256), .flags = to_le64(1)};
    put(extent, (struct key){1ULL << 40, type, 1 << 20}, &item, sizeof item);
    FOUND("has no chunk");
    image_close(&image);

    /* Where they have a tree of their own. */
    image_open(&image, "bgt-default");
    extent = find_root(&image, EXTENT_TREE_OBJECTID);
    put(extent, (struct key){1ULL << 40, type, 1 << 20}, &item, sizeof item);
    FOUND("does not belong into the extent tree");
    image_close(&image);
}
END_TEST

/* --- extents and references --------------------------------------------------------- */

START_TEST(tree_block_extents)
{
    open_first();
    uint8_t type = METADATA_ITEM_KEY;
    uint32_t slot = slot_of(extent, fs, type);
    size_t origin = sizeof(struct extent_item) + offsetof(struct extent_inline_ref, offset);
    PLANT(": refs 2, its references count 1", extent, fs, type, FIELD(extent_item, refs), 2);
    PLANT("its extent item says 1", extent, fs, type, FIELD(extent_item, generation), 1);
    PLANT("generation 1000, the superblock's", extent, fs, type, FIELD(extent_item, generation),
          1000);
    PLANT("holds the reference TREE_BLOCK_REF root 5 count 1, which nobody makes", extent, fs, type,
          FIELD(extent_item, flags), EXTENT_FLAG_TREE_BLOCK | BLOCK_FLAG_FULL_BACKREF);
    PLANT("flags 0x202", extent, fs, type, FIELD(extent_item, flags), 0x202);
    PLANT("lacks the reference TREE_BLOCK_REF root 5", extent, fs, type, origin, 8, 7);
    PLANT("holds the reference TREE_BLOCK_REF root 2", extent, fs, type, origin, 8, 2);
    PLANT("lacks the reference TREE_BLOCK_REF root 5", extent, fs, type, sizeof(struct extent_item),
          1, SHARED_BLOCK_REF_KEY);
    set(extent, ITEM, slot, FIELD(item_header, key.offset), 0);
    FOUND("level 1, its extent item says 0");
    drop(extent, slot);
    FOUND(": used ");
    put(extent, (struct key){fs, TREE_BLOCK_REF_KEY, 257}, NULL, 0);
    FOUND(": refs 1, its references count 2");
    set(extent, DATA, slot, FIELD(extent_item, refs), 2);
    put(extent, (struct key){fs, TREE_BLOCK_REF_KEY, 257}, NULL, 0);
    FOUND("holds the reference TREE_BLOCK_REF root 257 count 1, which nobody makes");
    set(extent, DATA, slot, FIELD(extent_item, refs), 2);
    put(extent, (struct key){fs, TREE_BLOCK_REF_KEY, 5}, NULL, 0);
    FOUND("holds the reference TREE_BLOCK_REF root 5 count 1 twice");
    put(extent, (struct key){fs + 4095, TREE_BLOCK_REF_KEY, 5}, NULL, 0);
    FOUND("a keyed reference without an extent item");
    image_close(&image);
}
END_TEST

/* An extent item of a tree block with two references. */
static void put_block_item(uint64_t bytenr, uint64_t first, uint64_t second)
{
    struct {
        struct extent_item item;
        struct extent_inline_ref refs[2];
    } bytes = {{to_le64(2), to_le64(1), to_le64(EXTENT_FLAG_TREE_BLOCK)},
               {{TREE_BLOCK_REF_KEY, to_le64(first)}, {TREE_BLOCK_REF_KEY, to_le64(second)}}};
    put(extent, (struct key){bytenr, METADATA_ITEM_KEY, 0}, &bytes, sizeof bytes);
}

START_TEST(extents_out_of_place)
{
    open_first();
    put_block_item(1ULL << 40, 5, 257);
    FOUND("inline references are out of order");
    put_block_item(1ULL << 40, 257, 5);
    FOUND("is in no block group");
    put_block_item(data + 4096, 257, 5);
    FOUND("overlaps the one before");
    put_block_item(data + (1 << 20), 257, 5);
    FOUND("in a block group of type 0x1");
    image_close(&image);
}
END_TEST

START_TEST(data_extents)
{
    open_first();
    uint8_t type = EXTENT_ITEM_KEY;
    uint32_t slot = slot_of(extent, data, type);
    uint64_t length = get(extent, ITEM, slot, offsetof(struct item_header, key.offset));
    size_t ref = sizeof(struct extent_item) + 1;
    PLANT("lacks the reference EXTENT_DATA_REF root 5", extent, data, type,
          ref + offsetof(struct extent_data_ref, root), 8, 257);
    PLANT("the reference EXTENT_DATA_REF root 5 inode", extent, data, type,
          ref + offsetof(struct extent_data_ref, objectid), 8, 300);
    PLANT("the reference EXTENT_DATA_REF root 5 inode", extent, data, type,
          ref + offsetof(struct extent_data_ref, offset), 8, 4096);
    set(extent, DATA, slot, FIELD(extent_item, refs), 2);
    PLANT("count 2, not EXTENT_DATA_REF root 5", extent, data, type,
          ref + offsetof(struct extent_data_ref, count), 4, 2);
    set(extent, ITEM, slot, FIELD(item_header, key.offset), length + 4096);
    FOUND(": used ");
    struct extent_data_ref keyed = {to_le64(5), to_le64(256), to_le64(0), to_le32(1)};
    put(extent, (struct key){data, EXTENT_DATA_REF_KEY, 1}, &keyed, sizeof keyed);
    FOUND("a keyed EXTENT_DATA_REF at 1, its hash is ");

    /* From the other side: the file. */
    uint32_t file = slot_of(file_leaf, 0, EXTENT_DATA_KEY);
    while (get(file_leaf, DATA, file, offsetof(struct file_extent_item, disk_bytenr)) != data)
        file++;
    set(file_leaf, DATA, file, FIELD(file_extent_item, disk_num_bytes), length + 4096);
    FOUND("has no extent item");
    set(file_leaf, DATA, file, FIELD(file_extent_item, disk_bytenr), data + 4096);
    FOUND("has no extent item");
    set(file_leaf, DATA, file, FIELD(file_extent_item, offset), 4096);
    FOUND("the file's part ends at ");
    set(file_leaf, DATA, file, FIELD(file_extent_item, disk_bytenr), 0);
    FOUND("which nobody makes");
    drop(file_leaf, file);
    FOUND("which nobody makes");
    image_close(&image);
}
END_TEST

/* --- blocks, roots ------------------------------------------------------------------ */

START_TEST(blocks)
{
    open_first();
    uint64_t offsets[IMAGE_COPIES];
    set(fs, HEADER, 0, FIELD(block_header, flags), HEADER_FLAG_WRITTEN);
    FOUND("header flags 0x1");
    set(fs, HEADER, 0, FIELD(block_header, chunk_tree_uuid), 7);
    FOUND("another chunk_tree_uuid");
    set(fs, HEADER, 0, FIELD(block_header, owner), 257);
    FOUND("owner 257");
    set(file_leaf, HEADER, 0, FIELD(block_header, generation), 1);
    FOUND("(T2)");
    ck_assert_uint_eq(image_find_block(&image, file_leaf, offsets), 2);
    for (size_t copy = 0; copy < 2; copy++) {
        unsigned char zeros[64] = {0};
        image_write(&image, offsets[copy], zeros, sizeof zeros);
        FOUND("is not like the others");
    }
    image_close(&image);
}
END_TEST

START_TEST(root_items)
{
    open_first();
    uint8_t type = ROOT_ITEM_KEY;
    PLANT("generation_v2 1", root, 5, type, FIELD(root_item, generation_v2), 1);
    PLANT("bytes_used 4096, its blocks have", root, 5, type, FIELD(root_item, bytes_used), 4096);
    PLANT("root_dirid 0", root, 5, type, FIELD(root_item, root_dirid), 0);
    PLANT("last_snapshot 1000", root, 5, type, FIELD(root_item, last_snapshot), 1000);
    PLANT("drop_level 1, refs 1", root, 5, type, FIELD(root_item, drop_level), 1);
    PLANT("refs 0", root, 2, type, FIELD(root_item, refs), 0);
    PLANT("refs 2", root, 5, type, FIELD(root_item, refs), 2);
    PLANT("(T2)", root, 5, type, FIELD(root_item, generation), 1);
    PLANT("(T1)", root, 5, type, FIELD(root_item, level), 0);
    drop(root, slot_of(root, 7, type));
    FOUND("there is no tree 7");
    drop(root, slot_of(root, 10, type));
    FOUND("there is no tree 10");
    drop(root, slot_of(root, 9, type));
    FOUND("holds the reference TREE_BLOCK_REF root 9 count 1, which nobody makes");
    image_close(&image);
}
END_TEST

/* --- checksums, free space ---------------------------------------------------------- */

START_TEST(checksums)
{
    open_first();
    uint32_t slot = slot_of(csum, 0, EXTENT_CSUM_KEY);
    PLANT("copy 1 does not have its checksum", csum, 0, EXTENT_CSUM_KEY, 4, 4, 7);
    drop(csum, slot);
    FOUND("no checksums for");
    struct block leaf = look(csum);
    leaf_shrink(&leaf, slot, 4);
    image_put_block(&image, csum, leaf.data);
    FOUND("no checksums for");
    uint32_t nothing = 0;
    put(csum, (struct key){EXTENT_CSUM_OBJECTID, EXTENT_CSUM_KEY, data + 4096}, &nothing, 4);
    FOUND("overlaps the one before");
    image_close(&image);
}
END_TEST

START_TEST(free_space)
{
    open_first();
    struct block leaf = look(extent);
    uint32_t slot;
    ck_assert(find_slot(&leaf, 0, BLOCK_GROUP_ITEM_KEY, &slot));
    struct key group = leaf_key(&leaf, slot);
    uint32_t info = slot_of(space, group.objectid, FREE_SPACE_INFO_KEY);
    leaf = look(space);
    struct key key = leaf_key(&leaf, info + 1);
    ck_assert_uint_eq(key.type, FREE_SPACE_EXTENT_KEY);
    set(space, DATA, info, FIELD(free_space_info, extent_count), 77);
    FOUND("extent_count 77");
    set(space, DATA, info, FIELD(free_space_info, flags), 2);
    FOUND("flags 0x2");
    set(space, DATA, info, FIELD(free_space_info, flags), 1);
    FOUND("extents and bitmaps");
    set(space, ITEM, info + 1, FIELD(item_header, key.offset), key.offset - 4096);
    FOUND("is wrong");
    set(space, ITEM, info + 1, FIELD(item_header, key.offset), group.offset + 4096);
    FOUND("is not of a block group");
    set(space, ITEM, info + 1, FIELD(item_header, key.offset), key.offset - 4096);
    set(space, ITEM, info + 1, FIELD(item_header, key.objectid), key.objectid + 4096);
    FOUND("is missing");
    drop(space, info + 1);
    FOUND("is missing");
    drop(space, info);
    FOUND("free space");
    image_close(&image);
}
END_TEST

SUITE_WITH(audit, 60, load_all_images, images_are_sound, stray_free_space, superblocks, mirrors,
           backups, chunks, block_groups, tree_block_extents, extents_out_of_place, data_extents,
           blocks, root_items, checksums, free_space)
