#include "random_problem.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>

const kind_and_mask random_kinds[] = {
    {TL_KIND_DOT, TL_MASK_NONE},       {TL_KIND_L2, TL_MASK_NONE},
    {TL_KIND_SIGMOID, TL_MASK_NONE},   {TL_KIND_COSINE, TL_MASK_NONE},
    {TL_KIND_DOT, TL_MASK_CAUSAL},     {TL_KIND_L2, TL_MASK_CAUSAL},
    {TL_KIND_SIGMOID, TL_MASK_CAUSAL}, {TL_KIND_DOT, TL_MASK_GENERAL},
    {TL_KIND_L2, TL_MASK_GENERAL},     {TL_KIND_SIGMOID, TL_MASK_GENERAL},
    {TL_KIND_COSINE, TL_MASK_GENERAL},
};
const size_t random_kind_count = sizeof random_kinds / sizeof random_kinds[0];

double random_normal(gsl_rng *rng)
{
    return gsl_ran_gaussian(rng, 1.0);
}

random_shape random_shape_draw(gsl_rng *rng)
{
    random_shape s = {0};
    s.m = 1 + gsl_rng_uniform_int(rng, 5);
    s.d = 1 + gsl_rng_uniform_int(rng, 4);
    s.heads = 1 + gsl_rng_uniform_int(rng, 3);
    s.factored = gsl_rng_uniform(rng) < 0.5;
    s.output = gsl_rng_uniform(rng) < 0.4;
    s.copies = gsl_rng_uniform(rng) < 0.5;
    s.mean_field = !s.copies && gsl_rng_uniform(rng) < 0.4;
    s.logit_scale = gsl_rng_uniform(rng) < 0.3 ? 20.0 : 1.0;
    return s;
}

random_shape random_shape_draw_kind(gsl_rng *rng, tl_kind kind, tl_mask mask)
{
    random_shape s = random_shape_draw(rng);
    s.kind = kind;
    s.mask = mask;
    if (mask != TL_MASK_NONE) s.copies = false;
    if (mask != TL_MASK_NONE || kind == TL_KIND_SIGMOID) s.mean_field = false;
    if (kind == TL_KIND_L2) {
        s.factored = gsl_rng_uniform(rng) < 0.3;
        s.no_factor = gsl_rng_uniform(rng) < 0.3;
        s.logit_scale = sqrt(s.logit_scale);
    }
    return s;
}

random_shape random_shape_draw_any(gsl_rng *rng)
{
    const size_t other = 1 + gsl_rng_uniform_int(rng, random_kind_count - 1);
    const kind_and_mask *kind = &random_kinds[gsl_rng_uniform(rng) < 0.5 ? 0 : other];
    return random_shape_draw_kind(rng, kind->kind, kind->mask);
}

static double *normals(gsl_rng *rng, size_t count, double scale)
{
    double *x = malloc((count ? count : 1) * sizeof(double));
    for (size_t i = 0; i < count; i++) x[i] = scale * random_normal(rng);
    return x;
}

static void random_head(gsl_rng *rng, const random_shape *s, tl_head *p)
{
    const bool l2 = s->kind == TL_KIND_L2;
    *p = (tl_head){.k = s->d, .v = 1 + gsl_rng_uniform_int(rng, 3), .scale = 1.0};
    if (s->factored || l2) p->k = 1 + gsl_rng_uniform_int(rng, s->d);
    p->Q = normals(rng, p->k * s->d, s->logit_scale);
    p->V = normals(rng, p->v * s->d, 1.0);
    if (!s->factored) return;
    p->K = normals(rng, p->k * s->d, 1.0);
    if (l2) return;
    p->bq = normals(rng, p->k, 1.0);
    p->bk = normals(rng, p->k, 1.0);
    p->bv = normals(rng, p->v, 1.0);
    if (s->kind != TL_KIND_COSINE) p->scale = 1.0 / sqrt((double)p->k);
}

static tl_layer *random_layer(gsl_rng *rng, const random_shape *s)
{
    tl_head head[8];
    size_t values = 0;
    for (size_t h = 0; h < s->heads; h++) {
        random_head(rng, s, &head[h]);
        values += head[h].v;
    }
    const size_t out = 1 + gsl_rng_uniform_int(rng, 4);
    double *O = s->output ? normals(rng, out * values, 1.0) : NULL;
    tl_layer *layer = NULL;
    const tl_mask mask = s->mask == TL_MASK_GENERAL ? TL_MASK_NONE : s->mask;
    const tl_status status =
        tl_layer_alloc(&layer, s->kind, mask, s->d, s->heads, head, O, O ? out : 0, NULL);
    tl_heads_clear(head, s->heads);
    free(O);
    if (status) return NULL;
    layer->value_factor = !s->no_factor;
    if (s->kind == TL_KIND_SIGMOID) layer->bias = random_normal(rng);
    if (s->kind == TL_KIND_COSINE) {
        layer->nu = exp(random_normal(rng));
        layer->tau = s->logit_scale * exp(random_normal(rng));
        layer->eps = exp(2.0 * random_normal(rng));
    }
    return layer;
}

/* Every row sees a token of its choice, and others with probability 1/2. */
static bool random_mask(gsl_rng *rng, tl_layer *layer, size_t n)
{
    unsigned char *seen = calloc(n * n, 1);
    bool ok = seen != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        for (size_t j = 0; j < n; j++) seen[i * n + j] = gsl_rng_uniform(rng) < 0.5;
        seen[i * n + gsl_rng_uniform_int(rng, n)] = 1;
    }
    ok = ok && tl_layer_mask(layer, n, seen, NULL) == TL_OK;
    free(seen);
    return ok;
}

static tl_measure *random_measure(gsl_rng *rng, const random_shape *s)
{
    double *x = normals(rng, s->m * s->d, 1.0), mass[64], sum = 0.0;
    uint64_t count[64];
    for (size_t k = 0; k < s->m; k++) {
        count[k] = 1 + gsl_rng_uniform_int(rng, 4);
        mass[k] = exp(4.0 * random_normal(rng));
        sum += mass[k];
    }
    for (size_t k = 0; k < s->m; k++) mass[k] = log(mass[k] / sum);
    if (s->m > 1 && gsl_rng_uniform(rng) < 0.15)
        for (size_t r = 0; r < s->d; r++) x[s->d + r] = x[r]; /* two equal atoms */
    tl_measure *mu = NULL;
    const tl_status status = tl_measure_alloc(&mu, s->m, s->d, x, s->copies ? count : NULL,
                                              s->mean_field ? mass : NULL, NULL);
    free(x);
    return status ? NULL : mu;
}

random_problem random_problem_draw(gsl_rng *rng, const random_shape *shape)
{
    random_problem p = {random_layer(rng, shape), random_measure(rng, shape)};
    if (p.layer && shape->mask == TL_MASK_GENERAL && !random_mask(rng, p.layer, shape->m)) {
        tl_layer_free(p.layer);
        p.layer = NULL;
    }
    return p;
}

void random_problem_clear(random_problem *p)
{
    tl_layer_free(p->layer);
    tl_measure_free(p->measure);
}

random_problem random_problem_counted(gsl_rng *rng)
{
    random_shape shape = random_shape_draw(rng);

    shape.mean_field = false;
    return random_problem_draw(rng, &shape);
}
