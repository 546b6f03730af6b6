#include "support_image.h"

#include "checksum.h"
#include "superblock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            perror(#condition);                                                                    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* --- unpacking ---------------------------------------------------------------------- */

const char *const image_names[] = {
    "first", "tall", "bgt-default", "bgt-4k-xxhash", "bgt-sha256-zstd-subvol", "bgt-blake2-mixed",
    NULL,
};

/* The pieces of [start, end) of a file. */
static void take_pieces(struct packed_image *packed, int fd, off_t start, off_t end)
{
    static const unsigned char zeros[PIECE_SIZE];
    struct piece piece;
    for (; start < end; start += PIECE_SIZE) {
        MUST(pread(fd, piece.bytes, PIECE_SIZE, start) == PIECE_SIZE);
        if (memcmp(piece.bytes, zeros, PIECE_SIZE) == 0)
            continue;
        piece.offset = (uint64_t)start;
        if ((packed->npieces & (packed->npieces - 1)) == 0) { /* full: twice the room */
            size_t room = packed->npieces ? 2 * packed->npieces : 1;
            packed->pieces = realloc(packed->pieces, room * sizeof piece);
            MUST(packed->pieces);
        }
        packed->pieces[packed->npieces++] = piece;
    }
}

/* xz leaves holes where there are zeros, so most of the file need not be looked at. */
static void unpack(struct packed_image *packed, const char *name)
{
    int fd = memfd_create(name, 0);
    char command[256];
    snprintf(command, sizeof command, "xz -dc %s/%s.img.xz > /proc/%d/fd/%d", TEST_IMAGES, name,
             getpid(), fd);
    MUST(fd >= 0 && system(command) == 0);
    *packed = (struct packed_image){.name = name};
    packed->size = (uint64_t)lseek(fd, 0, SEEK_END);
    for (off_t start = 0, end; (start = lseek(fd, start, SEEK_DATA)) >= 0; start = end) {
        end = lseek(fd, start, SEEK_HOLE);
        take_pieces(packed, fd, start, end);
    }
    MUST(packed->npieces > 0);
    close(fd);
}

const struct packed_image *packed_image(const char *name)
{
    static struct packed_image unpacked[8];
    for (size_t i = 0; i < sizeof unpacked / sizeof unpacked[0]; i++) {
        if (!unpacked[i].name)
            unpack(&unpacked[i], name);
        if (strcmp(unpacked[i].name, name) == 0)
            return &unpacked[i];
    }
    abort();
}

void load_first_image(void)
{
    packed_image("first");
}

void load_all_images(void)
{
    for (size_t i = 0; image_names[i]; i++)
        packed_image(image_names[i]);
}

/* --- files -------------------------------------------------------------------------- */

void image_open_blank(struct image *image, uint64_t size)
{
    *image = (struct image){.fd = memfd_create("image", MFD_CLOEXEC), .size = size};
    MUST(image->fd >= 0 && ftruncate(image->fd, (off_t)size) == 0);
    snprintf(image->path, sizeof image->path, "/proc/self/fd/%d", image->fd);
}

void image_open(struct image *image, const char *name)
{
    const struct packed_image *packed = packed_image(name);
    image_open_blank(image, packed->size);
    for (size_t i = 0; i < packed->npieces; i++)
        MUST(pwrite(image->fd, packed->pieces[i].bytes, PIECE_SIZE,
                    (off_t)packed->pieces[i].offset) == PIECE_SIZE);
    image_read(image, superblock_offset(0), &image->super, sizeof image->super);
    image->nodesize = from_le32(image->super.nodesize);
}

void image_keep(struct image *image)
{
    while (image->nedits > 0)
        free(image->edits[--image->nedits].old);
}

void image_close(struct image *image)
{
    image_keep(image);
    close(image->fd);
}

void image_read(const struct image *image, uint64_t offset, void *bytes, size_t length)
{
    MUST(pread(image->fd, bytes, length, (off_t)offset) == (ssize_t)length);
}

void image_write(struct image *image, uint64_t offset, const void *bytes, size_t length)
{
    MUST(image->nedits < IMAGE_EDITS);
    unsigned char *old = malloc(length);
    MUST(old);
    image_read(image, offset, old, length);
    image->edits[image->nedits].offset = offset;
    image->edits[image->nedits].length = length;
    image->edits[image->nedits++].old = old;
    MUST(pwrite(image->fd, bytes, length, (off_t)offset) == (ssize_t)length);
}

void image_undo(struct image *image)
{
    while (image->nedits > 0) {
        unsigned i = --image->nedits;
        size_t length = image->edits[i].length;
        MUST(pwrite(image->fd, image->edits[i].old, length, (off_t)image->edits[i].offset) ==
             (ssize_t)length);
        free(image->edits[i].old);
    }
}

/* --- superblocks and tree blocks ---------------------------------------------------- */

void put_csum(uint16_t csum_type, void *block, size_t size)
{
    if (csum_size(csum_type))
        csum_compute(csum_type, (unsigned char *)block + CSUM_SIZE, size - CSUM_SIZE, block);
}

void image_put_super(struct image *image, const struct superblock *super)
{
    for (int mirror = 0; mirror < SUPERBLOCK_MIRRORS; mirror++) {
        struct superblock copy = *super;
        uint64_t offset = superblock_offset(mirror);
        if (offset + sizeof copy > image->size)
            break;
        copy.bytenr = to_le64(offset);
        put_csum(from_le16(super->csum_type), &copy, sizeof copy);
        image_write(image, offset, &copy, sizeof copy);
    }
}

unsigned image_find_block(const struct image *image, uint64_t bytenr,
                          uint64_t offsets[IMAGE_COPIES])
{
    unsigned found = 0;
    /* Only where there is data: a sparse file is mostly holes. */
    for (off_t at = lseek(image->fd, 0, SEEK_DATA); at >= 0;) {
        off_t end = lseek(image->fd, at, SEEK_HOLE);
        for (; at < end; at += PIECE_SIZE) {
            struct block_header header;
            image_read(image, (uint64_t)at, &header, sizeof header);
            if (from_le64(header.bytenr) != bytenr ||
                memcmp(header.fsid, image->super.fsid, FSID_SIZE) != 0)
                continue;
            MUST(found < IMAGE_COPIES);
            offsets[found++] = (uint64_t)at;
        }
        at = lseek(image->fd, end, SEEK_DATA);
    }
    return found;
}

void image_get_block(const struct image *image, uint64_t bytenr, void *block)
{
    uint64_t offsets[IMAGE_COPIES];
    MUST(image_find_block(image, bytenr, offsets) > 0);
    image_read(image, offsets[0], block, image->nodesize);
}

void image_put_block(struct image *image, uint64_t bytenr, void *block)
{
    uint64_t offsets[IMAGE_COPIES];
    unsigned copies = image_find_block(image, bytenr, offsets);
    put_csum(from_le16(image->super.csum_type), block, image->nodesize);
    for (unsigned i = 0; i < copies; i++)
        image_write(image, offsets[i], block, image->nodesize);
}
