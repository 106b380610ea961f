/* What the row bounds of L2 attention are made of: constants, head maps over the whole double
 * range, transposes. */
#include <criterion/criterion.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/l2.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/exact_domain.h"
#include "support/l2_layer.h"
#include "support/other_kinds.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"
#include "tightlip/problem.h"

static const kind_constants none = {0};

/* W e^W = z to rounding, and never below: W0 increases. */
Test(bounds_l2_maps, constants_solve_their_equations)
{
    for (double n = 2; n < 1e300; n = n < 1e15 ? floor(n * 1.7) : n * 1e9) {
        const double c = tl_bounds_l2_c(n), c_star = tl_bounds_l2_c_star(n), l = log(n - 1);
        const double slack = 1024 * DBL_EPSILON * (1 + l);
        cr_expect(c + log(c) >= l - 1 && c + log(c) <= l - 1 + slack, "c of %g: %.17g", n, c);
        cr_expect(c_star + log(c_star) >= l - 1.5 && c_star + log(c_star) <= l - 1.5 + slack,
                  "c* of %g: %.17g", n, c_star);
        cr_expect(c_star < c && c - c_star < 0.5, "n %g", n);
    }
    cr_expect_eq(tl_bounds_l2_c(1), 0);
    cr_expect_eq(tl_bounds_l2_c_star(1), 0);
    cr_expect_float_eq(tl_bounds_l2_c(2), 0.27846454276107379, 1e-13); /* W0(1/e) */
}

Test(bounds_l2_maps, line_constants_grow_with_n)
{
    /* One token more never lowers the supremum. */
    double before = 1;
    for (double n = 2; n < 3000; n++) {
        double value = tl_bounds_l2_line(n);
        cr_expect(value > before, "n %g: %.17g after %.17g", n, value, before);
        before = value;
    }
    /* Beyond 2^53 there are no odd numbers. */
    const double far[] = {99999998, 1e8, 0x1p53, 1e18, 1e300};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        double value = tl_bounds_l2_line(far[i]), odd = 1 + 4 * tl_bounds_l2_c_star(far[i]);
        cr_expect(isfinite(value) && value > before, "n %g: %.17g", far[i], value);
        cr_expect_float_eq(value, odd, 1e-12 * odd, "n %g: %.17g", far[i], value);
    }
}

Test(bounds_l2_maps, head_maps)
{
    enum { D = 4, K = 3, VALUES = 2, OUT = 3 };

    if (!extended_precision()) cr_skip_test("long doubles are doubles here");
    gsl_rng *rng = draw_stream(80);

    for (int draw = 0; draw < 50; draw++) {
        double Q[2][K * D], V[2][VALUES * D], O[OUT * 2 * VALUES];
        const double huge = draw % 3 == 0 ? 1e200 : 1, tiny = draw % 3 == 1 ? 1e-200 : 1;
        for (int h = 0; h < 2; h++) {
            for (int i = 0; i < K * D; i++) Q[h][i] = tiny * draw_entry(rng);
            for (int i = 0; i < VALUES * D; i++) V[h][i] = huge * draw_entry(rng);
        }
        for (int i = 0; i < OUT * 2 * VALUES; i++) O[i] = huge * draw_entry(rng);
        const tl_head head[2] = {{.k = K, .v = VALUES, .Q = Q[0], .V = V[0], .scale = 1},
                                 {.k = K, .v = VALUES, .Q = Q[1], .V = V[1], .scale = 1}};
        const bool output = draw % 2;
        tl_layer *layer = NULL;
        cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_L2, TL_MASK_NONE, D, 2, head, output ? O : NULL,
                                    output ? OUT : 0, NULL),
                     TL_OK);
        for (size_t h = 0; h < 2; h++) {
            tl_bounds_l2_head map;
            cr_assert_eq(tl_bounds_l2_head_init(&map, layer, h), TL_OK);
            double off = 0, vu_off = 0, size = 0;
            for (size_t i = 0; i < layer->out * K; i++) {
                long double sum = 0;
                const size_t o = i / K, a = i % K;
                for (size_t v = 0; v < VALUES; v++) {
                    const size_t column = h * VALUES + v;
                    const long double w = output ? O[o * 2 * VALUES + column] : o == column;
                    for (size_t c = 0; c < D; c++) sum += w * V[h][v * D + c] * Q[h][a * D + c];
                }
                sum *= expl(-logl(3) / 4 - (long double)map.log_m);
                off = hypot(off, (double)(sum - (long double)map.M[i]));
                size = fmax(size, fabs(map.M[i]));
            }
            for (size_t i = 0; i < VALUES * K; i++) {
                long double sum = 0;
                for (size_t c = 0; c < D; c++)
                    sum += (long double)V[h][i / K * D + c] * Q[h][i % K * D + c];
                sum *= expl(-logl(3) / 4 - (long double)map.log_vu);
                vu_off = hypot(vu_off, (double)(sum - (long double)map.VU[i]));
            }
            /* The comparison itself carries the error of the logarithms. */
            const double logs = 8 * DBL_EPSILON * (1 + fabs(map.log_m)) * 16;
            cr_expect(off <= map.m_error + logs, "%g above %g", off, map.m_error);
            cr_expect(vu_off <= map.vu_error + logs, "%g above %g", vu_off, map.vu_error);
            cr_expect(map.m_error < 1e-12 && size < 64);
            for (size_t i = 0; i < D * K; i++) {
                const double q = Q[h][i % K * D + i / K];
                cr_expect_float_eq(map.U[i] * exp(map.log_u + log(3) / 4), q, 1e-12 * fabs(q));
            }
            tl_bounds_l2_head_clear(&map);
        }
        tl_layer_free(layer);
    }
    gsl_rng_free(rng);
}

