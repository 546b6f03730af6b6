#include "lab_trace.h"

#include "command.h"
#include "delete.h"
#include "fail.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MOST = 8, LINE_MOST = 256, BATCH_MOST = 1000 };

/* One line in words. */
struct line {
    char text[LINE_MOST];
    char *words[WORDS_MOST];
    unsigned count;
};

struct trace {
    struct replay *replay;
    FILE *file;
    uint64_t number;       /* of the line */
    char title[LINE_MOST]; /* of a drawing */
    struct lab *lab;       /* the tree that is spoken of */
};

/* --- reading ------------------------------------------------------------------------ */

/* A character of a comment; the one in the first line is the title. */
static void read_comment(struct trace *trace, int c)
{
    size_t length = strlen(trace->title);
    bool is_blank = length == 0 && (c == '#' || c == ' ');
    if (trace->number > 1 || is_blank || length + 1 == sizeof trace->title)
        return;
    trace->title[length] = (char)(c == '"' || c == '\\' ? ' ' : c); /* nor what would end a label */
    trace->title[length + 1] = '\0';
}

/* The next line without its comment: 1, or 0 at the end. EINVAL, EIO. */
static int read_text(struct trace *trace, char text[LINE_MOST])
{
    size_t length = 0;
    bool is_comment = false;
    int c;
    trace->number++;
    while ((c = getc(trace->file)) != EOF && c != '\n') {
        is_comment = is_comment || c == '#';
        if (c == '\0')
            return fail(EINVAL, "a zero byte");
        if (is_comment) {
            read_comment(trace, c);
            continue;
        }
        if (length + 1 == LINE_MOST)
            return fail(EINVAL, "more than %d bytes", LINE_MOST - 1);
        text[length++] = (char)c;
    }
    text[length] = '\0';
    if (ferror(trace->file))
        return fail(errno, "%s", strerror(errno));
    return c != EOF || length > 0 || is_comment;
}

/* The next line that says something: 1, or 0 at the end. */
static int read_line(struct trace *trace, struct line *line)
{
    int result;
    while ((result = read_text(trace, line->text)) == 1) {
        line->count = 0;
        char *rest = line->text;
        for (char *word; (word = strsep(&rest, " \t\r(),"));) {
            if (!*word)
                continue;
            if (line->count == WORDS_MOST)
                return fail(EINVAL, "too many words");
            line->words[line->count++] = word;
        }
        if (line->count > 0)
            return 1;
    }
    return result;
}

static int parse_key(char *const *words, struct key *key)
{
    return key_parse(words[0], words[1], words[2], key);
}

/* The number of bytes at the end of a line. */
static int parse_bytes(const struct line *line, uint32_t *bytes)
{
    uint64_t number;
    int result = parse_number(line->words[line->count - 1], &number);
    if (result == 0 && number > NODE_SIZE_MAX)
        result = fail(EOVERFLOW, "%" PRIu64 " bytes are more than a leaf holds", number);
    *bytes = (uint32_t)number;
    return result;
}

/* --- operations --------------------------------------------------------------------- */

static int do_tree(struct trace *trace, const struct line *line)
{
    for (int i = 0; i < REPLAY_TREES; i++)
        if (strcmp(trace->replay->labs[i].name, line->words[1]) == 0) {
            trace->lab = &trace->replay->labs[i];
            return 0;
        }
    return fail(EINVAL, "there is no tree '%s'; there are fs, extent, csum and log",
                line->words[1]);
}

static int do_insert(struct trace *trace, const struct line *line)
{
    struct key key;
    uint32_t size;
    int result = parse_key(line->words + 1, &key);
    if (result == 0)
        result = parse_bytes(line, &size);
    return result < 0 ? result : tree_insert(&trace->lab->tree, &key, NULL, size);
}

