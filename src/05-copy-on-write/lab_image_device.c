#include "lab_image.h"

int lab_image_device(struct lab_image *image, uint64_t bytes)
{
    struct device *memory;
    *image = (struct lab_image){0};
    int result = memory_device_open(bytes, &memory);
    if (result < 0)
        return result;
    result = recording_device_open(memory, &image->device);
    if (result < 0)
        device_close(memory);
    return result;
}
