/* One-sided Jacobi (Hestenes 1958): rotations of rows until all are orthogonal. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/lanes.h"
#include "linalg/lapack.h"
#include "linalg/svd_small.h"
#include "linalg/vector.h"
#include "tightlip/linalg.h"

#pragma STDC FP_CONTRACT ON

/* Row i of W = U'A, and behind it that of U', each filled up with zeros to a number of lanes that
 * the compiler knows. */
enum { ROOM = 2 * TL_SVD_SMALL * TL_SVD_SMALL };

/* count: four or a multiple of eight. */
WIDE_BODY void rotate(size_t count, double c, double s, double *x, double *y)
{
    for (size_t r = 0; r + 8 <= count; r += 8) {
        const wide8 x_r = *(const wide8u *)(x + r), y_r = *(const wide8u *)(y + r);
        *(wide8u *)(x + r) = c * x_r - s * y_r;
        *(wide8u *)(y + r) = s * x_r + c * y_r;
    }
    if (count == 4) {
        const wide4 x_r = *(const wide4 *)x, y_r = *(const wide4 *)y;
        *(wide4 *)x = c * x_r - s * y_r;
        *(wide4 *)y = s * x_r + c * y_r;
    }
}

/* Makes two rows of W orthogonal; false where that does not undo what was done with others: when
 * they are already, to rounding, or when both rotation and cosine are SMALL. A rotation of rows i,
 * k leaves of a product made zero before, of i and j, the sine times that of k and j: if all those
 * of a round are SMALL, their products are rounding, and no other round is needed. */
WIDE_BODY bool orthogonalise(size_t lanes, double *x, double *y)
{
    const double xx = vec_dot(lanes, x, x), yy = vec_dot(lanes, y, y), xy = vec_dot(lanes, x, y);
    const double twice = 2.0 * xy, apart = yy - xx, square = twice * twice + apart * apart;
    const double lengths = sqrt(xx) * sqrt(yy);
    if (!(fabs(xy) > DBL_EPSILON * lengths) || square < DBL_MIN) return false;
    const double far = sqrt(square), sum = fabs(apart) + far;
    const double c = sqrt(sum / (2.0 * far)), s = c * (copysign(1.0, apart) * twice / sum);
    rotate(2 * lanes, c, s, x, y);
    return !(fabs(s) <= SVD_SMALL && fabs(xy) <= SVD_SMALL * lengths);
}

WIDE_BODY void sweep(size_t d, size_t lanes, double *rows)
{
    const size_t odd = svd_rounds(d), step = 2 * lanes;
    bool moved = true;
    for (int round = 0; moved && round < SVD_SWEEPS; round++) {
        moved = false;
        for (size_t r = 0; r < odd; r++) {
            if (odd < d) moved = orthogonalise(lanes, rows + r * step, rows + odd * step) || moved;
            for (size_t k = 1; k <= odd / 2; k++) {
                const size_t i = svd_first(odd, r, k), j = svd_second(odd, r, k);
                moved = orthogonalise(lanes, rows + i * step, rows + j * step) || moved;
            }
        }
    }
}

/* Begins at U' = the orthogonal matrix next to near', W = U'A. A step of Newton (Schulz 1933) takes
 * away what near has lost to rounding, which would add up otherwise; nothing is done where it is
 * not that near to orthogonal. */
WIDE_BODY void begin_near(size_t d, size_t lanes, const double *near, double *rows)
{
    double U[TL_SVD_SMALL * TL_SVD_SMALL] = {0}, A[TL_SVD_SMALL * TL_SVD_SMALL];
    double turn[TL_SVD_SMALL * TL_SVD_SMALL];
    const size_t step = 2 * lanes;
    for (size_t i = 0; i < d; i++)
        for (size_t r = 0; r < d; r++) U[i * lanes + r] = near[i * d + r];
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            const double off = vec_dot(lanes, U + i * lanes, U + j * lanes) - (double)(i == j);
            if (!(fabs(off) <= SVD_NEAR)) return;
            turn[i * d + j] = turn[j * d + i] = (double)(i == j) - 0.5 * off;
        }
    for (size_t i = 0; i < d; i++)
        for (size_t r = 0; r < lanes; r++) A[i * lanes + r] = rows[i * step + r];
    for (size_t i = 0; i < d; i++) {
        double *W = rows + i * step, *V = W + lanes;
        for (size_t r = 0; r < step; r++) W[r] = 0.0;
        for (size_t j = 0; j < d; j++) lanes_add(lanes, turn[i * d + j], U + j * lanes, V);
        for (size_t r = 0; r < d; r++) lanes_add(lanes, V[r], A + r * lanes, W);
    }
}

