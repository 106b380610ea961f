/* Exponentials and logarithms of eight numbers: claims of wide_exp.h. Reference: expl and logl, of
 * at least 64 bits. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/wide_exp.h"
#include "support/draws.h"
#include "support/wide_variants.h"
#include "tightlip/linalg.h"

enum { LANES = 8 };
static const double LEAST = -708, MOST = 700, UNITS = 1.5;

WIDE_BODY void raise_body(double *x)
{
    wide8 e = *(const wide8u *)x;
    wide_exp(&e);
    *(wide8u *)x = e;
}
WIDE_VARIANTS(raise, (double *x), (x))

typedef void variant(double *x);

WIDE_BODY void lower_body(double *x)
{
    wide8 e = *(const wide8u *)x;
    wide_log(&e);
    *(wide8u *)x = e;
}
WIDE_VARIANTS(lower, (double *x), (x))

/* Distance from a number other than zero in units of its last place. */
static double units_of(double found, long double exact, int digits)
{
    int exponent;
    frexpl(exact, &exponent);
    return (double)(fabsl((long double)found - exact) / ldexpl(1, exponent - digits));
}

static double units_off(double e, double x)
{
    return units_of(e, expl((long double)x), DBL_MANT_DIG);
}

/* e^x of all lanes by every variant: of the same bits, or as near. */
static void raised(const double *x, double *e)
{
    variant *list[3];
    size_t count;
    WIDE_LIST(raise, list, count);
    memcpy(e, x, LANES * sizeof *e);
    list[0](e);
    for (size_t k = 1; k < count; k++) {
        double other[LANES];
        memcpy(other, x, sizeof other);
        list[k](other);
        for (size_t l = 0; l < LANES; l++)
            cr_expect(isnan(x[l]) || !memcmp(&other[l], &e[l], sizeof e[l]) ||
                          (k >= WIDE_ALIKE(count) && units_off(other[l], x[l]) <= UNITS),
                      "variant %zu at %a: %a, not %a", k, x[l], other[l], e[l]);
    }
}

/* Anywhere; near zero; where k changes; small. */
static double argument(gsl_rng *rng, int family)
{
    const double u = gsl_rng_uniform(rng), turn = floor((MOST - LEAST) / log(2.0) * u) + 0.5;
    const double x = family == 0   ? LEAST + (MOST - LEAST) * u
                     : family == 1 ? -40 * u
                     : family == 2 ? LEAST + log(2.0) * turn * (1 + 1e-9 * gsl_rng_uniform(rng))
                                   : (u - 0.5) * ldexp(1, -(int)draw_below(rng, 60));
    return fmin(fmax(x, LEAST), MOST);
}

Test(wide_exp, is_right_to_a_unit_and_a_half_in_every_variant)
{
    gsl_rng *rng = draw_stream(940);
    double worst = 0, at = 0;
    for (int draw = 0; draw < draw_count(40000); draw++) {
        double x[LANES], e[LANES];
        for (size_t l = 0; l < LANES; l++) x[l] = argument(rng, draw % 4);
        raised(x, e);
        for (size_t l = 0; l < LANES; l++) {
            const double off = units_off(e[l], x[l]);
            if (!(off <= worst)) {
                worst = off;
                at = x[l];
            }
        }
    }
    cr_expect(worst <= UNITS, "off by %g units at %a", worst, at);
    gsl_rng_free(rng);
}

Test(wide_exp, ends_of_the_range)
{
    const double x[LANES] = {LEAST, nextafter(LEAST, 0), MOST, 0, -0.0, 1, DBL_TRUE_MIN, -DBL_MIN};
    double e[LANES];
    raised(x, e);
    for (size_t l = 0; l < LANES; l++)
        cr_expect(units_off(e[l], x[l]) <= UNITS, "at %a: %a", x[l], e[l]);
    cr_expect(!(e[3] < 1) && !(e[3] > 1), "of zero: %a", e[3]);
}

Test(wide_exp, is_zero_below_and_keeps_what_is_no_number)
{
    const double x[LANES] = {
        nextafter(LEAST, -INFINITY), -745, -1e4, -1e17, -DBL_MAX, -INFINITY, NAN, -NAN};
    double e[LANES];
    raised(x, e);
    for (size_t l = 0; l < 6; l++)
        cr_expect(!(e[l] < 0) && !(e[l] > 0) && !signbit(e[l]), "at %a: %a", x[l], e[l]);
    cr_expect(isnan(e[6]) && isnan(e[7]));
}

