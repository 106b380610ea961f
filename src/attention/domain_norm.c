/* The ellipsoid behind a layer norm or RMS norm: its axes and the balls that hold it. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/domain_kinds.h"
#include "linalg/wide.h"
#include "tightlip/linalg.h"

/* Newton steps on 1/sqrt(sum) - 1, which is concave and increasing: from the left of the root they
 * never pass it. The bracket guards against rounding. */
static double secular_root(size_t r, const double *s, const double *u, size_t base, double low,
                           double high)
{
    double tau = low;

    for (int step = 0; step < 100; step++) {
        double sum = 0, slope = 0, next;
        for (size_t j = 0; j < r; j++) {
            const double c = s[j] * fabs(u[j]);
            const double inverse = 1 / (fabs(s[j] - s[base]) * (s[j] + s[base]) + tau);
            const double term = c > 0 ? c * inverse : 0; /* a gap may be zero */
            sum += term * term;
            slope += c > 0 ? term * term * inverse : 0;
        }
        if (sum >= 1)
            low = tau;
        else
            high = tau;
        next = tau + sum * (sqrt(sum) - 1) / slope;
        if (!(next >= low && next <= high)) next = low + (high - low) / 2;
        if (fabs(next - tau) <= 2 * DBL_EPSILON * next) return next;
        tau = next;
    }
    return tau;
}

double tl_domain_secular(size_t r, const double *s, const double *u, bool first)
{
    const size_t base = first ? 0 : r - 1;
    double low = 0, high = 0, sum = 0;

    for (size_t j = 0; j < r; j++) {
        const double c = s[j] * fabs(u[j]), gap = fabs(s[j] - s[base]) * (s[j] + s[base]);
        if (c - gap > low) low = c - gap;
        high += c * c;
        if (c > 0) sum += (c / gap) * (c / gap); /* infinite where the gap is zero */
    }
    low = fmax(low, DBL_MIN); /* whose inverse is a number */
    high = fmax(low, sqrt(high));
    return sum > 1 ? secular_root(r, s, u, base, low, high) : 0;
}

WIDE_BODY void along_body(const tl_domain *e, const double *off, double *u)
{
    for (size_t j = 0; j < e->rank; j++) u[j] = wide_dot(e->d, e->axis + j * e->d, off);
}
WIDE_VARIANTS(along, (const tl_domain *e, const double *off, double *u), (e, off, u))

WIDE_BODY void back_body(const tl_domain *e, const double *u, double *restrict w)
{
    for (size_t i = 0; i < e->d; i++) w[i] = 0;
    for (size_t j = 0; j < e->rank; j++) {
        const double *restrict axis = e->axis + j * e->d;
        for (size_t i = 0; i < e->d; i++) w[i] += u[j] * axis[i];
    }
}
WIDE_VARIANTS(back, (const tl_domain *e, const double *u, double *w), (e, u, w))

void tl_domain_along(const tl_domain *e, const double *off, double *u)
{
    WIDE_CALL(along, (e, off, u));
}

void tl_domain_back(const tl_domain *e, const double *u, double *w)
{
    WIDE_CALL(back, (e, u, w));
}

/* Gains whose reach is lost in the rounding of the shift become zero. */
static void hide_gains(tl_domain *e)
{
    const double length = sqrt((double)e->d);

    for (size_t i = 0; i < e->d; i++) {
        const double c = tl_domain_centre_at(e, i), reach = fabs(e->gain[i]) * length;
        if (reach < DBL_MIN || (c + reach == c && c - reach == c)) e->gain[i] = 0;
        if (e->gain[i] == 0) e->hidden++;
    }
}

/* Axes and half lengths: left singular vectors and values of diag(gain) P, P the projection to sum
 * z = 0 (layer-norm) or the identity. */
static tl_status find_axes(tl_domain *e, tl_error *err)
{
    const size_t d = e->d, r = e->rank;
    double *block = malloc((3 * d * d + d) * sizeof *block), *u, *vt, *sigma;
    tl_status s;

    if (!block) return tl_fail(err, TL_ERR_MEMORY, "out of memory for a width of %zu", d);
    u = block + d * d;
    vt = u + d * d;
    sigma = vt + d * d;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            const double mean = e->kind == TL_DOMAIN_LAYER_NORM ? 1 / (double)d : 0;
            block[i * d + j] = e->gain[i] * ((i == j ? 1 : 0) - mean);
        }
    s = tl_svd_full(d, d, block, u, sigma, vt);
    if (s) (void)tl_fail(err, s, "gain: the axes of the ellipsoid cannot be computed");
    if (!s && r > 0) {
        e->axis = malloc(r * d * sizeof *e->axis);
        e->semi = malloc(r * sizeof *e->semi);
        if (!e->axis || !e->semi)
            s = tl_fail(err, TL_ERR_MEMORY, "out of memory for the axes of an ellipsoid");
    }
    for (size_t j = 0; !s && j < r; j++) {
        e->semi[j] = sigma[j] * sqrt((double)d);
        for (size_t i = 0; i < d; i++) e->axis[j * d + i] = u[i * d + j];
    }
    if (!s && r > 0 && !(e->semi[r - 1] > 4 * (double)d * DBL_EPSILON * e->semi[0]))
        s = tl_fail(err, TL_ERR_NUMERIC,
                    "gain: expected gains within the precision of doubles of each other, found an "
                    "axis of length %g beside one of %g",
                    e->semi[r - 1], e->semi[0]);
    free(block);
    return s;
}

