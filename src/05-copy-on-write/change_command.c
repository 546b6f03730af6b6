#include "change_command.h"

#include "writable.h"

int change_command(struct invocation *invocation,
                   int (*use)(struct invocation *invocation, struct volume *volume,
                              const void *context),
                   const void *context)
{
    struct device *device;
    int result = invocation_open(invocation, true, &device);
    if (result != 0)
        return result;
    struct volume volume;
    result = volume_open(&volume, device, invocation->notes);
    if (result == 0) {
        result = volume_writable(&volume);
        if (result == 0)
            result = use(invocation, &volume, context);
        volume_close(&volume);
    }
    device_close(device);
    return result;
}
