/* Facts of a layer on a ball, each rounded up by a margin that covers its own computation: a sum of
 * k products is off by at most k eps times the sum of their moduli (eps = 2u leaves a factor two),
 * and a singular value from LAPACK by a modest multiple of eps times the norm. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/internal.h"
#include "tightlip/linalg.h"

static double frobenius_columns(size_t rows, size_t cols, size_t stride, const double *a)
{
    double norm = 0;

    for (size_t i = 0; i < rows; i++) norm = hypot(norm, tl_nrm2(cols, a + i * stride));
    return norm;
}

typedef struct {
    size_t d;
    const double *centre; /* d, or NULL */
    double radius;
    double *A, *c, *G; /* d x d, d, out x d */
} scratch;

/* Frobenius size of the key and query maps of head h and what their product can lose. */
typedef struct {
    double key, query, scale, steps, lost;
} logit_sizes;

static logit_sizes sizes_of(const tl_layer *layer, size_t h)
{
    const size_t d = layer->d;
    const tl_head *head = &layer->head[h];
    logit_sizes s = {.key = head->K ? tl_nrm2(head->k * d, head->K) : 1,
                     .query = tl_nrm2(head->k * d, head->Q),
                     .scale = fabs(head->scale),
                     .steps = (double)(head->k + 4) * DBL_EPSILON};

    /* Products below the double range lose at most this much each; none when a factor is zero. */
    if (s.key > 0 && s.scale > 0)
        s.lost = fmax(1, s.scale) * (double)((head->k + 2) * d) * DBL_TRUE_MIN;
    return s;
}

/* Norms first, so that the error itself is not lost where one factor is tiny, another huge. */
static double map_error(const logit_sizes *s)
{
    return s->key * s->query * s->steps * s->scale + (s->query > 0 ? s->lost : 0);
}

double tl_bounds_logit_error(const tl_layer *layer, size_t h)
{
    const logit_sizes s = sizes_of(layer, h);

    return map_error(&s);
}

/* ||Q|| and ||A|| = ||Q||^2/sqrt(k); logits do not look at where the tokens are: rho stays 0. */
static tl_status l2_facts(const tl_head *head, size_t d, tl_head_facts *fact)
{
    tl_status status = tl_bounds_norm_up(&fact->norm_q, head->k, d, head->Q, 0);

    if (status != TL_OK) return status;
    fact->width = head->k;
    fact->norm_a = fact->norm_q * fact->norm_q / sqrt((double)head->k) * (1 + 4 * DBL_EPSILON);
    if (fact->norm_q > 0) fact->norm_a += DBL_TRUE_MIN;
    return isfinite(fact->norm_a) ? TL_OK : TL_ERR_NUMERIC;
}

/* ||Q|| and ||K||; the maps meet the normaliser before they meet each other. */
static tl_status cosine_facts(const tl_head *head, size_t d, tl_head_facts *fact)
{
    tl_status status = tl_bounds_norm_up(&fact->norm_q, head->k, d, head->Q, 0);

    fact->norm_k = 1;
    if (status == TL_OK && head->K)
        status = tl_bounds_norm_up(&fact->norm_k, head->k, d, head->K, 0);
    return status;
}

/* norm_a and rho of head h, and whether it has a query bias. */
static tl_status logit_facts(const tl_layer *layer, size_t h, const scratch *s, tl_head_facts *fact,
                             bool *biased)
{
    const size_t d = s->d;
    const tl_head *head = &layer->head[h];
    const logit_sizes size = sizes_of(layer, h);
    const double error = map_error(&size);
    double at_centre, centre_norm = s->centre ? tl_nrm2(d, s->centre) : 0;
    tl_status status;

    if (layer->kind == TL_KIND_L2) return l2_facts(head, d, fact);
    if (layer->kind == TL_KIND_COSINE) return cosine_facts(head, d, fact);
    tl_layer_logit_map(layer, h, s->A, s->c);
    status = tl_bounds_norm_up(&fact->norm_a, d, d, s->A, error);
    if (status != TL_OK) return status;
    const double query_bias = head->bq ? tl_nrm2(head->k, head->bq) : 0;
    *biased = *biased || (query_bias > 0 && size.key > 0 && size.scale > 0);
    /* A key bias drops out of a softmax only. */
    if (layer->kind == TL_KIND_SIGMOID && head->bk && tl_nrm2(head->k, head->bk) > 0)
        *biased = true;
    at_centre = size.key * query_bias * size.steps * size.scale + (query_bias > 0 ? size.lost : 0) +
                error * centre_norm;
    at_centre +=
        ((double)d + 4) * DBL_EPSILON * (tl_nrm2(d, s->c) + tl_nrm2(d * d, s->A) * centre_norm);
    if (s->centre)
        for (size_t i = 0; i < d; i++) s->c[i] += tl_dot(d, s->A + i * d, s->centre);
    at_centre += tl_nrm2(d, s->c);
    fact->rho = (at_centre + fact->norm_a * s->radius) * (1 + 8 * DBL_EPSILON);
    return TL_OK;
}

static tl_status value_facts(const tl_layer *layer, size_t h, size_t column, const scratch *s,
                             tl_head_facts *fact)
{
    const tl_head *head = &layer->head[h];
    tl_status status = tl_bounds_norm_up(&fact->norm_v, head->v, s->d, head->V, 0);

    if (status != TL_OK) return status;
    const double values = tl_nrm2(head->v * s->d, head->V);
    const double up = 1 + (double)(head->v * s->d + 8) * DBL_EPSILON;
    fact->norm_ov = fact->norm_v;
    fact->fro_v = fact->fro_ov = values * up;
    if (!layer->O) return TL_OK;
    tl_layer_value_map(layer, h, s->G);
    double output = frobenius_columns(layer->out, head->v, layer->values, layer->O + column);
    double error = output * values * ((double)head->v + 4) * DBL_EPSILON;
    if (output > 0 && values > 0) error += (double)(layer->out * head->v * s->d) * DBL_TRUE_MIN;
    fact->fro_ov =
        tl_nrm2(layer->out * s->d, s->G) * (1 + (double)(layer->out * s->d + 8) * DBL_EPSILON) +
        error;
    return tl_bounds_norm_up(&fact->norm_ov, layer->out, s->d, s->G, error);
}

