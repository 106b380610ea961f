/* The closed formulas of the registry of bounds, in ball arithmetic. Statements:
 * src/bounds/README.md sections 3, 4.2, 5.3, 7, 8, 9 and 13. */
#include "certify/formulas.h"

#include <string.h>

void tl_certify_g_origin(arb_t g, const tl_certify_facts *f, size_t h)
{
    arb_sqr(g, f->radius_origin, f->prec);
    arb_mul(g, g, f->head[h].norm_a, f->prec);
}

void tl_certify_g_centred(arb_t g, arb_t c, const tl_certify_facts *f, size_t h)
{
    arb_mul(g, f->head[h].rho, f->radius, f->prec);
    arb_sqr(c, f->radius, f->prec);
    arb_mul(c, c, f->head[h].norm_a, f->prec);
}

/* sqrt(3 (g^2 (4n + 1) + n)) */
static void castin_general(arb_t value, const tl_certify_facts *f, size_t h)
{
    arb_t t;

    arb_init(t);
    tl_certify_g_origin(value, f, h);
    arb_sqr(value, value, f->prec);
    arb_set_fmpz(t, f->n);
    arb_mul_2exp_si(t, t, 2);
    arb_add_ui(t, t, 1, f->prec);
    arb_mul(value, value, t, f->prec);
    arb_add_fmpz(value, value, f->n, f->prec);
    arb_mul_ui(value, value, 3, f->prec);
    arb_sqrt(value, value, f->prec);
    arb_clear(t);
}

/* (1 + 3g) e^(2g) */
static void castin_mean_field(arb_t value, const tl_certify_facts *f, size_t h)
{
    arb_t t;

    arb_init(t);
    tl_certify_g_origin(value, f, h);
    arb_mul_2exp_si(t, value, 1);
    arb_exp(t, t, f->prec);
    arb_mul_ui(value, value, 3, f->prec);
    arb_add_ui(value, value, 1, f->prec);
    arb_mul(value, value, t, f->prec);
    arb_clear(t);
}

/* sqrt n + n g */
static void half_softmax(arb_t value, const tl_certify_facts *f, size_t h)
{
    arb_t t;

    arb_init(t);
    tl_certify_g_origin(value, f, h);
    arb_mul_fmpz(value, value, f->n, f->prec);
    arb_sqrt_fmpz(t, f->n, f->prec);
    arb_add(value, value, t, f->prec);
    arb_clear(t);
}

/* 1 + 2g */
static void newhouse(arb_t value, const tl_certify_facts *f, size_t h)
{
    tl_certify_g_origin(value, f, h);
    arb_mul_2exp_si(value, value, 1);
    arb_add_ui(value, value, 1, f->prec);
}

/* sqrt(1 + g^2) + c; 1 for one token */
static void sharp_inf2(arb_t value, const tl_certify_facts *f, size_t h)
{
    arb_t c;

    arb_init(c);
    tl_certify_g_centred(value, c, f, h);
    arb_sqr(value, value, f->prec);
    arb_add_ui(value, value, 1, f->prec);
    arb_sqrt(value, value, f->prec);
    arb_add(value, value, c, f->prec);
    if (!f->infinite && fmpz_is_one(f->n)) arb_one(value);
    arb_clear(c);
}

/* 1 + 2g + c */
static void w_infinity(arb_t value, const tl_certify_facts *f, size_t h)
{
    arb_t c;

    arb_init(c);
    tl_certify_g_centred(value, c, f, h);
    arb_mul_2exp_si(value, value, 1);
    arb_add_ui(value, value, 1, f->prec);
    arb_add(value, value, c, f->prec);
    arb_clear(c);
}

