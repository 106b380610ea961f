/* Formulas that combine heads in a way of their own: L2 and cosine attention. Statements:
 * src/bounds/README.md sections 10, 13 and 16.4. */
#include "certify/l2.h"

/* ||O|| (nu eps^(-1/2)) (sum_h L_h^2)^(1/2), L_h = tau (key ||K|| + query ||Q||) + value ||V||. */
static void cosine(arb_t value, const tl_certify_facts *f, const arb_t key, const arb_t query,
                   const arb_t of_value)
{
    const tl_layer *layer = f->state->layer;
    const slong prec = f->prec;
    arb_t t, one;

    arb_init(t);
    arb_init(one);
    arb_zero(value);
    for (size_t h = 0; h < f->heads; h++) {
        const tl_head *head = &layer->head[h];
        arb_one(t);
        if (head->K) tl_certify_norm2_of(t, head->k, layer->d, head->K, prec);
        arb_mul(one, t, key, prec);
        tl_certify_norm2_of(t, head->k, layer->d, head->Q, prec);
        arb_addmul(one, t, query, prec);
        arb_set_d(t, layer->tau);
        arb_mul(one, one, t, prec);
        arb_addmul(one, f->head[h].norm_v, of_value, prec);
        arb_addmul(value, one, one, prec);
    }
    arb_sqrtpos(value, value, prec);
    arb_mul(value, value, f->norm_o, prec);
    arb_set_d(t, layer->nu);
    arb_mul(value, value, t, prec);
    arb_set_d(t, layer->eps);
    arb_rsqrt(t, t, prec);
    arb_mul(value, value, t, prec);
    arb_clear(one);
    arb_clear(t);
}

void tl_certify_scsa(arb_t value, const tl_certify_facts *f)
{
    arb_t n, square, twice;

    arb_init(n);
    arb_init(square);
    arb_init(twice);
    arb_set_fmpz(n, f->n);
    arb_sqr(square, n, f->prec);
    arb_mul_2exp_si(twice, n, 1);
    cosine(value, f, square, n, twice);
    arb_clear(twice);
    arb_clear(square);
    arb_clear(n);
}

void tl_certify_scsa_sharp(arb_t value, const tl_certify_facts *f)
{
    arb_t half, root;

    arb_init(half);
    arb_init(root);
    arb_sqrt_fmpz(root, f->n, f->prec);
    if (!fmpz_is_one(f->n)) { /* one token: the softmax is constant */
        arb_set_fmpz(half, f->n);
        arb_mul_2exp_si(half, half, -1);
    }
    cosine(value, f, half, half, root);
    arb_clear(root);
    arb_clear(half);
}

static size_t least_width(const tl_layer *layer)
{
    size_t width = layer->head[0].k;

    for (size_t h = 1; h < layer->heads; h++)
        if (layer->head[h].k < width) width = layer->head[h].k;
    return width;
}

/* (n/k)^(1/2) (4 c_n + 1) (sum_h ||Q_h||^(2 half) ||V_h||^2)^(1/2) ||O|| */
static void kim(arb_t value, const tl_certify_facts *f, ulong half)
{
    const tl_layer *layer = f->state->layer;
    const slong prec = f->prec;
    arb_t t, c;

    arb_init(t);
    arb_init(c);
    arb_zero(value);
    for (size_t h = 0; h < f->heads; h++) {
        tl_certify_norm2_of(t, layer->head[h].k, layer->d, layer->head[h].Q, prec);
        arb_pow_ui(t, t, half, prec);
        arb_mul(t, t, f->head[h].norm_v, prec);
        arb_addmul(value, t, t, prec);
    }
    arb_mul_fmpz(value, value, f->n, prec);
    arb_div_ui(value, value, least_width(layer), prec);
    arb_sqrtpos(value, value, prec);
    arb_mul(value, value, f->norm_o, prec);
    tl_certify_l2_c(c, f->n, prec);
    arb_mul_2exp_si(c, c, 2);
    arb_add_ui(c, c, 1, prec);
    arb_mul(value, value, c, prec);
    arb_clear(c);
    arb_clear(t);
}

void tl_certify_kim_2(arb_t value, const tl_certify_facts *f)
{
    kim(value, f, 2);
}

void tl_certify_kim_2_printed(arb_t value, const tl_certify_facts *f)
{
    kim(value, f, 1);
}

/* The largest absolute row sum (of the transpose, its column sums). */
static void row_sums(arb_t best, size_t rows, size_t cols, const double *a, bool transposed,
                     slong prec)
{
    const size_t lines = transposed ? cols : rows, length = transposed ? rows : cols;
    arb_t sum, t;

    arb_init(sum);
    arb_init(t);
    arb_zero(best);
    for (size_t i = 0; i < lines; i++) {
        arb_zero(sum);
        for (size_t j = 0; j < length; j++) {
            arb_set_d(t, transposed ? a[j * cols + i] : a[i * cols + j]);
            arb_abs(t, t);
            arb_add(sum, sum, t, prec);
        }
        arb_max(best, best, sum, prec);
    }
    arb_clear(t);
    arb_clear(sum);
}

/* (4 c_n + k^(-1/2)) ||O||_inf max_h ||Q_h'||_inf ||Q_h||_inf max_h ||V_h||_inf */
void tl_certify_kim_inf(arb_t value, const tl_certify_facts *f)
{
    const tl_layer *layer = f->state->layer;
    const slong prec = f->prec;
    arb_t t, u, most;

    arb_init(t);
    arb_init(u);
    arb_init(most);
    arb_zero(value);
    for (size_t h = 0; h < f->heads; h++) {
        const tl_head *head = &layer->head[h];
        row_sums(t, head->k, layer->d, head->Q, false, prec);
        row_sums(u, head->k, layer->d, head->Q, true, prec);
        arb_mul(t, t, u, prec);
        arb_max(value, value, t, prec);
        row_sums(t, head->v, layer->d, head->V, false, prec);
        arb_max(most, most, t, prec);
    }
    arb_mul(value, value, most, prec);
    arb_one(t);
    if (layer->O) row_sums(t, layer->out, layer->values, layer->O, false, prec);
    arb_mul(value, value, t, prec);
    tl_certify_l2_c(t, f->n, prec);
    arb_mul_2exp_si(t, t, 2);
    arb_rsqrt_ui(u, least_width(layer), prec);
    arb_add(t, t, u, prec);
    arb_mul(value, value, t, prec);
    arb_clear(most);
    arb_clear(u);
    arb_clear(t);
}
