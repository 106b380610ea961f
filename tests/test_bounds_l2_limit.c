/* The steps of the limit of L2 attention at fixed head width (README 17.9), on clusters of so many
 * tokens that its hypotheses hold. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "bounds/l2.h"
#include "bounds/l2_norm.h"
#include "support/draws.h"
#include "support/l2_reduced.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

enum { MOST = 6, WIDE = 2 };

typedef struct {
    size_t m, k;
    double n, c, top, s; /* c_n, 1 + 2c*_n, 8 log c */
    double y[MOST * WIDE], count[MOST];
    double Z[MOST], near[MOST], mean[MOST], diagonal[MOST]; /* Z_i, p_i, |m_i|, D_i */
} clusters;

static double distance2(const clusters *a, size_t i, size_t j)
{
    double t = 0;

    for (size_t r = 0; r < a->k; r++) t += pow(a->y[i * a->k + r] - a->y[j * a->k + r], 2);
    return t;
}

/* Row i: what 17.9 speaks of. */
static void look(clusters *a, size_t i)
{
    const size_t m = a->m, k = a->k;
    double C[WIDE * WIDE] = {0}, mean[WIDE] = {0}, p[MOST], norm = 0;

    a->Z[i] = 0;
    for (size_t j = 0; j < m; j++) a->Z[i] += p[j] = a->count[j] * exp(-distance2(a, i, j));
    a->near[i] = -1 / a->Z[i];
    for (size_t j = 0; j < m; j++) {
        p[j] /= a->Z[i];
        if (distance2(a, i, j) <= a->s) a->near[i] += p[j];
        for (size_t r = 0; r < k; r++) mean[r] += p[j] * (a->y[j * k + r] - a->y[i * k + r]);
    }
    for (size_t j = 0; j < m; j++)
        for (size_t r = 0; r < k; r++)
            for (size_t q = 0; q < k; q++)
                C[r * k + q] += p[j] * (a->y[j * k + r] - a->y[i * k + r] - mean[r]) *
                                (a->y[j * k + q] - a->y[i * k + q] - mean[q]);
    cr_assert_eq(tl_norm2_dense(k, k, C, &norm), TL_OK);
    a->mean[i] = tl_nrm2(k, mean);
    a->diagonal[i] = 2 * norm + 1 / a->Z[i];
}

/* A few clusters; some hold one token, the others share the rest. */
static void draw(gsl_rng *rng, clusters *a)
{
    double sum = 0, share[MOST];

    a->m = 2 + draw_below(rng, MOST - 1);
    a->k = 1 + draw_below(rng, WIDE);
    a->n = pow(10, 50 + 50 * gsl_rng_uniform(rng));
    for (size_t i = 0; i < a->m; i++) {
        share[i] = draw_below(rng, 3) ? exp(20 * gsl_rng_uniform(rng)) : 0;
        sum += share[i];
    }
    for (size_t i = 0; i < a->m; i++)
        a->count[i] = share[i] > 0 ? fmax(a->n / sum * share[i], 1) : 1;
    a->n = 0;
    for (size_t i = 0; i < a->m; i++) a->n += a->count[i];
    a->n = fmax(a->n, 1e50);
    a->c = tl_bounds_l2_c(a->n);
    a->top = 1 + 2 * tl_bounds_l2_c_star(a->n);
    a->s = 8 * log(a->c);
    const double size = sqrt(a->c + 1.5), spread = draw_below(rng, 2) ? 1 : 0.05;
    for (size_t i = 0; i < a->m * a->k; i++) {
        const double at = (double)draw_below(rng, 3) - 1;
        a->y[i] = size * at * (draw_below(rng, 2) ? 1 : gsl_rng_uniform(rng)) +
                  spread * random_normal(rng);
    }
    for (size_t i = 0; i < a->m; i++) look(a, i);
}

/* The largest column of step (4): tokens of cluster j. */
static double display(const clusters *a)
{
    const double Q = pow(4.0 / 3, (double)a->k / 2) * (1 + 8 * (double)a->k / 3);
    double largest = 0;

    for (size_t j = 0; j < a->m; j++) {
        double sum = 0;
        for (size_t i = 0; i < a->m; i++) {
            const double t = distance2(a, i, j), others = a->count[i] - (i == j);
            if (t <= a->s)
                sum += others * a->mean[i] * a->mean[i] * exp(-t) / a->Z[i] * (1 + 4 * t);
        }
        largest =
            fmax(largest, a->top * (a->top - a->c * a->near[j] - 2 * a->mean[j] * a->mean[j]) +
                              3 * (1 + 2 * a->s) * Q + 6 * sum);
    }
    return largest;
}

Test(bounds_l2_limit, steps)
{
    gsl_rng *rng = draw_stream(541);
    double first = 0, fifth = 0, whole = 0;

    for (int round = 0; round < 3000 * draw_effort(); round++) {
        clusters a;
        draw(rng, &a);
        cr_assert(2 * a.s + a.c <= a.top && 2 * a.c < a.top);
        for (size_t i = 0; i < a.m; i++) {
            const double limit = a.top - a.c * a.near[i] - 2 * a.mean[i] * a.mean[i];
            cr_assert(a.diagonal[i] <= limit + 1e-9 * a.top, "round %d: %g > %g", round,
                      a.diagonal[i], limit);
            first = fmax(first, a.diagonal[i] / limit);
            for (size_t j = 0; j < a.m; j++) {
                const double t = distance2(&a, i, j), most = t + 2 * sqrt(t) * a.mean[j];
                cr_assert(log(a.Z[j] / a.Z[i]) <= most + 1e-9 * (1 + most), "round %d", round);
                if (i != j) fifth = fmax(fifth, log(a.Z[j] / a.Z[i]) / most);
            }
        }
        const double column = exp(tl_bounds_l2_log_columns(a.k, 1, 0.25, 4));
        const double far = sqrt((1 + a.c) * column) / a.c,
                     norm = l2_reduced_norm(a.m, a.k, a.y, a.count, 0);
        cr_assert(norm <= (sqrt(display(&a)) + far) * (1 + 1e-9), "round %d: %g > %g", round, norm,
                  sqrt(display(&a)) + far);
        cr_assert(norm <= tl_bounds_l2_form_a(a.n, a.k, (double)INFINITY) * (1 + 1e-9));
        whole = fmax(whole, norm / a.top);
    }
    cr_expect(first > 0.95 && fifth > 0.9, "%g %g: no teeth", first, fifth);
    cr_expect(whole > 0.9 && whole < 1.05, "largest norm over 1 + 2c*: %g", whole);
    gsl_rng_free(rng);
}

/* The token between two halves of the others: 1 + 2c* itself. */
Test(bounds_l2_limit, attained)
{
    for (double n = 1e50; n < 1e101; n *= 1e10) {
        const double star = tl_bounds_l2_c_star(n), a = sqrt(1.5 + star);
        const double y[] = {0, a, -a}, count[] = {1, n / 2, n / 2};
        const double norm = l2_reduced_norm(3, 1, y, count, 0);
        cr_expect(norm >= (1 + 2 * star) * (1 - 1e-9) && norm < 1.002 * (1 + 2 * star), "%g %g",
                  norm, 1 + 2 * star);
        cr_expect(norm <= tl_bounds_l2_norm(n, 1, (double)INFINITY));
    }
}
