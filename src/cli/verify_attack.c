/* The perturbed input of a record, and what it moves. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_math.h>

#include "cli/cli.h"
#include "cli/verify.h"
#include "tightlip/experiment.h"
#include "tightlip/linalg.h"
#include "tightlip/transport.h"

/* To what transport is solved. */
static const double TRANSPORT = 1e-7;

static double log10_or_none(double x)
{
    return x > 0 ? log10(x) : -(double)INFINITY;
}

static tl_status forward(const tl_layer *layer, size_t m, const double *x, const double *log_mass,
                         double *y, tl_error *err)
{
    tl_measure *mu = NULL;
    tl_status status = tl_measure_alloc(&mu, m, layer->d, x, NULL, log_mass, err);

    if (status == TL_OK) status = tl_forward(layer, mu, y, err);
    tl_measure_free(mu);
    return status;
}

/* The difference of outputs cancels where epsilon is small. */
static tl_status check_moved(const json_t *attack, const tl_problem *problem, const double *moved,
                             tl_cli_findings *out, tl_error *err)
{
    const tl_layer *layer = problem->layer;
    const double epsilon = problem->domain->epsilon;
    const size_t n = (size_t)problem->measure->n, in = n * layer->d, size = n * layer->out;
    double *x = calloc(in + 2 * size, sizeof *x), *y = x ? x + in : NULL, *z = x ? y + size : NULL;
    tl_status status = x ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");

    if (status == TL_OK) {
        tl_measure_write_out(problem->measure, x);
        status = forward(layer, n, x, NULL, y, err);
    }
    if (status == TL_OK) status = forward(layer, n, moved, NULL, z, err);
    if (status == TL_OK) {
        const double noise = 64 * DBL_EPSILON * (tl_nrm2(size, y) + tl_nrm2(in, x));
        tl_axpy(size, -1, z, y);
        tl_axpy(in, -1, moved, x);
        const double effect = tl_nrm2(size, y), distance = tl_nrm2(in, x);
        if (!(distance <= epsilon * (1 + CLI_AGREEMENT) + noise))
            tl_cli_findings_note(out, "attack", "tokens", "tokens within epsilon of the witness",
                                 NULL);
        tl_cli_record_check_near(attack, "attack", "effect", effect, CLI_AGREEMENT * effect + noise,
                                 out);
        tl_cli_record_check_number(attack, "attack", "attack_log10", true,
                                   log10_or_none(tl_record_number(attack, "effect") / epsilon),
                                   out);
    }
    free(x);
    return status;
}

/* ---- measures ---- */

/* Both distances, of measures with masses exp(log_mass). */
static tl_status distances(const tl_problem *problem, const double *x, const double *log_mass,
                           size_t m, double *distance, double *effect, tl_error *err)
{
    const tl_layer *layer = problem->layer;
    const tl_measure *mu = problem->measure;
    double *a = malloc((mu->m + m) * (1 + layer->out) * sizeof *a);
    tl_transport in, after;
    tl_status status;

    if (a == NULL) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    double *b = a + mu->m, *y = b + m, *z = y + mu->m * layer->out;
    for (size_t k = 0; k < mu->m; k++) a[k] = exp(mu->log_mass[k]);
    for (size_t k = 0; k < m; k++) b[k] = exp(log_mass[k]);
    status = tl_forward(layer, mu, y, err);
    if (status == TL_OK) status = forward(layer, m, x, log_mass, z, err);
    if (status == TL_OK) status = tl_transport_w2(mu->d, mu->m, mu->x, a, m, x, b, NULL, &in, err);
    if (status == TL_OK)
        status = tl_transport_w2(layer->out, mu->m, y, a, m, z, b, NULL, &after, err);
    if (status == TL_OK) {
        *distance = in.upper;
        *effect = after.lower;
    }
    free(a);
    return status;
}

