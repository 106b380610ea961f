/* Top singular triples in lanes: claims of linalg/top_batch.h. Reference: LAPACK. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/top_batch.h"
#include "linalg/top_lanes_batch.h"
#include "support/draws.h"
#include "support/unit_triples.h"
#include "support/wide_variants.h"
#include "tightlip/linalg.h"

enum { LANES = 8, MOST = 40, COLS = TL_TOP_SMALL, ROOM = 2048 };

/* Eight matrices and their starts; numbers of a lane stand LANES apart. */
typedef struct {
    size_t rows, cols;
    _Alignas(64) double M[LANES * MOST * MOST], v[LANES * COLS], u[LANES * MOST];
    wide8 sigma, weight;
    wide8l used, told;
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
    const size_t cols = b->cols, stride = tl_top_batch_stride(cols);
    for (size_t i = 0; i < b->rows * cols; i++)
        b->M[LANES * (i / cols * stride + i % cols) + lane] = m->M[i];
    for (size_t j = 0; j < b->cols; j++) b->v[LANES * j + lane] = start ? start[j] : 0.0;
    b->used[lane] = -1;
}

#define PARAMETERS                                                                         \
    (size_t rows, size_t cols, const wide8 *M, const wide8l *used, size_t least, wide8 *u, \
     wide8 *v, wide8 *weight, wide8 *top, wide8l *told, wide8 *work)
typedef void method PARAMETERS;

WIDE_BODY void triples_body PARAMETERS
{
    lanes_batch(rows, cols, M, used, least, u, v, weight, top, told, work);
}
WIDE_VARIANTS(triples, PARAMETERS, (rows, cols, M, used, least, u, v, weight, top, told, work))

/* work begins as what a sum would show. */
static void run_by(method *by, batch *b)
{
    static wide8 work[ROOM];
    cr_assert_leq(tl_top_batch_room(b->cols), (size_t)ROOM);
    for (size_t i = 0; i < ROOM; i++) work[i] = (wide8){0} + (double)NAN;
    by(b->rows, b->cols, (const wide8 *)b->M, &b->used, 1, (wide8 *)b->u, (wide8 *)b->v, &b->weight,
       &b->sigma, &b->told, work);
    unit_triples(b->rows, b->cols, (wide8 *)b->u, (wide8 *)b->v, &b->weight, &b->sigma);
    cr_expect(isnan(work[tl_top_batch_room(b->cols)][0]), "more work than tl_top_batch_room");
}

