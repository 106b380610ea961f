/* Sums of two doubles: exact transformations of Knuth and Dekker, compiled for several widths. The
 * bits are those of any processor: no step depends on the width, nothing is contracted, and what a
 * product leaves over is the same by one fused step where none is below 1e-290. */
#include "certify/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "linalg/wide.h"

/* Terms of a dot product between two normalisations. */
enum { BLOCK = 8 };
static const double SPLIT = 0x1p27 + 1, ROUND = 0x1.8p52;

bool tl_certify_pairs_alloc(tl_certify_pairs *p, size_t rows, size_t cols)
{
    *p = (tl_certify_pairs){.rows = rows, .cols = cols, .stride = (cols + 7) / 8 * 8};
    const size_t count = (rows + 3) / 4 * 4 * p->stride;
    p->hi = calloc(2 * count, sizeof *p->hi);
    p->lo = p->hi ? p->hi + count : NULL;
    return p->hi;
}

void tl_certify_pairs_free(tl_certify_pairs *p)
{
    free(p->hi);
    *p = (tl_certify_pairs){0};
}

double tl_certify_pairs_sum_margin(size_t n)
{
    return 2 * ((double)n / 8 + 9) * TL_PAIRS_STEP; /* eight lanes, then the lanes */
}

double tl_certify_pairs_dot_margin(size_t n)
{
    return 1.1 * ((double)n * (BLOCK + 5) + 16) * 0x1p-106;
}

/* a + b = s + e exactly. */
WIDE_BODY void two_sum(wide8 *s, wide8 *e, const wide8 *a, const wide8 *b)
{
    const wide8 sum = *a + *b, back = sum - *a;
    *e = (*a - (sum - back)) + (*b - back);
    *s = sum;
}

/* The same where |a| >= |b|. */
WIDE_BODY void fast_sum(wide8 *s, wide8 *e, const wide8 *a, const wide8 *b)
{
    const wide8 sum = *a + *b;
    *e = *b - (sum - *a);
    *s = sum;
}

/* a b = p + e exactly. */
WIDE_BODY void two_product(wide8 *p, wide8 *e, const wide8 *a, const wide8 *b)
{
    const wide8 s = *a * SPLIT, t = *b * SPLIT;
    const wide8 a1 = s - (s - *a), a2 = *a - a1, b1 = t - (t - *b), b2 = *b - b1;
    const wide8 product = *a * *b;
    *e = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2;
    *p = product;
}

typedef struct {
    wide8 hi, lo;
} pair;

WIDE_BODY void add(pair *to, const pair *a, const pair *b)
{
    wide8 s, e, t, f;
    two_sum(&s, &e, &a->hi, &b->hi);
    two_sum(&t, &f, &a->lo, &b->lo);
    e += t;
    fast_sum(&s, &e, &s, &e);
    e += f;
    fast_sum(&to->hi, &to->lo, &s, &e);
}

WIDE_BODY void multiply(pair *to, const pair *a, const pair *b)
{
    wide8 p, e;
    two_product(&p, &e, &a->hi, &b->hi);
    e += a->hi * b->lo + a->lo * b->hi;
    fast_sum(&to->hi, &to->lo, &p, &e);
}

WIDE_BODY void load(pair *p, const double *hi, const double *lo)
{
    p->hi = *(const wide8u *)hi;
    p->lo = *(const wide8u *)lo;
}

WIDE_BODY void store(double *hi, double *lo, const pair *p)
{
    *(wide8u *)hi = p->hi;
    *(wide8u *)lo = p->lo;
}

WIDE_BODY void fill(pair *p, double hi, double lo)
{
    *p = (pair){{hi, hi, hi, hi, hi, hi, hi, hi}, {lo, lo, lo, lo, lo, lo, lo, lo}};
}

/* The sum of all lanes, in every lane. */
WIDE_BODY void gather(pair *p)
{
    pair total = {{0}, {0}}, one = total;
    for (int i = 0; i < 8; i++) {
        fill(&one, p->hi[i], p->lo[i]);
        add(&total, &total, &one);
    }
    *p = total;
}

