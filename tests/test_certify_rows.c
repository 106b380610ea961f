/* Row bounds without a search, in balls and in doubles: two writings, for logits that deviations of
 * the values allow and for smaller and larger ones. */
#include <criterion/criterion.h>
#include <math.h>

#include "bounds/internal.h"
#include "certify/sharp.h"

static const double sizes[] = {0.05, 0.2, 0.5, 1, 1.7, 3, 8, 25}, shares[] = {0.25, 0.5, 1, 2};

/* log of a square, for what is rounded up by doubles. */
static void expect_same(const arb_t square, double log_root, const char *what, double g, double l,
                        double n)
{
    const double ball = log(tl_certify_up(square));

    cr_expect(fabs(ball - 2 * log_root) <= 1e-11 * (1 + fabs(ball)),
              "%s, g %g, l %g, n %g: %.17g, by doubles %.17g", what, g, l, n, ball, 2 * log_root);
}

Test(certify_rows, two_writings_agree)
{
    static const double counts[] = {2, 3, 50, 1e6, (double)INFINITY};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof shares / sizeof *shares; j++) {
            const double g = sizes[i], l = shares[j] * g;
            tl_certify_size s = {.prec = 128, .coupled = true};
            arb_t square;
            arb_init(square);
            arb_init(s.g);
            arb_init(s.l);
            arb_init(s.c);
            fmpz_init_set_ui(s.n, 2);
            arb_set_d(s.g, g);
            arb_set_d(s.l, l);
            tl_certify_pair_square(square, &s);
            expect_same(square, tl_bounds_log_tau_pair_at(g, l), "pair", g, l, 2);
            tl_certify_mean_field_square(square, &s);
            expect_same(square, tl_bounds_log_tau_mean_field_at(g, l), "mean field", g, l, 0);
            for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
                s.infinite = isinf(counts[k]) != 0;
                if (!s.infinite) fmpz_set_d(s.n, counts[k]);
                tl_certify_schur_square(square, &s);
                expect_same(square, tl_bounds_log_tau_schur_at(counts[k], s.infinite, g, l),
                            "schur", g, l, counts[k]);
            }
            tl_certify_size_clear(&s);
            arb_clear(square);
        }
}

/* Two tokens with weights (1 + D)/2 and (1 - D)/2, |D| <= tanh l: no D is above the bound, and one
 * comes near. */
Test(certify_rows, pairs_point_by_point)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof shares / sizeof *shares; j++) {
            const double g = sizes[i], l = shares[j] * g, bound = tl_bounds_log_tau_pair_at(g, l);
            double best = 0;
            for (int k = 0; k <= 2000; k++) {
                const double D = tanh(l) * k / 2000, rest = 1 - D * D;
                best = fmax(best, 1 + D * D + 2 * g * D * rest + g * g * rest * rest);
            }
            cr_expect(log(best) / 2 <= bound + 1e-12 && log(best) / 2 >= bound - 1e-5,
                      "g %g, l %g: %.9g of %.9g", g, l, log(best) / 2, bound);
        }
}

/* Rows by three weights: two searches, that in balls with fewer splits and so a little above. */
Test(certify_rows, three_weights)
{
    static const double rows[][3] = {{200, 5, 2.5}, {20, 3, 3}, {6, 5, 2.5}, {4, 3, 1.5}};

    for (size_t i = 0; i < 2 * (sizeof rows / sizeof *rows); i++) {
        const double n = rows[i / 2][0], g = rows[i / 2][1], l = rows[i / 2][2];
        const bool coupled = i % 2;
        tl_certify_size s = {.prec = 128, .coupled = coupled};
        arb_t square, most;
        arb_init(square);
        arb_init(most);
        arb_init(s.g);
        arb_init(s.l);
        arb_init(s.c);
        fmpz_init_set_ui(s.n, (ulong)n);
        arb_set_d(s.g, g);
        arb_set_d(s.l, l);
        arb_set_d(most, n * (1 + g) * (1 + g));
        tl_certify_three_square(square, &s, most);
        const double ball = log(tl_certify_up(square) / n);
        const double plain = tl_bounds_log_row_three_at(n, g, l, coupled, 2 * log1p(g), 6000);
        cr_expect(ball > plain - 1e-3 && ball < plain + 0.04,
                  "n %g, g %g, l %g, coupled %d: %.9g, by doubles %.9g", n, g, l, coupled, ball,
                  plain);
        tl_certify_size_clear(&s);
        arb_clear(most);
        arb_clear(square);
    }
}