static void run(batch *b)
{
    run_by(tl_top_batch, b);
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

Test(top_batch, is_right_where_it_tells_in_every_width)
{
    static const double seconds[] = {0.0, 0.3, 0.5, 0.9, 0.99, 1 - 1e-7, 1 - 1e-13, 1.0};
    gsl_rng *rng = draw_stream(960);
    static batch b;
    static matrix m[LANES];
    double start[COLS];
    method *list[3];
    size_t count;
    WIDE_LIST(triples, list, count);
    for (int draws = 0; draws < draw_count(6); draws++)
        for (size_t c = 0; c < SIZES; c++)
            for (size_t g = 0; g < sizeof seconds / sizeof *seconds; g++) {
                b.rows = sizes[c][0], b.cols = sizes[c][1];
                for (int l = 0; l < LANES; l++) {
                    draw(rng, b.rows, b.cols, seconds[g], &m[l]);
                    put(&b, (size_t)l, &m[l], start_of(rng, b.cols, l, &m[l], start));
                }
                for (size_t k = 0; k < count; k++) {
                    batch by = b;
                    run_by(list[k], &by);
                    for (size_t l = 0; l < LANES; l++) {
                        judge(&by, l, &m[l], l == 6 ? "second" : l == 5 ? "cold" : "near");
                        if ((l < 3 && seconds[g] < 0.995) || b.cols <= 2)
                            cr_expect(by.told[l], "%zu x %zu, second %g, lane %zu", b.rows, b.cols,
                                      seconds[g], l);
                    }
                }
            }
    gsl_rng_free(rng);
}

/* Lane `at` of a and lane `other` of b have the same bits. */
static void same(const batch *a, size_t at, const batch *b, size_t other, const char *what)
{
    bool equal = a->told[at] == b->told[other] && a->sigma[at] == b->sigma[other];
    for (size_t j = 0; j < a->cols; j++)
        equal &= !memcmp(&a->v[LANES * j + at], &b->v[LANES * j + other], sizeof *a->v);
    for (size_t i = 0; i < a->rows; i++)
        equal &= !memcmp(&a->u[LANES * i + at], &b->u[LANES * i + other], sizeof *a->u);
    cr_expect(equal, "%s, %zu x %zu: lane %zu and %zu, told %lld and %lld, sigma %a and %a", what,
              a->rows, a->cols, at, other, a->told[at], b->told[other], a->sigma[at],
              b->sigma[other]);
}

/* Matrices and starts of every kind, and in lanes after the fifth some that are no matrices. */
static void draw_batch(gsl_rng *rng, size_t rows, size_t cols, batch *b)
{
    static const double seconds[] = {0.2, 0.6, 0.9, 0.99, 1 - 1e-9};
    matrix m;
    double start[COLS];
    b->rows = rows;
    b->cols = cols;
    for (size_t l = 0; l < LANES; l++) {
        draw(rng, rows, cols, seconds[draw_below(rng, 5)], &m);
        const double bad = l == 5 ? 0.0 : (double)(l == 6 ? NAN : INFINITY);
        if (l >= 5 && draw_below(rng, 2))
            for (size_t i = 0; i < rows * cols; i++) m.M[i] *= bad;
        put(b, l, &m, start_of(rng, cols, (int)draw_below(rng, 8), &m, start));
    }
}

/* What b comes to, together, in other lanes and each alone. */
static void alone_or_not(gsl_rng *rng, method *by, const batch *b, batch *together)
{
    static batch moved, alone;
    const size_t turn = 1 + draw_below(rng, LANES - 1);
    *together = moved = *b;
    run_by(by, together);
    for (size_t l = 0; l < LANES; l++) {
        const size_t to = (l * 3 + turn) % LANES, count = b->rows * tl_top_batch_stride(b->cols);
        for (size_t i = 0; i < count; i++) moved.M[LANES * i + to] = b->M[LANES * i + l];
        for (size_t j = 0; j < b->cols; j++) moved.v[LANES * j + to] = b->v[LANES * j + l];
    }
    run_by(by, &moved);
    for (size_t l = 0; l < 5; l++) {
        same(together, l, &moved, (l * 3 + turn) % LANES, "moved");
        alone = *b;
        for (size_t o = 0; o < LANES; o++) alone.used[o] &= -(long long)(o == l);
        run_by(by, &alone);
        same(together, l, &alone, l, "alone");
        for (size_t o = 0; o < LANES; o++) cr_expect(o == l || !alone.told[o]);
    }
}

Test(top_batch, lanes_depend_on_themselves_alone_in_every_width)
{
    gsl_rng *rng = draw_stream(961);
    static batch b, product, together;
    method *list[3];
    size_t count;
    WIDE_LIST(triples, list, count);
    for (int draws = 0; draws < draw_count(5); draws++)
        for (size_t c = 0; c < SIZES; c++) {
            draw_batch(rng, sizes[c][0], sizes[c][1], &b);
            product = b;
            run(&product);
            for (size_t k = 0; k < count; k++) {
                alone_or_not(rng, list[k], &b, &together);
                for (size_t l = 0; l < 5 && k < WIDE_ALIKE(count); l++)
                    same(&product, l, &together, l, "width");
            }
        }
    gsl_rng_free(rng);
}

/* Right at every scale in the range, and none told past it. */
Test(top_batch, scales)
{
    static const double scales[] = {1e90, 1e-90, 1e30, 1e-45, 1e101, 1e-101, 1e200, 0};
    gsl_rng *rng = draw_stream(963);
    static batch b;
    static matrix m[LANES];
    double start[COLS];
    for (size_t c = 0; c < SIZES; c++) {
        b.rows = sizes[c][0], b.cols = sizes[c][1];
        for (size_t l = 0; l < LANES; l++) {
            draw(rng, b.rows, b.cols, c % 2 ? 0.9 : 0.4, &m[l]);
            for (size_t i = 0; i < b.rows * b.cols; i++) m[l].M[i] *= scales[l];
            for (size_t k = 0; k < MOST; k++) m[l].sigma[k] *= scales[l];
            put(&b, l, &m[l], start_of(rng, b.cols, (int)l % 3, &m[l], start));
        }
        run(&b);
        for (size_t l = 0; l < LANES; l++) {
            if (l < 4) judge(&b, l, &m[l], "scaled");
            cr_expect(!b.told[l] == (l >= 4), "%zu x %zu, scale %g", b.rows, b.cols, scales[l]);
        }
    }
    gsl_rng_free(rng);
}

/* Two close top values, starts at the second vector with next to nothing of the first: what is told
 * is right, and something is. */
Test(top_batch, the_second_is_never_told)
{
    gsl_rng *rng = draw_stream(964);
    static batch b;
    static matrix m[LANES];
    size_t told = 0, count = (size_t)draw_count(2500);
    for (size_t draws = 0; draws < count; draws++) {
        b.rows = 2 + draw_below(rng, draws % 8 ? 8 : 32);
        b.cols = 3 + draw_below(rng, draws % 8 ? 6 : COLS - 2);
        for (size_t l = 0; l < LANES; l++) {
            double start[COLS];
            const double apart = pow(10, -12 * gsl_rng_uniform(rng) * gsl_rng_uniform(rng));
            const double share = pow(10, -6 - 8 * gsl_rng_uniform(rng));
            draw(rng, b.rows, b.cols, 1 - 0.7 * apart, &m[l]);
            for (size_t j = 0; j < b.cols; j++) start[j] = m[l].second[j] + share * m[l].first[j];
            put(&b, l, &m[l], start);
        }
        run(&b);
        for (size_t l = 0; l < LANES; l++) judge(&b, l, &m[l], "second");
        for (size_t l = 0; l < LANES; l++) told += b.told[l] != 0;
    }
    cr_expect(told > count / 8, "told %zu of %zu", told, LANES * count);
    gsl_rng_free(rng);
}
