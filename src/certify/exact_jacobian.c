/* The Jacobian over a box of inputs with its partial derivatives, in ball arithmetic.
 *
 * With T the logit map (A for dot products, 2A for kind l2), b_ij = T x_i + c (dot) or T (x_i -
 * x_j) (l2), and the value map G:
 *   J_ij = P_ij G (I + xi_ij b_ij') + delta_ij G C_i T,
 *   P_ij = 1 / sum_k exp(l_ik - l_ij), xi_ij = sum_k P_ik (x_j - x_k),
 *   C_i = sum_{j<k} P_ij P_ik (x_j - x_k)(x_j - x_k)',
 * written with differences of tokens, so that nothing cancels. Sums over j, k are over what token
 * i sees. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "certify/exact_jet.h"

enum { PREC = TL_EXACT_BITS };

typedef tl_exact_algebra algebra;

bool tl_exact_jets_init(tl_exact_jets *w, const tl_exact_task *task)
{
    const size_t n = task->n, d = task->d, size = task->jet;
    const size_t counts[] = {n * d, n * n * d, n * n, n * n * d, n, n, n * n, n * n * d, d * d, 4};
    arb_ptr *const parts[] = {&w->x,   &w->b,      &w->p,    &w->diff,  &w->logit,
                              &w->sum, &w->change, &w->mean, &w->block, &w->scratch};
    const size_t count = sizeof counts / sizeof counts[0];
    size_t total = 0;

    for (size_t i = 0; i < count; i++) total += counts[i];
    *w = (tl_exact_jets){.task = task};
    w->total = (slong)(total * size);
    w->jets = _arb_vec_init(w->total);
    w->half = _mag_vec_init((slong)task->dim);
    if (!w->jets || !w->half) return false;
    arb_ptr at = w->jets;
    for (size_t i = 0; i < count; i++) {
        *parts[i] = at;
        at += counts[i] * size;
    }
    return true;
}

void tl_exact_jets_clear(tl_exact_jets *w)
{
    if (w->jets) _arb_vec_clear(w->jets, w->total);
    if (w->half) _mag_vec_clear(w->half, (slong)w->task->dim);
    w->jets = NULL;
    w->half = NULL;
}

/* Kind l2: logits of row i, -<b_ij, x_i - x_j>/2. */
static void set_logits(const algebra *a, tl_exact_jets *w, size_t i)
{
    const size_t n = w->task->n, d = w->task->d;

    for (size_t j = 0; j < tl_exact_seen(w->task, i); j++) {
        arb_ptr z = tl_jet_at(w->logit, a, j);
        tl_jet_zero(a, z);
        for (size_t r = 0; r < d; r++)
            tl_jet_addmul(a, z, tl_jet_at(w->b, a, (i * n + j) * d + r),
                          tl_jet_at(w->diff, a, (i * n + j) * d + r));
        _arb_vec_scalar_mul_2exp_si(z, z, a->size, -1);
        _arb_vec_neg(z, z, a->size);
    }
}

/* change_kj = l_ik - l_ij: <b_i, x_k - x_j> (dot), a difference of logits (l2). */
static void set_changes(const algebra *a, tl_exact_jets *w, size_t i)
{
    const size_t n = w->task->n, d = w->task->d, seen = tl_exact_seen(w->task, i);

    if (w->task->l2) set_logits(a, w, i);
    for (size_t k = 0; k < seen; k++)
        for (size_t j = 0; j < k; j++) {
            arb_ptr z = tl_jet_at(w->change, a, k * n + j);
            if (w->task->l2) {
                tl_jet_sub(a, z, tl_jet_at(w->logit, a, k), tl_jet_at(w->logit, a, j));
            } else {
                tl_jet_zero(a, z);
                for (size_t r = 0; r < d; r++)
                    tl_jet_addmul(a, z, tl_jet_at(w->b, a, (i * n + k) * d + r),
                                  tl_jet_at(w->diff, a, (k * n + j) * d + r));
            }
            tl_jet_tighten(a, z);
            _arb_vec_neg(tl_jet_at(w->change, a, j * n + k), z, a->size);
        }
}

