/* The point of the unit ball that an affine map sends farthest. */
#include "certify/formulas.h"

/* |c|^2 + lambda + b'(lambda - G)^(-1) b with b = M'c, G = M'M, which no |c + M y|^2 with |y| <= 1
 * exceeds where lambda - G is positive definite. long_step: |(lambda - G)^(-1) b| > 1, so that a
 * larger lambda gives less. False: not seen to be positive definite. */
static bool dual_value(arb_t value, bool *long_step, const arb_mat_t G, const arb_mat_t b,
                       const arb_t lambda, slong prec)
{
    const slong k = arb_mat_nrows(G);
    arb_mat_t S, y;
    arb_t t;
    bool positive;

    arb_mat_init(S, k, k);
    arb_mat_init(y, k, 1);
    arb_init(t);
    arb_mat_neg(S, G);
    for (slong i = 0; i < k; i++)
        arb_add(arb_mat_entry(S, i, i), arb_mat_entry(S, i, i), lambda, prec);
    positive = arb_mat_spd_solve(y, S, b, prec);
    if (positive) {
        arb_dot(value, lambda, 0, b->entries, 1, y->entries, 1, k, prec);
        arb_dot(t, NULL, 0, y->entries, 1, y->entries, 1, k, prec);
        *long_step = arf_cmp_si(arb_midref(t), 1) > 0;
    }
    arb_clear(t);
    arb_mat_clear(y);
    arb_mat_clear(S);
    return positive;
}

/* The largest |c + M y|: the least dual value that bisection finds, or |c| + ||M||. */
void tl_certify_farthest(arb_t reach, const arb_mat_t M, const arb_mat_t c, slong prec)
{
    const slong k = arb_mat_ncols(M);
    arb_mat_t T, G, b;
    arb_t square, low, high, lambda, value;

    arb_mat_init(T, k, arb_mat_nrows(M));
    arb_mat_init(G, k, k);
    arb_mat_init(b, k, 1);
    arb_init(square);
    arb_init(low);
    arb_init(high);
    arb_init(lambda);
    arb_init(value);
    arb_mat_transpose(T, M);
    arb_mat_mul(G, T, M, prec);
    arb_mat_mul(b, T, c, prec);
    arb_dot(square, NULL, 0, c->entries, 1, c->entries, 1, arb_mat_nrows(c), prec);
    tl_certify_norm2(low, M, prec);
    arb_sqrtpos(reach, square, prec);
    arb_add(reach, reach, low, prec);
    arb_sqr(low, low, prec);
    tl_certify_length(high, b->entries, (size_t)k, prec);
    arb_add(high, high, low, prec);
    for (int step = 0; step < 60; step++) {
        bool long_step = true;
        arb_add(lambda, low, high, prec);
        arb_mul_2exp_si(lambda, lambda, -1);
        arb_get_mid_arb(lambda, lambda); /* any number would do */
        if (dual_value(value, &long_step, G, b, lambda, prec)) {
            arb_add(value, value, square, prec);
            arb_sqrtpos(value, value, prec);
            arb_min(reach, reach, value, prec);
        }
        arb_set(long_step ? low : high, lambda);
    }
    arb_clear(value);
    arb_clear(lambda);
    arb_clear(high);
    arb_clear(low);
    arb_clear(square);
    arb_mat_clear(b);
    arb_mat_clear(G);
    arb_mat_clear(T);
}
