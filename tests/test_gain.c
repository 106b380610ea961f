/* Measures at which splitting pays most. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/draws.h"
#include "support/measure_line.h"
#include "tightlip/slopes.h"

/* Two atoms 0 and R of masses 1 - p and p, logits x y. On a line, from the definitions: joint block
 * of two by two, and a grid over where a share of either atom goes (no output lies between: no
 * chains). */
static double gain_of_two(double R, double p)
{
    const double z[] = {0, R}, a[] = {1 - p, p};
    double J[2][2], f[2], best = 0;

    for (int k = 0; k < 2; k++) {
        const double w1 = p * exp(z[k] * R), P1 = w1 / (1 - p + w1), P[] = {1 - P1, P1};
        f[k] = P1 * R;
        for (int l = 0; l < 2; l++) {
            J[k][l] = P[l] * (1 + (z[l] - f[k]) * z[k]);
            if (k == l) J[k][l] += P1 * (1 - P1) * R * R;
            J[k][l] *= sqrt(a[k] / a[l]);
        }
    }
    const double sum =
        J[0][0] * J[0][0] + J[0][1] * J[0][1] + J[1][0] * J[1][0] + J[1][1] * J[1][1];
    const double det = J[0][0] * J[1][1] - J[0][1] * J[1][0];
    const double move = sqrt((sum + sqrt(fmax(sum * sum - 4 * det * det, 0))) / 2);
    for (int i = 1; i < 200000; i++) {
        const double y = R * (2.0 * i / 200000 - 1), w1 = p * exp(y * R);
        for (int k = 0; k < 2; k++)
            best = fmax(best, fabs(w1 / (1 - p + w1) * R - f[k]) / fmax(fabs(y - z[k]), 1e-9));
    }
    return fmax(best, move) / move;
}

static measure_line two_atoms(double R, double p)
{
    const double x[] = {0, R};
    measure_line l = measure_line_at(1, 2, x, R);

    l.mu->log_mass[0] = log1p(-p);
    l.mu->log_mass[1] = log(p);
    return l;
}

Test(gain, of_the_given_measure_by_definition)
{
    static const double rows[][2] = {{2, 0.1}, {3, 0.01}, {3, 1e-3}, {4, 1e-3}, {5, 1e-6}};
    const tl_gain_settings alone = {.restarts = 1, .evaluations = 1, .seed = 1};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        measure_line l = two_atoms(rows[i][0], rows[i][1]);
        tl_measure *mu = NULL;
        double gain = 0;
        cr_assert_eq(tl_gain_search(l.layer, l.mu, l.ball, &alone, &mu, &gain, NULL), TL_OK);
        const double truth = gain_of_two(rows[i][0], rows[i][1]);
        cr_expect_float_eq(gain, truth, 1e-4 * truth, "R = %g: %.6f, expected %.6f", rows[i][0],
                           gain, truth);
        cr_expect_eq(memcmp(mu->x, l.mu->x, 2 * sizeof *mu->x), 0);
        tl_measure_free(mu);
        measure_line_clear(&l);
    }
}

/* More work never gives less; what comes back lies in the domain and has the gain that is said. */
Test(gain, rises_and_can_be_found_again)
{
    const double R = 3;
    double before = 0;

    for (size_t evaluations = 1; evaluations <= 120; evaluations = 3 * evaluations + 1) {
        const tl_gain_settings settings = {.restarts = 2, .evaluations = evaluations, .seed = 7};
        measure_line l = two_atoms(R, 0.3);
        tl_measure *mu = NULL, *again = NULL;
        tl_slopes s;
        double gain = 0, same = 0;
        cr_assert_eq(tl_gain_search(l.layer, l.mu, l.ball, &settings, &mu, &gain, NULL), TL_OK);
        cr_assert_eq(tl_gain_search(l.layer, l.mu, l.ball, &settings, &again, &same, NULL), TL_OK);
        cr_expect(gain >= before && gain == same && mu->m == 2);
        cr_expect_eq(tl_domain_check(l.ball, mu, NULL), TL_OK);
        cr_assert_eq(tl_slopes_find(l.layer, mu, l.ball, 16, 1, &s, NULL), TL_OK);
        cr_expect(s.pointwise / s.move >= gain * (1 - 1e-6));
        cr_expect_float_eq(s.pointwise / s.move, gain, 0.02 * gain);
        before = gain;
        tl_slopes_clear(&s);
        tl_measure_free(mu);
        tl_measure_free(again);
        measure_line_clear(&l);
    }
    cr_expect(before > 1.5, "%g", before);
}

/* A mass as small as allowed is best here, and reached. */
Test(gain, no_atom_is_lighter_than_the_least)
{
    static const double least[] = {0.1, 1e-2, 1e-3};

    for (size_t i = 0; i < sizeof least / sizeof *least; i += draw_stride(3)) {
        const tl_gain_settings settings = {
            .restarts = 3, .evaluations = 150, .least_mass = least[i], .seed = 7};
        measure_line l = two_atoms(3, 0.2);
        tl_measure *mu = NULL;
        double gain = 0;
        cr_assert_eq(tl_gain_search(l.layer, l.mu, l.ball, &settings, &mu, &gain, NULL), TL_OK);
        const double p = exp(fmin(mu->log_mass[0], mu->log_mass[1]));
        cr_expect(p >= least[i] * (1 - 1e-12), "%g", p);
        cr_expect(p < 1.5 * least[i], "%g, gain %g", p, gain);
        tl_measure_free(mu);
        measure_line_clear(&l);
    }
}

Test(gain, refuses_what_has_no_slopes)
{
    const tl_gain_settings none = {.restarts = 0, .evaluations = 1}, one = {1, 1, 0, 1, 0},
                           rare = {1, 1, 0.2, 1, 0}, many = {1, 1, 0.3, 1, 0};
    measure_line l = two_atoms(2, 0.1);
    tl_measure *mu = NULL;
    double gain;

    cr_expect_eq(tl_gain_search(l.layer, l.mu, l.ball, &none, &mu, &gain, NULL), TL_ERR_ARGUMENT);
    cr_expect_eq(tl_gain_search(l.layer, l.mu, l.ball, &rare, &mu, &gain, NULL), TL_ERR_ARGUMENT);
    cr_expect_eq(tl_gain_search(l.layer, l.mu, l.ball, &many, &mu, &gain, NULL), TL_ERR_ARGUMENT);
    l.mu->x[1] = 5; /* outside [-2, 2] */
    cr_expect_eq(tl_gain_search(l.layer, l.mu, l.ball, &one, &mu, &gain, NULL), TL_ERR_DOMAIN);
    cr_expect_null(mu);
    measure_line_clear(&l);
}
