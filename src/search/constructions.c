/* Starting constructions. Each fills atoms, relaxed masses and, when A is searched, A; a little
 * noise is added by the caller. Sources: Castin, Ablin and Peyre 2024 (castin);
 * src/bounds/README.md section 4 (two-dirac, heavy-pair, kappa). */
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/builder.h"

void tl_build_place(const tl_builder *b, size_t k, double along, double across)
{
    for (size_t r = 0; r < b->d; r++)
        b->p->x[k * b->d + r] =
            (b->centre ? b->centre[r] : 0.0) + b->R * (along * b->w[r] + across * b->w2[r]);
}

/* w2 = a random unit vector orthogonal to w. */
static void orthogonal(const tl_builder *b)
{
    memset(b->w2, 0, b->d * sizeof(double));
    if (b->d < 2) return;
    gsl_ran_dir_nd(b->rng, b->d, b->w2);
    tl_axpy(b->d, -tl_dot(b->d, b->w, b->w2), b->w, b->w2);
    const double length = tl_nrm2(b->d, b->w2);
    for (size_t r = 0; r < b->d; r++) b->w2[r] = length > 0.0 ? b->w2[r] / length : 0.0;
}

/* The direction in which a token repels itself most: lowest eigenvector of the symmetric part of A.
 */
static tl_status direction_fixed(tl_builder *b)
{
    const size_t d = b->d;
    double *A = malloc((2 * d * d + d) * sizeof(double));
    if (!A) return TL_ERR_MEMORY;
    double *q = A + d * d, *lambda = q + d * d;
    const size_t h = gsl_rng_uniform_int(b->rng, (unsigned long)b->problem->layer->heads);
    tl_layer_logit_map(b->problem->layer, h, A, NULL);
    tl_symmetric_part(d, A, A);
    const tl_status status = tl_eigen_symmetric(d, A, lambda, q);
    if (!status) {
        memcpy(b->w, q, d * sizeof(double));
        b->quad = lambda[0];
    }
    free(A);
    return status;
}

static void set_scaled_identity(const tl_builder *b, double factor)
{
    memset(b->p->A, 0, b->d * b->d * sizeof(double));
    for (size_t r = 0; r < b->d; r++) b->p->A[r * b->d + r] = factor * b->problem->norm_a;
}

static void set_rotation(const tl_builder *b)
{
    double *A = b->p->A;
    memset(A, 0, b->d * b->d * sizeof(double));
    for (size_t r = 0; r + 1 < b->d; r += 2) {
        A[r * b->d + r + 1] = -b->problem->norm_a;
        A[(r + 1) * b->d + r] = b->problem->norm_a;
    }
    if (b->d % 2) A[b->d * b->d - 1] = -b->problem->norm_a;
}

/* The mirror that exchanges w and w2: no token at +-R w prefers one of the two, however large the
 * logits are, and queries and keys move the shares together. */
static void set_exchange(const tl_builder *b)
{
    const size_t d = b->d;
    set_scaled_identity(b, 1.0);
    for (size_t r = 0; r < d; r++)
        for (size_t c = 0; c < d; c++)
            b->p->A[r * d + c] -= b->problem->norm_a * (b->w[r] - b->w2[r]) * (b->w[c] - b->w2[c]);
}

/* A random point of the orthogonal group times the bound: a Gaussian matrix pushed to the extreme
 * points of the spectral ball. */
static tl_status set_orthogonal(const tl_builder *b)
{
    double *A = b->p->A;
    const size_t d = b->d;
    for (size_t i = 0; i < d * d; i++)
        A[i] = gsl_ran_gaussian(b->rng, 1.0) * 1e3 * b->problem->norm_a;
    return tl_spectral_project(d, b->problem->norm_a, A, NULL);
}

static void masses_equal(const tl_builder *b)
{
    for (size_t k = 0; k < b->p->m; k++) b->p->log_mass[k] = 0.0;
}

/* Log of one token's mass, or of a small mass in mean field. */
static double log_single(const tl_builder *b)
{
    return b->problem->n ? -log((double)b->problem->n) : -2.0 * tl_problem_logit_size(b->problem);
}

