/* Points of the ellipsoid behind a layer norm or RMS norm, y_i = shift_i + gain_i z_i.
 *
 * The zero gains hide entries of z. With s the sum of the others and k hidden ones, the hidden
 * entries of a layer norm sum to -s and have squares of at least s^2/k: what is left to check of y
 * is q = sum z_i^2 + s^2/k <= d (RMS norm: without s^2/k), and s = 0 where none is hidden. */
#include <float.h>
#include <math.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "attention/ball.h"
#include "attention/domain_kinds.h"
#include "tightlip/linalg.h"

enum { MOST = TL_DOMAIN_NORM_MAX };

static bool centred(const tl_domain *e)
{
    return e->kind == TL_DOMAIN_LAYER_NORM && e->hidden == 0;
}

static bool pooled(const tl_domain *e)
{
    return e->kind == TL_DOMAIN_LAYER_NORM && e->hidden > 0;
}

/* What a point says of its z. */
typedef struct {
    long double q, sum;
    double sum_slack, q_slack; /* rounding of the coordinates, as it enters sum and q */
    bool fixed;                /* coordinates of zero gain are those of the shift, all are finite */
} reading;

static long double z_at(const tl_domain *e, const double *y, size_t i)
{
    return e->gain[i] == 0 ? 0 : ((long double)y[i] - tl_domain_centre_at(e, i)) / e->gain[i];
}

static reading read_point(const tl_domain *e, const double *y)
{
    reading r = {.fixed = true};

    for (size_t i = 0; i < e->d; i++) {
        const double c = tl_domain_centre_at(e, i);
        const long double z = z_at(e, y, i);
        r.fixed = r.fixed && isfinite(y[i]) && (e->gain[i] != 0 || y[i] == c);
        if (e->gain[i] == 0) continue;
        const double size = fabs(y[i]) > fabs(c) ? fabs(y[i]) : fabs(c);
        const double unit = DBL_EPSILON * size / fabs(e->gain[i]);
        r.q += z * z;
        r.sum += z;
        r.sum_slack += 4 * unit;
        r.q_slack += 8 * unit * fabs((double)z);
    }
    if (pooled(e)) r.q += r.sum * r.sum / (long double)e->hidden;
    r.sum_slack += DBL_EPSILON * sqrt((double)e->d);
    r.q_slack += 16 * DBL_EPSILON * (double)e->d;
    return r;
}

/* Long doubles are off by less than this, a sum of d terms squared by d sqrt(d). */
static long double rounding(const tl_domain *e)
{
    const long double d = (long double)e->d;

    return 1 + (4 * d * sqrtl(d) + 16) * LDBL_EPSILON;
}

/* |z|^2 <= d for certain. */
static bool below(const tl_domain *e, const reading *r)
{
    return r->fixed && r->q * rounding(e) <= (long double)e->d;
}

static bool holds(const tl_domain *e, const double *y)
{
    const reading r = read_point(e, y);

    if (!below(e, &r)) return false;
    if (centred(e) && !(fabsl(r.sum) <= (long double)r.sum_slack)) return false;
    return !e->surface || r.q >= (long double)e->d - (long double)r.q_slack;
}

/* The nearest point of the surface to that of coordinates u along the axes, in place. */
static void to_surface(const tl_domain *e, double *u)
{
    const size_t r = e->rank;
    const double unit = e->semi[0];
    double s[MOST], tau, sum = 0;

    for (size_t j = 0; j < r; j++) {
        s[j] = e->semi[j] / unit;
        u[j] /= unit;
    }
    tau = tl_domain_secular(r, s, u, false);
    for (size_t j = 0; j < r; j++) {
        const double gap = (s[j] - s[r - 1]) * (s[j] + s[r - 1]) + tau;
        const double stretch = s[j] * s[j] / gap; /* infinite where the gap is tiny or zero */
        u[j] = isfinite(stretch) ? u[j] * stretch : gap > 0 ? s[j] * s[j] * (u[j] / gap) : 0;
        sum += (u[j] / s[j]) * (u[j] / s[j]);
    }
    /* Between two nearest points, on either side along the shortest axis. */
    if (tau == 0 && sum < 1) u[r - 1] = s[r - 1] * sqrt(1 - sum);
    for (size_t j = 0; j < r; j++) u[j] *= unit;
}

