/* Two tokens without a mask, every input. Statement: src/bounds/README.md section 6.5. */
#include <math.h>

#include "certify/sharp.h"

enum { SPLITS = 1500, SQUARINGS = 12, P = TL_CERTIFY_BOX_BITS };

/* As far as the theorem is of use. */
static const double most_size = 24;
/* The double below pi/2, which stands for pi/2 where it ends a side. */
static const double quarter = 1.5707963267948966;
/* Below this the maximum is 2g or a few 1e-3 from it: no further splits there. */
static const double settled = 1 + 2e-4;

typedef struct {
    arb_t g;
    double enough;
} pair;

static void sin_cos(arb_t s, arb_t c, double x)
{
    if (fabs(x) >= quarter) {
        arb_set_si(s, x > 0 ? 1 : -1);
        arb_zero(c);
        return;
    }
    arb_set_d(s, x);
    arb_sin_cos(s, c, s, P);
}

/* Sine and cosine over [lo, hi] inside [-pi/2, pi/2]. */
static void over(arb_t sine, arb_t cosine, double lo, double hi)
{
    arb_t s, c;

    arb_init(s);
    arb_init(c);
    sin_cos(sine, cosine, lo);
    sin_cos(s, c, hi);
    arb_union(sine, sine, s, P);
    arb_union(cosine, cosine, c, P);
    arb_one(c);
    if (lo <= 0 && hi >= 0) arb_union(cosine, cosine, c, P);
    arb_clear(c);
    arb_clear(s);
}

/* sin x cos x = sin(2x)/2 over [lo, hi] inside [0, pi/2]. */
static void half_sine(arb_t half, double lo, double hi)
{
    const double below = 0.78539816339744828, above = 0.78539816339744839; /* beside pi/4 */
    arb_t t, c;

    arb_init(t);
    arb_init(c);
    sin_cos(half, c, lo);
    arb_mul(half, half, c, P);
    sin_cos(t, c, hi);
    arb_mul(t, t, c, P);
    arb_union(half, half, t, P);
    arb_set_d(t, 0.5);
    if (lo <= above && hi >= below) arb_union(half, half, t, P);
    arb_clear(c);
    arb_clear(t);
}

/* t = tanh x over the ball, q = 1 - t^2, both from its ends. */
static void tanh_of(arb_t t, arb_t q, const arb_t x)
{
    arb_t end[2], one;

    arb_init(one);
    for (int i = 0; i < 2; i++) {
        arb_init(end[i]);
        if (i == 0)
            arb_get_lbound_arf(arb_midref(end[i]), x, P);
        else
            arb_get_ubound_arf(arb_midref(end[i]), x, P);
        arb_tanh(end[i], end[i], P);
    }
    arb_union(t, end[0], end[1], P);
    arb_one(one);
    for (int i = 0; i < 2; i++) {
        arb_sqr(end[i], end[i], P);
        arb_sub(end[i], one, end[i], P);
    }
    arb_union(q, end[0], end[1], P);
    if (arb_contains_zero(t)) arb_union(q, q, one, P);
    arb_clear(one);
    arb_clear(end[0]);
    arb_clear(end[1]);
}

/* What the entries are made of: kappa, D1, D2, alpha and beta times what is needed, P0, r E0, r nu.
 */
enum { KAPPA, D1, D2, ALPHA, BETA, ACROSS, BIAS, X, R2_ALPHA, R2_BETA, PARTS };

