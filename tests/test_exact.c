/* The certified optimum of tiny problems: known suprema, box bounds attacked, resuming, threads. */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "certify/exact.h"
#include "support/draws.h"
#include "support/exact_layer.h"
#include "support/random_problem.h"
#include "support/scratch.h"
#include "tightlip/jacobian.h"
#include "tightlip/linalg.h"

enum { MOST = 6 };

/* Closed forms and values of independent searches, to the digits that are known. */
Test(exact, known_suprema)
{
    static const struct {
        tl_kind kind;
        size_t n;
        double a, radius, tolerance, known, digits;
    } rows[] = {
        /* max_u tanh(u/2) + u sech^2(u/2), u tanh(u/2) = 3/2; scaled by Q^2 = 4 below. */
        {TL_KIND_L2, 2, 1, INFINITY, 1e-8, 1.601638930012, 1e-11},
        {TL_KIND_L2, 2, 2, INFINITY, 1e-8, 4 * 1.601638930012, 1e-11},
        {TL_KIND_L2, 2, 1, 10, 1e-8, 1.601638930012, 1e-11},
        {TL_KIND_L2, 3, 1, INFINITY, 1e-6, 1.94465990646, 1e-10},
        {TL_KIND_L2, 3, 1, 1.3717021063, 1e-6, 1.94465990646, 1e-10},
        {TL_KIND_L2, 4, 1, INFINITY, 0.05, 2.0920719937, 1e-10},
        {TL_KIND_L2, 1, 1, INFINITY, 1e-8, 1, 1e-12},
        /* n = 2, A = -1 is the same function of the distance, once the ball is large enough. */
        {TL_KIND_DOT, 2, -1, 1, 1e-8, 1.601638930012, 1e-11},
        {TL_KIND_DOT, 1, -1, 1, 1e-8, 1, 1e-12},
    };
    const double one = 1;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i += draw_stride(4)) {
        tl_layer *layer = exact_layer(rows[i].kind, 1, &rows[i].a, &one, NULL);
        const tl_exact_problem problem = {.layer = layer,
                                          .n = rows[i].n,
                                          .radius = rows[i].radius,
                                          .tolerance = rows[i].tolerance};
        tl_exact_result r = exact_run(&problem);
        cr_expect(r.finished, "row %zu", i);
        cr_expect(r.lower <= rows[i].known * (1 + rows[i].digits) &&
                      rows[i].known * (1 - rows[i].digits) <= r.upper,
                  "row %zu: [%.15g, %.15g], expected %.13g inside", i, r.lower, r.upper,
                  rows[i].known);
        cr_expect_leq(r.upper / r.lower - 1, 2 * rows[i].tolerance);
        tl_exact_result_clear(&r);
        tl_layer_free(layer);
    }
}

/* Token Jacobian of kind l2, single tokens: P_ij G (I + xi_ij b_ij') + delta_ij G C_i T. */
static void l2_jacobian(size_t n, size_t d, const double *T, const double *G, const double *x,
                        double *J)
{
    for (size_t i = 0; i < n; i++) {
        double p[MOST], b[MOST][2] = {{0}}, mean[2] = {0}, total = 0;
        for (size_t j = 0; j < n; j++) {
            double logit = 0;
            for (size_t r = 0; r < d; r++) {
                for (size_t s = 0; s < d; s++)
                    b[j][r] += T[r * d + s] * (x[i * d + s] - x[j * d + s]);
                logit -= b[j][r] * (x[i * d + r] - x[j * d + r]) / 2;
            }
            total += p[j] = exp(logit);
        }
        for (size_t j = 0; j < n; j++)
            for (size_t r = 0; r < d; r++) mean[r] += (p[j] /= r ? 1 : total) * x[j * d + r];
        for (size_t j = 0; j < n; j++)
            for (size_t r = 0; r < d; r++)
                for (size_t c = 0; c < d; c++) {
                    double entry = 0;
                    for (size_t s = 0; s < d; s++) {
                        double block = p[j] * ((s == c) + (x[j * d + s] - mean[s]) * b[j][c]);
                        for (size_t k = 0; i == j && k < n; k++)
                            for (size_t t = 0; t < d; t++)
                                block += p[k] * (x[k * d + s] - mean[s]) *
                                         (x[k * d + t] - mean[t]) * T[t * d + c];
                        entry += G[r * d + s] * block;
                    }
                    J[(i * d + r) * n * d + j * d + c] = entry;
                }
    }
}

