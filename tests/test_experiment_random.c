/* Layers at initialisation and constructed tokens in experiments. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/experiment_run.h"
#include "tightlip/linalg.h"

#define SMALL_LAYER                                                                           \
    "name = \"t\"; attention = { mask = \"causal\"; random = { d = 6; heads = 3; std = 0.5; " \
    "output_std = 0.25; seed = \"${seed}\"; }; }; bounds = (\"none\");\n"                     \
    "tokens = { construction = \"normal\"; n = 4; seed = 3; };\n"                             \
    "sweep = ({ variable = \"seed\"; values = (1, 2); }, { variable = \"head\"; values = "    \
    "(\"all\", 1); });"

Test(experiment_random, a_head_alone_is_the_one_among_all)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL_LAYER);
    cr_assert_eq(tl_experiment_cells(ex), 4);
    tl_cell *all = experiment_cell(ex, 0), *again = experiment_cell(ex, 0),
            *one = experiment_cell(ex, 1);
    tl_cell *other = experiment_cell(ex, 2);
    const tl_layer *a = all->attention.layer, *h = one->attention.layer;

    cr_assert_eq(a->heads, 3);
    cr_assert_eq(h->heads, 1);
    cr_assert(a->out == 6 && h->out == 6 && a->head[1].k == 2 && h->head[0].v == 2);
    cr_expect(a->mask == TL_MASK_CAUSAL && h->mask == TL_MASK_CAUSAL);
    cr_expect_arr_eq(a->head[1].Q, h->head[0].Q, 12 * sizeof(double));
    cr_expect_arr_eq(a->head[1].K, h->head[0].K, 12 * sizeof(double));
    cr_expect_arr_eq(a->head[1].V, h->head[0].V, 12 * sizeof(double));
    for (size_t r = 0; r < 6; r++)
        cr_expect_arr_eq(a->O + r * 6 + 2, h->O + r * 2, 2 * sizeof(double), "row %zu", r);
    cr_expect_float_eq(a->head[0].scale, sqrt(0.5), 4 * DBL_EPSILON);
    cr_expect_arr_eq(a->head[2].V, again->attention.layer->head[2].V, 12 * sizeof(double));
    cr_expect_neq(a->head[0].Q[0], other->attention.layer->head[0].Q[0], "another seed");
    cr_expect_neq(a->head[0].Q[0], a->head[0].K[0]);
    cr_expect_neq(a->head[0].Q[0], a->head[1].Q[0]);
    tl_cell_free(all);
    tl_cell_free(again);
    tl_cell_free(one);
    tl_cell_free(other);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* All tokens attend to the first: its column of the Jacobian is n copies of O V, and nothing else
 * is left. */
Test(experiment_random, a_saturated_head_grows_like_the_square_root)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir,
        "name = \"t\"; bounds = (\"none\"); attention = { mask = \"causal\"; random = { d = 6; "
        "heads = 3; std = 0.5; head = 1; }; };\n"
        "tokens = { construction = \"castin\"; radius = 1000.0; };\n"
        "sweep = { variable = \"n\"; values = (1, 2, 9); };");

    for (size_t i = 0; i < 3; i++) {
        tl_cell *cell = experiment_cell(ex, i);
        const tl_layer *layer = cell->attention.layer;
        double map[36], size;
        tl_norm_result norm;
        tl_error err = {0};
        tl_layer_value_map(layer, 0, map);
        cr_assert_eq(tl_norm2_dense(6, 6, map, &size), TL_OK);
        cr_assert_eq(tl_norm_compute(layer, cell->tokens, TL_NORM_2, NULL, &norm, &err), TL_OK);
        const double expected = size * sqrt((double)cell->tokens->n);
        cr_expect_float_eq(norm.value, expected, 1e-12 * expected, "n = %zu", cell->tokens->m);
        tl_cell_free(cell);
    }
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

