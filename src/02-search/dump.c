#include "dump.h"

#include "fail.h"
#include "item.h"

struct dump_walk {
    struct dump *dump;
    const struct tree *tree;
    char name[TREE_NAME_SIZE];
    struct item_context context;
};

/* Whoever reads through a pipe may have seen enough; a full disk ends the work too. */
static int check_output(FILE *file)
{
    return ferror_unlocked(file) ? fail(EIO, "cannot write the result") : 0;
}

/* --- text and JSON ------------------------------------------------------------------ */

static void report_block(const struct block *block, struct report *report)
{
    uint8_t level = block_level(block);
    uint64_t flags = from_le64(block_header(block)->flags);
    report_begin(report, level ? "node" : "leaf");
    report_number(report, "bytenr", block->bytenr);
    report_number(report, "level", level);
    report_number(report, "nritems", block_nritems(block));
    if (level == 0)
        report_number(report, "free_space", leaf_free_space(block));
    report_number(report, "generation", block_generation(block));
    report_named(report, "owner", block_owner_id(block), objectid_name(block_owner_id(block)));
    report_flags(report, "flags", flags & (UINT64_MAX >> 8), header_flag_name);
    report_number(report, "backref_rev", flags >> HEADER_BACKREF_REV_SHIFT);
    report_end(report);
}

/* In JSON a pointer stands by itself, as an item does. */
static void report_pointer(const struct block *node, uint32_t slot, const char *tree,
                           struct report *report)
{
    const struct key_ptr *ptr = node_ptr(node, slot);
    struct key key = node_key(node, slot);
    char text[KEY_TEXT_SIZE];
    report_begin(report, "pointer");
    if (report->form == REPORT_JSON) {
        report_word(report, "tree", tree);
        report_number(report, "bytenr", node->bytenr);
        report_number(report, "level", block_level(node));
    }
    report_number(report, "slot", slot);
    report_word(report, "key", key_format(&key, text));
    if (report->form == REPORT_JSON) {
        report_number(report, "objectid", key.objectid);
        report_number(report, "type", key.type);
        report_number(report, "offset", key.offset);
        report_number(report, "size", sizeof *ptr);
    }
    report_number(report, "blockptr", from_le64(ptr->blockptr));
    report_number(report, "generation", from_le64(ptr->generation));
    report_end(report);
}

static int dump_block(const struct block *block, void *context)
{
    struct dump_walk *walk = context;
    struct report *report = walk->dump->report;
    uint32_t nritems = block_nritems(block);
    bool json = report->form == REPORT_JSON;
    if (!json)
        report_block(block, report);
    report->indent = json ? 0 : 2;
    for (uint32_t slot = 0; slot < nritems; slot++) {
        if (block_level(block))
            report_pointer(block, slot, walk->name, report);
        else
            item_report(block, slot, &walk->context, json ? walk->name : NULL, report);
    }
    report->indent = 0;
    walk->dump->blocks++;
    walk->dump->items += block_level(block) ? 0 : nritems;
    return check_output(report->file);
}

static void report_tree(const struct dump_walk *walk)
{
    const struct tree *tree = walk->tree;
    struct report *report = walk->dump->report;
    if (report->form == REPORT_JSON)
        return;
    report_begin(report, "tree");
    report_word(report, "name", walk->name);
    report_signed(report, "id", (int64_t)tree->id);
    report_number(report, "bytenr", tree->bytenr);
    report_number(report, "level", tree->level);
    report_number(report, "generation", tree->generation);
    report_end(report);
}

/* --- drawing ------------------------------------------------------------------------ */

/* A block is named by its address: what two trees share is drawn once, with an arrow from each. */
static int draw_block(const struct block *block, void *context)
{
    struct dump_walk *walk = context;
    FILE *file = walk->dump->file;
    uint32_t nritems = block_nritems(block);
    uint8_t level = block_level(block);
    if (level == 0) {
        uint32_t room = leaf_room(block), used = room - leaf_free_space(block);
        fprintf(file,
                "  b%" PRIu64 " [label=\"leaf %" PRIu64 "\\n%u items, %u %% full\", "
                "fillcolor=\"#f4dca8\"];\n",
                block->bytenr, block->bytenr, nritems, used * 100 / room);
    } else {
        fprintf(file,
                "  b%" PRIu64 " [label=\"node %" PRIu64 "\\nlevel %u, %u pointers\", "
                "fillcolor=\"#88b0d8\"];\n",
                block->bytenr, block->bytenr, level, nritems);
    }
    for (uint32_t slot = 0; level && slot < nritems; slot++) {
        struct key key = node_key(block, slot);
        char text[KEY_TEXT_SIZE];
        fprintf(file, "  b%" PRIu64 " -> b%" PRIu64 " [label=\"%s\"];\n", block->bytenr,
                from_le64(node_ptr(block, slot)->blockptr), key_format(&key, text));
    }
    walk->dump->blocks++;
    return check_output(file);
}

static void draw_tree(const struct dump_walk *walk)
{
    const struct tree *tree = walk->tree;
    fprintf(walk->dump->file,
            "  \"%s\" [shape=plaintext, style=\"\", fontsize=11, label=\"tree %s\"];\n"
            "  \"%s\" -> b%" PRIu64 ";\n",
            walk->name, walk->name, walk->name, tree->bytenr);
}

static void draw_begin(FILE *file)
{
    fprintf(file, "strict digraph trees {\n"
                  "  graph [rankdir=LR, nodesep=0.12, ranksep=1.4];\n"
                  "  node [shape=box, style=filled, penwidth=0.6, "
                  "fontname=\"DejaVu Sans Mono\", fontsize=9];\n"
                  "  edge [color=\"#666666\", arrowsize=0.5, "
                  "fontname=\"DejaVu Sans Mono\", fontsize=8];\n");
}

/* --- trees -------------------------------------------------------------------------- */

static int dump_one(struct tree *tree, void *context)
{
    struct dump *dump = context;
    struct dump_walk walk = {
        .dump = dump,
        .tree = tree,
        .context = item_context_of(&dump->volume->super),
    };
    tree_name(tree, walk.name);
    dump->trees++;
    if (!dump->report) {
        draw_tree(&walk);
        return tree_walk(tree, draw_block, &walk);
    }
    report_tree(&walk);
    return tree_walk(tree, dump_block, &walk);
}

/* A drawing is one graph, and is closed even when its trees could not all be read. */
static void dump_begin(struct dump *dump)
{
    if (!dump->report)
        draw_begin(dump->file);
}

static void dump_end(struct dump *dump)
{
    if (!dump->report)
        fprintf(dump->file, "}\n");
}

int dump_tree(struct dump *dump, uint64_t id)
{
    struct tree tree;
    int result = volume_tree(dump->volume, id, &tree);
    if (result < 0)
        return result;
    dump_begin(dump);
    result = dump_one(&tree, dump);
    dump_end(dump);
    return result;
}

int dump_all(struct dump *dump)
{
    dump_begin(dump);
    int result = volume_each_tree(dump->volume, dump_one, dump);
    dump_end(dump);
    return result;
}
