/* row-fro: the Frobenius norm of the Jacobian of dot-product attention, row by row, under any mask.
 * Proof: README section 19. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/box.h"
#include "bounds/internal.h"

enum { LOOKUPS = 24, SPLITS = 6000, PIECE = 64 };

/* One head over ||V||: |V|_F^2 = kappa ||V||^2, everything over unit^2. */
typedef struct {
    double g, c, kappa, unit;
    double tau2; /* n sum_j P_j^2 |V W_j|_F^2 for every n */
    size_t share;
    double next, longer, factor; /* lengths from `next` on are looked up; what held last */
} row;

/* Two tokens with weights (1 + D)/2 and (1 - D)/2. */
static double pair_upper(const void *context, const double *lo, const double *hi)
{
    const row *r = context;
    const double u = r->unit, g = r->g * u, c = r->c * u, k = r->kappa * u * u;
    const double a = hi[0], product = (1 - lo[0] * lo[0]) / 4, p = (1 + a) / 2;
    const double slope = 2 * g * product;
    const double own = sqrt(k * p * p + 2 * p * slope * u + slope * slope);

    return k * (1 + a * a) / 2 + 4 * g * u * a * product + 8 * g * g * product * product +
           8 * c * product * own + 16 * c * c * product * product;
}

/* Row of two tokens. */
static double pair(const row *r)
{
    const tl_bounds_box_problem problem = {.dim = 1,
                                           .hi = {fmin(tanh(r->g) * (1 + 4 * DBL_EPSILON), 1)},
                                           .context = r,
                                           .upper = pair_upper,
                                           .ceiling = (double)INFINITY,
                                           .tolerance = 1e-6,
                                           .budget = 4000};

    return tl_bounds_box_max(&problem) * (1 + 64 * DBL_EPSILON);
}

/* A row of n >= 2 tokens or more, without a search. */
static double simple(const row *r, double n)
{
    const double u = r->unit, g = r->g * u, c = r->c * u, k = r->kappa * u * u;
    const double p = 1 / (1 + (n - 1) * exp(-2 * r->g));
    const double slope = 2 * g * (p > 0.5 ? 0.25 : p * (1 - p));
    const double own = sqrt(k * p * p + 2 * p * slope * u + slope * slope);
    /* sum_j P_j om_j^2 <= kappa + g^2 as well. */
    const double t = fmin(r->tau2 / n, p * (k + g * g));

    return (t + 2 * c * own + c * c) * (1 + 64 * DBL_EPSILON);
}

/* Squared row bound for l tokens or more; l grows from call to call. */
static double at_length(row *r, double l)
{
    if (l < 2) return fmax(r->kappa * r->unit * r->unit, DBL_MIN);
    const double plain = simple(r, l);
    if (l < 3) return fmin(plain, pair(r));
    if (l >= r->next) {
        const double log_unit2 = -2 * log(r->unit);
        const double found = tl_bounds_log_row_frobenius(l, r->g, r->c, r->kappa,
                                                         log(plain) + log_unit2, SPLITS / r->share);
        const double size = fabs(found) + fabs(log_unit2);
        r->longer = fmin(r->longer, exp(tl_bounds_up(found - log_unit2, size)));
        r->next = fmax(l + 1, l * r->factor);
    }
    return fmin(plain, r->longer);
}

/* Sum over rows of 1, 2, .. n tokens. */
static double causal_sum(row *r, double n)
{
    double sum = 0, length = 1;

    while (length <= n) {
        const double count = fmin(length < PIECE ? 1 : floor(length / PIECE), n - length + 1);
        sum += count * at_length(r, length);
        length += count;
    }
    return sum;
}

/* Sum over the rows of a mask, by their lengths. */
static double masked_sum(row *r, const tl_layer *layer, size_t *count)
{
    const size_t n = layer->seen_n;
    double sum = 0;

    for (size_t l = 0; l <= n; l++) count[l] = 0;
    for (size_t i = 0; i < n; i++) count[tl_layer_seen_by(layer, i, n)]++;
    for (size_t l = 1; l <= n; l++)
        if (count[l] > 0) sum += (double)count[l] * at_length(r, (double)l);
    return sum;
}

/* log of a bound of |J|_F / ||V||. */
static double log_rows(const tl_bound_query *query, double g, double c, double kappa, size_t share,
                       size_t *count)
{
    const double spread = cosh(fmin(g, 350)), log_tau = tl_bounds_log_tau_mean_field(g);
    row r = {.g = g, .c = c, .kappa = kappa, .share = share, .next = 3};
    double sum;

    if (query->n < 2) return log(kappa) / 2;
    r.unit = 1 / (sqrt(kappa) + g + c);
    r.longer = (double)INFINITY;
    r.factor = pow(fmax(query->n / 3, 1), (double)share / LOOKUPS);
    r.tau2 = exp(fmin(2 * (log_tau + log(r.unit)), 700)) * (1 + 4096 * DBL_EPSILON) +
             (kappa - 1) * (spread * r.unit) * (spread * r.unit) * (1 + 4096 * DBL_EPSILON);
    if (g > 300) r.tau2 = (double)INFINITY; /* says nothing below e^600 tokens */
    if (query->mask == TL_MASK_CAUSAL)
        sum = causal_sum(&r, query->n);
    else if (query->mask == TL_MASK_GENERAL)
        sum = masked_sum(&r, query->layer, count);
    else
        sum = query->n * at_length(&r, query->n);
    /* Sums of positive terms; the number of pieces is small against 2^16. */
    return tl_bounds_up(log(sum) / 2 - log(r.unit) + 0x1p-34, fabs(log(r.unit)) + log(query->n));
}

