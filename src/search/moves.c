/* Changes that the local ascent cannot make: atoms split, merge, appear, vanish and jump; mass
 * moves on a log scale. */
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "search/internal.h"

/* exp of a uniform log between low and high. */
static double log_uniform(gsl_rng *rng, double low, double high)
{
    return exp(log(low) + (log(high) - log(low)) * gsl_rng_uniform(rng));
}

static size_t pick(gsl_rng *rng, size_t m)
{
    return gsl_rng_uniform_int(rng, (unsigned long)m);
}

static void shake_atom(const tl_search_problem *problem, gsl_rng *rng, double size, double *x)
{
    const size_t d = problem->layer->d;
    for (size_t r = 0; r < d; r++)
        x[r] += size * problem->domain->scale * gsl_ran_gaussian(rng, 1.0) / sqrt((double)d);
}

static void move_split(const tl_search_problem *problem, gsl_rng *rng, tl_point *p)
{
    const size_t k = pick(rng, p->m), fresh = tl_point_append(p, k);
    const double share = log_uniform(rng, 1e-4, 0.5);
    const double size = log_uniform(rng, 1e-3, 0.5);
    p->log_mass[fresh] = p->log_mass[k] + log(share);
    p->log_mass[k] += log1p(-share);
    shake_atom(problem, rng, size, p->x + fresh * p->d);
    shake_atom(problem, rng, size * share, p->x + k * p->d);
}

/* A new atom somewhere on the sphere, with anything from a bulk to a mass too rare for any but the
 * largest logits. */
static void move_add(const tl_search_problem *problem, gsl_rng *rng, tl_point *p)
{
    const size_t fresh = tl_point_append(p, pick(rng, p->m));
    const double g = tl_problem_logit_size(problem);
    tl_domain_random(problem->domain, rng, gsl_rng_uniform(rng) < 0.8, p->x + fresh * p->d);
    p->log_mass[fresh] = -gsl_rng_uniform(rng) * (2.0 * g + 4.0);
}

static void move_relocate(const tl_search_problem *problem, gsl_rng *rng, tl_point *p)
{
    double *x = p->x + pick(rng, p->m) * p->d;
    const double *other = p->x + pick(rng, p->m) * p->d;
    switch (gsl_rng_uniform_int(rng, 3)) {
    case 0:
        tl_domain_random(problem->domain, rng, true, x);
        break;
    case 1:
        tl_domain_random(problem->domain, rng, false, x);
        break;
    default: /* the mirror image of an atom */
        for (size_t r = 0; r < p->d; r++) {
            const double c = problem->domain->centre ? problem->domain->centre[r] : 0.0;
            x[r] = 2.0 * c - other[r];
        }
    }
}

static void move_mass(gsl_rng *rng, tl_point *p)
{
    const double size = log_uniform(rng, 0.1, 6.0), sign = gsl_rng_uniform(rng) < 0.5 ? -1 : 1;
    p->log_mass[pick(rng, p->m)] += size * sign;
}

static void move_shake(const tl_search_problem *problem, gsl_rng *rng, tl_point *p)
{
    const double size = log_uniform(rng, 1e-3, 0.5);
    for (size_t k = 0; k < p->m; k++) {
        shake_atom(problem, rng, size, p->x + k * p->d);
        p->log_mass[k] += size * gsl_ran_gaussian(rng, 1.0);
    }
    if (!p->A) return;
    for (size_t i = 0; i < p->d * p->d; i++)
        p->A[i] += size * problem->norm_a * gsl_ran_gaussian(rng, 1.0) / (double)p->d;
}

static double distance(const tl_point *p, size_t k, size_t l)
{
    double s = 0.0;
    for (size_t r = 0; r < p->d; r++) s = hypot(s, p->x[k * p->d + r] - p->x[l * p->d + r]);
    return s;
}

static void merge_pair(tl_point *p, size_t k, size_t l)
{
    const double pair[2] = {p->log_mass[k], p->log_mass[l]};
    const double total = tl_logsumexp(2, pair), share = exp(pair[1] - total);
    for (size_t r = 0; r < p->d; r++)
        p->x[k * p->d + r] += share * (p->x[l * p->d + r] - p->x[k * p->d + r]);
    const uint64_t count = p->count[k] + p->count[l];
    tl_point_remove(p, l);
    const size_t kept = l < k ? k - 1 : k;
    p->log_mass[kept] = total;
    p->count[kept] = count;
}

bool tl_move_merge(const tl_search_problem *problem, tl_point *p, double within)
{
    bool any = false;
    if (!isnan(problem->log_mass_ratio)) return false; /* atom 0 is held apart from the others */
    for (size_t k = 0; k < p->m; k++)
        for (size_t l = k + 1; l < p->m;) {
            if (distance(p, k, l) <= within) {
                merge_pair(p, k, l);
                any = true;
            } else {
                l++;
            }
        }
    if (any && p->integral)
        tl_point_count_masses(problem, p);
    else if (any)
        tl_masses_project(problem, p->m, p->log_mass);
    return any;
}