/* Mean zero, and |z|^2 at d or not above. */
static void settle(const tl_domain *e, double *z)
{
    const double d = (double)e->d;
    long double sum = 0, q = 0;

    for (size_t i = 0; i < e->d; i++) sum += (long double)z[i];
    for (size_t i = 0; centred(e) && i < e->d; i++)
        z[i] = (double)((long double)z[i] - sum / (long double)d);
    for (size_t i = 0; i < e->d; i++) q += (long double)z[i] * (long double)z[i];
    if (pooled(e)) q += sum * sum / (long double)e->hidden;
    if (!(q > 0) || !(e->surface || q > (long double)d)) return;
    for (size_t i = 0; i < e->d; i++)
        z[i] = (double)((long double)z[i] * sqrtl((long double)d / q));
}

/* y of a settled z, each coordinate rounded towards the shift, so that no |z_i| grows. */
static void place(const tl_domain *e, const double *z, long double factor, double *y)
{
    for (size_t i = 0; i < e->d; i++) {
        const double c = tl_domain_centre_at(e, i);
        const long double step = factor * (long double)e->gain[i] * (long double)z[i];
        double at = e->gain[i] == 0 || !(factor > 0) ? c : (double)((long double)c + step);
        for (int k = 0; k < 4 && fabsl((long double)at - (long double)c) > fabsl(step); k++)
            at = nextafter(at, c);
        y[i] = at;
    }
}

static void settle_and_place(const tl_domain *e, double *z, double *y)
{
    long double factor = 1, step = (long double)LDBL_EPSILON * 8;

    settle(e, z);
    place(e, z, factor, y);
    /* Doubling steps end: a factor of zero gives the shift. */
    for (reading r = read_point(e, y); !below(e, &r); r = read_point(e, y)) {
        factor = fminl(factor, factor * sqrtl((long double)e->d / (r.q * rounding(e))));
        factor = factor > step ? factor - step : 0;
        step *= 2;
        place(e, z, factor, y);
    }
}

/* Coordinates along the axes, cut where they are far beyond the ellipsoid; false where y is no
 * point at all. */
static bool coordinates(const tl_domain *e, const double *y, double *u)
{
    const double far = 1e100 * e->semi[0];
    double off[MOST];

    for (size_t i = 0; i < e->d; i++) off[i] = y[i] - tl_domain_centre_at(e, i);
    tl_domain_along(e, off, u);
    const double size = tl_nrm2(e->rank, u);
    if (!isfinite(size)) return false;
    for (size_t j = 0; size > far && j < e->rank; j++) u[j] *= far / size;
    return true;
}

/* z of the point of coordinates u. Where sum z = 0, the entry of the least gain is minus the
 * others: by itself it would be a difference near zero over a number near zero. */
static void from_coordinates(const tl_domain *e, const double *u, double *z)
{
    size_t least = 0;
    double others = 0;

    tl_domain_back(e, u, z);
    for (size_t i = 0; i < e->d; i++) {
        z[i] = e->gain[i] == 0 ? 0 : z[i] / e->gain[i];
        if (fabs(e->gain[i]) < fabs(e->gain[least])) least = i;
    }
    for (size_t i = 0; i < e->d; i++)
        if (i != least) others += z[i];
    if (centred(e)) z[least] = -others;
}

