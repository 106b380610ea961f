/* One witness, and what its record says. */
#include "cli/verify.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "tightlip/model.h"
#include "tightlip/norm.h"
#include "tightlip/problem.h"

static bool is_wide(const tl_layer *layer)
{
    return layer->d * layer->values > 32768;
}

/* Tokens times numbers of the value matrices from which on balls take more than a second. */
enum { LONG_IN_BALLS = 10000000 };

static bool is_long(const tl_problem *problem)
{
    return problem->measure->m * problem->layer->d * problem->layer->values > LONG_IN_BALLS;
}

/* same: the witness holds the direction that the record was certified at. */
static tl_status check_record(const tl_cli_item *item, const tl_problem *problem, bool referred,
                              bool same, const tl_certificate *c, tl_cli_findings *out,
                              tl_error *why)
{
    tl_status status;

    if (!item->record || c->verdict == TL_VERDICT_OUTSIDE) return TL_OK;
    tl_cli_record_check_lower(item->record, c, same, out);
    status =
        tl_cli_record_check_bounds(item->record, problem, item->a, item->conjectures, out, why);
    if (status == TL_OK)
        status = tl_cli_record_check_modes(item->record, problem, referred, out, why);
    return status == TL_OK ? tl_cli_record_check_attack(item->record, problem, out, why) : status;
}

/* Any direction proves a lower bound: one that the file leaves out is found by the double-precision
 * path, in a layer of a network to a tenth of what a claim may miss. */
static tl_status find_direction(tl_problem *problem, bool network, tl_error *err)
{
    const tl_norm_settings near = {.value = 1e-11};
    const tl_measure *mu = problem->measure;
    tl_norm_layer_result layer;
    tl_norm_result norm;

    if (problem->direction != NULL || (problem->has_norm && problem->norm != TL_NORM_2))
        return TL_OK;
    problem->direction = calloc(mu->m * mu->d, sizeof *problem->direction);
    if (problem->direction == NULL) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    if (network && mu->n == mu->m)
        return tl_norm_layer(problem->layer, mu, &near, problem->direction, &layer, err);
    return tl_norm_compute(problem->layer, mu, TL_NORM_2, problem->direction, &norm, err);
}

/* The problem of an item that was read, weights, tokens and direction found where it leaves them
 * out. *referred: it names weights or tokens. */
static tl_status read_problem(const tl_cli_item *item, tl_model_networks *networks,
                              tl_problem *problem, bool *referred, tl_error *why)
{
    const json_t *attention = json_object_get(item->document, "attention");
    const bool network = json_object_get(attention, "model") != NULL;
    tl_status status = tl_model_resolve_kept(item->document, item->data, networks, referred, why);

    if (status == TL_OK)
        status = tl_problem_from_json_anywhere(item->document, item->label, problem, why);
    if (status == TL_OK && *referred) status = find_direction(problem, network, why);
    return status;
}

static tl_status certify_problem(const tl_cli_item *item, const tl_certify_settings *settings,
                                 tl_model_networks *networks, tl_certificate *c,
                                 tl_cli_findings *findings, tl_error *why)
{
    tl_problem problem = {0};
    tl_certify_settings asked = *settings;
    bool referred = false;
    tl_status status = read_problem(item, networks, &problem, &referred, why);

    if (status == TL_OK) {
        /* Trained layers are too wide for what costs more than a product with the direction, and of
         * the widest even the norms of their matrices cost minutes. */
        asked.enclose = settings->enclose && !referred;
        asked.lower_only = referred;
        asked.norm_only = referred && is_wide(problem.layer);
        asked.pairs = asked.norm_only && is_long(&problem);
        status = tl_certify_problem(&problem, &asked, c, why);
        if (status == TL_OK) {
            status = check_record(item, &problem, referred, !referred && !asked.enclose, c,
                                  findings, why);
            if (status != TL_OK) tl_certificate_clear(c);
        }
        if (status != TL_OK) tl_error_prefix(why, "%s", item->label);
    }
    tl_problem_clear(&problem);
    return status;
}

static tl_status certify_star(const tl_cli_item *item, const tl_certify_settings *settings,
                              tl_certificate *c, tl_cli_findings *findings, tl_error *why)
{
    tl_certified_star star;
    tl_status status = tl_certified_star_read(item->document, item->label, &star, why);

    if (status == TL_OK) status = tl_certify_star(&star, settings, c, why);
    if (status != TL_OK || !item->record) return status;
    tl_cli_record_check_lower(item->record, c, true, findings);
    status = tl_cli_record_check_star(item->record, &star, item->conjectures, findings, why);
    if (status != TL_OK) tl_certificate_clear(c);
    return status;
}

tl_status tl_cli_verify_item(const tl_cli_item *item, const tl_certify_settings *settings,
                             tl_model_networks *networks, tl_certificate *c,
                             tl_cli_findings *findings, tl_error *why)
{
    tl_status status;

    if (!item->document) {
        *why = item->error;
        return item->error.status;
    }
    findings->differs = json_array();
    status = tl_certified_star_is(item->document)
                 ? certify_star(item, settings, c, findings, why)
                 : certify_problem(item, settings, networks, c, findings, why);
    if (status != TL_OK || findings->differs) return status;
    tl_certificate_clear(c);
    return tl_fail(why, TL_ERR_MEMORY, "out of memory");
}
