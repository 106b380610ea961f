/* Largest absolute row sum of L2 attention: exact on the line, and for any width. Proofs: README
 * section 16. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/l2.h"
#include "tightlip/linalg.h"

/* Up to this width every sign pattern of an input token is tried. */
enum { SIGNS = 12 };

/* seen: tokens in the longest row. */
static bool met(const tl_bound_query *query, double *seen, tl_bound_value *value)
{
    return tl_bounds_is_l2(query, value) && tl_bounds_is_finite_n(query, value) &&
           tl_bounds_l2_has_layer(query, value) && tl_bounds_l2_sees_itself(query, seen, value);
}

/* One row o of M against U: alpha = |U u|_1, rho = |u|_2, and the largest over signs s of |U's|_2
 * (beta) and of (rho |U's| + <u, U's>)/2 (gamma), each rounded up. */
typedef struct {
    double alpha, rho, beta, gamma;
} row_facts;

static double row_bound(const row_facts *f, double c)
{
    const double cross = f->rho * f->beta;
    const double least = fmin(f->gamma + cross, f->gamma + hypot(f->gamma, cross / 2));

    return f->alpha + 2 * c * least;
}

/* sum over inputs a of |<U_a, u>|. */
static double alpha_of(const tl_bounds_l2_head *head, const double *u)
{
    double sum = 0;

    for (size_t a = 0; a < head->d; a++) sum += fabs(tl_dot(head->k, head->U + a * head->k, u));
    return sum;
}

/* Every pattern with the first sign +, in Gray code order; tau: k doubles of scratch. The other
 * half is <u, tau> -> -<u, tau>. */
static void try_signs(const tl_bounds_l2_head *head, const double *u, double *tau, row_facts *f)
{
    const size_t k = head->k, patterns = (size_t)1 << (head->d - 1);
    size_t signs = 0;

    for (size_t r = 0; r < k; r++) {
        tau[r] = 0;
        for (size_t a = 0; a < head->d; a++) tau[r] += head->U[a * k + r];
    }
    for (size_t i = 0; i < patterns; i++) {
        const double length = tl_nrm2(k, tau), inner = fabs(tl_dot(k, u, tau));
        f->beta = fmax(f->beta, length);
        f->gamma = fmax(f->gamma, (f->rho * length + inner) / 2);
        size_t flip = 0;
        while (flip < head->d && (i >> flip & 1)) flip++;
        if (flip + 1 >= head->d) break;
        signs ^= (size_t)1 << flip;
        const double step = signs >> flip & 1 ? -2 : 2;
        tl_axpy(k, step, head->U + (flip + 1) * k, tau);
    }
}

/* What all rows of one head share. */
typedef struct {
    double norm_u; /* >= ||U|| */
    double size;   /* sqrt(d) ||U||_F >= |U's|: what rounding of tau is relative to */
    double error;  /* what the error of M can move alpha and gamma by */
    double up;     /* factor for sums of d + k products */
} head_facts;

static tl_status find_facts(const tl_bounds_l2_head *head, head_facts *f)
{
    tl_status status = tl_norm2_dense(head->d, head->k, head->U, &f->norm_u);

    f->up = 1 + 64 * (double)(head->d + head->k + 4) * DBL_EPSILON;
    f->norm_u *= f->up;
    f->size = sqrt((double)head->d) * tl_nrm2(head->d * head->k, head->U);
    f->error = head->m_error * f->size;
    return status;
}

/* Without trying signs: |U's| is at most the length of the absolute column sums and sqrt(d)||U||.
 */
static void estimate_signs(const tl_bounds_l2_head *head, double norm_u, row_facts *f)
{
    double squares = 0;

    for (size_t r = 0; r < head->k; r++) {
        double sum = 0;
        for (size_t a = 0; a < head->d; a++) sum += fabs(head->U[a * head->k + r]);
        squares = hypot(squares, sum);
    }
    f->beta = fmin(squares, sqrt((double)head->d) * norm_u);
    f->gamma = (f->rho * f->beta + f->alpha) / 2;
}