void tl_bounds_frobenius_start(tl_bounds_frobenius_total *total, const tl_bound_query *query)
{
    const double none = -(double)INFINITY;

    *total = (tl_bounds_frobenius_total){none, none, tl_bounds_finite(log(query->norm_o))};
}

void tl_bounds_frobenius_roots(const tl_bound_query *query, size_t h, double root[2])
{
    const tl_head_facts *head = &query->head[h];
    const double norm[2] = {head->norm_v, head->norm_ov};
    const double frobenius[2] = {head->fro_v, head->fro_ov}, most = sqrt((double)query->d);

    for (int i = 0; i < 2; i++) {
        root[i] = frobenius[i] > 0 && norm[i] > 0 ? fmin(frobenius[i] / norm[i], most) : most;
        root[i] = fmax(root[i], 1) * (1 + 4 * DBL_EPSILON);
    }
}

void tl_bounds_frobenius_add(tl_bounds_frobenius_total *total, const tl_head_facts *head,
                             const double log_l[2])
{
    const double log_v = log(head->norm_v), log_ov = log(head->norm_ov);

    if (head->norm_v > 0)
        total->squares = tl_bounds_log_add(total->squares, 2 * (log_v + log_l[0]));
    if (head->norm_ov > 0) total->sum = tl_bounds_log_add(total->sum, log_ov + log_l[1]);
    total->size += 2 * tl_bounds_finite(log_v) + tl_bounds_finite(log_ov) +
                   2 * tl_bounds_finite(log_l[0]) + tl_bounds_finite(log_l[1]) + 2;
}

tl_status tl_bounds_frobenius_finish(const tl_bounds_frobenius_total *total,
                                     const tl_bound_query *query, tl_bound_value *value)
{
    const double least = fmin(total->sum, log(query->norm_o) + total->squares / 2);

    if (isnan(least) || least == (double)INFINITY)
        return tl_bounds_refuse(value, "its ingredients leave the double range");
    value->applicable = true;
    value->log_value = isinf(least) ? least : tl_bounds_up(least, total->size);
    return TL_OK;
}

/* Heads and maps alike are the rule. */
static void head_values(const tl_bound_query *query, size_t h, size_t *count, double log_l[2])
{
    tl_bound_value value;
    double g, c, root[2];

    tl_bounds_frobenius_roots(query, h, root);
    (void)tl_bounds_head_size(query, h, &g, &c, &value);
    const bool alike = root[1] <= root[0] && root[0] <= root[1];
    for (int i = 0; i < 2; i++)
        log_l[i] = i > 0 && alike ? log_l[0]
                                  : log_rows(query, g, c, root[i] * root[i] * (1 + 4 * DBL_EPSILON),
                                             query->heads, count);
}

/* Whether head h is like the one before. */
static bool same_head(const tl_bound_query *query, size_t h)
{
    double root[2], before[2];

    if (!tl_bounds_head_repeats(query, h)) return false;
    tl_bounds_frobenius_roots(query, h, root);
    tl_bounds_frobenius_roots(query, h - 1, before);
    return memcmp(root, before, sizeof root) == 0;
}

static tl_status row_fro(const tl_bound_query *query, tl_bound_value *value)
{
    const bool rows = query->mask == TL_MASK_GENERAL;
    size_t *count = NULL;
    double g, c;

    if (!tl_bounds_is_dot(query, value)) return TL_OK;
    if (query->infinite)
        return tl_bounds_refuse(value, "the Frobenius norm is infinite in mean field");
    if (query->d == 0) return tl_bounds_refuse(value, "needs the width d");
    if (rows && !tl_bounds_has_mask(query, value)) return TL_OK;
    for (size_t h = 0; h < query->heads; h++)
        if (!tl_bounds_head_size(query, h, &g, &c, value)) return TL_OK;
    if (rows) count = malloc((query->layer->seen_n + 1) * sizeof *count);
    if (rows && !count) return TL_ERR_MEMORY;
    tl_bounds_frobenius_total total;
    double log_l[2] = {0, 0};
    tl_bounds_frobenius_start(&total, query);
    for (size_t h = 0; h < query->heads; h++) {
        if (!same_head(query, h)) head_values(query, h, count, log_l);
        tl_bounds_frobenius_add(&total, &query->head[h], log_l);
    }
    free(count);
    return tl_bounds_frobenius_finish(&total, query, value);
}

const tl_bound tl_bound_row_fro = {
    .key = "row-fro",
    .title = "||V|| (sum over rows of a bound of their squared Frobenius norm)^(1/2)",
    .citation = "tightlip, src/bounds/README.md section 19",
    .hypotheses = "dot product, any mask; tokens in a ball about any centre, biases allowed; n "
                  "finite",
    .norm = TL_NORM_FRO,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = row_fro,
};