static void expect_normal(size_t count, const double *a, double std, const char *what)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < count; i++) {
        sum += a[i];
        squares += a[i] * a[i];
    }
    /* Five standard errors. */
    const double n = (double)count;
    cr_expect_lt(fabs(sum / n), 5 * std / sqrt(n), "%s: mean %g", what, sum / n);
    cr_expect_lt(fabs(squares / n / (std * std) - 1), 5 * sqrt(2 / n), "%s: std %g", what,
                 sqrt(squares / n));
}

Test(experiment_random, entries_have_their_spread)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_experiment *ex =
        experiment_from(&dir, "name = \"t\"; bounds = (\"none\"); attention = { random = { d = 60; "
                              "heads = 2; width = 50; "
                              "std = 0.02; output_std = 0.004; }; };\n"
                              "tokens = { construction = \"normal\"; n = 40; std = 3.0; };\n"
                              "sweep = { variable = \"kind\"; values = (\"dot\", \"l2\"); };");
    tl_cell *cell = experiment_cell(ex, 0), *l2 = experiment_cell(ex, 1);
    const tl_head *head = cell->attention.layer->head;

    expect_normal(3000, head[0].Q, 0.02, "Q");
    expect_normal(3000, head[1].K, 0.02, "K");
    expect_normal(3000, head[1].V, 0.02, "V");
    expect_normal(6000, cell->attention.layer->O, 0.004, "O");
    expect_normal(40 * 60, cell->tokens->x, 3, "tokens");
    /* Kind l2 ties the key to the same query. */
    cr_assert(l2->attention.layer->kind == TL_KIND_L2 && tl_layer_tied(l2->attention.layer));
    cr_expect_arr_eq(l2->attention.layer->head[1].Q, head[1].Q, 3000 * sizeof(double));
    cr_expect_arr_eq(l2->attention.layer->head[1].V, head[1].V, 3000 * sizeof(double));
    tl_cell_free(cell);
    tl_cell_free(l2);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_random, longer_texts_begin_with_the_shorter)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir,
        "name = \"t\"; bounds = (\"none\"); attention = { random = { d = 3; std = 1.0; }; };\n"
        "tokens = { construction = \"normal\"; };\n"
        "sweep = { variable = \"n\"; values = (2, 5); };");
    tl_cell *cell[2] = {experiment_cell(ex, 0), experiment_cell(ex, 1)};

    cr_expect(cell[0]->tokens->n == 2 && cell[1]->tokens->n == 5);
    cr_expect_arr_eq(cell[0]->tokens->x, cell[1]->tokens->x, 6 * sizeof(double));
    for (int i = 0; i < 2; i++) tl_cell_free(cell[i]);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_random, refused)
{
#define LAYER "name = \"t\"; attention = { random = { d = 4; heads = 2; std = 1.0; }; };\n"
#define TOKENS "tokens = { construction = \"normal\"; n = 2; };\n"
    static const refusal rows[] = {
        {LAYER TOKENS, NULL},
        {LAYER TOKENS "bounds = (\"none\");", NULL},
        {LAYER TOKENS "bounds = (\"castin-general\");", NULL},
        {LAYER TOKENS "plot = { log = \"xy\"; exponent = 1.0; };", "expected fit = true"},
        {LAYER TOKENS "plot = { log = \"y\"; fit = true; exponent = 1.0; };", "log = \"xy\""},
        {LAYER "tokens = { construction = \"castin\"; n = 2; };", "radius"},
        {LAYER "tokens = { construction = \"castin\"; radius = 1.0; };", "\"n\""},
        {LAYER "tokens = { construction = \"castin\"; radius = 0.0; n = 2; };", "radius above 0"},
        {LAYER "tokens = { construction = \"castin\"; radius = 1.0; n = 2; head = 2; };", "head"},
        {LAYER "tokens = { construction = \"kastin\"; };", "did you mean \"castin\"?"},
        {LAYER "tokens = { construction = \"normal\"; n = 0; };", "tokens.n"},
        {LAYER "tokens = { construction = \"normal\"; n = 2; std = -1.0; };", "std above 0"},
        {LAYER "tokens = { construction = \"normal\"; n = 90000000; };", "at most 100000000"},
        {"name = \"t\"; attention = { random = { heads = 2; std = 1.0; }; };" TOKENS, "\"d\""},
        {"name = \"t\"; attention = { random = { d = 4; }; };" TOKENS, "\"std\""},
        {"name = \"t\"; attention = { random = { d = 4; std = 0.0; }; };" TOKENS, "above 0"},
        {"name = \"t\"; attention = { random = { d = 5; heads = 2; std = 1.0; }; };" TOKENS,
         "divides by 2 heads"},
        {"name = \"t\"; attention = { random = { d = 4; std = 1.0; head = 1; }; };" TOKENS,
         "from 0 to 0"},
        {"name = \"t\"; attention = { random = { d = 4; std = 1.0; head = \"any\"; }; };" TOKENS,
         "head"},
        {"name = \"t\"; attention = { random = { d = 100000; width = 100000; std = 1.0; }; "
         "};" TOKENS,
         "at most 100000000 weights"},
        {"name = \"t\"; attention = { random = { d = 4; std = 1.0; }; A = 1.0; };" TOKENS, "\"A\""},
        {"name = \"t\"; attention = { mask = \"causal\"; d = 1; A = 1.0; V = 1.0; };\n"
         "tokens = { values = ([1.0], [0.0]); multiplicity = [2, 1]; };",
         "tokens"},
        {"name = \"t\"; attention = { d = 2; A = \"rotation\"; V = \"identity\"; };\n"
         "tokens = { construction = \"castin\"; radius = 1.0; n = 3; };",
         "expected real eigenvalues"},
    };

    expect_refusals("", rows, sizeof rows / sizeof *rows);
}

