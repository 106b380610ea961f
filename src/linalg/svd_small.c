/* One-sided Jacobi (Hestenes 1958): rotations of rows until all are orthogonal. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/lapack.h"
#include "linalg/vector.h"
#include "linalg/wide.h"
#include "tightlip/linalg.h"

/* Converges quadratically; matrices of this size take four to six. */
enum { SWEEPS_MAX = 40 };

/* Below, d is known to the compiler where it is small. */
WIDE_BODY void rotate(size_t d, double c, double s, double *x, double *y)
{
    for (size_t r = 0; r < d; r++) {
        const double x_r = x[r], y_r = y[r];
        x[r] = c * x_r - s * y_r;
        y[r] = s * x_r + c * y_r;
    }
}

/* Makes rows i and j orthogonal; false when they are already, to rounding. */
WIDE_BODY bool orthogonalise(size_t d, size_t i, size_t j, double *w, double *ut)
{
    double *x = w + i * d, *y = w + j * d;
    const double xx = vec_dot(d, x, x), yy = vec_dot(d, y, y), xy = vec_dot(d, x, y);
    if (!(fabs(xy) > DBL_EPSILON * sqrt(xx) * sqrt(yy)) || fabs(xy) < DBL_MIN) return false;
    const double zeta = (yy - xx) / (2.0 * xy);
    const double t = copysign(1.0, zeta) / (fabs(zeta) + sqrt(1.0 + zeta * zeta));
    const double c = 1.0 / sqrt(1.0 + t * t), s = c * t;
    rotate(d, c, s, x, y);
    rotate(d, c, s, ut + i * d, ut + j * d);
    return true;
}

WIDE_BODY void sweep(size_t d, double *w, double *ut)
{
    bool moved = true;
    for (int round = 0; moved && round < SWEEPS_MAX; round++) {
        moved = false;
        for (size_t i = 0; i + 1 < d; i++)
            for (size_t j = i + 1; j < d; j++) moved = orthogonalise(d, i, j, w, ut) || moved;
    }
}

static void sweep_rows(size_t d, double *w, double *ut)
{
    switch (d) {
    case 2:
        sweep(2, w, ut);
        break;
    case 3:
        sweep(3, w, ut);
        break;
    case 4:
        sweep(4, w, ut);
        break;
    default:
        sweep(d, w, ut);
    }
}

/* y = 2^exponent x */
static void scale(size_t count, int exponent, const double *x, double *y)
{
    const double factor = ldexp(1.0, exponent);
    const bool whole = abs(exponent) < 1000; /* else 2^exponent may be no double */
    for (size_t i = 0; i < count; i++) y[i] = whole ? factor * x[i] : ldexp(x[i], exponent);
}

/* Largest first. */
static void sort_rows(size_t d, double *sigma, double *w, double *ut)
{
    for (size_t i = 0; i + 1 < d; i++) {
        size_t top = i;
        for (size_t j = i + 1; j < d; j++)
            if (sigma[j] > sigma[top]) top = j;
        if (top == i) continue;
        const double s = sigma[i];
        sigma[i] = sigma[top];
        sigma[top] = s;
        for (size_t r = 0; r < d; r++) {
            const double a = w[i * d + r], b = ut[i * d + r];
            w[i * d + r] = w[top * d + r];
            w[top * d + r] = a;
            ut[i * d + r] = ut[top * d + r];
            ut[top * d + r] = b;
        }
    }
}

/* Row i, whose singular value is nothing beside the first: any unit vector orthogonal to those
 * above it. Of the unit vectors the one with the most left is taken, at least 1 / sqrt(d). */
static void complete(size_t d, size_t i, double *vt)
{
    double best = -1.0, trial[TL_SVD_SMALL], *row = vt + i * d;
    for (size_t e = 0; e < d; e++) {
        memset(trial, 0, sizeof trial);
        trial[e] = 1.0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t j = 0; j < i; j++)
                tl_axpy(d, -tl_dot(d, vt + j * d, trial), vt + j * d, trial);
        const double length = tl_nrm2(d, trial);
        if (!(length > best)) continue;
        best = length;
        for (size_t r = 0; r < d; r++) row[r] = trial[r] / length;
    }
}

tl_status tl_svd_small(size_t d, const double *a, double *u, double *sigma, double *vt)
{
    double ut[TL_SVD_SMALL * TL_SVD_SMALL] = {0}, largest = 0.0;
    int exponent = 0;
    if (d > TL_SVD_SMALL) return TL_ERR_LIMIT;
    if (!all_finite(d * d, a)) return TL_ERR_NUMERIC;
    for (size_t i = 0; i < d * d; i++) largest = fmax(largest, fabs(a[i]));
    if (largest > 0.0) (void)frexp(largest, &exponent);
    scale(d * d, -exponent, a, vt);
    for (size_t i = 0; i < d; i++) ut[i * d + i] = 1.0;
    sweep_rows(d, vt, ut);
    for (size_t i = 0; i < d; i++) sigma[i] = tl_nrm2(d, vt + i * d);
    sort_rows(d, sigma, vt, ut);
    for (size_t i = 0; i < d; i++) {
        if (sigma[i] > DBL_EPSILON * sigma[0])
            for (size_t r = 0; r < d; r++) vt[i * d + r] /= sigma[i];
        else
            complete(d, i, vt);
        for (size_t r = 0; r < d; r++) u[r * d + i] = ut[i * d + r];
    }
    scale(d, exponent, sigma, sigma);
    return TL_OK;
}
