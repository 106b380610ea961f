/* Certificates of a cell: found values and bounds with proven errors, into its record. */
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "tightlip/certify.h"

int tl_certified_set_lower(json_t *value, const tl_problem *witness)
{
    tl_certified_lower lower;
    tl_error why = {0};
    const tl_status s = tl_certify_lower(witness, &lower, &why);

    if (s == TL_ERR_MEMORY) return 1;
    if (s) return json_object_set_new(value, "certified_why", json_string(why.text));
    return json_object_set_new(value, "certified", json_string(lower.lower.text)) ||
           tl_json_set_number(value, "certified_log10", lower.lower.log10);
}

/* Bounds for a searched A know only its norm: they are those of this layer, whose A is a multiple
 * of the identity of at least that norm. */
static tl_status worst_layer(const tl_layer *found, double norm_a, tl_layer **out, tl_error *err)
{
    const size_t d = found->d;
    const tl_status s = tl_layer_copy(out, found);

    if (s) return tl_fail(err, s, "out of memory");
    memset((*out)->head[0].Q, 0, d * d * sizeof(double));
    for (size_t i = 0; i < d; i++) (*out)->head[0].Q[i * (d + 1)] = norm_a;
    return TL_OK;
}

/* Bounds that look at the tokens (local) or the others, of `problem`. */
static tl_status add_uppers(const tl_experiment *ex, const tl_problem *problem,
                            const tl_bound_table *table, bool local, bool all, json_t *rows,
                            tl_error *err)
{
    tl_bound_value *value = calloc(ex->bounds + 1, sizeof *value);
    tl_certified *upper = calloc(ex->bounds + 1, sizeof *upper);
    tl_status s = value && upper ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");
    bool any = false;

    for (size_t i = 0; !s && i < ex->bounds; i++) {
        /* A conjecture is no theorem, whatever its value. */
        if (ex->bound[i]->provenance == TL_PROVENANCE_CONJECTURE ||
            !(all || tl_bound_is_about_one_input(ex->bound[i]) == local))
            continue;
        value[i] = table->value[i];
        any = any || value[i].applicable;
    }
    if (!s && any) s = tl_certify_upper(problem, ex->bounds, ex->bound, value, upper, err);
    for (size_t i = 0; !s && i < ex->bounds; i++)
        if (value[i].applicable && json_object_set_new(json_array_get(rows, i), "upper_certified",
                                                       json_string(upper[i].text)))
            s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    free(value);
    free(upper);
    return s;
}

int tl_certified_set_bounds(json_t *record, const tl_experiment *ex, const tl_cell *cell,
                            const tl_problem *witness, const tl_bound_table *table)
{
    json_t *rows = json_object_get(record, "bounds");
    const bool worst = cell->attention.worst_a;
    tl_problem asked = *witness;
    tl_layer *layer = NULL;
    tl_error why = {0};
    tl_status s = TL_OK;

    if (worst) {
        s = worst_layer(witness->layer, table->norm_a, &layer, &why);
        asked.layer = layer;
        if (!s) s = add_uppers(ex, &asked, table, false, false, rows, &why);
        asked.layer = witness->layer;
    }
    if (!s) s = add_uppers(ex, &asked, table, true, !worst, rows, &why);
    tl_layer_free(layer);
    if (s == TL_ERR_MEMORY) return 1;
    return s ? json_object_set_new(record, "upper_certified_why", json_string(why.text)) : 0;
}
