/* Forms A to D of the spectral norm of L2 attention in balls, against the doubles, which are
 * rounded up and choose their parameters by themselves, and against a plain evaluation at the same
 * ones. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include "bounds/l2_norm.h"
#include "certify/boxes.h"
#include "certify/l2_norm.h"
#include "support/draws.h"

typedef double doubles(double n, size_t k, double l);

/* A form at the parameters chosen, squared, its maximum over a grid: what the ball cannot go below.
 */
typedef double grid(const tl_certify_l2_size *size);
static grid grid_c, grid_d;

static const struct {
    const char *name;
    tl_certify_l2_form *balls;
    doubles *doubles;
    double below, above; /* how far from the doubles, relative; form C of the balls tries more */
    grid *grid;
} forms[] = {{"A", tl_certify_l2_form_a, tl_bounds_l2_form_a, 1e-11, 0, NULL},
             {"B", tl_certify_l2_form_b, tl_bounds_l2_form_b, 1e-4, 1e-3, NULL},
             {"C", tl_certify_l2_form_c, tl_bounds_l2_form_c, 1, 1e-3, grid_c},
             {"D", tl_certify_l2_form_d, tl_bounds_l2_form_d, 0.01, 0.01, grid_d}};

enum { FORMS = sizeof forms / sizeof forms[0], POINTS = 40000 };

static const uint64_t tokens[] = {2, 5, 129, 100001, 1000000000000};
static const size_t widths[] = {1, 3, 1000000};
static const double caps[] = {INFINITY, 0, 0.3, 40};

enum { TOKENS = 5, WIDTHS = 3, CAPS = 4 };

/* log of 17.1 at b = 4/x, with the factor of Hoelder's inequality. */
static double log_columns(const tl_certify_l2_size *size, tl_certify_l2_choice at)
{
    const double a = at.p * (1 - at.e) / 2, r = 1 - a, s = a * (2 - a), q = sqrt(at.p - 1);
    const double b = 4 / at.x;
    const double bracket = 1 + b / (2 * s) * (2 * q * r + (1 - q) * (1 - q)) +
                           q * q * b * b * (r * r + 2) / (4 * s * s);

    return (log(bracket) - (double)size->k / 2 * log(s)) / at.p +
           (1 - 1 / at.p) * tl_certify_mid(size->log_n1);
}

static double grid_c(const tl_certify_l2_size *size)
{
    const tl_certify_l2_choice at = tl_certify_l2_choose_c(size);
    const double rest = tl_certify_mid(size->rest),
                 l = size->capped ? tl_certify_mid(size->l) : 1e9;
    double most = 0;

    for (int i = 0; i < POINTS; i++) {
        const double delta = exp(-log1p(rest) * i / POINTS);
        const double e = i ? (1 - delta) * log(rest * delta / (1 - delta)) : 0;
        const double d =
            fmin(1 + 2 * fmin(tl_certify_mid(size->c_star), l), 2 * fmin(e, l) + delta);
        const double r = 1 - delta + at.x * fmin(e, l);
        most = fmax(most, pow(delta, 1 - 1 / at.p) * r * at.lambda / (at.lambda - d * d));
    }
    return at.lambda + most * exp(log_columns(size, at));
}

static double grid_d(const tl_certify_l2_size *size)
{
    const tl_certify_l2_choice at = tl_certify_l2_choose_d(size);
    const double rest = tl_certify_mid(size->rest), d = tl_certify_mid(size->top);
    double most = 0;

    for (int i = 0; i < 2 * POINTS; i++) {
        const double m = i % 2 ? tl_certify_mid(size->c) : 0;
        const double t = (log1p(rest) + 10) * (double)(i / 2) / POINTS, alpha = 2 * d / at.lambda;
        const double g =
            exp(-at.e * t) * (1 + at.x * (1 + at.kappa) * t + at.x * (1 + 1 / at.kappa) * m);
        most = fmax(most, g / ((1 - d / at.lambda + alpha * m) / rest * exp(t) - alpha * t + 1 +
                               alpha * m));
    }
    return at.lambda + most * exp(log_columns(size, at));
}