/* Powers of two change a bound by exactly their logarithm, wherever products of the entries would
 * leave the double range; past it the norms themselves do, which is refused. */
Test(bounds_l2_maps, scale_invariant_over_the_double_range)
{
    static const char *const keys[] = {"kim-inf", "kim-2", "exact-1d", "l2-inf", "l2-2"};
    static const int powers[][2] = {{-900, 0},  {-540, 0},   {-536, -400}, {-300, -900},
                                    {200, 700}, {500, -900}, {-1000, 900}};
    gsl_rng *rng = draw_stream(121);
    enum { D = 3 };

    for (size_t k = 1; k <= D; k++) {
        double Q[D * D], V[D * D], O[D * D];
        for (size_t i = 0; i < D * D; i++) {
            Q[i] = random_normal(rng);
            V[i] = random_normal(rng);
            O[i] = random_normal(rng);
        }
        const tl_head head = {.k = k, .v = D, .Q = Q, .V = V, .scale = 1};
        tl_layer *layer = l2_layer(TL_MASK_NONE, D, 1, &head, O, D);
        double plain[5];
        for (int i = 0; i < 5; i++) plain[i] = l2_bound(keys[i], layer, 7);
        for (size_t p = 0; p < sizeof powers / sizeof *powers; p++) {
            const int q = powers[p][0], v = powers[p][1];
            for (size_t i = 0; i < k * D; i++) layer->head[0].Q[i] = ldexp(Q[i], q);
            for (size_t i = 0; i < D * D; i++) layer->head[0].V[i] = ldexp(V[i], v);
            for (int i = 0; i < 5; i++) {
                if (k > 1 && i == 2) continue;
                const double value = l2_bound(keys[i], layer, 7),
                             want = plain[i] + (2 * q + v) * log(2);
                cr_expect(value >= want - 1e-13 * fabs(want) && value <= want + 1e-9,
                          "%s k %zu, 2^%d, 2^%d: %.17g, expected %.17g", keys[i], k, q, v, value,
                          want);
            }
        }
        for (size_t i = 0; i < k * D; i++) layer->head[0].Q[i] = ldexp(Q[i], 600);
        tl_head_facts facts;
        tl_bound_query query;
        cr_expect_eq(tl_bound_query_init(&query, &facts, layer, NULL, NULL, 1, NULL),
                     TL_ERR_NUMERIC);
        for (size_t i = 0; i < k * D; i++) layer->head[0].Q[i] = 0;
        for (int i = 0; i < 5; i++)
            if (k == 1 || i != 2)
                cr_expect(l2_bound(keys[i], layer, 7) == -(double)INFINITY, "%s", keys[i]);
        tl_layer_free(layer);
    }
    gsl_rng_free(rng);
}

