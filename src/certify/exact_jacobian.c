/* The Jacobian over a box of inputs with its partial derivatives, in ball arithmetic.
 *
 * With T the logit map (A for dot products, 2A for kind l2), b_ij = T x_i + c (dot) or T (x_i -
 * x_j) (l2), and the value map G:
 *   J_ij = P_ij G (I + xi_ij b_ij') + delta_ij G C_i T,
 *   P_ij = 1 / sum_k exp(l_ik - l_ij), xi_ij = sum_k P_ik (x_j - x_k),
 *   C_i = sum_{j<k} P_ij P_ik (x_j - x_k)(x_j - x_k)',
 * written with differences of tokens, so that nothing cancels. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "certify/exact.h"

enum { PREC = TL_EXACT_BITS };

typedef struct {
    slong size; /* of a jet: 1 + dim */
} algebra;

static void jet_zero(const algebra *a, arb_ptr z)
{
    _arb_vec_zero(z, a->size);
}

static void jet_sub(const algebra *a, arb_ptr z, arb_srcptr x, arb_srcptr y)
{
    _arb_vec_sub(z, x, y, a->size, PREC);
}

/* z += x y; z is none of them. */
static void jet_addmul(const algebra *a, arb_ptr z, arb_srcptr x, arb_srcptr y)
{
    arb_addmul(z, x, y, PREC);
    for (slong i = 1; i < a->size; i++) {
        arb_addmul(z + i, x, y + i, PREC);
        arb_addmul(z + i, x + i, y, PREC);
    }
}

/* z += c x for a number c. */
static void jet_addscaled(const algebra *a, arb_ptr z, arb_srcptr x, const arb_t c)
{
    for (slong i = 0; i < a->size; i++) arb_addmul(z + i, x + i, c, PREC);
}

static void jet_mul(const algebra *a, arb_ptr z, arb_srcptr x, arb_srcptr y)
{
    jet_zero(a, z);
    jet_addmul(a, z, x, y);
}

bool tl_exact_jets_init(tl_exact_jets *w, const tl_exact_task *task)
{
    const size_t n = task->n, d = task->d, size = 1 + task->dim;
    const size_t counts[] = {n * d, n * n * d, n * n, n * n * d, n * n, n * n * d, d * d + d, 4};
    arb_ptr *const parts[] = {&w->x,     &w->b,    &w->p,     &w->diff,
                              &w->logit, &w->mean, &w->block, &w->scratch};
    size_t total = 0;

    for (size_t i = 0; i < 8; i++) total += counts[i];
    *w = (tl_exact_jets){.task = task};
    w->total = (slong)(total * size);
    w->jets = _arb_vec_init(w->total);
    if (!w->jets) return false;
    arb_ptr at = w->jets;
    for (size_t i = 0; i < 8; i++) {
        *parts[i] = at;
        at += counts[i] * size;
    }
    return true;
}

void tl_exact_jets_clear(tl_exact_jets *w)
{
    if (w->jets) _arb_vec_clear(w->jets, w->total);
    w->jets = NULL;
}

/* [lo, hi] as a ball with slope 1 in coordinate k. */
static void coordinate(const algebra *a, arb_ptr z, size_t k, double lo, double hi)
{
    arf_t low, high;

    jet_zero(a, z);
    arf_init(low);
    arf_init(high);
    arf_set_d(low, lo);
    arf_set_d(high, hi);
    arb_set_interval_arf(z, low, high, PREC);
    arb_one(z + 1 + k);
    arf_clear(low);
    arf_clear(high);
}

