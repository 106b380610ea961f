/* The three heaviest weights of a row over a box. Statement: src/bounds/README.md section 6.2. */
#ifndef TIGHTLIP_CERTIFY_SHARP_ENDS_H
#define TIGHTLIP_CERTIFY_SHARP_ENDS_H

#include "certify/sharp.h"

typedef struct {
    arb_t g, l, rest; /* rest = n - 3 */
    bool coupled;
} tl_certify_three;

/* Ends of the weights p >= q >= t over the box, of the rest and of r = t + rest; differences; least
 * components along b_i; |xi_1| and |xi_2| along it at most; total variance. */
enum {
    P0,
    P1,
    NOT_P,
    Q0,
    Q1,
    NOT_Q,
    T0,
    T1,
    REST,
    R,
    P_LESS_Q,
    P_LESS_T,
    Q_LESS_T,
    S1,
    S2,
    S3,
    FIRST,
    SECOND,
    VARIANCE,
    COUNT
};

/* w (COUNT) over the box of a = log(rest p/r'), u = log(p/q), v = log(q/t). */
void tl_certify_three_ends(arb_ptr w, const tl_certify_three *row, const double *lo,
                           const double *hi);

#endif
