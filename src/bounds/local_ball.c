/* local-ball: the display of README Theorem 5.1 for all tokens within epsilon of X. Proof: README
 * "On a Frobenius ball". */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/internal.h"
#include "bounds/local.h"
#include "tightlip/linalg.h"

enum { MOST_ATOMS = 512 };

typedef struct {
    const tl_bound_query *query;
    tl_bounds_tokens t;
    double norm_a, eps;
    double radius;   /* of some ball that holds the tokens */
    double *far;     /* m: max_k |x_j - x_k| */
    double *log_p;   /* m: of one row, inflated, each for one token */
    double *xi;      /* m x d, scaled by the square root of the attention */
    double *gram;    /* min(m, d)^2 */
    double *lambda;  /* min(m, d) */
    double *mean;    /* d */
    double *log_e;   /* m x m */
    double *log_d;   /* m */
    double *columns; /* m */
    double *block;
} ball;

static bool ball_alloc(ball *w, const tl_bound_query *query)
{
    const size_t m = query->measure->m, d = query->measure->d, s = m < d ? m : d;
    double *at = malloc((4 * m + m * d + s * s + s + d + m * m) * sizeof *at);

    *w = (ball){.query = query, .eps = query->epsilon, .block = at};
    if (!at) return false;
    w->far = at;
    w->log_p = w->far + m;
    w->xi = w->log_p + m;
    w->gram = w->xi + m * d;
    w->lambda = w->gram + s * s;
    w->mean = w->lambda + s;
    w->log_e = w->mean + d;
    w->log_d = w->log_e + m * m;
    w->columns = w->log_d + m;
    return true;
}

static void set_far(ball *w, const tl_measure *mu)
{
    const size_t m = mu->m, d = mu->d;
    const double up = 1 + (double)(d + 8) * DBL_EPSILON;

    for (size_t j = 0; j < m; j++) {
        w->far[j] = 0;
        for (size_t k = 0; k < m; k++) {
            double square = 0;
            for (size_t r = 0; r < d; r++) {
                double step = mu->x[j * d + r] - mu->x[k * d + r];
                square += step * step;
            }
            w->far[j] = fmax(w->far[j], sqrt(square) * up);
        }
    }
}

/* About the mean of the tokens, whatever it was rounded to, or a given point. */
static double radius_about(const tl_measure *mu, const double *centre)
{
    double most = 0;

    for (size_t k = 0; k < mu->m; k++) {
        double square = 0;
        for (size_t r = 0; r < mu->d; r++) {
            const double step = mu->x[k * mu->d + r] - (centre ? centre[r] : 0);
            square += step * step;
        }
        most = fmax(most, sqrt(square));
    }
    return most * (1 + (double)(mu->d + 8) * DBL_EPSILON);
}

static void set_radius(ball *w, const tl_measure *mu)
{
    const tl_domain *domain = w->query->domain;

    for (size_t r = 0; r < mu->d; r++) w->mean[r] = 0;
    for (size_t k = 0; k < mu->m; k++)
        tl_axpy(mu->d, exp(mu->log_mass[k]), mu->x + k * mu->d, w->mean);
    w->radius = fmin(radius_about(mu, w->mean), radius_about(mu, domain ? domain->centre : NULL));
    w->radius = fmin(w->radius, w->query->radius);
}

/* log of the largest attention of row i on one copy of each atom; the largest is returned. */
static double inflate_row(ball *w, size_t i, double a)
{
    const tl_measure *mu = w->query->measure;
    const double *row = w->t.log_p + i * w->t.m;
    double largest = -(double)INFINITY;

    for (size_t l = 0; l < w->t.m; l++) {
        const double one = row[l] - log((double)mu->count[l]);
        w->log_p[l] = one;
        if (isinf(one)) continue; /* not seen */
        double omega = w->norm_a * w->eps * w->far[l] + sqrt(2) * w->eps * a;
        /* log (1 - p) / p for one copy: 1 - p is summed from the others where it is small. */
        double others = -(double)INFINITY;
        if (one < -0.5) {
            others = log1p(-exp(one));
        } else {
            for (size_t k = 0; k < w->t.m; k++)
                if (k != l) others = tl_bounds_log_add(others, row[k]);
            if (mu->count[l] > 1)
                others = tl_bounds_log_add(others, one + log((double)(mu->count[l] - 1)));
        }
        double odds =
            others - one - omega * (1 + 16 * DBL_EPSILON) - 8 * w->t.slack[i] -
            (double)(w->t.m + 32) * 8 * DBL_EPSILON * (1 + fabs(one) + fmin(fabs(others), 800));
        w->log_p[l] = -tl_bounds_log_add(0, odds) + 16 * DBL_EPSILON * (1 + fabs(odds));
        w->log_p[l] = fmin(w->log_p[l], 0);
        largest = fmax(largest, w->log_p[l]);
    }
    return largest;
}