/* P_ij, values only: 1 / sum_k exp(l_ik - l_ij). */
static void set_weights(const algebra *a, tl_exact_jets *w, size_t i)
{
    const size_t n = w->task->n, seen = tl_exact_seen(w->task, i);
    arb_ptr sum = w->scratch;
    arb_t t;

    arb_init(t);
    for (size_t j = 0; j < n; j++) {
        arb_ptr p = tl_jet_at(w->p, a, i * n + j);
        tl_jet_zero(a, p);
        if (j >= seen) continue;
        for (slong part = 0; part <= a->middle; part += a->middle) {
            arb_one(sum);
            for (size_t k = 0; k < seen; k++) {
                if (k == j) continue;
                arb_exp(t, tl_jet_at(w->change, a, k * n + j) + part, PREC);
                arb_add(sum, sum, t, PREC);
            }
            arb_inv(p + part, sum, PREC);
        }
    }
    arb_clear(t);
}

/* d P_ij = P_ij s_ij, s_ij = sum_k P_ik d(l_ij - l_ik): of bounded numbers, however wide the box.
 * part: 0 over the box, a->middle at its middle. */
static void set_slopes(const algebra *a, tl_exact_jets *w, size_t i, slong part)
{
    const size_t n = w->task->n, seen = tl_exact_seen(w->task, i);

    for (size_t j = 0; j < seen; j++) {
        arb_ptr p = tl_jet_at(w->p, a, i * n + j) + part, s = tl_jet_at(w->sum, a, j) + part;
        _arb_vec_zero(s + 1, a->dim);
        for (size_t k = 0; k < seen; k++)
            if (k != j)
                _arb_vec_scalar_addmul(s + 1, tl_jet_at(w->change, a, j * n + k) + part + 1, a->dim,
                                       tl_jet_at(w->p, a, i * n + k) + part, PREC);
        _arb_vec_scalar_mul(p + 1, s + 1, a->dim, p, PREC);
    }
}

/* d_ab P_ij = d_b P_ij s_a + P_ij sum_k (d_b P_ik d_a + P_ik d_ab)(l_ij - l_ik). */
static void set_seconds(const algebra *a, tl_exact_jets *w, size_t i)
{
    const size_t n = w->task->n, seen = tl_exact_seen(w->task, i);
    arb_t t;

    arb_init(t);
    for (size_t j = 0; j < seen; j++)
        for (size_t c = 0; c < (size_t)a->dim; c++)
            for (size_t e = c; e < (size_t)a->dim; e++) {
                const slong second = tl_jet_second(a, c, e);
                arb_ptr p = tl_jet_at(w->p, a, i * n + j);
                arb_zero(t);
                for (size_t k = 0; k < seen; k++) {
                    arb_srcptr q = tl_jet_at(w->p, a, i * n + k),
                               change = tl_jet_at(w->change, a, j * n + k);
                    if (k == j) continue;
                    tl_addmul(t, q + 1 + e, change + 1 + c);
                    tl_addmul(t, q, change + second);
                }
                arb_mul(p + second, p, t, PREC);
                tl_addmul(p + second, p + 1 + e, tl_jet_at(w->sum, a, j) + 1 + c);
            }
    arb_clear(t);
}

