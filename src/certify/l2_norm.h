/* The spectral norm of L2 attention without its maps, ||J_g|| over n tokens in R^k, in balls: forms
 * A to D of src/bounds/README.md section 17. Every value is an upper bound; +inf where a form says
 * nothing. */
#ifndef TIGHTLIP_CERTIFY_L2_NORM_H
#define TIGHTLIP_CERTIFY_L2_NORM_H

#include "certify/l2.h"

/* n >= 2 tokens, k = min(head width, n - 1), every lmax(C_i) <= l. */
typedef struct {
    slong prec;
    ulong k;
    bool capped;        /* l is finite */
    arb_t l;            /* 0 where it is not */
    arb_t rest, log_n1; /* n - 1 and its logarithm */
    arb_t c, c_star;    /* section 16 */
    arb_t e_most, top;  /* min(c, l); 1 + 2 min(c*, l) >= every 2 lmax(C_i) + P_ii */
} tl_certify_l2_size;

/* l NULL: none. */
void tl_certify_l2_size_init(tl_certify_l2_size *size, const fmpz_t n, ulong width, const arb_t l,
                             slong prec);
void tl_certify_l2_size_clear(tl_certify_l2_size *size);

/* Form A in closed form; B, C and D at chosen parameters, the maximum inside over boxes: some 10 to
 * 100 ms. */
typedef void tl_certify_l2_form(arb_t value, const tl_certify_l2_size *size);
tl_certify_l2_form tl_certify_l2_form_a, tl_certify_l2_form_b, tl_certify_l2_form_c,
    tl_certify_l2_form_d;
/* value := the least of value, a bound of ||J_g|| or +inf, and A, C, D and what is known of few
 * tokens (17.6); n >= 1. +inf where balls know less than doubles: three tokens, five on a line. */
void tl_certify_l2_norm(arb_t value, const fmpz_t n, ulong width, const arb_t l, slong prec);

/* Parameters of the forms, found in doubles: a bound at any of them with x, kappa > 0, p in [1, 2],
 * e in [0, 1) and lambda as the form wants it. Form B: x; C: x, lambda and p; D: all. lambda is L1
 * of form D. */
typedef struct {
    double x, lambda, p, e, kappa;
} tl_certify_l2_choice;

tl_certify_l2_choice tl_certify_l2_choose_b(const tl_certify_l2_size *size);
tl_certify_l2_choice tl_certify_l2_choose_c(const tl_certify_l2_size *size);
tl_certify_l2_choice tl_certify_l2_choose_d(const tl_certify_l2_size *size);

/* The column constant of 17.1 at b = 4/x, times (n-1)^(1-1/p); no finite ball where x, p or e are
 * not as above. */
void tl_certify_l2_columns(arb_t value, const tl_certify_l2_size *size,
                           const tl_certify_l2_choice *at);

#endif
