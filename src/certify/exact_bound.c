/* Bounds of ||J|| over a box: a mean value form in the basis of singular vectors at the middle.
 *
 * With U, W near the singular vectors there, G(x) = U'J(x)W has entries G(c) + sum_i r_i [-1, 1]
 * (U' d_i J W over the box), and ||J|| <= ||G|| / sqrt((1 - |U'U - I|)(1 - |W'W - I|)). The norm of
 * [[a, r'], [c, H]] is at most that of the 2 x 2 matrix of |a|, |r|, |c|, ||H||; that of any matrix
 * at most that of its moduli. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "certify/exact_jet.h"
#include "tightlip/linalg.h"

enum { PREC = TL_EXACT_BITS, MOST = TL_EXACT_COORDINATES };

/* Covers the sums and products of non-negative doubles at the end. */
static const double margin = 1 + 256 * DBL_EPSILON;

struct tl_exact_bound {
    const tl_exact_task *task;
    tl_exact_jets jets;
    tl_exact_algebra algebra;
    arb_ptr over;                 /* order^2 jets: J over the box */
    arb_ptr basis, half, product; /* U and W as balls; order^2 each */
};

void tl_exact_bound_free(tl_exact_bound *b)
{
    if (!b) return;
    const slong square = (slong)(b->task->size * b->task->size), size = (slong)b->task->jet;
    tl_exact_jets_clear(&b->jets);
    if (b->over) _arb_vec_clear(b->over, square * size);
    if (b->basis) _arb_vec_clear(b->basis, 4 * square);
    free(b);
}

bool tl_exact_bound_alloc(tl_exact_bound **out, const tl_exact_task *task)
{
    const slong square = (slong)(task->size * task->size), size = (slong)task->jet;
    tl_exact_bound *b = calloc(1, sizeof *b);

    *out = b;
    if (!b) return false;
    b->task = task;
    b->algebra = tl_exact_algebra_of(task, NULL);
    b->over = _arb_vec_init(square * size);
    b->basis = _arb_vec_init(4 * square);
    b->half = b->basis + 2 * square;
    b->product = b->half + square;
    if (tl_exact_jets_init(&b->jets, task) && b->over && b->basis) return true;
    tl_exact_bound_free(b);
    *out = NULL;
    return false;
}

/* product = U' M W, M the given component of the jets of J. */
static void rotate(tl_exact_bound *b, size_t component)
{
    const size_t order = b->task->size, size = b->task->jet;
    arb_srcptr M = b->over, U = b->basis, W = U + order * order;

    for (size_t i = 0; i < order; i++)
        for (size_t j = 0; j < order; j++) {
            arb_ptr z = b->half + i * order + j;
            arb_zero(z);
            for (size_t k = 0; k < order; k++)
                arb_addmul(z, M + (i * order + k) * size + component, W + k * order + j, PREC);
        }
    for (size_t i = 0; i < order; i++)
        for (size_t j = 0; j < order; j++) {
            arb_ptr z = b->product + i * order + j;
            arb_zero(z);
            for (size_t k = 0; k < order; k++)
                arb_addmul(z, U + k * order + i, b->half + k * order + j, PREC);
        }
}

/* Frobenius norm of B'B - I, for B order x order. */
static double defect(arb_srcptr B, size_t order)
{
    double sum = 0;
    arb_t z;

    arb_init(z);
    for (size_t i = 0; i < order; i++)
        for (size_t j = 0; j < order; j++) {
            arb_set_si(z, i == j ? -1 : 0);
            for (size_t k = 0; k < order; k++)
                arb_addmul(z, B + k * order + i, B + k * order + j, PREC);
            const double entry = tl_exact_above(z);
            sum += entry * entry;
        }
    arb_clear(z);
    return sqrt(sum) * margin;
}

