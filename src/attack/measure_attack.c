#include "tightlip/measure_attack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attack/internal.h"
#include "attack/leads.h"
#include "attack/parts.h"
#include "tightlip/rng.h"
#include "tightlip/transport.h"

void tl_measure_attack_defaults(tl_measure_attack_settings *settings)
{
    *settings = (tl_measure_attack_settings){.restarts = 12, .steps = 30, .seed = 1};
}

tl_status tl_attack_check_domain(const tl_domain *domain, const tl_measure *mu, tl_error *err)
{
    if (!domain) return TL_OK;
    const bool convex =
        domain->kind == TL_DOMAIN_BALL || domain->kind == TL_DOMAIN_BOX ||
        ((domain->kind == TL_DOMAIN_LAYER_NORM || domain->kind == TL_DOMAIN_RMS_NORM) &&
         !domain->surface);
    if (!convex)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "attack: expected a domain that is convex and bounded, found \"%s\"%s",
                       tl_domain_name(domain->kind), domain->surface ? " with eps = 0" : "");
    return tl_domain_check(domain, mu, err);
}

tl_status tl_attack_check_measures(const tl_layer *layer, tl_error *err)
{
    if (layer->mask == TL_MASK_NONE && layer->kind != TL_KIND_SIGMOID) return TL_OK;
    return tl_fail(err, TL_ERR_UNSUPPORTED,
                   "attack on a measure: expected normalised attention without a mask, found kind "
                   "\"%s\" with mask \"%s\"",
                   tl_kind_name(layer->kind), tl_mask_name(layer->mask));
}

/* Where nu may go anywhere, only what starts need of it. */
static tl_status check_domain(const tl_measure_attack *p, tl_error *err)
{
    if (!p->free || !p->domain) return tl_attack_check_domain(p->domain, p->mu, err);
    if (p->domain->kind == TL_DOMAIN_SPACE || p->domain->kind == TL_DOMAIN_FROBENIUS)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "attack: expected a bounded set of tokens, found domain \"%s\"",
                       tl_domain_name(p->domain->kind));
    return tl_domain_check(p->domain, p->mu, err);
}

static tl_status check(const tl_measure_attack *p, const tl_measure_attack_settings *settings,
                       tl_error *err)
{
    tl_status status = tl_attack_check_measures(p->layer, err);

    if (status) return status;
    if (p->mu->d != p->layer->d)
        return tl_fail(err, TL_ERR_SHAPE, "attack: expected atoms of width %zu, found %zu",
                       p->layer->d, p->mu->d);
    if (!(p->epsilon > 0) || !isfinite(p->epsilon))
        return tl_fail(err, TL_ERR_DOMAIN, "attack: expected epsilon above 0, found %g",
                       p->epsilon);
    if (p->parts < 1 || settings->restarts < 1 || settings->steps < 1)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "attack: expected at least 1 part, 1 restart and 1 step");
    if (p->parts > TL_TRANSPORT_ATOMS_MAX / p->mu->m)
        return tl_fail(err, TL_ERR_LIMIT, "attack: expected at most %d parts in all, found %zu",
                       (int)TL_TRANSPORT_ATOMS_MAX, p->parts * p->mu->m);
    return check_domain(p, err);
}

/* The share of one atom's first part times `factor`, its move over the root of it: the same cost.
 */
static bool reshare(const tl_parts *p, size_t k, double factor, double *share, double *D)
{
    const size_t at = k * p->parts, d = p->d;
    const double part = share[at] * factor;

    if (!(part < 0.9) || part < 1e-13) return false;
    for (size_t i = 1; i < p->parts; i++) share[at + i] *= (1 - part) / (1 - share[at]);
    share[at] = part;
    for (size_t r = 0; r < d; r++) D[at * d + r] /= sqrt(factor);
    return true;
}

/* The ascent holds shares; here they change in rounds, as long as that helps. */
static tl_status adapt_shares(tl_parts *p, size_t steps, double *share, double *D, double *effect)
{
    static const double factors[] = {2, 0.5, 1.2, 1 / 1.2, 1.03, 1 / 1.03};
    const size_t n = p->m * p->parts, size = n * (p->d + 1); /* D follows share */
    double *kept = malloc(size * sizeof *kept);

    if (!kept) return TL_ERR_MEMORY;
    for (size_t round = 0; round < steps; round++) {
        bool rose = false;
        for (size_t trial = 0; !p->cut && trial < p->m * 6; trial++) {
            double there = 0;
            memcpy(kept, share, size * sizeof *kept);
            if (!reshare(p, trial / 6, factors[trial % 6], share, D)) continue;
            tl_parts_share(p, share);
            if (!tl_parts_ascend(p, 2, D, &there) && there > *effect * (1 + 1e-6)) {
                *effect = there;
                rose = true;
            } else {
                memcpy(share, kept, size * sizeof *kept);
            }
        }
        if (!rose) break;
    }
    free(kept);
    tl_parts_share(p, share);
    return tl_parts_ascend(p, steps, D, effect);
}

