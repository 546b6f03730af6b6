/* A fuzzer of the readers: info, leaf, find and dump on damaged images, whole commands in this process.
 *
 * An image is too large and too regular to be mutated as bytes: almost all of it is never read, and the
 * first wrong bit ends in a wrong checksum. So an input is a short list of changes to one of the images of
 * tests/images, and the changes can only be made in the blocks that a dump of that image reads.
 *
 *   byte 0   which image, and which leaf `leaf` shows
 *   byte 1   which command; its top bits: see enum modes
 *   then changes, each     block, offset (2 bytes), length, that many bytes to be put there
 *   or, with block >= 128  block, other block: has the content of the other one, with its own address
 *
 * The device of the fuzzer is the function pread below, which takes the place of the C library's: it puts
 * the image together from its pieces, makes the changes, and then switches off the checksum gate: each
 * superblock and each tree block that is read gets the checksum that belongs to it, and a tree block the
 * fsid of its file system. Both copies of a block are changed alike, so that the second one does not make
 * up for the first, unless the input wants it otherwise.
 *
 * Output goes to a stream that takes some lines and then fails, as a full disk would: a dump of a large
 * image ends there, since more of the same finds nothing. Most inputs are about the smallest image.
 */
#include "checksum.h"
#include "command.h"
#include "superblock.h"
#include "support_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BASES = 6, BLOCKS = 128, CHANGES = 64, OUTPUT_MOST = 1 << 17 };

enum modes {
    MODE_NO_REPAIR = 0x80,  /* checksums stay as they are */
    MODE_FIRST_COPY = 0x40, /* only the first copy of a block is changed */
};

/* --- the bases ---------------------------------------------------------------------- */

static struct base {
    const struct packed_image *packed;
    char path[32]; /* of an empty file of the right size */
    struct superblock super;
    unsigned nblocks;        /* 0 is the superblock */
    uint64_t blocks[BLOCKS]; /* logical addresses */
    uint64_t places[BLOCKS]; /* of their first copies */
} bases[BASES];

