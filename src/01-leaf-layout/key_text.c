/* Keys as text, and back. */
#include "fail.h"
#include "key.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    uint8_t type;
    const char *name;
} type_names[] = {
    {INODE_ITEM_KEY, "INODE_ITEM"},
    {INODE_REF_KEY, "INODE_REF"},
    {INODE_EXTREF_KEY, "INODE_EXTREF"},
    {XATTR_ITEM_KEY, "XATTR_ITEM"},
    {VERITY_DESC_ITEM_KEY, "VERITY_DESC_ITEM"},
    {VERITY_MERKLE_ITEM_KEY, "VERITY_MERKLE_ITEM"},
    {ORPHAN_ITEM_KEY, "ORPHAN_ITEM"},
    {DIR_LOG_ITEM_KEY, "DIR_LOG_ITEM"},
    {DIR_LOG_INDEX_KEY, "DIR_LOG_INDEX"},
    {DIR_ITEM_KEY, "DIR_ITEM"},
    {DIR_INDEX_KEY, "DIR_INDEX"},
    {EXTENT_DATA_KEY, "EXTENT_DATA"},
    {CSUM_ITEM_KEY, "CSUM_ITEM"},
    {EXTENT_CSUM_KEY, "EXTENT_CSUM"},
    {ROOT_ITEM_KEY, "ROOT_ITEM"},
    {ROOT_BACKREF_KEY, "ROOT_BACKREF"},
    {ROOT_REF_KEY, "ROOT_REF"},
    {EXTENT_ITEM_KEY, "EXTENT_ITEM"},
    {METADATA_ITEM_KEY, "METADATA_ITEM"},
    {EXTENT_OWNER_REF_KEY, "EXTENT_OWNER_REF"},
    {TREE_BLOCK_REF_KEY, "TREE_BLOCK_REF"},
    {EXTENT_DATA_REF_KEY, "EXTENT_DATA_REF"},
    {EXTENT_REF_V0_KEY, "EXTENT_REF_V0"},
    {SHARED_BLOCK_REF_KEY, "SHARED_BLOCK_REF"},
    {SHARED_DATA_REF_KEY, "SHARED_DATA_REF"},
    {BLOCK_GROUP_ITEM_KEY, "BLOCK_GROUP_ITEM"},
    {FREE_SPACE_INFO_KEY, "FREE_SPACE_INFO"},
    {FREE_SPACE_EXTENT_KEY, "FREE_SPACE_EXTENT"},
    {FREE_SPACE_BITMAP_KEY, "FREE_SPACE_BITMAP"},
    {DEV_EXTENT_KEY, "DEV_EXTENT"},
    {DEV_ITEM_KEY, "DEV_ITEM"},
    {CHUNK_ITEM_KEY, "CHUNK_ITEM"},
    {RAID_STRIPE_KEY, "RAID_STRIPE"},
    {QGROUP_STATUS_KEY, "QGROUP_STATUS"},
    {QGROUP_INFO_KEY, "QGROUP_INFO"},
    {QGROUP_LIMIT_KEY, "QGROUP_LIMIT"},
    {QGROUP_RELATION_KEY, "QGROUP_RELATION"},
    {TEMPORARY_ITEM_KEY, "TEMPORARY_ITEM"},
    {PERSISTENT_ITEM_KEY, "PERSISTENT_ITEM"},
    {DEV_REPLACE_KEY, "DEV_REPLACE"},
    {UUID_KEY_SUBVOL, "UUID_KEY_SUBVOL"},
    {UUID_KEY_RECEIVED_SUBVOL, "UUID_KEY_RECEIVED_SUBVOL"},
    {STRING_ITEM_KEY, "STRING_ITEM"},
};

