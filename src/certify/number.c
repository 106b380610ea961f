#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "certify/internal.h"

enum { DIGITS = 20, PLAIN = 21, SMALL = 4, LONGEST_EXPONENT = 62 /* bits */ };

/* mantissa 10^exponent, of about that many digits, at most x (up: at least x), x > 0 finite. */
static void decimal(fmpz_t mantissa, fmpz_t exponent, const arf_t x, slong count, bool up)
{
    const slong prec = 192 + arf_bits(x) + (slong)fmpz_bits(ARF_EXPREF(x));
    arb_t t, ten;
    arf_t end;
    fmpz_t power;

    arb_init(t);
    arb_init(ten);
    arf_init(end);
    fmpz_init(power);
    arb_set_arf(t, x);
    arb_log(t, t, prec);
    arb_set_ui(ten, 10);
    arb_log(ten, ten, prec);
    arb_div(t, t, ten, prec);
    arf_get_fmpz(exponent, arb_midref(t), ARF_RND_FLOOR);
    fmpz_sub_si(exponent, exponent, count - 1);
    /* Whole powers of ten are exact at this precision where it matters, so that 2 stays 2. */
    arb_set_ui(ten, 10);
    arb_set_arf(t, x);
    fmpz_abs(power, exponent);
    arb_pow_fmpz(ten, ten, power, prec);
    if (fmpz_sgn(exponent) < 0)
        arb_mul(t, t, ten, prec);
    else
        arb_div(t, t, ten, prec);
    if (up)
        arb_get_ubound_arf(end, t, prec);
    else
        arb_get_lbound_arf(end, t, prec);
    arf_get_fmpz(mantissa, end, up ? ARF_RND_CEIL : ARF_RND_FLOOR);
    fmpz_clear(power);
    arf_clear(end);
    arb_clear(ten);
    arb_clear(t);
}

/* Digits with a point at its place, or in scientific form; zeros at the end are left out. */
static void place_point(char text[TL_CERTIFIED_SIZE], char *digits, slong exponent)
{
    const slong length = (slong)strlen(digits), scientific = exponent + length - 1;
    slong kept = length;

    while (kept > 1 && digits[kept - 1] == '0') kept--;
    if (scientific >= 0 && scientific < PLAIN) {
        const int whole = (int)(scientific + 1);
        if (kept <= whole)
            (void)snprintf(text, TL_CERTIFIED_SIZE, "%.*s%.*s", (int)kept, digits,
                           whole - (int)kept, "000000000000000000000");
        else
            (void)snprintf(text, TL_CERTIFIED_SIZE, "%.*s.%.*s", whole, digits, (int)kept - whole,
                           digits + whole);
    } else if (scientific < 0 && scientific >= -SMALL) {
        (void)snprintf(text, TL_CERTIFIED_SIZE, "0.%.*s%.*s", (int)-scientific - 1, "00000000",
                       (int)kept, digits);
    } else {
        (void)snprintf(text, TL_CERTIFIED_SIZE, "%c%s%.*se%+lld", digits[0], kept > 1 ? "." : "",
                       (int)kept - 1, digits + 1, (long long)scientific);
    }
}

/* log10 x, moved down or up to a double. */
static double log10_of(const arf_t x, bool up)
{
    const slong prec = 128 + (slong)fmpz_bits(ARF_EXPREF(x));
    arb_t t, ten;
    arf_t end;
    double result;

    arb_init(t);
    arb_init(ten);
    arf_init(end);
    arb_set_arf(t, x);
    arb_log(t, t, prec);
    arb_set_ui(ten, 10);
    arb_log(ten, ten, prec);
    arb_div(t, t, ten, prec);
    if (up)
        arb_get_ubound_arf(end, t, prec);
    else
        arb_get_lbound_arf(end, t, prec);
    result = arf_get_d(end, up ? ARF_RND_CEIL : ARF_RND_FLOOR);
    arf_clear(end);
    arb_clear(ten);
    arb_clear(t);
    return result;
}

static double double_of(const arf_t x, bool up)
{
    if (arf_cmpabs_d(x, DBL_MAX) > 0) return up ? (double)INFINITY : DBL_MAX;
    return arf_get_d(x, up ? ARF_RND_CEIL : ARF_RND_FLOOR);
}

static void set_number(tl_certified *number, const arf_t x, slong count, bool up)
{
    fmpz_t mantissa, exponent;

    *number = (tl_certified){.text = "0", .log10 = -(double)INFINITY};
    if (arf_is_nan(x) || arf_is_pos_inf(x)) {
        *number = (tl_certified){"inf", (double)INFINITY, (double)INFINITY};
        return;
    }
    if (arf_sgn(x) <= 0) return;
    number->value = double_of(x, up);
    number->log10 = log10_of(x, up);
    /* Numbers whose exponent has an exponent: their logarithm alone is given. */
    if (fmpz_bits(ARF_EXPREF(x)) > LONGEST_EXPONENT) {
        (void)snprintf(number->text, sizeof number->text, "%s",
                       fmpz_sgn(ARF_EXPREF(x)) < 0 ? (up ? "1e-1000000000000000000" : "0")
                                                   : (up ? "inf" : "1e1000000000000000000"));
        return;
    }
    fmpz_init(mantissa);
    fmpz_init(exponent);
    decimal(mantissa, exponent, x, count, up);
    char *digits = fmpz_get_str(NULL, 10, mantissa);
    place_point(number->text, digits, fmpz_get_si(exponent));
    flint_free(digits);
    fmpz_clear(exponent);
    fmpz_clear(mantissa);
}

void tl_certify_number(tl_certified *number, const arf_t x, bool up)
{
    set_number(number, x, DIGITS, up);
}

void tl_certify_known_low(tl_certified *number, const arb_t ball, slong prec)
{
    const double known = (double)arb_rel_accuracy_bits(ball) * log10(2) + 2;
    arf_t end;

    arf_init(end);
    arb_get_lbound_arf(end, ball, prec);
    set_number(number, end, known < DIGITS ? (slong)known : DIGITS, false);
    arf_clear(end);
}