static void start_two_dirac(const tl_builder *b)
{
    const double p = 0.05 + 0.6 * gsl_rng_uniform(b->rng);
    const double g = -b->quad * b->R * b->R;
    const double terms[2] = {log(p), log1p(-p) + 2.0 * g};
    b->p->m = 2;
    tl_build_place(b, 0, 1.0, 0.0);
    tl_build_place(b, 1, -1.0, 0.0);
    b->p->log_mass[0] = log(p) - tl_logsumexp(2, terms);
    b->p->log_mass[1] = log1p(-fmin(exp(b->p->log_mass[0]), 0.999));
}

static void start_pair(tl_builder *b)
{
    b->p->m = 2;
    tl_build_place(b, 0, 1.0, 0.0);
    tl_build_place(b, 1, -1.0, 0.0);
    masses_equal(b);
    if (!b->p->A) return;
    b->at_top = b->problem->n == 2;
    if (b->at_top && b->d >= 2) { /* the worst pair of two tokens at large radii */
        set_exchange(b);
        return;
    }
    switch (gsl_rng_uniform_int(b->rng, 3)) {
    case 0:
        set_scaled_identity(b, 1.0);
        break;
    case 1:
        set_rotation(b);
        break;
    default:
        break; /* -identity already */
    }
}

/* Two single tokens opposite each other across the bulk's line, or leaning away from the bulk: at n
 * between e^g and e^2g a third of a turn is best, since the bulk then attends to both and to
 * itself. */
static void start_heavy_pair(const tl_builder *b)
{
    const double lean = gsl_rng_uniform(b->rng) < 0.3 ? 0.0 : 0.2 + 0.6 * gsl_rng_uniform(b->rng);
    const double side = sqrt(1.0 - lean * lean);
    b->p->m = b->most >= 3 ? 3 : 2;
    b->p->log_mass[0] = log_single(b);
    if (b->p->m == 2) { /* two atoms: one heavy token against a bulk a quarter turn away */
        tl_build_place(b, 0, side, -lean);
        tl_build_place(b, 1, 0.0, 1.0);
        b->p->log_mass[1] = 0.0;
        return;
    }
    tl_build_place(b, 0, side, -lean);
    tl_build_place(b, 1, -side, -lean);
    tl_build_place(b, 2, 0.0, 1.0);
    b->p->log_mass[1] = b->p->log_mass[0];
    b->p->log_mass[2] = 0.0;
}

/* Theorem 5: A/g = e2 e1' + e1 e2' + e4 e3' + e3 e4'; heavies (+-., L/g, 0, ga), (-+., L/g, ga,
 * ga), bulk e1. */
static void start_kappa(const tl_builder *b)
{
    const size_t d = b->d;
    const double g = tl_problem_logit_size(b->problem), a = b->problem->norm_a;
    /* e^L, the weight of a heavy token in a bulk row, must beat the n - 2 bulk tokens there. */
    const double bulk =
        b->problem->n ? log(0.5 * fmax((double)b->problem->n - 2.0, 1.0)) : log(fmax(g, 1.0));
    const double L = fmin(fmax(bulk, 0.0) + 5.0 * gsl_rng_uniform(b->rng), 0.45 * g);
    const double be = L / fmax(g, 1e-3);
    double ga = 0.0, first = sqrt(1.0 - be * be), second = first;
    /* Ties in the heavy rows, ga^2 = be (first + second), by a few sweeps of the fixed point. */
    for (int sweep = 0; sweep < 30; sweep++) {
        ga = sqrt(fmin(0.5 * (ga * ga + be * (first + second)), 0.49 * (1.0 - be * be)));
        first = sqrt(1.0 - be * be - ga * ga);
        second = sqrt(fmax(1.0 - be * be - 2.0 * ga * ga, 0.0));
    }
    double *A = b->p->A, *x = b->p->x;
    memset(A, 0, d * d * sizeof(double));
    A[1 * d + 0] = A[0 * d + 1] = A[3 * d + 2] = A[2 * d + 3] = a;
    for (size_t r = 4; r < d; r++) A[r * d + r] = -a;
    b->p->m = 3;
    memset(x, 0, 3 * d * sizeof(double));
    const double heavy[2][4] = {{first, be, 0.0, ga}, {-second, be, ga, ga}};
    for (size_t k = 0; k < 2; k++)
        for (size_t r = 0; r < 4; r++) x[k * d + r] = b->R * heavy[k][r];
    x[2 * d] = b->R;
    b->p->log_mass[0] = b->p->log_mass[1] = log_single(b);
    b->p->log_mass[2] = 0.0;
}

