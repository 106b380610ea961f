/* The spectral norm of L2 attention over few tokens: the supremum itself for two, branch and bound
 * over all configurations for three to five. README section 17.6. */
#include <float.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/l2_norm.h"

enum { TOKENS = 5 };

/* Groups of tokens further apart than this act on their own, up to APART in the norm. */
static const double REACH = 6.5, APART = 1e-12;
/* Entries are sums of some 100 terms below 8 in size and matrices have up to 25 entries; norms are
 * at least 1. */
static const double ROUNDING = 3e4 * DBL_EPSILON;

double tl_bounds_l2_pair(void)
{
    /* u tanh(u/2) = 3/2 increases in u; an error of u only counts squared. */
    double u = 2;

    for (int step = 0; step < 40; step++) {
        const double t = tanh(u / 2);
        u -= (u * t - 1.5) / (t + u * (1 - t * t) / 2);
    }
    const double t = tanh(u / 2);
    return (t + u * (1 - t * t)) * (1 + 64 * DBL_EPSILON);
}

/* ||a|| for a >= 0 entry by entry: ||a||^2 <= max_i (a'a v)_i / v_i for every v > 0. */
static double norm_of(size_t n, double a[TOKENS][TOKENS])
{
    double v[TOKENS], best = (double)INFINITY;

    for (size_t i = 0; i < n; i++) v[i] = 1;
    for (int step = 0; step < 8; step++) {
        double w[TOKENS], u[TOKENS] = {0}, ratio = 0, top = 0;
        for (size_t i = 0; i < n; i++) {
            w[i] = 0;
            for (size_t j = 0; j < n; j++) w[i] += a[i][j] * v[j];
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) u[j] += a[i][j] * w[i];
        for (size_t i = 0; i < n; i++) {
            ratio = fmax(ratio, u[i] / v[i]);
            top = fmax(top, u[i]);
        }
        best = fmin(best, ratio);
        for (size_t i = 0; i < n; i++) v[i] = fmax(u[i] / top, 1e-6);
    }
    return sqrt(best);
}

typedef struct {
    double lo, hi;
} range;

/* Functions of a distance in [lo, hi]: t, e^-t, t^(1/2) e^-t, (1 - 2t) e^-t with t its square. */
typedef struct {
    range t, kernel, first, second;
} terms;

static void terms_of(double lo, double hi, terms *out)
{
    const range t = {lo * lo, hi * hi}, k = {exp(-t.hi), exp(-t.lo)};
    const double first[2] = {lo * k.hi, hi * k.lo};
    const double second[2] = {(1 - 2 * t.lo) * k.hi, (1 - 2 * t.hi) * k.lo};

    out->t = t;
    out->kernel = k;
    out->first = (range){fmin(first[0], first[1]), fmax(first[0], first[1])};
    out->second = (range){fmin(second[0], second[1]), fmax(second[0], second[1])};
    if (t.lo <= 0.5 && 0.5 <= t.hi) out->first.hi = sqrt(0.5) * exp(-0.5);
    if (t.lo <= 1.5 && 1.5 <= t.hi) out->second.lo = -2 * exp(-1.5);
}

/* The largest P_ii + 2 sum_j P_ij t_ij: the root D of 1 + sum_{j != i} max e^-t (2t - D) = D. The
 * left side is convex and falls in D, so Newton's method climbs to the root; the last value is
 * raised until it is seen to be above. */
static double diagonal(size_t n, const terms *row[TOKENS])
{
    double d = 1;

    for (int step = 0; step < 40; step++) {
        double value = 1 - d, slope = 1;
        for (size_t j = 0; j + 1 < n; j++) {
            const range t = row[j]->t, k = row[j]->kernel;
            const double peak = fmin(fmax(1 + d / 2, t.lo), t.hi);
            const double e = peak <= t.lo ? k.hi : peak >= t.hi ? k.lo : exp(-peak);
            value += e * (2 * peak - d);
            slope += e;
        }
        if (value <= 0) return d;
        d += value / slope * (1 + 1e-9) + 1e-11;
    }
    return (double)INFINITY;
}