/* Four rows of a product: pack holds, for each at every k, a_k, its halves and its lower part. */
WIDE_BODY void four_told(size_t n, const double *pack, const tl_certify_pairs *B, double *hi,
                         double *lo, bool fused)
{
    const size_t stride = B->stride;
    for (size_t c = 0; c < stride; c += 8) {
        wide8 sum[4] = {{0}, {0}, {0}, {0}}, low[4] = {{0}, {0}, {0}, {0}};
        for (size_t k = 0; k < n; k++) {
            const wide8 b = *(const wide8u *)(B->hi + k * stride + c), t = b * SPLIT;
            const wide8 rest = *(const wide8u *)(B->lo + k * stride + c);
            const wide8 b1 = t - (t - b), b2 = b - b1;
            for (int r = 0; r < 4; r++) {
                const double *a = pack + 16 * k + 4 * r;
                const wide8 p = a[0] * b;
                wide8 e = ((a[1] * b1 - p) + a[1] * b2 + a[2] * b1) + a[2] * b2;
                for (int i = 0; i < 8 && fused; i++) e[i] = __builtin_fma(a[0], b[i], -p[i]);
                e += a[0] * rest + a[3] * b;
                const wide8 s = sum[r] + p, back = s - sum[r];
                low[r] += ((sum[r] - (s - back)) + (p - back)) + e;
                sum[r] = s;
            }
            for (int r = 0; r < 4 && k % BLOCK == BLOCK - 1; r++)
                two_sum(&sum[r], &low[r], &sum[r], &low[r]);
        }
        for (size_t r = 0; r < 4; r++) {
            pair total;
            two_sum(&total.hi, &total.lo, &sum[r], &low[r]);
            store(hi + r * stride + c, lo + r * stride + c, &total);
        }
    }
}

WIDE_VARIANTS_TOLD(four,
                   (size_t n, const double *pack, const tl_certify_pairs *B, double *hi,
                    double *lo),
                   (n, pack, B, hi, lo, true), (n, pack, B, hi, lo, false))

bool tl_certify_pairs_times(tl_certify_pairs *C, const tl_certify_pairs *A,
                            const tl_certify_pairs *B)
{
    const size_t n = A->cols;
    double *pack = malloc(16 * n * sizeof *pack);

    if (!pack) return false;
    for (size_t i = 0; i < A->rows; i += 4) {
        for (size_t k = 0; k < n; k++)
            for (size_t r = 0; r < 4; r++) {
                const double a = A->hi[(i + r) * A->stride + k], t = a * SPLIT, a1 = t - (t - a);
                const double four[] = {a, a1, a - a1, A->lo[(i + r) * A->stride + k]};
                memcpy(pack + 16 * k + 4 * r, four, sizeof four);
            }
        WIDE_CALL(four, (n, pack, B, C->hi + i * C->stride, C->lo + i * C->stride));
    }
    free(pack);
    return true;
}

WIDE_BODY void scale_body(tl_certify_pairs *p, double factor)
{
    pair by, t;
    fill(&by, factor, 0);
    for (size_t i = 0; i < p->rows * p->stride; i += 8) {
        load(&t, p->hi + i, p->lo + i);
        multiply(&t, &t, &by);
        store(p->hi + i, p->lo + i, &t);
    }
}

WIDE_VARIANTS(scale, (tl_certify_pairs * p, double factor), (p, factor))

void tl_certify_pairs_scale(tl_certify_pairs *p, double factor)
{
    WIDE_CALL(scale, (p, factor));
}

