/* The forms behind l2-2 as bounds of their own, and form B. Proofs: README section 17. */
#include <float.h>
#include <math.h>

#include "bounds/l2.h"
#include "bounds/l2_norm.h"
#include "tightlip/linalg.h"

/* Form B with k free: delta R(delta)^2 over delta = e^(-v), R = 1 - delta + x min(E, l). */
typedef struct {
    double n, log_n1, c, lmax;
    double mode; /* v where E is largest */
    double x;
    size_t k;
} form_b;

/* E(delta) at delta = e^(-v), rounded up. */
static double entropy(const form_b *f, double v)
{
    if (v <= 0) return 0;
    const double e = -expm1(-v) * (f->log_n1 - log(expm1(v)));
    return fmax(e, 0) + 16 * DBL_EPSILON * (1 + f->log_n1);
}

static double row_sum(const form_b *f, double lo, double hi)
{
    const bool peak = lo <= f->mode && f->mode <= hi;
    const double e = peak ? f->c : fmax(entropy(f, lo), entropy(f, hi));

    return -expm1(-hi) + f->x * fmin(e, f->lmax);
}

static double weighted(const void *context, const double *lo, const double *hi)
{
    const double r = row_sum(context, *lo, *hi);

    return exp(-*lo) * r * r * (1 + 16 * DBL_EPSILON);
}

/* ||B||^2 for B the blocks off the diagonal: k free, then k fixed, where no weight is needed. */
static double off_diagonal(const form_b *f,
                           double (*peak)(double (*)(const void *, const double *, const double *),
                                          const void *, double))
{
    const double end = log(f->n) * (1 + 4 * DBL_EPSILON);
    const double most = peak(weighted, f, end), rest = exp(f->log_n1 / 2);
    double value = sqrt(1 + 8 / (f->x * f->x)) * rest * sqrt(most);

    if (f->k > 0) {
        /* R <= 1 - delta + x E is x W0((n-1) e^(1/x-1)) at its largest, and 1 + x l at most. */
        const double r = fmin(f->x * tl_bounds_l2_w0(f->log_n1 + 1 / f->x - 1), 1 + f->x * f->lmax);
        value = fmin(value, exp(tl_bounds_l2_log_columns(f->k, 1, 0, 4 / f->x)) * r);
    }
    return value * (1 + 64 * DBL_EPSILON * (1 + f->log_n1));
}

static double guess(const void *context, const double *x)
{
    form_b f = *(const form_b *)context;

    if (!(fabs(x[0]) < 40)) return (double)INFINITY;
    f.x = exp(x[0]);
    return off_diagonal(&f, tl_bounds_l2_peak);
}

double tl_bounds_l2_form_b(double n, size_t k, double lmax)
{
    static const double step[] = {0.7};
    const double c = tl_bounds_l2_c(n), top = 1 + 2 * fmin(tl_bounds_l2_c_star(n), lmax);
    double x[TL_BOUNDS_L2_PARAMETERS] = {-log1p(c) / 2};

    if (n < 2) return 1;
    form_b f = {.n = n, .log_n1 = log(n - 1), .c = c, .lmax = lmax, .mode = log1p(c), .k = k};
    (void)tl_simplex_minimise(guess, &f, 1, x, step);
    f.x = exp(x[0]);
    return (top + sqrt(off_diagonal(&f, tl_bounds_l2_peak_certified))) * (1 + 8 * DBL_EPSILON);
}

static double form_of(double (*form)(double, size_t, double), const tl_bound_query *query, size_t k)
{
    const double n = query->n;

    return n <= 1 ? 0 : log(form(n, tl_bounds_l2_span(n, k), (double)INFINITY));
}

#define FORM(letter, text)                                                                  \
    static double head_##letter(const tl_bound_query *query, size_t k, double log_u)        \
    {                                                                                       \
        (void)log_u;                                                                        \
        return form_of(tl_bounds_l2_form_##letter, query, k);                               \
    }                                                                                       \
    static tl_status evaluate_##letter(const tl_bound_query *query, tl_bound_value *value)  \
    {                                                                                       \
        if (!tl_bounds_l2_is_plain(query, value) || !tl_bounds_is_finite_n(query, value))   \
            return TL_OK;                                                                   \
        return tl_bounds_l2_combine(query, head_##letter, true, value);                     \
    }                                                                                       \
    const tl_bound tl_bound_l2_form_##letter = {                                            \
        .key = "l2-form-" #letter,                                                          \
        .title = text,                                                                      \
        .citation = "tightlip, src/bounds/README.md section 17",                            \
        .hypotheses = "L2 attention with tied query and key, no mask, any input; finite n", \
        .norm = TL_NORM_2,                                                                  \
        .scope = TL_SCOPE_GLOBAL,                                                           \
        .provenance = TL_PROVENANCE_PROVEN,                                                 \
        .evaluate = evaluate_##letter,                                                      \
    }

FORM(a, "form A of l2-2: 2c for the blocks 2 C_i, Cauchy-Schwarz and column sums for the rest");
FORM(b, "form B of l2-2: 1 + 2c* for the diagonal blocks, Cauchy-Schwarz for the others");
FORM(c, "form C of l2-2: the diagonal and the others merged row by row");
FORM(d, "form D of l2-2: form C with weights by distance, 2c + O(1) at fixed head width");
