#include "cli/cli.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_math.h>

#include "cli/bound_rows.h"
#include "tightlip/conjecture.h"

tl_status tl_cli_conjecture_read(tl_cli_conjecture *out, const char *formula, tl_norm norm,
                                 tl_error *err)
{
    *out = (tl_cli_conjecture){.given = formula != NULL};
    if (!out->given) return TL_OK;
    out->bound = (tl_bound){.key = "conjecture",
                            .title = formula,
                            .citation = "--conjecture",
                            .hypotheses = "yours",
                            .norm = norm,
                            .scope = TL_SCOPE_BALL,
                            .provenance = TL_PROVENANCE_CONJECTURE};
    tl_status status = tl_conjecture_check(formula, err);
    if (status != TL_OK) tl_error_prefix(err, "--conjecture");
    return status;
}

/* A formula without a finite value is an error: it was asked for here and now. */
static tl_status evaluate_conjecture(tl_cli_bound_row *row, const tl_bound_query *query,
                                     tl_error *err)
{
    tl_conjecture_facts facts;
    double log_value = 0;
    tl_status status = tl_conjecture_facts_at(query, &facts);

    if (status != TL_OK) return tl_fail(err, status, "--conjecture: %s", tl_status_text(status));
    status = tl_conjecture_evaluate(row->bound->title, &facts, &log_value, err);
    if (status != TL_OK) {
        tl_error_prefix(err, "--conjecture");
        return status;
    }
    row->value = (tl_bound_value){.applicable = true, .log_value = log_value};
    return TL_OK;
}

/* domain: NULL, or where the input of the query lies. */
static tl_status alloc_rows(tl_cli_bound_row **rows, const tl_bound_query *query,
                            const tl_domain *domain, const tl_bound *conjecture, tl_error *err)
{
    size_t count = tl_bound_count();
    tl_status status = TL_OK;

    *rows = calloc(count + 2, sizeof **rows);
    if (*rows == NULL) return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu bounds", count);
    for (size_t i = 0; i < count && status == TL_OK; i++) {
        const tl_bound *bound = tl_bound_at(i);
        const tl_bound_query asked = tl_bound_query_about(query, bound, domain, false);
        (*rows)[i].bound = bound;
        status = tl_bound_evaluate(bound, &asked, &(*rows)[i].value, err);
    }
    if (status == TL_OK && conjecture != NULL) {
        (*rows)[count].bound = conjecture;
        status = evaluate_conjecture(&(*rows)[count], query, err);
    }
    if (status != TL_OK) {
        free(*rows);
        *rows = NULL;
    }
    return status;
}

tl_status tl_cli_bounds_alloc(tl_cli_bound_row **rows, const tl_bound_query *query,
                              const tl_bound *conjecture, tl_error *err)
{
    return alloc_rows(rows, query, NULL, conjecture, err);
}

tl_status tl_cli_bounds_at(tl_cli_bound_row **rows, const tl_layer *layer,
                           const tl_measure *measure, const tl_domain *domain,
                           const tl_bound *conjecture, tl_error *err)
{
    tl_head_facts *head = calloc(layer->heads, sizeof *head);
    tl_bound_query query;
    tl_status status;

    if (head == NULL)
        return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu heads", layer->heads);
    status = tl_bound_query_domain(&query, head, layer, measure, domain, err);
    if (status == TL_OK) status = alloc_rows(rows, &query, domain, conjecture, err);
    free(head);
    return status;
}

/* True when a found value lies above a bound by more than the rounding of both logarithms. */
bool tl_cli_bound_exceeded(double log_found, double log_bound)
{
    /* 1e-10 covers the residual of an iterated singular pair, which enters squared; a logarithm
     * itself carries a few units in its last place. */
    double scale = fmax(fabs(log_found), isfinite(log_bound) ? fabs(log_bound) : 0);

    return log_found > log_bound + 1e-10 + 8 * DBL_EPSILON * scale;
}

bool tl_cli_bound_comparable(const tl_cli_bound_row *row, const tl_cli_found *found)
{
    return found != NULL && row->value.applicable && row->bound->norm == found->norm;
}

bool tl_cli_bound_covers(const tl_cli_bound_row *row)
{
    return row->value.applicable && row->bound->norm == TL_NORM_2 &&
           row->bound->scope != TL_SCOPE_LOCAL && row->bound->provenance != TL_PROVENANCE_REFUTED &&
           row->bound->provenance != TL_PROVENANCE_CONJECTURE;
}

json_t *tl_cli_bounds_json(const tl_cli_bound_row *rows, const tl_cli_found *found)
{
    json_t *array = json_array();

    for (size_t i = 0; rows[i].bound != NULL; i++) {
        const tl_cli_bound_row *row = &rows[i];
        bool yes = row->value.applicable;
        double log_value = yes ? row->value.log_value : (double)NAN;
        json_t *item = json_pack(
            "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:b,s:b,s:s?,s:o,s:o}", "key", row->bound->key, "title",
            row->bound->title, "norm", tl_norm_name(row->bound->norm), "scope",
            tl_scope_name(row->bound->scope), "provenance",
            tl_provenance_name(row->bound->provenance), "citation", row->bound->citation,
            "hypotheses", row->bound->hypotheses, "least", (int)tl_cli_bound_is_least(rows, row),
            "applicable", (int)yes, "why", yes ? NULL : row->value.why, "log10",
            tl_cli_json_log10(log_value), "value", tl_cli_json_value(log_value));
        if (item != NULL && found != NULL) {
            double ratio =
                tl_cli_bound_comparable(row, found) ? log_value - found->log_value : (double)NAN;
            if (json_object_set_new(item, "ratio_log10", tl_cli_json_log10(ratio)) != 0) {
                json_decref(item);
                item = NULL;
            }
        }
        tl_cli_json_append(&array, item);
    }
    return array;
}

bool tl_cli_bounds_refuted(const tl_cli_bound_row *rows, const tl_cli_found *found)
{
    bool refuted = false;

    for (size_t i = 0; rows[i].bound != NULL; i++) {
        const tl_cli_bound_row *row = &rows[i];
        char a[CLI_NUMBER_SIZE], b[CLI_NUMBER_SIZE];

        if (!tl_cli_bound_comparable(row, found) ||
            row->bound->provenance == TL_PROVENANCE_REFUTED ||
            !tl_cli_bound_exceeded(found->log_value, row->value.log_value))
            continue;
        /* A conjecture is there to be tested: falling is no failure of the program. */
        const bool conjecture = row->bound->provenance == TL_PROVENANCE_CONJECTURE;
        fprintf(stderr, "tightlip: the value %s lies above the %s %s = %s\n",
                tl_cli_format_log(a, found->log_value), conjecture ? "formula" : "bound",
                row->bound->key, tl_cli_format_log(b, row->value.log_value));
        refuted = refuted || !conjecture;
    }
    return refuted;
}