void tl_certify_sigmoid_suprema(arb_t top, arb_t change, const tl_certify_facts *f, size_t h)
{
    arb_t g, t, nearest;

    arb_init(g);
    arb_init(t);
    arb_init(nearest);
    tl_certify_g_origin(g, f, h);
    arb_set_d(t, f->state->layer->bias);
    arb_add(top, t, g, f->prec);
    arb_neg(top, top);
    arb_exp(top, top, f->prec);
    arb_add_ui(top, top, 1, f->prec);
    arb_inv(top, top, f->prec);
    /* sigma' is largest at the logit nearest to zero: 1 / (2 + e^s + e^-s). */
    arb_abs(t, t);
    arb_sub(t, t, g, f->prec);
    arb_max(t, t, nearest, f->prec);
    arb_cosh(t, t, f->prec);
    arb_add_ui(t, t, 1, f->prec);
    arb_div(change, g, t, f->prec);
    arb_mul_2exp_si(change, change, -1);
    arb_clear(nearest);
    arb_clear(t);
    arb_clear(g);
}

/* n (sup sigma + 2 sup sigma' g) */
static void sigmoid(arb_t value, const tl_certify_facts *f, size_t h)
{
    arb_t change;

    arb_init(change);
    tl_certify_sigmoid_suprema(value, change, f, h);
    arb_mul_2exp_si(change, change, 1);
    arb_add(value, value, change, f->prec);
    arb_mul_fmpz(value, value, f->n, f->prec);
    arb_clear(change);
}

/* Slow: up to some seconds a head, for maxima over boxes or norms of large matrices. */
typedef enum { QUICK, SLOW, SLOW_FOR_HEADS } effort;

typedef struct {
    const char *key;
    bool needs_n; /* has no value at n = infinity */
    bool plain;   /* sums ||O_h V_h|| L_h only */
    effort cost;
    /* L_h for V = I, or else the bound itself, which combines its heads in its own way. */
    void (*head)(arb_t value, const tl_certify_facts *f, size_t h);
    void (*whole)(arb_t value, const tl_certify_facts *f);
} formula;

static const formula table[] = {
    {"castin-general", true, false, QUICK, castin_general, NULL},
    {"castin-mean-field", false, false, QUICK, castin_mean_field, NULL},
    {"half-softmax", true, false, QUICK, half_softmax, NULL},
    {"schur", false, false, QUICK, tl_certify_schur, NULL},
    {"sharp", false, false, SLOW, tl_certify_sharp, NULL},
    {"numerical-range", true, false, SLOW, tl_certify_numerical_range, NULL},
    {"kernel", false, false, QUICK, tl_certify_kernel, NULL},
    {"newhouse-inf2", false, false, QUICK, newhouse, NULL},
    {"sharp-inf2", false, false, QUICK, sharp_inf2, NULL},
    {"w-infinity", false, false, QUICK, w_infinity, NULL},
    {"causal-closed", false, false, QUICK, tl_certify_causal_closed, NULL},
    {"causal-riccati", false, false, SLOW, tl_certify_causal_riccati, NULL},
    {"causal-sharp", false, false, SLOW, tl_certify_causal_sharp, NULL},
    {"masked-sharp", true, false, SLOW, tl_certify_masked_sharp, NULL},
    {"sigmoid", true, false, QUICK, sigmoid, NULL},
    {"lipschitznorm", false, false, QUICK, tl_certify_lipschitznorm, NULL},
    {"released-helper", true, true, QUICK, tl_certify_released, NULL},
    {"yudin-local", true, false, QUICK, tl_certify_yudin, NULL},
    {"sharp-local", false, false, QUICK, NULL, tl_certify_sharp_local},
    {"local-ball", true, false, QUICK, NULL, tl_certify_local_ball},
    {"lofast", true, false, SLOW_FOR_HEADS, NULL, tl_certify_lofast},
    {"lofast-fine", true, false, QUICK, NULL, tl_certify_lofast_fine},
    {"lofast-coarse", true, false, QUICK, NULL, tl_certify_lofast_coarse},
    {"exact-1d", true, false, QUICK, NULL, tl_certify_l2_inf},
    {"l2-inf", true, false, QUICK, NULL, tl_certify_l2_inf},
    {"l2-mean-field", false, false, QUICK, NULL, tl_certify_l2_mean_field},
    {"l2-2", true, false, SLOW, NULL, tl_certify_l2_2},
    {"l2-ball", false, false, SLOW, NULL, tl_certify_l2_ball},
    {"l2-form-a", true, false, QUICK, NULL, tl_certify_l2_only_a},
    {"l2-form-b", true, false, SLOW, NULL, tl_certify_l2_only_b},
    {"l2-form-c", true, false, SLOW, NULL, tl_certify_l2_only_c},
    {"l2-form-d", true, false, SLOW, NULL, tl_certify_l2_only_d},
    {"l2-fro", true, false, QUICK, NULL, tl_certify_l2_fro},
    {"ellipsoid", false, false, SLOW, NULL, tl_certify_ellipsoid},
    {"row-fro", true, false, SLOW, NULL, tl_certify_row_fro},
    {"scsa", true, false, QUICK, NULL, tl_certify_scsa},
    {"scsa-sharp", true, false, QUICK, NULL, tl_certify_scsa_sharp},
    {"kim-2", true, false, QUICK, NULL, tl_certify_kim_2},
    {"kim-2-printed", true, false, QUICK, NULL, tl_certify_kim_2_printed},
    {"kim-inf", true, false, QUICK, NULL, tl_certify_kim_inf},
    {"sigmoid-fro", true, false, QUICK, NULL, tl_certify_sigmoid_fro},
    {"ellipsoid-inf2", false, false, QUICK, NULL, tl_certify_ellipsoid_inf2},
};

