#include "map.h"

#include "fail.h"
#include "item.h"

#include <stdlib.h>
#include <string.h>

/* --- what lies in a group ----------------------------------------------------------- */

struct content {
    struct map_entry *entry;
    uint32_t node_size;
};

/* Where part `cell` of a group begins; the last one ends where the group does. */
static uint64_t cell_start(const struct block_group *group, unsigned cell)
{
    return group->start + group->length / MAP_CELLS * cell;
}

static uint64_t cell_end(const struct block_group *group, unsigned cell)
{
    return cell + 1 == MAP_CELLS ? group->start + group->length : cell_start(group, cell + 1);
}

static int add_extent(const struct path *path, void *context)
{
    struct content *content = context;
    struct map_entry *entry = content->entry;
    struct key key = path_key(path);
    if (key.type != EXTENT_ITEM_KEY && key.type != METADATA_ITEM_KEY)
        return 0;
    const struct extent_item *item = item_data(path->nodes[0], path->slots[0]);
    uint64_t end = key.objectid + (key.type == EXTENT_ITEM_KEY ? key.offset : content->node_size);
    if (from_le64(item->flags) & EXTENT_FLAG_DATA)
        entry->data_extents++;
    else
        entry->blocks++;
    for (unsigned cell = 0; cell < MAP_CELLS; cell++) {
        uint64_t from = cell_start(entry->group, cell), to = cell_end(entry->group, cell);
        from = key.objectid > from ? key.objectid : from;
        to = end < to ? end : to;
        entry->cells[cell] += from < to ? to - from : 0;
    }
    return 0;
}

static int read_content(struct volume *volume, struct map_entry *entry)
{
    struct tree extents;
    struct content content = {entry, from_le32(volume->super.nodesize)};
    struct key first = {entry->group->start, 0, 0};
    struct key last = {entry->group->start + entry->group->length - 1, UINT8_MAX, UINT64_MAX};
    int result = volume_tree(volume, EXTENT_TREE_OBJECTID, &extents);
    return result < 0 ? result : tree_range(&extents, &first, &last, add_extent, &content);
}

/* --- the device --------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct map_entry *one = a, *other = b;
    return one->start < other->start ? -1 : one->start > other->start;
}

static void add_entry(struct map *map, enum map_kind kind, uint64_t start, uint64_t end)
{
    if (start < end)
        map->entries[map->count++] =
            (struct map_entry){.kind = kind, .start = start, .length = end - start};
}

/* Fills what lies between the stripes, which are in order. */
static void add_gaps(struct map *map, uint64_t device_bytes)
{
    uint64_t end = 0, first = DEVICE_RESERVED;
    size_t stripes = map->count;
    if (stripes && map->entries[0].start < first)
        first = map->entries[0].start;
    for (size_t i = 0; i <= stripes; i++) {
        uint64_t next = i < stripes ? map->entries[i].start : device_bytes;
        if (end < first)
            add_entry(map, MAP_RESERVED, 0, end = first < next ? first : next);
        add_entry(map, MAP_UNALLOCATED, end, next);
        end = i < stripes ? next + map->entries[i].length : next;
    }
    qsort(map->entries, map->count, sizeof *map->entries, by_start);
}

int map_open(struct map *map, struct volume *volume, const struct block_groups *groups)
{
    const struct chunk_map *chunks = &volume->chunks;
    size_t most = 2 * (COPIES_MAX * chunks->count + 1) + 1;
    *map = (struct map){.entries = calloc(most, sizeof *map->entries)};
    if (!map->entries)
        return fail(ENOMEM, "out of memory for a map of %zu chunks", chunks->count);
    for (size_t i = 0; i < chunks->count; i++) {
        struct map_entry entry = {
            .kind = MAP_STRIPE,
            .length = chunks->chunks[i].length,
            .group = block_groups_find(groups, chunks->chunks[i].logical),
        };
        int result = read_content(volume, &entry);
        if (result < 0) {
            map_close(map);
            return fail_within(result, "block group %" PRIu64, chunks->chunks[i].logical);
        }
        for (entry.copy = 1; entry.copy <= chunks->chunks[i].copies; entry.copy++) {
            entry.start = chunks->chunks[i].physical[entry.copy - 1];
            map->entries[map->count++] = entry;
        }
    }
    qsort(map->entries, map->count, sizeof *map->entries, by_start);
    add_gaps(map, from_le64(volume->super.dev_item.total_bytes));
    return 0;
}

