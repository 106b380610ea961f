/* Tokens as lanes: what the files of few.h share. Block b of eight lanes belongs to the tokens from
 * 8 b on; a matrix of tokens is a vector for each component, or rows as everywhere else. */
#ifndef ATTENTION_FEW_LANES_H
#define ATTENTION_FEW_LANES_H

#include "attention/few.h"
#include "attention/softmax_rows.h"

#pragma STDC FP_CONTRACT ON

/* Tokens of block b. */
WIDE_BODY size_t few_tokens(size_t m, size_t b)
{
    return m - 8 * b < 8 ? m - 8 * b : 8;
}

/* Of a block of tokens i and token l; `first`: all bits where l is the ref of i, else none. */
typedef struct {
    wide8 P, R;
    wide8l first;
} few_pair;

/* Those of block b, for all l. */
WIDE_BODY few_pair *few_pairs(const tl_jacobian *J, size_t b)
{
    return (few_pair *)(J->lanes.pairs + sizeof(few_pair) / sizeof(double) * b * J->m);
}

WIDE_BODY void few_read(size_t count, const double *a, wide8 *out)
{
    for (size_t i = 0; i < count; i++) out[i] = *(const wide8u *)(a + 8 * i);
}

/* Lane i of out_r is a_ir for `end` tokens, zero behind them. Here and below d is known to the
 * compiler. */
WIDE_BODY void few_columns(size_t d, size_t end, const double *a, wide8 *out)
{
    _Alignas(64) double lanes[8 * TL_FEW_WIDTH];
    if (d == 8 && end == 8) {
        wide8 from[8];
        few_read(8, a, from);
        lanes_turn(from, out);
        return;
    }
    if (d == 4 && end == 8) {
        wide8 from[4], t[4];
        few_read(4, a, from);
        lanes_turn_pairs(from, t);
        for (size_t r = 0; r < 4; r += 2) {
            out[r] = LANES_EVEN(t[r / 2], t[r / 2 + 2]);
            out[r + 1] = LANES_ODD(t[r / 2], t[r / 2 + 2]);
        }
        return;
    }
    for (size_t r = 0; r < d; r++) *(wide8u *)(lanes + 8 * r) = (wide8){0};
    for (size_t i = 0; i < end; i++)
        for (size_t r = 0; r < d; r++) lanes[8 * r + i] = a[i * d + r];
    for (size_t r = 0; r < d; r++) out[r] = *(const wide8u *)(lanes + 8 * r);
}

/* And back. */
WIDE_BODY void few_rows(size_t d, size_t end, const wide8 *a, double *out)
{
    if (d == 8 && end == 8) {
        wide8 t[8];
        lanes_turn(a, t);
        for (size_t i = 0; i < 8; i++) *(wide8u *)(out + 8 * i) = t[i];
        return;
    }
    if (d == 4 && end == 8) {
        wide8 t[4], turned[4];
        for (size_t r = 0; r < 4; r += 2) {
            t[r / 2] = LANES_EVEN(a[r], a[r + 1]);
            t[r / 2 + 2] = LANES_ODD(a[r], a[r + 1]);
        }
        lanes_turn_pairs(t, turned);
        for (size_t i = 0; i < 4; i++) *(wide8u *)(out + 8 * i) = turned[i];
        return;
    }
    for (size_t i = 0; i < end; i++)
        for (size_t r = 0; r < d; r++) out[i * d + r] = ((const double *)(a + r))[i];
}

/* The first `end` of eight vectors as rows. */
WIDE_BODY void few_store(size_t end, const wide8 *a, double *out, size_t ld)
{
    if (end == 8)
        for (size_t i = 0; i < 8; i++) *(wide8u *)(out + i * ld) = a[i];
    else
        for (size_t i = 0; i < end; i++) *(wide8u *)(out + i * ld) = a[i];
}

/* Lane i of vector j to out_ij, vectors `step` and `end` rows ld apart. */
WIDE_BODY void few_write(size_t count, size_t end, const wide8 *a, size_t step, double *out,
                         size_t ld)
{
    size_t j = 0;
    for (; j + 8 <= count; j += 8, a += 8 * step) {
        wide8 from[8], turned[8];
        for (size_t k = 0; k < 8; k++) from[k] = a[k * step];
        lanes_turn(from, turned);
        few_store(end, turned, out + j, ld);
    }
    for (; j < count; j++, a += step)
        for (size_t i = 0; i < end; i++) out[i * ld + j] = ((const double *)a)[i];
}

