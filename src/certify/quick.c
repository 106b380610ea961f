/* J v in pairs of doubles, for kind dot and tokens written out once each. Bounds of what rounding
 * costs: README.md, "Products in pairs of doubles". */
#include "certify/quick.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

double tl_certify_squares(const double *a, size_t n)
{
    double sum = 0;

    for (size_t i = 0; a && i < n; i++) {
        const double t = a[i] * a[i];
        if (a[i] != 0) sum += t < DBL_MIN ? DBL_MIN : t; /* not NaN: that stays */
    }
    return sum;
}

/* B (d + 1 x rows) = (a | bias)' */
bool tl_certify_map_set(tl_certify_pairs *B, const double *a, const double *bias, size_t rows,
                        size_t d)
{
    if (!tl_certify_pairs_alloc(B, d + 1, rows)) return false;
    for (size_t o = 0; o < rows; o++) {
        for (size_t j = 0; j < d; j++) B->hi[j * B->stride + o] = a[o * d + j];
        if (bias) B->hi[d * B->stride + o] = bias[o];
    }
    return true;
}

static bool set_both(tl_certify_product *p, const tl_certify_state *s, const double *v)
{
    if (!tl_certify_pairs_alloc(&p->both, 2 * p->m, p->d + 1)) return false;
    for (size_t i = 0; i < p->m; i++) {
        double *moved = p->both.hi + i * p->both.stride, *token = moved + p->m * p->both.stride;
        for (size_t j = 0; j < p->d; j++) {
            moved[j] = v[i * p->d + j];
            token[j] = s->mu->x[i * p->d + j];
        }
        token[p->d] = 1;
    }
    return true;
}

/* out (m x out) = narrow O', and error with it. */
static bool apply_output(tl_certify_pairs *out, tl_certify_product *p)
{
    const size_t values = p->layer->values;
    const double size =
        sqrt(tl_certify_squares(p->layer->O, p->layer->out * values)) * TL_PRODUCT_ROUND;
    tl_certify_pairs map = {0};
    bool good = tl_certify_map_set(&map, p->layer->O, NULL, p->layer->out, values);

    map.rows = values; /* no bias */
    good = good && tl_certify_pairs_alloc(out, p->m, p->layer->out) &&
           tl_certify_pairs_times(out, &p->narrow, &map);
    for (size_t i = 0; i < p->m && good; i++) {
        const double length = sqrt(tl_certify_squares(p->narrow.hi + i * p->narrow.stride, values));
        p->error[i] =
            TL_PRODUCT_ROUND * size *
                (p->error[i] + TL_PRODUCT_ROUND * tl_certify_pairs_dot_margin(values) * length) +
            TL_PRODUCT_TINY;
        good = size * length < TL_PRODUCT_MOST;
    }
    tl_certify_pairs_free(&map);
    return good;
}

/* (|out| +- |error|)/|v| */
static void quotient(arb_t ball, const tl_certify_pairs *out, const tl_certify_product *p,
                     const double *v, slong prec)
{
    const size_t most = p->m * (out->cols > p->d ? out->cols : p->d);
    arb_ptr x = _arb_vec_init((slong)most);
    arf_t lo;
    arb_t t;

    arb_init(t);
    arf_init(lo);
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < out->cols; j++) {
            const size_t from = i * out->stride + j;
            arb_set_d(x + i * out->cols + j, out->hi[from]);
            arf_set_d(lo, out->lo[from]);
            arb_add_arf(x + i * out->cols + j, x + i * out->cols + j, lo, ARF_PREC_EXACT);
        }
    tl_certify_length(ball, x, p->m * out->cols, prec);
    arb_set_d(t, TL_PRODUCT_ROUND * sqrt(tl_certify_squares(p->error, p->m)));
    arb_add_error(ball, t);
    for (size_t i = 0; i < p->m * p->d; i++) arb_set_d(x + i, v[i]);
    tl_certify_length(t, x, p->m * p->d, prec);
    arb_div(ball, ball, t, prec);
    arf_clear(lo);
    arb_clear(t);
    _arb_vec_clear(x, (slong)most);
}

bool tl_certify_quick(arb_t value, const tl_certify_state *s, const double *v)
{
    tl_certify_product p = {.layer = s->layer, .m = s->m, .d = s->d};
    tl_certify_pairs out = {0};
    size_t offset = 0;
    arb_t ball;

    if (s->layer->kind != TL_KIND_DOT || !s->mu->count || s->mu->n != s->m) return false;
    arb_init(ball);
    tl_certify_exp_table_set(&p.table);
    p.error = calloc(p.m, sizeof *p.error);
    bool good =
        p.error && set_both(&p, s, v) && tl_certify_pairs_alloc(&p.narrow, p.m, s->layer->values);
    for (size_t h = 0; h < s->layer->heads && good; h++) {
        good = tl_certify_product_add(&p, &s->layer->head[h], offset);
        offset += s->layer->head[h].v;
    }
    if (good && s->layer->O) good = apply_output(&out, &p);
    if (good) quotient(ball, s->layer->O ? &out : &p.narrow, &p, v, s->prec);
    good = good && arb_is_finite(ball) && arb_rel_accuracy_bits(ball) >= TL_PRODUCT_BITS;
    if (good) arb_swap(value, ball);
    tl_certify_pairs_free(&out);
    tl_certify_pairs_free(&p.narrow);
    tl_certify_pairs_free(&p.both);
    free(p.error);
    arb_clear(ball);
    return good;
}