typedef struct {
    double *share, *D, effect;
    tl_status status;
    bool cut;
} outcome;

static void restart(const tl_measure_attack *problem, const tl_measure_attack_settings *settings,
                    size_t parts, const tl_leads *leads, size_t r, outcome *o)
{
    const size_t n = problem->mu->m * parts, d = problem->mu->d;
    gsl_rng *rng = tl_rng_stream_alloc(settings->seed, settings->cell, r);
    tl_parts p = {0};

    o->cut = r > 0 && tl_attack_stopped(settings->stop);
    if (o->cut) {
        o->status = TL_ERR_INTERRUPTED;
        if (rng) gsl_rng_free(rng);
        return;
    }
    o->share = calloc(n * (d + 1), sizeof *o->share);
    o->status = rng && o->share ? tl_parts_init(&p, problem, parts, NULL) : TL_ERR_MEMORY;
    if (!o->status) {
        o->D = o->share + n;
        p.stop = settings->stop;
        for (size_t i = 0; i < n; i++) o->share[i] = 1 / (double)parts;
        o->status = tl_leads_start(leads, &p, r, rng, o->share, o->D);
        if (!o->status) {
            tl_parts_share(&p, o->share);
            o->status = tl_parts_ascend(&p, settings->steps, o->D, &o->effect);
        }
        if (!o->status && parts > 1)
            o->status = adapt_shares(&p, settings->steps, o->share, o->D, &o->effect);
    }
    o->cut = p.cut;
    tl_parts_clear(&p);
    if (rng) gsl_rng_free(rng);
}

static tl_status best_of(const tl_measure_attack *problem, size_t parts, const outcome *all,
                         size_t count, tl_measure_attack_result *result, tl_error *err)
{
    size_t best = count;
    tl_parts p = {0};

    for (size_t r = 0; r < count; r++)
        if (!all[r].status && (best == count || all[r].effect > all[best].effect)) best = r;
    if (best == count)
        return tl_fail(err, all[0].status, "attack: every restart failed, the first one with: %s",
                       tl_status_text(all[0].status));
    tl_status status = tl_parts_init(&p, problem, parts, err);
    if (!status) {
        tl_parts_share(&p, all[best].share);
        status = tl_parts_evaluate(&p, all[best].D);
    }
    if (!status && p.effect > result->effect) {
        tl_measure_free(result->nu);
        *result = (tl_measure_attack_result){.nu = p.nu,
                                             .distance = p.distance,
                                             .effect = p.effect,
                                             .ratio = p.effect / problem->epsilon,
                                             .restart = best};
        p.nu = NULL;
    }
    tl_parts_clear(&p);
    return status;
}

static tl_status run_parts(const tl_measure_attack *problem,
                           const tl_measure_attack_settings *settings, size_t parts,
                           const tl_leads *leads, tl_measure_attack_result *result, bool *cut,
                           tl_error *err)
{
    const size_t count = tl_leads_count(leads, parts);
    outcome *all = calloc(count, sizeof *all);
    tl_status status;

    if (!all) return tl_fail(err, TL_ERR_MEMORY, "attack: no memory");
#pragma omp parallel for schedule(dynamic)
    for (size_t r = 0; r < count; r++) restart(problem, settings, parts, leads, r, &all[r]);
    status = best_of(problem, parts, all, count, result, err);
    for (size_t r = 0; r < count; r++) {
        *cut = *cut || all[r].cut;
        free(all[r].share);
    }
    free(all);
    return status;
}

tl_status tl_measure_attack_run(const tl_measure_attack *problem,
                                const tl_measure_attack_settings *settings,
                                tl_measure_attack_result *result, tl_error *err)
{
    tl_leads leads = {0};
    bool cut = false;
    tl_status status = check(problem, settings, err);

    *result = (tl_measure_attack_result){0};
    if (!status) status = tl_leads_find(&leads, problem, settings, err);
    /* One part first: what whole atoms reach, splitting reaches as well. */
    if (!status) status = run_parts(problem, settings, 1, &leads, result, &cut, err);
    if (!status && problem->parts > 1)
        status = run_parts(problem, settings, problem->parts, &leads, result, &cut, err);
    tl_leads_clear(&leads);
    if (status) tl_measure_attack_clear(result);
    return status || !cut ? status : tl_fail(err, TL_ERR_INTERRUPTED, "attack: interrupted");
}

void tl_measure_attack_clear(tl_measure_attack_result *result)
{
    tl_measure_free(result->nu);
    *result = (tl_measure_attack_result){0};
}
