/* Spectral norm of L2 attention over all inputs, over those in a ball, and over measures in a ball:
 * heads combined. Proofs: README section 17. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/l2.h"
#include "bounds/l2_norm.h"
#include "tightlip/linalg.h"

size_t tl_bounds_l2_span(double n, size_t k)
{
    return (double)k > n - 1 ? (size_t)(n - 1) : k;
}

double tl_bounds_l2_norm(double n, size_t k, double lmax)
{
    const double small = tl_bounds_l2_small(n, k);

    if (n <= 1) return 1;
    if (isinf(lmax) && isfinite(small)) return small;
    k = tl_bounds_l2_span(n, k);
    return fmin(fmin(small, tl_bounds_l2_form_a(n, k, lmax)),
                fmin(tl_bounds_l2_form_c(n, k, lmax), tl_bounds_l2_form_d(n, k, lmax)));
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
    const tl_status status = tl_bounds_norm_up(log_value, rows, cols, a, error);

    if (status == TL_OK) *log_value = log(*log_value);
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

static double over_frobenius(const tl_bound_query *query, size_t k, double log_u)
{
    tl_bound_value value;
    double seen;

    (void)log_u;
    (void)tl_bounds_l2_sees_itself(query, &seen, &value);
    return tl_bounds_l2_log_frobenius(query->n, seen, k, query->mask != TL_MASK_NONE);
}

static double over_everything(const tl_bound_query *query, size_t k, double log_u)
{
    (void)log_u;
    return log(tl_bounds_l2_norm(query->n, k, (double)INFINITY));
}

/* ||U|| R, rounded up. */
static double radius_in_y(const tl_bound_query *query, double log_u)
{
    return exp(log_u) * query->radius * (1 + 8 * DBL_EPSILON * (1 + tl_bounds_finite(log_u)));
}

static double over_measures(const tl_bound_query *query, size_t k, double log_u)
{
    return tl_bounds_l2_log_mean_field(k, radius_in_y(query, log_u));
}

static double over_ball(const tl_bound_query *query, size_t k, double log_u)
{
    const double r = radius_in_y(query, log_u);

    return fmin(tl_bounds_l2_log_mean_field(k, r), log(tl_bounds_l2_norm(query->n, k, r * r)));
}

typedef struct {
    map_norms norm;
    double log_l;
} head_values;

/* The norms of all heads, and a bound for each width once. */
static tl_status fill(const tl_bound_query *query, tl_bounds_l2_head_bound of_head,
                      head_values *head)
{
    for (size_t h = 0; h < query->heads; h++) {
        tl_status status = norms_of(query, h, &head[h].norm);
        if (status) return status;
    }
    for (size_t h = 0; h < query->heads; h++) {
        const size_t k = query->head[h].width;
        double log_u = -(double)INFINITY;
        size_t first = h;
        for (size_t i = query->heads; i-- > 0;)
            if (query->head[i].width == k) {
                first = i;
                log_u = fmax(log_u, head[i].norm.u);
            }
        head[h].log_l = first < h ? head[first].log_l : of_head(query, k, log_u);
    }
    return TL_OK;
}

/* Puts a (rows x k) times scale into the columns of all (rows x width) from column `at`. */
static void place(double *all, size_t width, size_t at, const double *a, size_t rows, size_t k,
                  double scale)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < k; j++) all[i * width + at + j] = a[i * k + j] * scale;
}

/* log of ||[a_h M_h]|| ||[b_h U_h]||, a_h b_h = L_h: all heads side by side, balanced so that
 * a_h ||M_h|| = b_h ||U_h||, and over the largest of these. */
static tl_status side_by_side(const tl_bound_query *query, const head_values *head,
                              double *log_value)
{
    const tl_layer *layer = query->layer;
    double top = -(double)INFINITY, error = 0, log_m = 0, log_u = 0;
    size_t width = 0, at = 0;
    tl_status status = TL_OK;

    for (size_t h = 0; h < query->heads; h++) {
        width += query->head[h].width;
        top = fmax(top, head[h].norm.m + head[h].norm.u + head[h].log_l);
    }
    if (!isfinite(top)) return TL_OK;
    double *m = calloc(width * (layer->out + layer->d), sizeof *m);
    if (!m) return TL_ERR_MEMORY;
    double *u = m + width * layer->out;
    for (size_t h = 0; h < query->heads && !status; h++) {
        const map_norms *norm = &head[h].norm;
        const double log_a = (head[h].log_l + norm->u - norm->m) / 2;
        tl_bounds_l2_head own;
        if (!isfinite(log_a)) continue; /* a head that does nothing */
        status = tl_bounds_l2_head_init(&own, layer, h);
        if (!status) {
            const double scale = exp(log_a + own.log_m - top / 2);
            error += own.m_error * scale;
            place(m, width, at, own.M, own.out, own.k, scale);
            place(u, width, at, own.U, own.d, own.k,
                  exp(head[h].log_l - log_a + own.log_u - top / 2));
            at += own.k;
        }
        tl_bounds_l2_head_clear(&own);
    }
    if (!status) status = log_norm(&log_m, layer->out, width, m, error);
    if (!status) status = log_norm(&log_u, layer->d, width, u, 0);
    if (!status) *log_value = log_m + log_u + top;
    free(m);
    return status;
}

