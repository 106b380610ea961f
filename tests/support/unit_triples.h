/* What tl_top_batch leaves as singular triples. */
#ifndef SUPPORT_UNIT_TRIPLES_H
#define SUPPORT_UNIT_TRIPLES_H

#include <math.h>

#include "linalg/wide.h"

/* In every lane u and v of length 1 and the value: top its square, weight u over |M v| = value |v|.
 */
static inline void unit_triples(size_t rows, size_t cols, wide8 *u, wide8 *v, const wide8 *weight,
                                wide8 *top)
{
    for (size_t l = 0; l < 8; l++) {
        double square = 0;
        for (size_t j = 0; j < cols; j++) square += v[j][l] * v[j][l];
        const double length = sqrt(square);
        (*top)[l] = sqrt((*top)[l]);
        for (size_t j = 0; j < cols; j++) v[j][l] /= length;
        for (size_t i = 0; i < rows; i++) u[i][l] *= (*weight)[l] * (*top)[l] * length;
    }
}

#endif
