/* Top singular triples in lanes: claims of linalg/top_batch.h. Reference: LAPACK. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/top_batch.h"
#include "support/draws.h"
#include "tightlip/linalg.h"

enum { LANES = 8, MOST = 40, COLS = TL_TOP_SMALL, ROOM = 64 * MOST * MOST };

/* Eight matrices and their starts; numbers of a lane stand LANES apart. */
typedef struct {
    size_t rows, cols;
    double M[LANES * MOST * MOST], v[LANES * COLS], u[LANES * MOST], sigma[LANES];
    long long used[LANES], told[LANES];
} batch;

/* What is known of one of them. */
typedef struct {
    double M[MOST * MOST], sigma[MOST], first[COLS], second[COLS];
} matrix;

static double next(gsl_rng *rng)
{
    return gsl_rng_uniform(rng) - 0.5;
}

/* Singular values 1, second, then less; the vectors and values that LAPACK sees. */
static void draw(gsl_rng *rng, size_t rows, size_t cols, double second, matrix *m)
{
    double u[MOST * MOST], s[MOST], vt[MOST * MOST], copy[MOST * MOST];
    const size_t k = rows < cols ? rows : cols;
    for (size_t i = 0; i < rows * cols; i++) m->M[i] = next(rng);
    cr_assert_eq(tl_svd_full(rows, cols, m->M, u, s, vt), TL_OK);
    for (size_t i = 0; i < k; i++) s[i] = i == 0 ? 1.0 : second * pow(0.7, (double)(i - 1));
    memset(m->M, 0, sizeof m->M);
    for (size_t i = 0; i < rows; i++)
        for (size_t r = 0; r < k; r++)
            for (size_t j = 0; j < cols; j++)
                m->M[i * cols + j] += u[i * k + r] * s[r] * vt[r * cols + j];
    memcpy(copy, m->M, rows * cols * sizeof *copy);
    cr_assert_eq(tl_svd_full(rows, cols, copy, u, m->sigma, vt), TL_OK);
    memcpy(m->first, vt, cols * sizeof *vt);
    memcpy(m->second, vt + (k > 1 ? cols : 0), cols * sizeof *vt);
}

static void put(batch *b, size_t lane, const matrix *m, const double *start)
{
    for (size_t i = 0; i < b->rows * b->cols; i++) b->M[LANES * i + lane] = m->M[i];
    for (size_t j = 0; j < b->cols; j++) b->v[LANES * j + lane] = start ? start[j] : 0.0;
    b->used[lane] = -1;
}

static void run(batch *b)
{
    static const wide8 blank = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    wide8 work[ROOM / LANES];
    const size_t room = tl_top_batch_room(b->cols);
    cr_assert_leq(room, sizeof work / sizeof *work);
    for (size_t i = 0; i < room; i++) work[i] = blank;
    tl_top_batch(b->rows, b->cols, (const wide8 *)b->M, (const wide8l *)b->used, (wide8 *)b->u,
                 (wide8 *)b->v, (wide8 *)b->sigma, (wide8l *)b->told, work);
}

/* Distance of the lane's v from the top vector, either sign. */
static double turned(const batch *b, size_t lane, const matrix *m)
{
    double along = 0, off = 0;
    for (size_t j = 0; j < b->cols; j++) along += b->v[LANES * j + lane] * m->first[j];
    for (size_t j = 0; j < b->cols; j++)
        off += pow(b->v[LANES * j + lane] - along * m->first[j], 2);
    return sqrt(off);
}

/* |M v - sigma u| */
static double missed(const batch *b, size_t lane, const matrix *m)
{
    double square = 0;
    for (size_t i = 0; i < b->rows; i++) {
        double sum = -b->sigma[lane] * b->u[LANES * i + lane];
        for (size_t j = 0; j < b->cols; j++) sum += m->M[i * b->cols + j] * b->v[LANES * j + lane];
        square += sum * sum;
    }
    return sqrt(square);
}

/* A lane that is told is right; gap: of the squares of the values. */
static void judge(const batch *b, size_t lane, const matrix *m, const char *what)
{
    const double off = b->sigma[lane] / m->sigma[0] - 1;
    const size_t least = b->rows < b->cols ? b->rows : b->cols;
    const double below = least > 1 ? m->sigma[1] / m->sigma[0] : 0, gap = 1 - below * below;
    cr_expect(b->told[lane] == 0 || b->told[lane] == -1);
    if (!b->told[lane]) return;
    cr_expect(fabs(off) <= (gap > 1e-3 ? 1e-14 * (double)(b->rows + b->cols) : 1e-10),
              "%s, %zu x %zu, second %g: off by %g", what, b->rows, b->cols, below, off);
    cr_expect(missed(b, lane, m) <= 1e-14 * m->sigma[0]);
    if (gap > 1e-3)
        cr_expect(turned(b, lane, m) <= 1.1e-11 + 1e-14 / gap,
                  "%s, %zu x %zu, second %g: turned %g", what, b->rows, b->cols, below,
                  turned(b, lane, m));
}

static const size_t sizes[][2] = {{1, 1},  {2, 2},   {2, 1}, {3, 2},   {3, 3},   {2, 3},
                                  {4, 4},  {5, 7},   {8, 8}, {9, 12},  {6, 6},   {16, 16},
                                  {3, 17}, {24, 20}, {7, 5}, {40, 32}, {32, 32}, {31, 30}};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Of the top vector: near, cold, orthogonal to it, on it. */
static const double *start_of(gsl_rng *rng, size_t cols, int kind, const matrix *m, double *start)
{
    static const double near[] = {1e-3, 1e-2, 1e-6, 0.1, 1e-14};
    const size_t which = (size_t)kind % 8;
    for (size_t j = 0; j < cols; j++)
        start[j] = which < 5    ? m->first[j] + near[which] * next(rng)
                   : which == 6 ? m->second[j]
                                : next(rng);
    return which == 5 ? NULL : start;
}

Test(top_batch, is_right_where_it_tells)
{
    static const double seconds[] = {0.0, 0.3, 0.5, 0.9, 0.99, 1 - 1e-7, 1 - 1e-13, 1.0};
    gsl_rng *rng = draw_stream(960);
    static batch b;
    static matrix m[LANES];
    double start[COLS];
    for (int draws = 0; draws < draw_count(6); draws++)
        for (size_t c = 0; c < SIZES; c++)
            for (size_t g = 0; g < sizeof seconds / sizeof *seconds; g++) {
                b.rows = sizes[c][0];
                b.cols = sizes[c][1];
                for (int l = 0; l < LANES; l++) {
                    draw(rng, b.rows, b.cols, seconds[g], &m[l]);
                    put(&b, (size_t)l, &m[l], start_of(rng, b.cols, l, &m[l], start));
                }
                run(&b);
                for (size_t l = 0; l < LANES; l++) {
                    judge(&b, l, &m[l], l == 6 ? "second" : l == 5 ? "cold" : "near");
                    if ((l < 3 && seconds[g] < 0.995) || b.cols <= 2)
                        cr_expect(b.told[l], "%zu x %zu, second %g, lane %zu", b.rows, b.cols,
                                  seconds[g], l);
                }
            }
    gsl_rng_free(rng);
}
