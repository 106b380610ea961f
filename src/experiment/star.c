/* Cells of stars: L2 attention whose head width is free, where a layer and tokens would be larger
 * than any memory. */
#include "tightlip/star.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "experiment/modes.h"

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

/* Of the layer in the head's own coordinates: U = V A = I, so ||Q|| = k^(1/4). */
static tl_bound_query facts_of(const tl_star *star, tl_head_facts *head)
{
    const uint64_t k = star->n - star->centre + 1;

    *head = (tl_head_facts){.norm_a = 1,
                            .norm_v = 1,
                            .norm_ov = 1,
                            .norm_q = pow((double)k, 0.25) * (1 + 4 * DBL_EPSILON),
                            .width = (size_t)k};
    return (tl_bound_query){.kind = TL_KIND_L2,
                            .mask = TL_MASK_NONE,
                            .n = (double)star->n,
                            .d = (size_t)k,
                            .radius = (double)INFINITY,
                            .radius_origin = (double)INFINITY,
                            .heads = 1,
                            .head = head,
                            .norm_o = 1};
}

static json_t *lower_json(const tl_star *star, double norm)
{
    json_t *shape = json_pack("{s:I, s:I, s:f, s:f}", "centre", (json_int_t)star->centre, "outer",
                              (json_int_t)(star->n - star->centre), "a", star->a, "rho", star->rho);
    json_t *object = json_pack("{s:n, s:n, s:s, s:b, s:b, s:o?}", "certified", "certified_log10",
                               "certified_why", "a star: by the formula of its symmetric moves",
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
    static const char why[] = "no witness: a star is given by the four numbers in lower.star";
    json_t *record =
        json_pack("{s:I, s:o?, s:I, s:s, s:o?}", "cell", (json_int_t)cell->index, "variables",
                  tl_record_variables(ex, cell->index), "n", (json_int_t)star->n, "norm",
                  tl_norm_name(ex->norm), "lower", lower_json(star, norm));

    if (record && (tl_record_set_bounds(record, table, log(norm)) ||
                   json_object_set_new(
                       record, "domain",
                       json_pack("{s:s, s:n, s:b}", "kind", "space", "radius", "centred", 1)) ||
                   json_object_set_new(record, "witness", json_null()) ||
                   json_object_set_new(record, "why", json_string(why)) ||
                   json_object_set_new(record, "upper_certified_why", json_string(why)))) {
        json_decref(record);
        return NULL;
    }
    return record;
}

tl_status tl_star_record(const tl_experiment *ex, const tl_cell *cell, char **out, tl_error *err)
{
    tl_head_facts head;
    tl_star star;
    double norm = 0;
    tl_bound_table table = {0};
    tl_status s = tl_star_find(cell->n, &star, &norm);

    if (s) return tl_fail(err, s, "star: %s", tl_status_text(s));
    const tl_bound_query query = facts_of(&star, &head);
    s = tl_bound_table_of(ex, cell, &query, log(norm), &table, err);
    if (s) return s;
    json_t *record = record_json(ex, cell, &star, norm, &table);
    *out = record ? tl_json_line(record) : NULL;
    json_decref(record);
    tl_bound_table_clear(&table);
    return *out ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");
}
