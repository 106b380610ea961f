/* One-sided Jacobi as in svd_small.c, a matrix in each lane: no rotation waits for a sum over
 * lanes, and eight share roots and divisions. Lanes that are done stay as they are, but for signs
 * of zeros, which are dropped in the end. */
#include <float.h>

#include "linalg/lanes_rows.h"
#include "linalg/svd_small.h"
#include "linalg/vector.h"
#include "tightlip/linalg.h"

#pragma STDC FP_CONTRACT ON

enum { LANES_OF_SVD = 8, ENTRIES = TL_SVD_SMALL * TL_SVD_SMALL };

/* Rows of eight matrices each. */
typedef struct {
    const double *a[LANES_OF_SVD], *near[LANES_OF_SVD];
    double *ut[LANES_OF_SVD], *sigma[LANES_OF_SVD], *vt[LANES_OF_SVD];
} svd_rows;

/* Row i of W = U'A and behind it that of U', beginning at the orthogonal matrix next to near where
 * that is near: a step of Newton (Schulz 1933). */
WIDE_BODY void begin(size_t d, const wide8 *A, const wide8 *near, wide8 *rows)
{
    const wide8 zero = {0}, one = 1.0 - zero;
    const size_t step = 2 * d;
    wide8 turn[ENTRIES];
    wide8l far = {0};
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            const wide8 own = i == j ? one : zero;
            wide8 off;
            lanes_product(d, near + i * d, near + j * d, &off);
            off -= own;
            far |= ~((off <= SVD_NEAR - zero) & (off >= -SVD_NEAR - zero));
            turn[i * d + j] = turn[j * d + i] = own - 0.5 * off;
        }
    for (size_t i = 0; i < d; i++) {
        wide8 *W = rows + i * step, *V = W + d;
        for (size_t r = 0; r < d; r++) {
            const wide8 own = i == r ? one : zero;
            wide8 sum = zero;
            for (size_t j = 0; j < d; j++) sum += turn[i * d + j] * near[j * d + r];
            wide_choose(&far, &own, &sum, &V[r]);
        }
        for (size_t r = 0; r < d; r++) {
            wide8 sum = V[0] * A[r];
            for (size_t j = 1; j < d; j++) sum += V[j] * A[j * d + r];
            W[r] = sum;
        }
    }
}

/* Makes two rows of W orthogonal in the lanes of going; moved: and where that may undo what was
 * done with others. */
WIDE_BODY void orthogonalise(size_t d, const wide8l *going, wide8 *x, wide8 *y, wide8l *moved)
{
    const wide8 zero = {0}, one = 1.0 - zero;
    wide8 xx, yy, xy, size, sine;
    lanes_product(d, x, x, &xx);
    lanes_product(d, y, y, &yy);
    lanes_product(d, x, y, &xy);
    const wide8 twice = 2.0 * xy, apart = yy - xx, other = -apart, back = -twice;
    const wide8 square = twice * twice + apart * apart, both = xx * yy, across = xy * xy;
    const wide8l turned = *going & (across > DBL_EPSILON * DBL_EPSILON * both) &
                          (square >= DBL_MIN - zero),
                 up = apart >= zero;
    wide8 root = square;
    lanes_root(&root);
    wide_choose(&up, &apart, &other, &size);
    wide_choose(&up, &twice, &back, &sine);
    const wide8 sum = size + root, inverse = 1.0 / (2.0 * root * sum);
    wide8 c = sum * sum * inverse, s;
    lanes_root(&c);
    s = c * (2.0 * root * inverse * sine);
    const wide8 little = SVD_SMALL * SVD_SMALL * both;
    *moved |= turned & ~((s * s <= SVD_SMALL * SVD_SMALL - zero) & (across <= little));
    wide_choose(&turned, &c, &one, &c);
    wide_choose(&turned, &s, &zero, &s);
    for (size_t r = 0; r < 2 * d; r++) {
        const wide8 x_r = x[r], y_r = y[r];
        x[r] = c * x_r - s * y_r;
        y[r] = s * x_r + c * y_r;
    }
}

