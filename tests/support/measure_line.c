#include "support/measure_line.h"

#include <criterion/criterion.h>
#include <math.h>

measure_line measure_line_at(double a, size_t m, const double *x, double radius)
{
    const double A[] = {a}, V[] = {1};
    double mass[8];
    measure_line l;

    for (size_t k = 0; k < m; k++) mass[k] = -log((double)m);
    cr_assert(!tl_layer_alloc_av(&l.layer, 1, 1, A, V) &&
              !tl_measure_alloc(&l.mu, m, 1, x, NULL, mass, NULL) &&
              !tl_domain_alloc_ball(&l.ball, 1, radius, NULL, NULL));
    return l;
}

void measure_line_clear(measure_line *l)
{
    tl_layer_free(l->layer);
    tl_measure_free(l->mu);
    tl_domain_free(l->ball);
}