static int read_batch(struct trace *trace, struct item *items, uint64_t count)
{
    int result = 0;
    for (uint64_t i = 0; i < count && result == 0; i++) {
        struct line line;
        result = read_line(trace, &line);
        if (result < 0)
            return result;
        if (result == 0 || strcmp(line.words[0], "insert") != 0 || line.count != 5)
            return fail(EINVAL, "a batch of %" PRIu64 " lines 'insert KEY SIZE' has %" PRIu64,
                        count, i);
        items[i] = (struct item){0};
        result = parse_key(line.words + 1, &items[i].key);
        if (result == 0)
            result = parse_bytes(&line, &items[i].size);
        if (result == 0 && i > 0 && key_compare(&items[i - 1].key, &items[i].key) >= 0)
            result = fail(EINVAL, "the keys of a batch ascend");
    }
    return result;
}

static int do_batch(struct trace *trace, const struct line *line)
{
    uint64_t count;
    size_t inserted;
    int result = parse_number(line->words[1], &count);
    if (result == 0 && (count == 0 || count > BATCH_MOST))
        result = fail(EINVAL, "a batch has 1 to %d items", BATCH_MOST);
    if (result < 0)
        return result;
    struct item *items = calloc(count, sizeof *items);
    if (!items)
        return fail(ENOMEM, "out of memory for %" PRIu64 " items", count);
    result = read_batch(trace, items, count);
    if (result == 0)
        result = tree_insert_batch(&trace->lab->tree, items, count, &inserted);
    free(items);
    return result;
}

static int do_extend(struct trace *trace, const struct line *line)
{
    struct key key;
    uint32_t bytes;
    int result = parse_key(line->words + 1, &key);
    if (result == 0)
        result = parse_bytes(line, &bytes);
    return result < 0 ? result : tree_extend(&trace->lab->tree, &key, NULL, bytes);
}

/* The path to an item that must be there, to look at it; to be released. */
static int look(struct trace *trace, const struct key *key, struct path *path)
{
    int result = tree_search(&trace->lab->tree, key, path);
    return result == 1 ? tree_no_item(&trace->lab->tree, key) : result;
}

static int do_truncate(struct trace *trace, const struct line *line)
{
    struct key key;
    struct path path = {0};
    uint32_t size;
    int result = parse_key(line->words + 1, &key);
    if (result == 0)
        result = parse_bytes(line, &size);
    if (result == 0)
        result = look(trace, &key, &path);
    if (result == 0 && size > item_size(path.nodes[0], path.slots[0]))
        result = fail(EINVAL, "the item has %u bytes", item_size(path.nodes[0], path.slots[0]));
    path_release(&trace->lab->tree, &path);
    return result < 0 ? result : tree_truncate(&trace->lab->tree, &key, size);
}

/* Does `key` lie before (side -1) or behind (1) the neighbour of the item `own` on that side? Also
 * where there is no neighbour. */
static int lies_within(struct tree *tree, const struct key *own, const struct key *key, int side)
{
    struct path path = {0};
    int result = tree_search(tree, own, &path);
    if (result == 0)
        result = side < 0 ? path_previous(tree, &path) : path_next(tree, &path);
    if (result != 0)
        return result < 0 ? result : 0;
    struct key other = path_key(&path);
    bool is_within = side < 0 ? key_compare(&other, key) < 0 : key_compare(key, &other) < 0;
    path_release(tree, &path);
    return is_within ? 0 : fail(EINVAL, "the new key lies elsewhere");
}

static int do_rekey(struct trace *trace, const struct line *line)
{
    struct key key, new_key;
    struct path path = {0};
    int result = parse_key(line->words + 1, &key);
    if (result == 0)
        result = parse_key(line->words + 4, &new_key);
    if (result == 0)
        result = look(trace, &key, &path);
    path_release(&trace->lab->tree, &path);
    if (result == 0)
        result = lies_within(&trace->lab->tree, &key, &new_key, -1);
    if (result == 0)
        result = lies_within(&trace->lab->tree, &key, &new_key, 1);
    return result < 0 ? result : tree_rekey(&trace->lab->tree, &key, &new_key);
}

static int do_delete(struct trace *trace, const struct line *line)
{
    struct key key;
    int result = parse_key(line->words + 1, &key);
    return result < 0 ? result : tree_delete(&trace->lab->tree, &key);
}

