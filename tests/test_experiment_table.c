/* data.csv and fit.csv, made again from the records of a results directory. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/csv_shape.h"
#include "experiment/table.h"
#include "experiment/table_compare.h"
#include "support/experiment_run.h"

/* Each has columns of its own: attacks and their gains, suprema, inversions, given tokens, norms
 * beside the first, images of a network, stars, layers of networks, conjectures. */
static const char *const committed[] = {
    "results/finite_epsilon",  "results/worst_splitting",    "results/exact_small",
    "results/invertible",      "results/castin_adversarial", "results/jt_f",
    "results/livit_certified", "results/kim_forms_free",     "results/bert_random",
    "results/gpt2_attack",     "results/tightness_map"};

/* What was reported of up to three tables. */
typedef struct {
    size_t count;
    char name[3][40];
    tl_table_check check[3];
} reports;

static void keep(void *context, const char *name, const tl_table_check *check)
{
    reports *r = context;

    cr_assert_lt(r->count, 3);
    (void)snprintf(r->name[r->count], sizeof r->name[0], "%s", name);
    r->check[r->count++] = *check;
}

static reports check(const char *directory)
{
    reports out = {0};
    tl_error err = {0};

    cr_assert_eq(tl_experiment_check_tables(directory, keep, &out, &err), TL_OK, "%s: %s",
                 directory, err.text);
    cr_assert_str_eq(out.name[0], "data.csv");
    return out;
}

Test(experiment_table, what_is_committed_is_what_its_records_give)
{
    size_t fits = 0;

    for (size_t i = 0; i < sizeof committed / sizeof *committed; i++) {
        const reports r = check(committed[i]);
        for (size_t k = 0; k < r.count; k++) {
            const tl_table_check *found = &r.check[k];
            cr_expect_gt(found->rows, k == 0 ? 5 : 0, "%s", committed[i]);
            cr_expect_eq(found->differing, 0, "%s/%s: line %zu, %s: expected %s, found %s",
                         committed[i], r.name[k], found->line, found->column, found->expected,
                         found->found);
        }
        fits += r.count - 1;
    }
    cr_expect_eq(fits, 3);
}

/* A norm beside the first may stand as one text. */
Test(experiment_table, a_cell_that_was_edited_is_named)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir, "name = \"t\"; attention = { random = { d = 2; heads = 1; std = 1.0; }; };\n"
              "tokens = { construction = \"normal\"; n = 3; }; bounds = (\"none\");\n"
              "compare = \"fro\";");
    const tl_run_options options = {.directory = dir.directory, .threads = 1, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    reports r = check(dir.directory);
    cr_expect_eq(r.count, 1);
    cr_expect_eq(r.check[0].rows, 1);
    cr_expect_eq(r.check[0].differing, 0);

    char *csv = results_text(dir.directory, "data.csv");
    const size_t size = strlen(csv);
    char *last = csv + size - 2; /* before the end of the line */
    cr_assert(strstr(csv, "norm:fro\n"), "%s", csv);
    *last = *last == '7' ? '3' : '7';
    cr_assert(scratch_write(&dir, "data.csv", csv, size));
    r = check(dir.directory);
    cr_expect_eq(r.check[0].differing, 1);
    cr_expect_eq(r.check[0].line, 2);
    cr_expect_str_eq(r.check[0].column, "norm:fro");
    cr_expect_eq(r.check[0].found[strlen(r.check[0].found) - 1], *last);
    free(csv);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* A text with quotes, commas or line ends in it comes back as it was. */
Test(experiment_table, texts_come_back_as_they_were)
{
    static const char *const texts[] = {"plain", "a,b",        "say \"no\"", "\"",
                                        "\"\"",  "two\nlines", "\"a\",b",    ""};
    tl_csv_shape shape = {.variables = 1, .variable = (const char *[]){"the \"word\""}, .rows = 1};
    const size_t count = sizeof texts / sizeof *texts;
    tl_buffer b = {0};
    tl_table table;
    tl_error err = {0};

    tl_csv_header(&b, &shape);
    for (size_t i = 0; i < count; i++) {
        json_t *record = json_pack("{s:{s:s}}", "variables", shape.variable[0], texts[i]);
        tl_csv_rows(&b, &shape, record);
        json_decref(record);
    }
    cr_assert(strstr(b.text, "\n\"say \"\"no\"\"\",") && !b.failed, "%s", b.text);
    cr_assert_eq(tl_table_parse(&table, "data.csv", b.text, &err), TL_OK, "%s", err.text);
    cr_assert_eq(table.rows, count);
    cr_expect_str_eq(table.name[0], shape.variable[0]);
    for (size_t i = 0; i < count; i++) cr_expect_str_eq(tl_table_at(&table, i, 0), texts[i]);
    tl_table_clear(&table);
}

static bool never(const tl_table *header, const tl_table *expected, const tl_table *found, size_t i)
{
    (void)header, (void)expected, (void)found, (void)i;
    return false;
}

/* A text with a line end takes lines that are none by themselves. */
Test(experiment_table, lines_without_cells_are_compared_as_text)
{
    static const char expected[] = "a\n\"one\ntwo\"\n";
    static const struct {
        const char *found;
        size_t differing, line;
    } rows[] = {{expected, 0, 0},
                {"a\n\"one\nthree\"\n", 1, 3},
                {"a\n\"none\ntwo\"\n", 1, 2},
                {"a\none\ntwo\"\n", 1, 2}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tl_table_check found;
        cr_assert_eq(tl_tables_compare(&found, "t", expected, rows[i].found, never, NULL), TL_OK);
        cr_expect_eq(found.differing, rows[i].differing, "row %zu: %zu", i, found.differing);
        cr_expect_eq(found.line, rows[i].line, "row %zu: %zu", i, found.line);
    }
}
