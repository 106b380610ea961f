/* W_2 against closed forms, metric axioms, and masses that floating point would not see. */
#include <criterion/criterion.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/transport.h"

enum { MOST = 8 };

typedef struct {
    size_t m, d;
    double x[MOST * 3], a[MOST];
} cloud;

static cloud draw_cloud(gsl_rng *rng, size_t d)
{
    cloud c = {.m = 1 + draw_below(rng, MOST), .d = d};
    double sum = 0;

    for (size_t i = 0; i < c.m * d; i++) c.x[i] = random_normal(rng);
    for (size_t i = 0; i < c.m; i++) {
        /* Masses over ten decades. */
        c.a[i] = pow(10, -10 * gsl_rng_uniform(rng) * (double)draw_below(rng, 2));
        sum += c.a[i];
    }
    for (size_t i = 0; i < c.m; i++) c.a[i] /= sum;
    return c;
}

static tl_transport w2(const cloud *p, const cloud *q, double *plan)
{
    tl_transport t;
    tl_error err = {0};

    cr_assert_eq(tl_transport_w2(p->d, p->m, p->x, p->a, q->m, q->x, q->a, plan, &t, &err), TL_OK,
                 "%s", err.text);
    cr_expect(t.lower <= t.upper);
    cr_expect(t.upper * t.upper - t.lower * t.lower <= 1e-8 * t.upper * t.upper + 1e-14,
              "%.17g %.17g", t.lower, t.upper);
    return t;
}

/* In one dimension quantiles are matched. */
static double sorted(const cloud *p, const cloud *q)
{
    size_t i_of[MOST], j_of[MOST], i = 0, j = 0;
    double left_a, left_b, sum = 0;

    gsl_sort_index(i_of, p->x, 1, p->m);
    gsl_sort_index(j_of, q->x, 1, q->m);
    left_a = p->a[i_of[0]];
    left_b = q->a[j_of[0]];
    while (i < p->m && j < q->m) {
        const double moved = fmin(left_a, left_b), gap = p->x[i_of[i]] - q->x[j_of[j]];
        sum += moved * gap * gap;
        left_a -= moved;
        left_b -= moved;
        if (left_a <= left_b) {
            if (++i < p->m) left_a = p->a[i_of[i]];
        } else if (++j < q->m) {
            left_b = q->a[j_of[j]];
        }
    }
    return sqrt(sum);
}

Test(transport, quantiles_in_one_dimension)
{
    gsl_rng *rng = draw_stream(71);

    for (int i = 0; i < draw_count(200); i++) {
        const cloud p = draw_cloud(rng, 1), q = draw_cloud(rng, 1);
        cr_expect_float_eq(w2(&p, &q, NULL).upper, sorted(&p, &q), 1e-7, "draw %d", i);
    }
    gsl_rng_free(rng);
}

Test(transport, a_metric)
{
    gsl_rng *rng = draw_stream(72);

    for (int i = 0; i < draw_count(60); i++) {
        const size_t d = 1 + draw_below(rng, 3);
        const cloud p = draw_cloud(rng, d), q = draw_cloud(rng, d), r = draw_cloud(rng, d);
        const double pq = w2(&p, &q, NULL).upper, qr = w2(&q, &r, NULL).upper;
        cr_expect_float_eq(w2(&q, &p, NULL).upper, pq, 1e-7);
        cr_expect(w2(&p, &r, NULL).upper <= pq + qr + 1e-7);
        cr_expect_lt(w2(&p, &p, NULL).upper, 1e-7);
    }
    gsl_rng_free(rng);
}

Test(transport, plans_have_the_marginals)
{
    gsl_rng *rng = draw_stream(73);

    for (int k = 0; k < 50; k++) {
        const cloud p = draw_cloud(rng, 2), q = draw_cloud(rng, 2);
        double plan[MOST * MOST], cost = 0;
        const tl_transport t = w2(&p, &q, plan);
        for (size_t i = 0; i < p.m; i++) {
            double sum = 0;
            for (size_t j = 0; j < q.m; j++) {
                const double a = p.x[2 * i] - q.x[2 * j], b = p.x[2 * i + 1] - q.x[2 * j + 1];
                cr_expect(plan[i * q.m + j] >= 0);
                sum += plan[i * q.m + j];
                cost += plan[i * q.m + j] * (a * a + b * b);
            }
            cr_expect_float_eq(sum, p.a[i], 1e-14);
        }
        cr_expect_float_eq(sqrt(cost), t.upper, 1e-12);
    }
    gsl_rng_free(rng);
}

