/* The backup roots of a superblock, as a list of a report. */
#ifndef REPORT_BACKUPS_H
#define REPORT_BACKUPS_H

#include "report.h"

/* Writes the list "backups" into the record that is open in `report`. It holds a record "backup"
 * for each slot that was ever written, the newest first, with the fields slot, generation, root,
 * root_level, chunk_root, fs_root and bytes_used, in this order. A slot whose tree_root_gen is 0
 * was never written. */
void report_backups(struct report *report, const struct superblock *super);

#endif