/* exp(t) = 2^k exp(r), r = t - k ln 2 the rest, by Taylor's series. */
WIDE_BODY void exp_one(pair *t, const tl_certify_exp_table *table)
{
    const wide8 shifted = t->hi * 0x1.71547652b82fep0 + ROUND, k = shifted - ROUND;
    const wide8l gone = t->hi < TL_PAIRS_LEAST;
    pair r = *t, part = {-k * table->ln2[0], {0}}, sum = part;
    add(&r, &r, &part);
    const wide8 down = -k;
    fill(&part, table->ln2[1], 0);
    two_product(&part.hi, &part.lo, &down, &part.hi);
    add(&r, &r, &part);
    part = (pair){-k * table->ln2[2], {0}};
    add(&r, &r, &part);
    fill(&sum, table->hi[TL_PAIRS_TERMS - 1], table->lo[TL_PAIRS_TERMS - 1]);
    for (size_t n = TL_PAIRS_TERMS - 1; n-- > 0;) {
        multiply(&sum, &sum, &r);
        fill(&part, table->hi[n], table->lo[n]);
        add(&sum, &part, &sum);
    }
    const wide8l scale = (((wide8l)shifted + 1023) << 52) & ~gone;
    t->hi = (wide8)((wide8l)(sum.hi * (wide8)scale) & ~gone);
    t->lo = (wide8)((wide8l)(sum.lo * (wide8)scale) & ~gone);
}

WIDE_BODY void exponentials_body(double *hi, double *lo, size_t vectors, size_t top,
                                 const tl_certify_exp_table *table)
{
    pair shift, t;
    fill(&shift, -hi[top], -lo[top]);
    for (size_t i = 0; i < 8 * vectors; i += 8) {
        load(&t, hi + i, lo + i);
        add(&t, &t, &shift);
        exp_one(&t, table);
        store(hi + i, lo + i, &t);
    }
}

WIDE_VARIANTS(exponentials,
              (double *hi, double *lo, size_t vectors, size_t top,
               const tl_certify_exp_table *table),
              (hi, lo, vectors, top, table))

void tl_certify_pairs_exp(double *hi, double *lo, size_t vectors, size_t top,
                          const tl_certify_exp_table *table)
{
    WIDE_CALL(exponentials, (hi, lo, vectors, top, table));
}

/* inverse := 1/total: Newton from the double, whose error enters squared. */
WIDE_BODY void invert(pair *inverse, const pair *total)
{
    pair one, t;
    fill(&one, 1, 0);
    *inverse = (pair){1 / total->hi, {0}};
    multiply(&t, inverse, total);
    t = (pair){-t.hi, -t.lo};
    add(&t, &one, &t);
    multiply(&t, inverse, &t);
    add(inverse, inverse, &t);
}

WIDE_BODY void centre_body(double *w[2], double *c[2], size_t vectors, size_t top)
{
    pair total = {{0}, {0}}, mean = total, share, at, t;
    for (size_t i = 0; i < 8 * vectors; i += 8) {
        load(&t, w[0] + i, w[1] + i);
        add(&total, &total, &t);
    }
    gather(&total);
    invert(&share, &total);
    fill(&at, -c[0][top], -c[1][top]);
    for (size_t i = 0; i < 8 * vectors; i += 8) {
        pair p, q;
        load(&p, w[0] + i, w[1] + i);
        multiply(&p, &p, &share);
        store(w[0] + i, w[1] + i, &p);
        load(&q, c[0] + i, c[1] + i);
        add(&q, &q, &at);
        store(c[0] + i, c[1] + i, &q);
        multiply(&q, &q, &p);
        add(&mean, &mean, &q);
    }
    gather(&mean);
    mean = (pair){-mean.hi, -mean.lo};
    total = (pair){{0}, {0}};
    for (size_t i = 0; i < 8 * vectors; i += 8) {
        pair p;
        load(&p, w[0] + i, w[1] + i);
        load(&t, c[0] + i, c[1] + i);
        add(&t, &t, &mean);
        multiply(&t, &t, &p);
        store(c[0] + i, c[1] + i, &t);
        if (i <= top && top < i + 8) t.hi[top - i] = t.lo[top - i] = 0;
        add(&total, &total, &t);
    }
    gather(&total);
    c[0][top] = -total.hi[0];
    c[1][top] = -total.lo[0];
}

WIDE_VARIANTS(centre, (double *w[2], double *c[2], size_t vectors, size_t top),
              (w, c, vectors, top))

void tl_certify_pairs_centre(double *w[2], double *c[2], size_t vectors, size_t top)
{
    WIDE_CALL(centre, (w, c, vectors, top));
}
