/* Bounds of ||J_g||, L2 attention without its maps: tables, constructed inputs, attacks. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/l2_norm.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/l2_layer.h"
#include "support/l2_reduced.h"
#include "support/other_kinds.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

/* Largest norms found, and an independent evaluation of forms A to D without their refinements. */
static const struct {
    double n, found1, upper1, upper2, found, upper;
} table[] = {
    {2, 1.601638, 2.4339, 2.4339, 1.6016, 2.4339},
    {3, 1.944659, 3.1948, 3.2081, 1.9446, 3.2081},
    {4, 2.092072, 3.6449, 3.7851, 2.0920, 3.7851},
    {5, 2.236490, 3.9969, 4.1879, 2.2364, 4.2532},
    {8, 2.598496, 4.7519, 4.9611, 2.5984, 5.3070},
    {16, 3.280749, 5.9055, 6.1395, 3.2807, 7.0536},
    {64, 4.960425, 8.3542, 8.6331, 4.9604, 11.3860},
    {256, 6.924343, 10.9525, 11.2717, 6.9243, 17.1697},
    {1024, 9.074342, 12.9044, 13.9672, 9.0743, 24.9902},
    {1e4, 12.860920, 16.1620, 17.1401, 12.8609, 44.8537},
    {1e6, 21.023510, 23.5721, 24.3686, 21.0235, 145.3229},
    {1e9, 33.849, 35.81, 37, 120.476, 899.9},
};

Test(bounds_l2_norm, table_of_forms)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const double n = table[i].n;
        const double value[] = {tl_bounds_l2_norm(n, 1, INFINITY),
                                tl_bounds_l2_norm(n, 2, INFINITY),
                                tl_bounds_l2_norm(n, 0, INFINITY)};
        const double low[] = {table[i].found1, table[i].found1, table[i].found};
        const double high[] = {table[i].upper1, table[i].upper2, table[i].upper};
        for (int k = 0; k < 3; k++)
            cr_expect(low[k] <= value[k] && value[k] <= high[k] * (1 + 1e-5), "n %g, %d: %.8g", n,
                      k, value[k]);
        cr_expect_leq(value[0], value[1] * (1 + 1e-3));
        cr_expect_leq(value[1], value[2] * (1 + 1e-3));
        /* A ball that says nothing, and one that says much. */
        cr_expect_float_eq(tl_bounds_l2_norm(n, 2, 1e9), value[1], 1e-9);
        cr_expect_leq(tl_bounds_l2_norm(n, 2, 0.01), 1.6);
        /* Each form holds alone. */
        cr_expect_geq(tl_bounds_l2_form_a(n, 2, INFINITY), low[1]);
        cr_expect_geq(tl_bounds_l2_form_c(n, 2, INFINITY), low[1]);
        cr_expect_geq(tl_bounds_l2_form_d(n, 2, INFINITY), low[1]);
    }
    for (size_t k = 0; k < 200; k += 66)
        cr_expect(isfinite(tl_bounds_l2_norm(1e18, k, INFINITY)), "k %zu", k);
    cr_expect_eq(tl_bounds_l2_norm(1, 3, INFINITY), 1);
}

/* Form D with the search of its parameters, against another program for the same formula: close on
 * both sides, as too small a value is no bound. */
Test(bounds_l2_norm, fixed_width)
{
    static const struct {
        double n, value;
        size_t k;
    } rows[] = {{64, 7.9669, 1}, {1024, 11.7640, 1}, {1e6, 23.1700, 2}, {1e9, 34.97, 1}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double value = tl_bounds_l2_form_d(rows[i].n, rows[i].k, INFINITY);
        cr_expect_float_eq(value, rows[i].value, 2e-3 * value, "n %g: %.7g", rows[i].n, value);
    }
    cr_expect(isinf(tl_bounds_l2_form_d(9, 0, INFINITY)));
}

