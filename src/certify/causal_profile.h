/* Profiles F of the bound of causally masked rows for every n, in balls: src/bounds/README.md
 * section 7. */
#ifndef TIGHTLIP_CERTIFY_CAUSAL_PROFILE_H
#define TIGHTLIP_CERTIFY_CAUSAL_PROFILE_H

#include "certify/boxes.h"

enum { TL_CERTIFY_PIECES = 48 };

/* F = exp(v[0]) up to y = exp(log_y[0]), on piece i a multiple of y^(-slope[i]), and beyond the
 * last knot tail/(1 + y). Knots and slopes are doubles, taken as exact; 0 <= slope[0] <= .. <=
 * end/(1 + end), so that F falls, log F is concave in log y and x/F(a/x) grows. */
typedef struct {
    arb_t from;                           /* 1/K, where y begins */
    double log_y[TL_CERTIFY_PIECES + 1];  /* rising */
    double wanted[TL_CERTIFY_PIECES + 1]; /* log F as asked for: in the shape above or not */
    double slope[TL_CERTIFY_PIECES];
    arb_t end, tail; /* end = exp(the last knot) */
    arb_ptr v;       /* log F at the knots */
} tl_certify_profile;

void tl_certify_profile_init(tl_certify_profile *f, const arb_t from);
void tl_certify_profile_clear(tl_certify_profile *f);
/* F near the least profile of that shape above what is asked for, which is set to it. */
void tl_certify_profile_close(tl_certify_profile *f);
/* At least x / F(a/x), and near it; by continuity at x = 0. x, a >= 0. */
void tl_certify_profile_over(arb_t value, const tl_certify_profile *f, const arb_t x,
                             const arb_t a);
/* Some C for which R: [1/K, infinity) -> [0, 1] exists with -R' = F^2/C and R(1 - R) >= y F^2/C;
 * INFINITY when none is found. Cost: up to 0.2 s. */
double tl_certify_profile_riccati(const tl_certify_profile *f);

/* alpha = s w_S + t w_T, B = share w_S + (1 - share) w_T; alpha^2 + weight B^2 = xx w_S^2 + 2 xz
 * w_S w_T + zz w_T^2, weight >= 0. */
typedef struct {
    arb_t s, t, weight, xx, xz, zz;
} tl_certify_form;

void tl_certify_form_init(tl_certify_form *c);
void tl_certify_form_clear(tl_certify_form *c);
/* The square from s, t, weight and share. */
void tl_certify_form_set(tl_certify_form *c, double share);
/* At least unit^2 (alpha^2 + weight B^2) for pi in [low, high] and every k in [-1, 1] where w_S >=
 * w_T; the lengths as in section 7. */
double tl_certify_form_largest(const tl_certify_form *c, const arb_t g, const arb_t unit,
                               double low, double high);

#endif
