/* A tree drawn for Graphviz. */
#include "fail.h"
#include "lab.h"

enum { BLOCKS_MOST = 300 };

struct drawing {
    const struct tree *tree;
    FILE *file;
};

/* A leaf is coloured as far as it is full. */
static void draw_leaf(const struct drawing *drawing, const struct block *leaf)
{
    FILE *file = drawing->file;
    uint32_t nritems = block_nritems(leaf), room = leaf_room(leaf);
    double fill = (double)(room - leaf_left(drawing->tree, leaf)) / room;
    char first[KEY_TEXT_SIZE] = "";
    if (nritems > 0) {
        struct key key = leaf_key(leaf, 0);
        key_format(&key, first);
    }
    fprintf(file, "  b%" PRIu64 " [label=\"%s\\n%u item%s, %.0f %%\", ", leaf->bytenr, first,
            nritems, nritems == 1 ? "" : "s", 100 * fill);
    if (fill < 0.005 || fill > 0.995)
        fprintf(file, "style=filled, fillcolor=\"%s\"];\n", fill < 0.5 ? "#ffffff" : "#a8c8e8");
    else
        fprintf(file, "style=striped, fillcolor=\"#a8c8e8;%.3f:#ffffff\"];\n", fill);
}

static int draw_block(const struct block *block, void *context)
{
    const struct drawing *drawing = context;
    FILE *file = drawing->file;
    if (block_level(block) == 0) {
        draw_leaf(drawing, block);
        return 0;
    }
    struct key key = node_key(block, 0);
    char first[KEY_TEXT_SIZE];
    fprintf(file,
            "  b%" PRIu64 " [label=\"level %u\\n%s\\npointers: %u\", fillcolor=\"#f4dca8\"];\n",
            block->bytenr, block_level(block), key_format(&key, first), block_nritems(block));
    for (uint32_t slot = 0; slot < block_nritems(block); slot++)
        fprintf(file, "  b%" PRIu64 " -> b%" PRIu64 ";\n", block->bytenr,
                from_le64(node_ptr(block, slot)->blockptr));
    return 0;
}

int lab_dot(struct lab *lab, FILE *file)
{
    struct lab_measure measure;
    int result = lab_measure(lab, &measure);
    if (result < 0)
        return result;
    if (measure.leaves + measure.nodes > BLOCKS_MOST)
        return fail(EFBIG, "the tree has %" PRIu64 " blocks; a drawing shows at most %d",
                    measure.leaves + measure.nodes, BLOCKS_MOST);
    fprintf(
        file,
        "digraph tree {\n"
        "  graph [rankdir=LR, ordering=out, ranksep=0.4, nodesep=0.06, label=\"%s: items %" PRIu64
        ", leaves %" PRIu64 ", nodes %" PRIu64 "; leaves are coloured as far as they "
        "are full\", labelloc=t, fontname=\"DejaVu Sans Mono\", fontsize=11];\n"
        "  node [shape=box, style=filled, fontname=\"DejaVu Sans Mono\", fontsize=8, "
        "penwidth=0.6, margin=\"0.06,0.04\"];\n"
        "  edge [color=\"#888888\", penwidth=0.6, arrowsize=0.5];\n",
        lab->name, measure.items, measure.leaves, measure.nodes);
    struct drawing drawing = {&lab->tree, file};
    result = tree_walk(&lab->tree, draw_block, &drawing);
    fprintf(file, "}\n");
    return result;
}
