/* sharp-local in ball arithmetic. Statement: src/bounds/README.md section 5. */
#include <stdlib.h>

#include "certify/columns.h"
#include "certify/formulas.h"

enum { EXPONENTS = 5 }; /* h = (column sum)^(-e/4), e = 0 .. 4 */

/* One head behind a map: G = V_h, or O_h V_h. */
typedef struct {
    const tl_certify_facts *f;
    size_t h, m;
    slong r, d, prec;
    const arb_mat_struct *output; /* O_h, or NULL */
    arb_mat_t G, square;          /* r x d, G G' */
    arb_mat_t b;                  /* m x d: A x_i + c */
    arb_mat_t P, E;               /* m x m: P_kl; the display's */
    arb_mat_t weight[EXPONENTS];  /* 1 x m: 1/h */
    arb_ptr spread, column;       /* m: ||G C_k A||^2; a column of the display */
    arb_ptr rho;                  /* EXPONENTS m */
} local;

static void local_init(local *w, const tl_certify_facts *f, size_t h, bool output)
{
    const tl_certify_state *s = f->state;
    const tl_certify_head *H = &s->head[h];
    const slong m = (slong)s->m, d = (slong)s->d;

    *w = (local){.f = f, .h = h, .m = s->m, .d = d, .prec = f->prec};
    w->output = output ? H->output : NULL;
    w->r = output ? (slong)s->out : (slong)H->v;
    arb_mat_init(w->G, w->r, d);
    arb_mat_init(w->square, w->r, w->r);
    arb_mat_init(w->b, m, d);
    arb_mat_init(w->P, m, m);
    arb_mat_init(w->E, m, m);
    for (int e = 0; e < EXPONENTS; e++) arb_mat_init(w->weight[e], 1, m);
    w->spread = _arb_vec_init(m);
    w->column = _arb_vec_init(m);
    w->rho = _arb_vec_init(EXPONENTS * m);
    if (output)
        arb_mat_mul(w->G, H->output, H->value_map, f->prec);
    else
        arb_mat_set(w->G, H->value_map);
    tl_certify_times_transposed(w->square, w->G, w->G, f->prec);
    arb_mat_mul(w->b, H->q, H->key_map, f->prec);
}

static void local_clear(local *w)
{
    const slong m = (slong)w->m;

    arb_mat_clear(w->G);
    arb_mat_clear(w->square);
    arb_mat_clear(w->b);
    arb_mat_clear(w->P);
    arb_mat_clear(w->E);
    for (int e = 0; e < EXPONENTS; e++) arb_mat_clear(w->weight[e]);
    _arb_vec_clear(w->spread, m);
    _arb_vec_clear(w->column, m);
    _arb_vec_clear(w->rho, EXPONENTS * m);
}

/* Y (m x r): the deviations of the tokens that the row sees, behind the map. */
static void set_deviations(arb_mat_t Y, const local *w, const tl_certify_row *row)
{
    if (w->output)
        tl_certify_times_transposed(Y, row->dval, w->output, w->prec);
    else
        arb_mat_set(Y, row->dval);
}

/* ||sum_l P_kl y_l (dkey_l' scale Q)||^2 */
static void set_spread(local *w, const tl_certify_row *row, const arb_mat_t Y, size_t k)
{
    const tl_certify_head *H = &w->f->state->head[w->h];
    arb_mat_t M;
    arb_t t;

    arb_init(t);
    arb_mat_init(M, w->r, (slong)H->k);
    for (size_t l = 0; l < row->seen; l++)
        for (slong a = 0; a < w->r; a++) {
            arb_mul(t, arb_mat_entry(Y, l, a), row->weight + l, w->prec);
            for (size_t c = 0; c < H->k; c++)
                arb_addmul(arb_mat_entry(M, a, c), t, arb_mat_entry(row->dkey, l, c), w->prec);
        }
    tl_certify_norm2_product(t, M, H->query_map, w->prec);
    arb_sqr(w->spread + k, t, w->prec);
    arb_mat_clear(M);
    arb_clear(t);
}