/* What follows from slopes that stand there; far and neighbourhood are suprema that a search found,
 * and move and split those of the blocks of the norm, which are looked at. */
static void check_slopes(const json_t *record, const json_t *attack, tl_cli_findings *out)
{
    const json_t *lower = json_object_get(record, "lower");
    const double move = tl_record_number(lower, "joint_log10");
    const double split = tl_record_number(attack, "split_slope_log10");
    const double far = tl_record_number(attack, "far_log10"); /* fmax passes over NAN */
    const double pointwise = fmax(move, fmax(split, far));
    const double whole = tl_record_number(attack, "whole_log10");
    const double parts = tl_record_number(attack, "attack_log10");

    tl_cli_record_check_number(attack, "attack", "move_log10", true, move, out);
    tl_cli_record_check_number(attack, "attack", "pointwise_log10", true, pointwise, out);
    if (tl_record_number(attack, "neighbourhood_log10") < pointwise - CLI_LOG_SLACK)
        tl_cli_findings_note(out, "attack", "neighbourhood_log10", "at least pointwise_log10",
                             json_object_get(attack, "neighbourhood_log10"));
    tl_cli_record_check_most(attack, "attack", "whole_log10", parts + CLI_LOG_SLACK, out);
    if (!json_object_get(attack, "attack_gain_log10")) return;
    tl_cli_record_check_near(attack, "attack", "attack_gain_log10", parts - whole, CLI_LOG_SLACK,
                             out);
    tl_cli_record_check_near(attack, "attack", "slope_gain_log10", pointwise - move, CLI_LOG_SLACK,
                             out);
}

static tl_status check_measure(const json_t *record, const json_t *attack,
                               const tl_problem *problem, const double *x, size_t m,
                               tl_cli_findings *out, tl_error *err)
{
    const tl_measure *mu = problem->measure;
    size_t rows;
    double *log_mass = tl_cli_record_rows(json_object_get(attack, "log_mass"), m, &rows);
    double distance = 0, effect = 0;
    tl_status status = TL_OK;

    if (log_mass == NULL || rows != 1)
        tl_cli_findings_note(out, "attack", "log_mass", "one of each token",
                             json_object_get(attack, "log_mass"));
    else
        status = distances(problem, x, log_mass, m, &distance, &effect, err);
    free(log_mass);
    if (status != TL_OK || distance <= 0) return status;
    const double noise = 64 * DBL_EPSILON * tl_nrm2(mu->m * mu->d, mu->x);
    tl_cli_record_check_near(attack, "attack", "distance", distance, TRANSPORT * distance + noise,
                             out);
    tl_cli_record_check_near(attack, "attack", "effect", effect, TRANSPORT * effect + noise, out);
    /* Over epsilon, which is no less than the distance. */
    tl_cli_record_check_most(
        attack, "attack", "attack_log10",
        log10_or_none(tl_record_number(attack, "effect") / tl_record_number(attack, "distance")) +
            TRANSPORT,
        out);
    check_slopes(record, attack, out);
    return TL_OK;
}

tl_status tl_cli_record_check_attack(const json_t *record, const tl_problem *problem,
                                     tl_cli_findings *out, tl_error *err)
{
    const json_t *attack = json_object_get(record, "attack");
    const tl_measure *mu = problem->measure;
    size_t m;
    double *x;
    tl_status status = TL_OK;

    if (attack == NULL) return TL_OK;
    x = tl_cli_record_rows(json_object_get(attack, "tokens"), problem->layer->d, &m);
    if (x == NULL || (mu->n > 0 && m != mu->n))
        tl_cli_findings_note(out, "attack", "tokens", "as many rows as there are tokens", NULL);
    else if (mu->n == 0)
        status = check_measure(record, attack, problem, x, m, out, err);
    else if (problem->domain && problem->domain->kind == TL_DOMAIN_FROBENIUS)
        status = check_moved(attack, problem, x, out, err);
    free(x);
    return status;
}