static tl_status start_castin(const tl_builder *b)
{
    b->p->m = 2;
    b->p->log_mass[0] = log_single(b);
    b->p->log_mass[1] = 0.0;
    if (b->p->A) { /* A = -identity: lowest eigenvalue in every direction */
        tl_build_place(b, 0, -1.0, 0.0);
        tl_build_place(b, 1, 1.0, 0.0);
        return TL_OK;
    }
    const size_t h = gsl_rng_uniform_int(b->rng, (unsigned long)b->problem->layer->heads);
    tl_castin tokens;
    const tl_status status = tl_castin_tokens(b->problem->layer, h, b->w, &tokens, NULL);
    if (status == TL_ERR_UNSUPPORTED) { /* no real eigenvalue */
        start_two_dirac(b);
        return TL_OK;
    }
    if (status) return status;
    tl_build_place(b, 0, tokens.first, 0.0);
    tl_build_place(b, 1, tokens.rest, 0.0);
    return TL_OK;
}

/* Bulk at R v with v the top right singular vector of A, one winner at R u: every row attends to
 * it. */
static tl_status start_large_radius(const tl_builder *b)
{
    const size_t d = b->d;
    b->p->m = 2;
    b->p->log_mass[0] = log_single(b);
    b->p->log_mass[1] = 0.0;
    if (b->p->A) {
        set_rotation(b);
        if (d == 1) set_scaled_identity(b, 1.0);
        for (size_t r = 0; r < d; r++)
            b->w2[r] = tl_dot(d, b->p->A + r * d, b->w) / b->problem->norm_a;
        tl_build_place(b, 0, 0.0, 1.0);
        tl_build_place(b, 1, d == 1 ? 0.3 : 1.0, 0.0);
        return TL_OK;
    }
    double *A = malloc(d * d * sizeof(double));
    if (!A) return TL_ERR_MEMORY;
    const size_t h = gsl_rng_uniform_int(b->rng, (unsigned long)b->problem->layer->heads);
    tl_layer_logit_map(b->problem->layer, h, A, NULL);
    const tl_status status = tl_svd_dense(d, d, A, NULL, b->w2, b->w);
    free(A);
    if (status) return status;
    tl_build_place(b, 0, 0.0, 1.0);
    tl_build_place(b, 1, fabs(tl_dot(d, b->w, b->w2)) > 0.9 ? 0.3 : 1.0, 0.0);
    return TL_OK;
}

tl_status tl_build_axes(tl_builder *b)
{
    tl_status status = TL_OK;
    b->quad = -b->problem->norm_a;
    if (b->p->A) {
        gsl_ran_dir_nd(b->rng, b->d, b->w);
        set_scaled_identity(b, -1.0);
    } else {
        status = direction_fixed(b);
    }
    orthogonal(b);
    return status;
}

tl_status tl_build_random_a(tl_builder *b)
{
    switch (gsl_rng_uniform_int(b->rng, 4)) {
    case 0:
        set_scaled_identity(b, -1.0);
        return TL_OK;
    case 1:
        set_rotation(b);
        return TL_OK;
    default:
        return set_orthogonal(b);
    }
}

tl_status tl_build_construction(tl_builder *b, tl_start start)
{
    switch (start) {
    case TL_START_CASTIN:
        return start_castin(b);
    case TL_START_TWO_DIRAC:
        start_two_dirac(b);
        return TL_OK;
    case TL_START_PAIR:
        start_pair(b);
        return TL_OK;
    case TL_START_HEAVY_PAIR:
        start_heavy_pair(b);
        return TL_OK;
    case TL_START_KAPPA:
        start_kappa(b);
        return TL_OK;
    case TL_START_LARGE_RADIUS:
        return start_large_radius(b);
    case TL_START_TWO_PHASE:
    case TL_START_INTERLEAVED:
        tl_build_heavy_bulk(b);
        return TL_OK;
    default:
        return TL_ERR_ARGUMENT;
    }
}
