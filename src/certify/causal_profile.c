/* Profiles of causally masked rows and their Riccati condition in balls. Statements:
 * src/bounds/README.md section 7. */
#include "certify/causal_profile.h"

#include <math.h>

enum {
    P = TL_CERTIFY_BOX_BITS,
    PIECES = TL_CERTIFY_PIECES,
    PARTS = 64, /* of a piece, in the Riccati condition */
    ENDS = 8,   /* parts of the flat start, and of the tail */
    ALL = PIECES * PARTS + 2 * ENDS,
    DOUBLINGS = 16,
    STEPS = 16
};

/* Where the first knot lies at most, and the last at least: effort only. */
static const double first_knot = 1e-3, last_knot = 400;

void tl_certify_profile_init(tl_certify_profile *f, const arb_t from)
{
    arb_init(f->from);
    arb_init(f->end);
    arb_init(f->tail);
    f->v = _arb_vec_init(PIECES + 1);
    arb_set(f->from, from);
    const double near = tl_certify_mid(from);
    const double low = log(fmax(near, first_knot)), high = log(last_knot * fmax(near, 1));
    for (int i = 0; i <= PIECES; i++) f->log_y[i] = low + (high - low) * i / PIECES;
    arb_set_d(f->end, f->log_y[PIECES]);
    arb_exp(f->end, f->end, P);
}

void tl_certify_profile_clear(tl_certify_profile *f)
{
    _arb_vec_clear(f->v, PIECES + 1);
    arb_clear(f->tail);
    arb_clear(f->end);
    arb_clear(f->from);
}

/* What the tail falls like at the last knot, or a little less. */
static double steepest(const tl_certify_profile *f)
{
    arb_t t;

    arb_init(t);
    arb_add_ui(t, f->end, 1, P);
    arb_div(t, f->end, t, P);
    const double slope = tl_certify_down(t);
    arb_clear(t);
    return slope;
}

void tl_certify_profile_close(tl_certify_profile *f)
{
    const double most = steepest(f);
    double *w = f->wanted, least = 0;
    arb_t t;

    for (int i = PIECES; i-- > 0;) w[i] = fmax(w[i], w[i + 1]);
    /* The hull from above: from each corner on to the next that lies highest. */
    for (int i = 0, next = 0; i < PIECES; i = next) {
        double slope = (double)INFINITY;
        for (int j = i + 1; j <= PIECES; j++) {
            const double here = (w[i] - w[j]) / (f->log_y[j] - f->log_y[i]);
            if (here > slope) continue;
            slope = here;
            next = j;
        }
        least = fmin(fmax(slope, least), most);
        for (int j = i; j < next; j++) f->slope[j] = least;
    }
    arb_init(t);
    arb_set_d(f->v, w[0]);
    for (int i = 0; i < PIECES; i++) {
        arb_set_d(f->v + i + 1, f->log_y[i + 1]);
        arb_set_d(t, f->log_y[i]);
        arb_sub(f->v + i + 1, f->v + i + 1, t, P);
        arb_set_d(t, -f->slope[i]);
        arb_mul(t, t, f->v + i + 1, P);
        arb_add(f->v + i + 1, f->v + i, t, P);
        w[i + 1] = tl_certify_mid(f->v + i + 1);
    }
    arb_exp(f->tail, f->v + PIECES, P);
    arb_addmul(f->tail, f->tail, f->end, P);
    arb_clear(t);
}

void tl_certify_profile_over(arb_t value, const tl_certify_profile *f, const arb_t x, const arb_t a)
{
    arb_t t, y;

    if (!arb_is_positive(x)) {
        arb_add(value, x, a, P);
        arb_div(value, value, f->tail, P);
        return;
    }
    arb_init(t);
    arb_init(y);
    arb_div(y, a, x, P);
    arb_log(y, y, P);
    /* F falls: at a larger y, which is a double, the piece is certain. */
    const double at = arb_is_positive(a) ? tl_certify_up(y) : f->log_y[0];
    if (at >= f->log_y[PIECES]) {
        arb_mul(t, x, f->end, P);
        arb_max(t, t, a, P);
        arb_add(t, t, x, P);
        arb_div(value, t, f->tail, P);
    } else {
        int i = 0;
        while (at >= f->log_y[i + 1]) i++;
        arb_set_d(t, fmax(at, f->log_y[0]));
        arb_set_d(y, f->log_y[i]);
        arb_sub(t, t, y, P);
        arb_set_d(y, f->slope[i]);
        arb_mul(t, t, y, P);
        arb_sub(t, t, f->v + i, P);
        arb_exp(t, t, P);
        arb_mul(value, x, t, P);
    }
    arb_clear(y);
    arb_clear(t);
}

/* Parts of [1/K, infinity): y F^2 is at most product, the integral of F^2 from 1/K is sum[i] at the
 * left end and sum[i + 1] at the right. */
typedef struct {
    int count;
    arb_ptr product, sum;
} parts;

static void add(parts *p, const arb_t product, const arb_t integral)
{
    const int i = p->count++;

    arb_set(p->product + i, product);
    arb_add(p->sum + i + 1, p->sum + i, integral, P);
}

