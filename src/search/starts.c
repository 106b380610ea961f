#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/builder.h"

enum { FEW = 6 }; /* atoms of a start under a mask, before they are written out */

bool tl_start_applies(const tl_search_problem *problem, tl_start start)
{
    const size_t d = problem->layer->d;
    const bool room = problem->atoms >= 2 && problem->n != 1 && !problem->domain->around;
    const bool ordered = tl_search_ordered(problem);
    switch (start) {
    case TL_START_FEW_DIRAC:
    case TL_START_RANDOM:
        return true;
    case TL_START_SPLIT:
        return room && !ordered;
    case TL_START_TWO_PHASE:
    case TL_START_INTERLEAVED:
        return room && ordered;
    case TL_START_UNBALANCED:
    case TL_START_CASTIN:
    case TL_START_TWO_DIRAC:
    case TL_START_PAIR:
    case TL_START_LARGE_RADIUS:
        return room;
    case TL_START_HEAVY_PAIR:
        return room && d >= 2;
    case TL_START_KAPPA:
        return problem->worst_a && d >= 4 && problem->atoms >= 3 &&
               (problem->n == 0 || problem->n >= 3) && !problem->domain->centre;
    case TL_START_GIVEN:
        return problem->given != NULL && problem->given->m <= problem->atoms;
    case TL_START_COUNT:
        break;
    }
    return false;
}

/* Between two and the allowed number of atoms, few more often than many. */
static size_t atoms_draw(const tl_builder *b)
{
    if (b->most <= 2) return b->most;
    const double u = gsl_rng_uniform(b->rng);
    return 2 + (size_t)floor(u * u * (double)(b->most - 1));
}

static void random_atoms(const tl_builder *b, double on_sphere)
{
    for (size_t k = 0; k < b->p->m; k++)
        tl_domain_random(b->problem->domain, b->rng, gsl_rng_uniform(b->rng) < on_sphere,
                         b->p->x + k * b->d);
}

static void random_masses(const tl_builder *b)
{
    for (size_t k = 0; k < b->p->m; k++)
        b->p->log_mass[k] = log(gsl_ran_exponential(b->rng, 1.0) + 1e-12);
}

static void rare_masses(const tl_builder *b)
{
    const double g = tl_problem_logit_size(b->problem);
    b->p->log_mass[0] = 0.0;
    for (size_t k = 1; k < b->p->m; k++)
        b->p->log_mass[k] = -gsl_rng_uniform(b->rng) * (2.0 * g + 4.0);
}

static tl_status start_random_family(tl_builder *b, tl_start start)
{
    const bool all = start == TL_START_RANDOM && tl_search_ordered(b->problem);
    b->p->m = all ? (size_t)b->problem->n : atoms_draw(b);
    random_atoms(b, start == TL_START_RANDOM ? 0.0 : 0.8);
    if (start == TL_START_UNBALANCED)
        rare_masses(b);
    else if (all)
        memset(b->p->log_mass, 0, b->p->m * sizeof(double));
    else
        random_masses(b);
    for (size_t k = 1; start == TL_START_SPLIT && k < b->p->m; k += 2) {
        memcpy(b->p->x + k * b->d, b->p->x + (k - 1) * b->d, b->d * sizeof(double));
        for (size_t r = 0; r < b->d; r++)
            b->p->x[k * b->d + r] += 0.05 * b->R * gsl_ran_gaussian(b->rng, 1.0);
    }
    return b->p->A ? tl_build_random_a(b) : TL_OK;
}

static void start_given(const tl_builder *b)
{
    const tl_measure *mu = b->problem->given;
    b->p->m = mu->m;
    memcpy(b->p->x, mu->x, mu->m * mu->d * sizeof(double));
    memcpy(b->p->log_mass, mu->log_mass, mu->m * sizeof(double));
    if (b->p->A) memcpy(b->p->A, b->problem->layer->head[0].Q, b->d * b->d * sizeof(double));
}

/* All tokens at once, with the multiplicities of the domain: uniform in the Frobenius ball, on its
 * sphere, or as given. */
static tl_status start_array(tl_builder *b, tl_start start)
{
    const tl_domain *domain = b->problem->domain;
    const tl_measure *mu = domain->around;
    const bool surface = start == TL_START_FEW_DIRAC && gsl_rng_uniform(b->rng) < 0.8;
    b->p->m = mu->m;
    memcpy(b->p->count, mu->count, mu->m * sizeof *mu->count);
    b->p->integral = true;
    tl_point_count_masses(b->problem, b->p);
    if (start == TL_START_GIVEN && b->problem->given->m == mu->m)
        memcpy(b->p->x, b->problem->given->x, mu->m * mu->d * sizeof(double));
    else
        tl_domain_random_all(domain, b->rng, surface, mu->m, b->p->x);
    if (start == TL_START_GIVEN && b->p->A)
        memcpy(b->p->A, b->problem->layer->head[0].Q, b->d * b->d * sizeof(double));
    return b->p->A && start != TL_START_GIVEN ? tl_build_random_a(b) : TL_OK;
}

/* Noise small enough to keep the construction and large enough to leave its symmetric saddles. */
static void jitter(const tl_builder *b, double size)
{
    tl_point *p = b->p;
    for (size_t i = 0; i < p->m * p->d; i++) p->x[i] += size * b->R * gsl_ran_gaussian(b->rng, 1.0);
    for (size_t k = 0; k < p->m; k++) p->log_mass[k] += size * gsl_ran_gaussian(b->rng, 1.0);
    for (size_t i = 0; p->A && i < p->d * p->d; i++)
        p->A[i] += size * b->problem->norm_a * gsl_ran_gaussian(b->rng, 1.0);
}

tl_status tl_start_make(const tl_search_problem *problem, tl_start start, gsl_rng *rng, tl_point *p)
{
    const size_t d = problem->layer->d;
    double *axes = calloc(2 * d, sizeof(double));
    if (!axes) return TL_ERR_MEMORY;
    tl_builder b = {.problem = problem, .rng = rng, .p = p, .d = d, .R = problem->domain->scale};
    b.most = p->capacity;
    if (problem->n && problem->n < b.most) b.most = (size_t)problem->n;
    if (tl_search_ordered(problem) && b.most > FEW) b.most = FEW;
    b.centre = problem->domain->centre;
    b.w = axes;
    b.w2 = axes + d;
    p->integral = false;
    p->value = (double)NAN;
    tl_status status = TL_OK;
    if (problem->domain->around) {
        status = start_array(&b, start);
    } else if (start == TL_START_GIVEN) {
        start_given(&b);
    } else if (start == TL_START_FEW_DIRAC || start == TL_START_UNBALANCED ||
               start == TL_START_SPLIT || start == TL_START_RANDOM) {
        status = start_random_family(&b, start);
    } else {
        status = tl_build_axes(&b);
        if (!status) status = tl_build_construction(&b, start);
    }
    if (!status && tl_search_ordered(problem) && !problem->domain->around)
        status = tl_build_tokens(&b, start);
    free(axes);
    if (status) return status;
    /* Ties between logits, which the constructions rest on, are lost by noise above 1/g. */
    const double sizes[4] = {1e-8, 1e-3, 1e-2, 1e-1};
    const double size = start == TL_START_GIVEN ? 1e-6 : sizes[gsl_rng_uniform_int(rng, 4)];
    if (!b.at_top) jitter(&b, size / fmax(1.0, tl_problem_logit_size(problem) / 64.0));
    if (p->integral) tl_point_count_masses(problem, p);
    return tl_point_project(problem, p);
}
