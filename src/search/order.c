/* Few atoms written out as a sequence of tokens, for masks. */
#include <gsl/gsl_randist.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"

/* The atom that lags most behind its share of the first i + 1 tokens; ties: the rarer one, which
 * then leads the bulk. */
static size_t most_behind(const tl_point *p, const size_t *placed, size_t i, size_t n)
{
    size_t best = 0;
    double most = -(double)n;
    for (size_t k = 0; k < p->m; k++) {
        if (placed[k] == p->count[k]) continue;
        const double due = (double)p->count[k] * (double)(i + 1) / (double)n - (double)placed[k];
        if (due > most || (!(due < most) && p->count[k] < p->count[best])) {
            most = due;
            best = k;
        }
    }
    return best;
}

static size_t rarest_left(const tl_point *p, const size_t *placed)
{
    size_t best = p->m;
    for (size_t k = 0; k < p->m; k++)
        if (placed[k] < p->count[k] && (best == p->m || p->count[k] < p->count[best])) best = k;
    return best;
}

/* Atom of every token. */
static void arrange(const tl_point *p, tl_order order, gsl_rng *rng, size_t n, size_t *placed,
                    size_t *atom)
{
    for (size_t i = 0, first = 0; i < n; i++) {
        while (placed[first] == p->count[first]) first++;
        size_t k = first;
        if (order == TL_ORDER_EVEN) k = most_behind(p, placed, i, n);
        if (order == TL_ORDER_RARE) k = rarest_left(p, placed);
        placed[k]++;
        atom[i] = k;
    }
    if (order == TL_ORDER_RANDOM) gsl_ran_shuffle(rng, atom, n, sizeof *atom);
}

tl_status tl_point_unfold(const tl_search_problem *problem, tl_order order, gsl_rng *rng,
                          tl_point *p)
{
    const size_t n = (size_t)problem->n, d = p->d;
    size_t *atom = calloc(n + p->m, sizeof *atom);
    double *x = malloc(p->m * d * sizeof *x);
    if (atom && x) {
        memcpy(x, p->x, p->m * d * sizeof *x);
        arrange(p, order, rng, n, atom + n, atom);
        for (size_t i = 0; i < n; i++) {
            memcpy(p->x + i * d, x + atom[i] * d, d * sizeof *x);
            p->count[i] = 1;
        }
        p->m = n;
        p->integral = true;
        tl_point_count_masses(problem, p);
    }
    const tl_status status = atom && x ? TL_OK : TL_ERR_MEMORY;
    free(atom);
    free(x);
    return status;
}