/* P and xi of row i. */
static void set_row(const algebra *a, tl_exact_jets *w, size_t i)
{
    const size_t n = w->task->n, d = w->task->d, seen = tl_exact_seen(w->task, i);

    set_changes(a, w, i);
    set_weights(a, w, i);
    set_slopes(a, w, i, 0);
    set_slopes(a, w, i, a->middle);
    set_seconds(a, w, i);
    for (size_t j = 0; j < seen; j++) tl_jet_tighten(a, tl_jet_at(w->p, a, i * n + j));
    for (size_t j = 0; j < seen; j++)
        for (size_t r = 0; r < d; r++) {
            arb_ptr xi = tl_jet_at(w->mean, a, (i * n + j) * d + r);
            tl_jet_zero(a, xi);
            for (size_t k = 0; k < seen; k++)
                if (k != j)
                    tl_jet_addmul(a, xi, tl_jet_at(w->p, a, i * n + k),
                                  tl_jet_at(w->diff, a, (j * n + k) * d + r));
            tl_jet_tighten(a, xi);
        }
}

/* block (d x d) += C_i T of row i. */
static void add_covariance(const algebra *a, tl_exact_jets *w, size_t i)
{
    const size_t n = w->task->n, d = w->task->d, seen = tl_exact_seen(w->task, i);
    arb_srcptr map = w->task->exact;
    arb_ptr weight = w->scratch, one = tl_jet_at(w->scratch, a, 1),
            two = tl_jet_at(w->scratch, a, 2);

    for (size_t j = 0; j < seen; j++)
        for (size_t k = j + 1; k < seen; k++) {
            tl_jet_mul(a, weight, tl_jet_at(w->p, a, i * n + j), tl_jet_at(w->p, a, i * n + k));
            for (size_t r = 0; r < d; r++) {
                tl_jet_mul(a, one, weight, tl_jet_at(w->diff, a, (j * n + k) * d + r));
                for (size_t s = 0; s < d; s++) {
                    tl_jet_mul(a, two, one, tl_jet_at(w->diff, a, (j * n + k) * d + s));
                    for (size_t c = 0; c < d; c++)
                        tl_jet_addscaled(a, tl_jet_at(w->block, a, r * d + c), two,
                                         map + s * d + c);
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
            arb_ptr z = tl_jet_at(J, a, (i * d + r) * cols + j * d + c);
            tl_jet_zero(a, z);
            for (size_t s = 0; s < d; s++)
                tl_jet_addscaled(a, z, tl_jet_at(w->block, a, s * d + c), value + r * d + s);
            tl_jet_tighten(a, z);
        }
}

/* block (d x d) = P_ij (I + xi_ij b_ij'). */
static void set_block(const algebra *a, tl_exact_jets *w, size_t i, size_t j)
{
    const size_t n = w->task->n, d = w->task->d;
    arb_srcptr p = tl_jet_at(w->p, a, i * n + j);
    arb_ptr one = w->scratch;

    for (size_t r = 0; r < d; r++) {
        tl_jet_mul(a, one, p, tl_jet_at(w->mean, a, (i * n + j) * d + r));
        for (size_t c = 0; c < d; c++) {
            arb_ptr z = tl_jet_at(w->block, a, r * d + c);
            tl_jet_mul(a, z, one, tl_jet_at(w->b, a, (i * n + j) * d + c));
            if (r == c) _arb_vec_add(z, z, p, a->size, PREC);
        }
    }
}

void tl_exact_jacobian(tl_exact_jets *w, const double *lo, const double *hi, arb_ptr J)
{
    const size_t n = w->task->n, d = w->task->d;
    const algebra a = tl_exact_algebra_of(w->task, w->half);

    for (size_t k = 0; k < w->task->dim; k++) {
        const double middle = lo[k] + (hi[k] - lo[k]) / 2;
        mag_set_d(w->half + k, fmax(hi[k] - middle, middle - lo[k]) * (1 + 4 * DBL_EPSILON));
    }
    tl_exact_set_inputs(&a, w, lo, hi);
    for (size_t i = 0; i < n; i++) {
        set_row(&a, w, i);
        for (size_t j = 0; j < n; j++) {
            if (j < tl_exact_seen(w->task, i))
                set_block(&a, w, i, j);
            else
                _arb_vec_zero(w->block, (slong)(d * d) * a.size);
            if (i == j) add_covariance(&a, w, i);
            put_block(&a, w, i, j, J);
        }
    }
}
