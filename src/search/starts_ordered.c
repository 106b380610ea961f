/* Starts under a mask. Causal: src/bounds/README.md "Causal mask". */
#include <math.h>

#include "search/builder.h"

void tl_build_heavy_bulk(const tl_builder *b)
{
    const double n = (double)b->problem->n;
    const double heavies = exp(gsl_rng_uniform(b->rng) * log(fmax(n / 2.0, 1.0)));
    double along = -1.0, across = 0.0;
    switch (gsl_rng_uniform_int(b->rng, 4)) {
    case 0:
        along = 0.5; /* as in castin, where A has no negative eigenvalue to speak of */
        break;
    case 1: /* anywhere on the circle */
        along = 2.0 * gsl_rng_uniform(b->rng) - 1.0;
        across = sqrt(1.0 - along * along);
        break;
    default:
        break;
    }
    b->p->m = 2;
    tl_build_place(b, 0, 1.0, 0.0);
    tl_build_place(b, 1, along, across);
    b->p->log_mass[0] = log(heavies / n);
    b->p->log_mass[1] = log1p(-heavies / n);
}

/* Constructions name their heavy tokens first. */
static tl_order order_of(const tl_builder *b, tl_start start)
{
    switch (start) {
    case TL_START_GIVEN:
    case TL_START_CASTIN:
        return TL_ORDER_ATOMS;
    case TL_START_TWO_PHASE:
        return TL_ORDER_RARE;
    case TL_START_INTERLEAVED:
        return TL_ORDER_EVEN;
    default:
        return (tl_order)gsl_rng_uniform_int(b->rng, TL_ORDERS);
    }
}

tl_status tl_build_tokens(const tl_builder *b, tl_start start)
{
    tl_masses_normalise(b->p->m, b->p->log_mass);
    tl_point_round(b->problem, b->p);
    return tl_point_unfold(b->problem, order_of(b, start), b->rng, b->p);
}
