/* The point of the unit ball that an affine map sends farthest. */
#include "certify/formulas.h"
#include "certify/steer.h"

/* lambda + b'(lambda - G)^(-1) b with b = M'c, G = M'M: |c|^2 more, and no |c + M y|^2 with |y| <=
 * 1 exceeds it where lambda - G is positive definite. False: not seen to be. */
static bool dual_value(arb_t value, const arb_mat_t G, const arb_mat_t b, const arb_t lambda,
                       slong prec)
{
    const slong k = arb_mat_nrows(G);
    arb_mat_t S, L;
    bool positive;
    arb_ptr y;

    arb_mat_init(S, k, k);
    arb_mat_init(L, k, k);
    arb_mat_neg(S, G);
    for (slong i = 0; i < k; i++)
        arb_add(arb_mat_entry(S, i, i), arb_mat_entry(S, i, i), lambda, prec);
    positive = tl_certify_cholesky(L, S, prec);
    y = _arb_vec_init(k); /* L y = b */
    for (slong i = 0; i < k && positive; i++) {
        arb_dot(y + i, arb_mat_entry(b, i, 0), 1, L->rows[i], 1, y, 1, i, prec);
        arb_div(y + i, y + i, arb_mat_entry(L, i, i), prec);
    }
    if (positive) arb_dot(value, lambda, 0, y, 1, y, 1, k, prec);
    _arb_vec_clear(y, k);
    arb_mat_clear(L);
    arb_mat_clear(S);
    return positive;
}

/* Balls see fewer matrices as positive definite than double precision did, near the edge. */
enum { STEPS_ABOVE = 4, STEP_BITS = 12, LAST_BITS = 60 };

/* The largest |c + M y|: near the least dual value, or |c| + ||M||. Any lambda would do. */
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
    bool found = tl_certify_steer_dual(lambda, G, b, low, high);
    for (int step = 0; step < STEPS_ABOVE && found; step++) {
        if (dual_value(value, G, b, lambda, prec)) {
            arb_add(value, value, square, prec);
            arb_sqrtpos(value, value, prec);
            arb_min(reach, reach, value, prec);
            break;
        }
        arb_mul_2exp_si(value, high, step * STEP_BITS - LAST_BITS);
        arb_add(lambda, lambda, value, prec);
        arb_get_mid_arb(lambda, lambda);
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
