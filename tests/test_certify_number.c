/* Numbers rounded in one direction: the decimal, the double and the logarithm each stay on their
 * side of what they stand for, and near it. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "certify/internal.h"
#include "support/draws.h"

enum { BITS = 1000 };

static void log10_of(arb_t log10, const arb_t x)
{
    arb_t ten;

    arb_init(ten);
    arb_set_ui(ten, 10);
    arb_log(ten, ten, BITS);
    arb_log(log10, x, BITS);
    arb_div(log10, log10, ten, BITS);
    arb_clear(ten);
}

/* Whether a <= b, or b <= a where `up`, for all that is known. */
static bool on_its_side(const arb_t a, const arb_t b, bool up)
{
    return up ? !arb_lt(a, b) : !arb_gt(a, b);
}

static void expect_beside(const arf_t x, bool up)
{
    tl_certified number;
    arb_t exact, rounded, logarithm;

    arb_init(exact);
    arb_init(rounded);
    arb_init(logarithm);
    arb_set_arf(exact, x);
    log10_of(logarithm, exact);
    tl_certify_number(&number, x, up);
    cr_assert_eq(arb_set_str(rounded, number.text, BITS), 0, "%s", number.text);
    cr_expect(on_its_side(rounded, exact, up), "%s, up %d: the decimal", number.text, up);
    arb_div(rounded, rounded, exact, BITS);
    cr_expect(fabs(arf_get_d(arb_midref(rounded), ARF_RND_NEAR) - 1) <= 4 * DBL_EPSILON, "%s",
              number.text);
    arb_set_d(rounded, number.value);
    cr_expect(on_its_side(rounded, exact, up), "%s, up %d: %.17g", number.text, up, number.value);
    arb_set_d(rounded, number.log10);
    cr_expect(on_its_side(rounded, logarithm, up), "%s, up %d: 10^%.17g", number.text, up,
              number.log10);
    const double close = arf_get_d(arb_midref(logarithm), ARF_RND_NEAR);
    cr_expect(fabs(number.log10 - close) <= DBL_EPSILON * (fabs(close) + DBL_MIN), "%s: 10^%.17g",
              number.text, number.log10);
    arb_clear(logarithm);
    arb_clear(rounded);
    arb_clear(exact);
}

/* More bits than a double has, sizes inside and outside its range. */
Test(certify_number, each_form_on_its_side)
{
    gsl_rng *rng = draw_stream(141);
    arf_t x, low;

    arf_init(x);
    arf_init(low);
    for (int i = draw_count(400); i-- > 0;) {
        arf_set_d(x, 1 + gsl_rng_uniform(rng));
        arf_set_d(low, gsl_rng_uniform(rng));
        arf_mul_2exp_si(low, low, -53 - (slong)draw_below(rng, 60));
        arf_add(x, x, low, ARF_PREC_EXACT, ARF_RND_DOWN);
        arf_mul_2exp_si(x, x, (slong)draw_below(rng, i % 2 ? 3000 : 80) - (i % 2 ? 1500 : 40));
        expect_beside(x, false);
        expect_beside(x, true);
    }
    arf_clear(low);
    arf_clear(x);
    gsl_rng_free(rng);
}

/* x = 2^exponent. */
Test(certify_number, where_forms_change)
{
    static const struct {
        const char *exponent, *low, *high;
        double value[2];
    } rows[] = {
        {"0", "1", "1", {1, 1}},
        {"-13", "0.0001220703125", "0.0001220703125", {0x1p-13, 0x1p-13}},
        {"-14", "6.103515625e-5", "6.103515625e-5", {0x1p-14, 0x1p-14}},
        {"66", "73786976294838206464", "73786976294838206464", {0x1p66, 0x1p66}},
        {"1024", "1.7976931348623159", NULL, {DBL_MAX, (double)INFINITY}},
        {"-1075", "2.47", NULL, {0, DBL_TRUE_MIN}},
        /* Exponents of exponents: the text says no more than which side. */
        {"36893488147419103232", "1e1000000000000000000", "inf", {DBL_MAX, (double)INFINITY}},
        {"-36893488147419103232", "0", "1e-1000000000000000000", {0, DBL_TRUE_MIN}},
    };
    fmpz_t exponent;
    arf_t x;

    fmpz_init(exponent);
    arf_init(x);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tl_certified low, high;
        cr_assert_eq(fmpz_set_str(exponent, rows[i].exponent, 10), 0);
        arf_one(x);
        arf_mul_2exp_fmpz(x, x, exponent);
        tl_certify_number(&low, x, false);
        tl_certify_number(&high, x, true);
        cr_expect_eq(strncmp(low.text, rows[i].low, strlen(rows[i].low)), 0, "%s", low.text);
        if (rows[i].high) {
            cr_expect_str_eq(low.text, rows[i].low);
            cr_expect_str_eq(high.text, rows[i].high);
        }
        cr_expect(low.value == rows[i].value[0] && high.value == rows[i].value[1], "2^%s: [%g, %g]",
                  rows[i].exponent, low.value, high.value);
        const double logarithm = fmpz_get_d(exponent) * log10(2);
        cr_expect(low.log10 <= high.log10 &&
                      fabs(low.log10 - logarithm) <= 4 * DBL_EPSILON * fabs(logarithm),
                  "2^%s: 10^[%.17g, %.17g]", rows[i].exponent, low.log10, high.log10);
    }
    arf_clear(x);
    fmpz_clear(exponent);
}

/* 1 up to 2^-50: 15 digits are known. */
Test(certify_number, digits_that_are_known)
{
    tl_certified number;
    arb_t ball, text;
    arf_t end;

    arb_init(ball);
    arb_init(text);
    arf_init(end);
    arb_one(ball);
    mag_set_ui_2exp_si(arb_radref(ball), 1, -50);
    tl_certify_known_low(&number, ball, 128);
    cr_assert_eq(arb_set_str(text, number.text, BITS), 0);
    arb_get_lbound_arf(end, ball, 128);
    arb_set_arf(ball, end);
    cr_expect(on_its_side(text, ball, false), "%s", number.text);
    cr_expect_leq(strlen(number.text), strlen("0.") + 17, "%s", number.text);
    cr_expect_geq(strlen(number.text), strlen("0.") + 15, "%s", number.text);
    arf_clear(end);
    arb_clear(text);
    arb_clear(ball);
}