/* Square root of the top eigenvalue of sum_j P^_ij xi_ij xi_ij' over all tokens j, rounded up. */
static tl_status spread(ball *w, size_t i, double *root)
{
    const tl_measure *mu = w->query->measure;
    const size_t m = w->t.m, d = w->t.d, s = m < d ? m : d;
    double size = 0;

    for (size_t r = 0; r < d; r++) w->mean[r] = 0;
    for (size_t l = 0; l < m; l++)
        tl_axpy(d, exp(w->t.log_p[i * m + l]), w->t.shift + l * d, w->mean);
    for (size_t l = 0; l < m; l++) {
        double weight = exp((w->log_p[l] + log((double)mu->count[l])) / 2);
        size = hypot(size, weight);
        for (size_t r = 0; r < d; r++)
            w->xi[l * d + r] = weight * (w->t.shift[l * d + r] - w->mean[r]);
    }
    double frobenius = tl_nrm2(m * d, w->xi);
    if (m < d)
        tl_gemm('N', 'T', m, m, d, 1, w->xi, d, w->xi, d, 0, w->gram, m);
    else
        tl_gemm('T', 'N', d, d, m, 1, w->xi, d, w->xi, d, 0, w->gram, d);
    tl_status status = tl_eigen_symmetric(s, w->gram, w->lambda, NULL);
    if (status != TL_OK) return status;
    double top = fmax(w->lambda[s - 1], 0);
    top += 16 * (double)(m + d + s + 8) * DBL_EPSILON * frobenius * frobenius;
    /* Any centre is allowed, so the mean needs no margin; the shifts are rounded once. */
    *root = sqrt(top) + 8 * DBL_EPSILON * size * (w->t.reach + log(w->query->n) * w->t.reach);
    return TL_OK;
}

/* Row i of E and D at their largest in the ball. */
static tl_status set_row(ball *w, size_t i)
{
    const tl_measure *mu = w->query->measure;
    const size_t m = w->t.m;
    const double up = 1 + 32 * DBL_EPSILON;
    double a = (w->t.b_norm[i] * (1 + (double)(w->t.d + 4) * DBL_EPSILON) + w->t.b_error[i] +
                w->norm_a * w->eps) *
               up;
    double largest = inflate_row(w, i, a), root = 0;
    tl_status status = spread(w, i, &root);
    if (status != TL_OK) return status;
    root = fmin(root + w->eps * exp(largest / 2) * up, w->radius + w->eps) * up;
    double log_rho = 2 * log(hypot(1, a * root)) + 16 * DBL_EPSILON;
    for (size_t l = 0; l < m; l++) {
        double log_count = log((double)mu->count[i]);
        const double log_e = log_count + w->log_p[l] + log_rho;
        w->log_e[i * m + l] =
            isinf(log_e) ? log_e : tl_bounds_up(log_e, log_count + fabs(w->log_p[l]));
    }
    w->log_d[i] = 2 * (log(w->norm_a) + 2 * log(root)) + 64 * DBL_EPSILON;
    w->log_d[i] += isinf(w->log_d[i]) ? 0 : 16 * DBL_EPSILON * fabs(w->log_d[i]);
    return TL_OK;
}

static tl_status head_bound(ball *w, size_t h, double *log_l)
{
    const size_t m = w->query->measure->m;
    tl_status status = tl_bounds_tokens_init(&w->t, w->query->layer, h, w->query->measure);

    if (status == TL_ERR_MEMORY) return status;
    w->norm_a = w->query->head[h].norm_a;
    for (size_t i = 0; i < m && status == TL_OK; i++) status = set_row(w, i);
    tl_bounds_tokens_clear(&w->t);
    if (status == TL_OK) status = tl_bounds_columns(m, w->log_e, w->log_d, w->columns);
    *log_l = -(double)INFINITY;
    for (size_t l = 0; l < m; l++) *log_l = fmax(*log_l, w->columns[l] / 2);
    return status;
}

static tl_status local_ball(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;
    ball w;

    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_finite_n(query, value) ||
        !tl_bounds_has_tokens(query, value))
        return TL_OK;
    if (!(query->epsilon > 0) || !isfinite(query->epsilon))
        return tl_bounds_refuse(value, "needs epsilon > 0, the radius of the Frobenius ball");
    if (query->measure->m > MOST_ATOMS)
        return tl_bounds_refuse(value, "more than %d different tokens", MOST_ATOMS);
    if (!ball_alloc(&w, query)) return TL_ERR_MEMORY;
    set_far(&w, query->measure);
    set_radius(&w, query->measure);
    tl_status status = TL_OK;
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads && status == TL_OK; h++) {
        double log_l = 0;
        status = head_bound(&w, h, &log_l);
        if (query->n < 2) log_l = 0;
        tl_bounds_total_add(&total, &query->head[h], log_l);
    }
    free(w.block);
    if (status == TL_ERR_NUMERIC)
        return tl_bounds_refuse(value, "the logits of these tokens leave the double range");
    return status == TL_OK ? tl_bounds_total_finish(&total, query, value) : status;
}

const tl_bound tl_bound_local_ball = {
    .key = "local-ball",
    .title = "the local display with attention, |A x + c| and covariance at their largest near X",
    .citation = "tightlip, src/bounds/README.md \"On a Frobenius ball\"",
    .hypotheses = "dot product, any mask, biases allowed; n finite, at most 512 different tokens; "
                  "||J|| at every X' within epsilon of X in Frobenius norm",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_FROBENIUS,
    .whole_ball = true,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = local_ball,
};
