/* Norms inf, 1 and inf2 against the token Jacobian written out, and the forms that attain them. */
#include <criterion/criterion.h>
#include <gsl/gsl_math.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"
#include "tightlip/norm.h"

enum { DRAWS = 200 };

static double norm_of(const random_problem *p, tl_norm norm)
{
    tl_norm_result result;

    cr_assert_eq(tl_norm_compute(p->layer, p->measure, norm, NULL, &result, NULL), TL_OK);
    cr_assert_eq(result.lower, norm == TL_NORM_INF2);
    return result.value;
}

Test(norm_entries, sums_of_the_token_jacobian)
{
    gsl_rng *rng = draw_stream(91);

    for (int draw = 0; draw < DRAWS; draw++) {
        random_problem p = random_problem_counted(rng);
        const size_t n = p.measure->n, rows = n * p.layer->out, cols = n * p.layer->d;
        double *M = malloc(rows * cols * sizeof *M), row = 0, column = 0;
        cr_assert_eq(tl_jacobian_tokens_dense(p.layer, p.measure, M, NULL), TL_OK);
        for (size_t i = 0; i < rows; i++) {
            double sum = 0;
            for (size_t j = 0; j < cols; j++) sum += fabs(M[i * cols + j]);
            row = fmax(row, sum);
        }
        for (size_t j = 0; j < cols; j++) {
            double sum = 0;
            for (size_t i = 0; i < rows; i++) sum += fabs(M[i * cols + j]);
            column = fmax(column, sum);
        }
        cr_expect_float_eq(norm_of(&p, TL_NORM_INF), row, 1e-12 * row, "draw %d", draw);
        cr_expect_float_eq(norm_of(&p, TL_NORM_1), column, 1e-12 * column, "draw %d", draw);
        /* Movements of one token each are among those of inf2; rows of blocks are not shorter. */
        const double moved = norm_of(&p, TL_NORM_INF2);
        cr_expect_leq(moved, sqrt((double)(p.layer->out * p.layer->d)) * row * (1 + 1e-12));
        cr_expect_geq(moved * sqrt((double)p.layer->d), row / sqrt((double)p.layer->out) * 0.99999);
        free(M);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

/* Width 2: the maximum over output directions by a scan of the circle. */
static double scan_circle(size_t n, const double *M)
{
    enum { ANGLES = 3000 };
    const size_t size = 2 * n;
    double best = 0;

    for (size_t i = 0; i < n; i++)
        for (int angle = 0; angle < ANGLES; angle++) {
            const double c = cos(angle * M_PI / ANGLES), s = sin(angle * M_PI / ANGLES);
            double sum = 0;
            for (size_t j = 0; j < n; j++) {
                const double *top = M + 2 * i * size + 2 * j, *low = top + size;
                sum += hypot(c * top[0] + s * low[0], c * top[1] + s * low[1]);
            }
            best = fmax(best, sum);
        }
    return best;
}

Test(norm_entries, largest_movement_in_the_plane)
{
    gsl_rng *rng = draw_stream(92);
    int compared = 0;

    for (int draw = 0; draw < 200; draw++) {
        const random_shape shape = {
            .m = 1 + draw_below(rng, 4), .d = 2, .heads = 1, .copies = draw % 2, .logit_scale = 3};
        random_problem p = random_problem_draw(rng, &shape);
        const size_t n = p.measure->n;
        if (p.layer->out == 2) {
            double *M = malloc(4 * n * n * sizeof *M);
            cr_assert_eq(tl_jacobian_tokens_dense(p.layer, p.measure, M, NULL), TL_OK);
            const double scan = scan_circle(n, M), found = norm_of(&p, TL_NORM_INF2);
            cr_expect_geq(found, scan * (1 - 1e-12), "draw %d: %.12g < %.12g", draw, found, scan);
            cr_expect_leq(found, scan * (1 + 1e-5), "draw %d", draw);
            free(M);
            compared++;
        }
        random_problem_clear(&p);
    }
    cr_expect_gt(compared, 40);
    gsl_rng_free(rng);
}

typedef struct {
    tl_jacobian *J;
    tl_norm_form form;
    double *buffer, *psi, *S, *gx, *ga, *split_gx, *split_ga;
} workspace;

static workspace workspace_of(const random_problem *p)
{
    const size_t m = p->measure->m, rows = m * p->layer->out, cols = m * p->layer->d;
    workspace w = {0};

    cr_assert_eq(tl_jacobian_alloc(&w.J, p->layer, m, NULL), TL_OK);
    w.buffer = calloc(2 * rows + 4 * cols + 2 * m + 2 * p->layer->out + p->layer->d +
                          p->layer->out * p->layer->d,
                      sizeof(double));
    w.form.psi = w.buffer;
    w.psi = w.form.psi + rows;
    w.form.phi = w.psi + rows;
    w.gx = w.form.phi + cols;
    w.split_gx = w.gx + cols;
    w.ga = w.split_gx + cols;
    w.split_ga = w.ga + m;
    w.form.omega = w.split_ga + m;
    w.form.w = w.form.omega + p->layer->out;
    w.S = w.form.w + p->layer->d;
    return w;
}

static void workspace_clear(workspace *w)
{
    tl_jacobian_free(w->J);
    free(w->buffer);
}

static double attain(workspace *w, const random_problem *p, tl_norm norm)
{
    double log_value;

    cr_assert_eq(tl_jacobian_set(w->J, p->layer, p->measure), TL_OK);
    cr_assert_eq(tl_norm_attain(w->J, p->measure, norm, &w->form, &log_value, NULL), TL_OK);
    return log_value;
}

static double form_value(workspace *w, const random_problem *p)
{
    const size_t out = p->layer->out, d = p->layer->d;
    double value;

    tl_jacobian_apply(w->J, w->form.phi, w->psi);
    value = tl_dot(p->measure->m * out, w->form.psi, w->psi);
    cr_assert_eq(tl_jacobian_split(w->J, w->form.atom, w->S), TL_OK);
    for (size_t r = 0; r < out; r++) value += w->form.omega[r] * tl_dot(d, w->S + r * d, w->form.w);
    return value * exp(tl_jacobian_log_scale(w->J));
}

static const tl_norm norms[] = {TL_NORM_INF, TL_NORM_1, TL_NORM_INF2};

Test(norm_entries, forms_attain_the_norm)
{
    gsl_rng *rng = draw_stream(93);

    for (int draw = 0; draw < DRAWS; draw++) {
        const random_shape shape = random_shape_draw_any(rng);
        random_problem p = random_problem_draw(rng, &shape);
        workspace w = workspace_of(&p);
        for (int i = 0; i < 3; i++) {
            const double value = exp(attain(&w, &p, norms[i]));
            cr_expect_float_eq(form_value(&w, &p), value, 1e-11 * value, "draw %d norm %s", draw,
                               tl_norm_name(norms[i]));
        }
        workspace_clear(&w);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

/* At fixed form the slope along a random movement is that of the norm. */
Test(norm_entries, forms_give_the_slope)
{
    gsl_rng *rng = draw_stream(94);
    const double step = 1e-6;

    for (int draw = 0; draw < 100; draw++) {
        random_shape shape = random_shape_draw_any(rng);
        shape.m = 2 + draw_below(rng, 3);
        shape.logit_scale = 1;
        random_problem p = random_problem_draw(rng, &shape);
        workspace w = workspace_of(&p);
        const size_t cols = p.measure->m * p.layer->d;
        double move[64], value[2];
        for (size_t i = 0; i < cols; i++) move[i] = random_normal(rng);
        for (int i = 0; i < 3; i++) {
            for (int side = 0; side < 2; side++) {
                tl_axpy(cols, side ? -step : step, move, p.measure->x);
                value[side] = exp(attain(&w, &p, norms[i]));
                tl_axpy(cols, side ? step : -step, move, p.measure->x);
            }
            const double here = exp(attain(&w, &p, norms[i]));
            cr_assert_eq(tl_jacobian_gradient(w.J, w.form.psi, w.form.phi, w.gx, NULL, NULL),
                         TL_OK);
            cr_assert_eq(tl_jacobian_split_gradient(w.J, w.form.atom, w.form.omega, w.form.w,
                                                    w.split_gx, NULL, NULL),
                         TL_OK);
            const double slope = (tl_dot(cols, w.gx, move) + tl_dot(cols, w.split_gx, move)) *
                                 exp(tl_jacobian_log_scale(w.J));
            const double forward = (value[0] - here) / step, back = (here - value[1]) / step;
            /* A kink between the two sides has slopes on both. */
            const double error = fmin(fabs(slope - forward), fabs(slope - back));
            cr_expect_leq(error, 1e-4 * (fabs(slope) + here), "draw %d norm %s: %g, %g and %g",
                          draw, tl_norm_name(norms[i]), slope, forward, back);
        }
        workspace_clear(&w);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

/* Many copies tend to the mean field. */
Test(norm_entries, copies_tend_to_the_mean_field)
{
    const double A[] = {1, 0.3, -0.5, 0.8}, V[] = {1, 0, 0.2, 1};
    const double x[] = {0.5, 1, -1, 0.2, 0.3, -0.9}, log_mass[] = {log(0.2), log(0.3), log(0.5)};
    const uint64_t count[] = {2000000000, 3000000000, 5000000000};

    for (int i = 0; i < 3; i++) {
        random_problem field = {0}, copies = {0};
        cr_assert_eq(tl_layer_alloc_av(&field.layer, 2, 2, A, V), TL_OK);
        cr_assert_eq(tl_measure_alloc(&field.measure, 3, 2, x, NULL, log_mass, NULL), TL_OK);
        cr_assert_eq(tl_measure_alloc(&copies.measure, 3, 2, x, count, NULL, NULL), TL_OK);
        copies.layer = field.layer;
        const double value = norm_of(&field, norms[i]);
        cr_expect_float_eq(norm_of(&copies, norms[i]), value, 1e-9 * value, "norm %s",
                           tl_norm_name(norms[i]));
        tl_measure_free(copies.measure);
        random_problem_clear(&field);
    }
}

Test(norm_entries, what_is_refused)
{
    enum { WIDE = 60, MANY = 200 };
    static double A[WIDE * WIDE], x[MANY * WIDE];
    random_problem p = {0};
    tl_norm_result result;
    tl_error err = {0};

    cr_assert_eq(tl_layer_alloc_av(&p.layer, WIDE, WIDE, A, A), TL_OK);
    cr_assert_eq(tl_measure_alloc(&p.measure, 2, WIDE, x, NULL, (double[]){-2000, 0}, NULL), TL_OK);
    cr_expect_eq(tl_norm_compute(p.layer, p.measure, TL_NORM_1, NULL, &result, &err),
                 TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "masses"), "%s", err.text);
    tl_measure_free(p.measure);
    cr_assert_eq(tl_measure_alloc(&p.measure, MANY, WIDE, x, NULL, NULL, NULL), TL_OK);
    cr_expect_eq(tl_norm_compute(p.layer, p.measure, TL_NORM_INF, NULL, &result, &err),
                 TL_ERR_LIMIT);
    random_problem_clear(&p);
}
