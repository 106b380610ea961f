/* The layer and the tokens of the reference vectors: S(a, b, o)_ij = sin(o + i b + j). */
#ifndef SUPPORT_SINE_LAYER_H
#define SUPPORT_SINE_LAYER_H

#include "tightlip/attention.h"

/* Two dot-product heads of width 2 in d = 4 with an output matrix; owned by the caller. */
tl_layer *sine_layer(void);
/* Four tokens. */
tl_measure *sine_tokens(void);

#endif
