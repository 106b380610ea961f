#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/causal.h"
#include "bounds/internal.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/random_problem.h"

enum { TOKENS = 400 };

/* Largest norms found, and upper bounds of an independent implementation of a weaker form (R = 1,
 * V = I, every n). */
static const struct {
    double g, found, upper;
} cells[] = {
    {0.25, 2.235, 3.35}, {0.5, 2.680, 4.666}, {1, 5.998, 8.619},   {2, 25.82, 30.39},
    {3, 96.02, 102.1},   {4, 331.6, 339.8},   {8, 33574, 34363.0}, {16, 1.924e8, 1.997e8},
};

static double log_every(const char *key, double g)
{
    tl_head_facts head;
    tl_bound_query query = plain_query(&head, g, (double)INFINITY);

    query.mask = TL_MASK_CAUSAL;
    return log_bound(key, &query);
}

Test(bounds_causal_every, reference_values)
{
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        const double value = exp(log_every("causal-riccati", cells[i].g));
        cr_expect(value >= cells[i].found, "g %g: %g", cells[i].g, value);
        cr_expect(value <= 1.01 * cells[i].upper, "g %g: %g", cells[i].g, value);
        cr_expect_float_eq(value, exp(log_every("causal-sharp", cells[i].g)), 1e-12 * value);
    }
}

/* From 2 at g = 0 to about twice the mean field, which is attained to leading order. */
Test(bounds_causal_every, between_its_limits)
{
    double before = log(2);

    for (double g = 1e-3; g < 1e7; g *= 1.7) {
        const double value = log_every("causal-riccati", g);
        cr_expect(value >= before, "g %g: %g after %g", g, value, before);
        cr_expect_leq(value, log_every("causal-closed", g));
        before = value;
        if (g < 4) continue;
        const double over = value - log(2) - tl_bounds_log_tau_mean_field(g);
        cr_expect(over > -1e-9 && over < 0.05, "g %g: %g", g, over);
    }
    cr_expect(isfinite(log_every("causal-riccati", 1e200)));
    cr_expect_float_eq(exp(log_every("causal-riccati", 0)), 2, 1e-12);
}

/* Decreasing, of one of several shapes. */
static void draw_psi(gsl_rng *rng, size_t n, double *psi)
{
    const size_t shape = draw_below(rng, 4), width = 1 + draw_below(rng, n);
    const double power = 0.4 + 0.6 * gsl_rng_uniform(rng);

    for (size_t j = 0; j < n; j++)
        psi[j] = shape == 0   ? pow((double)j + 1, -power)
                 : shape == 1 ? j < width
                 : shape == 2 ? exp(-(double)j / (double)width)
                              : gsl_rng_uniform(rng);
    for (size_t j = 1; shape == 3 && j < n; j++) psi[j] *= psi[j - 1];
}

/* Phi(h) / h, Phi the integral of psi as a step function. */
static double average(const double *sums, double h)
{
    const double whole = floor(h);
    const size_t j = (size_t)whole;

    return (sums[j] + (h - whole) * (h > whole ? sums[j + 1] - sums[j] : 0)) / h;
}

/* M(i) = sup over h in (0, i] of F(i / (K h)) Phi(h) / h, from below (up = 0) or above (1). */
static double supremum(const tl_bounds_profile *f, const double *sums, size_t i, bool up)
{
    const double ratio = up ? 1.002 : 1.05, n = (double)i;
    double largest = 0;

    for (double h = n; h > n * 1e-6; h /= ratio) {
        const double low = up ? h / ratio : h;
        /* F at y = n f->from / h is x / (x / F(a / x)). */
        const double value = h / tl_bounds_profile_over(f, h, n * f->from);
        largest = fmax(largest, value * average(sums, low));
        /* Before the first token averages are constant and F only falls. */
        if (low < 1) break;
    }
    return largest;
}

static double add_up(const double *psi, size_t n, double *sums)
{
    double squares = 0;

    sums[0] = 0;
    for (size_t j = 0; j < n; j++) {
        sums[j + 1] = sums[j] + psi[j];
        squares += psi[j] * psi[j];
    }
    return squares;
}

