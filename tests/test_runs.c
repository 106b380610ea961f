/* Runs of equal tokens under a causal mask: products and norms against the token Jacobian. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/runs.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/norm.h"

/* Every token of p up to six times in its place. */
static tl_measure *in_runs(gsl_rng *rng, const tl_measure *mu)
{
    const size_t d = mu->d;
    double *x = malloc(6 * mu->m * d * sizeof *x);
    size_t n = 0;
    tl_measure *out = NULL;

    for (size_t k = 0; k < mu->m; k++)
        for (size_t copies = 1 + draw_below(rng, 6); copies > 0; copies--)
            memcpy(x + n++ * d, mu->x + k * d, d * sizeof *x);
    cr_assert_eq(tl_measure_alloc(&out, n, d, x, NULL, NULL, NULL), TL_OK);
    free(x);
    return out;
}

static double largest(size_t n, const double *a)
{
    double top = 0;
    for (size_t i = 0; i < n; i++) top = fmax(top, fabs(a[i]));
    return top;
}

/* a - b in units of what rounding explains. */
static double differs(size_t n, const double *a, const double *b, double size)
{
    double top = 0;
    for (size_t i = 0; i < n; i++) top = fmax(top, fabs(a[i] - b[i]));
    return top / (size + DBL_MIN);
}

/* Both products against those of the Jacobian that takes every token for itself. */
static double worst_product(gsl_rng *rng, const tl_layer *layer, const tl_measure *mu)
{
    const size_t in = mu->m * mu->d, out = mu->m * layer->out;
    double *a = malloc(2 * (in + out) * sizeof *a), *b = a + in, *c = b + in, *e = c + out;
    tl_runs *runs = NULL;
    tl_jacobian *J = NULL;
    double size;

    cr_assert_eq(tl_jacobian_alloc(&J, layer, mu->m, NULL), TL_OK);
    cr_assert_eq(tl_jacobian_set(J, layer, mu), TL_OK);
    cr_assert_eq(tl_runs_alloc(&runs, layer, mu, NULL), TL_OK);
    for (size_t i = 0; i < in; i++) a[i] = random_normal(rng);
    tl_runs_apply(runs, a, c);
    tl_jacobian_apply(J, a, e);
    size = largest(out, e);
    double worst = differs(out, c, e, size);
    for (size_t i = 0; i < out; i++) c[i] = random_normal(rng);
    tl_runs_apply_t(runs, c, a);
    tl_jacobian_apply_t(J, c, b);
    size = largest(in, b);
    worst = fmax(worst, differs(in, a, b, size));
    tl_runs_free(runs);
    tl_jacobian_free(J);
    free(a);
    return worst;
}

Test(runs, products)
{
    static const tl_kind kinds[] = {TL_KIND_DOT, TL_KIND_L2, TL_KIND_SIGMOID, TL_KIND_COSINE};
    gsl_rng *rng = draw_stream(77);

    for (size_t k = 0; k < 4; k++) {
        double worst = 0;
        for (int draw = 0; draw < draw_count(60); draw++) {
            const random_shape shape = random_shape_draw_kind(rng, kinds[k], TL_MASK_CAUSAL);
            random_problem p = random_problem_draw(rng, &shape);
            tl_measure *mu = in_runs(rng, p.measure);
            worst = fmax(worst, worst_product(rng, p.layer, mu));
            tl_measure_free(mu);
            random_problem_clear(&p);
        }
        cr_expect_leq(worst, 1e-12, "%s: %g", tl_kind_name(kinds[k]), worst);
    }
    gsl_rng_free(rng);
}

/* A = a on the line, V = 1, causal; counts[k] tokens at x[k], one run after the other. */
static tl_norm_result norm_on_line(double a, size_t r, const double *x, const size_t *counts,
                                   tl_measure **kept)
{
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;
    tl_norm_result result;
    size_t n = 0, at = 0;
    const double one = 1;

    for (size_t k = 0; k < r; k++) n += counts[k];
    double *tokens = malloc(n * sizeof *tokens);
    for (size_t k = 0; k < r; k++)
        for (size_t c = 0; c < counts[k]; c++) tokens[at++] = x[k];
    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &a, &one), TL_OK);
    layer->mask = TL_MASK_CAUSAL;
    cr_assert_eq(tl_measure_alloc(&mu, n, 1, tokens, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_norm_compute(layer, mu, TL_NORM_2, NULL, &result, NULL), TL_OK);
    tl_layer_free(layer);
    if (kept)
        *kept = mu;
    else
        tl_measure_free(mu);
    free(tokens);
    return result;
}

