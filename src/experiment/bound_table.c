#include "experiment/internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Facts for a searched A hold for every A of that norm, not only for the one found. */
static void widen_to_worst(tl_bound_query *query, tl_head_facts *head, const tl_cell *cell)
{
    double norm = cell->attention.norm_a * (1 + 4 * DBL_EPSILON);

    if (!cell->attention.worst_a) return;
    if (head->norm_a < norm) head->norm_a = norm;
    if (head->rho < norm * query->radius_origin) head->rho = norm * query->radius_origin;
}

/* Relative rounding error of a computed norm, as an absolute error of its logarithm: N eps from the
 * singular value of an N x N block, and the exponentials, whose arguments (logits up to rho R) and
 * logarithms are rounded once each. */
static double rounding(const tl_bound_query *query, const tl_measure *mu, double log_lower,
                       double log_bound)
{
    const tl_layer *layer = query->layer;
    double size =
        layer ? (double)mu->m * (double)(layer->d > layer->out ? layer->d : layer->out) : 8;
    double logits = 0;

    for (size_t h = 0; layer && h < query->heads; h++)
        logits = fmax(logits, query->head[h].rho * query->radius_origin);
    return 8 * DBL_EPSILON * (size + 4 * logits + fabs(log_lower) + fabs(log_bound) + 4);
}

static json_t *bound_row(const tl_bound *bound, const tl_bound_value *value, bool comparable,
                         bool violated)
{
    json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "key", bound->key, "norm",
                            tl_norm_name(bound->norm), "scope", tl_scope_name(bound->scope),
                            "provenance", tl_provenance_name(bound->provenance), "comparable",
                            comparable, "applicable", value->applicable);
    double log_value = value->applicable ? value->log_value : (double)NAN;
    /* A conjecture that falls is a result, not a violation. */
    const bool refuted = violated && bound->provenance == TL_PROVENANCE_CONJECTURE;
    const char *why = refuted             ? "refuted by the found value"
                      : value->applicable ? NULL
                                          : value->why;
    int bad = !row;

    bad = bad || tl_json_set_number(row, "log10", log_value / TL_LN10);
    bad = bad || tl_json_set_number(row, "value", exp(log_value));
    bad = bad || json_object_set_new(row, "why", why ? json_string(why) : json_null());
    bad = bad || json_object_set_new(row, "upper_certified", json_null());
    if (violated)
        bad = bad || json_object_set_new(row, refuted ? "refuted" : "violation", json_true());
    if (!bad) return row;
    json_decref(row);
    return NULL;
}

/* A bound about one input closes no search over inputs. */
static bool closes(const tl_experiment *ex, const tl_bound *bound, const tl_cell *cell)
{
    return bound->provenance != TL_PROVENANCE_REFUTED &&
           bound->provenance != TL_PROVENANCE_CONJECTURE &&
           (!(cell->searched || ex->exact.on) || !tl_bound_is_about_one_input(bound) ||
            (bound->whole_ball && cell->domain->around && !cell->attention.worst_a));
}

static void keep_least(tl_best_bound *best, const tl_bound *bound, double log_value)
{
    if (best->key && !(log_value < best->log_value)) return;
    *best = (tl_best_bound){.key = bound->key, .log_value = log_value};
}

static void keep_best(tl_bound_table *out, const tl_bound *bound, double log_value)
{
    keep_least(&out->best, bound, log_value);
    if (bound->provenance == TL_PROVENANCE_PROVEN) keep_least(&out->proven, bound, log_value);
    if (bound->provenance == TL_PROVENANCE_PUBLISHED) keep_least(&out->published, bound, log_value);
}

static tl_status add_row(const tl_experiment *ex, const tl_bound *bound, const tl_cell *cell,
                         const tl_bound_query *query, double log_lower, tl_bound_table *out,
                         tl_error *err)
{
    const tl_bound_query asked =
        tl_bound_query_about(query, bound, cell->domain, cell->attention.worst_a);
    tl_bound_value value = {0};
    tl_status s;
    bool comparable = bound->norm == ex->norm, violated;
    const bool conjecture = bound->provenance == TL_PROVENANCE_CONJECTURE;

    if (conjecture) {
        s = tl_conjecture_value(bound, &asked, &value, err);
        if (s) return s;
    } else {
        s = tl_bound_evaluate(bound, &asked, &value, err);
        if (s) return s;
    }
    violated =
        value.applicable && comparable && bound->provenance != TL_PROVENANCE_REFUTED &&
        log_lower > value.log_value + rounding(query, query->measure, log_lower,
                                               isfinite(value.log_value) ? value.log_value : 0);
    out->value[json_array_size(out->rows)] = value;
    if (violated && !conjecture) out->violated = true;
    if (value.applicable && comparable && closes(ex, bound, cell))
        keep_best(out, bound, value.log_value);
    if (json_array_append_new(out->rows, bound_row(bound, &value, comparable, violated)))
        return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    return TL_OK;
}

tl_status tl_bound_table_of(const tl_experiment *ex, const tl_cell *cell,
                            const tl_bound_query *query, double log_lower, tl_bound_table *out,
                            tl_error *err)
{
    tl_status s = TL_OK;

    *out =
        (tl_bound_table){.rows = json_array(), .value = calloc(ex->bounds + 1, sizeof *out->value)};
    if (!out->rows || !out->value) s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; !s && i < ex->bounds; i++)
        s = add_row(ex, ex->bound[i], cell, query, log_lower, out, err);
    if (s) tl_bound_table_clear(out);
    return s;
}

tl_status tl_bound_table_make(const tl_experiment *ex, const tl_cell *cell, const tl_layer *layer,
                              const tl_measure *mu, double log_lower, tl_bound_table *out,
                              tl_error *err)
{
    tl_head_facts *head = calloc(layer->heads, sizeof *head);
    tl_bound_query query = {.heads = 0};
    tl_status s = head ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");

    *out = (tl_bound_table){0};
    /* Norms of wide matrices are not free. */
    if (!s && ex->bounds > 0) {
        s = tl_bound_query_domain(&query, head, layer, mu, cell->domain, err);
        if (!s) widen_to_worst(&query, head, cell);
    }
    if (!s) s = tl_bound_table_of(ex, cell, &query, log_lower, out, err);
    if (!s) out->norm_a = head->norm_a;
    free(head);
    return s;
}

void tl_bound_table_clear(tl_bound_table *table)
{
    json_decref(table->rows);
    free(table->value);
    *table = (tl_bound_table){0};
}
