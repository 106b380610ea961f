#include "linalg/gemm_small.h"

#include "linalg/vector.h"
#include "linalg/wide.h"

#pragma STDC FP_CONTRACT ON

/* Columns j .. j + width of `rows` rows from i: each element is summed over p in order. */
#define TILE(name, vector, rows)                                                          \
    WIDE_BODY void name(const tl_small_product *s, size_t i, size_t j)                    \
    {                                                                                     \
        vector sum[rows];                                                                 \
        for (size_t r = 0; r < (rows); r++) sum[r] = (vector){0};                         \
        for (size_t p = 0; p < s->k; p++) {                                               \
            const vector b_p = *(const vector *)(s->b + p * s->ldb + j);                  \
            for (size_t r = 0; r < (rows); r++)                                           \
                sum[r] += s->a[(i + r) * s->row + p * s->step] * b_p;                     \
        }                                                                                 \
        for (size_t r = 0; r < (rows); r++) {                                             \
            vector *c_r = (vector *)(s->c + (i + r) * s->ldc + j);                        \
            *c_r = s->beta == 0 ? s->alpha * sum[r] : s->alpha * sum[r] + s->beta * *c_r; \
        }                                                                                 \
    }
TILE(tile_8x8, wide8u, 8)
TILE(tile_8x4, wide8u, 4)
TILE(tile_8x1, wide8u, 1)
TILE(tile_4x4, wide4, 4)
TILE(tile_4x1, wide4, 1)
TILE(tile_2x4, wide2, 4)
TILE(tile_2x1, wide2, 1)
#undef TILE

WIDE_BODY void tile_single(const tl_small_product *s, size_t i, size_t j)
{
    double sum = 0, *c = s->c + i * s->ldc + j;
    for (size_t p = 0; p < s->k; p++) sum += s->a[i * s->row + p * s->step] * s->b[p * s->ldb + j];
    *c = s->beta == 0 ? s->alpha * sum : s->alpha * sum + s->beta * *c;
}

WIDE_BODY void ordered_body(const tl_small_product *given)
{
    /* A copy that no store to C can change stays in registers. */
    const tl_small_product copy = *given, *const s = &copy;
    size_t j = 0;
    for (; j + 8 <= s->n; j += 8) {
        size_t i = 0;
        for (; i + 8 <= s->m; i += 8) tile_8x8(s, i, j);
        if (i + 4 <= s->m) {
            tile_8x4(s, i, j);
            i += 4;
        }
        for (; i < s->m; i++) tile_8x1(s, i, j);
    }
    if (j + 4 <= s->n) {
        size_t i = 0;
        for (; i + 4 <= s->m; i += 4) tile_4x4(s, i, j);
        for (; i < s->m; i++) tile_4x1(s, i, j);
        j += 4;
    }
    if (j + 2 <= s->n) {
        size_t i = 0;
        for (; i + 4 <= s->m; i += 4) tile_2x4(s, i, j);
        for (; i < s->m; i++) tile_2x1(s, i, j);
        j += 2;
    }
    for (size_t i = 0; j < s->n && i < s->m; i++) tile_single(s, i, j);
}

#pragma STDC FP_CONTRACT DEFAULT

/* One row, columns j .. j + width, every lane in the order of vec_dot. */
#define DOTS(name, vector)                                                      \
    WIDE_BODY void name(const tl_small_product *s, size_t i, size_t j)          \
    {                                                                           \
        const double *a = s->a + i * s->row, *b = s->b + j;                     \
        vector sum[8], rest = {0}, *c = (vector *)(s->c + i * s->ldc + j);      \
        size_t p = 0;                                                           \
        for (size_t q = 0; q < 8; q++) sum[q] = (vector){0};                    \
        for (; p + 8 <= s->k; p += 8)                                           \
            for (size_t q = 0; q < 8; q++)                                      \
                sum[q] += a[p + q] * *(const vector *)(b + (p + q) * s->ldb);   \
        if (p + 4 <= s->k) {                                                    \
            for (size_t q = 0; q < 4; q++)                                      \
                sum[q] += a[p + q] * *(const vector *)(b + (p + q) * s->ldb);   \
            p += 4;                                                             \
        }                                                                       \
        for (; p < s->k; p++) rest += a[p] * *(const vector *)(b + p * s->ldb); \
        const vector even = (sum[0] + sum[4]) + (sum[2] + sum[6]);              \
        const vector odd = (sum[1] + sum[5]) + (sum[3] + sum[7]);               \
        const vector all = (even + odd) + rest;                                 \
        *c = s->beta == 0 ? s->alpha * all : s->alpha * all + s->beta * *c;     \
    }
DOTS(dots_8, wide8u)
DOTS(dots_4, wide4)
DOTS(dots_2, wide2)
#undef DOTS

WIDE_BODY void dots_body(const tl_small_product *given)
{
    const tl_small_product copy = *given, *const s = &copy;
    for (size_t i = 0; i < s->m; i++) {
        size_t j = 0;
        for (; j + 8 <= s->n; j += 8) dots_8(s, i, j);
        if (j + 4 <= s->n) {
            dots_4(s, i, j);
            j += 4;
        }
        if (j + 2 <= s->n) {
            dots_2(s, i, j);
            j += 2;
        }
    }
}

WIDE_VARIANTS(ordered, (const tl_small_product *s), (s))
WIDE_VARIANTS(dots, (const tl_small_product *s), (s))

void tl_gemm_small(const tl_small_product *s)
{
    WIDE_CALL(ordered, (s));
}

void tl_gemm_small_t(const tl_small_product *s, int dots)
{
    double packed[TL_GEMM_PACK];
    tl_small_product t = *s;
    for (size_t p = 0; p < s->k; p++)
        for (size_t j = 0; j < s->n; j++) packed[p * s->n + j] = s->b[j * s->ldb + p];
    t.b = packed;
    t.ldb = s->n;
    if (!dots) {
        WIDE_CALL(ordered, (&t));
        return;
    }
    WIDE_CALL(dots, (&t));
    for (size_t i = 0; s->n % 2 && i < s->m; i++) {
        const size_t j = s->n - 1;
        double *c = s->c + i * s->ldc + j;
        const double sum = vec_dot(s->k, s->a + i * s->row, s->b + j * s->ldb);
        *c = s->beta == 0 ? s->alpha * sum : s->alpha * sum + s->beta * *c;
    }
}