/* y = 2^exponent x */
static void scale(size_t count, int exponent, const double *x, double *y)
{
    const double factor = ldexp(1.0, exponent);
    const bool whole = abs(exponent) < 1000; /* else 2^exponent may be no double */
    for (size_t i = 0; i < count; i++) y[i] = whole ? factor * x[i] : ldexp(x[i], exponent);
}

WIDE_BODY void swap_rows(size_t count, double *x, double *y)
{
    for (size_t r = 0; r < count; r++) {
        const double held = x[r];
        x[r] = y[r];
        y[r] = held;
    }
}

/* Of the unit vectors the one with the most left is taken, at least 1 / sqrt(d). */
void tl_svd_complete(size_t d, size_t i, double *vt)
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

/* What the widths of a decomposition share. */
typedef struct {
    const double *a, *near;
    double *ut, *sigma, *vt;
    size_t rank; /* of sigma those above rounding, which come first */
} small_svd;

WIDE_BODY void decompose(size_t d, size_t lanes, small_svd *s)
{
    _Alignas(64) double rows[ROOM];
    const size_t step = 2 * lanes;
    double sigma[TL_SVD_SMALL];
    for (size_t i = 0; i < d; i++) {
        double *W = rows + i * step;
        for (size_t r = 0; r < step; r++) W[r] = r < d ? s->a[i * d + r] : (double)(r == lanes + i);
    }
    if (s->near && d > 2) begin_near(d, lanes, s->near, rows); /* two: one rotation in any case */
    sweep(d, lanes, rows);
    for (size_t i = 0; i < d; i++) {
        const double *W = rows + i * step;
        sigma[i] = tl_nrm2_from(lanes, W, vec_dot(lanes, W, W));
    }
    s->rank = 0;
    for (size_t i = 0; i < d; i++) {
        size_t top = i;
        for (size_t j = i + 1; j < d; j++)
            if (sigma[j] > sigma[top]) top = j;
        if (top > i) {
            swap_rows(1, sigma + i, sigma + top);
            swap_rows(step, rows + i * step, rows + top * step);
        }
        s->sigma[i] = sigma[i];
        const double *W = rows + i * step;
        for (size_t r = 0; r < d; r++) s->ut[i * d + r] = W[lanes + r];
        if (!(sigma[i] > DBL_EPSILON * sigma[0])) continue;
        for (size_t r = 0; r < d; r++) s->vt[i * d + r] = W[r] / sigma[i];
        s->rank = i + 1;
    }
}

WIDE_BODY void decomposed_body(size_t d, small_svd *s)
{
    switch (d) {
    case 2:
        decompose(2, 2, s);
        break;
    case 3:
        decompose(3, 4, s);
        break;
    case 4:
        decompose(4, 4, s);
        break;
    default:
        decompose(d, 8, s);
    }
}
WIDE_VARIANTS(decomposed, (size_t d, small_svd *s), (d, s))

tl_status tl_svd_small(size_t d, const double *a, const double *near, double *ut, double *sigma,
                       double *vt)
{
    double scaled[TL_SVD_SMALL * TL_SVD_SMALL];
    if (d > TL_SVD_SMALL) return TL_ERR_LIMIT;
    if (d == 1 && isfinite(a[0])) {
        ut[0] = 1.0;
        sigma[0] = fabs(a[0]);
        vt[0] = copysign(1.0, a[0]);
        return TL_OK;
    }
    small_svd s = {.a = a, .near = near, .ut = ut, .sigma = sigma, .vt = vt};
    const double square = vec_dot(d * d, a, a);
    int exponent = 0;
    if (!(square >= SVD_LEAST && square <= 1.0 / SVD_LEAST)) {
        const double largest = tl_max_abs(d * d, a);
        if (!all_finite(d * d, a)) return TL_ERR_NUMERIC;
        if (largest > 0.0) (void)frexp(largest, &exponent);
        scale(d * d, -exponent, a, scaled);
        s.a = scaled;
    }
    if (d) WIDE_CALL(decomposed, (d, &s));
    for (size_t i = s.rank; i < d; i++) tl_svd_complete(d, i, vt);
    if (exponent) scale(d, exponent, sigma, sigma);
    return TL_OK;
}
