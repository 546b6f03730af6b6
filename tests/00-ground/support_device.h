/* What every device promises, as one test. */
#ifndef SUPPORT_DEVICE_H
#define SUPPORT_DEVICE_H

#include "device.h"

#include <stdbool.h>

/* A memory device of `size` bytes. */
struct device *make_memory(uint64_t size);

/* Reads, writes and (where it can) resizes at random, beside a plain array that does the same. The
 * device has at least 8,192 bytes, all zero. */
void check_device_rules(struct device *device, bool can_resize);

/* Open file descriptors of this process. */
int open_files(void);

#endif
