/* Two tokens without a mask, every input: the maximum of a 4 x 4 norm over three angles, by branch
 * and bound. Proof: README section 6.5. */
#include <float.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/internal.h"

enum { SQUARINGS = 12 };

/* Below this the maximum is 2 g or a few 1e-3 from it: no further splits there. */
static const double settled = 1 + 2e-4;
/* Beyond this the row bound is within 1e-3 of 2 g. */
static const double most = 24;
/* Relative, of the largest entry: a few dozen operations. */
static const double rounding = 1024 * DBL_EPSILON;

typedef struct {
    double lo, hi;
} range;

static range add(range a, range b)
{
    return (range){a.lo + b.lo, a.hi + b.hi};
}

static range scale(double c, range a)
{
    return c >= 0 ? (range){c * a.lo, c * a.hi} : (range){c * a.hi, c * a.lo};
}

static range times(range a, range b)
{
    double v[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};

    return (range){fmin(fmin(v[0], v[1]), fmin(v[2], v[3])),
                   fmax(fmax(v[0], v[1]), fmax(v[2], v[3]))};
}

static range square(range a)
{
    double high = fmax(a.lo * a.lo, a.hi * a.hi);

    return (range){a.lo <= 0 && a.hi >= 0 ? 0 : fmin(a.lo * a.lo, a.hi * a.hi), high};
}

static double largest(range a)
{
    return fmax(fabs(a.lo), fabs(a.hi));
}

/* At least the norm of the 4 x 4 matrix m: the trace of a power of m'm. Stops once below enough. */
static double norm_upper(double m[4][4], double enough)
{
    double s[4][4], power = 1, log_norm = 0, bound = (double)INFINITY;

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            s[i][j] = 0;
            for (int k = 0; k < 4; k++) s[i][j] += m[k][i] * m[k][j];
        }
    for (int step = 0; step <= SQUARINGS; step++) {
        double trace = s[0][0] + s[1][1] + s[2][2] + s[3][3], next[4][4];
        if (trace <= 0) return 0;
        log_norm += log(trace) / power;
        bound = exp(log_norm / 2);
        if (bound <= enough) return bound;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j <= i; j++) {
                double sum = 0;
                for (int k = 0; k < 4; k++) sum += s[i][k] * s[k][j];
                next[i][j] = next[j][i] = sum / trace / trace;
            }
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) s[i][j] = next[i][j];
        power *= 2;
    }
    return bound;
}

/* What the entries are made of. */
typedef struct {
    range r, kappa, d1, d2, alpha, beta, across, bias; /* across: P_0, bias: r E_0 */
    range x;                                           /* r nu */
} parts;

static void find_parts(parts *p, double g, const double *lo, const double *hi)
{
    const range sine = {sin(lo[0]), sin(hi[0])}, other = {sin(lo[1]), sin(hi[1])};
    const range cosine = {cos(hi[0]), cos(lo[0])}, beside = {cos(hi[1]), cos(lo[1])};
    const double top = lo[2] <= 0 && hi[2] >= 0 ? 1 : fmax(cos(lo[2]), cos(hi[2]));

    p->r = sine;
    /* sin cos <= 1/2 */
    range half = times(sine, cosine);
    half.hi = fmin(half.hi, 0.5);
    p->x = scale(g, times(half, other));
    p->bias = scale(g, times(half, beside));
    const double below = sin(lo[2]), above = sin(hi[2]);
    p->kappa = (range){g * below, g * above};
    p->across = (range){g * fmin(cos(lo[2]), cos(hi[2])), g * top};
    const range y = times(square(sine), p->kappa);
    const range t1 = {tanh(p->x.lo + y.lo), tanh(p->x.hi + y.hi)};
    const range t2 = {tanh(p->x.lo - y.hi), tanh(p->x.hi - y.lo)};
    const range q1 = add((range){1, 1}, scale(-1, square(t1)));
    const range q2 = add((range){1, 1}, scale(-1, square(t2)));
    p->d1 = scale(0.5, add(t1, t2));
    p->d2 = scale(0.5, add(t1, scale(-1, t2)));
    p->alpha = scale(0.5, add(q1, q2));
    p->beta = scale(0.5, add(q1, scale(-1, q2)));
}