static double norm_at(const tl_layer *layer, size_t n, const double *x)
{
    const size_t d = layer->d, size = n * d;
    double J[MOST * MOST], T[4] = {0}, G[4] = {0}, norm;

    if (layer->kind == TL_KIND_L2) {
        tl_layer_logit_map(layer, 0, T, NULL);
        tl_gemm('N', 'N', d, d, d, 1, layer->head->V, d, T, d, 0, G, d);
        for (size_t i = 0; i < d * d; i++) T[i] *= 2;
        l2_jacobian(n, d, T, G, x, J);
    } else {
        tl_measure *mu = NULL;
        cr_assert_eq(tl_measure_alloc(&mu, n, d, x, NULL, NULL, NULL), TL_OK);
        cr_assert_eq(tl_jacobian_tokens_dense(layer, mu, J, NULL), TL_OK);
        tl_measure_free(mu);
    }
    cr_assert_eq(tl_norm2_dense(size, size, J, &norm), TL_OK);
    return norm;
}

typedef struct {
    tl_layer *layer;
    tl_exact_task task;
    tl_exact_bound *bound;
    double lo[MOST], hi[MOST];
} attack;

/* A random layer and a box of random size among its inputs. */
static void draw_attack(gsl_rng *rng, int draw, attack *a)
{
    const size_t d = 1 + draw_below(rng, 2), n = 1 + draw_below(rng, d == 1 ? 4 : 3);
    const tl_kind kind = draw % 3 == 0 ? TL_KIND_L2 : TL_KIND_DOT;
    const double radius = 0.5 + 2 * gsl_rng_uniform(rng), size = pow(0.5, gsl_rng_uniform(rng) * 9);
    double A[4], V[4], bq[2];
    tl_certify_piece whole;

    for (size_t i = 0; i < d * d; i++) {
        A[i] = random_normal(rng);
        V[i] = random_normal(rng);
    }
    for (size_t i = 0; i < d; i++) bq[i] = random_normal(rng);
    a->layer = exact_masked_layer(
        kind, kind == TL_KIND_DOT && draw % 5 == 1 ? TL_MASK_CAUSAL : TL_MASK_NONE, d, A, V,
        kind == TL_KIND_DOT && draw % 2 ? bq : NULL);
    cr_assert_eq(tl_exact_task_init(&a->task, a->layer, n, radius, NULL), TL_OK);
    cr_assert(tl_exact_bound_alloc(&a->bound, &a->task));
    tl_exact_whole(&a->task, &whole);
    for (size_t i = 0; i < a->task.dim; i++) {
        const double span = whole.hi[i] - whole.lo[i];
        a->lo[i] = whole.lo[i] + (1 - size) * span * gsl_rng_uniform(rng);
        a->hi[i] = fmin(a->lo[i] + size * span, whole.hi[i]);
    }
}

/* Norm at a share of the way through the box in each coordinate. */
static double norm_inside(const attack *a, const double *share, double *point)
{
    double x[MOST];

    for (size_t i = 0; i < a->task.dim; i++) point[i] = a->lo[i] + (a->hi[i] - a->lo[i]) * share[i];
    tl_exact_tokens(&a->task, point, x);
    return norm_at(a->layer, a->task.n, x);
}

/* Random boxes with random inputs inside: no norm above the bound of its box, and a box shrunk to
 * its middle has a bound near the norm there. */
Test(exact, no_input_of_a_box_exceeds_its_bound)
{
    gsl_rng *rng = draw_stream(101);

    for (int draw = 0; draw < draw_count(1500); draw++) {
        attack a = {0};
        draw_attack(rng, draw, &a);
        double lower, upper, share[MOST], point[MOST], none;
        size_t split;
        tl_exact_bound_box(a.bound, a.lo, a.hi, &lower, &upper, &split);
        for (int inside = 0; inside < 6 && upper > 0; inside++) {
            for (size_t i = 0; i < MOST; i++) share[i] = inside ? gsl_rng_uniform(rng) : 0.5;
            const double norm = norm_inside(&a, share, point);
            cr_assert_leq(norm, upper * (1 + 1e-12), "draw %d", draw);
            if (inside) continue;
            cr_assert_leq(lower, norm * (1 + 1e-12), "draw %d", draw);
            /* Gaps at the middle may leave the ball: no lower bound then. */
            cr_assert(lower >= norm * (1 - 1e-9) || (a.task.gaps && lower == 0), "draw %d", draw);
            double at_point;
            tl_exact_bound_box(a.bound, point, point, &none, &at_point, &split);
            if (at_point > 0) cr_expect_leq(at_point, norm * (1 + 1e-9), "draw %d", draw);
        }
        tl_exact_bound_free(a.bound);
        tl_exact_task_clear(&a.task);
        tl_layer_free(a.layer);
    }
    gsl_rng_free(rng);
}

/* One token: J = V everywhere, whose two singular values come as close as doubles can. */
Test(exact, close_singular_values_keep_the_bound_above)
{
    const double A[] = {1, 0, 0, 1}, at[] = {0.25, 0.5};

    for (double apart = 1; apart > 1e-17; apart *= 0.7) {
        const double V[] = {1, 0, 0, 1 - apart};
        tl_layer *layer = exact_layer(TL_KIND_DOT, 2, A, V, NULL);
        tl_exact_task task;
        tl_exact_bound *bound;
        double lower, upper;
        size_t split;
        cr_assert_eq(tl_exact_task_init(&task, layer, 1, 1, NULL), TL_OK);
        cr_assert(tl_exact_bound_alloc(&bound, &task));
        tl_exact_bound_box(bound, at, at, &lower, &upper, &split);
        cr_expect(upper >= 1 && upper <= 1 + 1e-12, "%g apart: %.17g", apart, upper);
        tl_exact_bound_free(bound);
        tl_exact_task_clear(&task);
        tl_layer_free(layer);
    }
}

