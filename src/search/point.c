#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"

bool tl_search_ordered(const tl_search_problem *problem)
{
    return problem->layer->mask != TL_MASK_NONE;
}

size_t tl_search_capacity(const tl_search_problem *problem)
{
    const bool fewer = tl_search_ordered(problem) || (problem->n && problem->n < problem->atoms);
    return fewer ? (size_t)problem->n : problem->atoms;
}

bool tl_point_init(tl_point *p, size_t capacity, size_t d, bool with_a)
{
    *p = (tl_point){.capacity = capacity, .d = d, .value = (double)NAN};
    p->x = calloc(capacity * d, sizeof(double));
    p->log_mass = calloc(capacity, sizeof(double));
    p->count = calloc(capacity, sizeof(uint64_t));
    if (with_a) p->A = calloc(d * d, sizeof(double));
    return p->x && p->log_mass && p->count && (p->A || !with_a);
}

void tl_point_clear(tl_point *p)
{
    free(p->x);
    free(p->log_mass);
    free(p->count);
    free(p->A);
    *p = (tl_point){0};
}

void tl_point_copy(tl_point *to, const tl_point *from)
{
    to->m = from->m;
    to->integral = from->integral;
    to->value = from->value;
    memcpy(to->x, from->x, from->m * from->d * sizeof(double));
    memcpy(to->log_mass, from->log_mass, from->m * sizeof(double));
    memcpy(to->count, from->count, from->m * sizeof(uint64_t));
    if (from->A) memcpy(to->A, from->A, from->d * from->d * sizeof(double));
}

void tl_point_remove(tl_point *p, size_t k)
{
    const size_t after = p->m - k - 1;
    memmove(p->x + k * p->d, p->x + (k + 1) * p->d, after * p->d * sizeof(double));
    memmove(p->log_mass + k, p->log_mass + k + 1, after * sizeof(double));
    memmove(p->count + k, p->count + k + 1, after * sizeof(uint64_t));
    p->m--;
    tl_masses_normalise(p->m, p->log_mass);
}

size_t tl_point_append(tl_point *p, size_t k)
{
    const size_t last = p->m++;
    memcpy(p->x + last * p->d, p->x + k * p->d, p->d * sizeof(double));
    p->log_mass[last] = p->log_mass[k];
    p->count[last] = p->count[k];
    return last;
}

void tl_masses_normalise(size_t m, double *log_mass)
{
    const double total = tl_logsumexp(m, log_mass);
    for (size_t k = 0; k < m; k++) log_mass[k] -= total;
}

/* Atom 0 holds ratio / (1 + ratio) of the mass, the others share the rest as they like. */
static void hold_ratio(double log_ratio, size_t m, double *log_mass)
{
    const double terms[2] = {0.0, log_ratio};
    const double log_total = tl_logsumexp(2, terms);
    tl_masses_normalise(m - 1, log_mass + 1);
    for (size_t k = 1; k < m; k++) log_mass[k] -= log_total;
    log_mass[0] = log_ratio - log_total;
}

void tl_masses_project(const tl_search_problem *problem, size_t m, double *log_mass)
{
    if (!isnan(problem->log_mass_ratio) && m > 1) {
        hold_ratio(problem->log_mass_ratio, m, log_mass);
        return;
    }
    tl_masses_normalise(m, log_mass);
    if (problem->n == 0) return;
    const double least = -log((double)problem->n);
    size_t low = 0;
    while (low < m && log_mass[low] > least) low++;
    if (low == m) return;
    const double one = exp(least);
    /* Each pass pins the atoms below one token and shrinks the others; at most m passes can pin
     * something new. */
    for (size_t pass = 0; pass < m; pass++) {
        double pinned = 0.0, free_mass = 0.0;
        for (size_t k = 0; k < m; k++) {
            if (log_mass[k] <= least)
                pinned += one;
            else
                free_mass += exp(log_mass[k]);
        }
        if (free_mass <= 0.0) break;
        const double shrink = log(fmax(1.0 - pinned, DBL_MIN)) - log(free_mass);
        bool again = false;
        for (size_t k = 0; k < m; k++) {
            if (log_mass[k] <= least) {
                log_mass[k] = least;
                continue;
            }
            log_mass[k] += shrink;
            again = again || log_mass[k] < least;
        }
        if (!again) return;
    }
    for (size_t k = 0; k < m; k++) log_mass[k] = -log((double)m);
}

void tl_point_count_masses(const tl_search_problem *problem, tl_point *p)
{
    const double log_n = log((double)problem->n);
    for (size_t k = 0; k < p->m; k++) p->log_mass[k] = log((double)p->count[k]) - log_n;
}

void tl_point_round(const tl_search_problem *problem, tl_point *p)
{
    const uint64_t n = problem->n;
    while (p->m > n) tl_point_remove(p, p->m - 1);
    size_t largest = 0;
    for (size_t k = 1; k < p->m; k++)
        if (p->log_mass[k] > p->log_mass[largest]) largest = k;
    uint64_t others = 0;
    for (size_t k = 0; k < p->m; k++) {
        if (k == largest) continue;
        const double wish = floor(exp(p->log_mass[k]) * (double)n + 0.5);
        const uint64_t room =
            n - others - (uint64_t)(p->m - k); /* one token for each atom still to come */
        uint64_t count = wish < 1.0 ? 1 : wish >= (double)n ? n : (uint64_t)wish;
        if (count > room + 1) count = room + 1;
        p->count[k] = count;
        others += count;
    }
    p->count[largest] = n - others;
    p->integral = true;
    tl_point_count_masses(problem, p);
}

void tl_point_project_measure(const tl_search_problem *problem, tl_point *p)
{
    tl_domain_project_all(problem->domain, p->m, p->x);
    if (!p->integral) tl_masses_project(problem, p->m, p->log_mass);
}

tl_status tl_point_project(const tl_search_problem *problem, tl_point *p)
{
    tl_point_project_measure(problem, p);
    return p->A ? tl_spectral_project(p->d, problem->norm_a, p->A, NULL) : TL_OK;
}

double tl_problem_logit_size(const tl_search_problem *problem)
{
    const size_t d = problem->layer->d;
    const tl_domain *domain = problem->domain;
    const double R = isfinite(domain->radius) ? domain->radius : domain->scale;
    if (problem->layer->kind == TL_KIND_COSINE) return problem->layer->tau;
    if (problem->worst_a) return problem->norm_a * R * R;
    double *A = malloc(d * d * sizeof(double)), norm = 0.0;
    if (A) {
        tl_layer_logit_map(problem->layer, 0, A, NULL);
        if (tl_norm2_dense(d, d, A, &norm) != TL_OK) norm = 0.0;
    }
    free(A);
    return norm * R * R;
}
