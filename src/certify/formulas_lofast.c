/* LoFAST in ball arithmetic. Statement: src/bounds/README.md section 11. */
#include "certify/formulas.h"

/* Rows or columns of the joint linear part of several heads, at most. */
enum { LARGEST = 512 };

typedef enum { WHOLE, FINE, COARSE } lofast_form;

/* What all heads share. */
typedef struct {
    const tl_certify_facts *f;
    lofast_form form;
    slong prec;
    arb_t eps, root_n, x; /* x: ||X||, COARSE */
    arb_mat_t rows;       /* m x d: arrays whose norms are wanted */
    arb_mat_t joint;      /* m out x m d, or empty */
} lofast;

static bool lofast_init(lofast *w, const tl_certify_facts *f, lofast_form form)
{
    const slong m = (slong)f->state->m, out = (slong)f->state->out, d = (slong)f->state->d;
    const bool joint = form == WHOLE && f->heads > 1;

    if (!f->domain->around || (joint && m * (out > d ? out : d) > LARGEST)) return false;
    *w = (lofast){.f = f, .form = form, .prec = f->prec};
    arb_init(w->eps);
    arb_init(w->root_n);
    arb_init(w->x);
    arb_mat_init(w->rows, m, d);
    arb_mat_init(w->joint, joint ? m * out : 0, joint ? m * d : 0);
    arb_set_d(w->eps, f->domain->epsilon);
    arb_sqrt_fmpz(w->root_n, f->n, w->prec);
    return true;
}

static void lofast_clear(lofast *w)
{
    arb_mat_clear(w->joint);
    arb_mat_clear(w->rows);
    arb_clear(w->x);
    arb_clear(w->root_n);
    arb_clear(w->eps);
}

/* ||[N_k^(1/2) x_k]||, x_k the rows of M, which are overwritten. */
static void norm_of_rows(arb_t norm, arb_mat_t M, const lofast *w)
{
    for (slong k = 0; k < arb_mat_nrows(M); k++)
        _arb_vec_scalar_mul(M->rows[k], M->rows[k], arb_mat_ncols(M), w->f->state->root + k,
                            w->prec);
    tl_certify_norm2(norm, M, w->prec);
}

/* P in orthonormal coordinates: (N_k/N_l)^(1/2) P_kl. */
static void set_attention(arb_mat_t P, const lofast *w, size_t h)
{
    const tl_certify_state *s = w->f->state;
    tl_certify_row row;

    tl_certify_row_init(&row, s, h);
    for (size_t k = 0; k < s->m; k++) {
        tl_certify_row_set(&row, s, h, k);
        for (size_t l = 0; l < s->m; l++) {
            arb_ptr entry = arb_mat_entry(P, k, l);
            arb_mul(entry, row.weight + l, s->root + k, w->prec);
            arb_div(entry, entry, s->root + l, w->prec);
        }
    }
    tl_certify_row_clear(&row);
}

/* joint += P (x) O_h V_h */
static void add_joint(lofast *w, const arb_mat_t P, size_t h)
{
    const tl_certify_head *H = &w->f->state->head[h];
    const slong m = (slong)w->f->state->m, out = (slong)w->f->state->out;
    const slong d = (slong)w->f->state->d;
    arb_mat_t G;

    arb_mat_init(G, out, d);
    arb_mat_mul(G, H->output, H->value_map, w->prec);
    for (slong k = 0; k < m; k++)
        for (slong l = 0; l < m; l++)
            for (slong i = 0; i < out; i++)
                _arb_vec_scalar_addmul(w->joint->rows[k * out + i] + l * d, G->rows[i], d,
                                       arb_mat_entry(P, k, l), w->prec);
    arb_mat_clear(G);
}

/* zeta += ||P_h|| ||O_h V_h||, or n^(1/2) for ||P_h||; several heads: into joint. One head
 * alone has ||P (x) G|| = ||P|| ||G||. */
static void add_linear(arb_t zeta, lofast *w, size_t h)
{
    const slong m = (slong)w->f->state->m;
    arb_mat_t P;
    arb_t norm;

    arb_init(norm);
    arb_mat_init(P, m, m);
    if (w->form != COARSE) set_attention(P, w, h);
    if (w->form == COARSE)
        arb_set(norm, w->root_n);
    else if (w->form == FINE || w->f->heads == 1)
        tl_certify_norm2(norm, P, w->prec);
    else
        add_joint(w, P, h);
    arb_addmul(zeta, norm, w->f->head[h].norm_ov, w->prec);
    arb_mat_clear(P);
    arb_clear(norm);
}

