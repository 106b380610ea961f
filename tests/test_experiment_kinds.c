/* Experiments of every kind and mask: settings, records, certificates, resume. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/experiment_run.h"

#define BALL "domain = { kind = \"ball\"; radius = 1.0; };"
#define SEARCH "search = { restarts = 2; evaluations = 30; };"
#define LAYER(text) "name = \"t\"; attention = { d = 2; A = 1.0; V = 1.0; " text " };" BALL

Test(experiment_kinds, constants_and_masks_reach_the_layer)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir, LAYER("kind = \"sigmoid\"; bias = \"-log n\"; mask = \"self-masked\";") SEARCH
        "sweep = { variable = \"n\"; values = (2, 5); };");
    for (size_t i = 0; i < 2; i++) {
        tl_cell *cell = experiment_cell(ex, i);
        const size_t n = i ? 5 : 2;
        const tl_layer *layer = cell->attention.layer;
        cr_expect_eq(layer->kind, TL_KIND_SIGMOID);
        cr_expect_float_eq(layer->bias, -log((double)n), 1e-15);
        cr_expect_eq(layer->mask, TL_MASK_GENERAL);
        cr_expect_eq(layer->seen_n, n);
        for (size_t k = 0; k < n * n; k++)
            cr_expect_eq(tl_layer_sees(layer, k / n, k % n), k / n != k % n);
        cr_expect_eq(cell->problem.atoms, n > 4 ? n : n == 2 ? 2 : 4);
        tl_cell_free(cell);
    }
    tl_experiment_free(ex);
    ex = experiment_from(&dir, LAYER("kind = \"cosine\"; nu = 2.0; tau = \"t\"; eps = 0.5;") SEARCH
                         "sweep = { variable = \"t\"; values = (3.0, 4.0); };");
    for (size_t i = 0; i < 2; i++) {
        tl_cell *cell = experiment_cell(ex, i);
        const tl_layer *layer = cell->attention.layer;
        cr_expect_float_eq(layer->nu, 2, 0);
        cr_expect_float_eq(layer->tau, 3 + (double)i, 0);
        cr_expect_float_eq(layer->eps, 0.5, 0);
        tl_cell_free(cell);
    }
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_kinds, rows_of_a_mask_say_n)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_experiment *ex =
        experiment_from(&dir, LAYER("mask = ([1, 0, 0], [1, 1, 0], [0, 1, 1]);") SEARCH);
    tl_cell *cell = experiment_cell(ex, 0);
    cr_expect_eq(cell->n, 3);
    cr_expect(!tl_layer_sees(cell->attention.layer, 2, 0));
    cr_expect(tl_layer_sees(cell->attention.layer, 2, 1));
    tl_cell_free(cell);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* Kinds and masks as variables: constants of one kind do not harm the other. */
Test(experiment_kinds, kind_and_mask_are_swept)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir, LAYER("bias = -1.0; eps = 2.0;") SEARCH
        "n = 6;"
        "sweep = ({ variable = \"kind\"; values = (\"dot\", \"sigmoid\", \"cosine\"); },"
        "{ variable = \"mask\"; values = (\"none\", \"causal\"); });");
    static const tl_kind kinds[] = {TL_KIND_DOT, TL_KIND_SIGMOID, TL_KIND_COSINE};
    for (size_t i = 0; i < 6; i++) {
        tl_cell *cell = experiment_cell(ex, i);
        const tl_layer *layer = cell->attention.layer;
        cr_expect_eq(layer->kind, kinds[i / 2]);
        cr_expect_eq(layer->mask, i % 2 ? TL_MASK_CAUSAL : TL_MASK_NONE);
        cr_expect_float_eq(layer->bias, layer->kind == TL_KIND_SIGMOID ? -1 : 0, 0);
        cr_expect_eq(cell->problem.atoms, i % 2 ? 6 : 4);
        tl_cell_free(cell);
    }
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

