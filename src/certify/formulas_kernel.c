/* kernel in ball arithmetic. Statement: src/bounds/README.md section 15. */
#include "certify/formulas.h"

/* Jacobi's rotations cost d^3. */
enum { WIDEST = 64 };

/* top = ||S|| and rest = ||A - S||, S = W W' near the positive part of (A + A')/2: whatever W is, S
 * is positive semidefinite. */
static void split(arb_t top, arb_t rest, const arb_mat_t A, slong prec)
{
    const slong d = arb_mat_nrows(A);
    arb_mat_t M, Q, T;
    arb_t root;

    arb_init(root);
    arb_mat_init(M, d, d);
    arb_mat_init(Q, d, d);
    arb_mat_init(T, d, d);
    arb_mat_transpose(T, A);
    arb_mat_add(M, A, T, prec);
    arb_mat_scalar_mul_2exp_si(M, M, -1);
    tl_certify_jacobi(M, Q, prec);
    for (slong j = 0; j < d; j++) {
        arb_zero(root);
        arb_max(root, root, arb_mat_entry(M, j, j), prec);
        arb_sqrtpos(root, root, prec);
        for (slong i = 0; i < d; i++)
            arb_mul(arb_mat_entry(Q, i, j), arb_mat_entry(Q, i, j), root, prec);
    }
    arb_mat_get_mid(Q, Q);
    arb_mat_transpose(T, Q);
    arb_mat_mul(M, Q, T, prec);
    tl_certify_norm2(top, Q, prec);
    arb_sqr(top, top, prec);
    arb_mat_sub(M, A, M, prec);
    tl_certify_norm2(rest, M, prec);
    arb_mat_clear(T);
    arb_mat_clear(Q);
    arb_mat_clear(M);
    arb_clear(root);
}

/* e^(s/8 + e) (1 + min(g, (s + s^2/4)^(1/2) + e)) + g */
void tl_certify_kernel(arb_t value, const tl_certify_facts *f, size_t h)
{
    const tl_certify_state *state = f->state;
    const slong d = (slong)state->d, prec = f->prec;
    arb_mat_t A;
    arb_t s, e, g, t;

    if (d > WIDEST) {
        arb_pos_inf(value);
        return;
    }
    arb_mat_init(A, d, d);
    arb_init(s);
    arb_init(e);
    arb_init(g);
    arb_init(t);
    tl_certify_logit_map(A, &state->head[h], prec);
    split(s, e, A, prec);
    arb_sqr(t, f->radius_origin, prec);
    arb_mul(s, s, t, prec);
    arb_mul(e, e, t, prec);
    arb_mul(g, f->head[h].norm_a, t, prec);
    arb_mul_2exp_si(t, s, -2);
    arb_add_ui(t, t, 1, prec);
    arb_mul(t, t, s, prec);
    arb_sqrtpos(t, t, prec);
    arb_add(t, t, e, prec);
    arb_min(t, t, g, prec);
    arb_add_ui(t, t, 1, prec);
    arb_mul_2exp_si(s, s, -3);
    arb_add(s, s, e, prec);
    arb_exp(value, s, prec);
    arb_mul(value, value, t, prec);
    arb_add(value, value, g, prec);
    arb_clear(t);
    arb_clear(g);
    arb_clear(e);
    arb_clear(s);
    arb_mat_clear(A);
}
