/* Cells whose tokens or measures are attacked by perturbations of finite size: the group `attack`.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/modes.h"
#include "tightlip/attack.h"
#include "tightlip/measure_attack.h"
#include "tightlip/slopes.h"

/* Of a record: what stands in data.csv too. */
const char *const tl_attack_columns[TL_ATTACK_COLUMNS] = {
    "attack_log10",    "whole_log10",         "move_log10",        "split_slope_log10", "far_log10",
    "pointwise_log10", "neighbourhood_log10", "attack_gain_log10", "slope_gain_log10"};

static const long long MOST = 1000000; /* restarts, steps, .. */

size_t tl_attack_columns_of(const json_t *config)
{
    const json_t *attack = json_object_get(config, "attack");

    if (!attack) return 0;
    return json_object_get(attack, "worst") ? TL_ATTACK_COLUMNS : TL_ATTACK_COLUMNS - 2;
}

static tl_status read_worst(tl_experiment *ex, const config_setting_t *at, tl_error *err)
{
    static const char *const keys[] = {"restarts", "evaluations", "least_mass"};
    tl_attack_wish *wish = &ex->attack;
    tl_status s;

    wish->worst = at != NULL;
    wish->worst_restarts = 8;
    wish->worst_evaluations = 300;
    if (!at) return TL_OK;
    const config_setting_t *least = config_setting_get_member(at, "least_mass");
    s = tl_config_keys(ex, at, keys, 3, err);
    if (!s) s = tl_config_count(ex, at, "restarts", 1, MOST, &wish->worst_restarts, err);
    if (!s) s = tl_config_count(ex, at, "evaluations", 1, MOST, &wish->worst_evaluations, err);
    if (!s && least) s = tl_config_real(ex, least, &wish->worst_least_mass, err);
    return s;
}

tl_status tl_attack_read(tl_experiment *ex, const config_setting_t *at, tl_error *err)
{
    static const char *const keys[] = {"restarts", "steps", "parts", "epsilon", "worst"};
    tl_attack_wish *wish = &ex->attack;
    tl_status s;

    *wish = (tl_attack_wish){.on = at != NULL, .restarts = 16, .steps = 100, .parts = 2};
    if (!at) return TL_OK;
    s = tl_config_keys(ex, at, keys, 5, err);
    if (!s) s = tl_config_count(ex, at, "restarts", 1, MOST, &wish->restarts, err);
    if (!s) s = tl_config_count(ex, at, "steps", 1, MOST, &wish->steps, err);
    if (!s) s = tl_config_count(ex, at, "parts", 1, MOST, &wish->parts, err);
    if (!s) s = read_worst(ex, config_setting_get_member(at, "worst"), err);
    if (!s && (!ex->tokens || ex->search || ex->exact.on || ex->invert.on))
        s = tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                           "expected tokens, and neither search, exact nor invert");
    if (!s && ex->norm != TL_NORM_2)
        s = tl_config_fail(ex, at, err, TL_ERR_UNSUPPORTED, "expected norm 2, found %s",
                           tl_norm_name(ex->norm));
    return s;
}

/* A sequence is attacked in the Frobenius ball of its domain, a measure within epsilon in W_2. */
tl_status tl_attack_check(const tl_bindings *b, tl_cell *cell, tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    const config_setting_t *at =
        config_setting_get_member(config_root_setting(&ex->tree), "attack");
    const bool measure = cell->tokens->n == 0;
    bool found = false;
    tl_status s = TL_OK;

    if (measure) s = tl_bindings_real(b, at, "epsilon", "epsilon", &cell->epsilon, &found, err);
    if (!s && measure && !(found && cell->epsilon > 0))
        return tl_config_fail(ex, at, err, TL_ERR_DOMAIN,
                              "measures: expected a setting epsilon above 0");
    if (!s && !measure && ex->attack.worst)
        return tl_config_fail(ex, at, err, TL_ERR_ARGUMENT, "worst: expected a measure, with mass");
    if (!s && !measure && cell->domain->kind != TL_DOMAIN_FROBENIUS)
        return tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                              "tokens: expected a domain of kind \"frobenius-ball\", the budget, "
                              "found \"%s\"",
                              tl_domain_name(cell->domain->kind));
    return s;
}

static int set_log(json_t *object, const char *key, double value)
{
    return tl_json_set_number(object, key, value > 0 ? log10(value) : (double)NAN);
}

static tl_status attack_tokens(json_t *object, const tl_experiment *ex, const tl_cell *cell,
                               double *ratio, tl_error *err)
{
    const tl_attack_problem problem = {
        .layer = cell->attention.layer, .around = cell->tokens, .epsilon = cell->domain->epsilon};
    tl_attack_settings settings;
    tl_attack_result r;
    tl_status s;

    tl_attack_defaults(&settings);
    settings.restarts = ex->attack.restarts;
    settings.steps = ex->attack.steps;
    settings.seed = ex->settings.seed;
    settings.cell = cell->index;
    s = tl_attack_run(&problem, &settings, &r, err);
    if (s) return s;
    *ratio = fmax(r.effect - r.rounding, 0) / problem.epsilon;
    if (set_log(object, "attack_log10", r.ratio) ||
        tl_json_set_number(object, "effect", r.effect) ||
        tl_json_set_number(object, "rounding", r.rounding) ||
        json_object_set_new(object, "start", json_string(tl_attack_start_name(r.start))) ||
        json_object_set_new(object, "tokens", tl_json_rows(r.x, r.n, r.d)))
        s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    tl_attack_result_clear(&r);
    return s;
}