/* Tokens: themselves at d = 1, radius and angle at d = 2. */
static void set_tokens(const algebra *a, tl_exact_jets *w, const double *lo, const double *hi)
{
    const tl_exact_task *task = w->task;
    const size_t size = (size_t)a->size;
    arb_ptr radius = w->scratch, angle = radius + size, sine = angle + size, cosine = sine + size;

    for (size_t i = 0; i < task->n; i++) {
        if (task->d == 1 && i == task->dim) { /* centred */
            _arb_vec_neg(w->x + i * size, w->x, a->size);
            continue;
        }
        if (task->d == 1) {
            coordinate(a, w->x + i * size, i, lo[i], hi[i]);
            continue;
        }
        coordinate(a, radius, 2 * i, lo[2 * i], hi[2 * i]);
        coordinate(a, angle, 2 * i + 1, lo[2 * i + 1], hi[2 * i + 1]);
        jet_zero(a, sine);
        jet_zero(a, cosine);
        arb_sin_cos(sine, cosine, angle, PREC);
        arb_set(sine + 2 + 2 * i, cosine);
        arb_neg(cosine + 2 + 2 * i, sine);
        jet_mul(a, w->x + (2 * i) * size, radius, cosine);
        jet_mul(a, w->x + (2 * i + 1) * size, radius, sine);
    }
}

static arb_ptr at(arb_ptr array, const algebra *a, size_t i)
{
    return array + i * (size_t)a->size;
}

/* diff_ij = x_i - x_j, b_ij. */
static void set_directions(const algebra *a, tl_exact_jets *w)
{
    const tl_exact_task *task = w->task;
    const size_t n = task->n, d = task->d;
    arb_srcptr map = task->exact, bias = map + d * d;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            for (size_t r = 0; r < d; r++)
                jet_sub(a, at(w->diff, a, (i * n + j) * d + r), at(w->x, a, i * d + r),
                        at(w->x, a, j * d + r));
            for (size_t r = 0; r < d; r++) {
                arb_ptr b = at(w->b, a, (i * n + j) * d + r);
                jet_zero(a, b);
                if (!task->l2) arb_set(b, bias + r);
                for (size_t s = 0; s < d; s++)
                    jet_addscaled(a, b,
                                  task->l2 ? at(w->diff, a, (i * n + j) * d + s)
                                           : at(w->x, a, i * d + s),
                                  map + r * d + s);
            }
        }
}

/* l_ik - l_ij: <b_i, x_k - x_j> (dot), <b_ij, x_i - x_j>/2 - <b_ik, x_i - x_k>/2 (l2). */
static void logit_difference(const algebra *a, tl_exact_jets *w, size_t i, size_t k, size_t j,
                             arb_ptr z)
{
    const size_t n = w->task->n, d = w->task->d;

    jet_zero(a, z);
    if (!w->task->l2) {
        for (size_t r = 0; r < d; r++)
            jet_addmul(a, z, at(w->b, a, (i * n + k) * d + r), at(w->diff, a, (k * n + j) * d + r));
        return;
    }
    jet_sub(a, z, at(w->logit, a, i * n + k), at(w->logit, a, i * n + j));
}

/* Kind l2: logits of row i, -<b_ij, x_i - x_j>/2. */
static void set_logits(const algebra *a, tl_exact_jets *w, size_t i)
{
    const size_t n = w->task->n, d = w->task->d;

    for (size_t j = 0; j < n; j++) {
        arb_ptr z = at(w->logit, a, i * n + j);
        jet_zero(a, z);
        for (size_t r = 0; r < d; r++)
            jet_addmul(a, z, at(w->b, a, (i * n + j) * d + r), at(w->diff, a, (i * n + j) * d + r));
        _arb_vec_scalar_mul_2exp_si(z, z, a->size, -1);
        _arb_vec_neg(z, z, a->size);
    }
}

/* P_ij, values only: 1 / sum_k exp(l_ik - l_ij). */
static void set_weights(const algebra *a, tl_exact_jets *w, size_t i)
{
    const size_t n = w->task->n;
    arb_ptr change = w->scratch, sum = at(w->scratch, a, 1), t = at(w->scratch, a, 2);

    for (size_t j = 0; j < n; j++) {
        arb_one(sum);
        for (size_t k = 0; k < n; k++) {
            if (k == j) continue;
            logit_difference(a, w, i, k, j, change);
            arb_exp(t, change, PREC);
            arb_add(sum, sum, t, PREC);
        }
        arb_ptr p = at(w->p, a, i * n + j);
        jet_zero(a, p);
        arb_inv(p, sum, PREC);
    }
}