/* U and W from a singular value decomposition of J at the middle; false when it fails. */
static bool set_basis(tl_exact_bound *b)
{
    const size_t order = b->task->size, size = b->task->jet;
    arb_srcptr middle = b->over + b->algebra.middle;
    double J[MOST * MOST], u[MOST * MOST], sigma[MOST], vt[MOST * MOST];

    for (size_t i = 0; i < order * order; i++) {
        J[i] = arf_get_d(arb_midref(middle + i * size), ARF_RND_NEAR);
        if (!isfinite(J[i])) return false;
    }
    if (tl_svd_full(order, order, J, u, sigma, vt) != TL_OK) return false;
    for (size_t i = 0; i < order; i++)
        for (size_t j = 0; j < order; j++) {
            arb_set_d(b->basis + i * order + j, u[i * order + j]);
            arb_set_d(b->basis + order * order + i * order + j, vt[j * order + i]);
        }
    return true;
}

/* |J w|/|w| at the middle for the first column of W, rounded down. */
static double lower_at_middle(tl_exact_bound *b)
{
    const size_t order = b->task->size, size = b->task->jet;
    arb_srcptr W = b->basis + order * order, middle = b->over + b->algebra.middle;
    arb_t image, square, length;
    arf_t low;

    arb_init(image);
    arb_init(square);
    arb_init(length);
    arf_init(low);
    for (size_t i = 0; i < order; i++) {
        arb_zero(image);
        for (size_t j = 0; j < order; j++)
            arb_addmul(image, middle + (i * order + j) * size, W + j * order, PREC);
        arb_addmul(square, image, image, PREC);
        arb_addmul(length, W + i * order, W + i * order, PREC);
    }
    arb_div(square, square, length, PREC);
    arb_sqrt(square, square, PREC);
    arb_get_lbound_arf(low, square, PREC);
    const double value = arf_get_d(low, ARF_RND_DOWN);
    arb_clear(image);
    arb_clear(square);
    arb_clear(length);
    arf_clear(low);
    return value > 0 ? value : 0;
}

/* Norm of a 2 x 2 matrix of non-negative entries, to a few roundings also where its singular values
 * are close. */
static double norm_of_four(double a, double r, double c, double h)
{
    return (hypot(a + h, r - c) + hypot(a - h, r + c)) / 2 * margin;
}

/* centre: |G| at the middle; spread: how far entries reach from it. */
static double combine(size_t order, const double *centre, const double *spread)
{
    double row = 0, column = 0, largest = 0, rest = 0, moved = 0;

    for (size_t i = 1; i < order; i++) {
        const double in_row = centre[i] + spread[i];
        const double in_column = centre[i * order] + spread[i * order];
        row += in_row * in_row;
        column += in_column * in_column;
        largest = fmax(largest, centre[i * order + i]);
        for (size_t j = 1; j < order; j++) {
            moved += spread[i * order + j] * spread[i * order + j];
            if (i != j) rest += centre[i * order + j] * centre[i * order + j];
        }
    }
    const double h = largest + sqrt(rest) + sqrt(moved);
    return norm_of_four(centre[0] + spread[0], sqrt(row), sqrt(column), h);
}

/* Norm of a matrix of non-negative entries: ||M||^2 <= max_i (M'M p)_i / p_i for any p > 0. */
static double norm_of_moduli(size_t order, const double *M)
{
    const int steps = 40;
    double p[MOST], image[MOST], next[MOST], best = (double)INFINITY;

    for (size_t i = 0; i < order; i++) p[i] = 1;
    for (int step = 0; step < steps; step++) {
        double largest = 0, total = 0, least = (double)INFINITY;
        for (size_t i = 0; i < order; i++) {
            image[i] = next[i] = 0;
            for (size_t j = 0; j < order; j++) image[i] += M[i * order + j] * p[j];
        }
        for (size_t i = 0; i < order; i++)
            for (size_t j = 0; j < order; j++) next[j] += M[i * order + j] * image[i];
        for (size_t i = 0; i < order; i++) {
            largest = fmax(largest, next[i] / p[i]);
            least = fmin(least, next[i] / p[i]);
            total += next[i];
        }
        if (!(largest < (double)INFINITY)) return best;
        best = fmin(best, sqrt(largest) * margin);
        if (largest - least <= 1e-9 * largest || !(total > 0)) break;
        /* Away from zero, so that quotients stay finite. */
        for (size_t i = 0; i < order; i++) p[i] = next[i] / total + 1e-12;
    }
    return best;
}

