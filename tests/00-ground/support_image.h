/* Images for tests: files of tests/images, unpacked into memory, to be damaged at will.
 *
 * An image is a file without a name (memfd); commands open it by `path`. What is written to it
 * through image_write and what calls that can be taken back with image_undo. Nothing here uses the
 * code under test but checksums: tree blocks are found by looking for their headers.
 */
#ifndef SUPPORT_IMAGE_H
#define SUPPORT_IMAGE_H

#include "format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PIECE_SIZE = 4096, IMAGE_COPIES = 4, IMAGE_EDITS = 64 };

/* A file as the pieces of it that are not all zeros, in ascending order. */
struct packed_image {
    const char *name;
    uint64_t size;
    size_t npieces;
    struct piece {
        uint64_t offset;
        unsigned char bytes[PIECE_SIZE];
    } * pieces;
};

/* tests/images/NAME.img.xz, unpacked once in the life of the process. */
const struct packed_image *packed_image(const char *name);

/* The same for the setup of a suite: the tests, forked from there, find it unpacked. */
void load_first_image(void);
void load_all_images(void);
extern const char *const image_names[]; /* of all images; ends with NULL */

struct image {
    int fd;
    char path[32];
    uint64_t size;
    struct superblock super; /* as it was when the image was opened */
    uint32_t nodesize;
    unsigned nedits;
    struct {
        uint64_t offset;
        size_t length;
        unsigned char *old;
    } edits[IMAGE_EDITS];
};

void image_open(struct image *image, const char *name);
void image_open_blank(struct image *image, uint64_t size); /* zeros */
void image_close(struct image *image);

void image_read(const struct image *image, uint64_t offset, void *bytes, size_t length);
void image_write(struct image *image, uint64_t offset, const void *bytes, size_t length);
void image_undo(struct image *image);
void image_keep(struct image *image); /* what was written up to now is not taken back any more */

/* The superblock to every place where the image has one, with the address and the checksum that
 * belong there. */
void image_put_super(struct image *image, const struct superblock *super);

/* Where the copies of a tree block lie; how many there are. */
unsigned image_find_block(const struct image *image, uint64_t bytenr,
                          uint64_t offsets[IMAGE_COPIES]);

/* A tree block, and back to all its copies with a right checksum. */
void image_get_block(const struct image *image, uint64_t bytenr, void *block);
void image_put_block(struct image *image, uint64_t bytenr, void *block);

/* The checksum that belongs to a superblock or tree block of `size` bytes, put into its place. */
void put_csum(uint16_t csum_type, void *block, size_t size);

#endif
