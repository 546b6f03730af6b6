/* An image in memory, for the laboratory: a device that keeps a record, a volume, a space. */
#ifndef LAB_IMAGE_H
#define LAB_IMAGE_H

#include "bump_space.h"

struct lab_image {
    struct device *device; /* recording_device_events tells what it was asked */
    struct volume volume;
    struct notes notes;
    struct space *space;
    struct bump_space bump; /* where that is the space */
    void *other;            /* what else the space needs (chapter 06) */
};

/* The spaces there are, the default first: "bump"; chapter 06 brings another. Ends with NULL. */
extern const char *const lab_spaces[];

/* An image with that space: `bytes` long, without items in tree 5 but what mkfs makes. */
int lab_image_open(struct lab_image *image, const char *space, uint64_t bytes, uint32_t node_size);
void lab_image_close(struct lab_image *image);

/* The steps of lab_image_open that are the same for each space. */
int lab_image_device(struct lab_image *image, uint64_t bytes);

#endif
