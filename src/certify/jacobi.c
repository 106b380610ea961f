/* Eigenvectors of a symmetric matrix by Jacobi's rotations: numbers about which nothing is claimed.
 */
#include "certify/internal.h"

enum { SWEEPS = 24 };

/* Columns p and q of M := c p - s q, s p + c q; midpoints alone are kept. */
static void rotate_columns(arb_mat_t M, slong p, slong q, const arb_t c, const arb_t s, slong prec)
{
    arb_t t;

    arb_init(t);
    for (slong i = 0; i < arb_mat_nrows(M); i++) {
        arb_ptr x = arb_mat_entry(M, i, p), y = arb_mat_entry(M, i, q);
        arb_mul(t, c, x, prec);
        arb_submul(t, s, y, prec);
        arb_mul(y, y, c, prec);
        arb_addmul(y, x, s, prec);
        arb_get_mid_arb(y, y);
        arb_get_mid_arb(x, t);
    }
    arb_clear(t);
}

/* The rotation that makes entry (p, q) vanish: t = tan of its angle, |t| <= 1. */
static void angle(arb_t c, arb_t s, const arb_mat_t M, slong p, slong q, slong prec)
{
    arb_t t, u;

    arb_init(t);
    arb_init(u);
    arb_sub(t, arb_mat_entry(M, q, q), arb_mat_entry(M, p, p), prec);
    arb_div(t, t, arb_mat_entry(M, p, q), prec);
    arb_mul_2exp_si(t, t, -1);
    const bool negative = arf_sgn(arb_midref(t)) < 0;
    arb_abs(t, t);
    arb_sqr(u, t, prec);
    arb_add_ui(u, u, 1, prec);
    arb_sqrt(u, u, prec);
    arb_add(t, t, u, prec);
    arb_inv(t, t, prec);
    if (negative) arb_neg(t, t);
    arb_sqr(u, t, prec);
    arb_add_ui(u, u, 1, prec);
    arb_rsqrt(c, u, prec);
    arb_mul(s, c, t, prec);
    arb_get_mid_arb(c, c);
    arb_get_mid_arb(s, s);
    arb_clear(u);
    arb_clear(t);
}

static void rotate(arb_mat_t M, arb_mat_t Q, slong p, slong q, slong prec)
{
    arb_t c, s;

    arb_init(c);
    arb_init(s);
    angle(c, s, M, p, q, prec);
    rotate_columns(M, p, q, c, s, prec);
    rotate_columns(Q, p, q, c, s, prec);
    arb_mat_transpose(M, M);
    rotate_columns(M, p, q, c, s, prec);
    arb_zero(arb_mat_entry(M, p, q));
    arb_zero(arb_mat_entry(M, q, p));
    arb_clear(s);
    arb_clear(c);
}

/* Whether entry (p, q) is beyond the last bit of either diagonal entry beside it. */
static bool negligible(const arb_mat_t M, slong p, slong q, slong prec)
{
    arb_t t, u;

    arb_init(t);
    arb_init(u);
    arb_abs(t, arb_mat_entry(M, p, p));
    arb_abs(u, arb_mat_entry(M, q, q));
    arb_max(t, t, u, prec);
    arb_mul_2exp_si(t, t, -prec);
    arb_abs(u, arb_mat_entry(M, p, q));
    const bool small = arb_le(u, t);
    arb_clear(u);
    arb_clear(t);
    return small;
}

void tl_certify_jacobi(arb_mat_t M, arb_mat_t Q, slong prec)
{
    const slong d = arb_mat_nrows(M);
    bool moved = true;

    arb_mat_get_mid(M, M);
    arb_mat_one(Q);
    for (int sweep = 0; sweep < SWEEPS && moved; sweep++) {
        moved = false;
        for (slong p = 0; p < d; p++)
            for (slong q = p + 1; q < d; q++) {
                if (negligible(M, p, q, prec)) continue;
                rotate(M, Q, p, q, prec);
                moved = true;
            }
    }
}
