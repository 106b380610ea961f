/* Tokens behind a layer norm: the ellipsoid itself in place of a ball around it. Proofs: README
 * section 20. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/internal.h"
#include "tightlip/linalg.h"

/* How far stored tokens and computed axes may be off, relative to the radius: far above their
 * rounding, times the distance from the origin over the radius where that is more (README 20). */
static const double least_slack = 1e-9;

/* Tokens are beta + B y, |y| <= 1; M: room for one d x d matrix and products with it. */
typedef struct {
    const tl_bound_query *query;
    size_t d, k;
    double slack;
    double *B, *beta;        /* d x k, d */
    double *A, *c, *AB, *BA; /* d x d, d (A beta + c), d x k, k x d */
    double *BAB, *cy, *G;    /* k x k, k, out x d */
    double *product;         /* max(out, d, v) x k */
    double *block;
} shape;

/* Of one head: |A x + c|, half the span of the logits of a row, ||B'A||; [0]: V_h, [1]: O_h V_h,
 * their norms over B relative to their own. */
typedef struct {
    double rho, logits, alpha, norm[2], reach[2];
} facts;

static bool shape_alloc(shape *s, const tl_bound_query *query)
{
    const tl_domain *domain = query->domain;
    const size_t d = query->d, k = domain->rank, out = query->layer->out;
    size_t wide = out > d ? out : d;
    if (query->layer->values > wide) wide = query->layer->values;
    const size_t total = 3 * d * k + d * d + 2 * d + k * k + k + out * d + wide * k;
    double *at = malloc(total * sizeof *at);

    *s = (shape){.query = query, .d = d, .k = k, .block = at};
    s->slack = least_slack * fmax(domain->radius_origin / domain->radius, 1);
    if (!at) return false;
    s->B = at;
    s->AB = s->B + d * k;
    s->BA = s->AB + d * k;
    s->A = s->BA + d * k;
    s->beta = s->A + d * d;
    s->c = s->beta + d;
    s->BAB = s->c + d;
    s->cy = s->BAB + k * k;
    s->G = s->cy + k;
    s->product = s->G + out * d;
    for (size_t r = 0; r < d; r++) {
        s->beta[r] = domain->centre ? domain->centre[r] : 0;
        for (size_t j = 0; j < k; j++) s->B[r * k + j] = domain->axis[j * d + r] * domain->semi[j];
    }
    return true;
}

/* ||M B|| for M rows x d, rounded up; size: a bound of |M|_F with its own error. */
static tl_status norm_through(shape *s, size_t rows, const double *M, double *norm)
{
    const double size = tl_nrm2(rows * s->d, M);

    tl_gemm('N', 'N', rows, s->k, s->d, 1, M, s->d, s->B, s->k, 0, s->product, s->k);
    tl_status status = tl_bounds_norm_up(norm, rows, s->k, s->product, 0);
    *norm = *norm * (1 + s->slack) + s->slack * size * s->query->domain->radius;
    return status;
}

/* max |c + M y| over |y| <= 1, M rows x cols: the least of |c|^2 + lambda + sum_j c_j^2 s_j^2 /
 * (lambda - s_j^2) over lambda above the largest s_j^2, c_j along the left singular vectors. */
static tl_status farthest(const shape *s, size_t rows, size_t cols, const double *M,
                          const double *c, double *reach)
{
    const size_t p = rows < cols ? rows : cols;
    double *sigma = malloc((2 * p + rows * p + p * cols) * sizeof *sigma), sum = 0;

    if (!sigma) return TL_ERR_MEMORY;
    double *weight = sigma + p, *u = weight + p, *vt = u + rows * p;
    tl_status status = tl_svd_full(rows, cols, M, u, sigma, vt);
    for (size_t j = 0; j < p && !status; j++) {
        double along = 0;
        for (size_t i = 0; i < rows; i++) along += c[i] * u[i * p + j];
        weight[j] = along * sigma[j];
        sum += weight[j] * weight[j];
    }
    const double top = sigma[0] * sigma[0], length = tl_nrm2(rows, c);
    double low = top, high = top + sqrt(sum) + least_slack * top + DBL_MIN;
    for (int step = 0; step < 60 && !status; step++) {
        const double middle = low + (high - low) / 2;
        double slope = 0;
        for (size_t j = 0; j < p; j++) {
            const double x = weight[j] / (middle - sigma[j] * sigma[j]);
            slope += x * x;
        }
        if (slope <= 1)
            high = middle;
        else
            low = middle;
    }
    double square = length * length + high;
    for (size_t j = 0; j < p && !status; j++)
        if (weight[j] > 0 || weight[j] < 0)
            square += weight[j] * weight[j] / (high - sigma[j] * sigma[j]);
    if (!status) *reach = fmin(sqrt(square), length + sigma[0]) * (1 + s->slack);
    free(sigma);
    return status;
}