static void move_merge_nearest(tl_point *p)
{
    size_t best_k = 0, best_l = 1;
    double nearest = INFINITY;
    for (size_t k = 0; k < p->m; k++)
        for (size_t l = k + 1; l < p->m; l++)
            if (distance(p, k, l) < nearest) {
                nearest = distance(p, k, l);
                best_k = k;
                best_l = l;
            }
    merge_pair(p, best_k, best_l);
}

/* Atoms and multiplicities are those of the domain: only places change. */
static tl_status move_array(const tl_search_problem *problem, gsl_rng *rng, tl_point *p)
{
    if (gsl_rng_uniform(rng) < 0.25) {
        tl_domain_random_all(problem->domain, rng, gsl_rng_uniform(rng) < 0.8, p->m, p->x);
    } else {
        const double size = log_uniform(rng, 1e-3, 1.0);
        const size_t one = pick(rng, p->m);
        const bool all = gsl_rng_uniform(rng) < 0.5;
        for (size_t k = 0; k < p->m; k++)
            if (all || k == one)
                shake_atom(problem, rng, size / sqrt((double)p->count[k]), p->x + k * p->d);
    }
    p->value = (double)NAN;
    return tl_point_project(problem, p);
}

static void swap_tokens(tl_point *p, size_t k, size_t l)
{
    for (size_t r = 0; r < p->d; r++) {
        const double x = p->x[k * p->d + r];
        p->x[k * p->d + r] = p->x[l * p->d + r];
        p->x[l * p->d + r] = x;
    }
}

static void reverse_tokens(tl_point *p, size_t from, size_t to)
{
    while (from + 1 < to) swap_tokens(p, from++, --to);
}

/* The first `cut` tokens change places with the rest, both in their order. */
static void move_rotate(tl_point *p, size_t cut)
{
    reverse_tokens(p, 0, cut);
    reverse_tokens(p, cut, p->m);
    reverse_tokens(p, 0, p->m);
}

/* Token k onto a run of tokens. */
static void move_copy(gsl_rng *rng, tl_point *p, size_t k, size_t longest)
{
    const size_t from = pick(rng, p->m), length = 1 + pick(rng, longest);
    for (size_t l = from; l < p->m && l < from + length; l++)
        if (l != k) memcpy(p->x + l * p->d, p->x + k * p->d, p->d * sizeof(double));
}

/* Every token stands where it stands: places and order change, their number does not. */
static tl_status move_ordered(const tl_search_problem *problem, gsl_rng *rng, tl_point *p)
{
    double *x; /* drawn before the size: compilers order arguments differently */
    switch (gsl_rng_uniform_int(rng, p->m > 1 ? 8 : 3)) {
    case 0:
        move_relocate(problem, rng, p);
        break;
    case 1:
        x = p->x + pick(rng, p->m) * p->d;
        shake_atom(problem, rng, log_uniform(rng, 1e-3, 1.0), x);
        break;
    case 2:
        move_shake(problem, rng, p);
        break;
    case 3:
    case 4:
        swap_tokens(p, pick(rng, p->m), pick(rng, p->m));
        break;
    case 5:
        move_copy(rng, p, pick(rng, p->m), 1);
        break;
    case 6:
        move_copy(rng, p, pick(rng, p->m), p->m);
        break;
    default:
        move_rotate(p, pick(rng, p->m));
    }
    p->value = (double)NAN;
    tl_point_count_masses(problem, p);
    return tl_point_project(problem, p);
}

tl_status tl_move_random(const tl_search_problem *problem, gsl_rng *rng, tl_point *p)
{
    if (problem->domain->around) return move_array(problem, rng, p);
    if (tl_search_ordered(problem)) return move_ordered(problem, rng, p);
    const bool held = !isnan(problem->log_mass_ratio), integral = p->integral;
    const bool grow = p->m < p->capacity && (problem->n == 0 || p->m < problem->n);
    const bool shrink = p->m > 2 && !held;
    const bool fixed_masses = held && p->m <= 2;
    switch (gsl_rng_uniform_int(rng, 8)) {
    case 0:
        if (grow) {
            move_split(problem, rng, p);
            break;
        }
        /* fallthrough */
    case 1:
        if (grow) {
            move_add(problem, rng, p);
            break;
        }
        /* fallthrough */
    case 2:
        if (shrink) {
            move_merge_nearest(p);
            break;
        }
        /* fallthrough */
    case 3:
        if (shrink) {
            tl_point_remove(p, pick(rng, p->m));
            break;
        }
        /* fallthrough */
    case 4:
        move_relocate(problem, rng, p);
        break;
    case 5:
    case 6:
        if (!fixed_masses && p->m > 1) {
            move_mass(rng, p);
            break;
        }
        /* fallthrough */
    default:
        move_shake(problem, rng, p);
    }
    p->integral = false;
    p->value = (double)NAN;
    const tl_status status = tl_point_project(problem, p);
    if (integral) tl_point_round(problem, p);
    return status;
}