static tl_status check_ball(const tl_layer *layer, const tl_measure *measure, const double *centre,
                            double radius, tl_error *err)
{
    const bool whole = radius == (double)INFINITY && layer->kind == TL_KIND_L2;

    if (!whole && (!isfinite(radius) || radius < 0))
        return tl_fail(err, TL_ERR_DOMAIN, "ball: radius: expected a finite number >= 0, found %g",
                       radius);
    for (size_t i = 0; centre && i < layer->d; i++)
        if (!isfinite(centre[i]))
            return tl_fail(err, TL_ERR_DOMAIN,
                           "ball: centre[%zu]: expected a finite number, found %g", i, centre[i]);
    if (measure && measure->d != layer->d)
        return tl_fail(err, TL_ERR_SHAPE, "tokens: expected width %zu as in the layer, found %zu",
                       layer->d, measure->d);
    return TL_OK;
}

/* Every token in the ball, up to the rounding of a stored token: `slack`. */
static tl_status check_tokens(const tl_measure *measure, const scratch *s, double slack,
                              tl_error *err)
{
    for (size_t k = 0; measure && k < measure->m; k++) {
        double distance = 0;
        for (size_t i = 0; i < s->d; i++) {
            double x = measure->x[k * s->d + i];
            distance = hypot(distance, s->centre ? x - s->centre[i] : x);
        }
        if (distance > s->radius + slack)
            return tl_fail(
                err, TL_ERR_DOMAIN,
                "tokens[%zu]: expected within %.17g of the centre of the ball, found %.17g", k,
                s->radius, distance);
    }
    return TL_OK;
}

static tl_status fill(tl_bound_query *query, tl_head_facts *head, const scratch *s, tl_error *err)
{
    const tl_layer *layer = query->layer;
    tl_status status = TL_OK;
    size_t column = 0;

    for (size_t h = 0; h < layer->heads && status == TL_OK; h++) {
        head[h] = (tl_head_facts){.norm_q = (double)NAN, .norm_k = (double)NAN};
        status = logit_facts(layer, h, s, &head[h], &query->biased);
        if (status == TL_OK) status = value_facts(layer, h, column, s, &head[h]);
        column += layer->head[h].v;
    }
    if (status == TL_OK && layer->O)
        status = tl_bounds_norm_up(&query->norm_o, layer->out, layer->values, layer->O, 0);
    if (status != TL_OK)
        return tl_fail(err, status, "layer: its matrix norms: %s", tl_status_text(status));
    return TL_OK;
}

/* Above 2^53 the conversion may round down. */
static double count_up(uint64_t n)
{
    return (double)n >= 0x1p53 ? nextafter((double)n, (double)INFINITY) : (double)n;
}

void tl_bound_query_identity(tl_bound_query *query, tl_head_facts *head, uint64_t n, size_t width)
{
    /* ||Q|| = width^(1/4) */
    *head = (tl_head_facts){.norm_a = 1,
                            .norm_v = 1,
                            .norm_ov = 1,
                            .norm_q = pow((double)width, 0.25) * (1 + 4 * DBL_EPSILON),
                            .width = width};
    *query = (tl_bound_query){.kind = TL_KIND_L2,
                              .mask = TL_MASK_NONE,
                              .n = count_up(n),
                              .d = width,
                              .radius = (double)INFINITY,
                              .radius_origin = (double)INFINITY,
                              .heads = 1,
                              .head = head,
                              .norm_o = 1};
}

tl_status tl_bound_query_init(tl_bound_query *query, tl_head_facts *head, const tl_layer *layer,
                              const tl_measure *measure, const double *centre, double radius,
                              tl_error *err)
{
    const size_t d = layer->d;
    scratch s = {.d = d, .centre = centre};
    tl_status status = check_ball(layer, measure, centre, radius, err);
    if (status != TL_OK) return status;

    /* A token on the sphere is rounded to one a little outside. */
    double centre_norm = centre ? tl_nrm2(d, centre) : 0;
    double slack = ((double)d + 8) * DBL_EPSILON * (radius + centre_norm);
    s.radius = radius;
    status = check_tokens(measure, &s, slack, err);
    if (status != TL_OK) return status;
    s.radius = radius + 2 * slack;
    *query = (tl_bound_query){.kind = layer->kind,
                              .mask = layer->mask,
                              .d = layer->d,
                              .infinite = !measure || measure->n == 0,
                              .radius = s.radius,
                              .radius_origin = (s.radius + centre_norm) * (1 + 4 * DBL_EPSILON),
                              .heads = layer->heads,
                              .head = head,
                              .norm_o = 1,
                              .layer = layer,
                              .measure = measure,
                              .bias = layer->bias,
                              .nu = layer->nu,
                              .tau = layer->tau,
                              .eps = layer->eps};
    if (!query->infinite) query->n = count_up(measure->n);
    double *block = malloc((d * d + d + layer->out * d) * sizeof *block);
    if (!block) return tl_fail(err, TL_ERR_MEMORY, "layer: out of memory for its maps");
    s.A = block;
    s.c = block + d * d;
    s.G = s.c + d;
    status = fill(query, head, &s, err);
    free(block);
    return status;
}
