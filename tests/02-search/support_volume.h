/* Volumes made by hand: a superblock, two chunks, and whatever trees a test wants, right in every
 * respect until the test changes that. */
#ifndef SUPPORT_VOLUME_H
#define SUPPORT_VOLUME_H

#include "support_image.h"
#include "support_leaf.h"
#include "support_tree.h"
#include "volume.h"

enum { MAKER_ROOTS = 64, MAKER_SIZE = 66 << 20, MAKER_GENERATION = 20 };

/* Logical and physical places: the second copy, where there is one, lies MAKER_COPY further on. */
#define MAKER_SYSTEM   (1ULL << 20)
#define MAKER_METADATA (16ULL << 20)
#define MAKER_LENGTH   (4ULL << 20)
#define MAKER_COPY     (20ULL << 20)

struct maker {
    struct image image;
    struct superblock super;
    unsigned copies;
    uint64_t next; /* address of the next block */
    unsigned nroots;
    struct {
        struct key key;
        struct root_item item;
    } roots[MAKER_ROOTS]; /* in ascending order of the keys */
};

void maker_begin(struct maker *maker, uint32_t nodesize, uint16_t csum_type, unsigned copies);

/* A leaf or node of a tree, at the next address. maker_write puts it there, with its checksum, and
 * frees it. */
struct block maker_block(struct maker *maker, uint64_t owner, uint8_t level);
void maker_write(struct maker *maker, struct block *block);

/* A root item for the tree that begins with this block. */
void maker_root(struct maker *maker, struct key key, const struct block *root);

/* Writes chunk tree, root tree and superblocks. */
void maker_end(struct maker *maker);

void maker_close(struct maker *maker);

/* The chunk item of a chunk of the maker's, with stripes: its bytes. */
enum { CHUNK_ITEM_MOST = sizeof(struct chunk_item) + 4 * sizeof(struct stripe) };
size_t make_chunk_item(uint8_t item[CHUNK_ITEM_MOST], uint64_t length, uint64_t type,
                       unsigned stripes, const uint64_t physical[]);

/* An image opened as a volume, and closed with its device. */
struct opened {
    struct device *device;
    struct volume volume;
    struct notes notes;
};

int open_volume(struct opened *opened, const char *path);
void close_volume(struct opened *opened);

#endif
