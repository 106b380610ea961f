/* Exponentials of eight numbers, in operations that round alike on every processor. Internal to
 * src. */
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
    const wide8l scale = (((wide8l)shifted + 1023) << 52) & ~(wide8l)(*x < -708.0);
    const wide8 r = (*x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    const wide8 r2 = r * r, r4 = r2 * r2;
    const wide8 low = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    const wide8 middle = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    const wide8 high =
        (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800));
    const wide8 e = (1.0 + (r + r2 * (low + r4 * (middle + r4 * high)))) * (wide8)scale;
    *x = (wide8)((wide8l)e & ~(wide8l)(*x < -708.0));
}

#endif
