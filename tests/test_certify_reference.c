/* Certified enclosures against norms to 50 digits (tests/support/reference50.py) and against the
 * dense norms in double precision. */
#include <arb.h>
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/draws.h"
#include "tightlip/certify.h"

static const char *const names[] = {"plain",      "saturated",     "huge",         "copies",
                                    "split",      "causal",        "heads",        "l2",
                                    "rare",       "rarest",        "sigmoid",      "sigmoid-heads",
                                    "l2-causal",  "masked",        "l2-untied",    "l2-bare",
                                    "cosine",     "cosine-masked", "cosine-small", "sigmoid-masked",
                                    "cosine-mean"};

static const struct {
    tl_norm norm;
    const char *key;
} norms[] = {{TL_NORM_2, "norm_2"},
             {TL_NORM_INF, "norm_inf"},
             {TL_NORM_1, "norm_1"},
             {TL_NORM_FRO, "norm_fro"}};

enum { NAMES = sizeof names / sizeof names[0], NORMS = sizeof norms / sizeof norms[0] };

/* The problem and its document (owned by the caller). */
static json_t *load(const char *directory, const char *name, tl_problem *problem)
{
    char path[128];
    tl_error err = {.text = ""};
    json_t *root = NULL;

    (void)snprintf(path, sizeof path, "tests/%s/%s.json", directory, name);
    cr_assert_eq(tl_problem_load_json(path, &root, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_problem_from_json(root, path, problem, &err), TL_OK, "%s", err.text);
    return root;
}

/* Whether the decimal a is below (or is) the decimal b, both read with a radius far below the
 * twentieth digit. */
static bool at_most(const char *a, const char *b)
{
    arb_t x, y;

    arb_init(x);
    arb_init(y);
    cr_assert(arb_set_str(x, a, 400) == 0 && arb_set_str(y, b, 400) == 0, "%s, %s", a, b);
    /* 50 digits of a reference are rounded to nearest. */
    mag_t rounding;
    mag_init(rounding);
    arb_get_mag(rounding, y);
    mag_mul_2exp_si(rounding, rounding, -160);
    mag_add(arb_radref(y), arb_radref(y), rounding);
    bool yes = !arb_gt(x, y);
    mag_clear(rounding);
    arb_clear(x);
    arb_clear(y);
    return yes;
}

static void check_norm(const char *name, const tl_problem *problem, const char *expected)
{
    const tl_certify_settings settings = {.enclose = true};
    tl_certificate c;
    tl_error err = {.text = ""};

    cr_assert_eq(tl_certify_problem(problem, &settings, &c, &err), TL_OK, "%s: %s", name, err.text);
    const tl_enclosure *x = &c.norm_at_x;
    cr_expect(c.has_upper && c.verdict == TL_VERDICT_NO_CLAIM, "%s", name);
    cr_expect(at_most(x->low.text, expected) && at_most(expected, x->high.text),
              "%s, norm %s: [%s, %s] does not hold %s", name, tl_norm_name(c.norm), x->low.text,
              x->high.text, expected);
    /* The ends agree with their doubles and logarithms, and are close. */
    cr_expect(x->high.log10 - x->low.log10 <= 1e-8, "%s", name);
    cr_expect(x->low.value <= x->high.value &&
                  fabs(log10(x->low.value) - x->low.log10) <= 1e-13 * (1 + fabs(x->low.log10)),
              "%s: %.17g, 10^%.17g", name, x->low.value, x->low.log10);
    tl_certificate_clear(&c);
}

Test(certify_reference, fifty_digits)
{
    for (size_t i = 0; i < NAMES; i += draw_stride(3)) {
        tl_problem problem;
        json_t *root = load("reference", names[i], &problem);
        size_t found = 0;
        for (size_t j = 0; j < NORMS; j++) {
            const char *expected =
                json_string_value(json_object_get(json_object_get(root, "expect"), norms[j].key));
            if (!expected) continue;
            problem.has_norm = true;
            problem.norm = norms[j].norm;
            check_norm(names[i], &problem, expected);
            found++;
        }
        cr_expect_eq(found, problem.measure->count ? NORMS : 1, "%s", names[i]);
        json_decref(root);
        tl_problem_clear(&problem);
    }
}

/* The lower bound at the direction that the double path finds lies just below the reference. */
Test(certify_reference, at_the_direction)
{
    for (size_t i = 0; i < NAMES; i++) {
        tl_problem problem;
        tl_norm_result norm;
        tl_certified_lower lower;
        tl_error err = {.text = ""};
        json_t *root = load("reference", names[i], &problem);
        const char *expected =
            json_string_value(json_object_get(json_object_get(root, "expect"), "norm_2"));
        const size_t size = problem.measure->m * problem.measure->d;
        problem.direction = calloc(size, sizeof *problem.direction);
        tl_status status = tl_norm_compute(problem.layer, problem.measure, TL_NORM_2,
                                           problem.direction, &norm, &err);
        if (status == TL_ERR_UNSUPPORTED) /* a direction all the same: still a lower bound */
            for (size_t j = 0; j < size; j++) problem.direction[j] = 1 + 0.1 * (double)j;
        else
            cr_assert_eq(status, TL_OK, "%s: %s", names[i], err.text);
        cr_assert_eq(tl_certify_lower(&problem, &lower, &err), TL_OK, "%s: %s", names[i], err.text);
        cr_expect(at_most(lower.lower.text, expected), "%s: %s above %s", names[i],
                  lower.lower.text, expected);
        if (status == TL_OK) {
            cr_expect(lower.lower.value >= strtod(expected, NULL) * (1 - 1e-12), "%s: %s, not %s",
                      names[i], lower.lower.text, expected);
            cr_expect_eq(lower.split, norm.split, "%s", names[i]);
        }
        json_decref(root);
        tl_problem_clear(&problem);
    }
}

/* (inf,2): just below the ascent of the double path, where that has the kind, and never above the
 * norms that dominate it. */
Test(certify_reference, largest_movement)
{
    size_t compared = 0;

    for (size_t i = 0; i < NAMES; i++) {
        tl_problem problem;
        tl_norm_result norm;
        tl_certified_lower lower;
        tl_error err = {.text = ""};
        json_t *root = load("reference", names[i], &problem);
        problem.has_norm = true;
        problem.norm = TL_NORM_INF2;
        cr_assert_eq(tl_certify_lower(&problem, &lower, &err), TL_OK, "%s: %s", names[i], err.text);
        tl_status status =
            tl_norm_compute(problem.layer, problem.measure, TL_NORM_INF2, NULL, &norm, &err);
        cr_assert(status == TL_OK || status == TL_ERR_UNSUPPORTED, "%s", err.text);
        if (status == TL_OK) {
            compared++;
            cr_expect(fabs(lower.lower.value - norm.value) <= 1e-11 * norm.value, "%s: %s, %.17g",
                      names[i], lower.lower.text, norm.value);
        }
        if (problem.measure->count) {
            /* |y| <= |y|_2 of all tokens <= ||J||_2 sqrt(n). */
            const char *two =
                json_string_value(json_object_get(json_object_get(root, "expect"), "norm_2"));
            cr_expect(lower.lower.value <= strtod(two, NULL) * sqrt((double)problem.measure->n),
                      "%s", names[i]);
        }
        json_decref(root);
        tl_problem_clear(&problem);
    }
    cr_expect(compared >= 7, "%zu", compared);
}

static const char *const golden[] = {
    "causal-0",    "causal-1",    "causal-2",    "copies-0",     "copies-1",     "copies-2",
    "dot-0",       "dot-1",       "dot-2",       "l2-0",         "l2-1",         "l2-2",
    "l2-copies-0", "l2-copies-1", "l2-copies-2", "multihead-0",  "multihead-1",  "multihead-2",
    "saturated-0", "saturated-1", "saturated-2", "split-wins-0", "split-wins-1", "split-wins-2",
    "sigmoid-0",   "sigmoid-1",   "sigmoid-2"};

/* The values of the golden files are dense double results: off by rounding of the Jacobian's size
 * and, where rows are saturated, of large logits. */
Test(certify_reference, golden_files)
{
    const tl_certify_settings settings = {.enclose = true};

    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i += draw_stride(5))
        for (size_t j = 0; j < NORMS; j++) {
            tl_problem problem;
            tl_certificate c;
            tl_error err = {.text = ""};
            json_t *root = load("golden", golden[i], &problem);
            double expected =
                json_number_value(json_object_get(json_object_get(root, "expect"), norms[j].key));
            problem.has_norm = true;
            problem.norm = norms[j].norm;
            cr_assert_eq(tl_certify_problem(&problem, &settings, &c, &err), TL_OK, "%s", err.text);
            double rounding = 64 * (double)(problem.measure->m * problem.layer->d) * DBL_EPSILON *
                              c.norm_at_x.high.value;
            cr_expect(c.norm_at_x.low.value <= expected + rounding &&
                          c.norm_at_x.high.value >= expected - rounding,
                      "%s, %s: [%s, %s], not %.17g", golden[i], norms[j].key, c.norm_at_x.low.text,
                      c.norm_at_x.high.text, expected);
            tl_certificate_clear(&c);
            json_decref(root);
            tl_problem_clear(&problem);
        }
}
