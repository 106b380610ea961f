/* Rows of a softmax, to be compiled for several vector widths: formulas in softmax.c. */
#ifndef ATTENTION_SOFTMAX_ROWS_H
#define ATTENTION_SOFTMAX_ROWS_H

#include <math.h>

#include "attention/internal.h"
#include "linalg/lanes.h"
#include "linalg/wide_exp.h"

#pragma STDC FP_CONTRACT ON

/* e^(z - top) in place, added to the sum. */
WIDE_BODY void weights_raise(wide8 *z, const wide8 *top, wide8 *sum)
{
    *z -= *top;
    wide_exp(z);
    *sum += *z;
}

/* Row i: logits in p -> P in p, sqrt(a_i / a_l) P in r, with root_l = sqrt(a_l / a_0) and its
 * inverse. False where a logit is not a number or too large, or no token is seen. */
WIDE_BODY bool weights_row(const tl_jacobian *J, size_t i, double *restrict p, double *restrict r,
                           size_t *ref)
{
    const size_t m = J->m, whole = m / 8 * 8, rest = m - whole;
    const double *alpha = J->mu->log_mass, *root = J->root, *inverse = J->root + J->m_max;
    wide8 largest, last, z, sum = {0};
    wide_rest(rest, alpha + whole, 0.0, &z);
    wide_rest(rest, p + whole, -HUGE_VAL, &last);
    largest = last += z;
    for (size_t l = 0; l < whole; l += 8) {
        z = *(wide8u *)(p + l) += *(const wide8u *)(alpha + l);
        wide_largest(&z, &largest);
    }
    const double top = wide_top(&largest);
    largest = (wide8){0} + top;
    *ref = 0;
    for (size_t l = rest; l-- > 0;) *ref = last[l] >= top ? whole + l : *ref;
    for (size_t l = whole; l-- > 0;) *ref = p[l] >= top ? l : *ref;
    for (size_t l = 0; l < whole; l += 8) {
        z = *(wide8u *)(p + l);
        weights_raise(&z, &largest, &sum);
        *(wide8u *)(p + l) = z;
    }
    weights_raise(&last, &largest, &sum);
    const double total = wide_sum(&sum), share = 1.0 / total, of_root = share * root[i];
    for (size_t l = 0; l < whole; l += 8) {
        z = *(wide8u *)(p + l);
        *(wide8u *)(p + l) = z * share;
        *(wide8u *)(r + l) = z * of_root * *(const wide8u *)(inverse + l);
    }
    for (size_t l = 0; l < rest; l++) {
        p[whole + l] = last[l] * share;
        r[whole + l] = last[l] * of_root * inverse[whole + l];
    }
    return isfinite(total);
}

/* out_l = image_l - mean for one row, centred on the row's reference: few columns, known to the
 * compiler, whose mean stays in registers. */
WIDE_BODY void few_centred(size_t m, size_t width, const double *restrict p,
                           const double *restrict image, size_t ref, double *restrict out)
{
    double mean[8] = {0}, at_ref[8] = {0};
    for (size_t r = 0; r < width; r++) at_ref[r] = image[ref * width + r];
    for (size_t l = 0; l < m; l++) lanes_add_about(width, p[l], image + l * width, at_ref, mean);
    for (size_t l = 0; l < m; l++)
        lanes_centre(width, image + l * width, at_ref, mean, out + l * width);
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
