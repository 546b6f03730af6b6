/* What the commands that look into a volume share. */
#ifndef VOLUME_COMMAND_H
#define VOLUME_COMMAND_H

#include "command.h"
#include "volume.h"

/* How TREE is written, for --help. */
#define TREE_WORDS                                                                                 \
    "TREE is root, extent, chunk, dev, fs, csum, quota, uuid, free-space, block-group, log, "      \
    "data-reloc, or a number, such as that of a subvolume. Where words are negative numbers, a "   \
    "word -- before all of them ends the options."

/* Opens the volume in the image that the command line names, lets `use` work on it, and closes it.
 * Returns what `use` returned, or why the volume could not be opened. */
int volume_command(struct invocation *invocation,
                   int (*use)(struct invocation *invocation, struct volume *volume,
                              const void *context),
                   const void *context);

#endif
