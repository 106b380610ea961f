#include "tightlip/rng.h"

#include <stdlib.h>

#include "base/pcg64.h"

static void rng_set(void *state, unsigned long seed)
{
    tl_pcg64_seed(state, seed, 0);
}

static unsigned long rng_get(void *state)
{
    return (unsigned long)(tl_pcg64_next(state) >> 32);
}

static double rng_get_double(void *state)
{
    return (double)(tl_pcg64_next(state) >> 11) * 0x1p-53;
}

static const gsl_rng_type pcg64_type = {
    .name = "pcg64",
    .max = 0xffffffffUL,
    .min = 0,
    .size = TL_PCG64_BYTES,
    .set = rng_set,
    .get = rng_get,
    .get_double = rng_get_double,
};

const gsl_rng_type *const tl_rng_pcg64 = &pcg64_type;

tl_status tl_rng_seed(gsl_rng *r, uint64_t state, uint64_t stream)
{
    if (!r || r->type != tl_rng_pcg64) return TL_ERR_ARGUMENT;
    tl_pcg64_seed(r->state, state, stream);
    return TL_OK;
}

uint64_t tl_rng_word(gsl_rng *r)
{
    return tl_pcg64_next(r->state);
}

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection with full avalanche. */
static uint64_t mix64(uint64_t z)
{
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static uint64_t hash3(uint64_t salt, uint64_t seed, uint64_t cell, uint64_t restart)
{
    return mix64(mix64(mix64(mix64(salt) ^ seed) ^ cell) ^ restart);
}

gsl_rng *tl_rng_stream_alloc(uint64_t seed, uint64_t cell, uint64_t restart)
{
    /* Not gsl_rng_alloc: its error handler aborts by default. gsl_rng_free frees both blocks. */
    gsl_rng *r = malloc(sizeof *r);
    void *state = malloc(TL_PCG64_BYTES);
    if (!r || !state) {
        free(r);
        free(state);
        return NULL;
    }
    r->type = tl_rng_pcg64;
    r->state = state;
    tl_pcg64_seed(r->state, hash3(1, seed, cell, restart), hash3(2, seed, cell, restart));
    return r;
}
