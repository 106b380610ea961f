/* exact-1d and l2-inf in ball arithmetic. Statements: src/bounds/README.md sections 16.1 to 16.3.
 */
#include "certify/l2.h"

/* Up to this width every sign pattern of an input token is tried. */
enum { SIGNS = 12 };

/* Row u of M against U: |U u|_1, |u|, and the largest over signs s of |U's| and of (|u| |U's| + <u,
 * U's>)/2. */
typedef struct {
    arb_t alpha, rho, beta, gamma;
} row_facts;

/* |U u|_1 */
static void alpha_of(arb_t alpha, const tl_certify_l2_head *head, arb_srcptr u, slong prec)
{
    arb_t t;

    arb_init(t);
    arb_zero(alpha);
    for (size_t a = 0; a < head->d; a++) {
        arb_dot(t, NULL, 0, head->U->rows[a], 1, u, 1, (slong)head->k, prec);
        arb_abs(t, t);
        arb_add(alpha, alpha, t, prec);
    }
    arb_clear(t);
}

/* Every pattern with the first sign +; the other half is <u, tau> -> -<u, tau>. */
static void try_signs(row_facts *r, const tl_certify_l2_head *head, arb_srcptr u, slong prec)
{
    const slong k = (slong)head->k;
    arb_ptr tau = _arb_vec_init(k);
    arb_t length, inner;

    arb_init(length);
    arb_init(inner);
    for (size_t i = 0; i < (size_t)1 << (head->d - 1); i++) {
        _arb_vec_set(tau, head->U->rows[0], k);
        for (size_t a = 1; a < head->d; a++) {
            if (i >> (a - 1) & 1)
                _arb_vec_sub(tau, tau, head->U->rows[a], k, prec);
            else
                _arb_vec_add(tau, tau, head->U->rows[a], k, prec);
        }
        tl_certify_length(length, tau, head->k, prec);
        arb_dot(inner, NULL, 0, u, 1, tau, 1, k, prec);
        arb_abs(inner, inner);
        arb_addmul(inner, r->rho, length, prec);
        arb_mul_2exp_si(inner, inner, -1);
        arb_max(r->beta, r->beta, length, prec);
        arb_max(r->gamma, r->gamma, inner, prec);
    }
    arb_clear(inner);
    arb_clear(length);
    _arb_vec_clear(tau, k);
}

/* |U's| is at most the length of the absolute column sums and d^(1/2) ||U||; <u, U's> <= alpha. */
static void estimate_signs(row_facts *r, const tl_certify_l2_head *head, slong prec)
{
    arb_t sum, t;

    arb_init(sum);
    arb_init(t);
    for (size_t c = 0; c < head->k; c++) {
        arb_zero(sum);
        for (size_t a = 0; a < head->d; a++) {
            arb_abs(t, arb_mat_entry(head->U, a, c));
            arb_add(sum, sum, t, prec);
        }
        arb_addmul(r->beta, sum, sum, prec);
    }
    arb_sqrtpos(r->beta, r->beta, prec);
    tl_certify_norm2(sum, head->U, prec);
    arb_sqrt_ui(t, head->d, prec);
    arb_mul(sum, sum, t, prec);
    arb_min(r->beta, r->beta, sum, prec);
    arb_mul(r->gamma, r->rho, r->beta, prec);
    arb_add(r->gamma, r->gamma, r->alpha, prec);
    arb_mul_2exp_si(r->gamma, r->gamma, -1);
    arb_clear(t);
    arb_clear(sum);
}

/* alpha + 2c (gamma + min(rho beta, (gamma^2 + rho^2 beta^2/4)^(1/2))) */
static void wide_row(arb_t value, const tl_certify_l2_head *head, arb_srcptr u, const arb_t c,
                     slong prec)
{
    row_facts r;
    arb_t t;

    arb_init(t);
    arb_init(r.alpha);
    arb_init(r.rho);
    arb_init(r.beta);
    arb_init(r.gamma);
    alpha_of(r.alpha, head, u, prec);
    tl_certify_length(r.rho, u, head->k, prec);
    if (head->d <= SIGNS)
        try_signs(&r, head, u, prec);
    else
        estimate_signs(&r, head, prec);
    arb_mul(r.beta, r.beta, r.rho, prec);
    arb_mul_2exp_si(t, r.beta, -1);
    arb_sqr(t, t, prec);
    arb_addmul(t, r.gamma, r.gamma, prec);
    arb_sqrtpos(t, t, prec);
    arb_min(t, t, r.beta, prec);
    arb_add(t, t, r.gamma, prec);
    arb_mul(t, t, c, prec);
    arb_mul_2exp_si(t, t, 1);
    arb_add(value, t, r.alpha, prec);
    arb_clear(r.gamma);
    arb_clear(r.beta);
    arb_clear(r.rho);
    arb_clear(r.alpha);
    arb_clear(t);
}

typedef struct {
    arb_t c, line; /* c_n; Lambda_n, under a mask 1 + 4 c*_n, which grows with n */
} constants;

static void constants_init(constants *k, const tl_certify_facts *f)
{
    fmpz_t seen;

    fmpz_init(seen);
    arb_init(k->c);
    arb_init(k->line);
    tl_certify_l2_seen(seen, f);
    tl_certify_l2_c(k->c, seen, f->prec);
    if (f->state->layer->mask == TL_MASK_NONE) {
        tl_certify_l2_line(k->line, seen, f->prec);
    } else {
        tl_certify_l2_c_star(k->line, seen, f->prec);
        arb_mul_2exp_si(k->line, k->line, 2);
        arb_add_ui(k->line, k->line, 1, f->prec);
    }
    fmpz_clear(seen);
}

/* max over output rows of the sum over heads. */
void tl_certify_l2_inf(arb_t value, const tl_certify_facts *f)
{
    const slong out = (slong)f->state->out, prec = f->prec;
    arb_ptr sum = _arb_vec_init(out);
    constants known;
    arb_t t;

    arb_init(t);
    constants_init(&known, f);
    for (size_t h = 0; h < f->heads; h++) {
        tl_certify_l2_head head;
        tl_certify_l2_head_init(&head, f, h);
        for (slong o = 0; o < out; o++) {
            if (head.k == 1) {
                alpha_of(t, &head, head.M->rows[o], prec);
                arb_mul(t, t, known.line, prec);
            } else {
                wide_row(t, &head, head.M->rows[o], known.c, prec);
            }
            arb_add(sum + o, sum + o, t, prec);
        }
        tl_certify_l2_head_clear(&head);
    }
    arb_zero(value);
    for (slong o = 0; o < out; o++) arb_max(value, value, sum + o, prec);
    arb_clear(known.line);
    arb_clear(known.c);
    arb_clear(t);
    _arb_vec_clear(sum, out);
}