/* ||B|| + ||X A||, or 2 ||X|| ||A|| + n^(1/2) |c|. */
static void slope(arb_t first, lofast *w, size_t h)
{
    const tl_certify_head *H = &w->f->state->head[h];
    const slong d = (slong)w->f->state->d;
    arb_mat_t A;
    arb_t t;

    arb_init(t);
    if (w->form == COARSE) {
        arb_mul(first, w->x, w->f->head[h].norm_a, w->prec);
        arb_mul_2exp_si(first, first, 1);
        arb_addmul(first, w->root_n, w->f->head[h].bias, w->prec);
    } else {
        arb_mat_mul(w->rows, H->q, H->key_map, w->prec);
        norm_of_rows(first, w->rows, w);
        arb_mat_init(A, d, d);
        tl_certify_logit_map(A, H, w->prec);
        arb_mat_mul(w->rows, w->f->state->x, A, w->prec);
        norm_of_rows(t, w->rows, w);
        arb_add(first, first, t, w->prec);
        arb_mat_clear(A);
    }
    arb_clear(t);
}

/* ||C X M||, or ||X|| ||M||. */
static void centred(arb_t norm, lofast *w, size_t h)
{
    const tl_certify_state *s = w->f->state;
    const tl_certify_head *H = &s->head[h];
    const slong m = (slong)s->m, d = (slong)s->d;
    arb_ptr mean = _arb_vec_init(d);
    arb_mat_t moved;

    if (w->form == COARSE) {
        arb_mul(norm, w->x, w->f->head[h].norm_ov, w->prec);
    } else {
        for (slong k = 0; k < m; k++)
            _arb_vec_scalar_addmul(mean, s->x->rows[k], d, s->weight + k, w->prec);
        for (slong r = 0; r < d; r++) arb_div_fmpz(mean + r, mean + r, w->f->n, w->prec);
        for (slong k = 0; k < m; k++)
            _arb_vec_sub(w->rows->rows[k], s->x->rows[k], mean, d, w->prec);
        arb_mat_init(moved, m, (slong)H->v);
        tl_certify_times_transposed(moved, w->rows, H->value_map, w->prec);
        arb_mat_t seen;
        arb_mat_init(seen, m, (slong)s->out);
        tl_certify_times_transposed(seen, moved, H->output, w->prec);
        norm_of_rows(norm, seen, w);
        arb_mat_clear(seen);
        arb_mat_clear(moved);
    }
    _arb_vec_clear(mean, d);
}

/* (first + ||A|| e)/2 (centred + e ||M||) at e = min(eps, where (first + ||A|| e) e reaches twice
 * (2n)^(1/2)): the largest there. */
static void add_change(arb_t value, lofast *w, size_t h)
{
    const tl_certify_head_facts *fact = &w->f->head[h];
    arb_t first, rest, full, e;

    arb_init(first);
    arb_init(rest);
    arb_init(full);
    arb_init(e);
    slope(first, w, h);
    centred(rest, w, h);
    arb_sqrt_ui(full, 8, w->prec);
    arb_mul(full, full, w->root_n, w->prec);
    /* 2 full / (first + (first^2 + 4 ||A|| full)^(1/2)) */
    arb_mul(e, fact->norm_a, full, w->prec);
    arb_mul_2exp_si(e, e, 2);
    arb_addmul(e, first, first, w->prec);
    arb_sqrtpos(e, e, w->prec);
    arb_add(e, e, first, w->prec);
    arb_mul_2exp_si(full, full, 1);
    if (arb_is_positive(e)) {
        arb_div(e, full, e, w->prec);
        arb_min(e, e, w->eps, w->prec);
    } else {
        arb_set(e, w->eps);
    }
    arb_addmul(first, fact->norm_a, e, w->prec);
    arb_mul_2exp_si(first, first, -1);
    arb_addmul(rest, fact->norm_ov, e, w->prec);
    arb_addmul(value, first, rest, w->prec);
    arb_clear(e);
    arb_clear(full);
    arb_clear(rest);
    arb_clear(first);
}

static void evaluate(arb_t value, const tl_certify_facts *f, lofast_form form)
{
    lofast w;
    arb_t joint;

    arb_pos_inf(value);
    if (!lofast_init(&w, f, form)) return;
    arb_init(joint);
    if (form == COARSE) {
        arb_mat_set(w.rows, f->state->x);
        norm_of_rows(w.x, w.rows, &w);
    }
    arb_zero(value);
    for (size_t h = 0; h < f->heads; h++) {
        add_linear(value, &w, h);
        if (!fmpz_is_one(f->n)) add_change(value, &w, h);
    }
    if (arb_mat_nrows(w.joint) > 0) tl_certify_norm2(joint, w.joint, f->prec);
    arb_add(value, value, joint, f->prec);
    arb_clear(joint);
    lofast_clear(&w);
}

void tl_certify_lofast(arb_t value, const tl_certify_facts *f)
{
    evaluate(value, f, WHOLE);
}

void tl_certify_lofast_fine(arb_t value, const tl_certify_facts *f)
{
    evaluate(value, f, FINE);
}

void tl_certify_lofast_coarse(arb_t value, const tl_certify_facts *f)
{
    evaluate(value, f, COARSE);
}