WIDE_BODY void sweep(size_t d, wide8 *rows)
{
    const size_t odd = svd_rounds(d), step = 2 * d;
    wide8l going = ~(wide8l){0};
    for (int round = 0; round < SVD_SWEEPS && wide_any(&going); round++) {
        wide8l moved = {0};
        for (size_t r = 0; r < odd; r++) {
            if (odd < d) orthogonalise(d, &going, rows + r * step, rows + odd * step, &moved);
            for (size_t k = 1; k <= odd / 2; k++) {
                const size_t i = svd_first(odd, r, k), j = svd_second(odd, r, k);
                orthogonalise(d, &going, rows + i * step, rows + j * step, &moved);
            }
        }
        going = moved;
    }
}

/* Exchanged in the lanes of mask. */
WIDE_BODY void swap(size_t count, const wide8l *mask, wide8 *x, wide8 *y)
{
    for (size_t r = 0; r < count; r++) {
        const wide8 held = x[r];
        wide_choose(mask, &y[r], &held, &x[r]);
        wide_choose(mask, &held, &y[r], &y[r]);
    }
}

WIDE_BODY void decompose(size_t d, const svd_rows *m)
{
    const size_t step = 2 * d;
    wide8 A[ENTRIES], near[ENTRIES], rows[2 * ENTRIES], sigma[TL_SVD_SMALL];
    lanes_gather(d * d, m->a, A);
    lanes_gather(d * d, m->near, near);
    begin(d, A, near, rows);
    sweep(d, rows);
    for (size_t i = 0; i < d; i++) {
        lanes_product(d, rows + i * step, rows + i * step, &sigma[i]);
        lanes_root(&sigma[i]);
    }
    for (size_t i = 0; i < d; i++) {
        for (size_t j = i + 1; j < d; j++) {
            const wide8l more = sigma[j] > sigma[i];
            if (!wide_any(&more)) continue;
            swap(1, &more, sigma + i, sigma + j);
            swap(step, &more, rows + i * step, rows + j * step);
        }
        const wide8 inverse = 1.0 / sigma[i], *W = rows + i * step;
        for (size_t r = 0; r < d; r++) {
            A[i * d + r] = W[r] * inverse + 0.0;
            near[i * d + r] = W[d + r] + 0.0;
        }
    }
    lanes_scatter(d * d, near, m->ut);
    lanes_scatter(d, sigma, m->sigma);
    lanes_scatter(d * d, A, m->vt);
}

WIDE_BODY void decomposed_body(size_t d, const svd_rows *m)
{
    LANES_BY_SIZE(d, decompose, m);
}
WIDE_VARIANTS(decomposed, (size_t d, const svd_rows *m), (d, m))

/* Those of list, count of them; other lanes do the first once more, for nobody. */
static void in_lanes(size_t d, size_t count, tl_svd_case *const *list)
{
    double nobody[2 * ENTRIES + TL_SVD_SMALL] = {0};
    svd_rows m;
    for (size_t l = 0; l < LANES_OF_SVD; l++) {
        const tl_svd_case *c = list[l < count ? l : 0];
        m.a[l] = c->a;
        m.near[l] = c->near;
        m.ut[l] = l < count ? c->ut : nobody;
        m.vt[l] = l < count ? c->vt : nobody + ENTRIES;
        m.sigma[l] = l < count ? c->sigma : nobody + 2 * ENTRIES;
    }
    WIDE_CALL(decomposed, (d, &m));
    for (size_t l = 0; l < count; l++)
        for (size_t i = 0; i < d; i++)
            if (!(list[l]->sigma[i] > DBL_EPSILON * list[l]->sigma[0]))
                tl_svd_complete(d, i, list[l]->vt);
}

static void one(size_t d, tl_svd_case *c)
{
    c->status = tl_svd_small(d, c->a, c->near, c->ut, c->sigma, c->vt);
}

/* Fewer matrices are faster one by one; of no width of vectors, so that all come to the same. */
static size_t least_lanes(size_t d)
{
    return d <= 5 ? 3 : 4;
}

void tl_svd_small_all(size_t d, size_t count, tl_svd_case *c)
{
    tl_svd_case *list[LANES_OF_SVD];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const double square = d <= TL_SVD_SMALL ? vec_dot(d * d, c[i].a, c[i].a) : 0.0;
        c[i].status = TL_OK;
        if (d > 1 && square >= SVD_LEAST && square <= 1.0 / SVD_LEAST)
            list[used++] = &c[i];
        else
            one(d, &c[i]);
        if (used == LANES_OF_SVD || (i + 1 == count && used >= least_lanes(d))) {
            in_lanes(d, used, list);
            used = 0;
        }
    }
    for (size_t i = 0; i < used; i++) one(d, list[i]);
}
