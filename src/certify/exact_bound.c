/* Bounds of ||J|| over a box: a mean value form in the basis of singular vectors at the middle.
 *
 * With U, W near the singular vectors there, G(x) = U'J(x)W has entries G(c) + sum_i r_i [-1, 1]
 * (U' d_i J W over the box), and ||J|| <= ||G|| / sqrt((1 - |U'U - I|)(1 - |W'W - I|)). The norm of
 * [[a, r'], [c, H]] is at most that of the 2 x 2 matrix of |a|, |r|, |c|, ||H||. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "certify/exact.h"
#include "tightlip/linalg.h"

enum { PREC = TL_EXACT_BITS, MOST = TL_EXACT_COORDINATES };

/* Covers the sums and products of non-negative doubles at the end. */
static const double margin = 1 + 256 * DBL_EPSILON;

struct tl_exact_bound {
    const tl_exact_task *task;
    tl_exact_jets jets;
    arb_ptr over, middle;         /* order^2 jets each: over the box, at its middle */
    arb_ptr basis, half, product; /* U and W as balls; order^2 each */
};

void tl_exact_bound_free(tl_exact_bound *b)
{
    if (!b) return;
    const slong square = (slong)(b->task->size * b->task->size), size = (slong)(1 + b->task->dim);
    tl_exact_jets_clear(&b->jets);
    if (b->over) _arb_vec_clear(b->over, square * size);
    if (b->middle) _arb_vec_clear(b->middle, square * size);
    if (b->basis) _arb_vec_clear(b->basis, 4 * square);
    free(b);
}

bool tl_exact_bound_alloc(tl_exact_bound **out, const tl_exact_task *task)
{
    const slong square = (slong)(task->size * task->size), size = (slong)(1 + task->dim);
    tl_exact_bound *b = calloc(1, sizeof *b);

    *out = b;
    if (!b) return false;
    b->task = task;
    b->over = _arb_vec_init(square * size);
    b->middle = _arb_vec_init(square * size);
    b->basis = _arb_vec_init(4 * square);
    b->half = b->basis + 2 * square;
    b->product = b->half + square;
    if (tl_exact_jets_init(&b->jets, task) && b->over && b->middle && b->basis) return true;
    tl_exact_bound_free(b);
    *out = NULL;
    return false;
}

/* Largest modulus, rounded up. */
static double above(const arb_t x)
{
    arf_t bound;
    double value;

    arf_init(bound);
    arb_get_abs_ubound_arf(bound, x, PREC);
    value = arf_get_d(bound, ARF_RND_UP);
    arf_clear(bound);
    return isnan(value) ? (double)INFINITY : value;
}

/* product = U' M W for the jets' component k; M order x order with jets of `size`. */
static void rotate(tl_exact_bound *b, arb_srcptr M, size_t component)
{
    const size_t order = b->task->size, size = 1 + b->task->dim;
    arb_srcptr U = b->basis, W = U + order * order;

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
            const double entry = above(z);
            sum += entry * entry;
        }
    arb_clear(z);
    return sqrt(sum) * margin;
}

