/* The (inf,2) norm: the largest movement of an output token when every input token moves by at most
 * one. For output token i it is the maximum over unit u of the convex function sum_j |J_ij'u|, so
 * the ascent below gives a value that is attained, hence a lower bound. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/norm_entries.h"
#include "tightlip/linalg.h"

enum { STEPS = 200, GENERIC = 3 };

typedef struct {
    const tl_token_blocks *b;
    size_t k;
    double *row;       /* out x (m + 1) d: blocks of token k, weighted by the number of tokens; the
                          last block is that of the token itself, block k that of its copies */
    double *direction; /* (m + 1) d: unit movements */
    double *u, *next, *best, *sigma;
} movement;

static void fill_row(movement *s)
{
    const tl_token_blocks *b = s->b;
    const size_t ld = (b->m + 1) * b->d;

    for (size_t r = 0; r < b->out; r++)
        for (size_t l = 0; l <= b->m; l++)
            for (size_t c = 0; c < b->d; c++) {
                double *entry = s->row + r * ld + l * b->d + c;
                if (l == b->m)
                    *entry = tl_token_own(b, s->k, r, c);
                else if (l == s->k)
                    *entry = tl_token_others(b, s->k, r, c);
                else
                    *entry = tl_token_ratio(b, l, s->k) *
                             b->M[(s->k * b->out + r) * b->m * b->d + l * b->d + c];
            }
}

/* Movements that are best for u; returns sum_l |block_l'u|. */
static double respond(movement *s, const double *u)
{
    const size_t d = s->b->d, ld = (s->b->m + 1) * d;
    double sum = 0;

    memset(s->direction, 0, ld * sizeof(double));
    for (size_t r = 0; r < s->b->out; r++) tl_axpy(ld, u[r], s->row + r * ld, s->direction);
    for (size_t l = 0; l <= s->b->m; l++) {
        double *part = s->direction + l * d;
        const double length = tl_nrm2(d, part);
        sum += length;
        for (size_t c = 0; c < d && length > 0; c++) part[c] /= length;
    }
    return sum;
}

/* Climbs from s->u; returns the value there. */
static double climb(movement *s)
{
    const size_t out = s->b->out, ld = (s->b->m + 1) * s->b->d;
    double value = respond(s, s->u);

    for (int step = 0; step < STEPS; step++) {
        for (size_t r = 0; r < out; r++) s->next[r] = tl_dot(ld, s->row + r * ld, s->direction);
        const double length = tl_nrm2(out, s->next);
        if (!(length > 0)) break;
        for (size_t r = 0; r < out; r++) s->next[r] /= length;
        const double gained = respond(s, s->next);
        if (!(gained > value)) break;
        memcpy(s->u, s->next, out * sizeof(double));
        const bool settled = gained <= value * (1 + 1e-15);
        value = gained;
        if (settled) break;
    }
    return value;
}

/* Starts: the axes, the top left vector of the row, and fixed generic directions. */
static tl_status start(movement *s, size_t which)
{
    const size_t out = s->b->out;

    memset(s->u, 0, out * sizeof(double));
    if (which < out) {
        s->u[which] = 1;
        return TL_OK;
    }
    if (which == out)
        return tl_svd_dense(out, (s->b->m + 1) * s->b->d, s->row, s->sigma, s->u, NULL);
    for (size_t r = 0; r < out; r++)
        s->u[r] = cos(1.7 * (double)(r + 1) * (double)(which - out) + 0.3 * (double)(r * r));
    const double length = tl_nrm2(out, s->u);
    for (size_t r = 0; r < out; r++) s->u[r] /= length;
    return TL_OK;
}

static void fill_form(movement *s, const double *u, tl_norm_form *f)
{
    const tl_token_blocks *b = s->b;
    const double copies = tl_token_copies(b, s->k), root = exp(b->mu->log_mass[s->k] / 2);
    const double *own = s->direction + b->m * b->d;

    (void)respond(s, u);
    memset(f->psi, 0, b->m * b->out * sizeof(double));
    f->atom = s->k;
    for (size_t r = 0; r < b->out; r++) {
        f->psi[s->k * b->out + r] = u[r] / root;
        f->omega[r] = u[r];
    }
    for (size_t l = 0; l < b->m; l++)
        for (size_t c = 0; c < b->d; c++)
            f->phi[l * b->d + c] = exp(b->mu->log_mass[l] / 2) * s->direction[l * b->d + c];
    for (size_t c = 0; c < b->d; c++) {
        const double other = s->direction[s->k * b->d + c];
        const double mean = isinf(copies) ? other : other + (own[c] - other) / copies;
        f->phi[s->k * b->d + c] = root * mean;
        f->w[c] = own[c] - mean;
    }
}

static tl_status best_of_atom(movement *s, double *value, bool *gained)
{
    const size_t out = s->b->out;

    *gained = false;
    fill_row(s);
    for (size_t which = 0; which < out + 1 + GENERIC; which++) {
        tl_status status = start(s, which);
        if (status != TL_OK) return status;
        const double found = climb(s);
        if (!(found > *value)) continue;
        *value = found;
        *gained = true;
        memcpy(s->best, s->u, out * sizeof(double));
    }
    return TL_OK;
}

tl_status tl_norm_movement(const tl_token_blocks *b, tl_norm_form *form, double *value)
{
    const size_t ld = (b->m + 1) * b->d;
    movement s = {.b = b};
    double *buffer = malloc((b->out * ld + ld + 4 * b->out + 1) * sizeof(double));
    tl_status status = TL_OK;

    if (!buffer) return TL_ERR_MEMORY;
    s.row = buffer;
    s.direction = s.row + b->out * ld;
    s.u = s.direction + ld;
    s.next = s.u + b->out;
    s.best = s.next + b->out;
    s.sigma = s.best + b->out;
    *value = -1;
    for (s.k = 0; s.k < b->m && status == TL_OK; s.k++) {
        bool gained;
        status = best_of_atom(&s, value, &gained);
        if (status == TL_OK && gained && form) fill_form(&s, s.best, form);
    }
    free(buffer);
    return status;
}
