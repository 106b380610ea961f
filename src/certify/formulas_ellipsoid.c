/* ellipsoid-inf2 in ball arithmetic: tokens beta + B y, |y| <= 1, behind a norm. Statement:
 * src/bounds/README.md section 20. */
#include "certify/formulas.h"

/* What stored tokens and axes may be off, relative to the radius, as in that section. */
static const double SLACK = 1e-9;

typedef struct {
    slong d, k, prec;
    arb_t slack, radius;
    arb_mat_t B, transposed; /* d x k, k x d */
    arb_ptr beta;            /* d */
} shape;

static void shape_init(shape *s, const tl_certify_facts *f)
{
    const tl_domain *domain = f->domain;

    *s = (shape){.d = (slong)domain->d, .k = (slong)domain->rank, .prec = f->prec};
    arb_init(s->slack);
    arb_init(s->radius);
    arb_mat_init(s->B, s->d, s->k);
    arb_mat_init(s->transposed, s->k, s->d);
    s->beta = _arb_vec_init(s->d);
    for (slong j = 0; j < s->k; j++) {
        arb_set_d(s->radius, domain->semi[j]);
        for (slong r = 0; r < s->d; r++) {
            arb_set_d(s->slack, domain->axis[j * s->d + r]);
            arb_mul(arb_mat_entry(s->B, r, j), s->slack, s->radius, s->prec);
        }
    }
    arb_mat_transpose(s->transposed, s->B);
    for (slong r = 0; domain->centre && r < s->d; r++) arb_set_d(s->beta + r, domain->centre[r]);
    arb_set_d(s->slack, domain->radius_origin);
    arb_set_d(s->radius, domain->radius);
    arb_div(s->slack, s->slack, s->radius, s->prec);
    arb_t one;
    arb_init(one);
    arb_one(one);
    arb_max(s->slack, s->slack, one, s->prec);
    arb_set_d(one, SLACK);
    arb_mul(s->slack, s->slack, one, s->prec);
    arb_clear(one);
}

static void shape_clear(shape *s)
{
    arb_clear(s->slack);
    arb_clear(s->radius);
    arb_mat_clear(s->B);
    arb_mat_clear(s->transposed);
    _arb_vec_clear(s->beta, s->d);
}

/* norm := norm (1 + slack) + slack size radius */
static void widen(arb_t norm, const arb_t size, const shape *s)
{
    arb_t t;

    arb_init(t);
    arb_addmul(norm, norm, s->slack, s->prec);
    arb_mul(t, size, s->radius, s->prec);
    arb_addmul(norm, t, s->slack, s->prec);
    arb_clear(t);
}

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
static void farthest(arb_t reach, const arb_mat_t M, const arb_mat_t c, slong prec)
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

/* |A x + c| at most, and ||B'A||. */
static void logits(arb_t rho, arb_t alpha, const shape *s, const tl_certify_head *H,
                   const tl_head *head)
{
    const slong prec = s->prec;
    arb_mat_t K, A, M, c;
    arb_t size, t;

    arb_mat_init(K, s->d, (slong)H->k);
    arb_mat_init(A, s->d, s->d);
    arb_mat_init(M, s->d, s->k);
    arb_mat_init(c, s->d, 1);
    arb_init(size);
    arb_init(t);
    arb_mat_transpose(K, H->key_map);
    arb_mat_mul(A, K, H->query_map, prec); /* query_map holds the scale */
    arb_mat_frobenius_norm(size, A, prec);
    for (size_t j = 0; head->bq && j < H->k; j++) {
        arb_set_d(t, head->bq[j]);
        for (slong i = 0; i < s->d; i++)
            arb_addmul(arb_mat_entry(c, i, 0), arb_mat_entry(K, i, j), t, prec);
    }
    arb_set_d(t, head->scale);
    arb_mat_scalar_mul_arb(c, c, t, prec);
    arb_mat_frobenius_norm(alpha, c, prec); /* |bias| */
    for (slong i = 0; i < s->d; i++)
        arb_dot(arb_mat_entry(c, i, 0), arb_mat_entry(c, i, 0), 0, A->rows[i], 1, s->beta, 1, s->d,
                prec);
    arb_mat_mul(M, A, s->B, prec);
    farthest(rho, M, c, prec);
    /* slack (|A|_F (radius + |beta|) + |bias|) */
    tl_certify_length(t, s->beta, (size_t)s->d, prec);
    arb_mul(t, t, size, prec);
    arb_add(t, t, alpha, prec);
    arb_addmul(rho, t, s->slack, prec);
    widen(rho, size, s);
    tl_certify_norm2_product(alpha, s->transposed, A, prec);
    widen(alpha, size, s);
    arb_clear(t);
    arb_clear(size);
    arb_mat_clear(c);
    arb_mat_clear(M);
    arb_mat_clear(A);
    arb_mat_clear(K);
}

/* norm (1 + (rho r)^2)^(1/2) + alpha r norm for r = reach / norm, that is (norm^2 + rho^2
 * reach^2)^(1/2) + alpha reach; one token: norm. */
static void head_value(arb_t value, const tl_certify_facts *f, const arb_t norm, const arb_t reach,
                       const arb_t rho, const arb_t alpha)
{
    const slong prec = f->prec;

    if (!f->infinite && fmpz_is_one(f->n)) {
        arb_set(value, norm);
        return;
    }
    arb_mul(value, rho, reach, prec);
    arb_sqr(value, value, prec);
    arb_addmul(value, norm, norm, prec);
    arb_sqrtpos(value, value, prec);
    arb_addmul(value, alpha, reach, prec);
}

/* ||G B|| with what slack adds. */
static void reach_of(arb_t reach, const shape *s, const arb_mat_t G)
{
    arb_t size;

    arb_init(size);
    tl_certify_norm2_product(reach, G, s->B, s->prec);
    arb_mat_frobenius_norm(size, G, s->prec);
    widen(reach, size, s);
    arb_clear(size);
}

void tl_certify_ellipsoid_inf2(arb_t value, const tl_certify_facts *f)
{
    const tl_certify_state *state = f->state;
    const slong prec = f->prec;
    shape s;
    tl_certify_total total;
    arb_t rho, alpha, reach, one, alone;

    if (!f->domain->semi || f->domain->rank == 0) {
        arb_pos_inf(value);
        return;
    }
    shape_init(&s, f);
    tl_certify_total_init(&total);
    arb_init(rho);
    arb_init(alpha);
    arb_init(reach);
    arb_init(one);
    arb_init(alone);
    for (size_t h = 0; h < f->heads; h++) {
        const tl_certify_head *H = &state->head[h];
        arb_mat_t G;
        logits(rho, alpha, &s, H, &state->layer->head[h]);
        reach_of(reach, &s, H->value_map);
        head_value(alone, f, f->head[h].norm_v, reach, rho, alpha);
        arb_mat_init(G, (slong)state->out, s.d);
        arb_mat_mul(G, H->output, H->value_map, prec);
        reach_of(reach, &s, G);
        head_value(one, f, f->head[h].norm_ov, reach, rho, alpha);
        tl_certify_total_add(&total, alone, one, prec);
        arb_mat_clear(G);
    }
    tl_certify_total_least(value, &total, f);
    arb_clear(alone);
    arb_clear(one);
    arb_clear(reach);
    arb_clear(alpha);
    arb_clear(rho);
    tl_certify_total_clear(&total);
    shape_clear(&s);
}
