/* A leaf drawn from its bytes, to scale. */
#include "leaf_report.h"

#include <inttypes.h>

/* Inches. The block is one column, byte 0 at the top; graphviz counts y upwards. */
#define COLUMN_HEIGHT 10.0
#define COLUMN_WIDTH  1.6
#define LABEL_X       2.9
#define LABEL_GAP     0.17

enum { LABELS_AT_MOST = 56 };

struct drawing {
    const struct block *leaf;
    FILE *file;
};

static double y_of(const struct drawing *drawing, double byte)
{
    return COLUMN_HEIGHT * (1 - byte / drawing->leaf->size);
}

/* The bytes [start, end) of the block as a box. */
static void draw_box(const struct drawing *drawing, const char *name, uint32_t number,
                     uint32_t start, uint32_t end, const char *color, const char *label)
{
    fprintf(drawing->file,
            "  %s%u [shape=box, fixedsize=true, width=%.2f, height=%.4f, pos=\"0,%.4f!\", "
            "fillcolor=\"%s\", label=\"%s\"];\n",
            name, number, COLUMN_WIDTH, COLUMN_HEIGHT * (end - start) / drawing->leaf->size,
            y_of(drawing, (start + end) / 2.0), color, label);
}

/* A label beside the column, left (side -1) or right (1), and a line to its box. */
static void draw_label(const struct drawing *drawing, const char *name, uint32_t number, int side,
                       double y, const char *text)
{
    const char *near = side < 0 ? "e" : "w", *far = side < 0 ? "w" : "e";
    fprintf(drawing->file,
            "  %s_label%u [shape=plaintext, style=\"\", fixedsize=true, width=3.2, height=0.16, "
            "pos=\"%.2f,%.4f!\", label=\"%s\\%c\"];\n"
            "  %s_label%u:%s -- %s%u:%s;\n",
            name, number, side * LABEL_X, y, text, side < 0 ? 'r' : 'l', name, number, near, name,
            number, far);
}

/* Item headers stand close together at the top: their labels go down from there. */
static void draw_headers(const struct drawing *drawing)
{
    const struct block *leaf = drawing->leaf;
    uint32_t nritems = block_nritems(leaf), start = sizeof(struct block_header);
    double y = COLUMN_HEIGHT;
    for (uint32_t slot = 0; slot < nritems; slot++, start += sizeof(struct item_header)) {
        draw_box(drawing, "item", slot, start, start + sizeof(struct item_header),
                 slot % 2 ? "#4878a8" : "#88b0d8", "");
        if (nritems > LABELS_AT_MOST)
            continue;
        struct key key = leaf_key(leaf, slot);
        char text[KEY_TEXT_SIZE], label[KEY_TEXT_SIZE + 24];
        snprintf(label, sizeof label, "item %u %s", slot, key_format(&key, text));
        double middle = y_of(drawing, start + sizeof(struct item_header) / 2.0);
        y = middle < y - LABEL_GAP ? middle : y - LABEL_GAP;
        draw_label(drawing, "item", slot, -1, y, label);
    }
}

/* Data grows down from the end: its labels go up from there, so that item 0 keeps its place. */
static void draw_data(const struct drawing *drawing)
{
    const struct block *leaf = drawing->leaf;
    double y = -LABEL_GAP;
    for (uint32_t slot = 0; slot < block_nritems(leaf); slot++) {
        uint32_t start = item_offset(leaf, slot), end = start + item_size(leaf, slot);
        if (start == end)
            continue;
        uint32_t header = sizeof(struct block_header);
        draw_box(drawing, "data", slot, header + start, header + end,
                 slot % 2 ? "#e8c070" : "#f4dca8", "");
        if (block_nritems(leaf) > LABELS_AT_MOST)
            continue;
        char label[64];
        snprintf(label, sizeof label, "data %u: bytes %u to %u", slot, header + start,
                 header + end - 1);
        double middle = y_of(drawing, header + (start + end) / 2.0);
        y = middle > y + LABEL_GAP ? middle : y + LABEL_GAP;
        draw_label(drawing, "data", slot, 1, y, label);
    }
}

void leaf_dot(const struct block *leaf, FILE *file)
{
    struct drawing drawing = {leaf, file};
    uint32_t nritems = block_nritems(leaf), header = sizeof(struct block_header);
    uint32_t hole = header + nritems * (uint32_t)sizeof(struct item_header);
    uint32_t data = header + leaf_data_end(leaf, nritems);

    fprintf(file,
            "graph leaf {\n"
            "  graph [layout=neato, splines=line, outputorder=edgesfirst, "
            "label=\"leaf %" PRIu64 ": %u bytes, %u items, %u bytes free; heights to scale\", "
            "labelloc=t, fontname=\"DejaVu Sans Mono\", fontsize=11];\n"
            "  node [fontname=\"DejaVu Sans Mono\", fontsize=8, style=filled, penwidth=0.4];\n"
            "  edge [color=\"#888888\", penwidth=0.5];\n",
            leaf->bytenr, leaf->size, nritems, leaf_free_space(leaf));
    draw_box(&drawing, "header", 0, 0, header, "#c0c0c0", "");
    draw_label(&drawing, "header", 0, 1, COLUMN_HEIGHT - LABEL_GAP, "block header: bytes 0 to 100");
    draw_headers(&drawing);
    if (data > hole) {
        /* Its label stands inside: beside the column is no place that is always free. */
        bool fits = COLUMN_HEIGHT * (data - hole) / leaf->size > LABEL_GAP;
        char label[32];
        snprintf(label, sizeof label, "%u bytes free", data - hole);
        draw_box(&drawing, "free", 0, hole, data, "#ffffff", fits ? label : "");
    }
    draw_data(&drawing);
    fprintf(file, "}\n");
}