/* Pass 1: attention and covariance of every row. */
static void set_attention(local *w, tl_certify_row *row, arb_mat_t Y)
{
    for (size_t k = 0; k < w->m; k++) {
        tl_certify_row_set(row, w->f->state, w->h, k);
        for (size_t l = 0; l < w->m; l++) arb_set(arb_mat_entry(w->P, k, l), row->weight + l);
        set_deviations(Y, w, row);
        set_spread(w, row, Y, k);
    }
}

/* Pass 2: 1/h_l, any positive numbers: powers of the column sums (a_k/a_l) P_kl. */
static void set_weights(local *w)
{
    const tl_certify_state *s = w->f->state;
    arb_t sum, t;

    arb_init(sum);
    arb_init(t);
    for (size_t l = 0; l < w->m; l++) {
        arb_zero(sum);
        for (size_t k = 0; k < w->m; k++)
            arb_addmul(sum, arb_mat_entry(w->P, k, l), s->weight + k, w->prec);
        arb_div(sum, sum, s->weight + l, w->prec);
        /* A token that nobody sees: its weight does not matter. */
        if (!arb_is_positive(sum) || !arb_is_finite(sum)) arb_one(sum);
        arb_root_ui(sum, sum, 4, w->prec);
        for (ulong e = 0; e < EXPONENTS; e++) {
            arb_pow_ui(t, sum, e, w->prec);
            arb_get_mid_arb(arb_mat_entry(w->weight[e], 0, l), t);
        }
    }
    arb_clear(t);
    arb_clear(sum);
}

/* rho = ||sum_l q_l (G + y_l b')(G + y_l b')'||, q_l = P_kl/h_l. */
static void set_rho(arb_t rho, const local *w, const arb_mat_t Y, size_t k, int e)
{
    const slong r = w->r, prec = w->prec;
    arb_mat_t R, scaled;
    arb_ptr mean = _arb_vec_init(r), beta = _arb_vec_init(r);
    arb_t q, total;

    arb_init(q);
    arb_init(total);
    arb_mat_init(R, r, r);
    arb_mat_init(scaled, (slong)w->m, r);
    for (size_t l = 0; l < w->m; l++) {
        if (arb_is_zero(arb_mat_entry(w->P, k, l))) continue;
        arb_mul(q, arb_mat_entry(w->P, k, l), arb_mat_entry(w->weight[e], 0, l), prec);
        arb_add(total, total, q, prec);
        _arb_vec_scalar_addmul(mean, Y->rows[l], r, q, prec);
        arb_sqrtpos(q, q, prec);
        _arb_vec_scalar_mul(scaled->rows[l], Y->rows[l], r, q, prec);
    }
    for (slong a = 0; a < r; a++)
        arb_dot(beta + a, NULL, 0, w->G->rows[a], 1, w->b->rows[k], 1, w->d, prec);
    arb_dot(q, NULL, 0, w->b->rows[k], 1, w->b->rows[k], 1, w->d, prec);
    for (slong a = 0; a < r; a++)
        for (slong c = 0; c < r; c++) {
            arb_ptr entry = arb_mat_entry(R, a, c);
            arb_dot(entry, NULL, 0, scaled->entries + a, r, scaled->entries + c, r, (slong)w->m,
                    prec);
            arb_mul(entry, entry, q, prec);
            arb_addmul(entry, total, arb_mat_entry(w->square, a, c), prec);
            arb_addmul(entry, mean + a, beta + c, prec);
            arb_addmul(entry, beta + a, mean + c, prec);
        }
    tl_certify_norm2(rho, R, prec);
    arb_mat_clear(scaled);
    arb_mat_clear(R);
    arb_clear(total);
    arb_clear(q);
    _arb_vec_clear(beta, r);
    _arb_vec_clear(mean, r);
}

