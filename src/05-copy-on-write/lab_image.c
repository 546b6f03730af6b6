#include "lab_image.h"

#include <string.h>

const char *const lab_spaces[] = {"bump", NULL};

int lab_image_open(struct lab_image *image, const char *space, uint64_t bytes, uint32_t node_size)
{
    (void)space;
    int result = lab_image_device(image, bytes);
    if (result < 0)
        return result;
    result = bump_format(&image->bump, &image->volume, image->device, node_size, &image->notes);
    image->space = &image->bump.space;
    if (result < 0)
        device_close(image->device);
    return result;
}

void lab_image_close(struct lab_image *image)
{
    volume_close(&image->volume);
    device_close(image->device);
}