static void find_parts(arb_ptr p, const pair *q, const double *lo, const double *hi)
{
    enum { COUNT = 10 };
    arb_ptr v = _arb_vec_init(COUNT), r = v, c = v + 1, s = v + 2, half = v + 3, t1 = v + 4,
            t2 = v + 5, q1 = v + 6, q2 = v + 7, y = v + 8, k = v + 9;

    over(r, c, lo[0], hi[0]);
    half_sine(half, lo[0], hi[0]);
    over(s, c, lo[1], hi[1]);
    arb_mul(p + X, half, s, P);
    arb_mul(p + X, p + X, q->g, P);
    arb_mul(p + BIAS, half, c, P);
    arb_mul(p + BIAS, p + BIAS, q->g, P);
    over(k, c, lo[2], hi[2]);
    arb_mul(p + KAPPA, k, q->g, P);
    arb_mul(p + ACROSS, c, q->g, P);
    arb_sqr(r, r, P);
    arb_mul(y, r, p + KAPPA, P);
    arb_add(k, p + X, y, P);
    tanh_of(t1, q1, k);
    arb_sub(k, p + X, y, P);
    tanh_of(t2, q2, k);
    arb_add(p + D1, t1, t2, P);
    arb_sub(p + D2, t1, t2, P);
    arb_add(p + ALPHA, q1, q2, P);
    arb_sub(p + BETA, q1, q2, P);
    for (int i = D1; i <= BETA; i++) arb_mul_2exp_si(p + i, p + i, -1);
    arb_mul(p + R2_ALPHA, r, p + ALPHA, P);
    arb_mul(p + R2_BETA, r, p + BETA, P);
    _arb_vec_clear(v, COUNT);
}

/* Row of alpha (beta: other) of the matrix, without the 1 of the first entry; the last entry is
 * first a bias + second 2 b r^2 across. */
static void fill_row(arb_ptr row, arb_srcptr p, int a, int first, int second)
{
    const int b = a == ALPHA ? BETA : ALPHA, ra = a == ALPHA ? R2_ALPHA : R2_BETA;
    const int rb = b == ALPHA ? R2_ALPHA : R2_BETA, d = a == ALPHA ? D1 : D2;
    arb_t t;

    arb_init(t);
    arb_mul(row, p + ra, p + KAPPA, P);
    arb_mul(row + 1, p + ra, p + ACROSS, P);
    arb_mul(row + 2, p + rb, p + KAPPA, P);
    arb_mul_2exp_si(row + 2, row + 2, 1);
    arb_addmul(row + 2, p + a, p + X, P);
    arb_add(row + 2, row + 2, p + d, P);
    arb_mul(row + 3, p + a, p + BIAS, P);
    arb_mul(t, p + rb, p + ACROSS, P);
    arb_mul_2exp_si(t, t, 1);
    if (first < 0) arb_neg(row + 3, row + 3);
    if (second < 0)
        arb_sub(row + 3, row + 3, t, P);
    else
        arb_add(row + 3, row + 3, t, P);
    arb_clear(t);
}

static void fill(arb_mat_t M, arb_srcptr p, int first, int second)
{
    arb_mat_zero(M);
    fill_row(M->rows[0], p, ALPHA, first, second);
    fill_row(M->rows[2], p, BETA, first, second);
    arb_add_ui(arb_mat_entry(M, 0, 0), arb_mat_entry(M, 0, 0), 1, P);
    arb_one(arb_mat_entry(M, 1, 1));
    arb_set(arb_mat_entry(M, 1, 3), p + D1);
    arb_set(arb_mat_entry(M, 3, 3), p + D2);
}

/* At least ||M||: traces of powers of M'M; stops below enough. */
static double norm_up(const arb_mat_t M, double enough)
{
    arb_mat_t S, T;
    arb_t trace, norm, root;
    double bound = (double)INFINITY;

    arb_mat_init(S, 4, 4);
    arb_mat_init(T, 4, 4);
    arb_init(trace);
    arb_init(norm);
    arb_init(root);
    arb_mat_transpose(T, M);
    arb_mat_mul(S, T, M, P);
    arb_one(norm);
    for (ulong step = 0; step <= SQUARINGS && bound > enough; step++) {
        arb_mat_trace(trace, S, P);
        if (!arb_is_positive(trace)) break;
        arb_root_ui(root, trace, 1UL << step, P);
        arb_mul(norm, norm, root, P);
        arb_sqrt(root, norm, P);
        bound = fmin(bound, tl_certify_up(root));
        arb_mat_scalar_div_arb(S, S, trace, P);
        arb_mat_sqr(S, S, P);
    }
    arb_clear(root);
    arb_clear(norm);
    arb_clear(trace);
    arb_mat_clear(T);
    arb_mat_clear(S);
    return bound;
}

