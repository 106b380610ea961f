/* T and D merged. Statements: src/bounds/README.md sections 4.3 and 6.4. */
#include <math.h>

#include "certify/sharp.h"

enum { ANGLES = 4096, LAMBDAS = 2 };

/* Outside the gain is below 1e-3 and 1e-4. */
static const double least_size = 0.125, most_size = 8;

/* Bounds S(lambda) of n |N|_2^2 + (lambda - 1) |N|_1^2. */
typedef struct {
    size_t count;
    arb_t inverse[LAMBDAS], bound[LAMBDAS]; /* 1/lambda */
    arb_t tau, w, rest, c;                  /* rest = (tau^2 - w^2)^(1/2) */
} joints;

/* c^2 + (tau^2 + 2cw + tau (tau^2 + 4c(c + w))^(1/2))/2, w = min((1 + g^2)^(1/2), tau). */
static void plain(arb_t square, const joints *j, slong prec)
{
    arb_t t, tau2;

    arb_init(t);
    arb_init(tau2);
    arb_sqr(tau2, j->tau, prec);
    arb_add(t, j->c, j->w, prec);
    arb_mul(t, t, j->c, prec);
    arb_mul_2exp_si(t, t, 2);
    arb_add(t, t, tau2, prec);
    arb_sqrtpos(t, t, prec);
    arb_mul(square, t, j->tau, prec);
    arb_add(square, square, tau2, prec);
    arb_mul(t, j->c, j->w, prec);
    arb_mul_2exp_si(t, t, 1);
    arb_add(square, square, t, prec);
    arb_mul_2exp_si(square, square, -1);
    arb_addmul(square, j->c, j->c, prec);
    arb_clear(tau2);
    arb_clear(t);
}

/* rho^2 + 2 c rho cos + c^2 for an angle with this cosine at most and this sine at most. */
static void at_angle(arb_t square, const joints *j, const arb_t along, const arb_t across)
{
    enum { P = TL_CERTIFY_BOX_BITS };
    arb_t rho2, t;

    arb_init(rho2);
    arb_init(t);
    arb_sqr(rho2, j->tau, P);
    arb_mul(t, j->tau, along, P);
    if (arb_gt(t, j->w)) { /* w cos + (tau^2 - w^2)^(1/2) sin */
        arb_mul(t, j->w, along, P);
        arb_addmul(t, j->rest, across, P);
        arb_sqr(t, t, P);
        arb_min(rho2, rho2, t, P);
    }
    for (size_t l = 0; l < j->count; l++) { /* (cos^2/lambda + sin^2) S */
        const bool large = tl_certify_mid(j->inverse[l]) <= 1;
        arb_sub_ui(t, j->inverse[l], 1, P);
        if (large) arb_neg(t, t);
        arb_mul(t, t, large ? across : along, P);
        arb_mul(t, t, large ? across : along, P);
        if (large)
            arb_add(t, t, j->inverse[l], P);
        else
            arb_add_ui(t, t, 1, P);
        arb_mul(t, t, j->bound[l], P);
        arb_min(rho2, rho2, t, P);
    }
    arb_sqrtpos(t, rho2, P);
    arb_mul(t, t, along, P);
    arb_mul_2exp_si(t, t, 1);
    arb_add(t, t, j->c, P);
    arb_mul(t, t, j->c, P);
    arb_add(square, rho2, t, P);
    arb_clear(t);
    arb_clear(rho2);
}

/* The largest over cells of the angle, cosine at one end and sine at the other; cos(i step), sin(i
 * step) by rotation would lose digits, so each is computed. */
static void over_angles(arb_t largest, const joints *j)
{
    enum { P = TL_CERTIFY_BOX_BITS };
    arb_t along, across, next, square;
    fmpq_t turn;

    arb_init(along);
    arb_init(across);
    arb_init(next);
    arb_init(square);
    fmpq_init(turn);
    arb_zero(largest);
    arb_one(along);
    for (slong i = 0; i < ANGLES; i++) {
        fmpq_set_si(turn, i + 1, 2 * ANGLES);
        arb_sin_cos_pi_fmpq(across, next, turn, P);
        at_angle(square, j, along, across);
        arb_max(largest, largest, square, P);
        arb_swap(along, next);
    }
    fmpq_clear(turn);
    arb_clear(square);
    arb_clear(next);
    arb_clear(across);
    arb_clear(along);
}

