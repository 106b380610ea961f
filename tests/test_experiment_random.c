/* Layers at initialisation and constructed tokens in experiments. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "experiment/internal.h"
#include "support/draws.h"
#include "support/experiment_run.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

static tl_cell *cell_of(const tl_experiment *ex, size_t index)
{
    const tl_bindings b = {.experiment = ex, .cell = index};
    tl_cell *cell = NULL;
    tl_error err = {0};

    cr_assert_eq(tl_cell_build(&b, &cell, &err), TL_OK, "%s", err.text);
    return cell;
}

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
    tl_cell *all = cell_of(ex, 0), *again = cell_of(ex, 0), *one = cell_of(ex, 1);
    tl_cell *other = cell_of(ex, 2);
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
        tl_cell *cell = cell_of(ex, i);
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
    tl_cell *cell = cell_of(ex, 0), *l2 = cell_of(ex, 1);
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
    tl_cell *cell[2] = {cell_of(ex, 0), cell_of(ex, 1)};

    cr_expect(cell[0]->tokens->n == 2 && cell[1]->tokens->n == 5);
    cr_expect_arr_eq(cell[0]->tokens->x, cell[1]->tokens->x, 6 * sizeof(double));
    for (int i = 0; i < 2; i++) tl_cell_free(cell[i]);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* Values of an independent implementation, d = 1, V = 1, to the digits it printed. */
Test(experiment_random, castin_tokens_have_their_known_norms)
{
    static const struct {
        double A, radius;
        int n;
        double free, causal;
    } rows[] = {{-1, 1, 10, 2.9937, 3.4414},
                {-1, 2, 50, 7.7864, 7.4745},
                {-1, 3, 100, 9.9501, 10.0001},
                {1, 2, 5, 1.8955, 1.9029},
                {1, 3, 50, 3.9927, 5.7740}};

    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const bool causal = i % 2;
        scratch dir;
        char text[400];
        tl_norm_result norm;
        tl_error err = {0};
        cr_assert(scratch_init(&dir));
        (void)snprintf(text, sizeof text,
                       "name = \"t\"; attention = { d = 1; A = %.1f; V = 1.0; mask = \"%s\"; };\n"
                       "tokens = { construction = \"castin\"; radius = %.1f; n = %d; };",
                       rows[i / 2].A, causal ? "causal" : "none", rows[i / 2].radius,
                       rows[i / 2].n);
        tl_experiment *ex = experiment_from(&dir, text);
        tl_cell *cell = cell_of(ex, 0);
        cr_expect_eq(cell->tokens->n, (uint64_t)rows[i / 2].n);
        cr_expect_eq(cell->tokens->m, causal ? (size_t)rows[i / 2].n : 2, "listed under a mask");
        cr_assert_eq(
            tl_norm_compute(cell->attention.layer, cell->tokens, TL_NORM_2, NULL, &norm, &err),
            TL_OK, "%s", err.text);
        cr_expect_float_eq(norm.value, causal ? rows[i / 2].causal : rows[i / 2].free, 5.1e-5,
                           "row %zu", i);
        tl_cell_free(cell);
        tl_experiment_free(ex);
        scratch_clear(&dir);
    }
}

/* A u = 8 gamma u or -gamma u, the same pair from Q and K as from A; the paper's lower bound holds
 * where the output matrix is the identity. */
Test(experiment_random, castin_direction_is_an_eigenvector)
{
    gsl_rng *rng = draw_stream(21);
    double A[36], u[6], v[6], Au[6];

    for (int draw = 0; draw < 100 * draw_effort(); draw++) {
        const random_shape shape = {.m = 1, .d = 6, .heads = 2, .factored = true, .logit_scale = 1};
        random_problem p = random_problem_draw(rng, &shape);
        tl_castin from_factors, from_map;
        tl_layer *brief = NULL;
        const double V[6] = {1};
        tl_layer_logit_map(p.layer, 1, A, NULL);
        cr_assert_eq(tl_layer_alloc_av(&brief, 6, 1, A, V), TL_OK);
        const tl_status s = tl_castin_tokens(p.layer, 1, u, &from_factors, NULL);
        if (s == TL_OK) {
            const double lambda =
                from_factors.first > 0 ? 8 * from_factors.gamma : -from_factors.gamma;
            double error = 0, size = 0;
            tl_gemm('N', 'N', 6, 1, 6, 1, A, 6, u, 1, 0, Au, 1);
            for (size_t r = 0; r < 6; r++) error = fmax(error, fabs(Au[r] - lambda * u[r]));
            for (size_t r = 0; r < 36; r++) size = fmax(size, fabs(A[r]));
            cr_expect_lt(error, 1e-9 * size, "draw %d", draw);
            cr_expect_float_eq(tl_nrm2(6, u), 1, 1e-14);
            cr_assert_eq(tl_castin_tokens(brief, 0, v, &from_map, NULL), TL_OK);
            cr_expect_float_eq(from_factors.gamma, from_map.gamma, 1e-9 * size, "draw %d", draw);
            cr_expect_eq(from_factors.first, from_map.first);
            cr_expect_eq(from_factors.rest, from_map.rest);
        }
        tl_layer_free(brief);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

Test(experiment_random, a_rotation_has_no_castin_tokens)
{
    const double A[4] = {0, -1, 1, 0}, V[2] = {1, 0};
    double u[2] = {7, 8};
    tl_castin tokens = {.gamma = 9};
    tl_layer *layer = NULL;
    tl_error err = {0};

    cr_assert_eq(tl_layer_alloc_av(&layer, 2, 1, A, V), TL_OK);
    cr_expect_eq(tl_castin_tokens(layer, 0, u, &tokens, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "expected real eigenvalues"), "%s", err.text);
    cr_expect(u[0] == 7 && u[1] == 8 && tokens.gamma == 9);
    tl_layer_free(layer);
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
