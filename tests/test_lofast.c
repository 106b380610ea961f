#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "bounds/frobenius.h"
#include "support/sine_layer.h"
#include "tightlip/linalg.h"

static tl_bound_query query_at(tl_head_facts *head, const tl_layer *layer, const tl_measure *mu)
{
    tl_bound_query query;
    double radius = 0;

    for (size_t k = 0; k < mu->m; k++) radius = fmax(radius, tl_nrm2(mu->d, mu->x + k * mu->d));
    cr_assert_eq(tl_bound_query_init(&query, head, layer, mu, NULL, radius, NULL), TL_OK);
    return query;
}

Test(lofast, a_curve_is_the_bound_at_every_epsilon)
{
    const double A[] = {1, 0, 0.5, -1}, V[] = {1, 2}, x[] = {0.1, 0.2, -0.4, 1};
    const double log_mass[] = {-0.5, log(-expm1(-0.5))};
    tl_head_facts fact[2];
    tl_lofast_head change[2];
    tl_lofast_curve curve = {.head = change};
    tl_layer *layer = sine_layer(), *narrow;
    tl_measure *mu = sine_tokens(), *few, *mean_field;
    tl_error err = {0};

    tl_bound_query query = query_at(fact, layer, mu);
    cr_assert_eq(tl_lofast_curve_at(&curve, &query, true, &err), TL_OK, "%s", err.text);
    cr_expect_eq(tl_lofast_delta(&curve, 0), 0);
    for (double e = 1e-3, last = 0; e < 50; e *= 2) {
        tl_lofast result;
        query.epsilon = e;
        cr_assert_eq(tl_bounds_lofast(&query, TL_LOFAST, true, &result), TL_OK);
        cr_expect_eq(tl_lofast_delta(&curve, e), result.delta);
        cr_expect_eq(tl_lofast_ratio(&curve, e), result.ratio);
        cr_expect(result.delta > last);
        last = result.delta;
    }
    cr_assert_eq(tl_layer_alloc_av(&narrow, 2, 1, A, V), TL_OK);
    cr_assert_eq(tl_measure_alloc(&few, 2, 2, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mean_field, 2, 2, x, NULL, log_mass, NULL), TL_OK);
    query = query_at(fact, narrow, few);
    cr_expect_eq(tl_lofast_curve_at(&curve, &query, false, &err), TL_OK);
    cr_expect_eq(tl_lofast_curve_at(&curve, &query, true, &err), TL_ERR_SHAPE);
    cr_expect(strstr(err.text, "expected an output of width 2, found 1"), "%s", err.text);
    query = query_at(fact, narrow, mean_field);
    cr_expect_eq(tl_lofast_curve_at(&curve, &query, false, &err), TL_ERR_UNSUPPORTED);
    query.measure = NULL;
    cr_expect_eq(tl_lofast_curve_at(&curve, &query, false, &err), TL_ERR_UNSUPPORTED);
    /* A caller that goes from one input to the next sets the measure alone. */
    query = query_at(fact, narrow, few);
    query.measure = mu;
    cr_expect_eq(tl_lofast_curve_at(&curve, &query, false, &err), TL_ERR_SHAPE);
    cr_expect(strstr(err.text, "tokens of width 2"), "%s", err.text);
    tl_measure_free(few);
    tl_measure_free(mean_field);
    tl_layer_free(narrow);
    tl_measure_free(mu);
    tl_layer_free(layer);
}
