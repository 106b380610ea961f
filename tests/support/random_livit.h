/* Small random networks of livit.h, as tensors. */
#ifndef SUPPORT_RANDOM_LIVIT_H
#define SUPPORT_RANDOM_LIVIT_H

#include <gsl/gsl_rng.h>

#include "support/weights_file.h"
#include "tightlip/livit.h"

enum { RANDOM_LIVIT_TENSORS = 64 };

typedef struct {
    size_t channels, side, rows, cols; /* image: rows side x cols side */
    size_t d, blocks, heads, layers, hidden, classes;
    bool centre, mean, biases; /* centring for balls; mean of tokens; biases of q, k, v */
    double size;               /* of every weight */
} random_livit_shape;

typedef struct {
    size_t count;
    weights_tensor tensor[RANDOM_LIVIT_TENSORS];
    char name[RANDOM_LIVIT_TENSORS][48];
    double *data[RANDOM_LIVIT_TENSORS];
} random_livit;

random_livit_shape random_livit_shape_draw(gsl_rng *rng);
void random_livit_draw(random_livit *out, gsl_rng *rng, const random_livit_shape *shape);
void random_livit_clear(random_livit *tensors);
/* Written and opened; asserts. */
tl_livit *random_livit_open(const random_livit *tensors);

#endif
