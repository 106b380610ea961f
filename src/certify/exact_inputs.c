/* Tokens of a box, their differences and the directions b_ij, with derivatives. */
#include "certify/exact_jet.h"

enum { PREC = TL_EXACT_BITS };

typedef tl_exact_algebra algebra;

/* [lo, hi] as a ball with slope 1 in coordinate k; its middle. */
static void coordinate(const algebra *a, arb_ptr z, size_t k, double lo, double hi)
{
    arf_t low, high;

    tl_jet_zero(a, z);
    arf_init(low);
    arf_init(high);
    arf_set_d(low, lo);
    arf_set_d(high, hi);
    arb_set_interval_arf(z, low, high, PREC);
    arb_one(z + 1 + k);
    arb_set_d(z + a->middle, lo + (hi - lo) / 2);
    arb_one(z + a->middle + 1 + k);
    arf_clear(low);
    arf_clear(high);
}

/* sine and cosine of the angle, coordinate k. */
static void set_sine(const algebra *a, arb_ptr sine, arb_ptr cosine, arb_srcptr angle, size_t k)
{
    const slong second = tl_jet_second(a, k, k);

    tl_jet_zero(a, sine);
    tl_jet_zero(a, cosine);
    for (slong at = 0; at <= a->middle; at += a->middle) {
        arb_sin_cos(sine + at, cosine + at, angle + at, PREC);
        arb_set(sine + at + 1 + k, cosine + at);
        arb_neg(cosine + at + 1 + k, sine + at);
    }
    arb_neg(sine + second, sine);
    arb_neg(cosine + second, cosine);
}

/* Tokens: themselves at d = 1, radius and angle at d = 2. */
static void set_tokens(const algebra *a, tl_exact_jets *w, const double *lo, const double *hi)
{
    const tl_exact_task *task = w->task;
    const size_t size = (size_t)a->size;
    arb_ptr radius = w->scratch, angle = radius + size, sine = angle + size, cosine = sine + size;

    for (size_t i = 0; i < task->n; i++) {
        if (task->d == 1) {
            coordinate(a, w->x + i * size, i, lo[i], hi[i]);
            continue;
        }
        coordinate(a, radius, 2 * i, lo[2 * i], hi[2 * i]);
        coordinate(a, angle, 2 * i + 1, lo[2 * i + 1], hi[2 * i + 1]);
        set_sine(a, sine, cosine, angle, 2 * i + 1);
        tl_jet_mul(a, w->x + (2 * i) * size, radius, cosine);
        tl_jet_mul(a, w->x + (2 * i + 1) * size, radius, sine);
    }
}

/* diff_ij = x_i - x_j from the tokens. */
static void set_differences(const algebra *a, tl_exact_jets *w)
{
    const size_t n = w->task->n, d = w->task->d;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t r = 0; r < d; r++)
                tl_jet_sub(a, tl_jet_at(w->diff, a, (i * n + j) * d + r),
                           tl_jet_at(w->x, a, i * d + r), tl_jet_at(w->x, a, j * d + r));
}

/* diff_ij as sums of gaps, which are the coordinates. */
static void set_gaps(const algebra *a, tl_exact_jets *w, const double *lo, const double *hi)
{
    const size_t n = w->task->n;

    for (size_t j = 0; j < n; j++) tl_jet_zero(a, tl_jet_at(w->diff, a, j * n + j));
    for (size_t j = 1; j < n; j++) {
        coordinate(a, w->scratch, j - 1, lo[j - 1], hi[j - 1]);
        for (size_t i = 0; i < j; i++) {
            arb_ptr z = tl_jet_at(w->diff, a, i * n + j);
            _arb_vec_add(z, tl_jet_at(w->diff, a, i * n + j - 1), w->scratch, a->size, PREC);
            _arb_vec_neg(tl_jet_at(w->diff, a, j * n + i), z, a->size);
        }
    }
}

/* b_ij. */
static void set_directions(const algebra *a, tl_exact_jets *w)
{
    const tl_exact_task *task = w->task;
    const size_t n = task->n, d = task->d;
    arb_srcptr map = task->exact, bias = map + d * d;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            for (size_t r = 0; r < d; r++) {
                arb_ptr b = tl_jet_at(w->b, a, (i * n + j) * d + r);
                tl_jet_zero(a, b);
                if (!task->l2) arb_set(b, bias + r);
                if (!task->l2) arb_set(b + a->middle, bias + r);
                for (size_t s = 0; s < d; s++)
                    tl_jet_addscaled(a, b,
                                     task->l2 ? tl_jet_at(w->diff, a, (i * n + j) * d + s)
                                              : tl_jet_at(w->x, a, i * d + s),
                                     map + r * d + s);
            }
        }
}

void tl_exact_set_inputs(const algebra *a, tl_exact_jets *w, const double *lo, const double *hi)
{
    if (w->task->gaps) {
        set_gaps(a, w, lo, hi);
    } else {
        set_tokens(a, w, lo, hi);
        set_differences(a, w);
    }
    set_directions(a, w);
}