static void expect_same(const tl_exact_result *a, const tl_exact_result *b, size_t size)
{
    cr_expect_eq(memcmp(&a->lower, &b->lower, sizeof a->lower), 0);
    cr_expect_eq(memcmp(&a->upper, &b->upper, sizeof a->upper), 0);
    cr_expect_eq(a->looked_at, b->looked_at);
    cr_expect_eq(memcmp(a->x, b->x, size * sizeof *a->x), 0);
    cr_expect_eq(a->holding, b->holding);
    cr_expect_eq(memcmp(a->hull, b->hull, 2 * a->dim * sizeof *a->hull), 0);
}

Test(exact, resumed_and_on_two_threads_to_the_same_numbers)
{
    const double a = -1, one = 1;
    tl_layer *layer = exact_layer(TL_KIND_DOT, 1, &a, &one, NULL);
    scratch dir;
    cr_assert(scratch_init(&dir));
    const char *path = scratch_path(&dir, "state");
    tl_exact_problem problem = {
        .layer = layer, .n = 3, .radius = 2, .tolerance = 1e-4 * (double)draw_stride(30)};
    tl_error err = {0};

    omp_set_num_threads(1);
    tl_exact_result straight = exact_run(&problem);
    omp_set_num_threads(2);
    tl_exact_result parallel = exact_run(&problem);
    expect_same(&straight, &parallel, 3);
    problem.state = path;
    for (size_t boxes = 200; boxes < 5000; boxes += 800 * draw_stride(4)) {
        problem.boxes = boxes;
        tl_exact_result part = exact_run(&problem);
        cr_expect(part.lower <= straight.upper && straight.lower <= part.upper);
        tl_exact_result_clear(&part);
    }
    problem.boxes = 0;
    tl_exact_result resumed = exact_run(&problem);
    expect_same(&straight, &resumed, 3);
    /* A state of another problem, or a damaged one, is refused. */
    problem.radius = 1;
    tl_exact_result none;
    cr_expect_eq(tl_exact_run(&problem, &none, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "line 1"), "%s", err.text);
    problem.radius = 2;
    cr_assert_eq(truncate(path, 300), 0);
    cr_expect_eq(tl_exact_run(&problem, &none, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "cut"), "%s", err.text);
    tl_exact_result_clear(&straight);
    tl_exact_result_clear(&parallel);
    tl_exact_result_clear(&resumed);
    scratch_clear(&dir);
    tl_layer_free(layer);
}

Test(exact, what_is_refused)
{
    const double one = 1, V[] = {1, 0, 0, 1};
    tl_layer *layer = exact_layer(TL_KIND_DOT, 1, &one, &one, NULL);
    tl_layer *wide = exact_layer(TL_KIND_DOT, 2, V, V, NULL);
    const double outside[] = {0, 3};
    const struct {
        tl_exact_problem problem;
        tl_status status;
        const char *says;
    } rows[] = {
        {{.layer = layer, .n = 2, .radius = -1, .tolerance = 1}, TL_ERR_DOMAIN, "radius"},
        {{.layer = layer, .n = 2, .radius = 1, .tolerance = 0}, TL_ERR_DOMAIN, "tolerance"},
        {{.layer = layer, .n = 2, .radius = 1, .tolerance = 1, .seconds = -1},
         TL_ERR_DOMAIN,
         "seconds: expected 0 or more, found -1"},
        {{.layer = layer, .n = 2, .radius = 1, .tolerance = 1, .seconds = NAN},
         TL_ERR_DOMAIN,
         "seconds"},
        {{.layer = layer, .n = 7, .radius = 1, .tolerance = 1}, TL_ERR_UNSUPPORTED, "n = 7"},
        {{.layer = wide, .n = 4, .radius = 1, .tolerance = 1}, TL_ERR_UNSUPPORTED, "width 2"},
        {{.layer = layer, .n = 2, .radius = INFINITY, .tolerance = 1}, TL_ERR_UNSUPPORTED, "l2"},
        {{.layer = layer, .n = 2, .radius = 1, .tolerance = 1, .start = outside},
         TL_ERR_DOMAIN,
         "token 1"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_exact_result r;
        tl_error err = {0};
        cr_expect_eq(tl_exact_run(&rows[i].problem, &r, &err), rows[i].status, "row %zu", i);
        cr_expect(strstr(err.text, rows[i].says), "row %zu: %s", i, err.text);
    }
    tl_layer_free(layer);
    tl_layer_free(wide);
}
