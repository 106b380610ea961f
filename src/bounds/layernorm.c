/* Where the tokens behind a layer norm lie. */
#include <float.h>
#include <math.h>

#include "tightlip/bounds.h"
#include "tightlip/linalg.h"

double tl_bound_layernorm_radius(size_t d, const double *gain, const double *shift)
{
    double largest = gain ? 0 : 1;

    for (size_t i = 0; gain && i < d; i++) {
        if (isnan(gain[i])) return (double)NAN;
        largest = fmax(largest, fabs(gain[i]));
    }
    double radius = sqrt((double)d) * largest + (shift ? tl_nrm2(d, shift) : 0);
    /* tl_nrm2 is off by at most d eps, the rest are four roundings. */
    return radius * (1 + ((double)d + 8) * DBL_EPSILON);
}