/* Read on row vectors, the matrices of kim-inf are transposed: two equal heads, where either other
 * reading of V or O lies below an input. */
Test(bounds_l2_maps, published_transposes)
{
    const double ones[2] = {1, 1}, first[4] = {1, 0, 0, 0}, both[4] = {1, 1, 0, 0};
    const tl_head head = {.k = 1, .v = 1, .Q = (double *)ones, .V = (double *)ones, .scale = 1};
    const tl_head heads[2] = {head, head};
    /* U'x = x_1 + x_2 */
    const double x[4] = {0, 0, 1.407252031, 0}, factor = 4 * tl_bounds_l2_c(2) + 1;
    tl_layer *layer = l2_layer(TL_MASK_NONE, 2, 2, heads, first, 2);

    cr_expect_float_eq(l2_norm_at(layer, 2, x, TL_NORM_INF), 6.4065557, 1e-6);
    cr_expect_float_eq(exp(l2_bound("kim-inf", layer, 2)), 4 * factor, 1e-11);
    cr_expect_lt(2 * factor, l2_norm_at(layer, 2, x, TL_NORM_INF), "V transposed");
    cr_expect_float_eq(exp(l2_bound("l2-inf", layer, 2)), l2_norm_at(layer, 2, x, TL_NORM_INF),
                       1e-8);
    tl_layer_free(layer);
    layer = l2_layer(TL_MASK_NONE, 2, 2, heads, both, 2);
    cr_expect_float_eq(exp(l2_bound("kim-inf", layer, 2)), 8 * factor, 1e-11);
    cr_expect_lt(4 * factor, l2_norm_at(layer, 2, x, TL_NORM_INF), "O transposed");
    /* Both heads have the same worst input, so their sum is attained too. */
    cr_expect_float_eq(exp(l2_bound("exact-1d", layer, 2)), l2_norm_at(layer, 2, x, TL_NORM_INF),
                       1e-8);
    tl_layer_free(layer);
}

/* The oracle of these tests against an independent implementation, in four norms; copies are spelt
 * out. */
Test(bounds_l2_maps, oracle_gives_the_golden_norms)
{
    const tl_norm norms[] = {TL_NORM_2, TL_NORM_INF, TL_NORM_1, TL_NORM_FRO};
    const char *const keys[] = {"norm_2", "norm_inf", "norm_1", "norm_fro"};

    for (int file = 0; file < 6; file++) {
        char path[64];
        json_t *root = NULL;
        tl_problem problem;
        tl_error err = {.text = ""};
        (void)snprintf(path, sizeof path, "tests/golden/l2-%s%d.json", file < 3 ? "" : "copies-",
                       file % 3);
        cr_assert_eq(tl_problem_load_json(path, &root, &err), TL_OK, "%s", err.text);
        cr_assert_eq(tl_problem_from_json(root, path, &problem, &err), TL_OK, "%s", err.text);
        const tl_measure *mu = problem.measure;
        const size_t n = (size_t)mu->n, d = mu->d, rows = n * problem.layer->out, cols = n * d;
        double *x = malloc((n * d + rows * cols) * sizeof *x), *J = x + n * d;
        cr_assert_not_null(x);
        for (size_t k = 0, at = 0; k < mu->m; k++)
            for (uint64_t copy = 0; copy < mu->count[k]; copy++, at++)
                memcpy(x + at * d, mu->x + k * d, d * sizeof *x);
        cr_assert(kind_jacobian(problem.layer, &none, n, x, J));
        for (int i = 0; i < 4; i++) {
            const json_t *expect = json_object_get(root, "expect");
            const double want = json_number_value(json_object_get(expect, keys[i]));
            const double found = matrix_norm(norms[i], rows, cols, J);
            cr_assert_gt(want, 0);
            cr_expect_float_eq(found, want, 1e-11 * want, "%s %s: %.17g, expected %.17g", path,
                               keys[i], found, want);
        }
        free(x);
        tl_problem_clear(&problem);
        json_decref(root);
    }
}