static const struct {
    const char *text;
    tl_status status;
    const char *fragment;
} refused[] = {
    {LAYER("kind = \"sigmoid\";") SEARCH, TL_ERR_UNSUPPORTED, "expected a finite n, found"},
    {LAYER("kind = \"sigmoid\"; bias = \"-log n\";") SEARCH, TL_ERR_ARGUMENT,
     "bias \"-log n\": expected a finite n"},
    {LAYER("kind = \"sigmoid\"; bias = \"-log m\";") "n = 3;" SEARCH, TL_ERR_ARGUMENT,
     "expected a number or the name of a swept number, found \"-log m\""},
    {LAYER("bias = 1.0;") SEARCH, TL_ERR_ARGUMENT, "expected kind \"sigmoid\" beside it"},
    {LAYER("kind = \"sigmoid\"; tau = 1.0;") SEARCH, TL_ERR_ARGUMENT,
     "expected kind \"cosine\" beside it, found \"sigmoid\""},
    {LAYER("kind = \"cosine\"; eps = 0.0;") SEARCH, TL_ERR_DOMAIN, "expected eps > 0"},
    {LAYER("kind = \"cosine\"; nu = -1.0;") SEARCH, TL_ERR_DOMAIN, "expected nu >= 0"},
    {LAYER("kind = \"sigmoyd\";") SEARCH, TL_ERR_ARGUMENT, "did you mean \"sigmoid\"?"},
    {LAYER("mask = \"casual\";") "n = 3;" SEARCH, TL_ERR_ARGUMENT, "did you mean \"causal\"?"},
    {LAYER("mask = \"self-masked\";") "n = 1;" SEARCH, TL_ERR_ARGUMENT, "expected n from 2"},
    {LAYER("mask = \"self-masked\";") SEARCH, TL_ERR_ARGUMENT, "expected n from 2"},
    {LAYER("mask = ([1, 2], [1, 1]);") SEARCH, TL_ERR_ARGUMENT,
     "expected rows of 0 and 1, found 2"},
    {LAYER("mask = ([1, 1]);") SEARCH, TL_ERR_SHAPE, "found 1 x 2"},
    {LAYER("mask = ([1, 1], [0, 0]);") SEARCH, TL_ERR_ARGUMENT,
     "mask[1]: expected a row that sees"},
    {LAYER("mask = ([1, 0], [1, 1]);") "n = 3;" SEARCH, TL_ERR_ARGUMENT, "2 tokens of the mask"},
    {LAYER("mask = \"causal\";") "n = 9; search = { atoms = 4; };", TL_ERR_ARGUMENT,
     "expected at least n = 9, found 4"},
    {LAYER("mask = \"causal\";") "n = 5000;" SEARCH, TL_ERR_LIMIT, "at most 4096"},
    {LAYER("mask = \"causal\";") "tokens = { values = ([1.0, 0.0]); multiplicity = [2]; };",
     TL_ERR_UNSUPPORTED, "every token listed once"},
    {"name = \"t\"; attention = { d = 2; kind = \"cosine\"; A = \"worst\"; V = 1.0; };" BALL SEARCH,
     TL_ERR_UNSUPPORTED, "expected kind \"dot\" or \"sigmoid\", found \"cosine\""},
};

Test(experiment_kinds, what_is_refused)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tl_experiment *ex = NULL;
        tl_error err = {0};
        const char *text = refused[i].text;
        const char *path = scratch_write(&dir, "refused.cfg", text, strlen(text));
        cr_assert(path);
        cr_expect_eq(tl_experiment_load(&ex, path, &err), refused[i].status, "row %zu: %s", i,
                     err.text);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: \"%s\" lacks \"%s\"", i,
                  err.text, refused[i].fragment);
        tl_experiment_free(ex);
    }
    scratch_clear(&dir);
}

static tl_status run(const tl_experiment *ex, tl_run_options options, tl_error *err)
{
    return tl_experiment_run(ex, &options, err);
}

#define SWEPT                                                                         \
    "name = \"swept\"; attention = { d = 1; A = -1.0; V = 1.0; bias = \"-log n\"; };" \
    "domain = { kind = \"ball\"; radius = 2.0; };"                                    \
    "sweep = ({ variable = \"kind\"; values = (\"dot\", \"sigmoid\", \"cosine\"); }," \
    "{ variable = \"mask\"; values = (\"none\", \"causal\"); },"                      \
    "{ variable = \"n\"; values = (2, 3, 7); });"                                     \
    "search = { restarts = 3; evaluations = 60; warm = \"neighbours\"; };"

/* The same bytes from one and three threads, and after a cut and a resume; every value certified.
 */
Test(experiment_kinds, same_bytes_and_certificates)
{
    scratch whole, cut;
    tl_error err = {0};
    stopper stop = {.after = 40};
    cr_assert(scratch_init(&whole));
    cr_assert(scratch_init(&cut));
    tl_experiment *ex = experiment_from(&whole, SWEPT);
    cr_assert_eq(run(ex, (tl_run_options){.directory = whole.directory, .threads = 1}, &err), TL_OK,
                 "%s", err.text);
    tl_run_options options = {.directory = cut.directory,
                              .threads = 3,
                              .progress = stopper_progress,
                              .context = &stop,
                              .stop = &stop.stop};
    cr_assert_eq(run(ex, options, &err), TL_ERR_INTERRUPTED);
    options.resume = true;
    options.stop = NULL;
    cr_assert_eq(run(ex, options, &err), TL_OK, "%s", err.text);
    expect_same_bytes(whole.directory, cut.directory, "kinds");
    char *text = results_text(whole.directory, "cells.ndjson"), *line = text;
    for (size_t i = 0; i < 18; i++) {
        char *end = strchr(line, '\n');
        json_t *record = json_loadb(line, (size_t)(end - line), 0, NULL);
        const json_t *lower = json_object_get(record, "lower");
        cr_expect(json_is_string(json_object_get(lower, "certified")), "cell %zu", i);
        if (i % 6 >= 3) /* causal: the tokens one by one */
            cr_expect_eq(json_integer_value(json_object_get(lower, "atoms")),
                         json_integer_value(json_object_get(record, "n")));
        cr_expect(!json_object_get(record, "violation"), "cell %zu", i);
        cr_expect(json_is_string(json_object_get(record, "best_bound")) || (i > 12 && i % 6 >= 3),
                  "cell %zu", i);
        json_decref(record);
        line = end + 1;
    }
    free(text);
    tl_experiment_free(ex);
    scratch_clear(&whole);
    scratch_clear(&cut);
}

