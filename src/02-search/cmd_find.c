/* coppice find: one search, and the way it took. */
#include "command.h"
#include "fail.h"
#include "item.h"
#include "volume_command.h"

#include <string.h>

/* A key as one word, "(256 INODE_ITEM 0)" or "256,INODE_ITEM,0", or as three. */
static int parse_key_words(const struct invocation *invocation, struct key *key)
{
    char **args = invocation->args;
    if (invocation->nargs == 4)
        return key_parse(args[1], args[2], args[3], key);
    char text[KEY_TEXT_SIZE], *rest = text, *words[4] = {0};
    if (invocation->nargs != 2 || strlen(args[1]) >= sizeof text)
        return fail(EINVAL, "a key is three words: OBJECTID TYPE OFFSET");
    strcpy(text, args[1]);
    int count = 0;
    for (char *word; count < 4 && (word = strsep(&rest, " ,()"));)
        if (*word)
            words[count++] = word;
    if (count != 3)
        return fail(EINVAL, "'%s' is no key: it has three parts, OBJECTID TYPE OFFSET", args[1]);
    return key_parse(words[0], words[1], words[2], key);
}

/* The block and slot at each level, from the root down. */
static void report_path(struct report *report, const struct tree *tree, const struct path *path)
{
    report_list_begin(report, "path");
    for (unsigned level = tree->level + 1U; level-- > 0;) {
        const struct block *block = path->nodes[level];
        char text[KEY_TEXT_SIZE];
        report_begin(report, level ? "node" : "leaf");
        report_number(report, "bytenr", block->bytenr);
        report_number(report, "level", level);
        report_number(report, "nritems", block_nritems(block));
        report_number(report, "slot", path->slots[level]);
        if (level) {
            struct key key = node_key(block, path->slots[level]);
            report_word(report, "key", key_format(&key, text));
        }
        report_end(report);
    }
    report_list_end(report);
}

static void report_stats(struct report *report, const struct volume *volume,
                         const struct tree *tree)
{
    report_list_begin(report, "stats");
    report_begin(report, "stats");
    report_number(report, "height", tree->level + 1U);
    report_number(report, "blocks", tree->blocks);
    report_number(report, "comparisons", tree->comparisons);
    report_number(report, "blocks_read_in_all", volume->source.blocks_read);
    report_end(report);
    report_list_end(report);
}

static int report_find(struct invocation *invocation, const struct volume *volume,
                       const struct tree *tree, const struct key *key, const struct path *path,
                       bool found)
{
    struct report report;
    enum report_form form = invocation_option(invocation, "json") ? REPORT_JSON : REPORT_LINES;
    int result = report_open(&report, invocation->out, form);
    if (result < 0)
        return result;
    char key_text[KEY_TEXT_SIZE], name[TREE_NAME_SIZE];
    struct item_context context = item_context_of(&volume->super);
    report_begin(&report, "find");
    report_word(&report, "tree", tree_name(tree, name));
    report_word(&report, "key", key_format(key, key_text));
    report_bool(&report, "found", found);
    report_path(&report, tree, path);
    report_list_begin(&report, "items");
    if (found)
        item_report(path->nodes[0], path->slots[0], &context, NULL, &report);
    report_list_end(&report);
    if (invocation_option(invocation, "stats"))
        report_stats(&report, volume, tree);
    report_end(&report);
    report_close(&report);
    return 0;
}

/* What the words of the command line ask for. */
struct find_words {
    uint64_t id;
    struct key key;
};

static int find_item(struct invocation *invocation, struct volume *volume, const void *context)
{
    const struct find_words *wanted = context;
    struct tree tree;
    struct path path = {0};
    int result = volume_tree(volume, wanted->id, &tree);
    if (result < 0)
        return result;
    int missing = tree_search(&tree, &wanted->key, &path);
    if (missing < 0)
        return missing;
    result = report_find(invocation, volume, &tree, &wanted->key, &path, !missing);
    if (result == 0 && missing) {
        char key[KEY_TEXT_SIZE], name[TREE_NAME_SIZE];
        result = fail(ENOENT, "tree %s has no item %s; it would be in leaf %" PRIu64 " at slot %u",
                      tree_name(&tree, name), key_format(&wanted->key, key), path.nodes[0]->bytenr,
                      path.slots[0]);
    }
    path_release(&tree, &path);
    return result;
}

static int find_run(struct invocation *invocation)
{
    struct find_words words;
    if (tree_parse(invocation->args[0], &words.id) < 0 ||
        parse_key_words(invocation, &words.key) < 0)
        return wrong_usage("%s", fail_message());
    return volume_command(invocation, find_item, &words);
}

static const struct argp_option find_options[] = {
    OPTION_JSON,
    {"stats", 0, NULL, 0, "Tell how many blocks and comparisons it took", 0},
    {0},
};

extern const struct command cmd_find;
const struct command cmd_find = {
    .name = "find",
    .args = "IMAGE TREE OBJECTID TYPE OFFSET",
    .doc =
        "Search a tree for a key; show the path taken, block by block, and the item.\v" TREE_WORDS
        " The key may be given as one word "
        "too: '(256 INODE_ITEM 0)'. Type, objectid and offset are names or numbers.",
    .min_args = 2,
    .max_args = 4,
    .options = find_options,
    .run = find_run,
};