/* Configurations on the line behind the table: tokens and how many stand there. */
Test(bounds_l2_norm, found_on_the_line)
{
    static const struct {
        double y[4], count[4], norm;
    } rows[] = {
        {{0, 1.407252031}, {1, 1}, 1.601639},
        {{-1.3717021098, 0, 1.3717021098}, {1, 1, 1}, 1.94465990646},
        {{-2.61312, -1.24933, .10265, 1.46644}, {1, 1, 1, 1}, 2.092072},
        {{-1.70156, -.28857, 1.12442}, {2, 1, 2}, 2.236490},
        {{-.03973, 1.48232, 2.93746}, {4, 1, 3}, 2.598496},
        {{-1.28422, .31081, 1.93887}, {7, 1, 8}, 3.280749},
        {{-1.94547, -.0799, 1.77799}, {32, 1, 31}, 4.960425},
        {{-1.76291, .34913, 2.45941}, {128, 1, 127}, 6.924343},
        {{-2.3529, 0, 2.3529}, {512, 1, 511}, 9.0738},
        {{-3.3928971, 0, 3.3928971}, {500000, 1, 499999}, 21.0235},
        {{-4.233741, 0, 4.233741}, {5e8, 1, 499999999}, 33.849},
    };
    tl_layer *layer = l2_line(1, 1);
    const kind_constants none = {0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t m = 0, n = 0;
        double x[64], J[64 * 64], dense = 0, total = 0;
        while (m < 4 && rows[i].count[m] > 0) total += rows[i].count[m++];
        const double norm = l2_reduced_norm(m, 1, rows[i].y, rows[i].count, 0);
        cr_expect_float_eq(norm, rows[i].norm, 1e-4 * norm, "n %g: %.9g", total, norm);
        cr_expect_leq(norm, tl_bounds_l2_norm(total, 1, INFINITY) * (1 + 1e-12), "n %g", total);
        if (total > 64) continue;
        for (size_t j = 0; j < m; j++)
            for (double c = 0; c < rows[i].count[j]; c++) x[n++] = rows[i].y[j];
        cr_assert(kind_jacobian(layer, &none, n, x, J));
        cr_assert_eq(tl_norm2_dense(n, n, J, &dense), TL_OK);
        cr_expect_float_eq(norm, dense, 1e-12, "n %zu: %.15g %.15g", n, norm, dense);
    }
    tl_layer_free(layer);
}

/* m copies of 0 and M tokens e + rho e_i: at least 2 rho (M m)^(1/2) k/Z^2. */
static double star_lower(double tokens, double centre, double rho)
{
    const double kernel = exp(-1 - rho * rho);
    const double z = 1 + centre * kernel + (tokens - 1) * exp(-2 * rho * rho);

    return 2 * rho * sqrt(tokens * centre) * kernel / (z * z);
}

Test(bounds_l2_norm, star_in_many_dimensions)
{
    enum { OUTER = 12, WIDTH = OUTER + 1 };
    double y[(OUTER + 1) * WIDTH] = {0}, count[OUTER + 1] = {6};

    for (int i = 1; i <= OUTER; i++) {
        y[i * WIDTH] = 1;
        y[i * WIDTH + i] = 1.4;
        count[i] = 1;
    }
    const double norm = l2_reduced_norm(OUTER + 1, WIDTH, y, count, 0);
    cr_expect_geq(norm, star_lower(OUTER, 6, 1.4));
    cr_expect_leq(norm, tl_bounds_l2_norm(OUTER + 6, WIDTH, INFINITY));
    double least = INFINITY;
    for (double tokens = 100; tokens < 1e14; tokens *= 10) {
        const double rho = sqrt(log(5 * tokens) / 2), centre = floor(0.4 * exp(1 + rho * rho));
        const double low = star_lower(tokens, centre, rho);
        const double high = tl_bounds_l2_norm(tokens + centre, 0, INFINITY);
        cr_expect_leq(low, high, "%g tokens", tokens);
        least = fmin(least, high / low);
    }
    /* The order n^(1/4) log^(1/2) n of the bound is right. */
    cr_expect_leq(least, 9);
}

/* Walks uphill over tokens and multiplicities; returns the largest norm / bound seen. */
static double climb(gsl_rng *rng, int masses, int steps)
{
    enum { MOST = 6, WIDE = 3 };
    const size_t m = 2 + draw_below(rng, MOST - 1), k = 1 + draw_below(rng, WIDE);
    double y[MOST * WIDE], count[MOST], kept[MOST * WIDE], width = 1, best = 0, worst = 0, n = 0;
    double bound = 0;

    for (size_t i = 0; i < m; i++) {
        count[i] = draw_below(rng, 2) ? 1 : floor(exp(8 * gsl_rng_uniform(rng)));
        if (masses) count[i] = exp(12 * gsl_rng_uniform(rng));
        n += count[i];
    }
    memset(kept, 0, sizeof kept);
    if (!masses) bound = tl_bounds_l2_norm(n, k, INFINITY);
    for (int step = 0; step < steps; step++) {
        double radius = 0;
        for (size_t i = 0; i < m * k; i++) y[i] = kept[i] + width * random_normal(rng);
        for (size_t i = 0; i < m; i++) radius = fmax(radius, tl_nrm2(k, y + i * k));
        const double norm = l2_reduced_norm(m, k, y, count, masses);
        if (masses) bound = exp(tl_bounds_l2_log_mean_field(k, radius));
        const double ratio = norm / bound;
        worst = fmax(worst, ratio);
        if (ratio > best) memcpy(kept, y, sizeof kept);
        width = ratio > best ? 1.3 * width : fmax(0.9 * width, 1e-4);
        best = fmax(best, ratio);
    }
    return worst;
}

Test(bounds_l2_norm, attacked)
{
    gsl_rng *rng = draw_stream(122);
    double worst[2] = {0};

    for (int start = 0; start < draw_count(60); start++)
        worst[start % 2] = fmax(worst[start % 2], climb(rng, start % 2, 60));
    cr_expect(worst[0] <= 1 + 1e-12 && worst[0] > 0.55, "finite n: %g", worst[0]);
    cr_expect(worst[1] <= 1 + 1e-12 && worst[1] > 0.55, "masses: %g", worst[1]);
    gsl_rng_free(rng);
}

