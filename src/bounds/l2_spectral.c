/* Spectral norm of L2 attention over all inputs, and over measures in a ball. Proofs: README
 * section 17. */
#include <float.h>
#include <math.h>

#include "bounds/l2.h"
#include "tightlip/linalg.h"

double tl_bounds_l2_small(double n)
{
    /* Upper ends of `tightlip exact --attention l2 --whole-space --n N`, README section 17.6;
     * recomputed by test_bounds_l2. */
    static const double certified[] = {1.9446620, 2.0942};

    if (n > 2 && n < 4) return certified[0];
    return n > 3 && n < 5 ? certified[1] : (double)INFINITY;
}

double tl_bounds_l2_norm(double n, size_t k, double lmax)
{
    if (n <= 1) return 1;
    if (n <= 2) return fmin(tl_bounds_l2_pair(), tl_bounds_l2_form_a(n, k, lmax));
    double best = fmin(tl_bounds_l2_form_a(n, k, lmax), tl_bounds_l2_form_c(n, k, lmax));
    if (k > 0) best = fmin(best, tl_bounds_l2_form_d(n, k));
    return k == 1 ? fmin(best, tl_bounds_l2_small(n)) : best;
}

double tl_bounds_l2_mean_field(size_t k, double r)
{
    const double square = r * r;
    double extra = square / 2 + log1p(sqrt(2.0) * r);

    if (k > 0) extra = fmin(extra, (double)k / 4 * log(4.0 / 3) + log1p(r * sqrt(8.0 / 3)));
    return (2 * square + exp(extra)) * (1 + 64 * DBL_EPSILON * (1 + square + extra));
}

/* Logarithms of the norms of the maps of one head, rounded up but for that of `size`. */
typedef struct {
    double u, m, vu;
    double size; /* moduli of the logarithms they are made of */
} map_norms;

/* log of the norm of a rows x cols matrix off by `error`. */
static tl_status log_norm(double *log_value, size_t rows, size_t cols, const double *a,
                          double error)
{
    tl_status status = tl_norm2_dense(rows, cols, a, log_value);

    *log_value = log(*log_value * (1 + 8 * (double)(rows + cols) * DBL_EPSILON) + error);
    return status;
}

static tl_status norms_of(const tl_bound_query *query, size_t h, map_norms *norms)
{
    const tl_head_facts *fact = &query->head[h];
    const double log_q = log(fact->norm_q), log_k = log((double)fact->width);
    const double log_ov = log(fact->norm_ov), log_v = log(fact->norm_v);
    tl_bounds_l2_head head;
    tl_status status;

    *norms = (map_norms){.u = log_q - log_k / 4};
    norms->m = log_ov + norms->u;
    norms->vu = log_v + norms->u;
    norms->size =
        tl_bounds_finite(log_ov) + tl_bounds_finite(log_v) + 2 * (tl_bounds_finite(log_q) + log_k);
    if (!query->layer) return TL_OK;
    status = tl_bounds_l2_head_init(&head, query->layer, h);
    if (!status) status = log_norm(&norms->u, head.d, head.k, head.U, 0);
    if (!status) status = log_norm(&norms->m, head.out, head.k, head.M, head.m_error);
    if (!status) status = log_norm(&norms->vu, head.v, head.k, head.VU, head.vu_error);
    norms->u += head.log_u;
    norms->m += head.log_m;
    norms->vu += head.log_vu;
    norms->size = 2 * fabs(head.log_u) + fabs(head.log_m) + fabs(head.log_vu);
    tl_bounds_l2_head_clear(&head);
    return status;
}

typedef double (*head_bound)(const tl_bound_query *query, size_t k, double log_norm_u);

static double over_everything(const tl_bound_query *query, size_t k, double log_norm_u)
{
    (void)log_norm_u;
    return tl_bounds_l2_norm(query->n, k, (double)INFINITY);
}

static double over_ball(const tl_bound_query *query, size_t k, double log_norm_u)
{
    const double r =
        exp(log_norm_u) * query->radius * (1 + 8 * DBL_EPSILON * (1 + fabs(log_norm_u)));
    double best = tl_bounds_l2_mean_field(k, r);

    if (query->infinite) return best;
    return fmin(best, tl_bounds_l2_norm(query->n, k, r * r));
}

/* min( sum_h ||M_h|| ||U_h|| L_h, ||O|| (sum_h (||V_h U_h|| ||U_h|| L_h)^2)^(1/2) ). */
static tl_status combine(const tl_bound_query *query, head_bound of_head, tl_bound_value *value)
{
    const double none = -(double)INFINITY, log_o = log(query->norm_o);
    double sum = none, squares = none, last_u = (double)NAN, bound = 0, size = 0;
    size_t last_k = 0;

    for (size_t h = 0; h < query->heads; h++) {
        map_norms norms;
        const size_t k = query->head[h].width;
        tl_status status = norms_of(query, h, &norms);
        if (status) return status;
        if (k != last_k || !(norms.u >= last_u && norms.u <= last_u))
            bound = log(of_head(query, k, norms.u));
        last_k = k;
        last_u = norms.u;
        sum = tl_bounds_log_add(sum, norms.m + norms.u + bound);
        squares = tl_bounds_log_add(squares, 2 * (norms.vu + norms.u + bound));
        size += 2 * norms.size + 3 * tl_bounds_finite(bound) + 1;
    }
    return tl_bounds_l2_answer(value, fmin(sum, log_o + squares / 2),
                               size + tl_bounds_finite(log_o));
}

static tl_status l2_2(const tl_bound_query *query, tl_bound_value *value)
{
    if (!tl_bounds_is_l2(query, value) || !tl_bounds_is_unmasked(query, value) ||
        !tl_bounds_is_finite_n(query, value) || !tl_bounds_l2_has_norms(query, value))
        return TL_OK;
    return combine(query, over_everything, value);
}

static tl_status l2_mean_field(const tl_bound_query *query, tl_bound_value *value)
{
    if (!tl_bounds_is_l2(query, value) || !tl_bounds_is_unmasked(query, value) ||
        !tl_bounds_l2_has_norms(query, value))
        return TL_OK;
    if (!isfinite(query->radius))
        return tl_bounds_refuse(value, "needs tokens in a ball; on the whole space see l2-2");
    return combine(query, over_ball, value);
}

const tl_bound tl_bound_l2_2 = {
    .key = "l2-2",
    .title = "||M|| ||U|| times the least of four forms: 2 c_n + O(1) at fixed head width",
    .citation = "tightlip, src/bounds/README.md section 17",
    .hypotheses = "L2 attention with tied query and key, no mask, any input; finite n",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_GLOBAL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = l2_2,
};

const tl_bound tl_bound_l2_mean_field = {
    .key = "l2-mean-field",
    .title =
        "||M|| ||U|| (2 r^2 + O(r)), r = ||U|| R, any masses; l2-2 with lmax <= r^2 at finite n",
    .citation = "tightlip, src/bounds/README.md section 17.5",
    .hypotheses =
        "L2 attention with tied query and key, no mask; tokens in a ball about any centre",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_MEAN_FIELD,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = l2_mean_field,
};
