/* Compiled once for each precision: REAL, GEMM, TANGENT, EXP and NAME(x) come from outside. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL_ROWS = 128 };

struct NAME() {
    const tl_layer *layer;
    size_t n, d, out, values, width; /* width: sum over heads of 2 k + v */
    bool causal, kept;
    size_t bytes;
    REAL *W;     /* width x d: scale Q, K, V of head after head */
    REAL *O;     /* out x values, or NULL */
    REAL *image; /* n x width: queries, keys, values */
    REAL *move;  /* n x width: their tangents */
    REAL *phi, *psi, *cat;
    REAL *shift; /* heads x n: log of the sum of exponentials */
    REAL *T;     /* a panel of logits */
    REAL *P;     /* heads x n x n, or a panel */
};

static REAL *NAME(_room)(struct NAME() * p, size_t a, size_t b, size_t c)
{
    if (b && c && a > SIZE_MAX / sizeof(REAL) / b / c) return NULL;
    p->bytes += a * b * c * sizeof(REAL);
    return calloc(a * b * c + 1, sizeof(REAL));
}

void NAME(_free)(struct NAME() * p)
{
    if (!p) return;
    REAL *all[] = {p->W, p->O, p->image, p->move, p->phi, p->psi, p->cat, p->shift, p->T, p->P};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(p);
}

size_t NAME(_bytes)(const struct NAME() * p, bool *kept)
{
    *kept = p->kept;
    return p->bytes;
}

/* Rows of W of one head; biases of keys and values drop out, that of queries does not. */
static void NAME(_weights)(struct NAME() * p, const tl_head *head, REAL *W)
{
    const size_t d = p->d;
    for (size_t i = 0; i < head->k; i++)
        for (size_t j = 0; j < d; j++) {
            W[i * d + j] = (REAL)(head->scale * head->Q[i * d + j]);
            W[(head->k + i) * d + j] = (REAL)(head->K ? head->K[i * d + j] : (double)(i == j));
        }
    for (size_t i = 0; i < head->v * d; i++) W[2 * head->k * d + i] = (REAL)head->V[i];
}

static void NAME(_images)(struct NAME() * p, const double *x)
{
    const size_t n = p->n, d = p->d;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) p->phi[i * d + j] = (REAL)(x[i * d + j] - x[j]);
    GEMM('N', 'T', n, p->width, d, 1, p->phi, d, p->W, d, 0, p->image, p->width);
    size_t at = 0;
    for (size_t h = 0; h < p->layer->heads; h++) {
        /* Queries are not relative to token 0: add its own. */
        const tl_head *head = &p->layer->head[h];
        for (size_t r = 0; r < head->k; r++) {
            double q = head->bq ? head->bq[r] : 0.0;
            for (size_t j = 0; j < d; j++) q += head->Q[r * d + j] * x[j];
            for (size_t i = 0; i < n; i++)
                p->image[i * p->width + at + r] += (REAL)(head->scale * q);
        }
        at += 2 * head->k + head->v;
    }
}

/* One panel of one head. */
typedef struct {
    const tl_head *head;
    size_t h, at, cat, from, rows, cols; /* at, cat: first column in width and in values */
} NAME(_part);

/* Weights of a panel: as kept, or exp(logits - shift) anew. */
static const REAL *NAME(_attention)(const struct NAME() * p, const NAME(_part) * s, size_t *ld)
{
    const size_t n = p->n, k = s->head->k, w = p->width;
    *ld = n;
    if (p->kept) return p->P + (s->h * n + s->from) * n;
    const REAL *image = p->image + s->at, *shift = p->shift + s->h * n + s->from;
    GEMM('N', 'T', s->rows, s->cols, k, 1, image + s->from * w, w, image + k, w, 0, p->P, n);
    for (size_t i = 0; i < s->rows; i++) {
        const size_t seen = p->causal ? s->from + i + 1 : s->cols;
        REAL *row = p->P + i * n;
        (void)EXP(seen, row, shift[i], row);
        for (size_t j = seen; j < s->cols; j++) row[j] = 0;
    }
    return p->P;
}

