/* The norm of a star on its symmetric moves, in balls. Statement: src/bounds/README.md section
 * 17.7. */
#include "certify/star.h"

/* Moves: alpha e + beta S at the centre, S the sum of all e_l, and b e + c e_i + d (S - e_i) at
 * outer token i. */
enum { CENTRE_E, CENTRE_S, OUTER_E, OUTER_OWN, OUTER_REST };

/* Weights of single tokens: a centre row gives `stay` to all of the centre and `out` to each outer
 * token; an outer row gives `reach` to all of the centre, `own` and, to each other, `rest`. */
typedef struct {
    slong prec;
    arb_t m, M, a, rho;
    arb_t stay, out, reach, own, rest;
} star_rows;

/* e^(-r^2 - s^2) */
static void kernel(arb_t value, const arb_t r, const arb_t s, slong prec)
{
    arb_sqr(value, r, prec);
    arb_addmul(value, s, s, prec);
    arb_neg(value, value);
    arb_exp(value, value, prec);
}

static void rows_init(star_rows *s, const tl_certified_star *star, slong prec)
{
    arb_t near, far, sum;

    s->prec = prec;
    arb_init(s->m);
    arb_init(s->M);
    arb_init(s->a);
    arb_init(s->rho);
    arb_init(s->stay);
    arb_init(s->out);
    arb_init(s->reach);
    arb_init(s->own);
    arb_init(s->rest);
    arb_init(near);
    arb_init(far);
    arb_init(sum);
    arb_set_ui(s->m, star->centre);
    arb_set_ui(s->M, star->n - star->centre);
    arb_set_d(s->a, star->a);
    arb_set_d(s->rho, star->rho);
    kernel(far, s->a, s->rho, prec);
    kernel(near, s->rho, s->rho, prec);
    arb_mul(sum, s->M, far, prec);
    arb_add(sum, sum, s->m, prec);
    arb_div(s->stay, s->m, sum, prec);
    arb_div(s->out, far, sum, prec);
    arb_sub_ui(sum, s->M, 1, prec);
    arb_mul(sum, sum, near, prec);
    arb_addmul(sum, s->m, far, prec);
    arb_add_ui(sum, sum, 1, prec);
    arb_inv(s->own, sum, prec);
    arb_div(s->rest, near, sum, prec);
    arb_mul(s->reach, s->m, far, prec);
    arb_div(s->reach, s->reach, sum, prec);
    arb_clear(sum);
    arb_clear(far);
    arb_clear(near);
}

static void rows_clear(star_rows *s)
{
    arb_clear(s->m);
    arb_clear(s->M);
    arb_clear(s->a);
    arb_clear(s->rho);
    arb_clear(s->stay);
    arb_clear(s->out);
    arb_clear(s->reach);
    arb_clear(s->own);
    arb_clear(s->rest);
}

/* (J phi)_0 = sum_j P_0j [phi_j + 2 (y_j - mu_0) <y_0 - y_j, phi_j - phi_0>] with mu_0 = out (M a e
 * + rho S). across = a (alpha - b) + rho (beta - c) = <y_0 - y_j, phi_j - phi_0>. */
static void centre_row(arb_ptr psi, const star_rows *s, arb_srcptr phi, const arb_t across)
{
    const slong prec = s->prec;
    arb_t t, lean;

    arb_init(t);
    arb_init(lean);
    /* 2 out across (1 - M out) */
    arb_mul(lean, s->out, s->M, prec);
    arb_sub_ui(lean, lean, 1, prec);
    arb_mul(lean, lean, s->out, prec);
    arb_mul(lean, lean, across, prec);
    arb_mul_2exp_si(lean, lean, 1);
    arb_neg(lean, lean);
    /* stay alpha + out M b + lean M a */
    arb_mul(psi + CENTRE_E, lean, s->a, prec);
    arb_addmul(psi + CENTRE_E, s->out, phi + OUTER_E, prec);
    arb_mul(psi + CENTRE_E, psi + CENTRE_E, s->M, prec);
    arb_addmul(psi + CENTRE_E, s->stay, phi + CENTRE_E, prec);
    /* stay beta + out (c + (M-1) d) + lean rho */
    arb_sub_ui(t, s->M, 1, prec);
    arb_mul(t, t, phi + OUTER_REST, prec);
    arb_add(t, t, phi + OUTER_OWN, prec);
    arb_mul(psi + CENTRE_S, t, s->out, prec);
    arb_addmul(psi + CENTRE_S, lean, s->rho, prec);
    arb_addmul(psi + CENTRE_S, s->stay, phi + CENTRE_S, prec);
    arb_clear(lean);
    arb_clear(t);
}

/* The coefficients of sum_j 2 P_ij (y_j - mu_i) <y_i - y_j, phi_j - phi_i> for an outer token i:
 * its own mean is mu_i = (1 - reach) a e + rho (own e_i + rest S_i), S_i = S - e_i; the centre has
 * the inner product `across`, another outer token 2 rho (d - c). */
