/* Which images may be written.
 *
 * To change an image one must know all that has to change with it. What is written down about a
 * file system in a form that this program does not keep up would be wrong afterwards, so such an
 * image is refused: unknown features of the kind "read only if not known", quota that counts, a
 * balance half done, a log tree whose contents would be lost.
 */
#ifndef WRITABLE_H
#define WRITABLE_H

#include "volume.h"

/* 0; EOPNOTSUPP with the reason; an error. Brings copies of the superblock that lag behind, or are
 * damaged, up to the one that is used, and flushes: a commit begins from equal copies. */
int volume_writable(struct volume *volume);

#endif
