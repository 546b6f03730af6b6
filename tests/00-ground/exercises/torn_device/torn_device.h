/* A device whose power fails in the middle of a write.
 *
 * `writes` writes are passed on to `under` whole. Of the next one only the first `kept` bytes reach
 * `under`, or all of it where it is no longer than that. That write fails with EIO, and so does
 * every write, flush and resize after it; none of them changes anything. Reads go on: they show
 * what is found when the power is back. Closes `under` when it is closed; after a failure to open
 * `under` is still the caller's.
 */
#ifndef TORN_DEVICE_H
#define TORN_DEVICE_H

#include "device.h"

int torn_device_open(struct device *under, uint64_t writes, size_t kept, struct device **device);

#endif