/* Calls `each` for every panel of every head. */
static void NAME(_walk)(const struct NAME() * p,
                        void (*each)(const struct NAME() *, const NAME(_part) *, const REAL *),
                        const REAL *cat)
{
    NAME(_part) s = {0};
    for (s.h = 0; s.h < p->layer->heads; s.h++) {
        s.head = &p->layer->head[s.h];
        for (s.from = 0; s.from < p->n; s.from += PANEL_ROWS) {
            s.rows = p->n - s.from < PANEL_ROWS ? p->n - s.from : PANEL_ROWS;
            s.cols = p->causal ? s.from + s.rows : p->n;
            each(p, &s, cat);
        }
        s.at += 2 * s.head->k + s.head->v;
        s.cat += s.head->v;
    }
}

/* Sums of exponentials; not finite where logits overflow. */
static void NAME(_sum_up)(const struct NAME() * p, const NAME(_part) * s, const REAL *unused)
{
    const size_t n = p->n, k = s->head->k, w = p->width;
    const REAL *image = p->image + s->at;
    REAL *shift = p->shift + s->h * n + s->from;
    (void)unused;
    GEMM('N', 'T', s->rows, s->cols, k, 1, image + s->from * w, w, image + k, w, 0, p->T, n);
    for (size_t i = 0; i < s->rows; i++) {
        const size_t seen = p->causal ? s->from + i + 1 : s->cols;
        const REAL *row = p->T + i * n;
        REAL most = row[0];
        for (size_t j = 1; j < seen; j++) most = row[j] > most ? row[j] : most;
        shift[i] = most + (REAL)log(EXP(seen, row, most, NULL));
        if (p->kept) (void)EXP(seen, row, shift[i], p->P + (s->h * n + s->from + i) * n);
    }
}

static void NAME(_part_apply)(const struct NAME() * p, const NAME(_part) * s, const REAL *unused)
{
    const size_t n = p->n, k = s->head->k, v = s->head->v, w = p->width;
    const REAL *image = p->image + s->at, *move = p->move + s->at;
    size_t ld;
    (void)unused;
    const REAL *P = NAME(_attention)(p, s, &ld);
    GEMM('N', 'T', s->rows, s->cols, k, 1, image + s->from * w, w, move + k, w, 0, p->T, n);
    GEMM('N', 'T', s->rows, s->cols, k, 1, move + s->from * w, w, image + k, w, 1, p->T, n);
    TANGENT(s->rows, s->cols, P, ld, p->T, n);
    REAL *to = p->cat + s->from * p->values + s->cat;
    GEMM('N', 'N', s->rows, v, s->cols, 1, P, ld, move + 2 * k, w, 0, to, p->values);
    GEMM('N', 'N', s->rows, v, s->cols, 1, p->T, n, image + 2 * k, w, 1, to, p->values);
}

static void NAME(_part_apply_t)(const struct NAME() * p, const NAME(_part) * s, const REAL *cat)
{
    const size_t n = p->n, k = s->head->k, v = s->head->v, w = p->width;
    const REAL *image = p->image + s->at, *from = cat + s->from * p->values + s->cat;
    REAL *move = p->move + s->at;
    size_t ld;
    const REAL *P = NAME(_attention)(p, s, &ld);
    GEMM('N', 'T', s->rows, s->cols, v, 1, from, p->values, image + 2 * k, w, 0, p->T, n);
    GEMM('T', 'N', s->cols, v, s->rows, 1, P, ld, from, p->values, 1, move + 2 * k, w);
    TANGENT(s->rows, s->cols, P, ld, p->T, n);
    GEMM('N', 'N', s->rows, k, s->cols, 1, p->T, n, image + k, w, 0, move + s->from * w, w);
    GEMM('T', 'N', s->cols, k, s->rows, 1, p->T, n, image + s->from * w, w, 1, move + k, w);
}

