/* Small decompositions, one and several side by side. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/draws.h"
#include "tightlip/linalg.h"

enum { MOST = TL_SVD_SMALL * TL_SVD_SMALL, DRAWS = 300 };

enum { SHAPES = 8 };

/* Dense, of low rank, with equal singular values, zero, tiny, huge, of rows far apart in size, and
 * of any size in turn. */
static void draw_matrix(gsl_rng *rng, size_t d, int shape, double *a)
{
    const double any = pow(10, 300 * gsl_rng_uniform(rng) - 150);
    const double size = shape == 4 ? 1e-300 : shape == 5 ? 1e300 : shape == 7 ? any : 1;
    for (size_t i = 0; i < d * d; i++) a[i] = size * draw_entry(rng);
    for (size_t i = 0; shape == 6 && i < d * d; i++)
        a[i] *= pow(10, -30 * (double)((i / d * 5 + 3) % d));
    if (shape == 1)
        for (size_t i = 1; i < d; i++)
            for (size_t j = 0; j < d; j++) a[i * d + j] = (double)(i % 3) * a[j];
    if (shape == 2)
        for (size_t i = 0; i < d * d; i++) a[i] = i % (d + 1) == 0 ? -1 : 0;
    if (shape == 3) memset(a, 0, d * d * sizeof *a);
}

/* Largest deviation of x x' from the identity. */
static double defect(size_t d, const double *x)
{
    double worst = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            double sum = i == j ? -1 : 0;
            for (size_t r = 0; r < d; r++) sum += x[i * d + r] * x[j * d + r];
            worst = fmax(worst, fabs(sum));
        }
    return worst;
}

/* Of the factors of a, in units of rounding. */
static double svd_error(size_t d, const double *a, const double *ut, const double *sigma,
                        const double *vt)
{
    double lapack[TL_SVD_SMALL];
    if (tl_svd_dense(d, d, a, lapack, NULL, NULL)) return HUGE_VAL;
    const double unit = 16 * (double)d * DBL_EPSILON;
    double worst = fmax(defect(d, ut), defect(d, vt)) / unit;
    for (size_t i = 0; i < d; i++) {
        if (i && sigma[i] > sigma[i - 1]) return HUGE_VAL;
        if (lapack[0] > 0) worst = fmax(worst, fabs(sigma[i] - lapack[i]) / lapack[0] / unit);
        for (size_t j = 0; j < d; j++) {
            double sum = 0;
            for (size_t k = 0; k < d; k++) sum += ut[k * d + i] * sigma[k] * vt[k * d + j];
            if (lapack[0] > 0)
                worst = fmax(worst, fabs(sum - a[i * d + j]) / lapack[0] / unit);
            else
                worst = fmax(worst, fabs(sum));
        }
    }
    return isnan(worst) ? HUGE_VAL : worst;
}

/* Decomposed from near, or NULL; ut: the left factor. */
static double error_from(size_t d, const double *a, const double *near, double *ut)
{
    double sigma[TL_SVD_SMALL], vt[MOST];
    if (tl_svd_small(d, a, near, ut, sigma, vt)) return HUGE_VAL;
    return svd_error(d, a, ut, sigma, vt);
}

Test(linalg_svd, factors_every_matrix)
{
    gsl_rng *rng = draw_stream(11);
    double a[MOST], u[MOST];
    for (size_t d = 1; d <= TL_SVD_SMALL; d++)
        for (int i = 0; i < DRAWS; i++) {
            draw_matrix(rng, d, i % SHAPES, a);
            const double error = error_from(d, a, NULL, u);
            cr_assert(error <= 1, "d = %zu, shape %d: error %g units", d, i % SHAPES, error);
        }
    gsl_rng_free(rng);
}

/* From u of the matrix before, in place, a step away: rounding does not add up. */
Test(linalg_svd, walks)
{
    static const double steps[] = {1e-1, 1e-3, 1e-6, 1e-10, 1e-14, 0};
    gsl_rng *rng = draw_stream(14);
    double a[MOST], u[MOST];
    for (size_t d = 1; d <= TL_SVD_SMALL; d++)
        for (int shape = 0; shape < SHAPES; shape++) {
            draw_matrix(rng, d, shape, a);
            double largest = 0;
            for (size_t e = 0; e < d * d; e++) largest = fmax(largest, fabs(a[e]));
            memset(u, 0, sizeof u);
            for (int i = 0; i < draw_count(200); i++) {
                const double error = error_from(d, a, u, u);
                cr_assert(error <= 1, "d = %zu, shape %d, step %d: %g units", d, shape, i, error);
                for (size_t e = 0; e < d * d; e++)
                    a[e] += steps[i % 6] * largest * (gsl_rng_uniform(rng) - 0.5);
            }
        }
    gsl_rng_free(rng);
}