/* The whole Jacobian of A = a on the line by LAPACK. */
static double dense_norm(double a, const tl_measure *mu)
{
    const double one = 1;
    tl_layer *layer = NULL;
    double *J = malloc(mu->m * mu->m * sizeof *J), norm = 0;

    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &a, &one), TL_OK);
    layer->mask = TL_MASK_CAUSAL;
    cr_assert_eq(tl_jacobian_tokens_dense(layer, mu, J, NULL), TL_OK);
    cr_assert_eq(tl_norm2_dense(mu->m, mu->m, J, &norm), TL_OK);
    free(J);
    tl_layer_free(layer);
    return norm;
}

Test(runs, norm_is_that_of_the_dense_block)
{
    static const struct {
        double a, x[3];
        size_t r, count[3];
    } rows[] = {{0, {1}, 1, {600}},
                {-1, {2, -2}, 2, {1, 599}},
                {-1, {1, -1, 0.5}, 3, {3, 400, 150}},
                {1, {0.3, -2, 2}, 3, {200, 1, 400}}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_measure *mu = NULL;
        const tl_norm_result found =
            norm_on_line(rows[i].a, rows[i].r, rows[i].x, rows[i].count, &mu);
        const double dense = dense_norm(rows[i].a, mu);
        cr_expect(!found.dense && found.converged, "row %zu", i);
        cr_expect_float_eq(found.value, dense, 1e-10 * dense, "row %zu: %.15g %.15g", i,
                           found.value, dense);
        tl_measure_free(mu);
    }
}

/* One run at A = 0: prefix averages, whose norms grow to 2, singular values all different. */
Test(runs, prefix_averages)
{
    static const size_t n[] = {600, 5000, 40000};
    const double x = 1;
    double before = 1.630;

    for (size_t i = 0; i < 3; i++) {
        const tl_norm_result found = norm_on_line(0, 1, &x, &n[i], NULL);
        cr_expect(found.value > before && found.value < 2, "n %zu: %.9g", n[i], found.value);
        cr_expect_lt(exp(found.log_second), found.value);
        cr_expect_leq(found.residual, 1e-9, "n %zu: %g", n[i], found.residual);
        before = found.value;
    }
}

/* Without runs, or where copies are counted, the other ways are taken. */
Test(runs, counted)
{
    const double x[] = {1, 1, 2, 2, 2, 1, -1};
    const uint64_t copies[] = {1, 1, 2, 1, 1, 1, 1};
    tl_measure *mu = NULL;

    cr_assert_eq(tl_measure_alloc(&mu, 7, 1, x, NULL, NULL, NULL), TL_OK);
    cr_expect_eq(tl_runs_count(mu), 4);
    tl_measure_free(mu);
    cr_assert_eq(tl_measure_alloc(&mu, 7, 1, x, copies, NULL, NULL), TL_OK);
    cr_expect_eq(tl_runs_count(mu), 0);
    tl_measure_free(mu);
}

Test(runs, overflow_is_refused)
{
    const double a = 1e300, one = 1, x[] = {1e10, 1e10};
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;
    tl_runs *runs = NULL;
    tl_error err = {0};

    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &a, &one), TL_OK);
    layer->mask = TL_MASK_CAUSAL;
    cr_assert_eq(tl_measure_alloc(&mu, 2, 1, x, NULL, NULL, NULL), TL_OK);
    layer->kind = TL_KIND_SIGMOID; /* logits as they are: 1e320 */
    cr_expect_eq(tl_runs_alloc(&runs, layer, mu, &err), TL_ERR_NUMERIC);
    cr_expect_not_null(strstr(err.text, "overflow"), "%s", err.text);
    tl_measure_free(mu);
    tl_layer_free(layer);
}