/* Two Diracs at +-R, the light one e^(-4R^2) as heavy, reach 2R^2 + 1/2. */
Test(bounds_l2_norm, mean_field)
{
    static const double known[][2] = {{0.5, 1.248565}, {1, 2.545159},  {1.5, 5.014120},
                                      {2, 8.507813},   {3, 18.503472}, {4, 32.501953}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const double r = known[i][0], square = r * r, y[2] = {-r, r};
        const double mass[2] = {1, r < 0.6 ? 1 : exp(4 * square)};
        const double norm = l2_reduced_norm(2, 1, y, mass, 1);
        double last = 0;
        cr_expect_float_eq(norm, known[i][1], 0.02 * norm, "R %g: %.9g", r, norm);
        for (size_t k = 1; k < 1000; k *= 3) {
            const double value = tl_bounds_l2_log_mean_field(k, r);
            const double ends = fmin(exp(square / 2) * (1 + sqrt(2) * r),
                                     pow(4.0 / 3, (double)k / 4) * (1 + r * sqrt(8.0 / 3)));
            cr_expect_geq(value, log(known[i][1]));
            cr_expect_leq(value, log(2 * square + ends) + 1e-12);
            cr_expect_geq(value, last - 1e-6);
            last = value;
        }
        cr_expect_leq(last, tl_bounds_l2_log_mean_field(0, r));
    }
    /* A star of masses: R/4 e^((R^2 - 1)/2), so the exponent is right where k is free. */
    for (double r = 1; r < 60; r += 1)
        cr_expect_geq(tl_bounds_l2_log_mean_field(0, r), log(r / 4) + (r * r - 1) / 2);
    cr_expect_float_eq(tl_bounds_l2_log_mean_field(0, 100), 5000 + log1p(sqrt(2) * 100), 1e-9);
    cr_expect_float_eq(tl_bounds_l2_log_mean_field(4, 0), 0, 1e-12);
}

/* Heads that read and write different coordinates: the layer is a direct sum, and the norm of one
 * head is that of all. */
Test(bounds_l2_norm, heads_side_by_side)
{
    enum { HEADS = 4 };
    double Q[HEADS][HEADS] = {{0}}, V[HEADS][HEADS] = {{0}};
    tl_head head[HEADS];
    tl_head_facts facts[HEADS];
    tl_layer *layer = NULL;
    tl_bound_query query;

    for (int h = 0; h < HEADS; h++) {
        Q[h][h] = V[h][h] = 1;
        head[h] = (tl_head){.k = 1, .v = 1, .Q = Q[h], .V = V[h], .scale = 1};
    }
    cr_assert_eq(
        tl_layer_alloc(&layer, TL_KIND_L2, TL_MASK_NONE, HEADS, HEADS, head, NULL, 0, NULL), TL_OK);
    cr_assert_eq(tl_bound_query_init(&query, facts, layer, NULL, NULL, 1, NULL), TL_OK);
    query.infinite = false;
    query.n = 20;
    const double one = log(tl_bounds_l2_norm(20, 1, INFINITY));
    cr_expect_float_eq(log_bound("l2-2", &query), one, 1e-11);
    /* From norms alone: heads add up as squares. */
    query.layer = NULL;
    cr_expect_float_eq(log_bound("l2-2", &query), one + log(2), 1e-11);
    /* Grows with every norm, and a ball is never worse. */
    for (int h = 0; h < HEADS; h++) facts[h].norm_q *= 1.5;
    cr_expect_float_eq(log_bound("l2-2", &query), one + log(2 * 2.25), 1e-11);
    facts[1].norm_v *= 2;
    facts[1].norm_ov *= 2;
    cr_expect_float_eq(log_bound("l2-2", &query), one + log(sqrt(7) * 2.25), 1e-11);
    cr_expect_leq(log_bound("l2-ball", &query), log_bound("l2-mean-field", &query));
    query.radius = 50;
    cr_expect_float_eq(log_bound("l2-ball", &query), log_bound("l2-2", &query), 1e-11);
    query.radius = 0.1;
    cr_expect_lt(log_bound("l2-ball", &query), log_bound("l2-2", &query) - 1);
    tl_layer_free(layer);
}

Test(bounds_l2_norm, masks_are_refused)
{
    static const char *const keys[] = {"l2-2", "l2-ball", "l2-mean-field"};
    tl_head_facts head;
    tl_bound_query query = plain_query(&head, 1, 4);

    query.kind = TL_KIND_L2;
    query.mask = TL_MASK_CAUSAL;
    head.norm_q = 1;
    head.width = 1;
    for (int i = 0; i < 3; i++) {
        tl_bound_value value;
        cr_assert_eq(tl_bound_evaluate(tl_bound_find(keys[i]), &query, &value, NULL), TL_OK);
        cr_expect_not(value.applicable);
        cr_expect(strstr(value.why, "mask") != NULL, "%s", value.why);
    }
}