static int set_slopes(json_t *object, const tl_slopes *s, size_t d)
{
    return set_log(object, "move_log10", s->move) ||
           set_log(object, "split_slope_log10", s->split) || set_log(object, "far_log10", s->far) ||
           set_log(object, "pointwise_log10", s->pointwise) ||
           set_log(object, "neighbourhood_log10", s->neighbourhood) ||
           json_object_set_new(object, "far_to", tl_json_rows(s->far_to, 1, d)) ||
           json_object_set_new(object, "neighbourhood_at", tl_json_rows(s->at, 1, d));
}

static int set_measure(json_t *object, const tl_measure_attack_result *whole,
                       const tl_measure_attack_result *parts)
{
    const tl_measure *nu = parts->nu;

    return set_log(object, "attack_log10", parts->ratio) ||
           set_log(object, "whole_log10", whole->ratio) ||
           tl_json_set_number(object, "effect", parts->effect) ||
           tl_json_set_number(object, "distance", parts->distance) ||
           json_object_set_new(object, "tokens", tl_json_rows(nu->x, nu->m, nu->d)) ||
           json_object_set_new(object, "log_mass", tl_json_rows(nu->log_mass, 1, nu->m));
}

static int set_gains(json_t *object, const tl_slopes *slopes, double whole, double parts)
{
    return set_log(object, "attack_gain_log10", parts / whole) ||
           set_log(object, "slope_gain_log10", slopes->pointwise / slopes->move);
}

static tl_status attack_measure(json_t *object, const tl_experiment *ex, const tl_cell *cell,
                                const tl_measure *mu, double *ratio, tl_error *err)
{
    tl_measure_attack problem = {.layer = cell->attention.layer,
                                 .mu = mu,
                                 .domain = cell->domain,
                                 .epsilon = cell->epsilon,
                                 .parts = 1};
    tl_measure_attack_settings settings = {.restarts = ex->attack.restarts,
                                           .steps = ex->attack.steps,
                                           .seed = ex->settings.seed,
                                           .cell = cell->index};
    tl_measure_attack_result whole = {0}, parts = {0};
    tl_slopes slopes = {0};
    tl_status s = tl_slopes_find(problem.layer, problem.mu, problem.domain, ex->attack.restarts,
                                 settings.seed, &slopes, err);

    if (!s) s = tl_measure_attack_run(&problem, &settings, &whole, err);
    problem.parts = ex->attack.parts;
    if (!s) s = tl_measure_attack_run(&problem, &settings, &parts, err);
    if (!s && (set_slopes(object, &slopes, problem.mu->d) || set_measure(object, &whole, &parts) ||
               (ex->attack.worst && set_gains(object, &slopes, whole.ratio, parts.ratio))))
        s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    *ratio = parts.effect / fmax(parts.distance, cell->epsilon) * (1 - 1e-7);
    tl_measure_attack_clear(&whole);
    tl_measure_attack_clear(&parts);
    tl_slopes_clear(&slopes);
    return s;
}

/* Bounds that hold over the whole ball must hold for the attack as well. */
static int judge(json_t *record, double log_ratio)
{
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(record, "bounds"), i, row)
    {
        const char *scope = json_string_value(json_object_get(row, "scope"));
        const char *provenance = json_string_value(json_object_get(row, "provenance"));
        const json_t *log10_value = json_object_get(row, "log10");
        if (!json_is_true(json_object_get(row, "comparable")) || !json_is_number(log10_value) ||
            !scope || strcmp(scope, tl_scope_name(TL_SCOPE_LOCAL)) == 0 || !provenance ||
            (strcmp(provenance, "published") != 0 && strcmp(provenance, "proven") != 0))
            continue;
        if (!(log_ratio / TL_LN10 > json_number_value(log10_value) + 1e-9)) continue;
        if (json_object_set_new(row, "violation", json_true()) ||
            json_object_set_new(record, "violation", json_true()))
            return 1;
    }
    return 0;
}

tl_status tl_attack_add(json_t *record, const tl_experiment *ex, const tl_cell *cell,
                        const tl_measure *mu, tl_error *err)
{
    json_t *object;
    double ratio = 0;
    tl_status s;

    if (!ex->attack.on) return TL_OK;
    object = json_object();
    if (!object) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    s = cell->tokens->n ? attack_tokens(object, ex, cell, &ratio, err)
                        : attack_measure(object, ex, cell, mu, &ratio, err);
    if (!s &&
        (json_object_set(record, "attack", object) || (ratio > 0 && judge(record, log(ratio)))))
        s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    json_decref(object);
    return s;
}

tl_status tl_attack_worst(const tl_experiment *ex, const tl_cell *cell, tl_measure **out,
                          tl_error *err)
{
    const tl_gain_settings settings = {.restarts = ex->attack.worst_restarts,
                                       .evaluations = ex->attack.worst_evaluations,
                                       .least_mass = ex->attack.worst_least_mass,
                                       .seed = cell->settings.seed,
                                       .cell = cell->index};
    double gain;

    *out = NULL;
    if (!ex->attack.worst) return TL_OK;
    return tl_gain_search(cell->attention.layer, cell->tokens, cell->domain, &settings, out, &gain,
                          err);
}
