/* What a record holds beside its found value and its bounds. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_math.h>

#include "cli/cli.h"
#include "cli/verify.h"
#include "tightlip/experiment.h"
#include "tightlip/invert.h"

void tl_cli_record_check_near(const json_t *object, const char *where, const char *key,
                              double expected, double slack, tl_cli_findings *out)
{
    char text[40];

    if (fabs(tl_record_number(object, key) - expected) <= slack) return;
    (void)snprintf(text, sizeof text, "%.15g", expected);
    tl_cli_findings_note(out, where, key, text, json_object_get(object, key));
}

void tl_cli_record_check_most(const json_t *object, const char *where, const char *key, double most,
                              tl_cli_findings *out)
{
    char text[40];

    if (!(tl_record_number(object, key) > most)) return;
    (void)snprintf(text, sizeof text, "at most %.15g", most);
    tl_cli_findings_note(out, where, key, text, json_object_get(object, key));
}

double *tl_cli_record_rows(const json_t *list, size_t d, size_t *rows)
{
    double *x;

    *rows = json_array_size(list);
    x = *rows > 0 ? malloc(*rows * d * sizeof *x) : NULL;
    for (size_t i = 0; x != NULL && i < *rows; i++) {
        const json_t *row = json_array_get(list, i);
        bool good = json_array_size(row) == d;
        for (size_t j = 0; good && j < d; j++) {
            good = json_is_number(json_array_get(row, j));
            x[i * d + j] = json_number_value(json_array_get(row, j));
        }
        if (good) continue;
        free(x);
        return NULL;
    }
    return x;
}

/* ---- the witness itself ---- */

static tl_status check_witness(const json_t *lower, const tl_problem *problem, bool referred,
                               tl_cli_findings *out, tl_error *err)
{
    const tl_measure *mu = problem->measure;
    double least = mu->log_mass[0];
    tl_norm_result norm;
    tl_status status;

    for (size_t k = 1; k < mu->m; k++) least = fmin(least, mu->log_mass[k]);
    tl_cli_record_check_near(lower, "lower", "atoms", (double)mu->m, 0, out);
    tl_cli_record_check_number(lower, "lower", "min_mass_log10", true, least / M_LN10, out);
    if (referred || (problem->has_norm && problem->norm != TL_NORM_2)) return TL_OK;
    status = tl_norm_compute(problem->layer, mu, TL_NORM_2, NULL, &norm, err);
    if (status != TL_OK) return status;
    tl_cli_record_check_number(lower, "lower", "joint_log10", true, norm.log_joint / M_LN10, out);
    tl_cli_record_check_number(lower, "lower", "split_log10", true, norm.log_split / M_LN10, out);
    return TL_OK;
}

/* ---- compare ---- */

static tl_status check_compared(const json_t *compared, const tl_problem *problem,
                                tl_cli_findings *out, tl_error *err)
{
    void *at = json_object_iter((json_t *)(uintptr_t)compared);
    tl_status status = TL_OK;

    for (; at != NULL && status == TL_OK;
         at = json_object_iter_next((json_t *)(uintptr_t)compared, at)) {
        const char *name = json_object_iter_key(at);
        const json_t *row = json_object_iter_value(at);
        tl_norm_result result;
        char where[60];
        tl_norm norm;
        if (tl_norm_from_name(name, &norm) != TL_OK) {
            tl_cli_findings_note(out, "compare", "key", "one of tightlip list norms", row);
            continue;
        }
        if (norm == TL_NORM_INF2) continue;
        status = tl_norm_compute(problem->layer, problem->measure, norm, NULL, &result, err);
        if (status != TL_OK) break;
        (void)snprintf(where, sizeof where, "compare %s", name);
        tl_cli_record_check_number(row, where, "value", false, result.log_value / M_LN10, out);
        tl_cli_record_check_number(row, where, "log10", true, result.log_value / M_LN10, out);
    }
    return status;
}

/* ---- given ---- */

static void check_given(const json_t *given, tl_cli_findings *out)
{
    const double found = tl_record_number(given, "log10");
    static const char *const certified[] = {"certified", "certified_log10"};

    tl_cli_record_check_number(given, "given", "value", false, found, out);
    for (size_t i = 0; i < CLI_COUNT_OF(certified); i++)
        if (!json_is_null(json_object_get(given, certified[i])))
            tl_cli_record_check_number(given, "given", certified[i], i == 1, found, out);
}

/* ---- exact ---- */

