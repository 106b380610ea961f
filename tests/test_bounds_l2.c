/* Bounds of L2 attention: reference values, exact suprema attained, and attacks. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/l2.h"
#include "bounds/l2_norm.h"
#include "support/bound_query.h"
#include "support/l2_layer.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

/* S(a, b, o)_ij = sin(o + i b + j), transposed. */
static void sines(size_t rows, size_t cols, double o, double *out)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            out[j * rows + i] = sin(o + (double)i * (double)cols + (double)j);
}

/* Two heads of width 2 in width 4, four tokens. */
Test(bounds_l2, reference_vectors)
{
    double x[16], Q[2][8], V[2][8], O[16];
    tl_head heads[2];
    tl_head_facts facts[2];

    for (size_t i = 0; i < 16; i++) x[i] = sin(1 + (double)i);
    for (size_t h = 0; h < 2; h++) {
        sines(4, 2, 2 + 8 * (double)h, Q[h]);
        sines(4, 2, 3 + 8 * (double)h, V[h]);
        heads[h] = (tl_head){.k = 2, .v = 2, .Q = Q[h], .V = V[h], .scale = 1};
    }
    sines(4, 4, 4, O);
    tl_layer *layer = l2_layer(TL_MASK_NONE, 4, 2, heads, O, 4);
    cr_expect_float_eq(l2_norm_at(layer, 4, x, TL_NORM_INF), 6.691427384941, 1e-11);
    cr_expect_float_eq(l2_norm_at(layer, 4, x, TL_NORM_1), 7.119165677648, 1e-11);
    cr_expect_float_eq(l2_norm_at(layer, 4, x, TL_NORM_2), 4.930534796807, 1e-11);
    const tl_bound_query query = l2_query(layer, facts, 4, INFINITY);
    cr_expect_float_eq(exp(log_bound("kim-inf", &query)), 131.166378128753, 1e-9);
    cr_expect_float_eq(exp(log_bound("kim-2", &query)), 85.753285552589, 1e-9);
    cr_expect_float_eq(exp(log_bound("l2-inf", &query)), 31.352340614976722, 1e-9);
    /* The sum over heads is 8.769329473639 times the bound of ||J_g||; side by side they have: */
    const double two = exp(log_bound("l2-2", &query));
    cr_expect_float_eq(two, 7.433749005493 * tl_bounds_l2_norm(4, 2, INFINITY), 1e-9);
    cr_expect_lt(two, 33.193);
    cr_expect(isnan(log_bound("exact-1d", &query)));
    tl_layer_free(layer);
}

/* Largest row sum on the line to all digits known, and the published bound beside it. */
Test(bounds_l2, exact_on_the_line)
{
    static const struct {
        double n, exact, kim;
    } rows[] = {
        {2, 1.601638930012, 2.113858},     {3, 2.292244292681, 2.852222},
        {4, 2.686251137719, 3.414183},     {5, 3.107791679963, 3.871298},
        {8, 3.956408568298, 4.892555},     {10, 4.407366, 5.404012},
        {16, 5.422138351432, 6.533846},    {64, 8.866654366221, 10.228521},
        {100, 10.094681, 11.514598},       {256, 12.828239458854, 14.345511},
        {1001, 17.068704, 18.685270},      {1024, 17.141564188068, 18.759479},
        {1e4, 24.720739835290, 26.440733}, {1e6, 41.047000562756, 42.869030},
    };
    tl_head_facts facts;
    tl_layer *layer = l2_line(1, 1);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tl_bound_query query = l2_query(layer, &facts, rows[i].n, INFINITY);
        cr_expect_float_eq(exp(log_bound("exact-1d", &query)), rows[i].exact, 1e-6, "n %g",
                           rows[i].n);
        cr_expect_float_eq(exp(log_bound("l2-inf", &query)), exp(log_bound("exact-1d", &query)),
                           1e-12);
        cr_expect_float_eq(exp(log_bound("kim-inf", &query)), rows[i].kim, 1e-5);
        if (rows[i].exact > 1e3 || floor(rows[i].exact * 1e6) / 1e6 == rows[i].exact) continue;
        cr_expect_float_eq(exp(log_bound("exact-1d", &query)), rows[i].exact, 2e-12 * rows[i].exact,
                           "n %g", rows[i].n);
    }
    tl_layer_free(layer);
}

/* Odd n: x = 0 and (n - 1)/2 tokens at each of +-a/w attain it. Even n: one token fewer on one
 * side, at other distances. */
Test(bounds_l2, exact_on_the_line_is_attained)
{
    static const struct {
        size_t n, right;
        double a, b; /* 0: from c* */
    } rows[] = {{3, 1, 0, 0},
                {5, 2, 0, 0},
                {9, 4, 0, 0},
                {101, 50, 0, 0},
                {2, 1, 1.407252031, 1},
                {4, 2, 1.4513779456, 1.3227616522},
                {8, 4, 1.5295916450, 1.4634937504},
                {16, 8, 1.6306091153, 1.5977943717}};
    const double w = 1.7, v = -0.6;
    tl_head_facts facts;
    tl_layer *layer = l2_line(w, v);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double n = (double)rows[i].n;
        const double a = rows[i].a > 0 ? rows[i].a : sqrt(1.5 + tl_bounds_l2_c_star(n));
        const double b = rows[i].a > 0 ? rows[i].b : a;
        double x[128] = {0};
        for (size_t j = 1; j < rows[i].n; j++) x[j] = (j <= rows[i].right ? a : -b) / w;
        const tl_bound_query query = l2_query(layer, &facts, n, INFINITY);
        const double bound = exp(log_bound("exact-1d", &query)),
                     found = l2_norm_at(layer, rows[i].n, x, TL_NORM_INF);
        cr_expect_leq(found, bound * (1 + 1e-14), "n %g", n);
        cr_expect_geq(found, bound * (1 - 1e-9), "n %g: %.12g, bound %.12g", n, found, bound);
    }
    tl_layer_free(layer);
}

/* kim-2-printed scales as t in Q, J as t^2: at Q = 2 an input beats it. */
Test(bounds_l2, printed_form_is_beaten)
{
    const double x[] = {0, 1.407252031 / 2};
    tl_head_facts facts;
    tl_layer *layer = l2_line(2, 1);

    const tl_bound_query query = l2_query(layer, &facts, 2, INFINITY);
    const double norm = l2_norm_at(layer, 2, x, TL_NORM_2);
    cr_expect_float_eq(norm, 6.406, 1e-3);
    cr_expect_float_eq(exp(log_bound("kim-2-printed", &query)), 5.979, 1e-3);
    cr_expect_geq(exp(log_bound("kim-2", &query)), norm);
    cr_expect_geq(exp(log_bound("l2-2", &query)), norm * (1 - 1e-12));
    cr_expect_leq(exp(log_bound("l2-2", &query)), norm * (1 + 1e-8));
    tl_layer_free(layer);
}
