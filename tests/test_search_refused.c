/* Problems that a search refuses before it begins, and what it says. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/l2_layer.h"
#include "tightlip/search.h"

typedef struct {
    tl_search_problem problem;
    tl_search_settings settings;
    tl_layer *layer, *keyed, *l2;
    tl_domain *domain;
    tl_measure *wide;
} fixture;

static void nothing(fixture *f)
{
    (void)f;
}
static void worst_of_l2(fixture *f)
{
    f->problem.layer = f->l2;
}
static void worst_of_keys(fixture *f)
{
    f->problem.layer = f->keyed;
}
static void negative_norm(fixture *f)
{
    f->problem.norm_a = -1;
}
static void norm_without_end(fixture *f)
{
    f->problem.norm_a = (double)NAN;
}
static void wide_tokens(fixture *f)
{
    f->problem.given = f->wide;
}
static void no_restart(fixture *f)
{
    f->settings.restarts = 0;
}
static void no_evaluation(fixture *f)
{
    f->settings.evaluations = 0;
}
static void negative_time(fixture *f)
{
    f->settings.seconds = -1;
}
static void time_without_end(fixture *f)
{
    f->settings.seconds = (double)NAN;
}
static void no_atom(fixture *f)
{
    f->problem.atoms = 0;
}
static void split_of_one(fixture *f)
{
    f->problem.n = 1;
    f->problem.objective = TL_OBJECTIVE_SPLIT;
}
static void ratio_of_tokens(fixture *f)
{
    f->problem.log_mass_ratio = -1;
}
static void ratio_without_end(fixture *f)
{
    f->problem.n = 0;
    f->problem.log_mass_ratio = (double)INFINITY;
}
static void infinite_frobenius(fixture *f)
{
    f->problem.n = 0;
    f->problem.norm = TL_NORM_FRO;
}
static void no_norm(fixture *f)
{
    f->problem.norm = TL_NORM_JT_F;
}
static void split_of_columns(fixture *f)
{
    f->problem.norm = TL_NORM_1;
    f->problem.objective = TL_OBJECTIVE_SPLIT;
}
static void no_start(fixture *f)
{
    f->settings.starts = 0;
}

static const struct {
    void (*edit)(fixture *f);
    tl_status status;
    const char *fragment;
} rows[] = {
    {nothing, TL_OK, ""},
    {worst_of_l2, TL_ERR_UNSUPPORTED, "expected kind \"dot\" or \"sigmoid\", found \"l2\""},
    {worst_of_keys, TL_ERR_UNSUPPORTED, "found 1 heads given by Q and K"},
    {negative_norm, TL_ERR_DOMAIN, "expected a norm >= 0, found -1"},
    {norm_without_end, TL_ERR_DOMAIN, "expected a norm >= 0, found nan"},
    {wide_tokens, TL_ERR_SHAPE, "given tokens: expected width 1, found 2"},
    {no_restart, TL_ERR_ARGUMENT, "restarts and evaluations: expected at least 1"},
    {no_evaluation, TL_ERR_ARGUMENT, "restarts and evaluations: expected at least 1"},
    {negative_time, TL_ERR_ARGUMENT, "seconds: expected 0 (no limit) or more, found -1"},
    {time_without_end, TL_ERR_ARGUMENT, "seconds: expected 0 (no limit) or more, found nan"},
    {no_atom, TL_ERR_ARGUMENT, "atoms: expected at least 1, found 0"},
    {split_of_one, TL_ERR_ARGUMENT, "objective \"split\": expected n >= 2, found 1"},
    {ratio_of_tokens, TL_ERR_UNSUPPORTED, "mass ratio: expected n = \"inf\""},
    {ratio_without_end, TL_ERR_DOMAIN, "mass ratio: expected a finite logarithm, found inf"},
    {infinite_frobenius, TL_ERR_UNSUPPORTED, "infinite in mean field"},
    {no_norm, TL_ERR_UNSUPPORTED, "\"jt-f\" is no norm"},
    {split_of_columns, TL_ERR_UNSUPPORTED, "objective \"split\": expected norm \"2\", found \"1\""},
    {no_start, TL_ERR_ARGUMENT, "none of those named applies"},
};

static void start(fixture *f)
{
    const double one = 1, pair[] = {0, 1};
    const tl_head keyed = {
        .Q = (double[]){1}, .K = (double[]){1}, .V = (double[]){1}, .k = 1, .v = 1, .scale = 1};

    cr_assert_eq(tl_layer_alloc_av(&f->layer, 1, 1, &one, &one), TL_OK);
    cr_assert_eq(tl_layer_alloc(&f->keyed, TL_KIND_DOT, TL_MASK_NONE, 1, 1, &keyed, NULL, 0, NULL),
                 TL_OK);
    f->l2 = l2_line(1, 1);
    cr_assert_eq(tl_domain_alloc_ball(&f->domain, 1, 1, NULL, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&f->wide, 1, 2, pair, NULL, NULL, NULL), TL_OK);
}

Test(search_refused, before_any_work)
{
    fixture f;

    start(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tl_error err = {0};
        tl_search_result best = {0};

        f.problem = (tl_search_problem){.layer = f.layer,
                                        .domain = f.domain,
                                        .n = 3,
                                        .atoms = 2,
                                        .worst_a = true,
                                        .norm_a = 1,
                                        .log_mass_ratio = (double)NAN,
                                        .norm = TL_NORM_2};
        tl_search_defaults(&f.settings);
        f.settings.restarts = 1;
        f.settings.evaluations = 20;
        rows[i].edit(&f);
        cr_expect_eq(tl_search_run(&f.problem, &f.settings, &best, &err), rows[i].status,
                     "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, rows[i].fragment), "row %zu: \"%s\" lacks \"%s\"", i, err.text,
                  rows[i].fragment);
        cr_expect_eq(best.measure != NULL, rows[i].status == TL_OK, "row %zu", i);
        tl_search_result_clear(&best);
    }
    tl_measure_free(f.wide);
    tl_domain_free(f.domain);
    tl_layer_free(f.l2);
    tl_layer_free(f.keyed);
    tl_layer_free(f.layer);
}