/* The norm of the middle plus the Frobenius norm of the radii. */
static double centred(const arb_mat_t M, double enough)
{
    arb_mat_t middle;
    arb_t radius, t;

    arb_mat_init(middle, 4, 4);
    arb_init(radius);
    arb_init(t);
    arb_mat_get_mid(middle, M);
    for (slong i = 0; i < 16; i++) {
        arf_set_mag(arb_midref(t), arb_radref(M->entries + i));
        arb_addmul(radius, t, t, P);
    }
    arb_sqrtpos(radius, radius, P);
    arb_set_d(t, norm_up(middle, enough - tl_certify_up(radius)));
    arb_add(t, t, radius, P);
    const double value = tl_certify_up(t);
    arb_clear(t);
    arb_clear(radius);
    arb_mat_clear(middle);
    return value;
}

/* The norm over a box of angles: of the matrix of largest moduli, or centred, the smaller. */
static double pair_upper(const void *context, const double *lo, const double *hi)
{
    const pair *q = context;
    arb_ptr p = _arb_vec_init(PARTS);
    arb_mat_t M, moduli;
    double worst = 0;

    arb_mat_init(M, 4, 4);
    arb_mat_init(moduli, 4, 4);
    find_parts(p, q, lo, hi);
    for (int s = 0; s < 2; s++) {
        fill(M, p, 1, s > 0 ? -1 : 1);
        for (slong i = 0; i < 16; i++) {
            arb_t t;
            arb_init(t);
            arb_get_abs_ubound_arf(arb_midref(t), M->entries + i, P);
            arb_max(moduli->entries + i, moduli->entries + i, t, P);
            arb_clear(t);
        }
    }
    const double least = norm_up(moduli, q->enough);
    for (int s = 0; s < 4 && least > q->enough && worst < least; s++) {
        fill(M, p, s & 1 ? -1 : 1, s & 2 ? -1 : 1);
        worst = fmax(worst, centred(M, q->enough));
    }
    arb_mat_clear(moduli);
    arb_mat_clear(M);
    _arb_vec_clear(p, PARTS);
    return least > q->enough ? fmin(least, worst) : least;
}

void tl_certify_pair_norm(arb_t value, const arb_t g, const arb_t least, const arb_t most)
{
    pair q;
    arb_t t;
    double end[2];

    arb_pos_inf(value);
    if (!(tl_certify_mid(g) > 0 && tl_certify_mid(g) <= most_size)) return;
    arb_init(t);
    arb_init(q.g);
    arb_set(q.g, g);
    /* Where the quotient may pass 1, the ball of its arc sine is not finite. */
    arb_asin(t, least, P);
    end[0] = fmax(tl_certify_down(t), -quarter);
    arb_asin(t, most, P);
    end[1] = fmin(tl_certify_up(t), quarter);
    const bool whole = end[0] <= 0 && end[1] >= 0;
    arb_mul_2exp_si(t, g, 1);
    q.enough = whole ? fmax(tl_certify_up(t), 1) * settled : 1;
    const tl_certify_boxes problem = {.dim = 3,
                                      .lo = {0, 0, end[0]},
                                      .hi = {quarter, quarter, end[1]},
                                      .context = &q,
                                      .upper = pair_upper,
                                      .floor = q.enough,
                                      .ceiling = (double)INFINITY,
                                      .tolerance = 1e-4,
                                      .budget = SPLITS};
    arb_set_d(value, tl_certify_boxes_max(&problem));
    arb_clear(q.g);
    arb_clear(t);
}
