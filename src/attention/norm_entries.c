/* The norms of largest row and column sums. A token of atom k meets N_k - 1 other copies of itself,
 * so its row holds the own block beta + S_k and N_k - 1 blocks beta, with N_k beta + S_k the
 * diagonal of the joint block. */
#include "attention/norm_entries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ENTRIES = 1 << 27 };
/* Joint entries carry the square root of mass ratios; beyond this they leave the double range. */
static const double MOST_LOG_RATIO = 1300;

void tl_token_blocks_clear(tl_token_blocks *b)
{
    free(b->buffer);
    *b = (tl_token_blocks){0};
}

double tl_token_copies(const tl_token_blocks *b, size_t k)
{
    if (b->mu->count) return (double)b->mu->count[k];
    return b->mu->n > 0 ? fmax(exp(b->mu->log_mass[k]) * (double)b->mu->n, 1) : (double)INFINITY;
}

double tl_token_ratio(const tl_token_blocks *b, size_t k, size_t l)
{
    return exp((b->mu->log_mass[k] - b->mu->log_mass[l]) / 2);
}

static double joint_diagonal(const tl_token_blocks *b, size_t k, size_t r, size_t c)
{
    return b->M[(k * b->out + r) * b->m * b->d + k * b->d + c];
}

static double split_entry(const tl_token_blocks *b, size_t k, size_t r, size_t c)
{
    return b->S[(k * b->out + r) * b->d + c];
}

double tl_token_own(const tl_token_blocks *b, size_t k, size_t r, size_t c)
{
    const double copies = tl_token_copies(b, k), s = split_entry(b, k, r, c);

    return s + (joint_diagonal(b, k, r, c) - s) / copies;
}

double tl_token_others(const tl_token_blocks *b, size_t k, size_t r, size_t c)
{
    const double copies = tl_token_copies(b, k);
    const double all = joint_diagonal(b, k, r, c) - split_entry(b, k, r, c);

    return isinf(copies) ? all : all * ((copies - 1) / copies);
}

tl_status tl_token_blocks_init(tl_token_blocks *b, tl_jacobian *J, const tl_measure *mu,
                               tl_error *err)
{
    const tl_layer *layer = tl_jacobian_layer(J);
    const size_t m = mu->m, d = layer->d, out = layer->out;
    double least = 0, most = -HUGE_VAL;

    *b = (tl_token_blocks){.m = m, .d = d, .out = out, .mu = mu};
    if (m * out > MOST_ENTRIES / (m * d))
        return tl_fail(err, TL_ERR_LIMIT, "norm of %zu x %zu entries: expected at most %d", m * out,
                       m * d, MOST_ENTRIES);
    for (size_t k = 0; k < m; k++) {
        least = fmin(least, mu->log_mass[k]);
        most = fmax(most, mu->log_mass[k]);
    }
    if (most - least > MOST_LOG_RATIO)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "masses: expected a ratio below e^%g for this norm, found e^%g",
                       MOST_LOG_RATIO, most - least);
    b->buffer = calloc(m * out * (m + 1) * d, sizeof(double));
    if (!b->buffer) return tl_fail(err, TL_ERR_MEMORY, "no memory for the blocks of %zu atoms", m);
    b->M = b->buffer;
    b->S = b->M + m * out * m * d;
    tl_jacobian_dense(J, b->M);
    tl_status status = TL_OK;
    for (size_t k = 0; k < m && status == TL_OK; k++)
        if (tl_token_copies(b, k) > 1) status = tl_jacobian_split(J, k, b->S + k * out * d);
    return status;
}

static double row_sum(const tl_token_blocks *b, size_t k, size_t r)
{
    const double *row = b->M + (k * b->out + r) * b->m * b->d;
    double sum = 0;

    for (size_t l = 0; l < b->m; l++) {
        double part = 0;
        for (size_t c = 0; c < b->d; c++)
            part += l == k ? fabs(tl_token_own(b, k, r, c)) + fabs(tl_token_others(b, k, r, c))
                           : fabs(row[l * b->d + c]);
        sum += l == k ? part : part * tl_token_ratio(b, l, k);
    }
    return sum;
}

static double column_sum(const tl_token_blocks *b, size_t l, size_t c)
{
    double sum = 0;

    for (size_t k = 0; k < b->m; k++) {
        double part = 0;
        for (size_t r = 0; r < b->out; r++)
            part += k == l ? fabs(tl_token_own(b, l, r, c)) + fabs(tl_token_others(b, l, r, c))
                           : fabs(b->M[(k * b->out + r) * b->m * b->d + l * b->d + c]);
        sum += k == l ? part : part * tl_token_ratio(b, k, l);
    }
    return sum;
}