static int do_drop(struct trace *trace, const struct line *line)
{
    struct key first, last;
    uint64_t deleted;
    int result = parse_key(line->words + 1, &first);
    if (result == 0)
        result = parse_key(line->words + 4, &last);
    return result < 0 ? result : tree_delete_range(&trace->lab->tree, &first, &last, &deleted);
}

static int do_commit(struct trace *trace, const struct line *line)
{
    (void)line;
    for (int i = 0; i < REPLAY_TREES; i++)
        heap_commit(&trace->replay->labs[i].heap);
    return 0;
}

static int do_zero(struct trace *trace, const struct line *line)
{
    (void)line;
    for (int i = 0; i < REPLAY_TREES; i++)
        lab_zero(&trace->replay->labs[i]);
    trace->replay->requests = 0;
    return 0;
}

static const struct operation {
    const char *name;
    unsigned words;
    bool is_request;
    int (*run)(struct trace *trace, const struct line *line);
} operations[] = {
    {"tree", 2, false, do_tree},        {"insert", 5, true, do_insert},
    {"batch", 2, true, do_batch},       {"extend", 5, true, do_extend},
    {"truncate", 5, true, do_truncate}, {"rekey", 7, true, do_rekey},
    {"delete", 4, true, do_delete},     {"drop", 7, true, do_drop},
    {"commit", 1, false, do_commit},    {"zero", 1, false, do_zero},
};

static int find_operation(const struct line *line, const struct operation **operation)
{
    for (size_t i = 0; i < LENGTH_OF(operations); i++) {
        *operation = &operations[i];
        if (strcmp(line->words[0], operations[i].name) != 0)
            continue;
        if (line->count != operations[i].words)
            return fail(EINVAL, "%s: %u words, it takes %u", line->words[0], line->count,
                        operations[i].words);
        return 0;
    }
    return fail(EINVAL, "there is no operation '%s'", line->words[0]);
}

/* --- the run ------------------------------------------------------------------------ */

/* Runs one line. With `before` not NULL it takes a picture first, if it is a request; *pictured is
 * the tree of the last one. */
static int run_line(struct trace *trace, const struct line *line, struct picture *before,
                    struct lab **pictured)
{
    const struct operation *operation;
    int result = find_operation(line, &operation);
    if (result == 0 && before && operation->is_request) {
        result = picture_take(trace->lab, before);
        *pictured = trace->lab;
    }
    if (result < 0)
        return result;
    if (operation->is_request)
        trace->replay->requests++;
    heap_operation(&trace->lab->heap);
    return operation->run(trace, line);
}

static int run_lines(struct trace *trace, struct picture *before, struct lab **pictured)
{
    struct line line;
    int result;
    while ((result = read_line(trace, &line)) == 1) {
        result = run_line(trace, &line, before, pictured);
        if (result < 0)
            break;
    }
    return result < 0 ? fail_within(result, "line %" PRIu64, trace->number) : 0;
}

/* The drawing needs two pictures, which are large. */
static int run_and_draw(struct trace *trace, FILE *dot)
{
    struct picture *pictures = dot ? calloc(2, sizeof *pictures) : NULL;
    struct lab *pictured = NULL;
    if (dot && !pictures)
        return fail(ENOMEM, "out of memory for the drawing");
    int result = run_lines(trace, pictures, &pictured);
    if (result == 0 && dot && !pictured)
        result = fail(EINVAL, "there is nothing to draw");
    if (result == 0 && dot)
        result = picture_take(pictured, &pictures[1]);
    if (result == 0 && dot)
        picture_dot(&pictures[0], &pictures[1], trace->title, dot);
    free(pictures);
    return result;
}

int trace_run(struct replay *replay, const char *file_name, FILE *dot)
{
    struct trace trace = {.replay = replay, .lab = &replay->labs[REPLAY_FS]};
    bool is_stdin = strcmp(file_name, "-") == 0;
    trace.file = is_stdin ? stdin : fopen(file_name, "r");
    if (!trace.file)
        return fail(errno, "%s: %s", file_name, strerror(errno));
    int result = run_and_draw(&trace, dot);
    if (!is_stdin)
        fclose(trace.file);
    return result < 0 ? fail_within(result, "%s", file_name) : 0;
}
