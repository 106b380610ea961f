#include "support/draws.h"

#include <math.h>
#include <stdlib.h>

#include "tightlip/rng.h"

gsl_rng *draw_stream(uint64_t property)
{
    return tl_rng_stream_alloc(20240, property, 0);
}

int draw_effort(void)
{
    return getenv("TIGHTLIP_SOAK") ? 50 : 1;
}

bool under_memcheck(void)
{
    return getenv("TIGHTLIP_MEMCHECK") != NULL;
}

int draw_count(int usual)
{
    return under_memcheck() ? (usual + 9) / 10 : usual * draw_effort();
}

size_t draw_stride(size_t thinned)
{
    return under_memcheck() ? thinned : 1;
}

size_t draw_below(gsl_rng *rng, size_t most)
{
    return (size_t)gsl_rng_uniform_int(rng, most);
}

double draw_entry(gsl_rng *rng)
{
    double x = 2 * gsl_rng_uniform(rng) - 1;
    switch (draw_below(rng, 20)) {
    case 0:
        return 0;
    case 1:
        return x < 0 ? -1 : 1;
    case 2:
        return ldexp(x, -40);
    case 3:
        return ldexp(x, 10);
    default:
        return x;
    }
}
