#include "tightlip/invert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/linalg.h"

static bool all_finite(size_t count, const double *a)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(a[i])) return false;
    return true;
}

static tl_status check(const tl_layer *layer, double step, size_t n, const double *x, tl_error *err)
{
    if (n == 0) return tl_fail(err, TL_ERR_SHAPE, "tokens: expected at least one, found none");
    if (layer->out != layer->d)
        return tl_fail(err, TL_ERR_SHAPE,
                       "layer: expected outputs of the width %zu of a token, found %zu", layer->d,
                       layer->out);
    if (!isfinite(step))
        return tl_fail(err, TL_ERR_DOMAIN, "step: expected a finite number, found %g", step);
    if (!all_finite(n * layer->d, x))
        return tl_fail(err, TL_ERR_DOMAIN, "tokens: expected finite numbers");
    return TL_OK;
}

/* z = y + factor F(mu). */
static tl_status add_layer(const tl_layer *layer, double factor, const tl_measure *mu,
                           const double *y, double *z, tl_error *err)
{
    const size_t size = mu->m * mu->d;
    double *image = malloc(size * sizeof *image);
    tl_status s = image ? tl_forward(layer, mu, image, err)
                        : tl_fail(err, TL_ERR_MEMORY, "no memory for %zu tokens", mu->m);

    for (size_t i = 0; !s && i < size; i++) z[i] = y[i] + factor * image[i];
    if (!s && !all_finite(size, z))
        s = tl_fail(err, TL_ERR_NUMERIC, "layer: expected finite outputs, found an overflow");
    free(image);
    return s;
}

tl_status tl_residual_apply(const tl_layer *layer, double step, size_t n, const double *x,
                            double *y, tl_error *err)
{
    tl_measure *mu = NULL;
    tl_status s = check(layer, step, n, x, err);

    if (!s) s = tl_measure_alloc(&mu, n, layer->d, x, NULL, NULL, err);
    if (!s) s = add_layer(layer, step, mu, mu->x, y, err);
    tl_measure_free(mu);
    return s;
}

static double distance(size_t size, const double *a, const double *b, double *scratch)
{
    for (size_t i = 0; i < size; i++) scratch[i] = a[i] - b[i];
    return tl_nrm2(size, scratch);
}

/* The iterates stand in mu; next has room for two arrays. */
static tl_status iterate(const tl_layer *layer, double step, const double *y, size_t iterations,
                         const double *truth, tl_measure *mu, double *next, double *error,
                         double *change, size_t *done, tl_error *err)
{
    const size_t size = mu->m * mu->d;
    double *scratch = next + size;
    const double length = truth ? tl_nrm2(size, truth) : 0;
    const double unit = length > 0 ? length : 1;

    *done = 0;
    if (error) error[0] = distance(size, mu->x, truth, scratch) / unit;
    while (*done < iterations) {
        tl_error found = {0}; /* an overflow ends the iteration and is none of the caller's */
        const tl_status s = add_layer(layer, -step, mu, y, next, &found);
        if (s == TL_ERR_NUMERIC) return TL_OK;
        if (s) return tl_fail(err, s, "%s", found.text);
        if (change) change[*done] = distance(size, next, mu->x, scratch);
        memcpy(mu->x, next, size * sizeof *next);
        (*done)++;
        if (error) error[*done] = distance(size, mu->x, truth, scratch) / unit;
    }
    return TL_OK;
}

tl_status tl_residual_invert(const tl_layer *layer, double step, size_t n, const double *y,
                             size_t iterations, const double *truth, double *x, double *error,
                             double *change, size_t *done, tl_error *err)
{
    tl_measure *mu = NULL;
    double *next = NULL;
    tl_status s = check(layer, step, n, y, err);

    if (!s && error && !truth)
        s = tl_fail(err, TL_ERR_ARGUMENT, "errors: expected the true tokens, found none");
    if (!s && truth && !all_finite(n * layer->d, truth))
        s = tl_fail(err, TL_ERR_DOMAIN, "true tokens: expected finite numbers");
    if (!s) s = tl_measure_alloc(&mu, n, layer->d, y, NULL, NULL, err);
    if (!s && !(next = malloc(2 * n * layer->d * sizeof *next)))
        s = tl_fail(err, TL_ERR_MEMORY, "no memory for %zu tokens", n);
    if (!s) s = iterate(layer, step, y, iterations, truth, mu, next, error, change, done, err);
    if (!s) memcpy(x, mu->x, n * layer->d * sizeof *x);
    tl_measure_free(mu);
    free(next);
    return s;
}
