/* Form D of the spectral norm of L2 attention. Statement: src/bounds/README.md section 17.4. */
#include <math.h>

#include "certify/boxes.h"
#include "certify/l2_norm.h"

/* For m = 0 and m = c: G(t) = e^(-e t)(1 + mean + g t), largest at t = mode, over H(t) = lambda e^t
 * - alpha t + room, least at t = dip. */
typedef struct {
    arb_t mean, room, lambda, mode, dip;
} end;

typedef struct {
    arb_t e, g, alpha;
    end at[2];
} distances;

static void end_init(end *s)
{
    arb_init(s->mean);
    arb_init(s->room);
    arb_init(s->lambda);
    arb_init(s->mode);
    arb_init(s->dip);
}

static void end_clear(end *s)
{
    arb_clear(s->mean);
    arb_clear(s->room);
    arb_clear(s->lambda);
    arb_clear(s->mode);
    arb_clear(s->dip);
}

static void end_set(end *s, const distances *f, const tl_certify_l2_size *size,
                    const tl_certify_l2_choice *at, const arb_t m)
{
    const slong prec = size->prec;
    arb_t t;

    arb_init(t);
    arb_set_d(t, at->kappa);
    arb_inv(t, t, prec);
    arb_add_ui(t, t, 1, prec);
    arb_mul(s->mean, t, m, prec);
    arb_set_d(t, at->x);
    arb_mul(s->mean, s->mean, t, prec); /* x (1 + 1/kappa) m */
    arb_mul(s->room, f->alpha, m, prec);
    arb_add_ui(s->room, s->room, 1, prec); /* 1 + alpha m */
    arb_mul_2exp_si(t, f->alpha, -1);      /* D_m/L1 */
    arb_sub(s->lambda, s->room, t, prec);
    arb_div(s->lambda, s->lambda, size->rest, prec);
    arb_add_ui(t, s->mean, 1, prec);
    arb_div(t, t, f->g, prec);
    arb_inv(s->mode, f->e, prec);
    arb_sub(s->mode, s->mode, t, prec);
    arb_div(s->dip, f->alpha, s->lambda, prec);
    arb_log(s->dip, s->dip, prec);
    arb_clear(t);
}

static void distances_init(distances *f, const tl_certify_l2_size *size,
                           const tl_certify_l2_choice *at)
{
    const slong prec = size->prec;
    arb_t m;

    arb_init(m);
    arb_init(f->e);
    arb_init(f->g);
    arb_init(f->alpha);
    arb_set_d(f->e, at->e);
    arb_set_d(f->g, at->kappa);
    arb_add_ui(f->g, f->g, 1, prec);
    arb_set_d(m, at->x);
    arb_mul(f->g, f->g, m, prec);
    arb_set_d(m, at->lambda);
    arb_div(f->alpha, size->top, m, prec);
    arb_mul_2exp_si(f->alpha, f->alpha, 1);
    arb_zero(m);
    for (int i = 0; i < 2; i++) {
        end_init(&f->at[i]);
        end_set(&f->at[i], f, size, at, i ? size->c : m);
    }
    arb_clear(m);
}

static void distances_clear(distances *f)
{
    for (int i = 0; i < 2; i++) end_clear(&f->at[i]);
    arb_clear(f->e);
    arb_clear(f->g);
    arb_clear(f->alpha);
}

static void growth(arb_t value, const distances *f, const end *s, const arb_t t)
{
    arb_t decay;

    arb_init(decay);
    arb_mul(decay, f->e, t, TL_CERTIFY_BOX_BITS);
    arb_neg(decay, decay);
    arb_exp(decay, decay, TL_CERTIFY_BOX_BITS);
    arb_mul(value, f->g, t, TL_CERTIFY_BOX_BITS);
    arb_add(value, value, s->mean, TL_CERTIFY_BOX_BITS);
    arb_add_ui(value, value, 1, TL_CERTIFY_BOX_BITS);
    arb_mul(value, value, decay, TL_CERTIFY_BOX_BITS);
    arb_clear(decay);
}

static void denominator(arb_t value, const distances *f, const end *s, const arb_t t)
{
    arb_exp(value, t, TL_CERTIFY_BOX_BITS);
    arb_mul(value, value, s->lambda, TL_CERTIFY_BOX_BITS);
    arb_submul(value, f->alpha, t, TL_CERTIFY_BOX_BITS);
    arb_add(value, value, s->room, TL_CERTIFY_BOX_BITS);
}

/* The point of [lo, hi] nearest to peak, or peak itself where that is not decided. */
static const arb_struct *nearest(const arb_struct *peak, const arb_struct *lo, const arb_struct *hi)
{
    return arb_lt(hi, peak) ? hi : arb_gt(lo, peak) ? lo : peak;
}

static double upper(const void *context, const double *lo, const double *hi)
{
    const distances *f = context;
    double value = 0;
    arb_t from, to, top, bottom;

    arb_init(from);
    arb_init(to);
    arb_init(top);
    arb_init(bottom);
    arb_set_d(from, *lo);
    arb_set_d(to, *hi);
    for (int i = 0; i < 2; i++) {
        growth(top, f, &f->at[i], nearest(f->at[i].mode, from, to));
        denominator(bottom, f, &f->at[i], nearest(f->at[i].dip, from, to));
        arb_div(top, top, bottom, TL_CERTIFY_BOX_BITS);
        value = fmax(value, arb_is_positive(bottom) ? tl_certify_up(top) : (double)INFINITY);
    }
    arb_clear(bottom);
    arb_clear(top);
    arb_clear(to);
    arb_clear(from);
    return value;
}

/* From here on every G falls and every H grows. */
static double end_of_range(const distances *f)
{
    double t = 0;

    for (int i = 0; i < 2; i++)
        t = fmax(t, fmax(tl_certify_up(f->at[i].mode), tl_certify_up(f->at[i].dip)));
    return t;
}

/* (L1 + L2 Q)^(1/2), L2 the largest G/H; L1 > D_m^2 and kappa > 0. */
void tl_certify_l2_form_d(arb_t value, const tl_certify_l2_size *size)
{
    const slong prec = size->prec;
    const tl_certify_l2_choice at = tl_certify_l2_choose_d(size);
    distances f;
    arb_t t;

    arb_init(t);
    distances_init(&f, size, &at);
    const tl_certify_boxes problem = {.dim = 1,
                                      .hi = {end_of_range(&f)},
                                      .context = &f,
                                      .upper = upper,
                                      .ceiling = (double)INFINITY,
                                      .tolerance = 1e-6,
                                      .budget = 4000};
    arb_set_d(value, (double)INFINITY);
    if (isfinite(problem.hi[0])) arb_set_d(value, tl_certify_boxes_max(&problem));
    tl_certify_l2_columns(t, size, &at);
    arb_mul(value, value, t, prec);
    arb_set_d(t, at.lambda);
    arb_add(value, value, t, prec);
    arb_sqrtpos(value, value, prec);
    arb_sqr(t, size->top, prec);
    arb_neg(t, t);
    arb_set_d(f.g, at.lambda);
    arb_add(t, t, f.g, prec);
    if (!arb_is_positive(t) || !(at.kappa > 0)) arb_pos_inf(value);
    distances_clear(&f);
    arb_clear(t);
}