/* The piece of the image that holds these bytes, or NULL for zeros. */
static const struct piece *find_piece(const struct packed_image *packed, uint64_t offset)
{
    size_t low = 0, high = packed->npieces;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (packed->pieces[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || offset - packed->pieces[low - 1].offset >= PIECE_SIZE)
        return NULL;
    return &packed->pieces[low - 1];
}

/* Bytes of the image as it is; all reads begin and end at pieces. */
static void read_base(const struct base *base, uint64_t offset, unsigned char *bytes, size_t length)
{
    for (size_t done = 0; done < length; done += PIECE_SIZE) {
        const struct piece *piece = find_piece(base->packed, offset + done);
        size_t part = length - done < PIECE_SIZE ? length - done : PIECE_SIZE;
        if (piece)
            memcpy(bytes + done, piece->bytes, part);
        else
            memset(bytes + done, 0, part);
    }
}

/* --- what an input says ------------------------------------------------------------- */

struct change {
    unsigned block, other; /* indices */
    unsigned offset, length;
    const uint8_t *bytes; /* NULL: the content of `other` */
};

static struct {
    const struct base *base;
    unsigned modes;
    unsigned nchanges;
    struct change changes[CHANGES];
    uint16_t csum_type; /* of the superblock that was read last */
    bool is_learning;   /* the blocks that a dump reads are being written down */
} fuzz;

static void parse(const uint8_t *data, size_t size)
{
    fuzz.nchanges = 0;
    while (size >= 2 && fuzz.nchanges < CHANGES) {
        struct change *change = &fuzz.changes[fuzz.nchanges];
        change->block = (data[0] & 127) % fuzz.base->nblocks;
        change->bytes = NULL;
        change->other = data[1] % fuzz.base->nblocks;
        size_t used = 2;
        if (data[0] < 128) {
            if (size < 5)
                return;
            change->offset = data[1] | (unsigned)data[2] << 8;
            change->length = data[3] < size - 4 ? data[3] : (unsigned)(size - 4);
            change->bytes = data + 4;
            used = 4 + change->length;
        }
        fuzz.nchanges++;
        data += used;
        size -= used;
    }
}

/* --- the device --------------------------------------------------------------------- */

static bool is_superblock(uint64_t offset, size_t length)
{
    return length == SUPERBLOCK_SIZE &&
           (offset == superblock_offset(0) || offset == superblock_offset(1));
}

/* The index of the block that lies there, by its own word; BLOCKS for none. The first read of a block
 * tells its number to the list, while that is made. */
static unsigned block_index(struct base *base, uint64_t offset, const unsigned char *bytes,
                            size_t length)
{
    if (is_superblock(offset, length))
        return 0;
    const struct block_header *header = (const struct block_header *)bytes;
    uint64_t bytenr = from_le64(header->bytenr);
    if (length < 4096 || memcmp(header->fsid, base->super.fsid, FSID_SIZE) != 0)
        return BLOCKS;
    unsigned index = 1;
    while (index < base->nblocks && base->blocks[index] != bytenr)
        index++;
    if (fuzz.is_learning && index == base->nblocks && index < BLOCKS) {
        base->places[index] = offset;
        base->blocks[base->nblocks++] = bytenr;
    }
    return index < base->nblocks ? index : BLOCKS;
}

static void apply_changes(unsigned index, uint64_t offset, unsigned char *bytes, size_t length)
{
    const struct base *base = fuzz.base;
    if (fuzz.modes & MODE_FIRST_COPY && offset != base->places[index])
        return;
    for (unsigned i = 0; i < fuzz.nchanges; i++) {
        const struct change *change = &fuzz.changes[i];
        if (change->block != index)
            continue;
        if (change->bytes) {
            for (unsigned byte = 0; byte < change->length; byte++)
                bytes[(change->offset + byte) % length] = change->bytes[byte];
        } else if (index && change->other) {
            read_base(base, base->places[change->other], bytes, length);
            ((struct block_header *)bytes)->bytenr = to_le64(base->blocks[index]);
        }
    }
}

static void repair(uint64_t offset, unsigned char *bytes, size_t length)
{
    if (is_superblock(offset, length)) {
        fuzz.csum_type = from_le16(((const struct superblock *)bytes)->csum_type);
        put_csum(fuzz.csum_type, bytes, length);
    } else if (length >= 4096 && length <= NODE_SIZE_MAX) {
        memcpy(((struct block_header *)bytes)->fsid, fuzz.base->super.fsid, FSID_SIZE);
        put_csum(fuzz.csum_type, bytes, length);
    }
}

ssize_t pread64(int fd, void *buffer, size_t length, off64_t offset)
{
    if (!fuzz.base) /* the images are being unpacked */
        return syscall(SYS_pread64, fd, buffer, length, offset);
    read_base(fuzz.base, (uint64_t)offset, buffer, length);
    unsigned index = block_index(&bases[fuzz.base - bases], (uint64_t)offset, buffer, length);
    if (index < BLOCKS)
        apply_changes(index, (uint64_t)offset, buffer, length);
    if (!(fuzz.modes & MODE_NO_REPAIR))
        repair((uint64_t)offset, buffer, length);
    return (ssize_t)length;
}

/* --- running ------------------------------------------------------------------------ */

static size_t printed;

static ssize_t swallow(void *cookie, const char *text, size_t length)
{
    (void)cookie, (void)text;
    printed += length;
    return printed < OUTPUT_MOST ? (ssize_t)length : 0;
}

extern const struct command cmd_info, cmd_leaf, cmd_find, cmd_dump;

static const struct {
    const struct command *command;
    const char *option;
    const char *args[4];
    int nargs;
} runs[] = {
    {&cmd_dump, "stats", {NULL}, 0},
    {&cmd_dump, "json", {NULL}, 0},
    {&cmd_dump, "dot", {NULL}, 0},
    {&cmd_dump, "json", {"fs"}, 1},
    {&cmd_info, "json", {NULL}, 0},
    {&cmd_info, "none", {NULL}, 0},
    {&cmd_find, "stats", {"fs", "256", "INODE_ITEM", "0"}, 4},
    {&cmd_find, "json", {"fs", "300 1 0"}, 2},
    {&cmd_find, "json", {"extent", "20000000", "METADATA_ITEM", "0"}, 4},
    {&cmd_leaf, "none", {"LEAF"}, 1},
    {&cmd_leaf, "json", {"LEAF"}, 1},
    {&cmd_leaf, "dot", {"LEAF"}, 1},
};

static void run(unsigned number, unsigned leaf)
{
    static FILE *out;
    static struct notes notes;
    char address[24], *args[5];
    if (!out)
        out = fopencookie(NULL, "w", (cookie_io_functions_t){.write = swallow});
    snprintf(address, sizeof address, "%ju", (uintmax_t)fuzz.base->blocks[leaf]);
    for (int i = 0; i < runs[number].nargs; i++)
        args[i] = strcmp(runs[number].args[i], "LEAF") == 0
                      ? address
                      : (char *)(uintptr_t)runs[number].args[i];
    notes.count = 0;
    struct invocation invocation = {
        .command = runs[number].command,
        .image = fuzz.base->path,
        .args = args,
        .nargs = runs[number].nargs,
        .options = {{runs[number].option, ""}},
        .noptions = 1,
        .out = out,
        .notes = &notes,
    };
    printed = 0;
    invocation.command->run(&invocation);
    fflush(out);
    clearerr(out);
}

/* What a dump of the image reads, in the order in which it does. */
static void learn_blocks(struct base *base)
{
    base->nblocks = 1;
    base->places[0] = superblock_offset(0);
    fuzz.base = base;
    fuzz.modes = fuzz.nchanges = 0;
    fuzz.is_learning = true;
    run(0, 0);
    fuzz.is_learning = false;
    if (base->nblocks < 10)
        abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    load_all_images();
    for (unsigned i = 0; i < BASES; i++) {
        struct base *base = &bases[i];
        base->packed = packed_image(image_names[i]);
        int fd = memfd_create("base", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t)base->packed->size) < 0)
            abort();
        snprintf(base->path, sizeof base->path, "/proc/self/fd/%d", fd);
        read_base(base, superblock_offset(0), (unsigned char *)&base->super, sizeof base->super);
        learn_blocks(base);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    fuzz.base = &bases[data[0] < 192 ? 0 : data[0] % BASES];
    fuzz.modes = data[1];
    parse(data + 2, size - 2);
    unsigned number = (data[1] & 63) % (sizeof runs / sizeof runs[0]);
    run(number, 1 + data[0] % (fuzz.base->nblocks - 1));
    return 0;
}
