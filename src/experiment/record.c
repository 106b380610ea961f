#include "experiment/modes.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/model_layer.h"
#include "experiment/witness.h"

json_t *tl_record_variables(const tl_experiment *ex, size_t cell)
{
    json_t *object = json_object();

    for (size_t i = 0; object && i < ex->variables; i++) {
        const tl_value *v = tl_experiment_value(ex, cell, i);
        json_t *value = v->kind == TL_VALUE_INTEGER ? json_integer(v->integer)
                        : v->kind == TL_VALUE_REAL  ? json_real(v->real)
                                                    : json_string(v->text);
        if (json_object_set_new(object, ex->variable[i].name, value)) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

char *tl_record_failure(const tl_experiment *ex, size_t cell, const char *why)
{
    json_t *record =
        json_pack("{s:I, s:o?, s:n, s:s, s:[], s:n, s:n, s:n, s:n, s:n, s:n, s:n}", "cell",
                  (json_int_t)cell, "variables", tl_record_variables(ex, cell), "lower", "why", why,
                  "bounds", "best_bound", "ratio_log10", "best_proven", "proven_ratio_log10",
                  "best_published", "published_ratio_log10", "witness");
    char *line = record ? tl_json_line(record) : NULL;

    json_decref(record);
    return line;
}

/* What is recorded of one evaluated point; direction is owned. */
typedef struct {
    const tl_layer *layer;
    const tl_measure *measure;
    tl_norm_result norm;
    double *direction;
} point;

static tl_status evaluate(const tl_experiment *ex, const tl_cell *cell, const tl_measure *mu,
                          point *p, tl_error *err)
{
    *p = (point){.layer = cell->attention.layer, .measure = mu};
    p->direction = calloc(mu->m * mu->d, sizeof *p->direction);
    if (!p->direction) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    if (cell->attention.network && ex->norm == TL_NORM_2)
        return tl_model_norm(p->layer, mu, p->direction, &p->norm, err);
    return tl_norm_compute(p->layer, p->measure, ex->norm, p->direction, &p->norm, err);
}

static double least_log_mass(const tl_measure *mu)
{
    double least = mu->log_mass[0];

    for (size_t k = 1; k < mu->m; k++) least = fmin(least, mu->log_mass[k]);
    return least;
}

static int set_values(json_t *object, const tl_norm_result *norm)
{
    int bad = tl_json_set_number(object, "value", exp(norm->log_value));

    bad = bad || tl_json_set_number(object, "log10", norm->log_value / TL_LN10);
    bad = bad || json_object_set_new(object, "certified", json_null());
    bad = bad || json_object_set_new(object, "certified_log10", json_null());
    bad = bad || json_object_set_new(object, "split", json_boolean(norm->split));
    bad = bad || tl_json_set_number(object, "joint_log10", norm->log_joint / TL_LN10);
    bad = bad || tl_json_set_number(object, "split_log10", norm->log_split / TL_LN10);
    bad = bad || tl_json_set_number(object, "residual", norm->residual);
    return bad || json_object_set_new(object, "converged", json_boolean(norm->converged));
}

static int set_search(json_t *object, const tl_search_result *best)
{
    int bad =
        json_object_set_new(object, "evaluations", json_integer((json_int_t)best->evaluations));

    bad = bad || json_object_set_new(object, "stop", json_string(tl_stop_name(best->stop)));
    bad = bad || json_object_set_new(object, "start", json_string(tl_start_name(best->start)));
    bad = bad || json_object_set_new(object, "restart", json_integer((json_int_t)best->restart));
    return bad || tl_json_set_number(object, "objective_log10", best->log_objective / TL_LN10);
}

static json_t *lower_json(const point *p, const tl_search_result *best)
{
    json_t *object = json_object();
    int bad = !object || set_values(object, &p->norm);

    bad = bad || (best && set_search(object, best));
    bad = bad || json_object_set_new(object, "atoms", json_integer((json_int_t)p->measure->m));
    bad = bad || tl_json_set_number(object, "min_mass_log10", least_log_mass(p->measure) / TL_LN10);
    if (!bad) return object;
    json_decref(object);
    return NULL;
}

static json_t *domain_json(const tl_domain *domain)
{
    /* The ball that holds the domain; kind space has none. */
    json_t *radius = isfinite(domain->radius) ? json_real(domain->radius) : json_null();

    return json_pack("{s:s, s:o, s:b}", "kind", tl_domain_name(domain->kind), "radius", radius,
                     "centred", domain->centre == NULL);
}

static json_t *n_json(const tl_measure *mu)
{
    return mu->n ? json_integer((json_int_t)mu->n) : json_string("inf");
}

/* For those who only read: the pointers stay with their owners. */
static tl_problem witness_of(const tl_experiment *ex, const tl_cell *cell, const point *p)
{
    return (tl_problem){.layer = (tl_layer *)(uintptr_t)p->layer,
                        .measure = (tl_measure *)(uintptr_t)p->measure,
                        .domain = cell->domain,
                        .has_norm = true,
                        .norm = ex->norm,
                        .direction = ex->norm == TL_NORM_2 ? p->direction : NULL,
                        .direction_kind = p->norm.split ? TL_DIRECTION_SPLIT : TL_DIRECTION_JOINT,
                        .has_value = true,
                        .value = exp(p->norm.log_value),
                        .log10_value = p->norm.log_value / TL_LN10};
}

/* Weights too many to repeat in every record are named; a search may have moved those that are
 * drawn for one layer alone. */
static bool by_reference(const tl_cell *cell)
{
    return cell->attention.reference && (!cell->searched || cell->attention.network);
}

static json_t *witness_json(const tl_experiment *ex, const tl_cell *cell, const point *p)
{
    const tl_problem problem = witness_of(ex, cell, p);

    return by_reference(cell) ? tl_witness_refer(&problem, ex, cell) : tl_problem_to_json(&problem);
}

static int set_given(json_t *record, const point *given)
{
    json_t *object = json_object();
    int bad = !object || set_values(object, &given->norm);

    bad = bad || json_object_set_new(object, "atoms", json_integer((json_int_t)given->measure->m));
    if (bad) {
        json_decref(object);
        return bad;
    }
    return json_object_set_new(record, "given", object);
}

static int set_best(json_t *record, const char *key, const char *ratio_key,
                    const tl_best_bound *best, double log_lower)
{
    double ratio = best->key ? (best->log_value - log_lower) / TL_LN10 : (double)NAN;

    return json_object_set_new(record, key, best->key ? json_string(best->key) : json_null()) ||
           tl_json_set_number(record, ratio_key, ratio);
}

int tl_record_set_bounds(json_t *record, const tl_bound_table *table, double log_found)
{
    int bad = json_object_set(record, "bounds", table->rows);

    bad = bad || set_best(record, "best_bound", "ratio_log10", &table->best, log_found);
    bad = bad || set_best(record, "best_proven", "proven_ratio_log10", &table->proven, log_found);
    bad = bad ||
          set_best(record, "best_published", "published_ratio_log10", &table->published, log_found);
    return bad || (table->violated && json_object_set_new(record, "violation", json_true()));
}

static json_t *record_json(const tl_experiment *ex, const tl_cell *cell,
                           const tl_search_result *best, const point *p, const point *given,
                           const tl_bound_table *table)
{
    json_t *record = json_object();
    int bad = !record;

    bad = bad || json_object_set_new(record, "cell", json_integer((json_int_t)cell->index));
    bad = bad || json_object_set_new(record, "variables", tl_record_variables(ex, cell->index));
    bad = bad || json_object_set_new(record, "n", n_json(p->measure));
    bad = bad || json_object_set_new(record, "norm", json_string(tl_norm_name(ex->norm)));
    bad = bad || json_object_set_new(record, "lower", lower_json(p, best));
    bad = bad || (given && set_given(record, given));
    bad = bad || tl_record_set_bounds(record, table, p->norm.log_value);
    bad = bad || json_object_set_new(record, "domain", domain_json(cell->domain));
    bad = bad || json_object_set_new(record, "witness", witness_json(ex, cell, p));
    if (!bad) return record;
    json_decref(record);
    return NULL;
}

static bool is_number(double x)
{
    return !isnan(x) && !(isinf(x) && x > 0);
}

/* What was found and the bounds, with proven errors. */
static int certify(json_t *record, const tl_experiment *ex, const tl_cell *cell, const point *p,
                   const point *given, const tl_bound_table *table)
{
    const tl_problem witness = witness_of(ex, cell, p);
    int bad = tl_certified_set_lower(json_object_get(record, "lower"), &witness);

    if (given) {
        const tl_problem at_tokens = witness_of(ex, cell, given);
        bad = bad || tl_certified_set_lower(json_object_get(record, "given"), &at_tokens);
    }
    if (by_reference(cell) && ex->bounds > 0)
        return bad ||
               json_object_set_new(record, "upper_certified_why",
                                   json_string("a wide layer at many tokens: they would cost "
                                               "more than all else in the cell"));
    return bad || tl_certified_set_bounds(record, ex, cell, &witness, table);
}

tl_status tl_record_make(const tl_experiment *ex, const tl_cell *cell, const tl_search_result *best,
                         char **out, double *certify_seconds, tl_error *err)
{
    point tokens = {0}, found = {0};
    tl_supremum supremum = {0};
    tl_measure *worst = NULL;
    const point *p = best ? &found : &tokens;
    tl_bound_table table = {0};
    json_t *record = NULL;
    tl_status s = TL_OK;

    if (cell->star) return tl_star_record(ex, cell, out, certify_seconds, err);
    if (best)
        found = (point){.layer = best->layer,
                        .measure = best->measure,
                        .norm = best->norm,
                        .direction = best->direction};
    s = tl_attack_worst(ex, cell, &worst, err);
    if (!s && cell->tokens) s = evaluate(ex, cell, worst ? worst : cell->tokens, &tokens, err);
    if (!s && ex->exact.on) s = tl_supremum_find(ex, cell, best, &supremum, err);
    /* The best witness is the maximiser where the search did not reach it. */
    if (!s && ex->exact.on && (!best || supremum.missed)) {
        s = evaluate(ex, cell, supremum.measure, &tokens, err);
        p = &tokens;
    }
    if (!s && !is_number(p->norm.log_value))
        s = tl_fail(err, TL_ERR_NUMERIC, "the norm came out as no number");
    if (!s) s = tl_bound_table_make(ex, cell, p->layer, p->measure, p->norm.log_value, &table, err);
    if (!s) {
        const point *given = best && cell->tokens ? &tokens : NULL;
        record = record_json(ex, cell, best, p, given, &table);
        if (record && tl_shows_tokens(ex->resolved) && tl_model_add(record, p->measure))
            s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
        if (record && !s) s = tl_compare_add(record, ex, p->layer, p->measure, err);
        if (record && !s) s = tl_invert_add(record, ex, cell, p->norm.log_value, err);
        if (record && !s) s = tl_attack_add(record, ex, cell, p->measure, err);
        const double began = omp_get_wtime();
        bool bad = record && ex->exact.on &&
                   json_object_set_new(record, "exact", tl_supremum_json(&supremum));
        bad = bad || (record && ex->certify && certify(record, ex, cell, p, given, &table));
        *certify_seconds = omp_get_wtime() - began;
        *out = record && !bad && !s ? tl_json_line(record) : NULL;
        if (!*out && !s) s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    }
    json_decref(record);
    tl_bound_table_clear(&table);
    tl_supremum_clear(&supremum);
    tl_measure_free(worst);
    free(tokens.direction);
    return s;
}
