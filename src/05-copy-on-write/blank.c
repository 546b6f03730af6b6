#include "blank.h"

#include "fail.h"

#include <stdio.h>
#include <string.h>
#include <uuid/uuid.h>

void uuid_derive(const uint8_t fsid[FSID_SIZE], const char *name, uint8_t uuid[UUID_SIZE])
{
    uuid_generate_sha1(uuid, fsid, name, strlen(name));
}

void volume_blank(struct volume *volume, struct device *device, const struct blank_options *options,
                  struct notes *notes)
{
    *volume = (struct volume){.device = device};
    struct superblock *super = &volume->super;
    memcpy(super->fsid, options->fsid, FSID_SIZE);
    super->flags = to_le64(HEADER_FLAG_WRITTEN);
    super->magic = to_le64(SUPERBLOCK_MAGIC);
    super->total_bytes = to_le64(options->total_bytes);
    super->root_dir_objectid = to_le64(ROOT_TREE_DIR_OBJECTID);
    super->num_devices = to_le64(1);
    super->sectorsize = to_le32(options->sector_size);
    super->nodesize = super->leafsize_unused = to_le32(options->node_size);
    super->stripesize = to_le32(4096);
    super->compat_ro_flags = to_le64(options->compat_ro_flags);
    super->incompat_flags = to_le64(options->incompat_flags);
    super->csum_type = to_le16(options->csum_type);
    if (options->label)
        snprintf(super->label, sizeof super->label, "%s", options->label);
    super->dev_item = (struct dev_item){
        .devid = to_le64(1),
        .total_bytes = to_le64(options->total_bytes),
        .io_align = to_le32(options->sector_size),
        .io_width = to_le32(options->sector_size),
        .sector_size = to_le32(options->sector_size),
    };
    uuid_derive(options->fsid, "device 1", super->dev_item.uuid);
    memcpy(super->dev_item.fsid, options->fsid, FSID_SIZE);
    uuid_derive(options->fsid, "chunk tree", volume->chunk_tree_uuid);
    volume->chunks = (struct chunk_map){
        .devid = 1,
        .device_bytes = options->total_bytes,
        .sectorsize = options->sector_size,
    };
    read_source_open(&volume->source, device, &volume->chunks, super, notes);
}

/* --- chunks ------------------------------------------------------------------------- */

struct chunk_bytes chunk_describe(const struct volume *volume, const struct chunk *chunk)
{
    struct chunk_bytes bytes;
    memset(&bytes, 0, sizeof bytes);
    bytes.size = (uint32_t)(sizeof bytes.item + chunk->copies * sizeof bytes.stripes[0]);
    bytes.item = (struct chunk_item){
        .length = to_le64(chunk->length),
        .owner = to_le64(EXTENT_TREE_OBJECTID),
        .stripe_len = to_le64(STRIPE_LENGTH),
        .type = to_le64(chunk->type),
        .io_align = to_le32(STRIPE_LENGTH),
        .io_width = to_le32(STRIPE_LENGTH),
        .sector_size = volume->super.sectorsize,
        .num_stripes = to_le16((uint16_t)chunk->copies),
        .sub_stripes = to_le16(1),
    };
    for (unsigned copy = 0; copy < chunk->copies; copy++) {
        bytes.stripes[copy].devid = to_le64(volume->chunks.devid);
        bytes.stripes[copy].offset = to_le64(chunk->physical[copy]);
        memcpy(bytes.stripes[copy].dev_uuid, volume->super.dev_item.uuid, UUID_SIZE);
    }
    return bytes;
}

/* Puts a key and the chunk behind those that are there. */
static int add_to_array(struct superblock *super, uint64_t logical, const struct chunk_bytes *bytes)
{
    uint32_t used = from_le32(super->sys_chunk_array_size);
    struct key key = {FIRST_CHUNK_TREE_OBJECTID, CHUNK_ITEM_KEY, logical};
    struct disk_key disk_key = key_to_disk(&key);
    if (used + sizeof disk_key + bytes->size > SYS_CHUNK_ARRAY_SIZE)
        return fail(EOVERFLOW, "the superblock has no room for another system chunk");
    memcpy(super->sys_chunk_array + used, &disk_key, sizeof disk_key);
    memcpy(super->sys_chunk_array + used + sizeof disk_key, bytes, bytes->size);
    super->sys_chunk_array_size = to_le32((uint32_t)(used + sizeof disk_key + bytes->size));
    return 0;
}

int volume_add_chunk(struct volume *volume, struct superblock *super, const struct chunk *chunk)
{
    struct chunk_bytes bytes = chunk_describe(volume, chunk);
    int result = chunk_map_add(&volume->chunks, chunk->logical, &bytes.item, bytes.size);
    if (result < 0 || !(chunk->type & BLOCK_GROUP_SYSTEM))
        return result;
    result = add_to_array(super, chunk->logical, &bytes);
    if (result < 0)
        volume_remove_chunk(volume, chunk->logical);
    return result;
}

void volume_remove_chunk(struct volume *volume, uint64_t logical)
{
    struct chunk_map *map = &volume->chunks;
    size_t at = 0;
    while (map->chunks[at].logical != logical)
        at++;
    map->count--;
    memmove(map->chunks + at, map->chunks + at + 1, (map->count - at) * sizeof *map->chunks);
}