/* That the upper end is one is what costs the search; the lower one is the norm at its tokens. */
static tl_status check_supremum(const json_t *record, const json_t *exact,
                                const tl_problem *problem, tl_cli_findings *out, tl_error *err)
{
    static const char *const ends[][3] = {{"lower", "lower_log10", "lower_certified"},
                                          {"upper", "upper_log10", "upper_certified"}};
    const double upper = tl_record_number(exact, "upper_log10") + CLI_LOG_SLACK;
    tl_measure *mu = NULL;
    tl_norm_result norm;
    size_t n;
    double *x = tl_cli_record_rows(json_object_get(exact, "tokens"), problem->layer->d, &n);
    tl_status status = TL_OK;

    for (size_t i = 0; i < CLI_COUNT_OF(ends); i++) {
        const double end = log10(tl_record_number(exact, ends[i][0]));
        tl_cli_record_check_number(exact, "exact", ends[i][1], true, end, out);
        tl_cli_record_check_number(exact, "exact", ends[i][2], false, end, out);
    }
    tl_cli_record_check_most(exact, "exact", "lower_log10", upper, out);
    tl_cli_record_check_most(json_object_get(record, "lower"), "lower", "log10", upper, out);
    if (x == NULL) {
        tl_cli_findings_note(out, "exact", "tokens", "rows of numbers",
                             json_object_get(exact, "tokens"));
        return TL_OK;
    }
    status = tl_measure_alloc(&mu, n, problem->layer->d, x, NULL, NULL, err);
    for (size_t i = 0; status == TL_OK && problem->domain && i < n; i++)
        if (!tl_domain_contains(problem->domain, x + i * problem->layer->d))
            tl_cli_findings_note(out, "exact", "tokens", "tokens in the domain",
                                 json_array_get(json_object_get(exact, "tokens"), i));
    if (status == TL_OK) status = tl_norm_compute(problem->layer, mu, TL_NORM_2, NULL, &norm, err);
    if (status == TL_OK)
        tl_cli_record_check_number(exact, "exact", "lower", false, norm.log_value / M_LN10, out);
    tl_measure_free(mu);
    free(x);
    return status;
}

/* ---- invert ---- */

/* Where the iteration does not contract, rounding grows with every step: up to four times as fast
 * as the factor at the tokens says, away from which the layer may be steeper. */
static void check_errors(const json_t *invert, const double *error, size_t count, double factor,
                         tl_cli_findings *out)
{
    const json_t *list = json_object_get(invert, "errors");
    double rounding = 512 * DBL_EPSILON;
    char at[40], text[40];

    if (json_array_size(list) != count) {
        (void)snprintf(text, sizeof text, "%zu numbers", count);
        tl_cli_findings_note(out, "invert", "errors", text, list);
        return;
    }
    for (size_t t = 0; t < count && rounding < 1; t++, rounding *= fmax(1, 4 * factor)) {
        const double found = json_number_value(json_array_get(list, t));
        if (fabs(found - error[t]) <= CLI_AGREEMENT * error[t] + rounding) continue;
        (void)snprintf(at, sizeof at, "errors[%zu]", t);
        (void)snprintf(text, sizeof text, "%.15g", error[t]);
        tl_cli_findings_note(out, "invert", at, text, json_array_get(list, t));
        return;
    }
}

static tl_status check_inversion(const json_t *record, const json_t *invert,
                                 const tl_problem *problem, tl_cli_findings *out, tl_error *err)
{
    const tl_measure *mu = problem->measure;
    const size_t size = mu->m * mu->d,
                 recorded = json_array_size(json_object_get(invert, "errors"));
    const size_t iterations = recorded > 0 ? recorded - 1 : 0;
    const double log_step =
        log10(tl_record_number(invert, "c")) - tl_record_number(invert, "bound_log10");
    const double step = pow(10, log_step);
    const double log_found = tl_record_number(json_object_get(record, "lower"), "log10");
    double *y = malloc((2 * size + recorded + 1) * sizeof *y);
    size_t done = 0;
    tl_status status = y ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");

    tl_cli_record_check_number(invert, "invert", "step", false, log_step, out);
    tl_cli_record_check_number(invert, "invert", "local_factor", false, log_step + log_found, out);
    if (status == TL_OK && isfinite(step)) {
        double *x = y + size, *error = x + size;
        status = tl_residual_apply(problem->layer, step, mu->m, mu->x, y, err);
        if (status == TL_OK)
            status = tl_residual_invert(problem->layer, step, mu->m, y, iterations, mu->x, x, error,
                                        NULL, &done, err);
        if (status == TL_OK)
            check_errors(invert, error, done + 1, pow(10, log_step + log_found), out);
    }
    free(y);
    return status;
}

tl_status tl_cli_record_check_modes(const json_t *record, const tl_problem *problem, bool referred,
                                    tl_cli_findings *out, tl_error *err)
{
    const json_t *lower = json_object_get(record, "lower");
    const json_t *compared = json_object_get(record, "compare");
    const json_t *given = json_object_get(record, "given");
    const json_t *exact = json_object_get(record, "exact");
    const json_t *invert = json_object_get(record, "invert");
    tl_status status = TL_OK;

    if (json_object_get(lower, "atoms")) status = check_witness(lower, problem, referred, out, err);
    if (status == TL_OK && compared) status = check_compared(compared, problem, out, err);
    if (given) check_given(given, out);
    if (status == TL_OK && exact) status = check_supremum(record, exact, problem, out, err);
    if (status == TL_OK && invert) status = check_inversion(record, invert, problem, out, err);
    return status;
}
