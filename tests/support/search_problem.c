#include "support/search_problem.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tightlip/bounds.h"

static void mask_layer(tl_layer *layer, tl_mask mask, size_t n)
{
    layer->mask = mask;
    if (mask == TL_MASK_GENERAL) cr_assert_eq(tl_layer_mask_self(layer, n, NULL), TL_OK);
}

search_fixture search_fixture_make(tl_kind kind, tl_mask mask, size_t d, double a, double R,
                                   uint64_t n, size_t atoms)
{
    search_fixture f = {0};
    double *A = calloc(2 * d * d, sizeof *A), *V = A + d * d;
    for (size_t i = 0; i < d; i++) {
        A[i * (d + 1)] = kind == TL_KIND_L2 ? sqrt(fabs(a)) : a;
        V[i * (d + 1)] = 1;
    }
    const tl_head head = {.k = d, .v = d, .Q = A, .V = V, .scale = 1};
    cr_assert_eq(tl_layer_alloc(&f.layer, kind, TL_MASK_NONE, d, 1, &head, NULL, 0, NULL), TL_OK);
    cr_assert_eq(tl_domain_alloc_ball(&f.domain, d, R, NULL, NULL), TL_OK);
    free(A);
    if (kind == TL_KIND_SIGMOID) f.layer->bias = -log((double)n);
    mask_layer(f.layer, mask, (size_t)n);
    f.problem = (tl_search_problem){.layer = f.layer,
                                    .norm_a = fabs(a),
                                    .domain = f.domain,
                                    .n = n,
                                    .atoms = mask == TL_MASK_NONE ? atoms : (size_t)n,
                                    .log_mass_ratio = (double)NAN,
                                    .norm = TL_NORM_2};
    tl_search_defaults(&f.settings);
    return f;
}

void search_fixture_clear(search_fixture *f)
{
    tl_layer_free(f->layer);
    tl_domain_free(f->domain);
}

tl_search_result search_fixture_run(search_fixture *f)
{
    tl_search_result found;
    tl_error err = {0};
    cr_assert_eq(tl_search_run(&f->problem, &f->settings, &found, &err), TL_OK, "%s", err.text);
    return found;
}

size_t search_fixture_check(const search_fixture *f, const tl_search_result *found)
{
    tl_head_facts head;
    tl_bound_query query;
    tl_error err = {0};
    size_t checked = 0;
    cr_expect_eq(tl_domain_check(f->domain, found->measure, &err), TL_OK, "%s", err.text);
    cr_assert_eq(
        tl_bound_query_domain(&query, &head, found->layer, found->measure, f->domain, &err), TL_OK,
        "%s", err.text);
    if (f->problem.worst_a && head.norm_a < f->problem.norm_a) head.norm_a = f->problem.norm_a;
    for (size_t i = 0; i < tl_bound_count(); i++) {
        const tl_bound *bound = tl_bound_at(i);
        tl_bound_value value = {0};
        if (bound->norm != f->problem.norm || bound->provenance == TL_PROVENANCE_REFUTED) continue;
        cr_assert_eq(tl_bound_evaluate(bound, &query, &value, NULL), TL_OK);
        if (!value.applicable) continue;
        cr_expect_leq(found->norm.log_value, value.log_value + 1e-12,
                      "%s mask %s: %.15g above bound %s, %.15g", tl_kind_name(f->layer->kind),
                      tl_mask_name(f->layer->mask), exp(found->norm.log_value), bound->key,
                      exp(value.log_value));
        checked++;
    }
    return checked;
}
