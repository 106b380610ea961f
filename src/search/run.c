#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"

void tl_search_defaults(tl_search_settings *settings)
{
    *settings = (tl_search_settings){.restarts = 64, .evaluations = 4000, .seed = 1};
    settings->starts = (1u << TL_START_COUNT) - 1u;
}

static tl_status check_a(const tl_search_problem *p, tl_error *err)
{
    if (!p->worst_a) return TL_OK;
    const tl_head *head = p->layer->head;
    if (p->layer->kind != TL_KIND_DOT && p->layer->kind != TL_KIND_SIGMOID)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "A = \"worst\": expected kind \"dot\" or \"sigmoid\", found \"%s\"",
                       tl_kind_name(p->layer->kind));
    if (p->layer->heads != 1 || head->K || head->bq)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "A = \"worst\": expected one head given by A and V, found %zu heads%s",
                       p->layer->heads, head->K ? " given by Q and K" : "");
    if (!(p->norm_a >= 0.0) || !isfinite(p->norm_a))
        return tl_fail(err, TL_ERR_DOMAIN, "A = \"worst\": expected a norm >= 0, found %g",
                       p->norm_a);
    return TL_OK;
}

static tl_status check_mask(const tl_search_problem *p, tl_error *err)
{
    const char *mask = tl_mask_name(p->layer->mask);
    if (p->n == 0)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "search under mask \"%s\": expected a finite n, found \"inf\"", mask);
    if (p->n > TL_SEARCH_TOKENS_MAX)
        return tl_fail(err, TL_ERR_LIMIT,
                       "search under mask \"%s\": expected n of at most %d, since every token is "
                       "an atom, found %llu",
                       mask, TL_SEARCH_TOKENS_MAX, (unsigned long long)p->n);
    if (p->layer->mask == TL_MASK_GENERAL && p->layer->seen_n != p->n)
        return tl_fail(err, TL_ERR_ARGUMENT, "n: expected the %zu tokens of the mask, found %llu",
                       p->layer->seen_n, (unsigned long long)p->n);
    if (p->atoms < p->n)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "atoms: under mask \"%s\" every token is one: expected at least n = %llu, "
                       "found %zu",
                       mask, (unsigned long long)p->n, p->atoms);
    if (p->objective == TL_OBJECTIVE_SPLIT || p->objective == TL_OBJECTIVE_SPLIT_GAIN)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "objective \"%s\": expected no mask: under one no block is split off",
                       tl_objective_name(p->objective));
    return TL_OK;
}

static tl_status check_layer(const tl_search_problem *p, tl_error *err)
{
    /* What every measure with n tokens has: one atom, or under a mask all of them. */
    uint64_t n = p->n;
    const bool ordered = tl_search_ordered(p);
    const tl_measure sizes = {.m = ordered ? (size_t)n : 1, .count = n ? &n : NULL, .n = n};
    const tl_status status = ordered ? check_mask(p, err) : TL_OK;
    if (status) return status;
    if (n == 0 && p->layer->kind == TL_KIND_SIGMOID)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "search of kind \"sigmoid\": its weights are not normalised: expected a "
                       "finite n, found \"inf\"");
    return tl_layer_accepts(p->layer, &sizes, err);
}

/* The whole space: kind l2 is Lipschitz there where query and key are tied and every token sees
 * itself (README of src/bounds, "L2 attention"). */
static tl_status check_space(const tl_search_problem *p, tl_error *err)
{
    const tl_layer *layer = p->layer;
    if (p->domain->kind != TL_DOMAIN_SPACE) return TL_OK;
    for (size_t i = 0; layer->mask == TL_MASK_GENERAL && i < layer->seen_n; i++)
        if (!tl_layer_sees(layer, i, i))
            return tl_fail(err, TL_ERR_UNSUPPORTED,
                           "search domain \"space\": expected a mask under which every token sees "
                           "itself, found token %zu hidden from itself",
                           i);
    return TL_OK;
}

/* The multiplicities of a Frobenius ball are fixed: so are n and the atoms. */
static tl_status check_domain(const tl_search_problem *p, tl_error *err)
{
    const tl_measure *around = p->domain->around;
    tl_status status = tl_domain_fits(p->domain, p->layer, err);
    if (!status) status = check_space(p, err);
    if (status || !around) return status;
    if (p->n != around->n)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "search domain: expected n = %llu as its tokens have, found %llu",
                       (unsigned long long)around->n, (unsigned long long)p->n);
    if (tl_search_ordered(p) && around->m != around->n)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "search domain: under a mask expected each of its %llu tokens listed once, "
                       "found %zu with multiplicities",
                       (unsigned long long)around->n, around->m);
    if (p->atoms < around->m)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "atoms: expected at least the %zu of the domain, found %zu", around->m,
                       p->atoms);
    return TL_OK;
}