/* out = factor W a */
WIDE_BODY void few_image(size_t d, double factor, const double *W, const wide8 *a, wide8 *out)
{
    for (size_t r = 0; r < d; r++) {
        wide8 sum = W[r * d] * a[0];
        for (size_t c = 1; c < d; c++) sum += W[r * d + c] * a[c];
        out[r] = factor * sum;
    }
}

/* out = factor W' a */
WIDE_BODY void few_image_t(size_t d, double factor, const double *W, const wide8 *a, wide8 *out)
{
    for (size_t c = 0; c < d; c++) {
        wide8 sum = W[c] * a[0];
        for (size_t r = 1; r < d; r++) sum += W[r * d + c] * a[r];
        out[c] = factor * sum;
    }
}

/* out = <a_i, b>, b a row */
WIDE_BODY void few_against(size_t d, const wide8 *a, const double *b, wide8 *out)
{
    wide8 sum = a[0] * b[0];
    for (size_t r = 1; r < d; r++) sum += a[r] * b[r];
    *out = sum;
}

/* out_r += t b_r, b a row */
WIDE_BODY void few_gather(size_t d, const wide8 *t, const double *b, wide8 *out)
{
    for (size_t r = 0; r < d; r++) out[r] += *t * b[r];
}

/* rows_l = factor_l a_l */
WIDE_BODY void few_scaled(size_t d, size_t m, const double *factor, const double *restrict a,
                          double *restrict rows)
{
    for (size_t l = 0; l < m; l++) lanes_times(d, factor[l], a + l * d, rows + l * d);
}

/* What t is at the ref; bits of lanes that have none are left. */
WIDE_BODY void few_note(const few_pair *pair, const wide8 *t, wide8l *at_ref)
{
    *at_ref |= (wide8l)*t & pair->first;
}

/* Mean under P of x_l = origin - t_l, t `step` apart: with x_ref zero, mean - x_l is t_l less its
 * own mean, exact however saturated the row is. */
WIDE_BODY void few_mean(size_t m, const few_pair *pair, const wide8 *t, size_t step,
                        const wide8l *origin, wide8 *mean)
{
    wide8 even = {0}, odd = {0};
    size_t l = 0;
    for (; l + 2 <= m; l += 2, pair += 2, t += 2 * step) {
        even += pair[0].P * ((wide8)*origin - t[0]);
        odd += pair[1].P * ((wide8)*origin - t[step]);
    }
    if (l < m) even += pair->P * ((wide8)*origin - *t);
    *mean = even + odd;
}

/* T_il in lane i of t[l * step], and a row for each token i of a block. */
typedef struct {
    const wide8 *t;
    size_t step;
    const double *rows;
} few_term;

/* out_l += sum_i T_il row_i over `count` <= 4 tokens l, which share what is read of i, and 2 or 3
 * terms. */
WIDE_BODY void few_mix_part(size_t d, size_t end, size_t count, size_t l, size_t terms,
                            const few_term *term, double *out)
{
#define STATEMENT(type, lane)                                                            \
    do {                                                                                 \
        type sum[12] = {0};                                                              \
        _Pragma("GCC unroll 8") for (size_t i = 0; i < end; i++)                         \
        {                                                                                \
            for (size_t z = 0; z < terms; z++) {                                         \
                const type row = LANES_READ(type, lane, (term[z].rows + i * d));         \
                for (size_t j = 0; j < count; j++)                                       \
                    sum[terms * j + z] +=                                                \
                        ((const double *)(term[z].t + (l + j) * term[z].step))[i] * row; \
            }                                                                            \
        }                                                                                \
        for (size_t j = 0; j < count; j++) {                                             \
            sum[terms * j] += sum[terms * j + 1];                                        \
            if (terms > 2) sum[terms * j] += sum[terms * j + 2];                         \
            LANES_AT(type, lane, (out + (l + j) * d)) += sum[terms * j];                 \
        }                                                                                \
    } while (0)
    LANES(d, STATEMENT);
#undef STATEMENT
}

/* For all l. */
WIDE_BODY void few_mix(size_t d, size_t end, size_t m, size_t terms, const few_term *term,
                       double *out)
{
    size_t l = 0;
    for (; l + 4 <= m && d >= 4 && end == 8; l += 4) few_mix_part(d, 8, 4, l, terms, term, out);
    for (; l + 4 <= m; l += 4) few_mix_part(d, end, 4, l, terms, term, out);
    for (; l < m; l++) few_mix_part(d, end, 1, l, terms, term, out);
}

/* f(d, ..) for every width that there is. */
#define FEW_BY_WIDTH(f, ...) LANES_BY_WIDTH(J->d, f, __VA_ARGS__)

#pragma STDC FP_CONTRACT DEFAULT

#endif
