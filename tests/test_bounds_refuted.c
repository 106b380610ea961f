/* Formulas in circulation that are false: both sides recomputed from the witness files. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/bound_query.h"
#include "support/other_kinds.h"
#include "tightlip/linalg.h"
#include "tightlip/problem.h"

typedef struct {
    tl_problem problem;
    double norm;      /* ||J|| by full SVD */
    double direction; /* |J v| / |v| at the direction of the file */
} witness;

static witness load(const char *name)
{
    witness w;
    char path[128];
    tl_error err = {.text = ""};
    const kind_constants none = {0};

    (void)snprintf(path, sizeof path, "experiments/refuted/%s.json", name);
    cr_assert_eq(tl_problem_read(path, &w.problem, &err), TL_OK, "%s", err.text);
    const tl_layer *layer = w.problem.layer;
    const tl_measure *mu = w.problem.measure;
    const size_t rows = mu->m * layer->out, cols = mu->m * layer->d;
    double *J = malloc((rows * cols + rows) * sizeof *J);
    cr_assert(J && kind_jacobian(layer, &none, mu->m, mu->x, J));
    cr_assert_eq(tl_norm2_dense(rows, cols, J, &w.norm), TL_OK);
    cr_assert(w.problem.has_value && w.problem.direction);
    double *image = J + rows * cols;
    for (size_t i = 0; i < rows; i++) image[i] = tl_dot(cols, J + i * cols, w.problem.direction);
    w.direction = tl_nrm2(rows, image) / tl_nrm2(cols, w.problem.direction);
    free(J);
    cr_expect_float_eq(w.problem.value, w.norm, 1e-12 * w.norm, "%s: the claimed value", name);
    cr_expect_float_eq(w.direction, w.norm, 1e-12 * w.norm, "%s: the direction", name);
    return w;
}

/* Value of a bound at the witness, on the ball of the file. */
static double bound_at(const witness *w, const char *key)
{
    tl_head_facts head;
    tl_bound_query query;

    cr_assert_eq(tl_bound_query_init(&query, &head, w->problem.layer, w->problem.measure, NULL,
                                     w->problem.domain->radius, NULL),
                 TL_OK);
    return exp(log_bound(key, &query));
}

Test(bounds_refuted, lipschitz_normalisation)
{
    witness w = load("lipschitznorm");

    cr_expect_float_eq(bound_at(&w, "lipschitznorm"), 1, 1e-12);
    cr_expect_float_eq(w.norm, 5.19, 0.005);
    cr_expect_eq(tl_bound_find("lipschitznorm")->provenance, TL_PROVENANCE_REFUTED);
    cr_expect(bound_at(&w, "sharp") >= w.norm);
    tl_problem_clear(&w.problem);
}

Test(bounds_refuted, released_helper)
{
    witness w = load("released-helper");

    cr_expect_float_eq(bound_at(&w, "released-helper"), sqrt(2), 1e-12);
    cr_expect_float_eq(w.norm, 5.193, 5e-4);
    cr_expect_eq(tl_bound_find("released-helper")->provenance, TL_PROVENANCE_REFUTED);
    cr_expect(bound_at(&w, "sharp") >= w.norm);
    /* By hand where it does not vanish: n = 3, |A x| = 2, diameter 3: sqrt(4 * 9 * 4 + 3). */
    const double A = 1, V = 2, x[3] = {2, -1, 0};
    tl_head_facts head;
    tl_bound_query query;
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;
    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &A, &V), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 3, 1, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_bound_query_init(&query, &head, layer, mu, NULL, 2, NULL), TL_OK);
    cr_expect_float_eq(exp(log_bound("released-helper", &query)), 2 * sqrt(147), 1e-10);
    /* Logits up to 4: e^4 + 4 sqrt 8. */
    cr_expect_float_eq(exp(log_bound("lipschitznorm", &query)), 2 * (exp(4) + 4 * sqrt(8)), 1e-10);
    tl_measure_free(mu);
    tl_layer_free(layer);
    tl_problem_clear(&w.problem);
}

Test(bounds_refuted, mean_field_constant_under_a_mask)
{
    witness w = load("masked-mean-field");

    /* The bound itself refuses; without the mask, which A = 0 does not see, it says 1. */
    cr_expect(isnan(bound_at(&w, "castin-mean-field")));
    cr_expect_float_eq(w.norm, 1.1441, 1e-4);
    cr_expect(bound_at(&w, "causal-sharp") >= w.norm);
    cr_expect_float_eq(bound_at(&w, "causal-sharp"), w.norm, 1e-4);
    w.problem.layer->mask = TL_MASK_NONE;
    cr_expect_float_eq(bound_at(&w, "castin-mean-field"), 1, 1e-12);
    tl_problem_clear(&w.problem);
}

Test(bounds_refuted, printed_l2_bound)
{
    witness w = load("kim-2-printed");

    cr_expect_float_eq(bound_at(&w, "kim-2-printed"), 5.979, 5e-4);
    cr_expect_float_eq(w.norm, 6.4066, 5e-5);
    cr_expect_eq(tl_bound_find("kim-2-printed")->provenance, TL_PROVENANCE_REFUTED);
    cr_expect(bound_at(&w, "kim-2") >= w.norm);
    cr_expect_float_eq(bound_at(&w, "l2-2"), w.norm, 1e-8);
    tl_problem_clear(&w.problem);
}