static void check(size_t i, uint64_t n, size_t width, double cap)
{
    const double by = forms[i].doubles((double)n, tl_bounds_l2_span((double)n, width), cap);
    tl_certify_l2_size size;
    fmpz_t count;
    arb_t value, l;

    fmpz_init_set_ui(count, n);
    arb_init(value);
    arb_init(l);
    arb_set_d(l, cap);
    tl_certify_l2_size_init(&size, count, width, isfinite(cap) ? l : NULL, TL_CERTIFY_FIRST_BITS);
    forms[i].balls(value, &size);
    const double up = tl_certify_up(value);
    const double plain = forms[i].grid ? sqrt(forms[i].grid(&size)) : up;
    cr_expect(!isfinite(by) || (up >= by * (1 - forms[i].below) && up <= by * (1 + forms[i].above)),
              "form %s, n = %llu, width %zu, cap %g: %.17g, by doubles %.17g", forms[i].name,
              (unsigned long long)n, width, cap, up, by);
    cr_expect(!isfinite(up) || (up >= plain * (1 - 1e-12) && up <= plain * (1 + 2e-4)),
              "form %s, n = %llu, width %zu, cap %g: %.17g, over a grid %.17g", forms[i].name,
              (unsigned long long)n, width, cap, up, plain);
    tl_certify_l2_size_clear(&size);
    arb_clear(l);
    arb_clear(value);
    fmpz_clear(count);
}

Test(certify_l2, forms_over_a_table)
{
    for (size_t c = 0; c < TOKENS * WIDTHS * CAPS; c += draw_stride(7))
        for (size_t i = 0; i < FORMS; i++)
            check(i, tokens[c % TOKENS], widths[c / TOKENS % WIDTHS], caps[c / TOKENS / WIDTHS]);
    tl_certify_cleanup();
}

/* Few tokens: the supremum of two, and what `tightlip exact` says of three and four on a line; +inf
 * where doubles know more. */
Test(certify_l2, few_tokens)
{
    static const struct {
        uint64_t n;
        size_t width;
    } rows[] = {{1, 3}, {2, 1}, {2, 7}, {3, 1}, {4, 1}, {3, 2}, {5, 1}};
    fmpz_t n;
    arb_t value;

    fmpz_init(n);
    arb_init(value);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fmpz_set_ui(n, rows[i].n);
        arb_pos_inf(value);
        tl_certify_l2_norm(value, n, rows[i].width, NULL, TL_CERTIFY_FIRST_BITS);
        const double by = tl_bounds_l2_norm((double)rows[i].n, rows[i].width, INFINITY);
        if (i < 5)
            cr_expect(fabs(tl_certify_up(value) - by) < 1e-13, "n = %d", (int)rows[i].n);
        else
            cr_expect(!arb_is_finite(value), "n = %d", (int)rows[i].n);
        /* A value below stays. */
        arb_set_d(value, 1.25);
        tl_certify_l2_norm(value, n, rows[i].width, NULL, TL_CERTIFY_FIRST_BITS);
        cr_expect_eq(tl_certify_up(value), rows[i].n == 1 ? 1 : 1.25);
    }
    arb_clear(value);
    fmpz_clear(n);
}

/* Where the lemma says nothing, the columns say nothing either. */
Test(certify_l2, columns_outside_the_lemma)
{
    static const struct {
        tl_certify_l2_choice at;
        bool inside;
    } rows[] = {{{.x = 0.5, .p = 1}, true},
                {{.x = 0.5, .p = 2}, true},
                {{.x = 0.5, .p = 1.5, .e = 0.25}, true},
                {{.x = 0.5, .p = 1 - DBL_EPSILON}, false},
                {{.x = 0.5, .p = 2 + 2 * DBL_EPSILON}, false},
                {{.x = 0.5, .p = 2.5, .e = 0.25}, false},
                {{.x = 0.5, .p = 1, .e = -0.25}, false},
                {{.x = 0.5, .p = 1, .e = 1.25}, false},
                {{.x = -0.5, .p = 1}, false},
                {{.x = (double)NAN, .p = 1}, false}};
    tl_certify_l2_size size;
    fmpz_t n;
    arb_t value;

    fmpz_init_set_ui(n, 17);
    arb_init(value);
    tl_certify_l2_size_init(&size, n, 3, NULL, TL_CERTIFY_FIRST_BITS);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_certify_l2_columns(value, &size, &rows[i].at);
        cr_expect_eq(arb_is_finite(value) != 0, rows[i].inside, "row %zu", i);
    }
    tl_certify_l2_size_clear(&size);
    arb_clear(value);
    fmpz_clear(n);
    tl_certify_cleanup();
}