/* max |shift + y|^2 over the ellipsoid is at most |shift|^2 + lambda + sum_j c_j^2 / (lambda -
 * s_j^2) for every lambda > s_1^2, with equality at the root of the secular equation. */
static double farthest(const tl_domain *e, double *s, double *b)
{
    const size_t d = e->d;
    const double unit = e->semi[0], shift = tl_nrm2(d, e->centre) / unit;
    double tau, sum = 0;

    for (size_t j = 0; j < e->rank; j++) {
        s[j] = e->semi[j] / unit;
        b[j] = tl_dot(d, e->axis + j * d, e->centre) / unit;
    }
    tau = tl_domain_secular(e->rank, s, b, true);
    for (size_t j = 0; j < e->rank; j++) {
        const double c = s[j] * fabs(b[j]);
        if (c > 0) sum += c * (c / ((s[0] - s[j]) * (s[0] + s[j]) + tau));
    }
    return unit * sqrt(shift * shift + (1 + tau) + sum);
}

/* Relative size of what the domain holds beyond the exact ellipsoid: the equations hold to rounding
 * of the coordinates, at most 8 units of each over its gain. */
static double excess(const tl_domain *e)
{
    const double d = (double)e->d;
    double ratio = 0;

    for (size_t i = 0; i < e->d; i++)
        if (e->gain[i] != 0) ratio = hypot(ratio, tl_domain_centre_at(e, i) / e->gain[i]);
    return 16 * DBL_EPSILON * (ratio / sqrt(d) + sqrt(d));
}

static tl_status enclose_norm(tl_domain *e, tl_error *err)
{
    const double d = (double)e->d;
    const double shift = e->centre ? tl_nrm2(e->d, e->centre) : 0;
    /* SVD, sums and what tl_domain_contains allows: multiples of d rounding units. */
    const double up = 64 * (d + 8) * DBL_EPSILON;
    double *block;

    if (e->rank == 0) {
        e->radius = fmax(DBL_MIN, up * shift);
        tl_domain_enclose(e);
        return TL_OK;
    }
    e->radius = e->semi[0] * (1 + excess(e) + up) + up * shift;
    tl_domain_enclose(e);
    if (!isfinite(e->radius_origin))
        return tl_fail(err, TL_ERR_DOMAIN,
                       "gain, shift: expected an ellipsoid within the double "
                       "range");
    if (!e->centre) return TL_OK;
    block = malloc(2 * e->rank * sizeof *block);
    if (!block) return tl_fail(err, TL_ERR_MEMORY, "out of memory for a width of %zu", e->d);
    e->radius_origin =
        fmin(e->radius_origin, farthest(e, block, block + e->rank) * (1 + excess(e) + 2 * up));
    free(block);
    return TL_OK;
}

static tl_status check_norm(tl_domain_kind kind, size_t d, double eps, tl_error *err)
{
    if (kind != TL_DOMAIN_LAYER_NORM && kind != TL_DOMAIN_RMS_NORM)
        return tl_fail(err, TL_ERR_ARGUMENT, "expected layer-norm or rms-norm, found %s",
                       tl_domain_name(kind));
    if (!(eps >= 0 && isfinite(eps)))
        return tl_fail(err, TL_ERR_DOMAIN, "eps: expected a finite number of at least 0, found %g",
                       eps);
    if (kind == TL_DOMAIN_LAYER_NORM && d == 1)
        return tl_fail(err, TL_ERR_DOMAIN,
                       "layer-norm: expected a width of at least 2, found 1: one number less its "
                       "mean is zero");
    if (d > TL_DOMAIN_NORM_MAX)
        return tl_fail(err, TL_ERR_LIMIT, "%s: expected a width of at most %d, found %zu",
                       tl_domain_name(kind), (int)TL_DOMAIN_NORM_MAX, d);
    return TL_OK;
}

static tl_status fill_norm(tl_domain *e, const double *gain, const double *shift, double eps,
                           tl_error *err)
{
    const bool layer = e->kind == TL_DOMAIN_LAYER_NORM;
    const size_t d = e->d;
    bool moved = false;
    tl_status s = TL_OK;

    for (size_t i = 0; shift && i < d; i++) moved = moved || shift[i] != 0;
    if (moved) s = tl_domain_vector(&e->centre, "shift", d, shift, err);
    if (!s && gain) s = tl_domain_vector(&e->gain, "gain", d, gain, err);
    if (!s && !gain) {
        e->gain = malloc(d * sizeof *e->gain);
        if (!e->gain) return tl_fail(err, TL_ERR_MEMORY, "out of memory for a gain");
        for (size_t i = 0; i < d; i++) e->gain[i] = 1;
    }
    if (s) return s;
    hide_gains(e);
    e->eps = eps;
    e->surface = eps == 0 && e->hidden <= (layer ? 1 : 0);
    e->rank = d - e->hidden - (layer && e->hidden == 0 ? 1 : 0);
    s = find_axes(e, err);
    return s ? s : enclose_norm(e, err);
}

tl_status tl_domain_alloc_norm(tl_domain **out, tl_domain_kind kind, size_t d, const double *gain,
                               const double *shift, double eps, tl_error *err)
{
    tl_domain *e = NULL;
    tl_status s = check_norm(kind, d, eps, err);

    if (!s) s = tl_domain_new(&e, kind, d, err);
    if (s) return s;
    s = fill_norm(e, gain, shift, eps, err);
    if (s)
        tl_domain_free(e);
    else
        *out = e;
    return s;
}
