/* What tl_top_small does with M: G = M'M and u = M v. */
#include "linalg/lanes.h"
#include "linalg/top_factor.h"

#pragma STDC FP_CONTRACT ON

/* From 8 - count on: the first `count` lanes. */
static const long long FIRST[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

/* Eight numbers from x on, zeros from the end on. */
WIDE_BODY void read(const double *x, const double *end, wide8 *out)
{
    if (x + 8 <= end) {
        *out = *(const wide8u *)x;
    } else if (x + 4 == end) {
        const wide4 last = *(const wide4 *)x;
        *out = (wide8){last[0], last[1], last[2], last[3], 0, 0, 0, 0};
    } else {
        wide_rest(x < end ? (size_t)(end - x) : 0, x, 0.0, out);
    }
}

/* Rows of `count` tiles side by side, known to the compiler, here and below. */
WIDE_BODY void add_outer(size_t count, const double *a, const double *b, top_tile *sum)
{
    wide8 here[2];
    for (size_t z = 0; z < count; z++) here[z] = *(const wide8u *)(b + 8 * z);
    _Pragma("GCC unroll 8") for (size_t r = 0; r < 8; r++)
    {
        for (size_t z = 0; z < count; z++) sum[z][r] += a[r] * here[z];
    }
}

/* Tile (b, c), and (c, b), from its sum. Where a block has fewer than eight columns, those read
 * behind it are of the next row of M. */
WIDE_BODY void put(top_state *t, size_t b, size_t c, wide8 *sum)
{
    if (8 * c + 8 > t->n) {
        const wide8l used = *(const wide8lu *)(FIRST + 8 - top_count(t, c));
        for (size_t r = 0; r < 8; r++)
            sum[r] = r < top_count(t, b) ? (wide8)((wide8l)sum[r] & used) : (wide8){0};
    }
    _Pragma("GCC unroll 8") for (size_t r = 0; r < 8; r++) t->G[b][c][r] = sum[r];
    if (c > b) lanes_turn(sum, t->G[c][b]);
}

/* Tiles (b, c) on. */
WIDE_BODY void tiles(size_t count, top_state *t, size_t rows, const double *M, size_t b, size_t c)
{
    const size_t n = t->n;
    const double *x = M + 8 * b, *y = M + 8 * c;
    size_t whole = rows;
    top_tile sum[2] = {{{0}}};
    while (whole && (whole - 1) * n + 8 * (c + count) > rows * n) whole--;
    for (size_t p = 0; p < whole; p++, x += n, y += n) add_outer(count, x, y, sum);
    for (size_t p = whole; p < rows; p++, x += n, y += n) {
        wide8 left, right[2] = {{0}};
        read(x, M + rows * n, &left);
        for (size_t z = 0; z < count; z++) read(y + 8 * z, M + rows * n, &right[z]);
        add_outer(count, (const double *)&left, (const double *)right, sum);
    }
    for (size_t z = 0; z < count; z++) put(t, b, c + z, sum[z]);
}

/* Two tiles at once where there are registers for them. */
WIDE_BODY void square_told(top_state *t, size_t rows, const double *M, bool widest)
{
    double trace = 0.0;
    for (size_t b = 0; b < t->blocks; b++) {
        size_t c = b;
        for (; widest && c + 2 <= t->blocks; c += 2) tiles(2, t, rows, M, b, c);
        for (; c < t->blocks; c++) tiles(1, t, rows, M, b, c);
        const double *own = (const double *)t->G[b][b];
        for (size_t k = 0; k < 8; k++) trace += own[9 * k];
    }
    t->trace = trace;
    /* No round writes the factor behind n. */
    const size_t last = t->blocks - 1;
    for (size_t k = 0; k < 8; k++) t->F[last][last][k] = (wide8){0};
    *top_block(t->inverse, last) = (wide8){0};
}
WIDE_VARIANTS_TOLD(square, (top_state * t, size_t rows, const double *M), (t, rows, M, true),
                   (t, rows, M, false))

WIDE_BODY void begin_body(top_state *t, const double *x, double scale)
{
    for (size_t b = 0; b < t->blocks; b++) {
        wide8 v;
        read(x + 8 * b, x + t->n, &v);
        *top_block(t->v, b) = scale * v;
    }
}
WIDE_VARIANTS(begin, (top_state * t, const double *x, double scale), (t, x, scale))

/* What is read behind a row meets zeros of v. */
WIDE_BODY void image_body(top_state *t, size_t rows, const double *M, double *u, double *square)
{
    const size_t n = t->n;
    wide8 squares = {0};
    double rest = 0.0;
    const double *end = M + rows * n;
    for (; rows >= 8 && M + 7 * n + 8 * t->blocks <= end; rows -= 8, M += 8 * n, u += 8) {
        wide8 sum[8] = {0}, image;
        for (size_t b = 0; b < t->blocks; b++) {
            const wide8 v = *top_block(t->v, b);
            _Pragma("GCC unroll 8") for (size_t r = 0; r < 8; r++) sum[r] +=
                *(const wide8u *)(M + r * n + 8 * b) * v;
        }
        lanes_sums(sum, &image);
        *(wide8u *)u = image;
        squares += image * image;
    }
    for (; rows; rows--, M += n, u++) {
        double sum = 0.0;
        for (size_t j = 0; j < n; j++) sum += M[j] * t->v[j];
        *u = sum;
        rest += sum * sum;
    }
    *square = wide_sum(&squares) + rest;
}
WIDE_VARIANTS(image, (top_state * t, size_t rows, const double *M, double *u, double *square),
              (t, rows, M, u, square))

void tl_top_square(top_state *t, size_t rows, const double *M)
{
    WIDE_CALL(square, (t, rows, M));
}

void tl_top_begin(top_state *t, const double *x, double scale)
{
    WIDE_CALL(begin, (t, x, scale));
}

double tl_top_image(top_state *t, size_t rows, const double *M, double *u)
{
    double square;
    WIDE_CALL(image, (t, rows, M, u, &square));
    return square;
}
