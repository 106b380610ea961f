/* A search on every kind of domain: its witness lies in the domain, survives a file and is
 * certified. */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "support/draws.h"
#include "support/exact_domain.h"
#include "tightlip/bounds.h"
#include "tightlip/certify.h"
#include "tightlip/problem.h"
#include "tightlip/rng.h"
#include "tightlip/search.h"

enum { WIDTH = 4 };

static const tl_domain_kind kinds[] = {TL_DOMAIN_BALL, TL_DOMAIN_SPHERE,    TL_DOMAIN_LAYER_NORM,
                                       TL_DOMAIN_BOX,  TL_DOMAIN_FROBENIUS, TL_DOMAIN_RMS_NORM};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static tl_layer *random_layer(gsl_rng *rng, const tl_domain *domain)
{
    double A[WIDTH * WIDTH], V[WIDTH * WIDTH];
    const double g = 2 / (domain->radius_origin * domain->radius_origin);
    tl_layer *layer = NULL;

    for (size_t i = 0; i < WIDTH * WIDTH; i++) {
        A[i] = g * gsl_ran_gaussian(rng, 1);
        V[i] = gsl_ran_gaussian(rng, 1);
    }
    cr_assert_eq(tl_layer_alloc_av(&layer, WIDTH, WIDTH, A, V), TL_OK);
    return layer;
}

static void expect_inside(const tl_domain *domain, const tl_measure *mu, int round)
{
    tl_error err = {0};

    cr_expect_eq(tl_domain_check(domain, mu, &err), TL_OK, "round %d: %s", round, err.text);
    if (domain->around) {
        cr_expect(exact_member_array(domain, mu->x), "round %d", round);
        cr_expect_eq(mu->n, domain->around->n);
        return;
    }
    for (size_t k = 0; k < mu->m; k++)
        cr_expect(under_memcheck() || exact_member(domain, mu->x + k * WIDTH, 16),
                  "round %d: %s, token %zu", round, tl_domain_name(domain->kind), k);
}

/* No bound of the domain lies below the value. */
static void expect_below_bounds(const tl_domain *domain, const tl_search_result *r, int round)
{
    tl_head_facts head;
    tl_bound_query query;
    bool any = false;

    cr_assert_eq(tl_bound_query_domain(&query, &head, r->layer, r->measure, domain, NULL), TL_OK);
    for (size_t i = 0; i < tl_bound_count(); i++) {
        const tl_bound *bound = tl_bound_at(i);
        const tl_bound_query asked = tl_bound_query_about(&query, bound, domain, false);
        tl_bound_value value;
        cr_assert_eq(tl_bound_evaluate(bound, &asked, &value, NULL), TL_OK);
        if (!value.applicable || bound->norm != TL_NORM_2 ||
            bound->provenance == TL_PROVENANCE_REFUTED)
            continue;
        cr_expect(r->norm.log_value <= value.log_value + 1e-10, "round %d: %s, %s", round,
                  tl_domain_name(domain->kind), bound->key);
        any = any || bound->whole_ball;
    }
    cr_expect_eq(any, domain->around != NULL, "round %d", round);
}

/* Through a file and into ball arithmetic. */
static void expect_confirmed(const tl_domain *domain, const tl_search_result *r, int round)
{
    tl_domain *copy = NULL;
    tl_error err = {0};
    cr_assert_eq(tl_domain_copy(&copy, domain), TL_OK);
    const tl_problem witness = {.layer = r->layer,
                                .measure = r->measure,
                                .domain = copy,
                                .has_norm = true,
                                .norm = TL_NORM_2,
                                .direction = r->direction,
                                .has_value = true,
                                .value = r->norm.value,
                                .log10_value = log10(r->norm.value)};
    char *text = tl_problem_dump(&witness);
    json_t *root = text ? json_loads(text, 0, NULL) : NULL;
    tl_problem back = {0};
    cr_assert_eq(tl_problem_from_json(root, "witness", &back, &err), TL_OK, "round %d: %s", round,
                 err.text);
    cr_expect(memcmp(back.measure->x, r->measure->x,
                     r->measure->m * WIDTH * sizeof *back.measure->x) == 0);
    cr_expect(back.domain->kind == domain->kind && back.domain->radius == domain->radius &&
              back.domain->radius_origin == domain->radius_origin);
    tl_certificate c;
    cr_assert_eq(tl_certify_problem(&back, NULL, &c, &err), TL_OK, "%s", err.text);
    cr_expect_str_eq(tl_verdict_name(c.verdict), "confirmed", "round %d: %s", round,
                     tl_domain_name(domain->kind));
    tl_certificate_clear(&c);
    tl_problem_clear(&back);
    tl_domain_free(copy);
    json_decref(root);
    free(text);
}

static tl_search_problem make_problem(const tl_layer *layer, const tl_domain *domain, int round)
{
    const tl_measure *around = domain->around;

    return (tl_search_problem){.layer = layer,
                               .domain = domain,
                               .worst_a = round / KINDS % 3 == 2,
                               .norm_a = 1 / (domain->radius_origin * domain->radius_origin),
                               .n = around      ? around->n
                                    : round % 2 ? 0
                                                : 9,
                               .atoms = 4,
                               .given = round % 4 == 3 ? around : NULL,
                               .log_mass_ratio = (double)NAN,
                               .norm = TL_NORM_2};
}