static const struct {
    uint64_t objectid;
    const char *name;
} objectid_names[] = {
    {ROOT_TREE_OBJECTID, "ROOT_TREE"},
    {EXTENT_TREE_OBJECTID, "EXTENT_TREE"},
    {CHUNK_TREE_OBJECTID, "CHUNK_TREE"},
    {DEV_TREE_OBJECTID, "DEV_TREE"},
    {FS_TREE_OBJECTID, "FS_TREE"},
    {ROOT_TREE_DIR_OBJECTID, "ROOT_TREE_DIR"},
    {CSUM_TREE_OBJECTID, "CSUM_TREE"},
    {QUOTA_TREE_OBJECTID, "QUOTA_TREE"},
    {UUID_TREE_OBJECTID, "UUID_TREE"},
    {FREE_SPACE_TREE_OBJECTID, "FREE_SPACE_TREE"},
    {BLOCK_GROUP_TREE_OBJECTID, "BLOCK_GROUP_TREE"},
    {RAID_STRIPE_TREE_OBJECTID, "RAID_STRIPE_TREE"},
    {REMAP_TREE_OBJECTID, "REMAP_TREE"},
    {BALANCE_OBJECTID, "BALANCE"},
    {ORPHAN_OBJECTID, "ORPHAN"},
    {TREE_LOG_OBJECTID, "TREE_LOG"},
    {TREE_LOG_FIXUP_OBJECTID, "TREE_LOG_FIXUP"},
    {TREE_RELOC_OBJECTID, "TREE_RELOC"},
    {DATA_RELOC_TREE_OBJECTID, "DATA_RELOC_TREE"},
    {EXTENT_CSUM_OBJECTID, "EXTENT_CSUM"},
    {FREE_SPACE_OBJECTID, "FREE_SPACE"},
    {FREE_INO_OBJECTID, "FREE_INO"},
    {MULTIPLE_OBJECTIDS, "MULTIPLE"},
};

const char *key_type_name(uint8_t type)
{
    for (size_t i = 0; i < LENGTH_OF(type_names); i++)
        if (type_names[i].type == type)
            return type_names[i].name;
    return NULL;
}

const char *objectid_name(uint64_t objectid)
{
    for (size_t i = 0; i < LENGTH_OF(objectid_names); i++)
        if (objectid_names[i].objectid == objectid)
            return objectid_names[i].name;
    return NULL;
}

/* --- writing ------------------------------------------------------------------------ */

static bool is_uuid_key(uint8_t type)
{
    return type == UUID_KEY_SUBVOL || type == UUID_KEY_RECEIVED_SUBVOL;
}

static bool is_qgroup_key(uint8_t type)
{
    return type == QGROUP_INFO_KEY || type == QGROUP_LIMIT_KEY || type == QGROUP_RELATION_KEY;
}

/* The few objectids whose name depends on the type: they are small numbers elsewhere. */
static const char *name_of_objectid(const struct key *key)
{
    if (key->type == DEV_EXTENT_KEY)
        return NULL;
    if (key->type == DEV_ITEM_KEY && key->objectid == DEV_ITEMS_OBJECTID)
        return "DEV_ITEMS";
    if (key->type == CHUNK_ITEM_KEY && key->objectid == FIRST_CHUNK_TREE_OBJECTID)
        return "FIRST_CHUNK_TREE";
    if (key->type == PERSISTENT_ITEM_KEY && key->objectid == DEV_STATS_OBJECTID)
        return "DEV_STATS";
    return objectid_name(key->objectid);
}

/* A number of a key: of uuids in hexadecimal, of qgroups as level/id, all ones as -1. */
static void format_number(char *text, size_t size, uint8_t type, bool qgroup, uint64_t value)
{
    if (is_uuid_key(type))
        snprintf(text, size, "0x%016" PRIx64, value);
    else if (qgroup)
        snprintf(text, size, "%" PRIu64 "/%" PRIu64, value >> 48, value & (UINT64_MAX >> 16));
    else if (value == UINT64_MAX)
        snprintf(text, size, "-1");
    else
        snprintf(text, size, "%" PRIu64, value);
}

