#include "model/transformer_work.h"

#include <stdlib.h>
#include <string.h>

#include "tightlip/linalg.h"

/* Rows of a matrix that are widened at once. */
enum { ROWS_AT_ONCE = 256 };

void tl_transformer_work_clear(tl_transformer_work *w)
{
    free(w->q);
    free(w->inner);
    free(w->scores);
    free(w->patches);
    free(w->wide);
    free(w->a);
    free(w->b);
    free(w->c);
    *w = (tl_transformer_work){0};
}

static tl_status check_words(const tl_transformer_config *c, const tl_transformer_input *in,
                             tl_error *err)
{
    if (!in->id || in->n == 0)
        return tl_fail(err, TL_ERR_SHAPE, "expected at least one token, found none");
    if (in->n > c->positions)
        return tl_fail(err, TL_ERR_SHAPE,
                       "expected at most %zu tokens, the table of positions, found %zu",
                       c->positions, in->n);
    for (size_t i = 0; i < in->n; i++) {
        if (in->id[i] >= c->vocab)
            return tl_fail(err, TL_ERR_DOMAIN, "token %zu: expected an id below %zu, found %u", i,
                           c->vocab, (unsigned)in->id[i]);
        if (in->type && c->family == TL_FAMILY_BERT && in->type[i] >= c->types)
            return tl_fail(err, TL_ERR_DOMAIN, "token %zu: expected a type below %zu, found %u", i,
                           c->types, (unsigned)in->type[i]);
    }
    return TL_OK;
}

static size_t count_text(const tl_transformer_config *c, const tl_transformer_input *in)
{
    size_t n = 0;

    if (c->family == TL_FAMILY_VIT) return c->positions;
    for (size_t i = 0; i < in->n; i++) n += !in->attended || in->attended[i];
    return n;
}

static void list_positions(const tl_transformer_config *c, const tl_transformer_input *in,
                           size_t *position)
{
    size_t n = 0;
    const bool words = c->family != TL_FAMILY_VIT;

    for (size_t i = 0; i < (words ? in->n : c->positions); i++)
        if (!words || !in->attended || in->attended[i]) position[n++] = i;
}

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool take_memory(tl_transformer_work *w, const tl_transformer_config *c)
{
    const size_t n = w->n, size = n * c->d, patch = tl_transformer_dim(c, TL_DIM_PATCH);
    const size_t in = largest(largest(c->d, c->inner), largest(patch, n));

    w->q = malloc(5 * size * sizeof(double));
    w->inner = malloc(n * c->inner * sizeof(double));
    w->scores = malloc(n * n * sizeof(double));
    w->patches = calloc(n * patch + 1, sizeof(double));
    if (w->precision == TL_PRECISION_DOUBLE) {
        w->wide = malloc(ROWS_AT_ONCE * in * sizeof(double));
    } else {
        w->a = malloc(n * in * sizeof(float));
        w->b = malloc(size * sizeof(float));
        w->c = malloc(n * in * sizeof(float));
    }
    if (!w->q || !w->inner || !w->scores || !w->patches) return false;
    w->k = w->q + size;
    w->v = w->k + size;
    w->mix = w->v + size;
    w->branch = w->mix + size;
    return w->wide || (w->a && w->b && w->c);
}

tl_status tl_transformer_prepare(tl_transformer_states *states, tl_transformer_work *w,
                                 const tl_transformer_config *c, const tl_transformer_input *input,
                                 tl_precision precision, tl_error *err)
{
    tl_status s = TL_OK;

    if (c->family != TL_FAMILY_VIT)
        s = check_words(c, input, err);
    else if (!input->pixels)
        s = tl_fail(err, TL_ERR_SHAPE, "expected the pixels of an image, found none");
    if (s) return s;
    *w = (tl_transformer_work){.precision = precision, .n = count_text(c, input)};
    if (w->n == 0)
        return tl_fail(err, TL_ERR_SHAPE, "expected at least one token of text, found padding");
    *states = (tl_transformer_states){.n = w->n, .d = c->d, .layers = c->layers};
    states->position = malloc(w->n * sizeof *states->position);
    states->input = malloc(c->layers * w->n * c->d * sizeof *states->input);
    states->output = calloc(w->n * c->d, sizeof *states->output);
    if (!states->position || !states->input || !states->output || !take_memory(w, c))
        return tl_fail(err, TL_ERR_MEMORY, "out of memory for a pass of %zu tokens", w->n);
    list_positions(c, input, states->position);
    return TL_OK;
}

static void narrow(size_t rows, size_t cols, const double *a, size_t lda, float *out)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) out[i * cols + j] = (float)a[i * lda + j];
}

static void widen(size_t rows, size_t cols, const float *a, double *out, size_t ldo)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) out[i * ldo + j] = (double)a[i * cols + j];
}

void tl_transformer_linear(tl_transformer_work *w, const float *weight, const float *bias,
                           size_t out, size_t in, const double *x, double *y)
{
    if (w->precision == TL_PRECISION_SINGLE) {
        narrow(w->n, in, x, in, w->a);
        tl_gemm_single('N', 'T', w->n, out, in, 1, w->a, in, weight, in, 0, w->c, out);
        widen(w->n, out, w->c, y, out);
    } else {
        for (size_t from = 0; from < out; from += ROWS_AT_ONCE) {
            const size_t rows = out - from < ROWS_AT_ONCE ? out - from : ROWS_AT_ONCE;
            widen(rows, in, weight + from * in, w->wide, in);
            tl_gemm('N', 'T', w->n, rows, in, 1, x, in, w->wide, in, 0, y + from, out);
        }
    }
    for (size_t i = 0; bias && i < w->n; i++)
        for (size_t r = 0; r < out; r++) y[i * out + r] += (double)bias[r];
}

void tl_transformer_product(tl_transformer_work *w, char tb, size_t m, size_t n, size_t k,
                            double alpha, const double *a, size_t lda, const double *b, size_t ldb,
                            double *c, size_t ldc)
{
    if (w->precision == TL_PRECISION_DOUBLE) {
        tl_gemm('N', tb, m, n, k, alpha, a, lda, b, ldb, 0, c, ldc);
        return;
    }
    const size_t rows = tb == 'N' ? k : n, cols = tb == 'N' ? n : k;
    narrow(m, k, a, lda, w->a);
    narrow(rows, cols, b, ldb, w->b);
    tl_gemm_single('N', tb, m, n, k, (float)alpha, w->a, k, w->b, cols, 0, w->c, n);
    widen(m, n, w->c, c, ldc);
}
