/* The spectral norm of a layer with many tokens. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/panels.h"

const tl_norm_settings tl_norm_settings_measured = {.tolerance = 1e-5,
                                                    .products = TL_PRODUCTS_SINGLE};

enum { STEPS = 500, BASIS = 16 };
static const double VALUE = 1e-6;
/* What products in single precision reach: residuals carry the rounding of a product, a few hundred
 * units, and errors of the value its square. */
static const double SINGLE_RESIDUAL = 1e-4, SINGLE_VALUE = 1e-7;
static const size_t MEMORY = (size_t)1 << 28;

typedef struct {
    tl_panels *fine;
    tl_panels_single *coarse; /* NULL: double precision throughout */
    tl_gkl *gkl;
    double *u, *v, *back;
    size_t rows, cols;
    double second; /* largest of the second values of all runs */
} work;

static tl_status check(const tl_layer *layer, const tl_measure *mu, tl_error *err)
{
    if (layer->d != mu->d)
        return tl_fail(err, TL_ERR_SHAPE, "tokens: expected width %zu, found %zu", layer->d, mu->d);
    if (layer->kind != TL_KIND_DOT || layer->mask == TL_MASK_GENERAL)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "norm over panels: expected kind \"dot\" without a mask or with mask "
                       "\"causal\", found kind \"%s\" and mask \"%s\"",
                       tl_kind_name(layer->kind), tl_mask_name(layer->mask));
    if (mu->n != mu->m)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "norm over panels: expected every token listed once, found %zu atoms for "
                       "%llu tokens",
                       mu->m, (unsigned long long)mu->n);
    return TL_OK;
}

static void work_clear(work *w)
{
    tl_panels_free(w->fine);
    tl_panels_single_free(w->coarse);
    tl_gkl_free(w->gkl);
    free(w->u);
    free(w->v);
    free(w->back);
}

static tl_norm_settings with_defaults(tl_norm_settings s)
{
    if (!(s.value > 0.0) && !(s.tolerance > 0.0)) s.value = VALUE;
    if (!s.steps) s.steps = STEPS;
    if (!s.basis) s.basis = BASIS;
    if (!s.memory) s.memory = MEMORY;
    return s;
}

static bool in_single(const tl_norm_settings *s)
{
    if (s->products != TL_PRODUCTS_AUTO) return s->products == TL_PRODUCTS_SINGLE;
    return s->value >= SINGLE_VALUE || s->tolerance >= SINGLE_RESIDUAL;
}

/* Steps in double precision cost twice as much: the last ones alone, from where single ends. */
static bool goes_ahead(const tl_norm_settings *s)
{
    return s->products == TL_PRODUCTS_AUTO && s->value > 0.0;
}

/* v, and in found what the projection says of it. */
static tl_status iterate(work *w, const tl_norm_settings *s, bool single, tl_gkl_result *found)
{
    const tl_operator op = {w->rows, w->cols, single ? tl_panels_single_apply : tl_panels_apply,
                            single ? tl_panels_single_apply_t : tl_panels_apply_t,
                            single ? (const void *)w->coarse : w->fine};
    const tl_gkl_settings settings = {.max_steps = s->steps,
                                      .tolerance = s->tolerance,
                                      .top_only = true,
                                      .value = s->value,
                                      .unmeasured = true,
                                      .one_sided = true};
    return tl_gkl_run(w->gkl, &op, &settings, w->u, w->v, found);
}

/* Value and residual of v in double precision. */
static void measure(work *w, const tl_norm_settings *s, tl_norm_layer_result *result)
{
    const double length = tl_nrm2(w->cols, w->v);
    for (size_t i = 0; i < w->cols; i++) w->v[i] /= length;
    tl_panels_apply(w->fine, w->v, w->u);
    const double sigma = result->value = tl_nrm2(w->rows, w->u);
    result->residual = result->error = 0.0;
    result->converged = true;
    if (!(sigma > 0.0)) return;
    for (size_t i = 0; i < w->rows; i++) w->u[i] /= sigma;
    tl_panels_apply_t(w->fine, w->u, w->back);
    tl_axpy(w->cols, -sigma, w->v, w->back);
    result->residual = result->error = tl_nrm2(w->cols, w->back) / sigma;
    if (s->value > 0.0)
        result->error = tl_gkl_error(result->residual, fmin(w->second / sigma, 1.0));
    result->converged = result->residual <= s->tolerance || result->error <= s->value;
}

/* One run in one precision, and its measurement. */
static tl_status advance(work *w, const tl_norm_settings *s, bool single,
                         tl_norm_layer_result *result)
{
    tl_gkl_result found;
    const tl_status status = iterate(w, s, single, &found);
    if (status) return status;
    /* The basis of a run that begins next to the first vector has not met the second yet. */
    w->second = fmax(w->second, found.second);
    measure(w, s, result);
    result->steps += found.steps;
    result->doubles += 2 + (single ? 0 : 2 * found.steps);
    return TL_OK;
}

static tl_status compute(work *w, const tl_layer *layer, const tl_measure *mu,
                         const tl_norm_settings *s, tl_norm_layer_result *result)
{
    const bool single = in_single(s), ahead = !single && goes_ahead(s);
    tl_norm_settings first = *s, rest = *s;
    if (ahead) first.value = SINGLE_VALUE;
    w->rows = mu->m * layer->out;
    w->cols = mu->m * layer->d;
    w->u = malloc(w->rows * sizeof(double));
    w->v = calloc(w->cols, sizeof(double));
    w->back = malloc(w->cols * sizeof(double));
    if (!w->u || !w->v || !w->back) return TL_ERR_MEMORY;
    /* Two double-precision products at the end do not pay for keeping those weights. */
    tl_status status = tl_panels_alloc(&w->fine, layer, mu, single ? 0 : s->memory);
    if (!status && (single || ahead))
        status = tl_panels_single_alloc(&w->coarse, layer, mu, s->memory);
    if (!status) status = tl_gkl_alloc(&w->gkl, w->rows, w->cols, s->basis);
    if (status) return status;
    result->bytes = tl_panels_bytes(w->fine, &result->kept);
    if (w->coarse) result->bytes += tl_panels_single_bytes(w->coarse, &result->kept);
    result->bytes += (s->basis + 2) * (w->rows + w->cols) * sizeof(double);
    status = advance(w, &first, single || ahead, result);
    if (status || result->steps >= s->steps) return status;
    rest.steps -= result->steps;
    return ahead || (single && !result->converged && s->products == TL_PRODUCTS_AUTO)
               ? advance(w, &rest, false, result)
               : status;
}

tl_status tl_norm_layer(const tl_layer *layer, const tl_measure *mu,
                        const tl_norm_settings *settings, double *direction,
                        tl_norm_layer_result *result, tl_error *err)
{
    const tl_norm_settings s = with_defaults(*settings);
    *result = (tl_norm_layer_result){0};
    work w = {0};
    tl_status status = check(layer, mu, err);
    if (status) return status;
    status = compute(&w, layer, mu, &s, result);
    if (!status && direction) memcpy(direction, w.v, w.cols * sizeof(double));
    work_clear(&w);
    if (status == TL_ERR_NUMERIC)
        return tl_fail(err, status, "attention logits: expected finite values, found an overflow");
    if (status)
        return tl_fail(err, status, "norm of %zu tokens over panels: %s", mu->m,
                       tl_status_text(status));
    return TL_OK;
}