/* Entries as ranges; first and second: the signs of the two terms in column f'. */
static void fill(range m[4][4], const parts *p, double first, double second)
{
    const range one = {1, 1}, zero = {0, 0}, rr = square(p->r);
    const range r_alpha = times(rr, p->alpha), r_beta = times(rr, p->beta);
    const range entries[4][4] = {
        {add(one, times(r_alpha, p->kappa)), times(r_alpha, p->across),
         add(p->d1, add(times(p->alpha, p->x), scale(2, times(r_beta, p->kappa)))),
         add(scale(first, times(p->alpha, p->bias)), scale(2 * second, times(r_beta, p->across)))},
        {zero, one, zero, p->d1},
        {times(r_beta, p->kappa), times(r_beta, p->across),
         add(p->d2, add(times(p->beta, p->x), scale(2, times(r_alpha, p->kappa)))),
         add(scale(first, times(p->beta, p->bias)), scale(2 * second, times(r_alpha, p->across)))},
        {zero, zero, zero, p->d2},
    };
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) m[i][j] = entries[i][j];
}

/* The norm of the middle plus the Frobenius norm of the radii. */
static double centred(range m[4][4], double enough)
{
    double middle[4][4], radius = 0;

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            double half = (m[i][j].hi - m[i][j].lo) / 2;
            middle[i][j] = m[i][j].lo + half;
            radius += half * half;
        }
    radius = sqrt(radius);
    return norm_upper(middle, enough - radius) + radius;
}

typedef struct {
    double g, enough;
} pair;

/* The norm over a box of angles: of the matrix of largest moduli or centred, the smaller. */
static double pair_upper(const void *context, const double *lo, const double *hi)
{
    const pair *query = context;
    range m[4][4];
    parts p;
    double moduli[4][4], worst = 0;

    find_parts(&p, query->g, lo, hi);
    for (int s = 0; s < 2; s++) {
        fill(m, &p, 1, s > 0 ? -1 : 1);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                moduli[i][j] = s > 0 ? fmax(moduli[i][j], largest(m[i][j])) : largest(m[i][j]);
    }
    const double least = norm_upper(moduli, query->enough);
    for (int s = 0; s < 4 && least > query->enough && worst < least; s++) {
        fill(m, &p, s & 1 ? -1 : 1, s & 2 ? -1 : 1);
        worst = fmax(worst, centred(m, query->enough));
    }
    return (least > query->enough ? fmin(least, worst) : least) * (1 + rounding);
}

double tl_bounds_pair_box(double g, const double lo[3], const double hi[3])
{
    const pair query = {g, 0};

    return pair_upper(&query, lo, hi);
}

double tl_bounds_log_pair(double g, size_t splits)
{
    return tl_bounds_log_pair_range(g, -1, 1, splits);
}

double tl_bounds_log_pair_range(double g, double least, double most_kappa, size_t splits)
{
    const double quarter = 1.5707963267948968; /* just above pi/2 */
    /* Across the whole range 2 g is attained; a part of it may stay below. */
    const bool whole = least <= 0 && most_kappa >= 0;
    const pair query = {g, whole ? fmax(2 * g, 1) * settled : 1};
    const double low = least > -1 ? asin(fmin(least, 1)) - 4 * DBL_EPSILON : -quarter;
    const double high = most_kappa < 1 ? asin(fmax(most_kappa, -1)) + 4 * DBL_EPSILON : quarter;
    const tl_bounds_box_problem problem = {.dim = 3,
                                           .lo = {0, 0, fmax(low, -quarter)},
                                           .hi = {quarter, quarter, fmin(high, quarter)},
                                           .context = &query,
                                           .upper = pair_upper,
                                           .floor = query.enough,
                                           .ceiling = (double)INFINITY,
                                           .tolerance = 1e-4,
                                           .budget = splits};

    if (!(g > 0 && g <= most)) return (double)INFINITY;
    return log(tl_bounds_box_max(&problem)) + rounding;
}
