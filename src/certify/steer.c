/* Numbers that steer a certificate: near the top of a symmetric matrix and of a dual function, in
 * double precision. Nothing is claimed of them; balls judge whatever comes out. */
#include "certify/steer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Effort alone. */
enum { ITERATIONS = 40, BISECTIONS = 60 };

/* n x n each, and n numbers each. */
typedef struct {
    size_t n;
    double *g, *u, *v, *image, *kept;
} work;

static bool work_alloc(work *w, size_t n)
{
    *w = (work){.n = n};
    w->g = calloc(2 * n * n + 3 * n, sizeof *w->g);
    if (!w->g) return false;
    w->u = w->g + n * n;
    w->v = w->u + n * n;
    w->image = w->v + n;
    w->kept = w->image + n;
    return true;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Midpoints over 2^shift. */
static void load(double *to, const arb_mat_t from, const fmpz_t shift)
{
    arf_t t;
    fmpz_t down;

    arf_init(t);
    fmpz_init(down);
    fmpz_neg(down, shift);
    for (slong i = 0; i < arb_mat_nrows(from); i++)
        for (slong j = 0; j < arb_mat_ncols(from); j++) {
            arf_mul_2exp_fmpz(t, arb_midref(arb_mat_entry(from, i, j)), down);
            to[i * arb_mat_ncols(from) + j] = arf_get_d(t, ARF_RND_NEAR);
        }
    fmpz_clear(down);
    arf_clear(t);
}

/* U'U = c - G, U upper; false where that is not positive definite. */
static bool factor(work *w, double c)
{
    const size_t n = w->n;

    for (size_t i = 0; i < n * n; i++) w->u[i] = -w->g[i];
    for (size_t k = 0; k < n; k++) w->u[k * n + k] += c;
    for (size_t k = 0; k < n; k++) {
        double *row = w->u + k * n;
        if (!(row[k] > 0) || !isfinite(row[k])) return false;
        const double root = sqrt(row[k]);
        for (size_t j = k; j < n; j++) row[j] /= root;
        for (size_t i = k + 1; i < n; i++) {
            double *below = w->u + i * n;
            const double t = row[i];
            for (size_t j = i; j < n && t != 0; j++) below[j] -= t * row[j];
        }
    }
    return true;
}

/* x := (c - G)^(-1) x */
static void solve(const work *w, double *x)
{
    const size_t n = w->n;

    for (size_t k = 0; k < n; k++) {
        const double *row = w->u + k * n;
        x[k] /= row[k];
        for (size_t j = k + 1; j < n; j++) x[j] -= row[j] * x[k];
    }
    for (size_t k = n; k-- > 0;) {
        const double *row = w->u + k * n;
        x[k] = (x[k] - dot(row + k + 1, x + k + 1, n - k - 1)) / row[k];
    }
}

/* v := v/|v|, image := G v, top := v'G v. Returns |G v - top v|. */
static double look_at(work *w, double *top)
{
    const size_t n = w->n;
    const double length = sqrt(dot(w->v, w->v, n));
    double residual = 0;

    for (size_t i = 0; i < n; i++) w->v[i] /= length;
    for (size_t i = 0; i < n; i++) w->image[i] = dot(w->g + i * n, w->v, n);
    *top = dot(w->v, w->image, n);
    for (size_t i = 0; i < n; i++) {
        const double t = w->image[i] - *top * w->v[i];
        residual += t * t;
    }
    return sqrt(residual);
}

/* Inverse iteration from above: c - G positive definite keeps the top eigenvalue the nearest one.
 * top: the quotient at kept. Returns how far above it the last c was. */
static double climb(work *w, double *top)
{
    const size_t n = w->n;
    const double noise = (double)n * DBL_EPSILON;
    double best = look_at(w, top), above = (double)INFINITY, rise = fmax(best, noise * *top);

    memcpy(w->kept, w->v, n * sizeof *w->v);
    for (int i = 0; i < ITERATIONS; i++) {
        if (!factor(w, *top + rise)) {
            rise *= 4;
            continue;
        }
        above = rise;
        if (best == 0) break;
        solve(w, w->v);
        double now = *top;
        const double residual = look_at(w, &now);
        if (!(residual < best / 2) && !(now > *top * (1 + noise))) break;
        memcpy(w->kept, w->v, n * sizeof *w->v);
        *top = now;
        best = residual;
        rise = fmax(best, noise * now);
    }
    return above;
}

/* Starts that no structure of the matrix is orthogonal to. */
static void scatter(work *w)
{
    for (size_t i = 0; i < w->n; i++) w->v[i] = 1 + sin(1 + 2.5 * (double)i) / 2;
}

bool tl_certify_steer_top(arb_mat_t v, const arb_mat_t G)
{
    const size_t n = (size_t)arb_mat_nrows(G);
    double top = 0, other = 0;
    size_t first = 0;
    fmpz_t shift;
    arb_t trace;
    work w;

    if (!work_alloc(&w, n)) return false;
    fmpz_init(shift);
    arb_init(trace);
    arb_mat_trace(trace, G, 64);
    bool good = arf_is_finite(arb_midref(trace)) && arf_sgn(arb_midref(trace)) > 0;
    if (good) {
        arf_abs_bound_lt_2exp_fmpz(shift, arb_midref(trace));
        load(w.g, G, shift);
        for (size_t j = 1; j < n; j++)
            if (w.g[j * n + j] > w.g[first * n + first]) first = j;
        memcpy(w.v, w.g + first * n, n * sizeof *w.v);
        const double above = climb(&w, &top);
        for (size_t j = 0; j < n; j++) arb_set_d(arb_mat_entry(v, (slong)j, 0), w.kept[j]);
        /* A column that knows nothing of the top, such as one of another block. */
        if (!(above <= sqrt(DBL_EPSILON) * top)) {
            scatter(&w);
            (void)climb(&w, &other);
            for (size_t j = 0; j < n && other > top; j++)
                arb_set_d(arb_mat_entry(v, (slong)j, 0), w.kept[j]);
            top = fmax(top, other);
        }
        good = isfinite(top) && top > 0;
    }
    arb_clear(trace);
    fmpz_clear(shift);
    free(w.g);
    return good;
}

bool tl_certify_steer_dual(arb_t lambda, const arb_mat_t G, const arb_mat_t b, const arb_t low,
                           const arb_t high)
{
    const size_t n = (size_t)arb_mat_nrows(G);
    double range[2], middle = 0;
    fmpz_t shift;
    arb_mat_t ends;
    work w;

    if (!arb_is_finite(high) || arf_sgn(arb_midref(high)) <= 0 || !work_alloc(&w, n)) return false;
    fmpz_init(shift);
    arb_mat_init(ends, 1, 2);
    arf_abs_bound_lt_2exp_fmpz(shift, arb_midref(high));
    arb_set(arb_mat_entry(ends, 0, 0), low);
    arb_set(arb_mat_entry(ends, 0, 1), high);
    load(range, ends, shift);
    load(w.g, G, shift);
    load(w.kept, b,
         shift); /* lambda and b over the same unit: the length of the step is as it is */
    for (int step = 0; step < BISECTIONS; step++) {
        middle = range[0] + (range[1] - range[0]) / 2;
        bool longer = !factor(&w, middle);
        if (!longer) {
            memcpy(w.v, w.kept, n * sizeof *w.v);
            solve(&w, w.v);
            longer = dot(w.v, w.v, n) > 1;
        }
        range[longer ? 0 : 1] = middle;
    }
    arb_set_d(lambda, range[1]);
    arb_mul_2exp_fmpz(lambda, lambda, shift);
    arb_mat_clear(ends);
    fmpz_clear(shift);
    free(w.g);
    return true;
}
