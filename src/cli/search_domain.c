/* The domain of a search from its flags. */
#include "cli/search.h"

#include <math.h>
#include <stdlib.h>

/* Every entry of a vector of width d; NULL when out of memory. */
static double *constant(size_t d, double value)
{
    double *x = malloc(d * sizeof *x);

    for (size_t i = 0; x != NULL && i < d; i++) x[i] = value;
    return x;
}

static tl_status alloc_box(tl_domain **out, size_t d, double side, tl_error *err)
{
    double *lower = constant(d, -side), *upper = constant(d, side);
    tl_status status = lower != NULL && upper != NULL
                           ? tl_domain_alloc_box(out, d, lower, upper, err)
                           : tl_fail(err, TL_ERR_MEMORY, "out of memory for width %zu", d);

    free(lower);
    free(upper);
    return status;
}

/* eps > 0: the solid ellipsoid, as layers in use have it. */
static tl_status alloc_norm(tl_domain **out, tl_domain_kind kind, size_t d, double size,
                            tl_error *err)
{
    double *gain = constant(d, size);
    tl_status status = gain != NULL ? tl_domain_alloc_norm(out, kind, d, gain, NULL, 1e-5, err)
                                    : tl_fail(err, TL_ERR_MEMORY, "out of memory for width %zu", d);

    free(gain);
    return status;
}

tl_status tl_cli_search_domain(tl_domain **out, tl_domain_kind kind, size_t d, double radius,
                               tl_error *err)
{
    switch (kind) {
    case TL_DOMAIN_SPHERE:
        return tl_domain_alloc_sphere(out, d, radius, NULL, err);
    case TL_DOMAIN_BOX:
        return alloc_box(out, d, radius, err);
    case TL_DOMAIN_LAYER_NORM:
    case TL_DOMAIN_RMS_NORM:
        return alloc_norm(out, kind, d, radius, err);
    case TL_DOMAIN_SPACE:
        return tl_domain_alloc_space(out, d, radius, err);
    case TL_DOMAIN_FROBENIUS:
        return tl_fail(
            err, TL_ERR_ARGUMENT,
            "--domain frobenius-ball: expected a problem file with tokens and --epsilon");
    case TL_DOMAIN_BALL:
        break;
    }
    return tl_domain_alloc_ball(out, d, radius, NULL, err);
}
