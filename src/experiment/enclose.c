/* Cells whose supremum over all inputs is enclosed: the group `exact`. */
#include <math.h>
#include <stdlib.h>

#include "experiment/modes.h"

tl_status tl_exact_read(tl_experiment *ex, const config_setting_t *at, tl_error *err)
{
    static const char *const keys[] = {"tolerance", "boxes"};
    const config_setting_t *tolerance;
    tl_status s;

    ex->exact.on = at != NULL;
    ex->exact.tolerance = 1e-6;
    ex->exact.boxes = 1000000;
    if (!at) return TL_OK;
    s = tl_config_keys(ex, at, keys, 2, err);
    if (s) return s;
    tolerance = config_setting_get_member(at, "tolerance");
    if (tolerance) s = tl_config_real(ex, tolerance, &ex->exact.tolerance, err);
    if (!s && !(ex->exact.tolerance > 0))
        s = tl_config_fail(ex, tolerance, err, TL_ERR_DOMAIN,
                           "expected a tolerance above 0, found %g", ex->exact.tolerance);
    if (!s) s = tl_config_count(ex, at, "boxes", 1, 1000000000000LL, &ex->exact.boxes, err);
    if (!s && ex->tokens)
        s = tl_config_fail(ex, at, err, TL_ERR_ARGUMENT, "exact and tokens exclude each other");
    if (!s && ex->norm != TL_NORM_2)
        s = tl_config_fail(ex, at, err, TL_ERR_UNSUPPORTED, "expected norm 2, found %s",
                           tl_norm_name(ex->norm));
    return s;
}

static tl_exact_problem problem_of(const tl_experiment *ex, const tl_cell *cell)
{
    return (tl_exact_problem){.layer = cell->attention.layer,
                              .n = (size_t)cell->n,
                              .radius = cell->domain->radius,
                              .tolerance = ex->exact.tolerance,
                              .boxes = ex->exact.boxes};
}

tl_status tl_exact_check(const tl_bindings *b, const tl_cell *cell, tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    const config_setting_t *at = config_setting_get_member(config_root_setting(&ex->tree), "exact");
    tl_exact_result result = {0};
    tl_error why = {0};
    tl_status s;

    if (cell->attention.worst_a || cell->n == 0)
        return tl_config_fail(ex, at, err, TL_ERR_UNSUPPORTED,
                              cell->n ? "expected a given A, found \"worst\""
                                      : "expected a finite n, found infinity");
    if (cell->domain->kind != TL_DOMAIN_SPACE &&
        (cell->domain->kind != TL_DOMAIN_BALL || cell->domain->centre))
        return tl_config_fail(ex, at, err, TL_ERR_UNSUPPORTED,
                              "expected a ball about the origin or the whole space");
    /* One box tells what the module refuses. */
    tl_exact_problem problem = problem_of(ex, cell);
    problem.boxes = 1;
    s = tl_exact_run(&problem, &result, &why);
    tl_exact_result_clear(&result);
    return s ? tl_config_fail(ex, at, err, s, "%s", why.text) : TL_OK;
}

tl_status tl_supremum_find(const tl_experiment *ex, const tl_cell *cell,
                           const tl_search_result *best, tl_supremum *out, tl_error *err)
{
    const size_t d = cell->attention.layer->d;
    tl_exact_problem problem = problem_of(ex, cell);
    double *start = best ? calloc(problem.n * d, sizeof *start) : NULL;
    tl_status s;

    *out = (tl_supremum){.searched = best != NULL};
    if (best && !start) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    if (best) {
        tl_measure_write_out(best->measure, start);
        problem.start = start;
        out->found = best->norm.value;
    }
    s = tl_exact_run(&problem, &out->result, err);
    free(start);
    if (!s) s = tl_measure_alloc(&out->measure, problem.n, d, out->result.x, NULL, NULL, err);
    if (!s && best) out->missed = out->result.lower > out->found * (1 + ex->exact.tolerance);
    if (s) tl_supremum_clear(out);
    return s;
}

void tl_supremum_clear(tl_supremum *supremum)
{
    tl_exact_result_clear(&supremum->result);
    tl_measure_free(supremum->measure);
    *supremum = (tl_supremum){0};
}

/* Seventeen digits are within half a step of the double, so they do not pass its neighbour. */
static json_t *decimal(double x, double towards)
{
    return json_sprintf("%.17g", nextafter(x, towards));
}

json_t *tl_supremum_json(const tl_supremum *s)
{
    const tl_exact_result *r = &s->result;

    return json_pack(
        "{s:f, s:f, s:o?, s:o?, s:f, s:f, s:b, s:I, s:I, s:o, s:s, s:I, s:o, s:o, s:o, "
        "s:s}",
        "lower", r->lower, "upper", r->upper, "lower_certified", decimal(r->lower, 0),
        "upper_certified", decimal(r->upper, (double)INFINITY), "lower_log10", log10(r->lower),
        "upper_log10", log10(r->upper), "finished", (int)r->finished, "boxes",
        (json_int_t)r->looked_at, "left", (json_int_t)r->left, "tokens",
        tl_json_rows(r->x, s->measure->m, s->measure->d), "coordinates", r->coordinates,
        "hull_boxes", (json_int_t)r->holding, "hull", tl_json_rows(r->hull, r->dim, 2), "search",
        s->searched ? json_real(s->found) : json_null(), "search_missed",
        s->searched ? json_boolean(s->missed) : json_null(), "search_place",
        tl_exact_place_name(r->place));
}
