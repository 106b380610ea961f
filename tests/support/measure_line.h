/* Equal masses on a line, attended to with logits a x y and V = 1. */
#ifndef SUPPORT_MEASURE_LINE_H
#define SUPPORT_MEASURE_LINE_H

#include "tightlip/domain.h"

typedef struct {
    tl_layer *layer;
    tl_measure *mu;
    tl_domain *ball;
} measure_line;

/* m <= 8 atoms, the domain [-radius, radius]; owned by the caller. */
measure_line measure_line_at(double a, size_t m, const double *x, double radius);
void measure_line_clear(measure_line *l);

#endif