Test(search_domains, witnesses_never_leave_the_domain)
{
    gsl_rng *rng = tl_rng_stream_alloc(21, 0, 0);

    for (int round = 0; round < KINDS * draw_count(9); round++) {
        tl_domain *domain = random_domain(rng, kinds[round % KINDS], WIDTH);
        tl_search_settings settings;
        tl_search_result r;
        tl_error err = {0};
        cr_assert(domain != NULL);
        tl_layer *layer = random_layer(rng, domain);
        const tl_search_problem problem = make_problem(layer, domain, round);
        tl_search_defaults(&settings);
        settings.restarts = 4;
        settings.evaluations = 120;
        settings.seed = (uint64_t)round + 1;
        cr_assert_eq(tl_search_run(&problem, &settings, &r, &err), TL_OK, "round %d: %s", round,
                     err.text);
        expect_inside(domain, r.measure, round);
        if (!problem.worst_a) expect_below_bounds(domain, &r, round);
        if (round % 3 == 0) expect_confirmed(domain, &r, round);
        tl_search_result_clear(&r);
        tl_layer_free(layer);
        tl_domain_free(domain);
    }
    gsl_rng_free(rng);
}

/* Where the ball's best tokens lie on its sphere, sphere and ball give the same value; the sphere's
 * layer-norm of unit gains is a sphere of one dimension less. */
Test(search_domains, equal_sets_give_equal_values)
{
    const double A[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1}, V[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    tl_layer *layer = NULL;
    tl_domain *domain[3] = {NULL};
    double value[3];

    cr_assert_eq(tl_layer_alloc_av(&layer, 3, 3, A, V), TL_OK);
    cr_assert_eq(tl_domain_alloc_ball(&domain[0], 3, sqrt(3), NULL, NULL), TL_OK);
    cr_assert_eq(tl_domain_alloc_sphere(&domain[1], 3, sqrt(3), NULL, NULL), TL_OK);
    cr_assert_eq(tl_domain_alloc_norm(&domain[2], TL_DOMAIN_LAYER_NORM, 3, NULL, NULL, 0, NULL),
                 TL_OK);
    for (size_t i = 0; i < 3; i++) {
        const tl_search_problem problem = {.layer = layer,
                                           .domain = domain[i],
                                           .atoms = 2,
                                           .log_mass_ratio = (double)NAN,
                                           .norm = TL_NORM_2};
        tl_search_settings settings;
        tl_search_result r;
        tl_search_defaults(&settings);
        settings.restarts = 12;
        settings.evaluations = 600;
        cr_assert_eq(tl_search_run(&problem, &settings, &r, NULL), TL_OK);
        value[i] = r.norm.value;
        tl_search_result_clear(&r);
        tl_domain_free(domain[i]);
    }
    cr_expect(fabs(value[1] / value[0] - 1) < 1e-4, "%.9g, %.9g", value[0], value[1]);
    cr_expect(fabs(value[2] / value[0] - 1) < 1e-4, "%.9g, %.9g", value[0], value[2]);
    tl_layer_free(layer);
}

Test(search_domains, results_do_not_depend_on_threads)
{
    gsl_rng *rng = tl_rng_stream_alloc(22, 0, 0);
    tl_domain *domain = random_domain(rng, TL_DOMAIN_FROBENIUS, WIDTH);
    tl_layer *layer = random_layer(rng, domain);
    const tl_search_problem problem = make_problem(layer, domain, 0);
    tl_search_settings settings;
    tl_search_result r[2];

    tl_search_defaults(&settings);
    settings.restarts = 4;
    settings.evaluations = 60;
    for (int i = 0; i < 2; i++) {
        omp_set_num_threads(i + 1);
        cr_assert_eq(tl_search_run(&problem, &settings, &r[i], NULL), TL_OK);
    }
    cr_expect(r[0].norm.log_value == r[1].norm.log_value && r[0].restart == r[1].restart);
    for (int i = 0; i < 2; i++) tl_search_result_clear(&r[i]);
    tl_layer_free(layer);
    tl_domain_free(domain);
    gsl_rng_free(rng);
}

Test(search_domains, what_does_not_fit_is_refused)
{
    gsl_rng *rng = tl_rng_stream_alloc(23, 0, 0);
    tl_domain *array = random_domain(rng, TL_DOMAIN_FROBENIUS, WIDTH), *space = NULL;
    tl_layer *layer = random_layer(rng, array);
    tl_search_settings settings;
    tl_error err = {0};

    tl_search_defaults(&settings);
    tl_search_problem problem = make_problem(layer, array, 0);
    problem.n++;
    cr_expect_eq(tl_search_check(&problem, &settings, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "expected n ="), "%s", err.text);
    problem.n--;
    problem.atoms = array->around->m - 1;
    cr_expect_neq(tl_search_check(&problem, &settings, &err), TL_OK);
    cr_expect(strstr(err.text, "atoms"), "%s", err.text);
    cr_assert_eq(tl_domain_alloc_space(&space, WIDTH, 1, NULL), TL_OK);
    problem.domain = space;
    problem.atoms = 4;
    cr_expect_eq(tl_search_check(&problem, &settings, &err), TL_ERR_UNSUPPORTED, "%s", err.text);
    tl_domain_free(space);
    tl_domain_free(array);
    tl_layer_free(layer);
    gsl_rng_free(rng);
}
