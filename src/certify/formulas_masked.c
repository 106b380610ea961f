/* masked-sharp in ball arithmetic: every part of a mask by itself. Statement: src/bounds/README.md
 * section 18. */
#include <math.h>
#include <stdlib.h>

#include "certify/causal.h"
#include "certify/columns.h"

/* Tokens of a part whose columns are merged, at most; row lengths looked up. */
enum { MOST = 512, LOOKUPS = 12 };

/* One head, and what several parts share. */
typedef struct {
    const tl_layer *layer;
    const tl_certify_facts *f;
    size_t h, n;
    size_t *length;  /* n */
    arb_ptr square;  /* n + 1: bounds of ||T_i||^2 by row length, where asked for */
    arb_ptr known;   /* 2 (n + 1): parts that are full or causal, by size; 0: not asked for */
    arb_t tau2, any; /* any: ||T|| of causal rows of every number, without a profile */
    tl_certify_size s;
} masked;

/* m tokens, joined by rows that see each other, by the length of their rows. */
typedef struct {
    size_t m;
    const size_t *token;
} part;

/* list: first, and everything joined to it; how many. */
static size_t spread(const masked *w, size_t first, bool *taken, size_t *list)
{
    size_t count = 1;

    taken[first] = true;
    list[0] = first;
    for (size_t at = 0; at < count; at++)
        for (size_t j = 0; j < w->n; j++) {
            const size_t i = list[at];
            if (taken[j] || !(tl_layer_sees(w->layer, i, j) || tl_layer_sees(w->layer, j, i)))
                continue;
            taken[j] = true;
            list[count++] = j;
        }
    return count;
}

/* sorted: list by ascending length of rows. */
static void sort_part(const masked *w, const size_t *list, size_t m, size_t *sorted)
{
    size_t at = 0;

    for (size_t l = 1; l <= m; l++)
        for (size_t k = 0; k < m; k++)
            if (w->length[list[k]] == l) sorted[at++] = list[k];
}

/* Rows of 1, 2, 3, .. tokens, each its own and those of the rows before. */
static bool is_causal(const masked *w, part p)
{
    for (size_t r = 0; r < p.m; r++) {
        if (w->length[p.token[r]] != r + 1) return false;
        for (size_t q = 0; q <= r; q++)
            if (!tl_layer_sees(w->layer, p.token[r], p.token[q])) return false;
    }
    return true;
}

/* Row bounds at the lengths that occur: what holds at three or more holds beyond. */
static void set_squares(masked *w)
{
    const slong prec = w->s.prec;
    double next = 3, longer = (double)INFINITY;
    arb_t t;

    arb_init(t);
    for (size_t i = 0; i < w->n; i++) arb_one(w->square + w->length[i]);
    for (size_t l = 2; l <= w->n; l++) {
        if (arb_is_zero(w->square + l)) continue;
        if (l < 3) {
            arb_set_d(w->square + l, tl_certify_row_square(&w->s, 2));
            continue;
        }
        if ((double)l >= next) {
            longer = fmin(longer, tl_certify_row_square(&w->s, (double)l));
            next = fmax((double)l + 1, (double)l * pow((double)w->n / 3, 1.0 / LOOKUPS));
        }
        arb_set_d(w->square + l, longer);
        arb_div_ui(t, w->tau2, l, prec);
        arb_min(w->square + l, w->square + l, t, prec);
    }
    arb_clear(t);
}

/* (a): columns, c_j = 0 for rows of one token. */
static void merge_columns(arb_t value, const masked *w, part p)
{
    const slong m = (slong)p.m, prec = w->s.prec;
    arb_ptr spread_of = _arb_vec_init(m), columns = _arb_vec_init(m);
    arb_mat_t E;

    arb_mat_init(E, m, m);
    for (slong i = 0; i < m; i++) {
        const size_t row = p.token[i];
        if (w->length[row] > 1) arb_sqr(spread_of + i, w->s.c, prec);
        for (slong j = 0; j < m; j++)
            if (tl_layer_sees(w->layer, row, p.token[j]))
                arb_set(arb_mat_entry(E, i, j), w->square + w->length[row]);
    }
    if (tl_certify_columns(columns, value, E, spread_of, prec))
        arb_sqrtpos(value, value, prec);
    else
        arb_pos_inf(value);
    arb_mat_clear(E);
    _arb_vec_clear(spread_of, m);
    _arb_vec_clear(columns, m);
}

