/* Weights of an untrained layer, and normal tokens. */
#include "tightlip/random.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/rng.h"

/* The matrices of a head, and the columns of the output matrix that belong to it. */
enum { Q, K, V, O, PARTS };

static bool is_spread(double std)
{
    return std > 0 && isfinite(std);
}

static tl_status check_layer(const tl_random_layer_spec *r, tl_error *err)
{
    if (r->d == 0 || r->heads == 0 || r->width == 0)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "expected d, heads and width above 0, found %zu, %zu and %zu", r->d,
                       r->heads, r->width);
    if (r->head < -1 || (r->head >= 0 && (size_t)r->head >= r->heads))
        return tl_fail(err, TL_ERR_ARGUMENT, "expected a head below %zu, found %ld", r->heads,
                       r->head);
    if (!is_spread(r->std) || !is_spread(r->output_std))
        return tl_fail(err, TL_ERR_ARGUMENT, "expected std and output_std above 0, found %g and %g",
                       r->std, r->output_std);
    if ((double)r->d * (double)r->heads * (double)r->width * PARTS > TL_RANDOM_NUMBERS_MAX)
        return tl_fail(err, TL_ERR_LIMIT, "expected at most %d weights, found more",
                       TL_RANDOM_NUMBERS_MAX);
    return TL_OK;
}

static tl_status draw(const tl_random_layer_spec *r, size_t h, int part, double *a)
{
    gsl_rng *rng = tl_rng_stream_alloc(r->seed, 1 + h, (uint64_t)part);
    const double std = part == O ? r->output_std : r->std;

    if (!rng) return TL_ERR_MEMORY;
    for (size_t i = 0; i < r->width * r->d; i++) a[i] = gsl_ran_gaussian_ziggurat(rng, std);
    gsl_rng_free(rng);
    return TL_OK;
}

/* Head h as number `slot` of `count`; its part of the output matrix stands last in its weights. */
static tl_status draw_head(const tl_random_layer_spec *r, tl_kind kind, size_t h, size_t slot,
                           size_t count, double *weights, tl_head *head, double *output)
{
    const size_t k = r->width, d = r->d, size = k * d;
    tl_status s = TL_OK;

    for (int part = Q; !s && part < PARTS; part++)
        s = draw(r, h, part, weights + (size_t)part * size);
    for (size_t i = 0; !s && i < d; i++)
        memcpy(output + (i * count + slot) * k, weights + O * size + i * k, k * sizeof *output);
    *head = (tl_head){.k = k,
                      .v = k,
                      .Q = weights + Q * size,
                      .K = weights + K * size,
                      .V = weights + V * size,
                      .scale = 1 / sqrt((double)k)};
    if (kind == TL_KIND_L2) { /* tied, and the factor belongs to the kind */
        head->K = NULL;
        head->scale = 1;
    }
    if (kind == TL_KIND_COSINE) head->scale = 1; /* tau is in its place */
    return s;
}

tl_status tl_random_layer(const tl_random_layer_spec *spec, tl_kind kind, tl_mask mask,
                          tl_layer **out, tl_error *err)
{
    tl_status s = check_layer(spec, err);

    if (s) return s;
    const size_t count = spec->head < 0 ? spec->heads : 1, d = spec->d, k = spec->width;
    const size_t size = PARTS * d * k;
    tl_head *head = calloc(count, sizeof *head);
    double *weights = calloc(count * size, sizeof *weights);
    double *output = calloc(d * count * k, sizeof *output);

    s = head && weights && output ? TL_OK : TL_ERR_MEMORY;
    for (size_t i = 0; !s && i < count; i++)
        s = draw_head(spec, kind, spec->head < 0 ? i : (size_t)spec->head, i, count,
                      weights + i * size, &head[i], output);
    if (s)
        (void)tl_fail(err, s, "out of memory for %zu heads", count);
    else
        s = tl_layer_alloc(out, kind, mask, d, count, head, output, d, err);
    free(head);
    free(weights);
    free(output);
    return s;
}

tl_status tl_random_tokens(const tl_random_tokens_spec *spec, double **x, tl_error *err)
{
    const size_t n = spec->n, d = spec->d;

    if (n == 0 || d == 0 || !is_spread(spec->std) || !isfinite(spec->common))
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "expected n, d and std above 0 and a finite common, found %zu, %zu, %g, %g",
                       n, d, spec->std, spec->common);
    if ((double)n * (double)d > TL_RANDOM_NUMBERS_MAX)
        return tl_fail(err, TL_ERR_LIMIT,
                       "expected at most %d numbers in all tokens, found %zu tokens of %zu",
                       TL_RANDOM_NUMBERS_MAX, n, d);
    double *all = malloc((n + 1) * d * sizeof *all), *c = all ? all + n * d : NULL;
    gsl_rng *own = tl_rng_stream_alloc(spec->seed, 0, 1);
    gsl_rng *shared = tl_rng_stream_alloc(spec->seed, 0, 2);
    const bool ready = all && own && shared;

    for (size_t r = 0; ready && r < d; r++)
        c[r] = spec->common * gsl_ran_gaussian_ziggurat(shared, 1);
    for (size_t i = 0; ready && i < n * d; i++)
        all[i] = c[i % d] + gsl_ran_gaussian_ziggurat(own, spec->std);
    if (own) gsl_rng_free(own);
    if (shared) gsl_rng_free(shared);
    if (ready) {
        *x = all;
        return TL_OK;
    }
    free(all);
    return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu tokens", n);
}
