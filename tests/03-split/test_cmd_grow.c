#include "command.h"
#include "fail.h"
#include "support.h"
#include "support_command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE "grow" /* the name that stands for the image where there is none */

/* What a JSON field of the outermost record holds. */
static double field(const struct ran *ran, const char *name)
{
    char words[64];
    snprintf(words, sizeof words, "\"%s\":", name);
    const char *at = strstr(ran->out, words);
    expect(at, "%s is not in %s", name, ran->out);
    return strtod(at + strlen(words), NULL);
}

/* Grows a tree and holds its counters against each other. */
static void grow(struct ran *ran, const char *order, const char *policy, const char *node_size,
                 const char *items, const char *sizes)
{
    char policy_option[64], node_option[64], items_option[64], sizes_option[64];
    snprintf(policy_option, sizeof policy_option, "--policy=%s", policy);
    snprintf(node_option, sizeof node_option, "--node-size=%s", node_size);
    snprintf(items_option, sizeof items_option, "--items=%s", items);
    snprintf(sizes_option, sizeof sizes_option, "--size=%s", sizes);
    run_command(ran, IMAGE, "grow", order, policy_option, node_option, items_option, sizes_option,
                "--streams=7", "--json");
    expect_success(ran->result);
    ck_assert(is_json_lines(ran->out, ran->length));
    ck_assert_double_eq(field(ran, "items"), atoi(items));
    ck_assert_double_eq(field(ran, "items_inserted"), atoi(items));
    ck_assert_double_eq(field(ran, "leaves"), field(ran, "splits") + 1);
    ck_assert_double_eq(field(ran, "nodes"), field(ran, "node_splits") + field(ran, "new_roots"));
    ck_assert_double_eq(field(ran, "height"), field(ran, "new_roots") + 1);
    ck_assert_double_eq(field(ran, "blocks_allocated"), field(ran, "leaves") + field(ran, "nodes"));
    double room = strcmp(node_size, "4K") == 0 ? 3995 : 16283;
    if (strcmp(sizes, "53") == 0)
        ck_assert_double_eq_tol(field(ran, "fill"),
                                atoi(items) * 78.0 / (room * field(ran, "leaves")), 0.0001);
}

START_TEST(every_order)
{
    static const char *const orders[] = {"ascending", "descending", "random", "streams", "zipf"};
    static const char *const policies[] = {"split", "append"};
    struct ran ran;
    for (size_t order = 0; order < 5; order++)
        for (size_t policy = 0; policy < 2; policy++) {
            grow(&ran, orders[order], policies[policy], "4K", "3000", "53");
            free(ran.out);
            grow(&ran, orders[order], policies[policy], "16K", "3000", "0-3000");
            free(ran.out);
        }
}
END_TEST

/* Half full leaves where the middle is cut and never visited again; full ones with append; ln 2 in
 * between for keys at random. */
START_TEST(fill_is_as_known)
{
    static const struct {
        const char *order, *policy;
        double fill;
    } cases[] = {
        {"ascending", "split", 0.5},
        {"descending", "split", 0.5},
        {"ascending", "append", 51 * 78 / 3995.0},
        {"random", "split", 0.693},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        struct ran ran;
        grow(&ran, cases[i].order, cases[i].policy, "4K", "60000", "53");
        ck_assert_double_eq_tol(field(&ran, "fill"), cases[i].fill, 0.02);
        free(ran.out);
    }
}
END_TEST

START_TEST(append_moves_nothing)
{
    struct ran ran;
    grow(&ran, "ascending", "append", "4K", "20000", "53");
    ck_assert_double_eq(field(&ran, "bytes_moved"), 0);
    free(ran.out);
}
END_TEST

/* With max_items and max_ptrs forty items make a tree of four levels. */
START_TEST(small_blocks)
{
    struct ran ran;
    run_command(&ran, IMAGE, "grow", "random", "--items=60", "--max-items=3", "--max-ptrs=8",
                "--policy=split", "--json");
    expect_success(ran.result);
    ck_assert_double_ge(field(&ran, "height"), 4);
    ck_assert_double_ge(field(&ran, "leaves"), 20);
    free(ran.out);
    expect_output("digraph tree {", IMAGE, "grow", "random", "--items=60", "--max-items=3",
                  "--policy=split", "--dot");
}
END_TEST