tl_status tl_bounds_l2_combine(const tl_bound_query *query, tl_bounds_l2_head_bound of_head,
                               bool spectral, tl_bound_value *value)
{
    head_values *head = calloc(query->heads, sizeof *head);
    const double none = -(double)INFINITY, log_o = log(query->norm_o);
    double sum = none, squares = none, beside = (double)INFINITY, size = tl_bounds_finite(log_o);

    if (!head) return TL_ERR_MEMORY;
    tl_status status = fill(query, of_head, head);
    for (size_t h = 0; h < query->heads && !status; h++) {
        const map_norms *norm = &head[h].norm;
        const double log_l = head[h].log_l;
        sum = tl_bounds_log_add(sum, norm->m + norm->u + log_l);
        squares = tl_bounds_log_add(squares, 2 * (norm->vu + norm->u + log_l));
        size += 2 * norm->size + 3 * tl_bounds_finite(log_l) + 1;
    }
    if (!status && spectral && query->layer && query->heads > 1)
        status = side_by_side(query, head, &beside);
    free(head);
    if (status) return status;
    return tl_bounds_l2_answer(value, fmin(fmin(sum, log_o + squares / 2), beside), size);
}

bool tl_bounds_l2_is_plain(const tl_bound_query *query, tl_bound_value *value)
{
    return tl_bounds_is_l2(query, value) && tl_bounds_is_unmasked(query, value) &&
           tl_bounds_l2_has_norms(query, value);
}

static tl_status l2_2(const tl_bound_query *query, tl_bound_value *value)
{
    if (!tl_bounds_l2_is_plain(query, value) || !tl_bounds_is_finite_n(query, value)) return TL_OK;
    return tl_bounds_l2_combine(query, over_everything, true, value);
}

static tl_status l2_fro(const tl_bound_query *query, tl_bound_value *value)
{
    double seen;

    if (!tl_bounds_is_l2(query, value) || !tl_bounds_is_finite_n(query, value) ||
        !tl_bounds_l2_has_norms(query, value) || !tl_bounds_l2_sees_itself(query, &seen, value))
        return TL_OK;
    return tl_bounds_l2_combine(query, over_frobenius, false, value);
}

static bool in_ball(const tl_bound_query *query, tl_bound_value *value)
{
    if (isfinite(query->radius)) return true;
    (void)tl_bounds_refuse(value, "needs tokens in a ball; on the whole space see l2-2");
    return false;
}

static tl_status l2_ball(const tl_bound_query *query, tl_bound_value *value)
{
    if (!tl_bounds_l2_is_plain(query, value) || !in_ball(query, value)) return TL_OK;
    return tl_bounds_l2_combine(query, query->infinite ? over_measures : over_ball, true, value);
}

static tl_status l2_mean_field(const tl_bound_query *query, tl_bound_value *value)
{
    if (!tl_bounds_l2_is_plain(query, value) || !in_ball(query, value)) return TL_OK;
    return tl_bounds_l2_combine(query, over_measures, true, value);
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

const tl_bound tl_bound_l2_ball = {
    .key = "l2-ball",
    .title = "l2-2 with lmax(C_i) <= r^2, r = ||U|| R, or l2-mean-field where that is less",
    .citation = "tightlip, src/bounds/README.md section 17.5",
    .hypotheses = "L2 attention with tied query and key, no mask; tokens in a ball about any "
                  "centre; the same n",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = l2_ball,
};

const tl_bound tl_bound_l2_mean_field = {
    .key = "l2-mean-field",
    .title = "||M|| ||U|| (2 r^2 + O(r)), r = ||U|| R, any masses and any n",
    .citation = "tightlip, src/bounds/README.md section 17.5",
    .hypotheses =
        "L2 attention with tied query and key, no mask; tokens in a ball about any centre",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_MEAN_FIELD,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = l2_mean_field,
};

const tl_bound tl_bound_l2_fro = {
    .key = "l2-fro",
    .title = "sum over heads of ||M_h|| ||U_h|| times a bound of |J_g|_F, row by row",
    .citation = "tightlip, src/bounds/README.md section 19",
    .hypotheses = "L2 attention with tied query and key, every token sees itself, any input; "
                  "finite n",
    .norm = TL_NORM_FRO,
    .scope = TL_SCOPE_GLOBAL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = l2_fro,
};