static tl_status logit_facts(shape *s, size_t h, facts *f)
{
    const size_t d = s->d, k = s->k;
    const double radius = s->query->domain->radius, beta = tl_nrm2(d, s->beta);
    tl_status status;

    tl_layer_logit_map(s->query->layer, h, s->A, s->c);
    const double lost = tl_bounds_logit_error(s->query->layer, h);
    const double size = tl_nrm2(d * d, s->A) + lost, bias = tl_nrm2(d, s->c);
    for (size_t i = 0; i < d; i++) s->c[i] += tl_dot(d, s->A + i * d, s->beta);
    tl_gemm('N', 'N', d, k, d, 1, s->A, d, s->B, k, 0, s->AB, k);
    tl_gemm('T', 'N', k, d, d, 1, s->B, k, s->A, d, 0, s->BA, d);
    tl_gemm('T', 'N', k, k, d, 1, s->B, k, s->AB, k, 0, s->BAB, k);
    for (size_t j = 0; j < k; j++) {
        s->cy[j] = 0;
        for (size_t i = 0; i < d; i++) s->cy[j] += s->B[i * k + j] * s->c[i];
    }
    /* What slack adds for tokens and axes, for A itself and for a rounded bias. */
    const double error = s->slack * (size * (radius + beta) + bias) + lost * (radius + beta);
    status = farthest(s, d, k, s->AB, s->c, &f->rho);
    f->rho += error;
    if (!status) status = farthest(s, k, k, s->BAB, s->cy, &f->logits);
    f->logits += 2 * error * radius;
    if (!status) status = tl_bounds_norm_up(&f->alpha, k, d, s->BA, 0);
    f->alpha = f->alpha * (1 + s->slack) + (s->slack * size + lost) * radius;
    return status;
}

static tl_status value_facts(shape *s, size_t h, facts *f)
{
    const tl_layer *layer = s->query->layer;
    const tl_head *head = &layer->head[h];
    const tl_head_facts *known = &s->query->head[h];

    f->norm[0] = known->norm_v;
    f->norm[1] = known->norm_ov;
    tl_status status = norm_through(s, head->v, head->V, &f->reach[0]);
    f->reach[1] = f->reach[0];
    if (!layer->O || status) return status;
    tl_layer_value_map(layer, h, s->G);
    status = norm_through(s, layer->out, s->G, &f->reach[1]);
    /* The product O_h V_h: what its entries lost is far below slack |O|_F |V|_F. */
    f->reach[1] += s->slack * tl_nrm2(layer->out * layer->values, layer->O) *
                   tl_nrm2(head->v * s->d, head->V) * s->query->domain->radius;
    return status;
}

/* log of the bound of head h behind map i over the norm of that map. */
typedef double (*head_bound)(const tl_bound_query *query, double g, double logits, double c);

static double log_apart(const tl_bound_query *query, double g, double logits, double c)
{
    return tl_bounds_log_sharp_apart(query, g, logits, c, 2 * query->heads);
}

static double log_inf2(const tl_bound_query *query, double g, double logits, double c)
{
    const double log_l = query->infinite || query->n > 1 ? log(hypot(1, g) + c) : 0;

    (void)logits;
    return tl_bounds_up(log_l, log_l);
}

static tl_status add_head(shape *s, size_t h, head_bound bound, tl_bounds_frobenius_total *total,
                          tl_bound_value *value)
{
    facts f;
    double log_l[2] = {0, 0};
    tl_status status = logit_facts(s, h, &f);

    if (!status) status = value_facts(s, h, &f);
    if (status) return status;
    for (int i = 0; i < 2; i++) {
        if (!(f.norm[i] > 0)) continue;
        const double reach = f.reach[i] / f.norm[i], g = f.rho * reach, c = f.alpha * reach;
        if (!isfinite(8 * g) || !isfinite(4 * c) || !isfinite(8 * f.logits)) {
            value->applicable = false;
            return tl_bounds_refuse(value, "its ingredients leave the double range");
        }
        log_l[i] = i > 0 && !s->query->layer->O ? log_l[0] : bound(s->query, g, f.logits, c);
    }
    tl_bounds_frobenius_add(total, &s->query->head[h], log_l);
    return TL_OK;
}

static bool on_ellipsoid(const tl_bound_query *query, tl_bound_value *value)
{
    if (!query->layer || !query->domain || !query->domain->semi)
        (void)tl_bounds_refuse(value,
                               "needs the layer and a domain behind a norm; on balls: sharp");
    else if (query->domain->rank == 0)
        (void)tl_bounds_refuse(value, "the gains leave a single token");
    else
        return true;
    return false;
}

static tl_status evaluate(const tl_bound_query *query, head_bound bound, tl_bound_value *value)
{
    tl_bounds_frobenius_total total;
    shape s;
    tl_status status = TL_OK;

    if (!shape_alloc(&s, query)) return TL_ERR_MEMORY;
    tl_bounds_frobenius_start(&total, query);
    value->why[0] = '\0';
    for (size_t h = 0; h < query->heads && !status && !value->why[0]; h++)
        status = add_head(&s, h, bound, &total, value);
    free(s.block);
    if (status || value->why[0]) return status;
    return tl_bounds_frobenius_finish(&total, query, value);
}

static tl_status ellipsoid(const tl_bound_query *query, tl_bound_value *value)
{
    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_unmasked(query, value) ||
        !on_ellipsoid(query, value))
        return TL_OK;
    return evaluate(query, log_apart, value);
}

static tl_status ellipsoid_inf2(const tl_bound_query *query, tl_bound_value *value)
{
    if (!tl_bounds_is_dot(query, value) || !on_ellipsoid(query, value)) return TL_OK;
    return evaluate(query, log_inf2, value);
}

const tl_bound tl_bound_ellipsoid = {
    .key = "ellipsoid",
    .title = "sharp with |A x + c|, logits, values and ||A|| r^2 measured over the ellipsoid",
    .citation = "tightlip, src/bounds/README.md section 20",
    .hypotheses = "dot product, no mask, biases allowed; tokens behind a layer norm or RMS norm; "
                  "the layer",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = ellipsoid,
};

const tl_bound tl_bound_ellipsoid_inf2 = {
    .key = "ellipsoid-inf2",
    .title = "sharp-inf2 with its ingredients measured over the ellipsoid",
    .citation = "tightlip, src/bounds/README.md section 20",
    .hypotheses = "dot product, any mask, biases allowed; tokens behind a layer norm or RMS norm; "
                  "the layer",
    .norm = TL_NORM_INF2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = ellipsoid_inf2,
};