/* U and W from a singular value decomposition of J at the middle; false when it fails. */
static bool set_basis(tl_exact_bound *b)
{
    const size_t order = b->task->size, size = 1 + b->task->dim;
    double J[MOST * MOST], u[MOST * MOST], sigma[MOST], vt[MOST * MOST];

    for (size_t i = 0; i < order * order; i++) {
        J[i] = arf_get_d(arb_midref(b->middle + i * size), ARF_RND_NEAR);
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
    const size_t order = b->task->size, size = 1 + b->task->dim;
    arb_srcptr W = b->basis + order * order;
    arb_t image, square, length;
    arf_t low;

    arb_init(image);
    arb_init(square);
    arb_init(length);
    arf_init(low);
    for (size_t i = 0; i < order; i++) {
        arb_zero(image);
        for (size_t j = 0; j < order; j++)
            arb_addmul(image, b->middle + (i * order + j) * size, W + j * order, PREC);
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

/* Norm of a 2 x 2 matrix of non-negative entries. */
static double norm_of_four(double a, double r, double c, double h)
{
    const double square = a * a + r * r + c * c + h * h, det = fabs(a * h - r * c);

    return sqrt((square + sqrt(fmax(square - 2 * det, 0) * (square + 2 * det))) / 2) * margin;
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

/* Row and column sums of largest moduli: for boxes too large for slopes. */
static double coarse(const tl_exact_bound *b)
{
    const size_t order = b->task->size, size = 1 + b->task->dim;
    double rows[MOST] = {0}, columns[MOST] = {0}, row = 0, column = 0;

    for (size_t i = 0; i < order; i++)
        for (size_t j = 0; j < order; j++) {
            const double entry = above(b->over + (i * order + j) * size);
            rows[i] += entry;
            columns[j] += entry;
        }
    for (size_t i = 0; i < order; i++) {
        row = fmax(row, rows[i]);
        column = fmax(column, columns[i]);
    }
    return sqrt(row * column) * margin;
}

/* No input of the box counts: outside the cone of representatives of the symmetries. */
static bool discarded(const tl_exact_task *task, const double *lo, const double *hi)
{
    const size_t step = task->d;
    double sum = 0;

    for (size_t i = 0; (i + 1) * step < task->dim; i++)
        if (hi[i * step] < lo[(i + 1) * step]) return true;
    if (task->centred && task->n > 2 && hi[task->dim - 1] < -hi[0]) return true;
    if (task->d > 1 || !task->odd) return false;
    /* Centred, the first and the last cancel. */
    for (size_t i = task->centred ? 1 : 0; i < task->dim; i++) sum += hi[i];
    return sum < -4 * DBL_EPSILON * (double)task->n * task->radius;
}

void tl_exact_bound_box(tl_exact_bound *b, const double *lo, const double *hi, double *lower,
                        double *upper, size_t *split)
{
    const size_t dim = b->task->dim, order = b->task->size;
    double middle[MOST], centre[MOST * MOST], spread[MOST * MOST] = {0}, most = -1;

    *lower = 0;
    *upper = -(double)INFINITY;
    *split = 0;
    if (discarded(b->task, lo, hi)) return;
    for (size_t i = 0; i < dim; i++) middle[i] = lo[i] + (hi[i] - lo[i]) / 2;
    tl_exact_jacobian(&b->jets, lo, hi, b->over);
    tl_exact_jacobian(&b->jets, middle, middle, b->middle);
    *upper = coarse(b);
    for (size_t i = 0; i < dim; i++) /* before slopes are known: the longest side */
        if (hi[i] - lo[i] > hi[*split] - lo[*split]) *split = i;
    if (!set_basis(b)) return;
    *lower = lower_at_middle(b);
    rotate(b, b->middle, 0);
    for (size_t i = 0; i < order * order; i++) centre[i] = above(b->product + i);
    for (size_t k = 0; k < dim; k++) {
        const double half = fmax(hi[k] - middle[k], middle[k] - lo[k]);
        double size = 0;
        if (!(half > 0)) continue;
        rotate(b, b->over, 1 + k);
        for (size_t i = 0; i < order * order; i++) {
            const double change = half * above(b->product + i);
            spread[i] += change;
            size += change * change;
        }
        if (!(size > most)) continue;
        most = size;
        if (size < (double)INFINITY) *split = k;
    }
    const double u = defect(b->basis, order), w = defect(b->basis + order * order, order);
    const double fine = combine(order, centre, spread) / sqrt((1 - u) * (1 - w)) * margin;
    *upper = fmin(*upper, fine);
}

double tl_exact_bound_point(tl_exact_bound *b, const double *coordinates)
{
    tl_exact_jacobian(&b->jets, coordinates, coordinates, b->middle);
    return set_basis(b) ? lower_at_middle(b) : 0;
}