static const formula *find(const char *key)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].key, key) == 0) return &table[i];
    return NULL;
}

void tl_certify_take_least(arb_t least, const arb_t other, slong prec)
{
    if (arb_is_finite(other)) arb_min(least, least, other, prec);
}

void tl_certify_total_init(tl_certify_total *t)
{
    arb_init(t->sum);
    arb_init(t->squares);
}

void tl_certify_total_clear(tl_certify_total *t)
{
    arb_clear(t->sum);
    arb_clear(t->squares);
}

void tl_certify_total_add(tl_certify_total *t, const arb_t alone, const arb_t with_output,
                          slong prec)
{
    arb_addmul(t->squares, alone, alone, prec);
    arb_add(t->sum, t->sum, with_output, prec);
}

void tl_certify_total_least(arb_t value, const tl_certify_total *t, const tl_certify_facts *f)
{
    arb_sqrtpos(value, t->squares, f->prec);
    arb_mul(value, value, f->norm_o, f->prec);
    arb_min(value, t->sum, value, f->prec);
}

static void combine(arb_t value, const formula *row, const tl_certify_facts *f)
{
    tl_certify_total total;
    arb_t one, alone;

    tl_certify_total_init(&total);
    arb_init(one);
    arb_init(alone);
    for (size_t h = 0; h < f->heads; h++) {
        row->head(one, f, h);
        arb_mul(alone, one, f->head[h].norm_v, f->prec);
        arb_mul(one, one, f->head[h].norm_ov, f->prec);
        tl_certify_total_add(&total, alone, one, f->prec);
    }
    if (row->plain)
        arb_set(value, total.sum);
    else
        tl_certify_total_least(value, &total, f);
    arb_clear(alone);
    arb_clear(one);
    tl_certify_total_clear(&total);
}

bool tl_certify_has_quick_formula(const char *key, size_t heads)
{
    const formula *row = find(key);

    return row && (row->cost == QUICK || (row->cost == SLOW_FOR_HEADS && heads == 1));
}

bool tl_certify_formula(arb_t value, const char *key, const tl_certify_facts *f)
{
    const formula *row = find(key);

    if (!row || (row->needs_n && f->infinite)) return false;
    if (row->whole)
        row->whole(value, f);
    else
        combine(value, row, f);
    return arb_is_finite(value);
}