static void outer_turn(arb_ptr turn, const star_rows *s, arb_srcptr phi, const arb_t across)
{
    const slong prec = s->prec;
    arb_t centre, each, all;

    arb_init(centre);
    arb_init(each);
    arb_init(all);
    arb_mul(centre, s->reach, across, prec);
    arb_mul_2exp_si(centre, centre, 1);
    arb_sub(each, phi + OUTER_REST, phi + OUTER_OWN, prec);
    arb_mul(each, each, s->rho, prec);
    arb_mul(each, each, s->rest, prec);
    arb_mul_2exp_si(each, each, 2); /* 2 rest 2 rho (d - c) */
    arb_sub_ui(all, s->M, 1, prec);
    arb_mul(all, all, each, prec);
    /* e: all a - (centre + all)(1 - reach) a */
    arb_add(centre, centre, all, prec); /* of all tokens together */
    arb_sub_ui(turn, s->reach, 1, prec);
    arb_mul(turn, turn, centre, prec);
    arb_add(turn, turn, all, prec);
    arb_mul(turn, turn, s->a, prec);
    /* e_i: -(centre + all) rho own; S_i: each rho - (centre + all) rho rest */
    arb_mul(turn + 1, centre, s->own, prec);
    arb_mul(turn + 1, turn + 1, s->rho, prec);
    arb_neg(turn + 1, turn + 1);
    arb_submul(each, centre, s->rest, prec);
    arb_mul(turn + 2, each, s->rho, prec);
    arb_clear(all);
    arb_clear(each);
    arb_clear(centre);
}

/* sum_j P_ij phi_j and the turn above. */
static void outer_row(arb_ptr psi, const star_rows *s, arb_srcptr phi, const arb_t across)
{
    const slong prec = s->prec;
    arb_ptr turn = _arb_vec_init(3);
    arb_t others;

    arb_init(others);
    outer_turn(turn, s, phi, across);
    /* e: reach alpha + (1 - reach) b */
    arb_sub(others, phi + CENTRE_E, phi + OUTER_E, prec);
    arb_mul(others, others, s->reach, prec);
    arb_add(others, others, phi + OUTER_E, prec);
    arb_add(psi + OUTER_E, turn, others, prec);
    /* e_i: reach beta + own c + (M-1) rest d */
    arb_sub_ui(others, s->M, 1, prec);
    arb_mul(others, others, s->rest, prec);
    arb_mul(others, others, phi + OUTER_REST, prec);
    arb_addmul(others, s->reach, phi + CENTRE_S, prec);
    arb_addmul(others, s->own, phi + OUTER_OWN, prec);
    arb_add(psi + OUTER_OWN, turn + 1, others, prec);
    /* S_i: reach beta + own d + rest (c + (M-2) d) */
    arb_sub_ui(others, s->M, 2, prec);
    arb_mul(others, others, phi + OUTER_REST, prec);
    arb_add(others, others, phi + OUTER_OWN, prec);
    arb_mul(others, others, s->rest, prec);
    arb_addmul(others, s->reach, phi + CENTRE_S, prec);
    arb_addmul(others, s->own, phi + OUTER_REST, prec);
    arb_add(psi + OUTER_REST, turn + 2, others, prec);
    arb_clear(others);
    _arb_vec_clear(turn, 3);
}

/* psi = J phi */
static void apply(arb_ptr psi, const star_rows *s, arb_srcptr phi)
{
    arb_t across, t;

    arb_init(across);
    arb_init(t);
    arb_sub(across, phi + CENTRE_E, phi + OUTER_E, s->prec);
    arb_mul(across, across, s->a, s->prec);
    arb_sub(t, phi + CENTRE_S, phi + OUTER_OWN, s->prec);
    arb_addmul(across, t, s->rho, s->prec);
    centre_row(psi, s, phi, across);
    outer_row(psi, s, phi, across);
    arb_clear(t);
    arb_clear(across);
}

/* Lengths of the five moves: m, m M, M, M and M (M-1), squared. */
static void set_lengths(arb_ptr length, const star_rows *s)
{
    arb_set(length + CENTRE_E, s->m);
    arb_mul(length + CENTRE_S, s->m, s->M, s->prec);
    arb_set(length + OUTER_E, s->M);
    arb_set(length + OUTER_OWN, s->M);
    arb_sub_ui(length + OUTER_REST, s->M, 1, s->prec);
    arb_mul(length + OUTER_REST, length + OUTER_REST, s->M, s->prec);
    for (int i = 0; i < TL_STAR_MOVES; i++) arb_sqrtpos(length + i, length + i, s->prec);
}

void tl_certify_star_norm(arb_t norm, const tl_certified_star *star, slong prec)
{
    arb_ptr length = _arb_vec_init(TL_STAR_MOVES), phi = _arb_vec_init(TL_STAR_MOVES),
            psi = _arb_vec_init(TL_STAR_MOVES);
    star_rows s;
    arb_mat_t J;

    arb_mat_init(J, TL_STAR_MOVES, TL_STAR_MOVES);
    rows_init(&s, star, prec);
    set_lengths(length, &s);
    for (int j = 0; j < TL_STAR_MOVES; j++) {
        if (arb_is_zero(length + j)) continue; /* a single outer token has no others */
        _arb_vec_zero(phi, TL_STAR_MOVES);
        arb_inv(phi + j, length + j, prec);
        apply(psi, &s, phi);
        for (int i = 0; i < TL_STAR_MOVES; i++)
            arb_mul(arb_mat_entry(J, i, j), psi + i, length + i, prec);
    }
    tl_certify_norm2(norm, J, prec);
    rows_clear(&s);
    arb_mat_clear(J);
    _arb_vec_clear(psi, TL_STAR_MOVES);
    _arb_vec_clear(phi, TL_STAR_MOVES);
    _arb_vec_clear(length, TL_STAR_MOVES);
}
