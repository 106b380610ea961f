/* C face of the PCG C++ library's pcg64 (XSL-RR, 128-bit state). Internal to src/base. */
#ifndef TIGHTLIP_BASE_PCG64_H
#define TIGHTLIP_BASE_PCG64_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TL_PCG64_BYTES = 32 };

/* state: TL_PCG64_BYTES bytes, aligned like malloc's. Trivially copyable. */
void tl_pcg64_seed(void *state, uint64_t initstate, uint64_t stream);
uint64_t tl_pcg64_next(void *state);

#ifdef __cplusplus
}
#endif
#endif