/* sum M(i)^2 <= K C |psi|^2 for any profile. */
Test(bounds_causal_every, riccati_condition_holds)
{
    gsl_rng *rng = draw_stream(82);
    double psi[TOKENS], sums[TOKENS + 1], worst = 0;

    for (int s = 0; s < draw_count(60); s++) {
        tl_bounds_profile f;
        const double k = exp(8 * gsl_rng_uniform(rng) - 2), bend = 3 * gsl_rng_uniform(rng);
        tl_bounds_profile_init(&f, 1 / k);
        for (int i = 0; i <= TL_BOUNDS_PROFILE_PIECES; i++)
            f.log_f[i] = -log1p(exp(f.log_y[i] - bend)) + 0.2 * random_normal(rng);
        tl_bounds_profile_close(&f);
        for (int i = 1; i < TL_BOUNDS_PROFILE_PIECES; i++)
            cr_assert(f.slope[i] >= f.slope[i - 1] && f.slope[i] < 1 && f.slope[i - 1] >= 0);
        const double c = tl_bounds_profile_riccati(&f);
        const size_t n = 1 + draw_below(rng, TOKENS);
        draw_psi(rng, n, psi);
        const double squares = add_up(psi, n, sums);
        double sum = 0;
        for (size_t i = 1; i <= n; i++) sum += pow(supremum(&f, sums, i, false), 2);
        cr_assert(sum <= k * c * squares, "k %g n %zu: %g", k, n, sum / (k * c * squares));
        worst = fmax(worst, sum / (k * c * squares));
    }
    cr_expect(worst > 0.6, "worst ratio %g: no teeth", worst);
    gsl_rng_free(rng);
}

/* N = sum P_j |u + t_j a| psi_j of one row, |u| = 1 and |a| = g in the plane with cosine k; x_j =
 * (component along u, component along a), order of psi as given. */
static double row_norm(size_t n, double g, double k, double (*x)[2], const double *psi)
{
    double z = 0, mean = 0, sum = 0, p[TOKENS];

    for (size_t j = 0; j < n; j++) z += p[j] = exp(g * (x[j][1] - 1));
    for (size_t j = 0; j < n; j++) mean += (p[j] /= z) * x[j][0];
    for (size_t j = 0; j < n; j++) {
        const double t = x[j][0] - mean;
        sum += p[j] * sqrt(fmax(1 + 2 * g * k * t + g * g * t * t, 0)) * psi[j];
    }
    return sum;
}

/* Heavies first, of one sign or two, then the others; components independent, as in the proof. */
static void draw_row(gsl_rng *rng, size_t n, double (*x)[2])
{
    const size_t heavies = 1 + draw_below(rng, 1 + n / (1 + draw_below(rng, 40)));
    const size_t signs = draw_below(rng, 4);

    for (size_t j = 0; j < n; j++) {
        const bool heavy = j < heavies;
        x[j][0] = signs == 0            ? 2 * gsl_rng_uniform(rng) - 1
                  : signs == 1 && heavy ? (j % 2 ? 1 : -1)
                  : heavy               ? 1
                                        : -1;
        x[j][1] = signs == 3 ? 2 * gsl_rng_uniform(rng) - 1 : heavy ? 1 : -1;
    }
    /* More of the light ones with the heavies. */
    for (size_t j = heavies; signs == 2 && j < heavies + draw_below(rng, n); j++)
        if (j < n) x[j][0] = 1;
}

Test(bounds_causal_every, rows_stay_below_their_profile)
{
    gsl_rng *rng = draw_stream(83);
    static double x[TOKENS][2];
    double psi[TOKENS], sums[TOKENS + 1], worst = 0;

    for (double g = 0.0625; g < 20; g *= 2) {
        tl_bounds_causal_profile r;
        cr_assert(tl_bounds_causal_profile_find(&r, g, 1));
        cr_expect(r.largest >= 1 - 1e-3 && r.largest < 1.1, "g %g: %g", g, r.largest);
        const double k = expm1(2 * g), unit = 1 + 2 * g;
        for (int s = 0; s < draw_count(60); s++) {
            const size_t n = 1 + draw_below(rng, TOKENS);
            const double cosine = draw_below(rng, 3) ? 1 : 2 * gsl_rng_uniform(rng) - 1;
            draw_psi(rng, n, psi);
            draw_row(rng, n, x);
            (void)add_up(psi, n, sums);
            const double m = unit * supremum(&r.f, sums, n, true), mean = sums[n] / (double)n;
            const double c2 = k * unit * unit * r.c2;
            const double bound = sqrt(r.largest * (m * m + c2 / 4 * mean * mean));
            const double found = row_norm(n, g, cosine, x, psi);
            cr_assert(found <= bound, "g %g n %zu: %g", g, n, found / bound);
            worst = fmax(worst, found / bound);
        }
    }
    cr_expect(worst > 0.93, "worst ratio %g: no teeth", worst);
    gsl_rng_free(rng);
}