enum { TOGETHER = 19 };

/* Matrices side by side, and where their factors go. */
typedef struct {
    double a[TOGETHER][MOST], ut[TOGETHER][MOST], sigma[TOGETHER][TL_SVD_SMALL];
    double vt[TOGETHER][MOST];
    tl_svd_case of[TOGETHER];
} together;

static void together_init(together *t)
{
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < TOGETHER; i++)
        t->of[i] = (tl_svd_case){t->a[i], t->ut[i], t->ut[i], t->sigma[i], t->vt[i], TL_ERR_LIMIT};
}

/* Of every shape and every number side by side, each from what the one before it in its place left:
 * a matrix nearby, or another; rounding does not add up. */
Test(linalg_svd, factors_side_by_side)
{
    static const double steps[] = {1e-1, 1e-3, 1e-6, 1e-10, 1e-14, 0};
    static together t;
    gsl_rng *rng = draw_stream(17);
    for (size_t d = 1; d <= TL_SVD_SMALL; d++)
        for (size_t count = 1; count <= TOGETHER; count++) {
            together_init(&t);
            for (int k = 0; k < draw_count(24); k++) {
                for (size_t i = 0; i < count; i++) {
                    double largest = 0;
                    for (size_t e = 0; e < d * d; e++) largest = fmax(largest, fabs(t.a[i][e]));
                    if (k % 12 == 0) draw_matrix(rng, d, (int)(i + count) % SHAPES, t.a[i]);
                    for (size_t e = 0; k % 12 && e < d * d; e++)
                        t.a[i][e] += steps[k % 6] * largest * (gsl_rng_uniform(rng) - 0.5);
                }
                tl_svd_small_all(d, count, t.of);
                for (size_t i = 0; i < count; i++) {
                    const double error = svd_error(d, t.a[i], t.ut[i], t.sigma[i], t.vt[i]);
                    cr_assert_eq(t.of[i].status, TL_OK);
                    cr_assert(error <= 1, "d = %zu, %zu of %zu, step %d: %g units", d, i, count, k,
                              error);
                }
            }
        }
    gsl_rng_free(rng);
}

/* Neither the others, of those that lanes take, nor the place make a difference: to no bit. */
Test(linalg_svd, side_by_side_is_of_each_alone)
{
    static together t;
    gsl_rng *rng = draw_stream(18);
    for (size_t d = 2; d <= TL_SVD_SMALL; d++)
        for (int k = 0; k < draw_count(200); k++) {
            double a[MOST], near[MOST], ut[MOST] = {0}, vt[MOST] = {0}, sigma[TL_SVD_SMALL] = {0};
            draw_matrix(rng, d, k % SHAPES, a);
            cr_assert_eq(tl_svd_small(d, a, NULL, near, sigma, vt), TL_OK);
            for (size_t e = 0; e < d * d; e++) a[e] *= 1 + 1e-3 * draw_entry(rng);
            for (int company = 0; company < 3; company++) {
                const size_t count = 8 * (1 + draw_below(rng, TOGETHER / 8));
                const size_t place = draw_below(rng, count);
                together_init(&t);
                for (size_t i = 0; i < count; i++)
                    draw_matrix(rng, d, (int)draw_below(rng, 3), t.a[i]);
                memcpy(t.a[place], a, sizeof a);
                memcpy(t.ut[place], near, sizeof near);
                tl_svd_small_all(d, count, t.of);
                if (company) {
                    cr_assert(!memcmp(ut, t.ut[place], d * d * sizeof *ut));
                    cr_assert(!memcmp(vt, t.vt[place], d * d * sizeof *vt));
                    cr_assert(!memcmp(sigma, t.sigma[place], d * sizeof *sigma));
                }
                memcpy(ut, t.ut[place], sizeof ut);
                memcpy(vt, t.vt[place], sizeof vt);
                memcpy(sigma, t.sigma[place], sizeof sigma);
            }
        }
    gsl_rng_free(rng);
}

/* What is not near to orthogonal is no start, and makes no difference. */
Test(linalg_svd, ignores_what_is_no_start)
{
    gsl_rng *rng = draw_stream(15);
    for (size_t d = 1; d <= TL_SVD_SMALL; d++)
        for (int i = 0; i < DRAWS; i++) {
            double a[MOST], near[MOST], u[MOST], v[MOST], s[TL_SVD_SMALL];
            double u_2[MOST], v_2[MOST], s_2[TL_SVD_SMALL];
            draw_matrix(rng, d, i % SHAPES, a);
            cr_assert_eq(tl_svd_small(d, a, NULL, u, s, v), TL_OK);
            memcpy(near, u, sizeof near);
            near[draw_below(rng, d * d)] += i % 3 ? 1e-6 : i % 2 ? (double)NAN : HUGE_VAL;
            cr_assert_eq(tl_svd_small(d, a, near, u_2, s_2, v_2), TL_OK);
            cr_expect(!memcmp(u, u_2, d * d * sizeof *u) && !memcmp(v, v_2, d * d * sizeof *v) &&
                      !memcmp(s, s_2, d * sizeof *s));
        }
    gsl_rng_free(rng);
}

