/* What a conjecture may speak of, from a query and from the attention at its tokens. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/local.h"
#include "tightlip/conjecture.h"
#include "tightlip/linalg.h"

static double largest(const tl_bound_query *query, double (*of)(const tl_head_facts *))
{
    double most = 0;

    for (size_t h = 0; h < query->heads; h++) most = fmax(most, of(&query->head[h]));
    return most;
}

static double width(const tl_head_facts *head)
{
    return (double)head->width;
}

static double norm_a(const tl_head_facts *head)
{
    return head->norm_a;
}

static double norm_v(const tl_head_facts *head)
{
    return head->norm_v;
}

static double rho(const tl_head_facts *head)
{
    return head->rho;
}

/* Logs of the attention of atom i on all copies of j: m x m. */
typedef struct {
    size_t m, d;
    double *log_p, *rows, *mean; /* m x m, m x d, d; log_p owns them */
} attention;

/* |Q x_i - K x_j|^2 without the square root that hypot would take. */
static double distance2(const tl_head *head, size_t d, const double *xi, const double *xj)
{
    const double *K = head->K ? head->K : head->Q;
    double sum = 0;

    for (size_t r = 0; r < head->k; r++) {
        const double q = tl_dot(d, head->Q + r * d, xi), key = tl_dot(d, K + r * d, xj);
        sum += (q - key) * (q - key);
    }
    return sum;
}

static tl_status attend_l2(const attention *a, const tl_head *head, const tl_measure *mu)
{
    const size_t m = a->m;

    for (size_t i = 0; i < m; i++) {
        double *row = a->log_p + i * m, most = -(double)INFINITY, total = 0;
        for (size_t j = 0; j < m; j++) {
            row[j] = mu->log_mass[j] - distance2(head, a->d, mu->x + i * a->d, mu->x + j * a->d) /
                                           sqrt((double)head->k);
            most = fmax(most, row[j]);
        }
        if (!isfinite(most)) return TL_ERR_NUMERIC;
        for (size_t j = 0; j < m; j++) total += exp(row[j] - most);
        for (size_t j = 0; j < m; j++) row[j] -= most + log(total);
    }
    return TL_OK;
}

static tl_status attend(const attention *a, const tl_layer *layer, size_t h, const tl_measure *mu)
{
    tl_bounds_tokens t = {0};

    if (layer->kind == TL_KIND_L2) return attend_l2(a, &layer->head[h], mu);
    const tl_status status = tl_bounds_tokens_init(&t, layer, h, mu);
    if (status == TL_OK) memcpy(a->log_p, t.log_p, a->m * a->m * sizeof *a->log_p);
    tl_bounds_tokens_clear(&t);
    return status;
}

/* lmax of C_i = sum_l P_il xi_l xi_l': the square of the norm of the rows P_il^(1/2) xi_l. */
static tl_status spread_of_row(const attention *a, const tl_measure *mu, size_t i, double *lmax)
{
    const size_t m = a->m, d = a->d;
    const double *log_p = a->log_p + i * m;
    double norm = 0;

    /* Shifted by the first token: a cloud far from the origin keeps its digits. */
    memset(a->mean, 0, d * sizeof *a->mean);
    for (size_t l = 0; l < m; l++)
        for (size_t r = 0; r < d; r++) a->mean[r] += exp(log_p[l]) * (mu->x[l * d + r] - mu->x[r]);
    for (size_t l = 0; l < m; l++)
        for (size_t r = 0; r < d; r++)
            a->rows[l * d + r] = exp(log_p[l] / 2) * (mu->x[l * d + r] - mu->x[r] - a->mean[r]);
    const tl_status status = tl_norm2_dense(m, d, a->rows, &norm);
    *lmax = norm * norm;
    return status;
}

static void raise_to(double *most, double value)
{
    *most = fmax(*most, value);
}

/* Facts at the tokens of one head, maximised into value. */
static tl_status head_at_tokens(const attention *a, const tl_measure *mu, double *value)
{
    tl_status status = TL_OK;

    for (size_t l = 0; l < a->m && status == TL_OK; l++) {
        double column = 0, lmax = 0;
        for (size_t k = 0; k < a->m; k++) {
            const double log_p = a->log_p[k * a->m + l];
            raise_to(&value[TL_CONJECTURE_WEIGHT], exp(log_p));
            column += exp(log_p + mu->log_mass[k] - mu->log_mass[l]);
        }
        raise_to(&value[TL_CONJECTURE_COLUMN], column);
        status = spread_of_row(a, mu, l, &lmax);
        raise_to(&value[TL_CONJECTURE_LAMBDA], lmax);
    }
    return status;
}

static tl_status at_tokens(const tl_layer *layer, const tl_measure *mu, double *value)
{
    static const tl_conjecture_variable local[] = {TL_CONJECTURE_LAMBDA, TL_CONJECTURE_COLUMN,
                                                   TL_CONJECTURE_WEIGHT};
    attention a = {.m = mu->m, .d = mu->d};
    tl_status status = TL_OK;

    a.log_p = malloc((a.m * a.m + a.m * a.d + a.d) * sizeof *a.log_p);
    if (!a.log_p) return TL_ERR_MEMORY;
    a.rows = a.log_p + a.m * a.m;
    a.mean = a.rows + a.m * a.d;
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) value[local[i]] = 0;
    for (size_t h = 0; h < layer->heads && status == TL_OK; h++) {
        status = attend(&a, layer, h, mu);
        if (status == TL_OK) status = head_at_tokens(&a, mu, value);
    }
    free(a.log_p);
    if (status != TL_ERR_NUMERIC) return status;
    /* Logits past the double range: a formula that does not ask for these still has its value. */
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) value[local[i]] = (double)NAN;
    return TL_OK;
}

tl_status tl_conjecture_facts_at(const tl_bound_query *query, tl_conjecture_facts *facts)
{
    double *value = facts->value;
    const bool tokens = query->layer && query->measure && query->mask == TL_MASK_NONE &&
                        query->layer->d == query->measure->d &&
                        (query->kind == TL_KIND_DOT || query->kind == TL_KIND_L2);

    for (size_t i = 0; i < TL_CONJECTURE_COUNT; i++) value[i] = (double)NAN;
    value[TL_CONJECTURE_N] = query->infinite ? (double)INFINITY : query->n;
    value[TL_CONJECTURE_NORM_A] = largest(query, norm_a);
    value[TL_CONJECTURE_NORM_V] = largest(query, norm_v);
    value[TL_CONJECTURE_NORM_O] = query->norm_o;
    value[TL_CONJECTURE_RADIUS] = query->radius;
    const double at_most = largest(query, rho);
    value[TL_CONJECTURE_G] = query->kind == TL_KIND_DOT
                                 ? at_most * query->radius
                                 : value[TL_CONJECTURE_NORM_A] * query->radius * query->radius;
    if (query->d > 0) value[TL_CONJECTURE_D] = (double)query->d;
    value[TL_CONJECTURE_HEADS] = value[TL_CONJECTURE_H] = (double)query->heads;
    double k = largest(query, width);
    for (size_t h = 0; query->layer && h < query->heads; h++)
        k = fmax(k, (double)query->layer->head[h].k);
    if (k > 0) value[TL_CONJECTURE_WIDTH] = k;
    if (query->measure) value[TL_CONJECTURE_ATOMS] = (double)query->measure->m;
    return tokens ? at_tokens(query->layer, query->measure, value) : TL_OK;
}