/* F is constant from 1/K to the first knot, which lies below 1/K by rounding alone. */
static void add_flat(parts *p, const tl_certify_profile *f)
{
    arb_t square, width, y, product, integral;

    arb_init(square);
    arb_init(width);
    arb_init(y);
    arb_init(product);
    arb_init(integral);
    arb_mul_2exp_si(square, f->v, 1);
    arb_exp(square, square, P);
    arb_set_d(width, f->log_y[0]);
    arb_exp(width, width, P);
    arb_min(y, f->from, width, P);
    arb_sub(width, width, y, P);
    arb_div_ui(width, width, ENDS, P);
    arb_mul(integral, square, width, P);
    for (int j = 0; j < ENDS; j++) {
        arb_add(y, y, width, P);
        arb_mul(product, square, y, P);
        add(p, product, integral);
    }
    arb_clear(integral);
    arb_clear(product);
    arb_clear(y);
    arb_clear(width);
    arb_clear(square);
}

/* y F^2 is a power of y: from part to part it changes by the factor `turn`. */
static void add_piece(parts *p, const tl_certify_profile *f, int i)
{
    arb_t power, step, turn, product, t;

    arb_init(power);
    arb_init(step);
    arb_init(turn);
    arb_init(product);
    arb_init(t);
    arb_set_d(power, -2 * f->slope[i]);
    arb_add_ui(power, power, 1, ARF_PREC_EXACT);
    arb_set_d(t, f->log_y[i]);
    arb_set_d(step, f->log_y[i + 1]);
    arb_sub(step, step, t, P);
    arb_div_ui(step, step, PARTS, P);
    arb_addmul_ui(t, f->v + i, 2, P);
    arb_exp(product, t, P);
    arb_mul(t, power, step, P);
    arb_exp(turn, t, P);
    if (!arb_is_zero(power)) {
        arb_expm1(t, t, P);
        arb_div(step, t, power, P);
    }
    for (int j = 0; j < PARTS; j++) {
        arb_mul(t, product, step, P);
        arb_mul(power, product, turn, P);
        arb_max(product, product, power, P);
        add(p, product, t);
        arb_set(product, power);
    }
    arb_clear(t);
    arb_clear(product);
    arb_clear(turn);
    arb_clear(step);
    arb_clear(power);
}

/* y/(1 + y)^2 falls from y = 1 on; 1/(1 + y)^2 is integrated exactly. */
static void add_tail(parts *p, const tl_certify_profile *f)
{
    arb_t y, here, t, integral;

    arb_init(y);
    arb_init(here);
    arb_init(t);
    arb_init(integral);
    arb_set(y, f->end);
    for (int j = 0; j < ENDS; j++) {
        arb_add_ui(t, y, 1, P);
        arb_div(here, f->tail, t, P);
        arb_mul(integral, here, f->tail, P);
        arb_sqr(here, here, P);
        arb_mul(here, here, y, P);
        arb_mul_2exp_si(y, y, 1);
        if (j + 1 < ENDS) {
            arb_add_ui(t, y, 1, P);
            arb_div(t, f->tail, t, P);
            arb_submul(integral, t, f->tail, P);
        }
        add(p, here, integral);
    }
    arb_clear(integral);
    arb_clear(t);
    arb_clear(here);
    arb_clear(y);
}

/* Whether R = r0 - (integral of F^2)/c stays between the roots of R(1 - R) = y F^2/c for some r0.
 */
static bool fits(const parts *p, double c)
{
    bool fit = true;
    arb_t low, high, inverse, t, end;

    arb_init(low);
    arb_init(high);
    arb_init(inverse);
    arb_init(t);
    arb_init(end);
    arb_neg_inf(low);
    arb_pos_inf(high);
    arb_set_d(inverse, c);
    arb_inv(inverse, inverse, P);
    for (int i = 0; i < p->count && fit; i++) {
        arb_set_d(t, 0.25);
        arb_submul(t, p->product + i, inverse, P);
        fit = arb_is_nonnegative(t);
        arb_sqrtpos(t, t, P);
        arb_mul(end, p->sum + i + 1, inverse, P);
        arb_sub(end, end, t, P);
        arb_max(low, low, end, P); /* both less 1/2 */
        arb_addmul(t, p->sum + i, inverse, P);
        arb_min(high, high, t, P);
    }
    fit = fit && arb_le(low, high);
    arb_clear(end);
    arb_clear(t);
    arb_clear(inverse);
    arb_clear(high);
    arb_clear(low);
    return fit;
}

double tl_certify_profile_riccati(const tl_certify_profile *f)
{
    parts p = {.product = _arb_vec_init(ALL), .sum = _arb_vec_init(ALL + 1)};
    double low = 0, high = (double)INFINITY;

    add_flat(&p, f);
    for (int i = 0; i < PIECES; i++) add_piece(&p, f, i);
    add_tail(&p, f);
    for (int i = 0; i < p.count; i++) low = fmax(low, 4 * tl_certify_up(p.product + i));
    double c = low;
    for (int k = 0; k < DOUBLINGS && c > 0 && isfinite(c) && isinf(high); k++, c *= 2)
        *(fits(&p, c) ? &high : &low) = c;
    for (int step = 0; step < STEPS && isfinite(high); step++) {
        const double middle = low + (high - low) / 2;
        *(fits(&p, middle) ? &high : &low) = middle;
    }
    _arb_vec_clear(p.sum, ALL + 1);
    _arb_vec_clear(p.product, ALL);
    return high;
}
