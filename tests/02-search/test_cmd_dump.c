#include "fail.h"
#include "support.h"
#include "support_command.h"
#include "support_image.h"

#include <stdlib.h>
#include <string.h>

static struct image image;
static char *right; /* what the command in hand is to print */

static bool is_right(const struct ran *ran)
{
    return strcmp(ran->out, right) == 0;
}

/* Each image in each form; JSON and text tell of the same items. */
START_TEST(every_image)
{
    for (size_t i = 0; image_names[i]; i++) {
        struct ran text, json, drawing;
        image_open(&image, image_names[i]);
        run_command(&text, image.path, "dump", "--stats");
        run_command(&json, image.path, "dump", "--json", "--stats");
        run_command(&drawing, image.path, "dump", "--dot");
        expect(text.result == 0 && json.result == 0 && drawing.result == 0, "%s", fail_message());
        expect(is_json_lines(json.out, json.length), "%s: no JSON", image_names[i]);

        size_t items = 0, lines = 0, pointers = 0;
        for (const char *at = text.out; (at = strstr(at, "\n  item slot ")); at++)
            items++;
        for (const char *at = text.out; (at = strstr(at, "\n  pointer slot ")); at++)
            pointers++;
        for (const char *at = json.out; (at = strchr(at, '\n')); at++)
            lines++;
        char words[32];
        snprintf(words, sizeof words, " items %zu blocks_read", items);
        expect(strstr(text.out, words), "%s: not %s", image_names[i], words);
        expect(lines == items + pointers + 1,
               "%s: %zu lines of JSON for %zu items and %zu pointers", image_names[i], lines, items,
               pointers);
        free(text.out);
        free(json.out);
        free(drawing.out);
        image_close(&image);
    }
}
END_TEST

/* The same twice is the same: nothing of an address, a clock or a hash is in it. */
START_TEST(repeatable)
{
    struct ran first, second;
    image_open(&image, "first");
    run_command(&first, image.path, "dump");
    run_command(&second, image.path, "dump");
    ck_assert_str_eq(first.out, second.out);
    free(first.out);
    free(second.out);
    image_close(&image);
}
END_TEST

START_TEST(trees)
{
    image_open(&image, "first");
    expect_output("tree name fs id 5 ", image.path, "dump", "fs");
    expect_output("tree name fs id 5 ", image.path, "dump", "5");
    expect_output("tree name data-reloc id -9 ", image.path, "dump", "-9");
    expect_output("\nstats trees 1 blocks 3 items ", image.path, "dump", "FS_TREE", "--stats");
    expect_output("{\"what\":\"stats\",\"trees\":1,", image.path, "dump", "fs", "--stats",
                  "--json");
    expect_refusal(-ENOENT, "there is no tree 999", image.path, "dump", "999");
    expect_refusal(EXIT_USAGE, "'bark' is not the name or number", image.path, "dump", "bark");
    expect_refusal(EXIT_USAGE, "--dot excludes --json and --stats", image.path, "dump", "--dot",
                   "--json");
    expect_refusal(-ENOENT, "No such file", "/nonexistent", "dump");
    image_close(&image);
}
END_TEST

START_TEST(faults)
{
    static const char *const forms[][4] = {{"dump"}, {"dump", "--json"}, {"dump", "--dot"}};
    static const char *const names[] = {"first", "bgt-blake2-mixed"};
    for (size_t i = 0; i < LENGTH_OF(forms) * LENGTH_OF(names); i++) {
        struct ran ran;
        const char *const *words = forms[i % LENGTH_OF(forms)];
        image_open(&image, names[i / LENGTH_OF(forms)]);
        run_words(&ran, image.path, words, NULL);
        right = ran.out;
        uint64_t reads = check_faults(FAULT_READ, EIO, image.path, words, is_right);
        uint64_t pieces = check_faults(FAULT_MEMORY, ENOMEM, image.path, words, is_right);
        expect(reads >= 26 && pieces >= 26, "%ju and %ju faults", (uintmax_t)reads,
               (uintmax_t)pieces);
        free(right);
        image_close(&image);
    }
}
END_TEST

SUITE_WITH(cmd_dump, 60, load_all_images, every_image, repeatable, trees, faults)