static double sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/* Movements of a token and of its other copies as their mean and the token's distance from it. */
static void separate(double copies, double own, double other, double *mean, double *rest)
{
    *mean = isinf(copies) ? other : other + (own - other) / copies;
    *rest = own - *mean;
}

static void form_of_row(const tl_token_blocks *b, size_t k, size_t r, tl_norm_form *f)
{
    const double *row = b->M + (k * b->out + r) * b->m * b->d, copies = tl_token_copies(b, k);
    const double root = exp(b->mu->log_mass[k] / 2);

    memset(f->psi, 0, b->m * b->out * sizeof(double));
    memset(f->omega, 0, b->out * sizeof(double));
    f->atom = k;
    f->psi[k * b->out + r] = 1 / root;
    f->omega[r] = 1;
    for (size_t l = 0; l < b->m; l++) {
        const double mass = exp(b->mu->log_mass[l] / 2);
        for (size_t c = 0; c < b->d; c++) f->phi[l * b->d + c] = mass * sign(row[l * b->d + c]);
    }
    for (size_t c = 0; c < b->d; c++) {
        double mean;
        separate(copies, sign(tl_token_own(b, k, r, c)), sign(tl_token_others(b, k, r, c)), &mean,
                 &f->w[c]);
        f->phi[k * b->d + c] = root * mean;
    }
}

static void form_of_column(const tl_token_blocks *b, size_t l, size_t c, tl_norm_form *f)
{
    const double copies = tl_token_copies(b, l), root = exp(b->mu->log_mass[l] / 2);

    memset(f->phi, 0, b->m * b->d * sizeof(double));
    memset(f->w, 0, b->d * sizeof(double));
    f->atom = l;
    f->phi[l * b->d + c] = 1 / root;
    f->w[c] = 1;
    for (size_t k = 0; k < b->m; k++) {
        const double mass = exp(b->mu->log_mass[k] / 2);
        for (size_t r = 0; r < b->out; r++)
            f->psi[k * b->out + r] =
                mass * sign(b->M[(k * b->out + r) * b->m * b->d + l * b->d + c]);
    }
    for (size_t r = 0; r < b->out; r++) {
        double mean;
        separate(copies, sign(tl_token_own(b, l, r, c)), sign(tl_token_others(b, l, r, c)), &mean,
                 &f->omega[r]);
        f->psi[l * b->out + r] = root * mean;
    }
}

/* Largest of count sums. */
static double largest_sum(const tl_token_blocks *b, size_t width,
                          double (*sum)(const tl_token_blocks *, size_t, size_t), size_t *atom,
                          size_t *entry)
{
    double best = -1;

    for (size_t k = 0; k < b->m; k++)
        for (size_t r = 0; r < width; r++) {
            const double value = sum(b, k, r);
            if (!(value > best)) continue;
            best = value;
            *atom = k;
            *entry = r;
        }
    return best;
}

tl_status tl_norm_attain(tl_jacobian *J, const tl_measure *mu, tl_norm norm, tl_norm_form *form,
                         double *log_value, tl_error *err)
{
    tl_token_blocks b;
    size_t atom = 0, entry = 0;
    double value = 0;

    if (norm != TL_NORM_INF && norm != TL_NORM_1 && norm != TL_NORM_INF2)
        return tl_fail(err, TL_ERR_UNSUPPORTED, "norm \"%s\": expected inf, 1 or inf2",
                       tl_norm_name(norm));
    tl_status status = tl_token_blocks_init(&b, J, mu, err);
    if (status == TL_OK && norm == TL_NORM_INF) {
        value = largest_sum(&b, b.out, row_sum, &atom, &entry);
        if (form) form_of_row(&b, atom, entry, form);
    } else if (status == TL_OK && norm == TL_NORM_1) {
        value = largest_sum(&b, b.d, column_sum, &atom, &entry);
        if (form) form_of_column(&b, atom, entry, form);
    } else if (status == TL_OK) {
        status = tl_norm_movement(&b, form, &value);
        if (status) (void)tl_fail(err, status, "norm \"inf2\": %s", tl_status_text(status));
    }
    tl_token_blocks_clear(&b);
    *log_value = log(value) + tl_jacobian_log_scale(J);
    return status;
}
