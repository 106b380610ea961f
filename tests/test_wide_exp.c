/* Exponentials of eight numbers: claims of wide_exp.h. Reference: expl, of at least 64 bits. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/wide_exp.h"
#include "support/draws.h"
#include "support/wide_variants.h"

enum { LANES = 8 };
static const double LEAST = -708, MOST = 700, UNITS = 1.5;

WIDE_BODY void raise_body(double *x)
{
    wide_exp((wide8 *)x);
}
WIDE_VARIANTS(raise, (double *x), (x))

typedef void variant(double *x);

/* e^x of all lanes by every variant, of the same bits. */
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
            cr_expect(isnan(x[l]) || !memcmp(&other[l], &e[l], sizeof e[l]),
                      "variant %zu at %a: %a, not %a", k, x[l], other[l], e[l]);
    }
}

/* Distance from e^x in units of its last place. */
static double units_off(double e, double x)
{
    const long double exact = expl((long double)x);
    int exponent;
    frexpl(exact, &exponent);
    return (double)(fabsl((long double)e - exact) / ldexpl(1, exponent - DBL_MANT_DIG));
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