static double farthest(size_t count, const double *x, const double *y)
{
    double far = 0;
    for (size_t i = 0; i < count; i++) far = fmax(far, fabs(x[i] - y[i]));
    return far;
}

/* A power of two scales singular values and leaves the rest, on either side of where squares are
 * scaled. */
Test(linalg_svd, is_the_same_at_every_scale)
{
    static const int powers[] = {-900, -130, -68, -66, -64, -1, 3, 64, 66, 68, 130, 900};
    gsl_rng *rng = draw_stream(13);
    for (size_t d = 1; d <= TL_SVD_SMALL; d++)
        for (int i = 0; i < DRAWS; i++) {
            double a[MOST], u[MOST], sigma[TL_SVD_SMALL], vt[MOST];
            double u_2[MOST], sigma_2[TL_SVD_SMALL], vt_2[MOST];
            draw_matrix(rng, d, i % 4, a);
            cr_assert_eq(tl_svd_small(d, a, NULL, u, sigma, vt), TL_OK);
            const int power = powers[(size_t)i % (sizeof powers / sizeof *powers)];
            for (size_t e = 0; e < d * d; e++) a[e] = ldexp(a[e], power);
            cr_assert_eq(tl_svd_small(d, a, NULL, u_2, sigma_2, vt_2), TL_OK);
            for (size_t e = 0; e < d; e++) sigma_2[e] = ldexp(sigma_2[e], -power);
            cr_assert_lt(farthest(d * d, u, u_2), DBL_EPSILON, "d = %zu, 2^%d", d, power);
            cr_assert_lt(farthest(d * d, vt, vt_2), DBL_EPSILON, "d = %zu, 2^%d", d, power);
            cr_assert_leq(farthest(d, sigma, sigma_2), DBL_EPSILON * sigma[0]);
        }
    gsl_rng_free(rng);
}

Test(linalg_svd, refuses)
{
    double a[4] = {1, 2, (double)NAN, 3}, u[4], sigma[2], vt[4];
    cr_assert_eq(tl_svd_small(2, a, NULL, u, sigma, vt), TL_ERR_NUMERIC);
    cr_assert_eq(tl_svd_small(1, a + 2, NULL, u, sigma, vt), TL_ERR_NUMERIC);
    cr_assert_eq(tl_svd_small(TL_SVD_SMALL + 1, a, NULL, u, sigma, vt), TL_ERR_LIMIT);
}

Test(linalg_svd, side_by_side_refuses_those_that_are_no_numbers)
{
    static together t;
    together_init(&t);
    for (size_t i = 0; i < TOGETHER; i++)
        for (size_t e = 0; e < 4; e++)
            t.a[i][e] = i % 5 == 3 && e == 2 ? (double)NAN : 1.0 + (double)e;
    tl_svd_small_all(2, TOGETHER, t.of);
    for (size_t i = 0; i < TOGETHER; i++) {
        cr_assert_eq(t.of[i].status, i % 5 == 3 ? TL_ERR_NUMERIC : TL_OK);
        if (i % 5 != 3) cr_assert_lt(svd_error(2, t.a[i], t.ut[i], t.sigma[i], t.vt[i]), 1);
    }
    tl_svd_small_all(TL_SVD_SMALL + 1, TOGETHER, t.of);
    for (size_t i = 0; i < TOGETHER; i++) cr_assert_eq(t.of[i].status, TL_ERR_LIMIT);
}

/* Lanes that are done turn on by nothing while others still move: no sign of a zero shows it. */
Test(linalg_svd, side_by_side_tells_no_signs_of_zeros)
{
    static const double shift[9] = {-0.0, 1, 0, -0.0, 0, 1, -0.0, 0, 0};
    static const double slow[9] = {1, 2, 3, 4, 5, 6, 7, 8, 10};
    static together t[2];
    for (size_t k = 0; k < 2; k++) {
        together_init(&t[k]);
        for (size_t i = 0; i < 8; i++) memcpy(t[k].a[i], i && k ? slow : shift, sizeof shift);
        tl_svd_small_all(3, 8, t[k].of);
    }
    cr_assert(!memcmp(t[0].ut[0], t[1].ut[0], sizeof shift));
    cr_assert(!memcmp(t[0].vt[0], t[1].vt[0], sizeof shift));
}