void map_close(struct map *map)
{
    free(map->entries);
    *map = (struct map){0};
}

/* --- the drawing -------------------------------------------------------------------- */

static const char *colour_of(uint64_t type)
{
    if (type & BLOCK_GROUP_SYSTEM)
        return "70ad60";
    if (type & BLOCK_GROUP_METADATA)
        return type & BLOCK_GROUP_DATA ? "a070b0" : "e0a030";
    return "4878a8";
}

/* Three shades: nothing of a part is used, some, or more than half. */
static void draw_cells(const struct map_entry *entry, FILE *file)
{
    for (unsigned cell = 0; cell < MAP_CELLS; cell++) {
        uint64_t room = cell_end(entry->group, cell) - cell_start(entry->group, cell);
        uint64_t used = entry->cells[cell];
        fprintf(file, "<td width=\"7\" height=\"16\" fixedsize=\"true\" bgcolor=\"#%s%s\"></td>",
                used ? colour_of(entry->group->flags) : "f4f4f4",
                used && 2 * used < room ? "80" : "");
    }
}

static void draw_entry(const struct map_entry *entry, FILE *file)
{
    static const char *const names[] = {"reserved, superblock at 64 KiB", "unallocated", ""};
    fprintf(file, "    <tr><td align=\"right\">%.2f</td><td align=\"right\">%.2f</td>",
            (double)entry->start / (1 << 20), (double)entry->length / (1 << 20));
    if (entry->kind != MAP_STRIPE) {
        fprintf(file, "<td align=\"left\">%s</td><td colspan=\"%d\" bgcolor=\"#%s\"></td></tr>\n",
                names[entry->kind], MAP_CELLS, entry->kind == MAP_RESERVED ? "d08080" : "ffffff");
        return;
    }
    uint64_t type = entry->group->flags;
    const char *name = type & BLOCK_GROUP_SYSTEM        ? "system"
                       : !(type & BLOCK_GROUP_METADATA) ? "data"
                       : type & BLOCK_GROUP_DATA        ? "data, metadata"
                                                        : "metadata";
    fprintf(file,
            "<td align=\"left\">%s, copy %u of %d: blocks %" PRIu64 ", extents %" PRIu64
            "&#160;&#160;&#160;</td>",
            name, entry->copy, type & BLOCK_GROUP_DUP ? 2 : 1, entry->blocks, entry->data_extents);
    draw_cells(entry, file);
    fprintf(file, "</tr>\n");
}

void map_draw(const struct map *map, const struct volume *volume, FILE *file)
{
    fprintf(file,
            "digraph map {\n"
            "  graph [label=\"An image of %.2f MiB, %.2f MiB of it used: each bar is a chunk from "
            "its first byte to its last\", labelloc=t, fontname=\"DejaVu Sans Mono\", "
            "fontsize=11];\n"
            "  node [shape=plaintext, fontname=\"DejaVu Sans Mono\", fontsize=9];\n"
            "  map [label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"1\" "
            "cellpadding=\"2\">\n"
            "    <tr><td>at MiB</td><td>MiB</td><td></td><td colspan=\"%d\"></td></tr>\n",
            (double)from_le64(volume->super.total_bytes) / (1 << 20),
            (double)from_le64(volume->super.bytes_used) / (1 << 20), MAP_CELLS);
    for (size_t i = 0; i < map->count; i++)
        draw_entry(&map->entries[i], file);
    fprintf(file, "  </table>>];\n}\n");
}