const char *key_format(const struct key *key, char text[KEY_TEXT_SIZE])
{
    char objectid[24], type[16], offset[24];
    const char *objectid_word = is_uuid_key(key->type) ? NULL : name_of_objectid(key);
    if (!objectid_word) {
        format_number(objectid, sizeof objectid, key->type, key->type == QGROUP_RELATION_KEY,
                      key->objectid);
        objectid_word = objectid;
    }

    const char *type_word = key_type_name(key->type);
    if (!type_word) {
        bool untyped = key->type == 0 && key->objectid == FREE_SPACE_OBJECTID;
        snprintf(type, sizeof type, untyped ? "UNTYPED" : "UNKNOWN.%u", key->type);
        type_word = type;
    }

    const char *offset_word = NULL;
    if (key->type == ROOT_ITEM_KEY && key->objectid == TREE_RELOC_OBJECTID)
        offset_word = objectid_name(key->offset);
    if (!offset_word) {
        format_number(offset, sizeof offset, key->type, is_qgroup_key(key->type), key->offset);
        offset_word = offset;
    }
    snprintf(text, KEY_TEXT_SIZE, "(%s %s %s)", objectid_word, type_word, offset_word);
    return text;
}

/* --- reading ------------------------------------------------------------------------ */

/* Digits in base 10 or, behind 0x, 16, and nothing else. */
static bool parse_digits(const char *word, uint64_t *value)
{
    int base = word[0] == '0' && (word[1] == 'x' || word[1] == 'X') ? 16 : 10;
    if (!isdigit((unsigned char)word[0]))
        return false;
    char *end;
    errno = 0;
    *value = strtoull(word, &end, base);
    return *end == '\0' && errno == 0;
}

static bool parse_number_of_key(const char *word, uint64_t *value)
{
    if (word[0] == '-') {
        if (!parse_digits(word + 1, value))
            return false;
        *value = -*value;
        return true;
    }
    const char *slash = strchr(word, '/');
    if (!slash)
        return parse_digits(word, value);
    char level_word[8];
    uint64_t level, id;
    int length = snprintf(level_word, sizeof level_word, "%.*s", (int)(slash - word), word);
    if ((size_t)length >= sizeof level_word || !parse_digits(level_word, &level) ||
        !parse_digits(slash + 1, &id))
        return false;
    *value = level << 48 | id;
    return level < 1 << 16 && id < 1ULL << 48;
}

static bool parse_objectid(const char *word, uint64_t *value)
{
    for (size_t i = 0; i < LENGTH_OF(objectid_names); i++) {
        if (strcasecmp(objectid_names[i].name, word) == 0) {
            *value = objectid_names[i].objectid;
            return true;
        }
    }
    static const struct {
        const char *name;
        uint64_t objectid;
    } named_by_type[] = {{"DEV_ITEMS", DEV_ITEMS_OBJECTID},
                         {"FIRST_CHUNK_TREE", FIRST_CHUNK_TREE_OBJECTID},
                         {"DEV_STATS", DEV_STATS_OBJECTID}};
    for (size_t i = 0; i < LENGTH_OF(named_by_type); i++) {
        if (strcasecmp(named_by_type[i].name, word) == 0) {
            *value = named_by_type[i].objectid;
            return true;
        }
    }
    return parse_number_of_key(word, value);
}

static bool parse_type(const char *word, uint8_t *type)
{
    for (size_t i = 0; i < LENGTH_OF(type_names); i++) {
        if (strcasecmp(type_names[i].name, word) == 0) {
            *type = type_names[i].type;
            return true;
        }
    }
    if (strcasecmp(word, "UNTYPED") == 0) {
        *type = 0;
        return true;
    }
    uint64_t number;
    if (!parse_digits(strncasecmp(word, "UNKNOWN.", 8) == 0 ? word + 8 : word, &number) ||
        number > UINT8_MAX)
        return false;
    *type = (uint8_t)number;
    return true;
}

int key_parse(const char *objectid, const char *type, const char *offset, struct key *key)
{
    if (!parse_objectid(objectid, &key->objectid))
        return fail(EINVAL, "'%s' is not the objectid of a key", objectid);
    if (!parse_type(type, &key->type))
        return fail(EINVAL, "'%s' is not the type of a key", type);
    if (!parse_objectid(offset, &key->offset))
        return fail(EINVAL, "'%s' is not the offset of a key", offset);
    return 0;
}