/* Pass 3. */
static void set_rhos(local *w, tl_certify_row *row, arb_mat_t Y)
{
    for (size_t k = 0; k < w->m; k++) {
        tl_certify_row_set(row, w->f->state, w->h, k);
        set_deviations(Y, w, row);
        for (int e = 0; e < EXPONENTS; e++) set_rho(w->rho + e * (slong)w->m + k, w, Y, k, e);
    }
}

/* E_kl = (a_k/a_l) P_kl h_l rho_k; the h whose largest column is the least. */
static bool least_display(local *w, arb_ptr columns, arb_t largest)
{
    const tl_certify_state *s = w->f->state;
    arb_t t;
    bool good = true;

    arb_init(t);
    /* Where no display is finite, nothing is known. */
    arb_pos_inf(largest);
    for (size_t l = 0; l < w->m; l++) arb_pos_inf(columns + l);
    for (int e = 0; e < EXPONENTS && good; e++) {
        for (size_t k = 0; k < w->m; k++)
            for (size_t l = 0; l < w->m; l++) {
                arb_ptr entry = arb_mat_entry(w->E, k, l);
                arb_mul(entry, arb_mat_entry(w->P, k, l), s->weight + k, w->prec);
                arb_div(entry, entry, s->weight + l, w->prec);
                arb_div(entry, entry, arb_mat_entry(w->weight[e], 0, l), w->prec);
                arb_mul(entry, entry, w->rho + e * (slong)w->m + k, w->prec);
            }
        good = tl_certify_columns(w->column, t, w->E, w->spread, w->prec);
        if (!arb_lt(t, largest)) continue;
        arb_set(largest, t);
        _arb_vec_set(columns, w->column, (slong)w->m);
    }
    arb_clear(t);
    return good;
}

/* The columns of one head; false when out of memory. */
static bool head_columns(arb_ptr columns, arb_t largest, const tl_certify_facts *f, size_t h,
                         bool output)
{
    tl_certify_row row;
    arb_mat_t Y;
    local w;

    local_init(&w, f, h, output);
    tl_certify_row_init(&row, f->state, h);
    arb_mat_init(Y, (slong)w.m, w.r);
    set_attention(&w, &row, Y);
    set_weights(&w);
    set_rhos(&w, &row, Y);
    const bool good = least_display(&w, columns, largest);
    arb_mat_clear(Y);
    tl_certify_row_clear(&row);
    local_clear(&w);
    return good;
}

/* sum_h of the displays behind O_h V_h, or ||O|| times the largest column of all heads before O. */
void tl_certify_sharp_local(arb_t value, const tl_certify_facts *f)
{
    const slong m = (slong)f->state->m;
    const bool output = f->state->layer->O != NULL, alone = output && f->heads == 1;
    arb_ptr columns = _arb_vec_init(m), squares = _arb_vec_init(m);
    arb_t sum, largest;
    bool good = true;

    arb_init(sum);
    arb_init(largest);
    for (size_t h = 0; h < f->heads && good; h++) {
        if (output) {
            good = head_columns(columns, largest, f, h, true);
            arb_sqrtpos(largest, largest, f->prec);
            arb_add(sum, sum, largest, f->prec);
        }
        if (!alone && good) good = head_columns(columns, largest, f, h, false);
        if (!alone) _arb_vec_add(squares, squares, columns, m, f->prec);
    }
    arb_zero(value);
    for (slong l = 0; l < m; l++) arb_max(value, value, squares + l, f->prec);
    arb_sqrtpos(value, value, f->prec);
    arb_mul(value, value, f->norm_o, f->prec);
    if (alone) arb_set(value, sum);
    if (output) arb_min(value, value, sum, f->prec);
    if (!good) arb_pos_inf(value);
    arb_clear(largest);
    arb_clear(sum);
    _arb_vec_clear(squares, m);
    _arb_vec_clear(columns, m);
}
