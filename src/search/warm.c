/* The input of one problem as a start of another: other radius, other ||A||, other n. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"
#include "tightlip/linalg.h"

static const double SAME = 1e-12; /* scales closer than this give the same start */

/* How a witness is carried over. */
typedef struct {
    double norm_a;        /* ||A|| of the witness, when A is searched */
    double keep, stretch; /* factors of the tokens: logits as they were; the whole ball used */
    double growth;        /* of ||A|| R^2 */
} carry;

static tl_status measure_carry(const tl_search_problem *problem, const tl_search_witness *w,
                               carry *out)
{
    const size_t d = problem->layer->d;
    *out = (carry){.keep = 1.0, .stretch = problem->domain->scale / w->radius};
    out->growth = out->stretch * out->stretch;
    if (!problem->worst_a) return TL_OK;
    const tl_status status = tl_norm2_dense(d, d, w->layer->head[0].Q, &out->norm_a);
    if (status || !(out->norm_a > 0.0) || !(problem->norm_a > 0.0)) return status;
    out->keep = sqrt(out->norm_a / problem->norm_a);
    out->growth *= problem->norm_a / out->norm_a;
    return TL_OK;
}

static bool has_variant(const tl_search_problem *problem, const tl_search_witness *w,
                        const carry *c, tl_warm_variant variant)
{
    const uint64_t n = w->measure->n;
    switch (variant) {
    case TL_WARM_KEEP:
        return true;
    case TL_WARM_STRETCH:
    case TL_WARM_STRETCH_MASSES:
        return fabs(c->stretch / c->keep - 1.0) > SAME;
    default:
        return problem->n && n && n != problem->n;
    }
}

static void scale_tokens(const tl_search_problem *problem, double factor, tl_point *p)
{
    const double *centre = problem->domain->centre;
    if (fabs(factor - 1.0) <= SAME) return;
    for (size_t i = 0; i < p->m * p->d; i++) {
        const double c = centre ? centre[i % p->d] : 0.0;
        p->x[i] = c + factor * (p->x[i] - c);
    }
}

/* The witness's A at this problem's norm, and everything into its domain. */
static tl_status carry_a(const tl_search_problem *problem, const tl_search_witness *w,
                         const carry *c, tl_point *p)
{
    if (p->A) memcpy(p->A, w->layer->head[0].Q, p->d * p->d * sizeof(double));
    for (size_t i = 0; p->A && c->norm_a > 0.0 && i < p->d * p->d; i++)
        p->A[i] *= problem->norm_a / c->norm_a;
    return tl_point_project(problem, p);
}

/* All multiplicities but the largest as they were; false when n has no room for them. */
static bool keep_counts(const tl_search_problem *problem, const tl_measure *mu, tl_point *p)
{
    size_t largest = 0;
    uint64_t others = 0;
    for (size_t k = 1; k < mu->m; k++)
        if (mu->count[k] > mu->count[largest]) largest = k;
    for (size_t k = 0; k < mu->m; k++) {
        p->count[k] = mu->count[k];
        if (k != largest) others += mu->count[k];
    }
    if (others >= problem->n) return false;
    p->count[largest] = problem->n - others;
    return true;
}

/* Multiplicities for the problem's n from relaxed masses, or exactly where n is a multiple. */
static bool share_tokens(const tl_search_problem *problem, const tl_measure *mu,
                         tl_warm_variant variant, tl_point *p)
{
    const bool multiple = mu->n && problem->n % mu->n == 0;
    if (variant == TL_WARM_BULK) {
        if (!keep_counts(problem, mu, p)) return false;
    } else if (multiple && variant != TL_WARM_STRETCH_MASSES) {
        for (size_t k = 0; k < mu->m; k++) p->count[k] = mu->count[k] * (problem->n / mu->n);
    } else {
        tl_masses_normalise(p->m, p->log_mass);
        tl_point_round(problem, p);
    }
    p->integral = true;
    tl_point_count_masses(problem, p);
    return true;
}

/* Under a mask: the tokens in their order, and then the last one again and again: of a causal layer
 * the old Jacobian is then a corner of the new one. Or every token in proportion (`spread`). */
static void place_sequence(const tl_search_problem *problem, const tl_measure *mu, bool spread,
                           tl_point *p)
{
    const size_t n = (size_t)problem->n, d = p->d;
    double *x = p->x;
    for (size_t i = 0; i < n; i++, x += d) {
        const size_t kept = i < mu->m ? i : mu->m - 1;
        const size_t from = spread ? (size_t)((double)i / (double)n * (double)mu->m) : kept;
        memcpy(x, mu->x + (from < mu->m ? from : mu->m - 1) * d, d * sizeof(double));
        p->count[i] = 1;
    }
    p->m = n;
}

/* Where the order counts. A measure of few atoms is written out, rare ones first or evenly. */
static tl_status make_ordered(const tl_search_problem *problem, const tl_search_witness *w,
                              const carry *c, tl_warm_variant variant, tl_point *p, bool *usable)
{
    const tl_measure *mu = w->measure;
    const bool stretched = variant == TL_WARM_STRETCH || variant == TL_WARM_STRETCH_MASSES;
    const bool spread = variant == TL_WARM_BULK || variant == TL_WARM_STRETCH_MASSES;
    const bool sequence = mu->count && mu->m == mu->n;
    tl_status status = TL_OK;
    if (sequence && spread && mu->n == problem->n) return TL_OK;
    if (!sequence && mu->m > p->capacity) return TL_OK;
    if (sequence) {
        place_sequence(problem, mu, spread, p);
        tl_point_count_masses(problem, p);
    } else {
        p->m = mu->m;
        memcpy(p->x, mu->x, mu->m * mu->d * sizeof(double));
        memcpy(p->log_mass, mu->log_mass, mu->m * sizeof(double));
        tl_point_round(problem, p);
        status = tl_point_unfold(problem, spread ? TL_ORDER_EVEN : TL_ORDER_RARE, NULL, p);
    }
    p->integral = true;
    scale_tokens(problem, stretched ? c->stretch : c->keep, p);
    *usable = !status;
    return status ? status : carry_a(problem, w, c, p);
}

tl_status tl_warm_make(const tl_search_problem *problem, const tl_search_witness *w,
                       tl_warm_variant variant, tl_point *p, bool *usable)
{
    const tl_measure *mu = w->measure;
    carry c;
    *usable = false;
    const bool ordered = tl_search_ordered(problem);
    if (mu->d != p->d || problem->domain->around) return TL_OK;
    if (mu->m > p->capacity && !ordered) return TL_OK;
    const tl_status status = measure_carry(problem, w, &c);
    if (status || !has_variant(problem, w, &c, variant)) return status;
    p->value = (double)NAN;
    if (ordered) return make_ordered(problem, w, &c, variant, p, usable);
    p->m = mu->m;
    p->integral = false;
    const bool stretched = variant == TL_WARM_STRETCH || variant == TL_WARM_STRETCH_MASSES;
    memcpy(p->x, mu->x, mu->m * mu->d * sizeof(double));
    scale_tokens(problem, stretched ? c.stretch : c.keep, p);
    const double power = variant == TL_WARM_STRETCH_MASSES ? c.growth : 1.0;
    for (size_t k = 0; k < mu->m; k++) p->log_mass[k] = power * mu->log_mass[k];
    if (problem->n && !share_tokens(problem, mu, variant, p)) return TL_OK;
    *usable = true;
    return carry_a(problem, w, &c, p);
}