void NAME(_apply)(const void *self, const double *phi, double *psi)
{
    const struct NAME() *p = self;
    for (size_t i = 0; i < p->n * p->d; i++) p->phi[i] = (REAL)phi[i];
    GEMM('N', 'T', p->n, p->width, p->d, 1, p->phi, p->d, p->W, p->d, 0, p->move, p->width);
    NAME(_walk)(p, NAME(_part_apply), NULL);
    const REAL *out = p->O ? p->psi : p->cat;
    if (p->O)
        GEMM('N', 'T', p->n, p->out, p->values, 1, p->cat, p->values, p->O, p->values, 0, p->psi,
             p->out);
    for (size_t i = 0; i < p->n * p->out; i++) psi[i] = (double)out[i];
}

void NAME(_apply_t)(const void *self, const double *psi, double *phi)
{
    const struct NAME() *p = self;
    const REAL *cat = p->O ? p->cat : p->psi;
    for (size_t i = 0; i < p->n * p->out; i++) p->psi[i] = (REAL)psi[i];
    if (p->O)
        GEMM('N', 'N', p->n, p->values, p->out, 1, p->psi, p->out, p->O, p->values, 0, p->cat,
             p->values);
    memset(p->move, 0, p->n * p->width * sizeof(REAL));
    NAME(_walk)(p, NAME(_part_apply_t), cat);
    GEMM('N', 'N', p->n, p->d, p->width, 1, p->move, p->width, p->W, p->d, 0, p->phi, p->d);
    for (size_t i = 0; i < p->n * p->d; i++) phi[i] = (double)p->phi[i];
}

static bool NAME(_rooms)(struct NAME() * p, size_t memory)
{
    const size_t n = p->n, heads = p->layer->heads;
    const size_t rows = n < PANEL_ROWS ? n : PANEL_ROWS;
    p->kept = heads <= memory / sizeof(REAL) / n / n;
    p->W = NAME(_room)(p, p->width, p->d, 1);
    if (p->layer->O) p->O = NAME(_room)(p, p->out, p->values, 1);
    p->image = NAME(_room)(p, n, p->width, 1);
    p->move = NAME(_room)(p, n, p->width, 1);
    p->phi = NAME(_room)(p, n, p->d, 1);
    p->psi = NAME(_room)(p, n, p->out, 1);
    p->cat = NAME(_room)(p, n, p->values, 1);
    p->shift = NAME(_room)(p, heads, n, 1);
    p->T = NAME(_room)(p, rows, n, 1);
    p->P = p->kept ? NAME(_room)(p, heads, n, n) : NAME(_room)(p, rows, n, 1);
    return p->W && (p->O || !p->layer->O) && p->image && p->move && p->phi && p->psi && p->cat &&
           p->shift && p->T && p->P;
}

tl_status NAME(_alloc)(struct NAME() * *out, const tl_layer *layer, const tl_measure *mu,
                       size_t memory)
{
    struct NAME() *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return TL_ERR_MEMORY;
    *p = (struct NAME()){.layer = layer,
                         .n = mu->m,
                         .d = layer->d,
                         .out = layer->out,
                         .values = layer->values,
                         .causal = layer->mask == TL_MASK_CAUSAL};
    for (size_t h = 0; h < layer->heads; h++) p->width += 2 * layer->head[h].k + layer->head[h].v;
    if (!NAME(_rooms)(p, memory)) {
        NAME(_free)(p);
        return TL_ERR_MEMORY;
    }
    REAL *W = p->W;
    for (size_t h = 0; h < layer->heads; h++) {
        NAME(_weights)(p, &layer->head[h], W);
        W += (2 * layer->head[h].k + layer->head[h].v) * p->d;
    }
    for (size_t i = 0; p->O && i < p->out * p->values; i++) p->O[i] = (REAL)layer->O[i];
    NAME(_images)(p, mu->x);
    NAME(_walk)(p, NAME(_sum_up), NULL);
    bool finite = true;
    for (size_t i = 0; i < layer->heads * p->n; i++) finite = finite && isfinite(p->shift[i]);
    if (!finite) {
        NAME(_free)(p);
        return TL_ERR_NUMERIC;
    }
    *out = p;
    return TL_OK;
}
