/* Leaves side by side, before and after an operation, drawn to scale. */
#include "fail.h"
#include "lab_trace.h"

#include <string.h>

/* Inches. */
#define LEAF_WIDTH 4.4
#define LEAF_GAP   0.35
#define BAR_HEIGHT 0.42
#define ROW_HEIGHT 1.25

/* By the leaf in which an item was before; they differ in grey too. */
static const char *const colors[PICTURE_LEAVES] = {"#88b0d8", "#f4dca8", "#5fa67a", "#d8c8e8",
                                                   "#4878a8", "#e8c070", "#a8d8b8", "#b098c8"};
#define COLOR_NEW "#d0442c"

/* --- taking ------------------------------------------------------------------------- */

struct taking {
    const struct tree *tree;
    struct picture *picture;
};

static int take_leaf(const struct block *block, void *context)
{
    const struct taking *taking = context;
    struct picture *picture = taking->picture;
    uint32_t nritems = block_nritems(block);
    if (block_level(block) > 0)
        return 0;
    if (picture->leaves == PICTURE_LEAVES || picture->items + nritems > PICTURE_ITEMS)
        return fail(EFBIG, "the tree is too large for a drawing: it shows %d leaves",
                    PICTURE_LEAVES);
    picture->left[picture->leaves] = leaf_left(taking->tree, block);
    picture->room[picture->leaves++] = leaf_room(block);
    for (uint32_t slot = 0; slot < nritems; slot++, picture->items++) {
        picture->item[picture->items].key = leaf_key(block, slot);
        picture->item[picture->items].cost = leaf_used(taking->tree, block, slot, slot + 1);
    }
    picture->first[picture->leaves] = picture->items;
    return 0;
}

int picture_take(struct lab *lab, struct picture *picture)
{
    struct taking taking = {&lab->tree, picture};
    picture->leaves = picture->items = 0;
    return tree_walk(&lab->tree, take_leaf, &taking);
}

/* --- drawing ------------------------------------------------------------------------ */

/* The leaf that holds the key in a picture, or -1. */
static int leaf_of(const struct picture *picture, const struct key *key)
{
    for (uint32_t leaf = 0; leaf < picture->leaves; leaf++)
        for (uint32_t i = picture->first[leaf]; i < picture->first[leaf + 1]; i++)
            if (key_compare(&picture->item[i].key, key) == 0)
                return (int)leaf;
    return -1;
}

/* Is there a leaf of the same items in the other picture? */
static bool is_unchanged(const struct picture *picture, uint32_t leaf, const struct picture *other)
{
    uint32_t first = picture->first[leaf], count = picture->first[leaf + 1] - first;
    for (uint32_t i = 0; i < other->leaves; i++) {
        uint32_t start = other->first[i];
        if (other->first[i + 1] - start != count)
            continue;
        uint32_t same = 0;
        while (same < count && other->item[start + same].cost == picture->item[first + same].cost &&
               key_compare(&other->item[start + same].key, &picture->item[first + same].key) == 0)
            same++;
        if (same == count)
            return true;
    }
    return false;
}

static void draw_text(FILE *file, double x, double y, double width, const char *text)
{
    fprintf(file,
            "  \"text %.3f %.3f\" [shape=plaintext, style=\"\", fixedsize=true, width=%.2f, "
            "height=0.2, "
            "pos=\"%.3f,%.3f!\", label=\"%s\"];\n",
            x, y, width, x, y, text);
}

/* One leaf with its left end at x. */
static void draw_leaf(FILE *file, const struct picture *picture, uint32_t leaf,
                      const struct picture *before, double x, double y, bool is_after)
{
    uint32_t room = picture->room[leaf], nritems = picture->first[leaf + 1] - picture->first[leaf];
    double at = x;
    char text[96];
    bool same = is_after && is_unchanged(picture, leaf, before);
    snprintf(text, sizeof text, "%u item%s, %u bytes free%s", nritems, nritems == 1 ? "" : "s",
             picture->left[leaf], same ? ", the same" : "");
    draw_text(file, x + LEAF_WIDTH / 2, y + BAR_HEIGHT / 2 + 0.13, LEAF_WIDTH, text);
    fprintf(file,
            "  leaf%d_%u [shape=box, fixedsize=true, width=%.3f, height=%.2f, "
            "pos=\"%.3f,%.3f!\", fillcolor=\"#ffffff\", label=\"\", penwidth=%s];\n",
            is_after, leaf, LEAF_WIDTH, BAR_HEIGHT, x + LEAF_WIDTH / 2, y, same ? "0.6" : "1.4");
    for (uint32_t i = picture->first[leaf]; i < picture->first[leaf + 1]; i++) {
        double width = LEAF_WIDTH * picture->item[i].cost / room;
        int was = leaf_of(before, &picture->item[i].key);
        char label[24] = "";
        if (width > 0.3)
            snprintf(label, sizeof label, "%" PRIu64, picture->item[i].key.offset);
        fprintf(file,
                "  item%d_%u [shape=box, fixedsize=true, width=%.4f, height=%.2f, "
                "pos=\"%.4f,%.3f!\", fillcolor=\"%s\", label=\"%s\"];\n",
                is_after, i, width, BAR_HEIGHT - 0.06, at + width / 2, y,
                was < 0 ? COLOR_NEW : colors[was], label);
        at += width;
    }
}

void picture_dot(const struct picture *before, const struct picture *after, const char *title,
                 FILE *file)
{
    fprintf(file,
            "graph leaves {\n"
            "  graph [layout=neato, label=\"%s\", "
            "labelloc=t, fontname=\"DejaVu Sans Mono\", fontsize=11];\n"
            "  node [fontname=\"DejaVu Sans Mono\", fontsize=8, style=filled, penwidth=0.4];\n",
            title);
    for (int is_after = 0; is_after < 2; is_after++) {
        const struct picture *picture = is_after ? after : before;
        double y = is_after ? 0 : ROW_HEIGHT;
        draw_text(file, -0.45, y, 0.7, is_after ? "after" : "before");
        for (uint32_t leaf = 0; leaf < picture->leaves; leaf++)
            draw_leaf(file, picture, leaf, before, leaf * (LEAF_WIDTH + LEAF_GAP), y, is_after);
    }
    fprintf(file, "}\n");
}