static void norm_project(const tl_domain *e, double *y)
{
    double u[MOST], z[MOST], inside[MOST];
    const size_t r = e->rank;

    if (holds(e, y)) return;
    if (r > 0 && !coordinates(e, y, u)) {
        memset(u, 0, r * sizeof *u);
        if (e->surface) u[r - 1] = e->semi[r - 1];
    }
    for (size_t j = 0; j < r; j++) inside[j] = u[j] / e->semi[j];
    if (r > 0 && (e->surface || tl_nrm2(r, inside) > 1)) to_surface(e, u);
    from_coordinates(e, u, z);
    settle_and_place(e, z, y);
}

static bool norm_contains(const tl_domain *e, const double *y)
{
    const double units = (32 + (double)e->d) * DBL_EPSILON;
    double near[MOST];

    for (size_t i = 0; i < e->d; i++)
        if (!isfinite(y[i])) return false;
    if (holds(e, y)) return true;
    memcpy(near, y, e->d * sizeof *near);
    norm_project(e, near);
    return tl_ball_distance(e->d, y, near) <=
           units * (tl_nrm2(e->d, y) + (e->centre ? tl_nrm2(e->d, e->centre) : 0));
}

static void norm_random(const tl_domain *e, gsl_rng *rng, bool surface, double *y)
{
    const bool layer = e->kind == TL_DOMAIN_LAYER_NORM;
    const double dimension = (double)e->d - (layer ? 1 : 0);
    double z[MOST], length = sqrt((double)e->d), mean = 0;

    for (size_t i = 0; i < e->d; i++) z[i] = gsl_ran_gaussian_ziggurat(rng, 1);
    for (size_t i = 0; layer && i < e->d; i++) mean += z[i] / (double)e->d;
    for (size_t i = 0; i < e->d; i++) z[i] -= mean;
    if (e->eps > 0 && !surface) length *= pow(gsl_rng_uniform(rng), 1 / dimension);
    length /= fmax(tl_nrm2(e->d, z), DBL_MIN);
    for (size_t i = 0; i < e->d; i++) z[i] *= e->gain[i] == 0 ? 0 : length;
    settle_and_place(e, z, y);
}

/* g less its part along the unit vector v; where it points against v only if `both`. */
static void remove_along(size_t d, const double *v, bool both, double *g)
{
    const double along = tl_dot(d, g, v);

    if (both || along > 0) tl_axpy(d, -along, v, g);
}

static bool make_unit(size_t d, double *v)
{
    const double length = tl_nrm2(d, v);

    if (!(length > 0 && isfinite(length))) return false;
    for (size_t i = 0; i < d; i++) v[i] /= length;
    return true;
}

static void norm_tangent(const tl_domain *e, const double *y, double *g)
{
    const size_t d = e->d;
    const reading r = read_point(e, y);
    const bool flat = centred(e);
    double plane[MOST], outward[MOST], least = INFINITY;

    for (size_t i = 0; i < d; i++) {
        if (e->gain[i] == 0)
            g[i] = 0;
        else
            least = fmin(least, fabs(e->gain[i]));
    }
    for (size_t i = 0; i < d; i++) {
        const double inverse = e->gain[i] == 0 ? 0 : least / e->gain[i];
        const long double common = pooled(e) ? r.sum / (long double)e->hidden : 0;
        plane[i] = inverse;
        outward[i] = (double)(z_at(e, y, i) + common) * inverse;
    }
    if (flat && make_unit(d, plane)) {
        remove_along(d, plane, true, g);
        remove_along(d, plane, true, outward);
    }
    /* As for the ball, where projection leaves a token counts as the boundary. */
    if (!e->surface && r.q < (long double)((double)d * (1 - 4096 * DBL_EPSILON) - 512 * r.q_slack))
        return;
    if (make_unit(d, outward)) remove_along(d, outward, e->surface, g);
}

const tl_domain_methods tl_domain_norm_methods = {.contains = norm_contains,
                                                  .project = norm_project,
                                                  .random = norm_random,
                                                  .tangent = norm_tangent};
