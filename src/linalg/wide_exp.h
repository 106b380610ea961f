/* Exponentials and logarithms of eight numbers. Internal to src. */
#ifndef TIGHTLIP_LINALG_WIDE_EXP_H
#define TIGHTLIP_LINALG_WIDE_EXP_H

#include "linalg/wide.h"

#pragma STDC FP_CONTRACT ON

/* x <= 700: e^x to 1.5 units in the last place, 0 below -708, where doubles begin to lose digits.
 * x = k ln 2 + r, |r| <= 0.35: Taylor's series to r^13, in pairs of terms, whose rest is below
 * 5e-18. k times the first part of ln 2 is exact. */
WIDE_BODY void wide_exp(wide8 *x)
{
    const double round = 0x1.8p52;
    const wide8 shifted = *x * 0x1.71547652b82fep0 + round, k = shifted - round;
    const wide8l scale = ((wide8l)shifted + 1023) << 52;
    const wide8 r = (*x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    const wide8 r2 = r * r, r4 = r2 * r2;
    const wide8 low = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    const wide8 middle = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    const wide8 high =
        (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800));
    const wide8 over = r + r2 * (low + r4 * (middle + r4 * high));
    const wide8 e = over * (wide8)scale + (wide8)scale; /* 2^k rounds no product, k > -1021 */
    *x = (wide8)((wide8l)e & ~(wide8l)(*x < -708.0));
}

/* x > 0 of full digits: log x to a unit in the last place. x = 2^k (1 + f), 1 + f from sqrt(1/2) to
 * its double; log(1 + f) = 2 artanh s, s = f / (2 + f), |s| <= 0.172: series to s^21, whose rest is
 * below 3e-18 of the first term. k times the first part of ln 2 is exact. */
WIDE_BODY void wide_log(wide8 *x)
{
    const double round = 0x1.8p52, bias = 1024;
    const wide8ul least = (wide8ul)(0x1.6a09e667f3bcdp-1 - (wide8){0});
    const wide8ul raised = ((wide8ul)*x - least + (1024ULL << 52)) >> 52;
    const wide8 k = (wide8)(raised + (wide8ul)(wide8)(round - (wide8){0})) - (round + bias);
    const wide8 f = (wide8)((wide8ul)*x - ((raised - 1024) << 52)) - 1.0;
    const wide8 s = f / (2.0 + f), z = s * s, z2 = z * z, z4 = z2 * z2, half = 0.5 * f * f;
    const wide8 low = (2.0 / 3 + z * (2.0 / 5)) + z2 * (2.0 / 7 + z * (2.0 / 9));
    const wide8 middle = (2.0 / 11 + z * (2.0 / 13)) + z2 * (2.0 / 15 + z * (2.0 / 17));
    const wide8 rest = z * (low + z4 * (middle + z4 * (2.0 / 19 + z * (2.0 / 21))));
    *x = k * 0x1.62e42feep-1 - ((half - (s * (half + rest) + k * 0x1.a39ef35793c76p-33)) - f);
}

typedef float wide8f __attribute__((vector_size(32), aligned(4), may_alias));
typedef int wide8i __attribute__((vector_size(32), aligned(4), may_alias));

/* x <= 88: the same in single precision, series to r^7; 0 below -87. */
WIDE_BODY void wide_exp_single(wide8f *x)
{
    const float round = 0x1.8p23F;
    const wide8f shifted = *x * 0x1.715476p0F + round, k = shifted - round;
    const wide8i low = *x < -87.0F, scale = (((wide8i)shifted + 127) << 23) & ~low;
    const wide8f r = (*x - k * 0x1.62e4p-1F) - k * 0x1.7f7d1cp-20F, r2 = r * r;
    const wide8f even = (0.5F + r * (1.0F / 6)) + r2 * (1.0F / 24 + r * (1.0F / 120));
    const wide8f over = r + r2 * (even + (r2 * r2) * (1.0F / 720 + r * (1.0F / 5040)));
    const wide8f e = over * (wide8f)scale + (wide8f)scale;
    *x = (wide8f)((wide8i)e & ~low);
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