/* Where tau, w and c alone let the merge be largest: tan of that angle, in doubles, for the choice
 * of lambda. */
static double worst_angle(double tau, double w, double c)
{
    enum { GRID = 4096 };
    double best = 0, tangent = 1e-3;

    for (int i = 0; i < GRID; i++) {
        const double angle = i * 1.5707963267948966 / GRID, along = cos(angle);
        double rho = tau;
        if (tau * along > w) rho = fmin(rho, w * along + sqrt(tau * tau - w * w) * sin(angle));
        const double square = rho * rho + c * (2 * rho * along + c);
        if (!(square > best)) continue;
        best = square;
        tangent = tan(fmax(angle, 1e-3));
    }
    return tangent;
}

/* S(lambda) <= tau^2 + (lambda - 1) w^2; below lambda = 1 tau^2 - 1 + lambda, as w >= 1. */
static void add_joint(joints *j, const tl_certify_size *s, double guess)
{
    const double tau = tl_certify_mid(j->tau);
    const double c = tl_certify_mid(j->c);
    const double lambda = sqrt(tau * tau - guess * guess) / (guess * worst_angle(tau, guess, c));
    arb_ptr bound = j->bound[j->count], inverse = j->inverse[j->count];
    arb_t apart, t;

    if (!(lambda > 0) || !isfinite(lambda)) return;
    arb_init(apart);
    arb_init(t);
    arb_set_d(t, lambda);
    arb_inv(inverse, t, s->prec);
    arb_sub_ui(t, t, 1, s->prec);
    arb_sqr(apart, j->tau, s->prec);
    arb_add(bound, apart, t, s->prec);
    if (lambda > 1) {
        arb_sqr(bound, j->w, s->prec);
        arb_addmul(apart, bound, t, s->prec);
        tl_certify_few_square(bound, s, lambda, apart);
        if (!arb_is_finite(bound)) tl_certify_many_square(bound, s, lambda, apart);
        arb_min(bound, bound, apart, s->prec);
    }
    j->count++;
    arb_clear(t);
    arb_clear(apart);
}

static bool joins(const tl_certify_size *s, const arb_t tau)
{
    const double g = tl_certify_mid(s->g);
    const double l = tl_certify_mid(s->l);
    const double c = tl_certify_mid(s->c);

    return g >= least_size && g <= most_size && l >= least_size && l <= most_size &&
           c <= most_size && tl_certify_mid(tau) > 1;
}

void tl_certify_merge(arb_t value, const tl_certify_size *s, const arb_t square)
{
    const slong prec = s->prec;
    joints j = {.count = 0};
    arb_t t;

    arb_init(t);
    for (int i = 0; i < LAMBDAS; i++) {
        arb_init(j.inverse[i]);
        arb_init(j.bound[i]);
    }
    arb_init(j.tau);
    arb_init(j.w);
    arb_init(j.rest);
    arb_init(j.c);
    arb_sqrtpos(j.tau, square, prec);
    arb_set(j.c, s->c);
    arb_sqr(t, s->g, prec);
    arb_add_ui(t, t, 1, prec);
    arb_min(t, t, square, prec);
    arb_sqrtpos(j.w, t, prec);
    arb_sub(t, square, t, prec);
    arb_sqrtpos(j.rest, t, prec);
    plain(value, &j, prec);
    if (joins(s, j.tau)) {
        const double w = tl_certify_mid(j.w);
        add_joint(&j, s, 1);
        if (!s->infinite && fmpz_cmp_ui(s->n, 8) <= 0 && tl_certify_mid(s->g) > 0.5)
            add_joint(&j, s, (1 + w) / 2);
        over_angles(t, &j);
        arb_min(value, value, t, prec);
    }
    arb_sqrtpos(value, value, prec);
    arb_clear(j.c);
    arb_clear(j.rest);
    arb_clear(j.w);
    arb_clear(j.tau);
    for (int i = 0; i < LAMBDAS; i++) {
        arb_clear(j.inverse[i]);
        arb_clear(j.bound[i]);
    }
    arb_clear(t);
}
