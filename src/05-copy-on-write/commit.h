/* The commit: in which order a transaction goes to the device.
 *
 *   1  every block of the transaction, to every place where its chunk has a copy
 *   2  flush: the new trees are safe; nothing leads to them yet
 *   3  the superblock at 64 KiB: now the image is the new one
 *   4  flush: the new superblock is safe
 *   5  its mirrors
 *
 * A cut of the power before 3 leaves the old image, whatever blocks were written; after 4 the new
 * one. Between 3 and 4 the device may hold either superblock, and both are right. It may also hold
 * a torn one, half of each, whose checksum is wrong. Then the first mirror, where the device is
 * long enough for one, is still the old superblock, and the old trees are whole: that is why the
 * mirrors are written last, and why what a transaction frees is not used again before the next one.
 *
 * The kernel's names: btrfs_write_and_wait_transaction, write_all_supers, backup_super_roots.
 */
#ifndef COMMIT_H
#define COMMIT_H

#include "transaction.h"

/* Writes a transaction that has settled. *is_on_device says whether the new state is safe; it may
 * be although the result is an error, that of a mirror. After an error nothing more is written to
 * the volume. Where nothing has changed nothing is written. */
int commit_write(struct transaction *transaction, bool *is_on_device);

/* Steps 2 to 5: commits volume->super. Alone it is the commit of a change that is in the superblock
 * only; the first flush is then for the mirrors of the commit before: of two copies that are not
 * safe a cut may tear both. */
int superblock_commit(struct volume *volume, bool *is_on_device);

/* One copy: sets what depends on its place, and its checksum; and writes it there. */
void superblock_seal(struct superblock *super, int mirror);
int superblock_write(struct device *device, const struct superblock *super, int mirror);

/* Whether the file system reaches so far that it has this mirror. */
bool superblock_has_mirror(const struct superblock *super, int mirror);

#endif
