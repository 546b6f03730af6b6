/* What the commands that change a volume share. */
#ifndef CHANGE_COMMAND_H
#define CHANGE_COMMAND_H

#include "command.h"
#include "volume.h"

/* As volume_command, for a volume that may be written (volume_writable): the image is opened for
 * writing, and nobody else can open it so as long as it is. */
int change_command(struct invocation *invocation,
                   int (*use)(struct invocation *invocation, struct volume *volume,
                              const void *context),
                   const void *context);

#endif
