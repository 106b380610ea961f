/* The bounds of a record, computed again in double precision. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_math.h>

#include "cli/cli.h"
#include "cli/verify.h"

typedef struct {
    const json_t *record, *conjectures;
    const tl_problem *problem; /* NULL: of a star */
    tl_cli_asked asked;
} setting;

/* A bound that is a search in doubles may end a little elsewhere in balls: asked for only then. */
static tl_status check_certified(const setting *s, const json_t *row, const tl_bound *bound,
                                 const tl_bound_value *value, tl_cli_findings *out, tl_error *err)
{
    const json_t *found = json_object_get(row, "upper_certified");
    double expected = value->log_value / M_LN10;
    tl_certified upper;
    char where[100];

    if (!value->applicable || !json_is_string(found)) return TL_OK;
    if (s->problem && !tl_cli_record_agrees(found, false, expected)) {
        tl_problem asked = *s->problem;
        asked.domain = s->asked.domain;
        const tl_status status = tl_certify_upper(&asked, 1, &bound, value, &upper, err);
        if (status != TL_OK) return status;
        expected = upper.log10;
    }
    (void)snprintf(where, sizeof where, "bound %s", bound->key);
    tl_cli_record_check_number(row, where, "upper_certified", false, expected, out);
    return TL_OK;
}

static tl_status check_row(const setting *s, const json_t *row, tl_cli_findings *out, tl_error *err)
{
    const char *key = json_string_value(json_object_get(row, "key"));
    const char *provenance = json_string_value(json_object_get(row, "provenance"));
    const tl_bound *bound = key ? tl_bound_find(key) : NULL;
    tl_bound_value value = {.applicable = false};

    if (provenance && strcmp(provenance, tl_provenance_name(TL_PROVENANCE_CONJECTURE)) == 0)
        return tl_cli_record_check_conjecture(s->record, row, s->conjectures, &s->asked, out, err);
    if (!bound) {
        tl_cli_findings_note(out, "bound", "key", "one of tightlip list bounds",
                             json_object_get(row, "key"));
        return TL_OK;
    }
    if (s->asked.a == CLI_A_UNKNOWN && !tl_bound_is_about_one_input(bound)) {
        out->skipped++;
        return TL_OK;
    }
    const tl_bound_query asked =
        tl_bound_query_about(s->asked.query, bound, s->asked.domain, s->asked.a == CLI_A_SEARCHED);
    const tl_status status = tl_bound_evaluate(bound, &asked, &value, err);
    if (status != TL_OK) return status;
    tl_cli_record_check_bound(row, key, &value, out);
    return check_certified(s, row, bound, &value, out, err);
}

static tl_status check_bounds(const setting *s, tl_cli_findings *out, tl_error *err)
{
    const json_t *rows = json_object_get(s->record, "bounds");
    tl_status status = TL_OK;

    for (size_t i = 0; i < json_array_size(rows) && status == TL_OK; i++)
        status = check_row(s, json_array_get(rows, i), out, err);
    if (status == TL_OK) tl_cli_record_check_ratios(s->record, out);
    return status;
}

/* That of the witness, or the ball around its tokens where the record is about that one; *own is
 * the caller's to free. NULL: not known. */
static tl_domain *domain_of(const json_t *record, const tl_problem *problem, tl_domain **own)
{
    const json_t *domain = json_object_get(record, "domain");
    const char *kind = json_string_value(json_object_get(domain, "kind"));
    const double radius = json_number_value(json_object_get(domain, "radius"));
    const tl_measure *mu = problem->measure;

    if (problem->domain) return problem->domain;
    if (!kind || strcmp(kind, tl_domain_name(TL_DOMAIN_BALL)) != 0 ||
        tl_domain_alloc_enclosing(own, mu->m, mu->d, mu->x, NULL) != TL_OK)
        return NULL;
    return fabs((*own)->radius - radius) <= 4 * DBL_EPSILON * radius ? *own : NULL;
}

tl_status tl_cli_record_check_bounds(const json_t *record, const tl_problem *problem, tl_cli_a a,
                                     const json_t *conjectures, tl_cli_findings *out, tl_error *err)
{
    const size_t rows = json_array_size(json_object_get(record, "bounds"));
    const tl_layer *layer = problem->layer;
    tl_head_facts *head = calloc(layer->heads, sizeof *head);
    tl_bound_query query;
    tl_domain *own = NULL;
    tl_status status = head ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");

    if (status == TL_OK && rows > 0) {
        tl_domain *domain = domain_of(record, problem, &own);
        const setting s = {.record = record,
                           .conjectures = conjectures,
                           .problem = problem,
                           .asked = {.query = &query, .domain = domain, .a = a}};
        if (domain &&
            tl_bound_query_domain(&query, head, layer, problem->measure, domain, NULL) == TL_OK)
            status = check_bounds(&s, out, err);
        else
            out->skipped += rows;
    }
    tl_domain_free(own);
    free(head);
    return status;
}

tl_status tl_cli_record_check_star(const json_t *record, const tl_certified_star *star,
                                   const json_t *conjectures, tl_cli_findings *out, tl_error *err)
{
    tl_head_facts head;
    tl_bound_query query;
    const setting s = {.record = record, .conjectures = conjectures, .asked = {.query = &query}};
    const json_t *shape = json_object_get(json_object_get(record, "lower"), "star");

    tl_cli_record_check_near(shape, "star", "centre", (double)star->centre, 0, out);
    tl_cli_record_check_near(shape, "star", "outer", (double)(star->n - star->centre), 0, out);
    tl_cli_record_check_near(shape, "star", "a", star->a, 0, out);
    tl_cli_record_check_near(shape, "star", "rho", star->rho, 0, out);
    tl_bound_query_identity(&query, &head, star->n, star->n - star->centre + 1);
    return check_bounds(&s, out, err);
}
