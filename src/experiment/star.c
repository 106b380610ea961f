/* Cells of stars: L2 attention whose head width is free, where a layer and tokens would be larger
 * than any memory. */
#include "tightlip/star.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/modes.h"
#include "tightlip/certify.h"

bool tl_star_wanted(const tl_bindings *b)
{
    return config_setting_is_group(b->attention) &&
           config_setting_get_member(b->attention, "star") != NULL;
}

tl_status tl_star_check(const tl_bindings *b, tl_cell *cell, tl_error *err)
{
    static const char *const keys[] = {"name", "kind", "star"};
    const tl_experiment *ex = b->experiment;
    const config_setting_t *kind, *star = config_setting_get_member(b->attention, "star");
    const char *word = "";
    bool on = false;
    tl_status s = tl_config_keys(ex, b->attention, keys, 3, err);

    if (!s) s = tl_config_require(ex, b->attention, "kind", &kind, err);
    if (!s) s = tl_config_text(ex, kind, &word, err);
    if (!s) s = tl_config_boolean(ex, star, &on, err);
    if (s) return s;
    if (!on || strcmp(word, "l2") != 0)
        return tl_config_fail(ex, star, err, TL_ERR_ARGUMENT,
                              "star: expected kind = \"l2\" and star = true");
    if (ex->norm != TL_NORM_2 || ex->tokens || ex->exact.on || ex->invert.on || ex->attack.on ||
        ex->compared || ex->warm)
        return tl_config_fail(ex, star, err, TL_ERR_UNSUPPORTED,
                              "star: expected norm 2 and neither tokens, exact, invert, attack, "
                              "compare nor warm starts");
    return tl_domain_alloc_space(&cell->domain, 1, 1, err);
}

static tl_certified_star exactly(const tl_star *star, double norm)
{
    return (tl_certified_star){.n = star->n,
                               .centre = star->centre,
                               .a = star->a,
                               .rho = star->rho,
                               .has_value = true,
                               .value = norm};
}

static json_t *lower_json(const tl_star *star, double norm)
{
    json_t *shape = json_pack("{s:I, s:I, s:f, s:f}", "centre", (json_int_t)star->centre, "outer",
                              (json_int_t)(star->n - star->centre), "a", star->a, "rho", star->rho);
    json_t *object = json_pack("{s:n, s:n, s:b, s:b, s:o?}", "certified", "certified_log10",
                               "split", 0, "converged", 1, "star", shape);

    if (object && (tl_json_set_number(object, "value", norm) ||
                   tl_json_set_number(object, "log10", log10(norm)))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *record_json(const tl_experiment *ex, const tl_cell *cell, const tl_star *star,
                           double norm, const tl_bound_table *table)
{
    const tl_certified_star witness = exactly(star, norm);
    json_t *record =
        json_pack("{s:I, s:o?, s:I, s:s, s:o?}", "cell", (json_int_t)cell->index, "variables",
                  tl_record_variables(ex, cell->index), "n", (json_int_t)star->n, "norm",
                  tl_norm_name(ex->norm), "lower", lower_json(star, norm));

    if (record && (tl_record_set_bounds(record, table, log(norm)) ||
                   json_object_set_new(
                       record, "domain",
                       json_pack("{s:s, s:n, s:b}", "kind", "space", "radius", "centred", 1)) ||
                   json_object_set_new(record, "witness", tl_certified_star_write(&witness)))) {
        json_decref(record);
        return NULL;
    }
    return record;
}

/* The star and the bounds in ball arithmetic, into its record. */
static tl_status certify(json_t *record, const tl_experiment *ex, const tl_star *star, double norm,
                         const tl_bound_table *table, tl_error *err)
{
    const tl_certified_star witness = exactly(star, norm);
    json_t *found = json_object_get(record, "lower"), *rows = json_object_get(record, "bounds");
    tl_certified *upper = calloc(ex->bounds + 1, sizeof *upper), lower = {.value = 0};
    tl_status s = upper ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");

    if (!s) s = tl_certify_star_lower(&witness, &lower, err);
    if (!s) s = tl_certify_star_upper(&witness, ex->bounds, ex->bound, table->value, upper, err);
    if (!s && (json_object_set_new(found, "certified", json_string(lower.text)) ||
               tl_json_set_number(found, "certified_log10", lower.log10)))
        s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; !s && i < ex->bounds; i++)
        if (table->value[i].applicable && ex->bound[i]->provenance != TL_PROVENANCE_CONJECTURE &&
            json_object_set_new(json_array_get(rows, i), "upper_certified",
                                json_string(upper[i].text)))
            s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    free(upper);
    return s;
}

tl_status tl_star_record(const tl_experiment *ex, const tl_cell *cell, char **out,
                         double *certify_seconds, tl_error *err)
{
    tl_head_facts head;
    tl_bound_query query;
    tl_star star;
    double norm = 0;
    tl_bound_table table = {0};
    tl_status s = tl_star_find(cell->n, &star, &norm);

    if (s) return tl_fail(err, s, "star: %s", tl_status_text(s));
    tl_bound_query_identity(&query, &head, star.n, star.n - star.centre + 1);
    s = tl_bound_table_of(ex, cell, &query, log(norm), &table, err);
    if (s) return s;
    json_t *record = record_json(ex, cell, &star, norm, &table);
    const double began = omp_get_wtime();
    if (record && ex->certify) s = certify(record, ex, &star, norm, &table, err);
    *certify_seconds = omp_get_wtime() - began;
    *out = record && !s ? tl_json_line(record) : NULL;
    json_decref(record);
    tl_bound_table_clear(&table);
    if (s) return s;
    return *out ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");
}