/* A millionth of a millionth moved by one: W_2 = 1e-6. */
Test(transport, small_masses_count)
{
    for (double p = .5; p > 1e-13; p /= 10) {
        const cloud from = {2, 1, {0, 5}, {.5, .5}}, to = {3, 1, {0, 1, 5}, {.5 - p, p, .5}};
        /* 2^-50 is the grain of the masses. */
        cr_expect_float_eq(w2(&from, &to, NULL).upper, sqrt(p), sqrt(p) * (1e-12 + 1e-15 / p));
    }
}

/* A share of 1e-9 moves between heavy atoms that hardly do: all that costs lies far below what the
 * program's numbers are rounded to, if they are. */
Test(transport, little_moves_among_heavy_atoms)
{
    gsl_rng *rng = draw_stream(74);

    for (int i = 0; i < draw_count(100); i++) {
        cloud p = {.m = 3, .d = 1, .a = {0.3, 0.3, 0.4}}, q = {.m = 4, .d = 1};
        tl_transport t;
        for (size_t k = 0; k < 3; k++) {
            p.x[k] = q.x[k] = 4 * random_normal(rng);
            q.a[k] = p.a[k];
        }
        q.x[3] = 4 * random_normal(rng);
        q.a[3] = 1e-9;
        q.a[0] -= 1e-9;
        cr_assert_eq(tl_transport_w2(1, 3, p.x, p.a, 4, q.x, q.a, NULL, &t, NULL), TL_OK);
        const double truth = sorted(&p, &q);
        cr_expect(t.upper - t.lower <= 1e-4 * truth, "%.9g, %.9g", t.lower, t.upper);
        cr_expect_float_eq(t.upper, truth, 1e-4 * truth, "%.9g, %.9g", t.upper, truth);
    }
    gsl_rng_free(rng);
}

/* Distances whose squares leave the double range: the same program at another scale. */
Test(transport, distances_of_any_size)
{
    static const int exponents[] = {-700, -1000, 700, 1000};
    gsl_rng *rng = draw_stream(75);

    for (int i = 0; i < draw_count(40); i++) {
        const size_t d = 1 + draw_below(rng, 3);
        cloud p = draw_cloud(rng, d), q = draw_cloud(rng, d), a = p, b = q;
        double plan[MOST * MOST], other[MOST * MOST];
        const tl_transport t = w2(&p, &q, plan);
        const int e = exponents[i % 4];
        tl_transport far;
        for (size_t k = 0; k < p.m * d; k++) a.x[k] = ldexp(p.x[k], e);
        for (size_t k = 0; k < q.m * d; k++) b.x[k] = ldexp(q.x[k], e);
        cr_assert_eq(tl_transport_w2(d, a.m, a.x, a.a, b.m, b.x, b.a, other, &far, NULL), TL_OK);
        cr_expect(far.upper > 0 && far.upper == ldexp(t.upper, e), "2^%d: %g", e, far.upper);
        cr_expect_eq(far.lower, ldexp(t.lower, e), "2^%d: %g", e, far.lower);
        cr_expect_arr_eq(plan, other, p.m * q.m * sizeof(double));
    }
    gsl_rng_free(rng);
}

Test(transport, what_is_refused)
{
    const double x[] = {0, 1}, bad[] = {0, NAN}, half[] = {.5, .5}, short_[] = {.5, .4},
                 negative[] = {1.5, -.5};
    tl_transport t;
    tl_error err = {0};

    cr_expect_eq(tl_transport_w2(1, 2, x, half, 2, x, short_, NULL, &t, &err), TL_ERR_DOMAIN);
    cr_expect(strstr(err.text, "second masses: expected a sum of 1"), "%s", err.text);
    cr_expect_eq(tl_transport_w2(1, 2, x, negative, 2, x, half, NULL, &t, &err), TL_ERR_DOMAIN);
    cr_expect(strstr(err.text, "first mass 1"), "%s", err.text);
    cr_expect_eq(tl_transport_w2(1, 2, bad, half, 2, x, half, NULL, &t, &err), TL_ERR_DOMAIN);
    cr_expect_eq(tl_transport_w2(0, 2, x, half, 2, x, half, NULL, &t, &err), TL_ERR_SHAPE);
    cr_expect_eq(tl_transport_w2(1, 513, x, half, 2, x, half, NULL, &t, &err), TL_ERR_LIMIT);
}
