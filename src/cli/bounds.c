#include "cli/cli.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_math.h>

tl_status tl_cli_bounds_alloc(tl_cli_bound_row **rows, const tl_bound_query *query, tl_error *err)
{
    size_t count = tl_bound_count();
    tl_status status = TL_OK;

    *rows = calloc(count, sizeof **rows);
    if (*rows == NULL) return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu bounds", count);
    for (size_t i = 0; i < count && status == TL_OK; i++) {
        (*rows)[i].bound = tl_bound_at(i);
        status = tl_bound_evaluate((*rows)[i].bound, query, &(*rows)[i].value);
        if (status != TL_OK)
            (void)tl_fail(err, status, "bound %s: %s", tl_bound_at(i)->key, tl_status_text(status));
    }
    if (status != TL_OK) {
        free(*rows);
        *rows = NULL;
    }
    return status;
}

tl_status tl_cli_bounds_at(tl_cli_bound_row **rows, const tl_layer *layer,
                           const tl_measure *measure, const tl_domain *domain, tl_error *err)
{
    tl_head_facts *head = calloc(layer->heads, sizeof *head);
    tl_bound_query query;
    tl_status status;

    if (head == NULL)
        return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu heads", layer->heads);
    status = tl_bound_query_init(&query, head, layer, measure, domain->centre, domain->radius, err);
    if (status == TL_OK) status = tl_cli_bounds_alloc(rows, &query, err);
    free(head);
    return status;
}

/* True when a found value lies above a bound by more than the rounding of both logarithms. */
static bool exceeds(double log_found, double log_bound)
{
    /* 1e-10 covers the residual of an iterated singular pair, which enters squared; a logarithm
     * itself carries a few units in its last place. */
    double scale = fmax(fabs(log_found), isfinite(log_bound) ? fabs(log_bound) : 0);

    return log_found > log_bound + 1e-10 + 8 * DBL_EPSILON * scale;
}

static bool comparable(const tl_cli_bound_row *row, const tl_cli_found *found)
{
    return found != NULL && row->value.applicable && row->bound->norm == found->norm;
}

static void print_row(FILE *out, const tl_cli_bound_row *row, const tl_cli_found *found)
{
    const tl_bound *bound = row->bound;
    char value[CLI_NUMBER_SIZE], ratio[CLI_NUMBER_SIZE];

    fprintf(out, "%-18s %-5s %-10s %-10s ", bound->key, tl_norm_name(bound->norm),
            tl_scope_name(bound->scope), tl_provenance_name(bound->provenance));
    if (!row->value.applicable) {
        fprintf(out, "%14s  %s\n", "-", row->value.why);
        return;
    }
    fprintf(out, "%14s %12.6g", tl_cli_format_log(value, row->value.log_value),
            row->value.log_value / M_LN10);
    if (comparable(row, found))
        fprintf(out, " %14s%s", tl_cli_format_log(ratio, row->value.log_value - found->log_value),
                exceeds(found->log_value, row->value.log_value) ? "  EXCEEDED" : "");
    fputc('\n', out);
}

void tl_cli_bounds_print(FILE *out, const tl_cli_bound_row *rows, const tl_cli_found *found)
{
    fprintf(out, "%-18s %-5s %-10s %-10s %14s %12s%s\n", "bound", "norm", "scope", "provenance",
            "value", "log10", found != NULL ? "    bound/found" : "");
    for (size_t i = 0; i < tl_bound_count(); i++) print_row(out, &rows[i], found);
}

json_t *tl_cli_bounds_json(const tl_cli_bound_row *rows, const tl_cli_found *found)
{
    json_t *array = json_array();

    for (size_t i = 0; i < tl_bound_count(); i++) {
        const tl_cli_bound_row *row = &rows[i];
        bool yes = row->value.applicable;
        double log_value = yes ? row->value.log_value : (double)NAN;
        json_t *item =
            json_pack("{s:s,s:s,s:s,s:s,s:s,s:b,s:s?,s:o,s:o}", "key", row->bound->key, "title",
                      row->bound->title, "norm", tl_norm_name(row->bound->norm), "scope",
                      tl_scope_name(row->bound->scope), "provenance",
                      tl_provenance_name(row->bound->provenance), "applicable", (int)yes, "why",
                      yes ? NULL : row->value.why, "log10", tl_cli_json_log10(log_value), "value",
                      tl_cli_json_value(log_value));
        if (item != NULL && found != NULL) {
            double ratio = comparable(row, found) ? log_value - found->log_value : (double)NAN;
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

    for (size_t i = 0; i < tl_bound_count(); i++) {
        const tl_cli_bound_row *row = &rows[i];
        char a[CLI_NUMBER_SIZE], b[CLI_NUMBER_SIZE];

        if (!comparable(row, found) || row->bound->provenance == TL_PROVENANCE_REFUTED ||
            !exceeds(found->log_value, row->value.log_value))
            continue;
        fprintf(stderr, "tightlip: the value %s lies above the bound %s = %s\n",
                tl_cli_format_log(a, found->log_value), row->bound->key,
                tl_cli_format_log(b, row->value.log_value));
        refuted = true;
    }
    return refuted;
}