/* Castin et al.'s tokens stand beside what is found, under a mask in their order. */
Test(experiment_kinds, given_construction_under_a_mask)
{
    scratch dir;
    tl_error err = {0};
    cr_assert(scratch_init(&dir));
    tl_experiment *ex =
        experiment_from(&dir, "name = \"t\"; attention = { d = 1; A = -1.0; V = 1.0; };"
                              "tokens = { construction = \"castin\"; radius = 1.0; n = 10; };"
                              "domain = { kind = \"ball\"; radius = 1.0; };"
                              "sweep = { variable = \"mask\"; values = (\"none\", \"causal\"); };"
                              "search = { restarts = 2; evaluations = 40; };"
                              "plot = { x = \"mask\"; y = (\"gain\"); };");
    cr_assert_eq(run(ex, (tl_run_options){.directory = dir.directory}, &err), TL_OK, "%s",
                 err.text);
    char *text = results_text(dir.directory, "cells.ndjson"), *line = text;
    static const double expected[] = {2.9937, 3.4414};
    for (size_t i = 0; i < 2; i++) {
        json_t *record = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        const json_t *given = json_object_get(record, "given");
        cr_expect_float_eq(json_number_value(json_object_get(given, "value")), expected[i], 5e-5);
        cr_expect_geq(json_number_value(json_object_get(json_object_get(record, "lower"), "value")),
                      expected[i] - 5e-5);
        json_decref(record);
        line = strchr(line, '\n') + 1;
    }
    free(text);
    text = results_text(dir.directory, "plot.gp");
    cr_assert(text);
    cr_expect(strstr(text, "found value over that at the given tokens"), "%s", text);
    free(text);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

#define TWO                                                              \
    "name = \"t\"; " BALL SEARCH "n = 2; attention = ("                  \
    "{ name = \"one\"; A = ([2.0]); V = ([1.0]); },"                     \
    "{ name = \"other\"; kind = \"l2\"; value_factor = false; heads = (" \
    "{ Q = ([1.0, 0.0]); K = ([0.0, 3.0]); V = ([1.0, 0.0]); }); });"

Test(experiment_kinds, several_layers_in_one_sweep)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir, TWO "sweep = { variable = \"attention\"; values = (\"one\", \"other\"); };");
    tl_cell *one = experiment_cell(ex, 0), *other = experiment_cell(ex, 1);
    cr_expect_eq(one->attention.layer->kind, TL_KIND_DOT);
    cr_expect_float_eq(one->attention.layer->head->Q[0], 2, 0);
    cr_expect_eq(other->attention.layer->kind, TL_KIND_L2);
    cr_expect_eq(other->attention.layer->d, 2);
    cr_expect_not(other->attention.layer->value_factor);
    cr_expect_float_eq(other->attention.layer->head->K[1], 3, 0);
    cr_expect_not(tl_layer_tied(other->attention.layer));
    tl_cell_free(one);
    tl_cell_free(other);
    tl_experiment_free(ex);
    static const char *const rows[][2] = {
        {TWO, "expected a sweep over \"attention\""},
        {TWO "sweep = { variable = \"attention\"; values = (\"none\"); };",
         "expected a group named \"none\""},
        {"name = \"t\"; " BALL SEARCH "attention = ({ A = ([2.0]); V = ([1.0]); });"
         "sweep = { variable = \"attention\"; values = (\"a\"); };",
         "expected a setting \"name\""},
        {LAYER("name = \"x\";") SEARCH, "unknown setting \"name\""},
        {LAYER("value_factor = true;") SEARCH, "expected kind \"l2\" beside it"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tl_error err = {0};
        const char *path = scratch_write(&dir, "refused.cfg", rows[i][0], strlen(rows[i][0]));
        cr_expect_neq(tl_experiment_load(&ex, path, &err), TL_OK, "row %zu", i);
        cr_expect(strstr(err.text, rows[i][1]), "row %zu: %s", i, err.text);
    }
    scratch_clear(&dir);
}