tl_status tl_search_check(const tl_search_problem *p, const tl_search_settings *settings,
                          tl_error *err)
{
    if (p->norm == TL_NORM_JT_F)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "search: \"jt-f\" is no norm: expected one of the others");
    if (p->norm == TL_NORM_FRO && p->n == 0)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "search: norm \"fro\" is infinite in mean field: expected a finite n");
    if (p->norm != TL_NORM_2 && p->objective != TL_OBJECTIVE_NORM)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "objective \"%s\": expected norm \"2\", found \"%s\"",
                       tl_objective_name(p->objective), tl_norm_name(p->norm));
    tl_status status = check_layer(p, err);
    if (!status) status = check_domain(p, err);
    if (status) return status;
    if (p->given && p->given->d != p->layer->d)
        return tl_fail(err, TL_ERR_SHAPE, "given tokens: expected width %zu, found %zu",
                       p->layer->d, p->given->d);
    if (p->atoms < 1) return tl_fail(err, TL_ERR_ARGUMENT, "atoms: expected at least 1, found 0");
    if (settings->restarts < 1 || settings->evaluations < 1)
        return tl_fail(err, TL_ERR_ARGUMENT, "restarts and evaluations: expected at least 1");
    if (!(settings->seconds >= 0))
        return tl_fail(err, TL_ERR_ARGUMENT, "seconds: expected 0 (no limit) or more, found %g",
                       settings->seconds);
    if (!isnan(p->log_mass_ratio) && (p->n != 0 || p->atoms < 2))
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "mass ratio: expected n = \"inf\" and at least 2 atoms");
    if (isinf(p->log_mass_ratio))
        return tl_fail(err, TL_ERR_DOMAIN, "mass ratio: expected a finite logarithm, found %g",
                       p->log_mass_ratio);
    if (p->objective != TL_OBJECTIVE_NORM && p->objective != TL_OBJECTIVE_JOINT && p->n == 1)
        return tl_fail(err, TL_ERR_ARGUMENT, "objective \"%s\": expected n >= 2, found 1",
                       tl_objective_name(p->objective));
    bool any = false;
    for (int i = 0; i < (int)TL_START_COUNT; i++)
        any = any || ((settings->starts & 1u << i) && tl_start_applies(p, (tl_start)i));
    if (!any) return tl_fail(err, TL_ERR_ARGUMENT, "starts: none of those named applies here");
    return check_a(p, err);
}

bool tl_search_stopped(const tl_search_settings *settings)
{
    return settings->stop && *settings->stop;
}

/* Whether a stop has left anything undone: it may come when all is done. The value of one token is
 * exact after any evaluation. */
static bool cut_short(size_t count, const tl_status *statuses, const tl_search_result *results)
{
    bool cut = false;

    for (size_t r = 0; r < count; r++) {
        if (results[r].measure && results[r].stop == TL_STOP_EXACT) return false;
        cut = cut || statuses[r] == TL_ERR_INTERRUPTED ||
              (results[r].measure && results[r].stop == TL_STOP_INTERRUPTED);
    }
    return cut;
}

tl_status tl_search_run(const tl_search_problem *problem, const tl_search_settings *settings,
                        tl_search_result *best, tl_error *err)
{
    tl_status status = tl_search_check(problem, settings, err);
    if (status) return status;
    tl_search_result *results = calloc(settings->restarts, sizeof *results);
    tl_status *statuses = calloc(settings->restarts, sizeof *statuses);
    if (!results || !statuses) {
        free(results);
        free(statuses);
        return tl_fail(err, TL_ERR_MEMORY, "no memory for %zu restarts", settings->restarts);
    }
    const size_t together = tl_search_together(problem), all = settings->restarts;
    /* The first in any case, so that there is a result. */
#pragma omp parallel for schedule(dynamic)
    for (size_t r = 0; r < all; r += together)
        statuses[r] =
            r > 0 && tl_search_stopped(settings)
                ? TL_ERR_INTERRUPTED
                : tl_search_restarts(problem, settings, r, all - r < together ? all - r : together,
                                     &results[r], NULL);
    const bool cut = cut_short(all, statuses, results);
    tl_search_reduce(results, settings->restarts, best);
    if (!best->measure && statuses[0] == TL_ERR_NUMERIC && tl_search_overflow(problem, err))
        status = TL_ERR_NUMERIC;
    else if (!best->measure)
        status = tl_fail(err, statuses[0] ? statuses[0] : TL_ERR_NUMERIC,
                         "search: every restart failed, the first one with: %s",
                         tl_status_text(statuses[0]));
    else if (cut)
        status = tl_fail(err, TL_ERR_INTERRUPTED, "search: interrupted");
    free(results);
    free(statuses);
    return status;
}
