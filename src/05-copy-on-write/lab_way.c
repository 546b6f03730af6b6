/* The way from the superblock to one item, before and after a commit. */
#include "fail.h"
#include "lab_commits.h"

static int add_path(struct tree *tree, const struct key *key, struct lab_way *way)
{
    struct path path = {0};
    int result = tree_search(tree, key, &path);
    if (result < 0)
        return result;
    for (int level = tree->level; level >= 0; level--) {
        const struct block *block = path.nodes[level];
        unsigned at = way->length++;
        way->steps[at].tree = tree->id;
        way->steps[at].bytenr = block->bytenr;
        way->steps[at].generation = block_generation(block);
        way->steps[at].level = (uint8_t)level;
        way->steps[at].others = block_nritems(block) - (level > 0);
    }
    path_release(tree, &path);
    return 0;
}

int lab_way(struct volume *volume, uint64_t id, const struct key *key, struct lab_way *way)
{
    struct tree roots, tree;
    struct key root_key = {id, ROOT_ITEM_KEY, 0};
    *way = (struct lab_way){.generation = from_le64(volume->super.generation)};
    int result = volume_tree(volume, ROOT_TREE_OBJECTID, &roots);
    if (result == 0)
        result = volume_tree(volume, id, &tree);
    if (result == 0)
        result = add_path(&roots, &root_key, way);
    return result < 0 ? result : add_path(&tree, key, way);
}

/* --- the drawing -------------------------------------------------------------------- */

static void draw_way(const struct lab_way *way, const char *name, const char *color, FILE *file)
{
    char text[TREE_NAME_SIZE];
    fprintf(file,
            "  subgraph cluster_%s {\n    label=\"%s\"; style=invis;\n"
            "    %s_super [label=\"superblock\\ngeneration %" PRIu64 "\", fillcolor=\"%s\"];\n",
            name, name, name, way->generation, color);
    for (unsigned i = 0; i < way->length; i++) {
        struct tree tree = {.id = way->steps[i].tree};
        fprintf(file,
                "    b%" PRIu64 " [label=\"tree %s, level %u\\nblock %" PRIu64
                "\\ngeneration %" PRIu64 "\", fillcolor=\"%s\"];\n",
                way->steps[i].bytenr, tree_name(&tree, text), way->steps[i].level,
                way->steps[i].bytenr, way->steps[i].generation, color);
    }
    fprintf(file, "  }\n");
}

static void draw_pointers(const struct lab_way *way, const char *name, const char *style,
                          FILE *file)
{
    for (unsigned i = 0; i < way->length; i++) {
        if (i == 0)
            fprintf(file, "  %s_super -> b%" PRIu64 " [%s];\n", name, way->steps[i].bytenr, style);
        else
            fprintf(file, "  b%" PRIu64 " -> b%" PRIu64 " [%s];\n", way->steps[i - 1].bytenr,
                    way->steps[i].bytenr, style);
        if (way->steps[i].level > 0)
            fprintf(file, "  b%" PRIu64 " -> others%u [%s];\n", way->steps[i].bytenr, i, style);
    }
}

void lab_draw_ways(const struct lab_way *before, const struct lab_way *after, FILE *file)
{
    fprintf(file,
            "digraph ways {\n"
            "  graph [ranksep=0.45, nodesep=0.5, label=\"One change: the blocks on its way before "
            "the commit (grey) and their shadows (green)\", labelloc=t, "
            "fontname=\"DejaVu Sans Mono\", fontsize=11];\n"
            "  node [shape=box, style=filled, fontname=\"DejaVu Sans Mono\", fontsize=9, "
            "penwidth=0.7];\n"
            "  edge [penwidth=0.8, arrowsize=0.6];\n");
    draw_way(before, "before", "#dddddd", file);
    for (unsigned i = 0; i < before->length; i++)
        if (before->steps[i].level > 0)
            fprintf(file,
                    "  others%u [label=\"%u other\\nblocks below\", fillcolor=\"#ffffff\", "
                    "style=\"filled,dashed\"];\n",
                    i, before->steps[i].others);
    draw_way(after, "after", "#b8e0b8", file);
    draw_pointers(before, "before", "color=\"#777777\"", file);
    draw_pointers(after, "after", "color=\"#207020\"", file);
    fprintf(file, "}\n");
}
