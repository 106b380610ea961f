/* local-ball in ball arithmetic: the display of Theorem 5.1 at its largest near given tokens.
 * Statement: src/bounds/README.md section 12. */
#include "certify/columns.h"
#include "certify/formulas.h"

/* One head about the tokens x_k of s. */
typedef struct {
    const tl_certify_state *s;
    const arb_struct *norm_a, *eps, *reach; /* reach: of the moved tokens from some point */
    slong prec;
    arb_ptr far;     /* m: max_k |x_j - x_k| */
    arb_ptr most;    /* m: the largest attention on one copy, of one row */
    arb_ptr after;   /* m + 1: sums of weights from an atom on */
    arb_mat_t moved; /* m x d: deviations times roots of weights */
    arb_mat_t E;     /* m x m */
    arb_ptr spread;  /* m: ||A||^2 l^4 */
} around;

static void around_init(around *w, const tl_certify_state *s, slong prec)
{
    const slong m = (slong)s->m;

    *w = (around){.s = s, .prec = prec};
    w->far = _arb_vec_init(m);
    w->most = _arb_vec_init(m);
    w->after = _arb_vec_init(m + 1);
    w->spread = _arb_vec_init(m);
    arb_mat_init(w->moved, m, (slong)s->d);
    arb_mat_init(w->E, m, m);
}

static void around_clear(around *w)
{
    const slong m = (slong)w->s->m;

    _arb_vec_clear(w->far, m);
    _arb_vec_clear(w->most, m);
    _arb_vec_clear(w->after, m + 1);
    _arb_vec_clear(w->spread, m);
    arb_mat_clear(w->moved);
    arb_mat_clear(w->E);
}

static void set_far(around *w)
{
    const slong m = (slong)w->s->m, d = (slong)w->s->d;
    arb_ptr step = _arb_vec_init(d);
    arb_t length;

    arb_init(length);
    for (slong j = 0; j < m; j++)
        for (slong k = 0; k < j; k++) {
            _arb_vec_sub(step, w->s->x->rows[j], w->s->x->rows[k], d, w->prec);
            tl_certify_length(length, step, (size_t)d, w->prec);
            arb_max(w->far + j, w->far + j, length, w->prec);
            arb_max(w->far + k, w->far + k, length, w->prec);
        }
    arb_clear(length);
    _arb_vec_clear(step, d);
}

/* P^ = p / (p + (1 - p) e^-omega) of one copy of each atom that the row sees, a = |b_i| + ||A||
 * eps; 1 - p is summed from the others, without cancellation. Largest: the largest of them. */
static void inflate(arb_t largest, around *w, const tl_certify_row *row, const arb_t a)
{
    const size_t m = w->s->m;
    arb_t one, others, before, omega, t;

    arb_init(one);
    arb_init(others);
    arb_init(before);
    arb_init(omega);
    arb_init(t);
    arb_zero(largest);
    arb_zero(w->after + m);
    for (size_t l = m; l-- > 0;) arb_add(w->after + l, w->after + l + 1, row->weight + l, w->prec);
    for (size_t l = 0; l < m; l++) {
        arb_zero(w->most + l);
        if (arb_is_zero(row->weight + l)) continue; /* not seen */
        arb_mul(one, row->weight + l, w->s->share + l, w->prec);
        arb_add(others, before, w->after + l + 1, w->prec);
        arb_sub_ui(t, w->s->weight + l, 1, w->prec);
        arb_addmul(others, one, t, w->prec);
        arb_add(before, before, row->weight + l, w->prec);
        arb_mul(omega, w->norm_a, w->far + l, w->prec);
        arb_sqrt_ui(t, 2, w->prec);
        arb_addmul(omega, t, a, w->prec);
        arb_mul(omega, omega, w->eps, w->prec);
        arb_neg(omega, omega);
        arb_exp(omega, omega, w->prec);
        arb_mul(others, others, omega, w->prec);
        arb_add(others, others, one, w->prec);
        arb_div(w->most + l, one, others, w->prec);
        arb_max(largest, largest, w->most + l, w->prec);
    }
    arb_clear(t);
    arb_clear(omega);
    arb_clear(before);
    arb_clear(others);
    arb_clear(one);
}

/* l_i: the largest root of ||C'_i||. The deviations are from near the mean: any point would do. */
static void set_root(arb_t root, around *w, const tl_certify_row *row, const arb_t largest)
{
    const slong m = (slong)w->s->m, d = (slong)w->s->d;
    arb_ptr mean = _arb_vec_init(d);
    arb_t t;

    arb_init(t);
    for (slong l = 0; l < m; l++)
        _arb_vec_scalar_addmul(mean, w->s->x->rows[l], d, row->weight + l, w->prec);
    for (slong r = 0; r < d; r++) arb_get_mid_arb(mean + r, mean + r);
    for (slong l = 0; l < m; l++) {
        arb_mul(t, w->most + l, w->s->weight + l, w->prec);
        arb_sqrtpos(t, t, w->prec);
        _arb_vec_sub(w->moved->rows[l], w->s->x->rows[l], mean, d, w->prec);
        _arb_vec_scalar_mul(w->moved->rows[l], w->moved->rows[l], d, t, w->prec);
    }
    tl_certify_norm2(root, w->moved, w->prec);
    arb_sqrtpos(t, largest, w->prec);
    arb_addmul(root, t, w->eps, w->prec);
    arb_min(root, root, w->reach, w->prec);
    arb_clear(t);
    _arb_vec_clear(mean, d);
}