/* (b): U of 4.3 at tau^2 = n max f, w = min((1 + g^2)^(1/2), tau). */
static void one_for_all(arb_t value, const masked *v, part p)
{
    const tl_certify_size *s = &v->s;
    const slong prec = s->prec;
    arb_t tau2, tau, w, t;

    arb_init(tau2);
    arb_init(tau);
    arb_init(w);
    arb_init(t);
    for (size_t i = 0; i < p.m; i++) arb_max(tau2, tau2, v->square + v->length[p.token[i]], prec);
    arb_mul_ui(tau2, tau2, p.m, prec);
    arb_sqrtpos(tau, tau2, prec);
    arb_sqr(w, s->g, prec);
    arb_add_ui(w, w, 1, prec);
    arb_sqrtpos(w, w, prec);
    arb_min(w, w, tau, prec);
    arb_add(t, s->c, w, prec);
    arb_mul(t, t, s->c, prec);
    arb_mul_2exp_si(t, t, 2);
    arb_add(t, t, tau2, prec);
    arb_sqrtpos(t, t, prec);
    arb_mul(t, t, tau, prec);
    arb_add(t, t, tau2, prec);
    arb_mul(value, s->c, w, prec);
    arb_mul_2exp_si(value, value, 1);
    arb_add(value, value, t, prec);
    arb_mul_2exp_si(value, value, -1);
    arb_addmul(value, s->c, s->c, prec);
    arb_sqrtpos(value, value, prec);
    arb_clear(t);
    arb_clear(w);
    arb_clear(tau);
    arb_clear(tau2);
}

/* (c): at most `density` m' rows see m' tokens or fewer. */
static void take_density(arb_t value, const masked *w, part p)
{
    const slong prec = w->s.prec;
    arb_t density, t;

    arb_init(density);
    arb_init(t);
    arb_one(density);
    for (size_t r = 0; r < p.m; r++) {
        arb_set_ui(t, r + 1);
        arb_div_ui(t, t, w->length[p.token[r]], prec);
        arb_max(density, density, t, prec);
    }
    arb_sqrtpos(t, density, prec);
    arb_mul(t, t, w->any, prec);
    arb_add(t, t, w->s.c, prec);
    tl_certify_take_least(value, t, prec);
    tl_certify_causal_take_every(value, &w->s, w->tau2, density);
    arb_clear(t);
    arb_clear(density);
}

/* All see all, or one after the other: m tokens of a layer without a mask, or of a causal one. */
static void known_part(arb_t value, const masked *w, size_t m, bool full)
{
    arb_ptr known = w->known + m + (full ? 0 : w->n + 1);
    tl_certify_size s = w->s;

    if (arb_is_zero(known)) {
        fmpz_init_set_ui(s.n, m);
        if (full)
            tl_certify_sharp_of(known, w->f, w->h, &s);
        else
            tl_certify_causal_size(known, &s);
        fmpz_clear(s.n);
    }
    arb_set(value, known);
}

static void part_norm(arb_t value, const masked *w, part p)
{
    const bool full = w->length[p.token[0]] == p.m;
    arb_t other;

    if (p.m < 2) {
        arb_one(value);
    } else if (full || is_causal(w, p)) {
        known_part(value, w, p.m, full);
    } else if (p.m > MOST) {
        arb_pos_inf(value);
    } else {
        arb_init(other);
        merge_columns(value, w, p);
        one_for_all(other, w, p);
        tl_certify_take_least(value, other, w->s.prec);
        take_density(value, w, p);
        arb_clear(other);
    }
}

static void masked_init(masked *w, const tl_certify_facts *f, size_t h)
{
    const size_t n = f->state->layer->seen_n;

    *w = (masked){.layer = f->state->layer, .f = f, .h = h, .n = n};
    w->square = _arb_vec_init((slong)n + 1);
    w->known = _arb_vec_init(2 * (slong)n + 2);
    arb_init(w->tau2);
    arb_init(w->any);
    tl_certify_size_init(&w->s, f);
    tl_certify_size_of_head(&w->s, f, h);
    tl_certify_mean_field_square(w->tau2, &w->s);
    tl_certify_causal_at_once(w->any, &w->s, w->tau2);
}

static void masked_clear(masked *w)
{
    tl_certify_size_clear(&w->s);
    arb_clear(w->any);
    arb_clear(w->tau2);
    _arb_vec_clear(w->known, 2 * (slong)w->n + 2);
    _arb_vec_clear(w->square, (slong)w->n + 1);
}

/* The largest over parts; list and sorted: n. */
static void over_parts(arb_t value, masked *w, bool *taken, size_t *list, size_t *sorted)
{
    arb_t one;

    arb_init(one);
    for (size_t i = 0; i < w->n; i++) w->length[i] = tl_layer_seen_by(w->layer, i, w->n);
    set_squares(w);
    arb_zero(value);
    for (size_t i = 0; i < w->n && arb_is_finite(value); i++) {
        if (taken[i]) continue;
        const part p = {.m = spread(w, i, taken, list), .token = sorted};
        sort_part(w, list, p.m, sorted);
        part_norm(one, w, p);
        arb_max(value, value, one, w->s.prec);
    }
    arb_clear(one);
}

void tl_certify_masked_sharp(arb_t value, const tl_certify_facts *f, size_t h)
{
    const tl_layer *layer = f->state->layer;
    masked w;

    arb_pos_inf(value);
    if (layer->mask != TL_MASK_GENERAL) return;
    size_t *lists = malloc(3 * layer->seen_n * sizeof *lists);
    bool *taken = calloc(layer->seen_n, sizeof *taken);
    if (lists && taken) {
        masked_init(&w, f, h);
        w.length = lists;
        over_parts(value, &w, taken, lists + w.n, lists + 2 * w.n);
        masked_clear(&w);
    }
    free(taken);
    free(lists);
}
