/* ellipsoid and ellipsoid-inf2 in ball arithmetic: tokens beta + B y, |y| <= 1, behind a norm.
 * Statements: src/bounds/README.md section 20. */
#include "certify/sharp.h"

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

/* What a head does over the ellipsoid: |A x + c| at most, |B'(A x + c)|, ||B'A||. */
typedef struct {
    arb_t rho, logits, alpha;
} over;

/* most >= |B'(c + M y)|, what rounding of tokens and axes adds being `error` in |c + M y|. */
static void farthest_logit(arb_t most, const shape *s, const arb_mat_t M, const arb_mat_t c,
                           const arb_t error)
{
    arb_mat_t N, b;

    arb_mat_init(N, s->k, s->k);
    arb_mat_init(b, s->k, 1);
    arb_mat_mul(N, s->transposed, M, s->prec);
    arb_mat_mul(b, s->transposed, c, s->prec);
    tl_certify_farthest(most, N, b, s->prec);
    arb_addmul(most, most, s->slack, s->prec);
    arb_addmul(most, error, s->radius, s->prec);
    arb_addmul(most, error, s->radius, s->prec);
    arb_mat_clear(b);
    arb_mat_clear(N);
}

static void look_over(over *o, const shape *s, const tl_certify_head *H, const tl_head *head)
{
    arb_ptr rho = o->rho, alpha = o->alpha;
    const slong prec = s->prec;
    arb_mat_t A, M, c;
    arb_t size, t;

    arb_mat_init(A, s->d, s->d);
    arb_mat_init(M, s->d, s->k);
    arb_mat_init(c, s->d, 1);
    arb_init(size);
    arb_init(t);
    tl_certify_logit_map(A, H, prec);
    arb_mat_frobenius_norm(size, A, prec);
    for (size_t j = 0; head->bq && j < H->k; j++) {
        arb_set_d(t, head->bq[j]);
        for (slong i = 0; i < s->d; i++)
            arb_addmul(arb_mat_entry(c, i, 0), arb_mat_entry(H->key_map, j, i), t, prec);
    }
    arb_set_d(t, head->scale);
    arb_mat_scalar_mul_arb(c, c, t, prec);
    arb_mat_frobenius_norm(alpha, c, prec); /* |bias| */
    for (slong i = 0; i < s->d; i++)
        arb_dot(arb_mat_entry(c, i, 0), arb_mat_entry(c, i, 0), 0, A->rows[i], 1, s->beta, 1, s->d,
                prec);
    arb_mat_mul(M, A, s->B, prec);
    tl_certify_farthest(rho, M, c, prec);
    /* slack (|A|_F (radius + |beta|) + |bias|) */
    tl_certify_length(t, s->beta, (size_t)s->d, prec);
    arb_add(t, t, s->radius, prec);
    arb_mul(t, t, size, prec);
    arb_add(t, t, alpha, prec);
    arb_mul(t, t, s->slack, prec);
    farthest_logit(o->logits, s, M, c, t);
    arb_addmul(rho, rho, s->slack, prec);
    arb_add(rho, rho, t, prec);
    tl_certify_norm2_product(alpha, s->transposed, A, prec);
    widen(alpha, size, s);
    arb_clear(t);
    arb_clear(size);
    arb_mat_clear(c);
    arb_mat_clear(M);
    arb_mat_clear(A);
}

/* norm times the bound of `sharp-inf2` for g = rho r and c = alpha r, r = reach/norm: (norm^2 +
 * rho^2 reach^2)^(1/2) + alpha reach; one token: norm. */
static void inf2_value(arb_t value, const tl_certify_facts *f, const arb_t norm, const arb_t reach,
                       const over *o)
{
    const slong prec = f->prec;

    if (!f->infinite && fmpz_is_one(f->n)) {
        arb_set(value, norm);
        return;
    }
    arb_mul(value, o->rho, reach, prec);
    arb_sqr(value, value, prec);
    arb_addmul(value, norm, norm, prec);
    arb_sqrtpos(value, value, prec);
    arb_addmul(value, o->alpha, reach, prec);
}

/* norm times that of `sharp` with two sizes. */
static void sharp_value(arb_t value, const tl_certify_facts *f, const arb_t norm, const arb_t reach,
                        const over *o)
{
    tl_certify_size size;
    arb_t r;

    arb_zero(value);
    if (arb_is_zero(norm)) return;
    arb_init(r);
    tl_certify_size_init(&size, f);
    size.coupled = false;
    arb_div(r, reach, norm, f->prec);
    arb_mul(size.g, o->rho, r, f->prec);
    arb_mul(size.c, o->alpha, r, f->prec);
    arb_set(size.l, o->logits);
    tl_certify_sharp_size(value, &size);
    arb_mul(value, value, norm, f->prec);
    tl_certify_size_clear(&size);
    arb_clear(r);
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

typedef void head_bound(arb_t value, const tl_certify_facts *f, const arb_t norm, const arb_t reach,
                        const over *o);

/* Head h behind V_h alone, and behind O_h V_h. */
static void add_head(tl_certify_total *total, const tl_certify_facts *f, const shape *s, size_t h,
                     head_bound *bound)
{
    const tl_certify_state *state = f->state;
    const tl_certify_head *H = &state->head[h];
    arb_t reach, one, alone;
    arb_mat_t G;
    over o;

    arb_init(o.rho);
    arb_init(o.logits);
    arb_init(o.alpha);
    arb_init(reach);
    arb_init(one);
    arb_init(alone);
    look_over(&o, s, H, &state->layer->head[h]);
    reach_of(reach, s, H->value_map);
    bound(alone, f, f->head[h].norm_v, reach, &o);
    arb_set(one, alone);
    if (state->layer->O) {
        arb_mat_init(G, (slong)state->out, s->d);
        arb_mat_mul(G, H->output, H->value_map, f->prec);
        reach_of(reach, s, G);
        bound(one, f, f->head[h].norm_ov, reach, &o);
        arb_mat_clear(G);
    }
    tl_certify_total_add(total, alone, one, f->prec);
    arb_clear(alone);
    arb_clear(one);
    arb_clear(reach);
    arb_clear(o.alpha);
    arb_clear(o.logits);
    arb_clear(o.rho);
}

static void combine(arb_t value, const tl_certify_facts *f, head_bound *bound)
{
    tl_certify_total total;
    shape s;

    arb_pos_inf(value);
    if (!f->domain->semi || f->domain->rank == 0) return;
    shape_init(&s, f);
    tl_certify_total_init(&total);
    for (size_t h = 0; h < f->heads; h++) add_head(&total, f, &s, h, bound);
    tl_certify_total_least(value, &total, f);
    tl_certify_total_clear(&total);
    shape_clear(&s);
}

void tl_certify_ellipsoid_inf2(arb_t value, const tl_certify_facts *f)
{
    combine(value, f, inf2_value);
}

void tl_certify_ellipsoid(arb_t value, const tl_certify_facts *f)
{
    combine(value, f, sharp_value);
}
