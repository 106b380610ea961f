/* Random streams: PCG64 (XSL-RR, 128-bit state) as a gsl_rng_type. */
#ifndef TIGHTLIP_RNG_H
#define TIGHTLIP_RNG_H

#include <gsl/gsl_rng.h>
#include <stdint.h>

#include "tightlip/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* pcg64 of the PCG C++ library as a GSL generator. get() returns the high 32 bits of one 64-bit
 * output (GSL's interface assumes range <= 2^32 in gsl_rng_uniform_int); get_double() uses 53 bits
 * of one output. gsl_rng_set(r, s) seeds with state s and stream 0. Source: O'Neill 2014,
 * pcg-random.org. */
extern const gsl_rng_type *const tl_rng_pcg64;

/* Seeds r (of type tl_rng_pcg64) as pcg64(state, stream): tl_rng_seed(r, 42, 54) gives the
 * published words 86b1da1d72062b68 1304aa46c9853d39 a3670e9e0dd50358. Errors: TL_ERR_ARGUMENT for
 * another type. */
TL_MUST_USE tl_status tl_rng_seed(gsl_rng *r, uint64_t state, uint64_t stream);

/* The next full 64-bit word of r (of type tl_rng_pcg64). */
uint64_t tl_rng_word(gsl_rng *r);

/* The stream of one restart of one cell: state and stream are two different 64-bit hashes
 * (splitmix64 chain) of (seed, cell, restart), so streams do not depend on threads or on each
 * other. Owns: the caller frees with gsl_rng_free. Errors: NULL when out of memory. */
gsl_rng *tl_rng_stream_alloc(uint64_t seed, uint64_t cell, uint64_t restart);

#ifdef __cplusplus
}
#endif
#endif
