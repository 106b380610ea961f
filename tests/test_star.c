/* Stars of L2 attention: the five symmetric moves against the whole Jacobian, known values, and
 * the experiments that draw them. */
#include "tightlip/star.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/l2_norm.h"
#include "experiment/internal.h"
#include "support/experiment_run.h"
#include "support/l2_layer.h"
#include "tightlip/jacobian.h"
#include "tightlip/norm.h"

/* U = V A = I at width d: Q = d^(1/4) I, V = I. */
static tl_layer *identity_layer(size_t d)
{
    double *I = calloc(d * d, sizeof *I), *Q = calloc(d * d, sizeof *Q);
    for (size_t i = 0; i < d; i++) {
        I[i * (d + 1)] = 1;
        Q[i * (d + 1)] = pow((double)d, 0.25);
    }
    const tl_head head = {.k = d, .v = d, .Q = Q, .V = I, .scale = 1};
    tl_layer *layer = l2_layer(TL_MASK_NONE, d, 1, &head, NULL, 0);
    free(I);
    free(Q);
    return layer;
}

/* Orthonormal moves that permutations leave alone, rows of n d numbers; their number. */
static size_t symmetric_moves(const tl_star *star, double *move)
{
    const size_t n = star->n, m = star->centre, M = n - m, d = M + 1;
    const size_t moves = M > 1 ? 5 : 4;

    memset(move, 0, 5 * n * d * sizeof *move);
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < d; r++) {
            const size_t own = i - m + 1;
            const int which = i < m ? (r ? 1 : 0) : r == 0 ? 2 : r == own ? 3 : 4;
            move[((size_t)which * n + i) * d + r] = 1;
        }
    for (size_t k = 0; k < moves; k++) {
        const double length = tl_nrm2(n * d, move + k * n * d);
        for (size_t i = 0; i < n * d; i++) move[k * n * d + i] /= length;
    }
    return moves;
}

/* The norm of the token Jacobian on those moves, and the whole. */
static double on_symmetric(const tl_star *star, double *whole)
{
    tl_measure *mu = NULL;
    cr_assert_eq(tl_star_tokens(star, &mu, NULL), TL_OK);
    const size_t size = mu->m * mu->d;
    tl_layer *layer = identity_layer(mu->d);
    double *J = malloc(size * size * sizeof *J), *move = malloc(5 * size * sizeof *move), small[25];
    cr_assert_eq(tl_jacobian_tokens_dense(layer, mu, J, NULL), TL_OK);
    const size_t moves = symmetric_moves(star, move);
    double *image = malloc(size * sizeof *image), norm = 0;
    for (size_t j = 0; j < moves; j++) {
        tl_gemm('N', 'T', 1, size, size, 1, move + j * size, size, J, size, 0, image, size);
        for (size_t i = 0; i < moves; i++)
            small[i * moves + j] = tl_dot(size, move + i * size, image);
        /* The image is symmetric too: nothing is lost. */
        double rest = tl_dot(size, image, image);
        for (size_t i = 0; i < moves; i++) rest -= small[i * moves + j] * small[i * moves + j];
        cr_expect_float_eq(rest, 0, 1e-12, "n %zu", mu->m);
    }
    cr_assert_eq(tl_norm2_dense(moves, moves, small, &norm), TL_OK);
    *whole = matrix_norm(TL_NORM_2, size, size, J);
    free(image);
    free(move);
    free(J);
    tl_layer_free(layer);
    tl_measure_free(mu);
    return norm;
}

Test(star, is_the_token_jacobian_on_symmetric_moves)
{
    static const tl_star stars[] = {{2, 1, 1, 0.9},     {3, 1, 0.4, 1.3},  {3, 2, 1.1, 0.2},
                                    {7, 3, 1.2, 1.1},   {9, 1, -0.7, 1.6}, {12, 6, 1, 1.4},
                                    {12, 2, 1.3, -0.8}, {10, 9, 1, 1}};

    for (size_t i = 0; i < sizeof stars / sizeof stars[0]; i++) {
        double norm = 0, whole = 0;
        cr_assert_eq(tl_star_norm(&stars[i], &norm), TL_OK);
        const double twin = on_symmetric(&stars[i], &whole);
        cr_expect_float_eq(norm, twin, 1e-13, "star %zu: %.15g %.15g", i, norm, twin);
        cr_expect_leq(norm, whole * (1 + 1e-14), "star %zu", i);
    }
}

Test(star, best_stars)
{
    /* n = 2: any pair of tokens is a star, and the supremum over pairs is known. */
    static const struct {
        double n, norm;
    } rows[] = {{2, 1.601638930012}, {16, 2.2735},  {1024, 4.252},
                {1e4, 6.367},        {1e6, 18.724}, {1e9, 120.476}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_star star;
        double norm = 0;
        cr_assert_eq(tl_star_find((uint64_t)rows[i].n, &star, &norm), TL_OK);
        cr_expect_float_eq(norm, rows[i].norm, i ? 1e-3 : 1e-10, "n %g: %.12g", rows[i].n, norm);
        cr_expect(star.n == (uint64_t)rows[i].n && star.centre >= 1 && star.centre < star.n);
        cr_expect_leq(norm, tl_bounds_l2_norm(rows[i].n, 0, INFINITY) * (1 + 1e-12));
    }
}

