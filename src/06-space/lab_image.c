#include "lab_image.h"

#include "fail.h"
#include "mkfs.h"

#include <stdlib.h>
#include <string.h>

const char *const lab_spaces[] = {"extents", "bump", NULL};

static int open_extents(struct lab_image *image, uint64_t bytes, uint32_t node_size)
{
    struct mkfs_options options = {
        .blank = {.fsid = "laboratory", .node_size = node_size, .sector_size = 4096},
    };
    struct extent_allocator *allocator = malloc(sizeof *allocator);
    if (!allocator)
        return fail(ENOMEM, "out of memory for an allocator");
    options.blank.total_bytes = bytes;
    int result = mkfs(&options, image->device, &image->volume, allocator, &image->notes);
    if (result < 0) {
        free(allocator);
        return result;
    }
    image->other = allocator;
    image->space = &allocator->space;
    return 0;
}

int lab_image_open(struct lab_image *image, const char *space, uint64_t bytes, uint32_t node_size)
{
    int result = lab_image_device(image, bytes);
    if (result < 0)
        return result;
    if (strcmp(space, "bump") == 0) {
        result = bump_format(&image->bump, &image->volume, image->device, node_size, &image->notes);
        image->space = &image->bump.space;
    } else {
        result = open_extents(image, bytes, node_size);
    }
    if (result < 0)
        device_close(image->device);
    return result;
}

void lab_image_close(struct lab_image *image)
{
    if (image->other)
        extent_allocator_close(image->other);
    free(image->other);
    volume_close(&image->volume);
    device_close(image->device);
}