/* Anywhere; next to 1; where k changes. */
static double logarithm_of(gsl_rng *rng, int family)
{
    const double u = gsl_rng_uniform(rng);
    if (family == 0) return ldexp(0.5 + 0.5 * u, (int)draw_below(rng, 2000) - 1000);
    if (family == 1) return 1 + (u - 0.5) * ldexp(1, -(int)draw_below(rng, 52));
    return ldexp(sqrt(0.5) * (1 + 1e-9 * (u - 0.5)), (int)draw_below(rng, 9) - 4);
}

Test(wide_exp, logarithms_are_right_to_a_unit_in_every_variant)
{
    gsl_rng *rng = draw_stream(941);
    variant *list[3];
    size_t count;
    WIDE_LIST(lower, list, count);
    for (int draw = 0; draw < draw_count(40000); draw++) {
        double x[LANES], y[LANES], first[LANES];
        for (size_t l = 0; l < LANES; l++) x[l] = l ? logarithm_of(rng, draw % 3) : 1;
        for (size_t k = 0; k < count; k++) {
            memcpy(y, x, sizeof y);
            list[k](y);
            if (k == 0) memcpy(first, y, sizeof y);
            cr_assert(!(y[0] < 0) && !(y[0] > 0), "of one: %a", y[0]);
            cr_assert(k >= WIDE_ALIKE(count) || !memcmp(first, y, sizeof y), "variant %zu", k);
            for (size_t l = 1; l < LANES; l++)
                cr_assert((x[l] <= 1 && x[l] >= 1) ||
                              units_of(y[l], logl((long double)x[l]), DBL_MANT_DIG) <= 1,
                          "variant %zu at %a: %a", k, x[l], y[l]);
        }
    }
    gsl_rng_free(rng);
}

/* Rows of every length, in place, apart, and their sum alone; what is behind is left alone. */
Test(wide_exp, rows_of_powers)
{
    enum { LONG = 40 };
    gsl_rng *rng = draw_stream(942);
    for (int draw = 0; draw < draw_count(200); draw++)
        for (size_t n = 0; n < LONG; n++) {
            double x[LONG + 1], out[LONG + 1], sum = 0;
            float y[LONG + 1], y_out[LONG + 1];
            const double shift = 20 * gsl_rng_uniform(rng), reach = draw % 2 ? 3 : 900;
            double sum_single = 0;
            for (size_t i = 0; i <= n; i++) {
                x[i] = shift - reach * gsl_rng_uniform(rng);
                y[i] = (float)x[i];
                out[i] = 7;
                y_out[i] = 7;
            }
            const double total = tl_softmax_exp(n, x, shift, out);
            const double total_single = tl_softmax_exp_single(n, y, (float)shift, y_out);
            cr_expect(out[n] >= 7 && y_out[n] >= 7);
            for (size_t i = 0; i < n; i++) {
                const double by = x[i] - shift;
                const float by_single = y[i] - (float)shift;
                sum += out[i];
                sum_single += (double)y_out[i];
                cr_expect(by < LEAST ? !(out[i] > 0) : units_off(out[i], by) <= UNITS, "at %a", by);
                cr_expect(by_single < -87 ? !(y_out[i] > 0)
                                          : units_of((double)y_out[i], expl((long double)by_single),
                                                     FLT_MANT_DIG) <= 2,
                          "at %a: %a", (double)by_single, (double)y_out[i]);
            }
            const double room = 64 * DBL_EPSILON;
            cr_expect(fabs(total - sum) <= room * sum &&
                      fabs(total_single - sum_single) <= room * sum_single);
            const double alone = tl_softmax_exp(n, x, shift, NULL);
            const double alone_single = tl_softmax_exp_single(n, y, (float)shift, NULL);
            (void)tl_softmax_exp(n, x, shift, x);
            (void)tl_softmax_exp_single(n, y, (float)shift, y);
            cr_expect(!memcmp(&alone, &total, sizeof alone) && !memcmp(x, out, n * sizeof *x));
            cr_expect(!memcmp(&alone_single, &total_single, sizeof alone_single) &&
                      !memcmp(y, y_out, n * sizeof *y));
        }
    gsl_rng_free(rng);
}