Test(star, refused)
{
    tl_star star = {5, 5, 1, 1};
    double norm;
    tl_measure *mu = NULL;

    cr_expect_eq(tl_star_find(1, &star, &norm), TL_ERR_ARGUMENT);
    cr_expect_eq(tl_star_norm(&star, &norm), TL_ERR_ARGUMENT);
    cr_expect_eq(tl_star_tokens(&star, &mu, NULL), TL_ERR_ARGUMENT);
    star = (tl_star){5, 2, (double)NAN, 1};
    cr_expect_eq(tl_star_norm(&star, &norm), TL_ERR_ARGUMENT);
    star = (tl_star){1000000000, 2, 1, 1};
    cr_expect_eq(tl_star_tokens(&star, &mu, NULL), TL_ERR_LIMIT);
}

/* Each form is a bound by itself, and l2-2 the least of them where nothing else is known. */
Test(star, forms_of_the_bound)
{
    static const double found[][2] = {{8, 2.5984}, {64, 4.9604}, {1024, 9.0743}, {1e6, 21.023}};

    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        const double n = found[i][0];
        tl_layer *layer = identity_layer(2);
        double least = INFINITY;
        for (size_t f = 0; f < tl_bound_part_count(); f++) {
            const tl_bound *form = tl_bound_part_at(f);
            cr_expect_eq(tl_bound_find(form->key), form);
            const double value = exp(l2_bound(form->key, layer, n));
            cr_expect_geq(value, found[i][1], "%s at %g", form->key, n);
            least = fmin(least, value);
        }
        cr_expect_float_eq(least, exp(l2_bound("l2-2", layer, n)), 1e-12 * least, "n %g", n);
        for (size_t k = 0; k < 9; k += 4) {
            const double b = tl_bounds_l2_form_b(n, k, INFINITY);
            cr_expect_geq(b * (1 + 2e-4), tl_bounds_l2_form_c(n, k, INFINITY), "n %g k %zu", n, k);
            cr_expect_geq(b, found[i][1]);
        }
        tl_layer_free(layer);
    }
    cr_expect_null(tl_bound_part_at(tl_bound_part_count()));
    /* Values of another program for the same formula. */
    cr_expect_float_eq(tl_bounds_l2_form_b(1e9, 0, INFINITY), 907.53, 0.05);
    cr_expect_float_eq(tl_bounds_l2_form_b(1e6, 1, INFINITY), 27.731, 0.001);
    cr_expect_eq(tl_bounds_l2_form_b(1, 1, INFINITY), 1);
}

#define STAR "name = \"t\"; attention = { kind = \"l2\"; star = true; };"
#define SWEEP "sweep = { variable = \"n\"; values = (2, 1000000000); };"

/* The records of the experiment, owned. */
static char *records_of(const char *config)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, config);
    const tl_run_options options = {.directory = dir.directory, .no_plot = true};
    tl_error err = {0};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    tl_experiment_free(ex);
    char *text = results_text(dir.directory, "cells.ndjson");
    cr_assert_not_null(text);
    scratch_clear(&dir);
    return text;
}

Test(star, in_an_experiment)
{
    char *text = records_of(STAR SWEEP "bounds = (\"kim-2\", \"l2-2\", \"l2-form-c\");"
                                       "plot = { x = \"n\"; log = \"xy\"; };");
    cr_expect_not_null(strstr(text, "\"centre\":84348"), "%s", text);
    cr_expect_not_null(strstr(text, "\"value\":120.4763"));
    cr_expect_not_null(strstr(text, "\"best_bound\":\"l2-2\""));
    cr_expect_null(strstr(text, "violation"));
    free(text);
}

/* Beside layers that are searched: nothing is, for it alone. */
Test(star, beside_a_search)
{
    char *text = records_of(
        "name = \"t\"; attention = ( { name = \"one\"; kind = \"l2\"; heads = ( { Q = ([1.0]); "
        "V = ([1.0]); } ); }, { name = \"star\"; kind = \"l2\"; star = true; } );"
        "domain = { kind = \"ball\"; radius = 2.0; };"
        "sweep = ( { variable = \"attention\"; values = (\"one\", \"star\"); },"
        "          { variable = \"n\"; values = (2, 3); } );"
        "search = { atoms = 2; restarts = 11; evaluations = 20; }; bounds = (\"l2-2\");");
    size_t cells = 0, found = 0;
    for (const char *at = text; (at = strstr(at, "\"lower\":{")); at++) found++;
    for (const char *at = text; (at = strchr(at, '\n')); at++) cells++;
    cr_expect(cells == 4 && found == 4, "%zu of %zu: %s", found, cells, text);
    free(text);
}

Test(star, refused_in_an_experiment)
{
    static const refusal rows[] = {
        {STAR SWEEP, NULL},
        {STAR, "expected a finite n"},
        {STAR "n = 1;", "expected a finite n of at least 2, found 1"},
        {STAR "n = \"inf\";", "expected a finite n"},
        {STAR SWEEP "norm = \"inf\";", "star: expected norm 2"},
        {STAR SWEEP "tokens = ([1.0], [2.0]);", "neither tokens"},
        {"name = \"t\"; attention = { kind = \"dot\"; star = true; };" SWEEP,
         "expected kind = \"l2\""},
        {"name = \"t\"; attention = { kind = \"l2\"; star = false; };" SWEEP, "star = true"},
        {"name = \"t\"; attention = { kind = \"l2\"; star = true; mask = \"causal\"; };" SWEEP,
         "unknown setting \"mask\""}};

    expect_refusals("", rows, sizeof rows / sizeof rows[0]);
}