/* From the entries of J as they are: for boxes too large for slopes. */
static double coarse(const tl_exact_bound *b)
{
    const size_t order = b->task->size;
    double M[MOST * MOST];

    for (size_t i = 0; i < order * order; i++) M[i] = tl_exact_above(b->over + i * b->task->jet);
    return norm_of_moduli(order, M);
}

/* first, bend: how far the entries of G reach by their slopes over the box, and by those at the
 * middle with second derivatives. Returns the coordinate that moves them most, or `split`. */
static size_t reach(tl_exact_bound *b, double *first, double *bend, size_t split)
{
    const size_t square = b->task->size * b->task->size, dim = b->task->dim;
    double half[MOST], most = -1;

    for (size_t c = 0; c < dim; c++) half[c] = mag_get_d(b->jets.half + c);
    for (size_t c = 0; c < dim; c++) {
        double size = 0;
        if (!(half[c] > 0)) continue;
        rotate(b, 1 + c);
        for (size_t i = 0; i < square; i++) {
            const double change = half[c] * tl_exact_above(b->product + i);
            first[i] += change;
            size += change * change;
        }
        rotate(b, (size_t)b->algebra.middle + 1 + c);
        for (size_t i = 0; i < square; i++) bend[i] += half[c] * tl_exact_above(b->product + i);
        for (size_t e = c; e < dim; e++) {
            rotate(b, (size_t)tl_jet_second(&b->algebra, c, e));
            for (size_t i = 0; i < square; i++)
                bend[i] += half[c] * half[e] * tl_exact_above(b->product + i) / (c == e ? 2 : 1);
        }
        if (!(size > most)) continue;
        most = size;
        if (size < (double)INFINITY) split = c;
    }
    return split;
}

void tl_exact_bound_box(tl_exact_bound *b, const double *lo, const double *hi, double *lower,
                        double *upper, size_t *split)
{
    const size_t dim = b->task->dim, order = b->task->size;
    double centre[MOST * MOST], moduli[MOST * MOST];
    double spread[MOST * MOST] = {0}, bend[MOST * MOST] = {0};

    *lower = 0;
    *upper = -(double)INFINITY;
    *split = 0;
    if (tl_exact_discarded(b->task, lo, hi)) return;
    for (size_t i = 0; i < dim; i++) /* before slopes are known: the longest side */
        if (hi[i] - lo[i] > hi[*split] - lo[*split]) *split = i;
    tl_exact_jacobian(&b->jets, lo, hi, b->over);
    *upper = fmin(coarse(b), tl_exact_apart(b->task, lo));
    if (!set_basis(b)) return;
    if (!tl_exact_may_lie_outside(b->task, lo, hi)) *lower = lower_at_middle(b);
    rotate(b, (size_t)b->algebra.middle);
    for (size_t i = 0; i < order * order; i++) centre[i] = tl_exact_above(b->product + i);
    *split = reach(b, spread, bend, *split);
    rotate(b, 0);
    for (size_t i = 0; i < order * order; i++) {
        if (bend[i] < spread[i]) spread[i] = bend[i]; /* NaN: inf times 0 */
        moduli[i] = fmin(tl_exact_above(b->product + i), (centre[i] + spread[i]) * margin);
    }
    const double u = defect(b->basis, order), w = defect(b->basis + order * order, order);
    const double fine = fmin(combine(order, centre, spread), norm_of_moduli(order, moduli));
    if (u < 1 && w < 1) *upper = fmin(*upper, fine / sqrt((1 - u) * (1 - w)) * margin);
}

double tl_exact_bound_point(tl_exact_bound *b, const double *coordinates)
{
    tl_exact_jacobian(&b->jets, coordinates, coordinates, b->over);
    return set_basis(b) ? lower_at_middle(b) : 0;
}