START_TEST(seeds)
{
    struct ran first, again, other;
    run_command(&first, IMAGE, "grow", "random", "--items=500", "--seed=5", "--json");
    run_command(&again, IMAGE, "grow", "random", "--items=500", "--seed=5", "--json");
    run_command(&other, IMAGE, "grow", "random", "--items=500", "--seed=6", "--json");
    ck_assert_str_eq(first.out, again.out);
    ck_assert_str_ne(first.out, other.out);
    free(first.out);
    free(again.out);
    free(other.out);
}
END_TEST

/* A transaction for each item: every path is shadowed once, none in vain. */
START_TEST(commits)
{
    struct ran ran;
    run_command(&ran, IMAGE, "grow", "random", "--items=1000", "--commit=1", "--policy=split",
                "--json");
    expect_success(ran.result);
    ck_assert_double_ge(field(&ran, "blocks_shadowed"), 1000);
    ck_assert_double_eq(field(&ran, "wasted_shadows"), 0);
    free(ran.out);
}
END_TEST

START_TEST(nothing_at_all)
{
    struct ran ran;
    run_command(&ran, IMAGE, "grow", "ascending", "--items=0", "--json");
    expect_success(ran.result);
    ck_assert_double_eq(field(&ran, "height"), 1);
    ck_assert_double_eq(field(&ran, "leaves"), 1);
    free(ran.out);
    run_command(&ran, IMAGE, "grow", "random", "--items=0", "--json");
    expect_success(ran.result);
    free(ran.out);
}
END_TEST

START_TEST(refusals)
{
    expect_refusal(EXIT_USAGE, "there is no order 'bark'", IMAGE, "grow", "bark");
    expect_refusal(EXIT_USAGE, "--policy: there is no policy 'bark'", IMAGE, "grow", "random",
                   "--policy=bark");
    expect_refusal(EXIT_USAGE, "--items: 1152921504606846976 is more", IMAGE, "grow", "random",
                   "--items=1152921504606846976");
    expect_output("append   ", IMAGE, "grow", "random", "--policy=help");
    expect_refusal(EXIT_USAGE, "--node-size: 5000 is not a power", IMAGE, "grow", "random",
                   "--node-size=5000");
    expect_refusal(EXIT_USAGE, "--node-size: 2048 is not between", IMAGE, "grow", "random",
                   "--node-size=2048");
    expect_refusal(EXIT_USAGE, "--node-size: 131072 is not between", IMAGE, "grow", "random",
                   "--node-size=128K");
    expect_refusal(EXIT_USAGE, "--max-items: 2 is not", IMAGE, "grow", "random", "--max-items=2");
    expect_refusal(EXIT_USAGE, "--max-ptrs: 7 is not", IMAGE, "grow", "random", "--max-ptrs=7");
    expect_refusal(EXIT_USAGE, "--streams: 1 to", IMAGE, "grow", "streams", "--streams=0");
    expect_refusal(EXIT_USAGE, "--size: 'x'", IMAGE, "grow", "random", "--size=x");
    expect_refusal(EXIT_USAGE, "--size: '9-1'", IMAGE, "grow", "random", "--size=9-1");
    expect_refusal(EXIT_USAGE, "--size: '1-'", IMAGE, "grow", "random", "--size=1-");
    expect_refusal(EXIT_USAGE, "exclude each other", IMAGE, "grow", "random", "--json", "--dot");
    expect_refusal(-EOVERFLOW, "a leaf holds 3995", IMAGE, "grow", "random", "--size=3971",
                   "--node-size=4K", "--policy=split");
    expect_refusal(-EFBIG, "a drawing shows at most", IMAGE, "grow", "random", "--dot");
}
END_TEST

static char *right;

static bool is_right(const struct ran *ran)
{
    return strcmp(ran->out, right) == 0;
}

START_TEST(faults)
{
    static const char *const words[] = {"grow",           "zipf",   "--items=200",
                                        "--node-size=4K", "--json", NULL};
    struct ran ran;
    run_words(&ran, IMAGE, words, NULL);
    right = ran.out;
    ck_assert_uint_ge(check_faults(FAULT_MEMORY, ENOMEM, IMAGE, words, is_right), 10);
    free(right);
}
END_TEST

SUITE(cmd_grow, 60, every_order, fill_is_as_known, append_moves_nothing, small_blocks, seeds,
      commits, nothing_at_all, refusals, faults)