/* x / z, z > 0. */
static range quotient(range x, range z)
{
    return (range){x.lo / (x.lo < 0 ? z.lo : z.hi), x.hi / (x.hi < 0 ? z.hi : z.lo)};
}

/* |second + 2 m first| at most. */
static double modulus(range second, range m, range first, bool right)
{
    const double a = m.lo * (m.lo < 0 ? first.hi : first.lo);
    const double b = m.hi * (m.hi < 0 ? first.lo : first.hi);
    const range product = right ? (range){a, b} : (range){-b, -a};

    return fmax(second.hi + 2 * product.hi, -second.lo - 2 * product.lo);
}

/* The norm of the largest moduli, entry by entry. */
double tl_bounds_l2_line_box(size_t n, const double *lo, const double *hi)
{
    terms pair[TOKENS][TOKENS];
    double a[TOKENS][TOKENS];

    /* Reflection reverses the gaps. */
    if (lo[0] > hi[n - 2]) return -(double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        range x = {0, 0};
        for (size_t j = i + 1; j < n; j++) {
            x.lo += lo[j - 1];
            x.hi += hi[j - 1];
            terms_of(x.lo, x.hi, &pair[i][j]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        const terms *row[TOKENS];
        range z = {1, 1}, m = {0, 0};
        size_t count = 0;
        for (size_t j = 0; j < n; j++) {
            if (j == i) continue;
            const terms *p = j > i ? &pair[i][j] : &pair[j][i];
            row[count++] = p;
            z.lo += p->kernel.lo;
            z.hi += p->kernel.hi;
            m.lo += j > i ? p->first.lo : -p->first.hi;
            m.hi += j > i ? p->first.hi : -p->first.lo;
        }
        m = quotient(m, z);
        const double least = m.lo <= 0 && m.hi >= 0 ? 0 : fmin(fabs(m.lo), fabs(m.hi));
        a[i][i] = diagonal(n, row) - 2 * least * least;
        for (size_t j = 0, at = 0; j < n; j++)
            if (j != i) {
                a[i][j] = modulus(row[at]->second, m, row[at]->first, j > i) / z.lo;
                at++;
            }
    }
    return norm_of(n, a);
}

/* Three tokens: rows of |J_g| by the norms of its blocks, over boxes of pairwise distances. */
typedef struct {
    double lo[3], hi[3];
} weights;

/* Row i: weights of i, j, k. */
static weights weights_of(const terms *ij, const terms *ik)
{
    const double kernel[3][2] = {
        {1, 1}, {ij->kernel.lo, ij->kernel.hi}, {ik->kernel.lo, ik->kernel.hi}};
    weights p;

    for (int a = 0; a < 3; a++) {
        double lo = kernel[a][0], hi = kernel[a][1];
        for (int b = 0; b < 3; b++)
            if (b != a) {
                lo += kernel[b][1];
                hi += kernel[b][0];
            }
        p.lo[a] = kernel[a][0] / lo;
        p.hi[a] = kernel[a][1] / hi;
    }
    return p;
}

/* ||P_ij (I + 2 z w')|| = (b + (b^2 + 4 P^2 (1 + alpha))^(1/2))/2 at most, z = y_j - mu_i, w = y_i
 * - y_j, alpha = 2 <z, w>, b = 2 P |z| |w|. */
static double block(const terms *ij, const terms *ik, const terms *jk, const weights *p)
{
    /* alpha = -2 P_i t_ij - P_k (t_ij + t_jk - t_ik), |z|^2 = (P_i + P_k)(P_i t_ij + P_k t_jk) -
     * P_i P_k t_ik. */
    const double angle = ij->t.lo + jk->t.lo - ik->t.hi;
    const double alpha = -2 * p->lo[0] * ij->t.lo - (angle < 0 ? p->hi[2] : p->lo[2]) * angle;
    const double rest = fmin(p->hi[0] + p->hi[2], 1 - p->lo[1]);
    /* Differences under a root: their rounding counts before it is taken. */
    const double slack = 16 * DBL_EPSILON * (1 + ij->t.hi + jk->t.hi + ik->t.hi);
    const double square =
        rest * (p->hi[0] * ij->t.hi + p->hi[2] * jk->t.hi) - p->lo[0] * p->lo[2] * ik->t.lo + slack;
    const double b = 2 * p->hi[1] * sqrt(fmax(square, 0) * ij->t.hi);
    const double above = 1 + alpha + slack, weight = above > 0 ? p->hi[1] : p->lo[1];
    const double up = 1 + 16 * DBL_EPSILON;

    return (b + sqrt(fmax(b * b * up + 4 * weight * weight * above, 0))) / 2;
}

double tl_bounds_l2_triangle_box(const double lo[3], const double hi[3])
{
    static const int side[3][3] = {{0, 0, 2}, {0, 0, 1}, {2, 1, 0}};
    terms pair[3];
    double a[TOKENS][TOKENS];

    if (lo[0] > hi[1] || lo[1] > hi[2] || lo[2] > hi[0] + hi[1]) return -(double)INFINITY;
    for (int s = 0; s < 3; s++) terms_of(lo[s], hi[s], &pair[s]);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const terms *ij = &pair[side[i][j]], *ik = &pair[side[i][k]], *jk = &pair[side[j][k]];
        const terms *row[TOKENS] = {ij, ik};
        const weights p = weights_of(ij, ik),
                      q = {{p.lo[0], p.lo[2], p.lo[1]}, {p.hi[0], p.hi[2], p.hi[1]}};
        /* |mu_i - y_i|^2 = (P_j t_ij + P_k t_ik)(1 - .) + P_j P_k .. >= its least. */
        const double mean = p.lo[1] * p.lo[1] * ij->t.lo + p.lo[2] * p.lo[2] * ik->t.lo +
                            p.lo[1] * p.lo[2] * fmax(0, ij->t.lo + ik->t.lo - jk->t.hi);
        const double cross = fmin(0, ij->t.lo + ik->t.lo - jk->t.hi);
        a[i][i] = diagonal(3, row) - 2 * fmax(0, mean + p.hi[1] * p.hi[2] * cross);
        a[i][j] = block(ij, ik, jk, &p);
        a[i][k] = block(ik, ij, jk, &q);
    }
    return norm_of(3, a);
}

static double line_upper(const void *context, const double *lo, const double *hi)
{
    return tl_bounds_l2_line_box(*(const size_t *)context, lo, hi);
}

static double triangle_upper(const void *context, const double *lo, const double *hi)
{
    (void)context;
    return tl_bounds_l2_triangle_box(lo, hi);
}

double tl_bounds_l2_search(double n, size_t k, size_t splits)
{
    const bool line = k == 1;

    if (!(n >= 2 && n <= (line ? TOKENS : 3))) return (double)INFINITY;
    const size_t tokens = (size_t)n;
    if (tokens == 2) return tl_bounds_l2_pair();
    tl_bounds_box_problem problem = {.dim = line ? tokens - 1 : 3,
                                     .context = &tokens,
                                     .upper = line ? line_upper : triangle_upper,
                                     .floor = tl_bounds_l2_pair(),
                                     .ceiling = (double)INFINITY,
                                     .tolerance = 1e-4,
                                     .budget = splits};
    for (size_t i = 0; i < problem.dim; i++) problem.hi[i] = line || i < 2 ? REACH : 2 * REACH;
    return tl_bounds_box_max(&problem) * (1 + ROUNDING) + APART;
}

double tl_bounds_l2_small(double n, size_t k)
{
    /* k = 1, n = 3 and 4: `tightlip exact --attention l2 --whole-space --n N`, recomputed by
     * test_bounds_l2. n = 5, and n = 3 at any k: tl_bounds_l2_search, recomputed by
     * test_bounds_l2_norm. */
    static const double line[] = {1.9446620, 2.0920941, 2.2881};
    const double triangle = 2.0278;

    if (n == 2) return tl_bounds_l2_pair();
    if (n == 3 && k != 1) return triangle;
    return k == 1 && n >= 3 && n <= 5 ? line[(size_t)n - 3] : (double)INFINITY;
}
