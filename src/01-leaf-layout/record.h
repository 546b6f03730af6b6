/* Records: how a structure on disk is told, as a table of its fields.
 *
 * Most structures are fields at fixed places, and showing one is a loop over a table. What follows
 * a structure, such as names and lists, is the business of item.c.
 */
#ifndef RECORD_H
#define RECORD_H

#include "report.h"

enum field_form {
    FIELD_NUMBER, /* of 1, 2, 4 or 8 bytes */
    FIELD_MODE,
    FIELD_TIME,
    FIELD_UUID,
    FIELD_KEY,
    FIELD_FLAGS, /* name_of names the bits */
    FIELD_NAMED, /* name_of names the value */
};

struct field {
    const char *name;
    uint16_t offset;
    uint16_t size;
    enum field_form form;
    const char *(*name_of)(unsigned value);
};

struct record {
    const char *what;
    uint32_t size;              /* of the structure on disk */
    const struct field *fields; /* ends with a name of NULL */
};

extern const struct record inode_record, inode_ref_record, inode_extref_record, dir_entry_record,
    dir_log_record, inline_extent_record, extent_data_record, root_record, old_root_record,
    root_ref_record, extent_record, tree_block_record, extent_data_ref_record,
    shared_data_ref_record, block_group_record, free_space_info_record, free_space_header_record,
    dev_extent_record, dev_record, chunk_record, stripe_record, qgroup_status_record,
    qgroup_info_record, qgroup_limit_record, dev_replace_record, balance_record, verity_record;

/* Reports the fields of a structure into a record that has begun. */
void record_fields(const struct record *record, const void *bytes, struct report *report);

/* The names that records and items use. */
const char *extent_flag_name(unsigned bit);

#endif