/* The word draws every matrix of a layer apart; one seed is one matrix, wherever it stands. */
Test(experiment_random, matrices_called_random_differ)
{
    static const char rest[] = " tokens = ((1.0, 0.0), (0.0, 1.0)); bounds = (\"none\");";
    static const char *const texts[] = {
        "name = \"t\"; attention = { d = 2; heads = ({ Q = \"random\"; K = \"random\"; V = "
        "\"random\"; }, { A = \"random\"; V = \"random\"; }); output = \"random\"; };",
        "name = \"t\"; attention = { d = 2; A = \"random\"; V = \"random\"; };",
        "name = \"t\"; attention = { d = 2; A = { preset = \"random\"; seed = 5; }; V = { preset = "
        "\"random\"; seed = 5; }; };"};
    double first[7];
    size_t count = 0;
    scratch dir;

    cr_assert(scratch_init(&dir));
    for (size_t t = 0; t < 3; t++) {
        char text[600];
        (void)snprintf(text, sizeof text, "%s%s", texts[t], rest);
        tl_experiment *ex = experiment_from(&dir, text);
        tl_cell *cell = experiment_cell(ex, 0);
        const tl_layer *layer = cell->attention.layer;
        if (t == 0) {
            for (size_t h = 0; h < 2; h++) {
                first[count++] = layer->head[h].Q[0];
                first[count++] = layer->head[h].V[0];
            }
            first[count++] = layer->head[0].K[0];
            first[count++] = layer->O[0];
        } else if (t == 1) {
            cr_expect_eq(layer->head[0].Q[0], first[0], "a head by itself is the first");
            cr_expect_eq(layer->head[0].V[0], first[1]);
        } else {
            cr_expect_arr_eq(layer->head[0].Q, layer->head[0].V, 4 * sizeof(double));
        }
        tl_cell_free(cell);
        tl_experiment_free(ex);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) cr_expect_neq(first[i], first[j], "%zu and %zu", i, j);
    scratch_clear(&dir);
}