/* Row k of E and the term of C_k A. */
static void set_row(around *w, const tl_certify_row *row, size_t h, size_t k)
{
    const tl_certify_head *H = &w->s->head[h];
    const slong d = (slong)w->s->d;
    arb_ptr b = _arb_vec_init(d);
    arb_t a, largest, root;

    arb_init(a);
    arb_init(largest);
    arb_init(root);
    for (slong j = 0; j < d; j++)
        arb_dot(b + j, NULL, 0, arb_mat_entry(H->key_map, 0, j), d, H->q->rows[k], 1, (slong)H->k,
                w->prec);
    tl_certify_length(a, b, (size_t)d, w->prec);
    arb_addmul(a, w->norm_a, w->eps, w->prec);
    inflate(largest, w, row, a);
    set_root(root, w, row, largest);
    arb_sqr(w->spread + k, root, w->prec);
    arb_mul(w->spread + k, w->spread + k, w->norm_a, w->prec);
    arb_sqr(w->spread + k, w->spread + k, w->prec);
    arb_mul(root, root, a, w->prec);
    arb_sqr(root, root, w->prec);
    arb_add_ui(root, root, 1, w->prec); /* rho */
    arb_mul(root, root, w->s->weight + k, w->prec);
    for (size_t l = 0; l < w->s->m; l++)
        arb_mul(arb_mat_entry(w->E, k, l), w->most + l, root, w->prec);
    arb_clear(root);
    arb_clear(largest);
    arb_clear(a);
    _arb_vec_clear(b, d);
}

/* L_h for V = I; +inf when out of memory. */
static void head_bound(arb_t value, around *w, size_t h)
{
    const slong m = (slong)w->s->m;
    arb_ptr columns = _arb_vec_init(m);
    tl_certify_row row;

    tl_certify_row_init(&row, w->s, h);
    for (size_t k = 0; k < w->s->m; k++) {
        tl_certify_row_set(&row, w->s, h, k);
        set_row(w, &row, h, k);
    }
    tl_certify_row_clear(&row);
    if (w->s->mu->n == 1)
        arb_one(value);
    else if (tl_certify_columns(columns, value, w->E, w->spread, w->prec))
        arb_sqrtpos(value, value, w->prec);
    else
        arb_pos_inf(value);
    _arb_vec_clear(columns, m);
}

/* max_k |x_k - z| */
static void radius_about(arb_t radius, const tl_certify_state *s, arb_srcptr z, slong prec)
{
    const slong d = (slong)s->d;
    arb_ptr step = _arb_vec_init(d);
    arb_t length;

    arb_init(length);
    arb_zero(radius);
    for (size_t k = 0; k < s->m; k++) {
        _arb_vec_sub(step, s->x->rows[k], z, d, prec);
        tl_certify_length(length, step, s->d, prec);
        arb_max(radius, radius, length, prec);
    }
    arb_clear(length);
    _arb_vec_clear(step, d);
}

/* The radius about the centre of the domain's ball, or about a point near the mean, and eps. */
static void set_reach(arb_t reach, const tl_certify_state *s, const tl_domain *domain,
                      const arb_t eps, slong prec)
{
    const slong m = (slong)s->m, d = (slong)s->d;
    arb_ptr z = _arb_vec_init(d);
    arb_t n, other;

    arb_init(n);
    arb_init(other);
    for (slong r = 0; domain->centre && r < d; r++) arb_set_d(z + r, domain->centre[r]);
    radius_about(other, s, z, prec);
    _arb_vec_zero(z, d);
    for (slong k = 0; k < m; k++) {
        arb_add(n, n, s->weight + k, prec);
        _arb_vec_scalar_addmul(z, s->x->rows[k], d, s->weight + k, prec);
    }
    _arb_vec_scalar_div(z, z, d, n, prec);
    for (slong r = 0; r < d; r++) arb_get_mid_arb(z + r, z + r);
    radius_about(reach, s, z, prec);
    arb_min(reach, reach, other, prec);
    arb_add(reach, reach, eps, prec);
    arb_clear(other);
    arb_clear(n);
    _arb_vec_clear(z, d);
}

void tl_certify_local_ball(arb_t value, const tl_certify_facts *f)
{
    const tl_domain *domain = f->domain;
    tl_certify_total total;
    tl_certify_state s;
    around w;
    arb_t eps, reach, with_output;

    arb_pos_inf(value);
    if (!domain->around ||
        tl_certify_state_at(&s, f->state->layer, domain->around, NULL, f->prec, NULL) != TL_OK)
        return;
    arb_init(eps);
    arb_init(reach);
    arb_init(with_output);
    tl_certify_total_init(&total);
    around_init(&w, &s, f->prec);
    arb_set_d(eps, domain->epsilon);
    set_reach(reach, &s, domain, eps, f->prec);
    w.eps = eps;
    w.reach = reach;
    set_far(&w);
    for (size_t h = 0; h < f->heads; h++) {
        w.norm_a = f->head[h].norm_a;
        head_bound(value, &w, h);
        arb_mul(with_output, value, f->head[h].norm_ov, f->prec);
        arb_mul(value, value, f->head[h].norm_v, f->prec);
        tl_certify_total_add(&total, value, with_output, f->prec);
    }
    tl_certify_total_least(value, &total, f);
    around_clear(&w);
    tl_certify_total_clear(&total);
    arb_clear(with_output);
    arb_clear(reach);
    arb_clear(eps);
    tl_certify_state_clear(&s);
}