/* d P_ij = P_ij sum_k P_ik d(l_ij - l_ik): of bounded numbers, however wide the box. */
static void set_slopes(const algebra *a, tl_exact_jets *w, size_t i)
{
    const size_t n = w->task->n;
    arb_ptr change = w->scratch, weight = at(w->scratch, a, 1);

    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < n; k++) {
            if (k == j) continue;
            logit_difference(a, w, i, j, k, change);
            arb_mul(weight, at(w->p, a, i * n + j), at(w->p, a, i * n + k), PREC);
            _arb_vec_scalar_addmul(at(w->p, a, i * n + j) + 1, change + 1, a->size - 1, weight,
                                   PREC);
        }
}

/* P and xi of row i. */
static void set_row(const algebra *a, tl_exact_jets *w, size_t i)
{
    const size_t n = w->task->n, d = w->task->d;

    if (w->task->l2) set_logits(a, w, i);
    set_weights(a, w, i);
    set_slopes(a, w, i);
    for (size_t j = 0; j < n; j++)
        for (size_t r = 0; r < d; r++) {
            arb_ptr xi = at(w->mean, a, (i * n + j) * d + r);
            jet_zero(a, xi);
            for (size_t k = 0; k < n; k++)
                if (k != j)
                    jet_addmul(a, xi, at(w->p, a, i * n + k), at(w->diff, a, (j * n + k) * d + r));
        }
}

/* block (d x d) += C_i T of row i. */
static void add_covariance(const algebra *a, tl_exact_jets *w, size_t i)
{
    const size_t n = w->task->n, d = w->task->d;
    arb_srcptr map = w->task->exact;
    arb_ptr weight = w->scratch, one = at(w->scratch, a, 1), two = at(w->scratch, a, 2);

    for (size_t j = 0; j < n; j++)
        for (size_t k = j + 1; k < n; k++) {
            jet_mul(a, weight, at(w->p, a, i * n + j), at(w->p, a, i * n + k));
            for (size_t r = 0; r < d; r++) {
                jet_mul(a, one, weight, at(w->diff, a, (j * n + k) * d + r));
                for (size_t s = 0; s < d; s++) {
                    jet_mul(a, two, one, at(w->diff, a, (j * n + k) * d + s));
                    for (size_t c = 0; c < d; c++)
                        jet_addscaled(a, at(w->block, a, r * d + c), two, map + s * d + c);
                }
            }
        }
}

/* J block (i, j) = G block. */
static void put_block(const algebra *a, const tl_exact_jets *w, size_t i, size_t j, arb_ptr J)
{
    const tl_exact_task *task = w->task;
    const size_t d = task->d, cols = task->n * d;
    arb_srcptr value = task->exact + d * d + d;

    for (size_t r = 0; r < d; r++)
        for (size_t c = 0; c < d; c++) {
            arb_ptr z = at(J, a, (i * d + r) * cols + j * d + c);
            jet_zero(a, z);
            for (size_t s = 0; s < d; s++)
                jet_addscaled(a, z, at(w->block, a, s * d + c), value + r * d + s);
        }
}

void tl_exact_jacobian(tl_exact_jets *w, const double *lo, const double *hi, arb_ptr J)
{
    const size_t n = w->task->n, d = w->task->d;
    const algebra a = {.size = (slong)(1 + w->task->dim)};

    set_tokens(&a, w, lo, hi);
    set_directions(&a, w);
    for (size_t i = 0; i < n; i++) {
        set_row(&a, w, i);
        for (size_t j = 0; j < n; j++) {
            arb_srcptr p = at(w->p, &a, i * n + j);
            arb_ptr one = w->scratch;
            for (size_t r = 0; r < d; r++) {
                jet_mul(&a, one, p, at(w->mean, &a, (i * n + j) * d + r));
                for (size_t c = 0; c < d; c++) {
                    arb_ptr z = at(w->block, &a, r * d + c);
                    jet_mul(&a, z, one, at(w->b, &a, (i * n + j) * d + c));
                    if (r == c) _arb_vec_add(z, z, p, a.size, PREC);
                }
            }
            if (i == j) add_covariance(&a, w, i);
            put_block(&a, w, i, j, J);
        }
    }
}