/* The row u of M at width k > 1; tau: k doubles of scratch. */
static double wide_row(const tl_bounds_l2_head *head, const head_facts *facts, const double *u,
                       double c, double *tau)
{
    const size_t k = head->k;
    const double up = facts->up;
    /* tau is a running sum of at most 2^(SIGNS - 1) steps. */
    const double running = (1 << SIGNS) * DBL_EPSILON * facts->size;
    row_facts f = {.alpha = alpha_of(head, u), .rho = tl_nrm2(k, u)};

    if (head->d <= SIGNS)
        try_signs(head, u, tau, &f);
    else
        estimate_signs(head, facts->norm_u, &f);
    f.beta = (f.beta + running) * up;
    f.gamma = (f.gamma + running * f.rho) * up + facts->error;
    f.alpha = f.alpha * up + facts->error;
    f.rho = f.rho * up + head->m_error;
    return row_bound(&f, c) * up;
}

/* sum[o] += the bound of row o of one head, as logarithms; size grows by their moduli. */
static tl_status add_head(const tl_bounds_l2_head *head, double n, bool masked, double *sum,
                          double *size)
{
    const size_t k = head->k;
    const double c = tl_bounds_l2_c(n), log_scale = head->log_m + head->log_u;
    /* Under a mask a row sees at most n tokens; the bound for odd n grows with n. */
    const double line = masked ? 1 + 4 * tl_bounds_l2_c_star(n) : tl_bounds_l2_line(n);
    double *tau = malloc(k * sizeof *tau), largest = 0;
    head_facts facts;
    tl_status status = tau ? find_facts(head, &facts) : TL_ERR_MEMORY;

    for (size_t o = 0; o < head->out && !status; o++) {
        const double *u = head->M + o * k;
        double row = k == 1 ? (alpha_of(head, u) * facts.up + facts.error) * line
                            : wide_row(head, &facts, u, c, tau);
        sum[o] = tl_bounds_log_add(sum[o], log(row) + log_scale);
        largest = fmax(largest, tl_bounds_finite(log(row)));
    }
    *size += fabs(head->log_m) + fabs(head->log_u) + largest + 1;
    free(tau);
    return status;
}

/* max over output rows of the sum over heads. */
static tl_status largest_row(const tl_bound_query *query, bool line_only, tl_bound_value *value)
{
    const tl_layer *layer = query->layer;
    double best = -(double)INFINITY, size = 0, seen;

    if (!met(query, &seen, value)) return TL_OK;
    for (size_t h = 0; h < layer->heads; h++)
        if (line_only && layer->head[h].k != 1)
            return tl_bounds_refuse(value, "needs head width 1, found %zu in head %zu",
                                    layer->head[h].k, h);
    double *sum = malloc(layer->out * sizeof *sum);
    if (!sum) return TL_ERR_MEMORY;
    for (size_t o = 0; o < layer->out; o++) sum[o] = -(double)INFINITY;
    tl_status status = TL_OK;
    for (size_t h = 0; h < layer->heads && !status; h++) {
        tl_bounds_l2_head head;
        status = tl_bounds_l2_head_init(&head, layer, h);
        if (!status) status = add_head(&head, seen, query->mask != TL_MASK_NONE, sum, &size);
        tl_bounds_l2_head_clear(&head);
    }
    for (size_t o = 0; o < layer->out; o++) best = fmax(best, sum[o]);
    free(sum);
    return status ? status : tl_bounds_l2_answer(value, best, size);
}

static tl_status exact_line(const tl_bound_query *query, tl_bound_value *value)
{
    return largest_row(query, true, value);
}

static tl_status l2_inf(const tl_bound_query *query, tl_bound_value *value)
{
    return largest_row(query, false, value);
}

const tl_bound tl_bound_exact_1d = {
    .key = "exact-1d",
    .title = "max_o sum_h |u_ho| ||U_h||_1 Lambda_n, attained for one head",
    .citation = "tightlip, src/bounds/README.md sections 16.1 and 16.2",
    .hypotheses = "L2 attention, head width 1, every token sees itself; finite n, the layer",
    .norm = TL_NORM_INF,
    .scope = TL_SCOPE_GLOBAL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = exact_line,
};

const tl_bound tl_bound_l2_inf = {
    .key = "l2-inf",
    .title =
        "max_o sum_h [alpha + 2 c_n (gamma + min(rho beta, (gamma^2 + rho^2 beta^2/4)^(1/2)))]",
    .citation = "tightlip, src/bounds/README.md section 16.3",
    .hypotheses = "L2 attention, every token sees itself, any input; finite n, the layer",
    .norm = TL_NORM_INF,
    .scope = TL_SCOPE_GLOBAL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = l2_inf,
};
