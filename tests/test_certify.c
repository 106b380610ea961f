/* Verdicts: claims, directions, feasibility, refuted formulas. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/witness_text.h"

/* Two Diracs on a line, A = -1, n = 100, R = 2: a joint witness. */
#define PAIR                                                                                      \
    "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[-1]],'V':[[1]]}]}," \
    "'tokens':[[-2],[2]],'multiplicity':[99,1],'domain':{'kind':'ball','radius':2}%s}"

/* The direction that the double path finds, and its value as the claim. */
static void find_direction(tl_problem *problem)
{
    tl_norm_result norm;
    const size_t size = problem->measure->m * problem->measure->d;

    problem->direction = calloc(size, sizeof *problem->direction);
    cr_assert_eq(tl_norm_compute(problem->layer, problem->measure, TL_NORM_2, problem->direction,
                                 &norm, NULL),
                 TL_OK);
    problem->has_value = true;
    problem->value = norm.value;
    problem->log10_value = norm.log_value / log(10);
}

Test(certify, a_claim_and_its_last_digits)
{
    tl_problem problem;

    read_text(&problem, PAIR, "");
    find_direction(&problem);
    const double value = problem.value;
    cr_expect_eq(verdict(&problem), TL_VERDICT_CONFIRMED);
    problem.value = nextafter(value, 0);
    cr_expect_eq(verdict(&problem), TL_VERDICT_CONFIRMED);
    problem.value = value * (1 + 1e-9);
    cr_expect_eq(verdict(&problem), TL_VERDICT_BELOW);
    problem.value = value * (1 - 1e-9);
    cr_expect_eq(verdict(&problem), TL_VERDICT_CONFIRMED);
    /* By the logarithm alone, as past the double range. */
    problem.value = (double)INFINITY;
    cr_expect_eq(verdict(&problem), TL_VERDICT_CONFIRMED);
    problem.log10_value += 1e-10;
    cr_expect_eq(verdict(&problem), TL_VERDICT_BELOW);
    problem.has_value = false;
    cr_expect_eq(verdict(&problem), TL_VERDICT_NO_CLAIM);
    /* A narrow slack shows what a wide one forgives. */
    tl_certify_settings strict = {.slack = 1e-12};
    problem.has_value = true;
    problem.value = value * (1 + 1e-11);
    cr_expect_eq(verdict(&problem), TL_VERDICT_CONFIRMED);
    tl_certificate c = certify(&problem, &strict);
    cr_expect_eq(c.verdict, TL_VERDICT_BELOW);
    tl_certificate_clear(&c);
    tl_problem_clear(&problem);
}

Test(certify, tokens_and_directions_edited)
{
    tl_problem problem;
    tl_certified_lower best, noise;

    read_text(&problem, PAIR, "");
    find_direction(&problem);
    cr_assert_eq(tl_certify_lower(&problem, &best, NULL), TL_OK);
    cr_expect(best.lower.value <= problem.value * (1 + 1e-13) &&
              best.lower.value >= problem.value * (1 - 1e-13));
    /* The seventeenth digit of a token moves the value by rounding alone. */
    problem.measure->x[0] = nextafter(-2, 0);
    cr_expect_eq(verdict(&problem), TL_VERDICT_CONFIRMED);
    problem.layer->head[0].V[0] = 1 - 1e-9;
    cr_expect_eq(verdict(&problem), TL_VERDICT_BELOW);
    problem.layer->head[0].V[0] = 1;
    problem.measure->x[0] = -2;
    /* Any direction gives a lower bound, and its length does not count. */
    problem.direction[0] = 0.3e-200;
    problem.direction[1] = -1.7e-200;
    cr_assert_eq(tl_certify_lower(&problem, &noise, NULL), TL_OK);
    cr_expect(noise.lower.value > 0 && noise.lower.value < best.lower.value);
    cr_expect_eq(verdict(&problem), TL_VERDICT_BELOW);
    /* Enclosing finds the norm whatever the direction says. */
    tl_certify_settings enclose = {.enclose = true};
    tl_certificate c = certify(&problem, &enclose);
    cr_expect_eq(c.verdict, TL_VERDICT_CONFIRMED);
    cr_expect(c.norm_at_x.low.value >= best.lower.value * (1 - 1e-12));
    tl_certificate_clear(&c);
    problem.direction[0] = problem.direction[1] = 0;
    cr_expect_eq(tl_certify_lower(&problem, &noise, NULL), TL_ERR_ARGUMENT);
    tl_problem_clear(&problem);
}

/* Above 512 rows and columns a direction still proves a lower bound. */
Test(certify, too_large_for_an_upper_end)
{
    enum { TOKENS = 513 };
    tl_problem problem;
    char tokens[TOKENS * 8 + 1] = "", direction[TOKENS * 8 + 1] = "";

    for (int i = 0; i < TOKENS; i++) {
        (void)snprintf(tokens + strlen(tokens), 9, "%s[%.2f]", i ? "," : "", 0.01 * (i % 97));
        (void)snprintf(direction + strlen(direction), 9, "%s[%d]", i ? "," : "", i % 2);
    }
    read_text(&problem,
              "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[-1]],"
              "'V':[[1]]}]},'tokens':[%s],'direction':[%s],'value':0.001}",
              tokens, direction);
    tl_certify_settings enclose = {.enclose = true, .norm_only = true};
    tl_certificate c = certify(&problem, &enclose);
    cr_expect_eq(c.verdict, TL_VERDICT_CONFIRMED, "%s %s", tl_verdict_name(c.verdict), c.why);
    cr_expect(c.too_large && !c.has_upper && c.norm_at_x.low.value > 0);
    tl_certificate_clear(&c);
    free(problem.direction);
    problem.direction = NULL;
    tl_error err = {0};
    cr_expect_eq(tl_certify_problem(&problem, &enclose, &c, &err), TL_ERR_LIMIT);
    cr_expect(strstr(err.text, "at most 512 rows"), "%s", err.text);
    tl_problem_clear(&problem);
}

/* (-2, 0, 2) in equal masses: copies of the middle atom moving apart attain 8/3. */
Test(certify, the_kind_of_a_direction)
{
    static const char *const kind[] = {"", ",'direction_kind':'split'",
                                       ",'direction_kind':'joint'"};
    const double expected[] = {8.0 / 3, 8.0 / 3, 2.398};

    for (size_t i = 0; i < 3; i++) {
        tl_problem problem;
        tl_certified_lower lower;
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[-1]],"
                  "'V':[[1]]}]},'tokens':[[-2],[0],[2]],'multiplicity':[2,%d,2],"
                  "'direction':[[0],[1],[0]]%s}",
                  2, kind[i]);
        cr_assert_eq(tl_certify_lower(&problem, &lower, NULL), TL_OK);
        cr_expect_eq(lower.split, i < 2);
        cr_expect(lower.lower.value <= expected[i] &&
                  (i == 2 || lower.lower.value >= expected[i] * (1 - 4 * DBL_EPSILON)));
        if (i < 2) cr_expect_eq(lower.atom, 1);
        problem.measure->count[1] = 1;
        tl_status status = tl_certify_lower(&problem, &lower, NULL);
        cr_expect_eq(status, i == 1 ? TL_ERR_ARGUMENT : TL_OK);
        tl_problem_clear(&problem);
    }
}

Test(certify, tokens_outside_are_seen_exactly)
{
    tl_problem problem;

    for (int i = 0; i < 2; i++) {
        read_text(&problem, PAIR, i ? ",'value':1e-3" : "");
        problem.domain->radius = 1;
        problem.measure->x[0] = i ? -1 - 1e-15 : -1;
        problem.measure->x[1] = 1;
        tl_certificate c = certify(&problem, NULL);
        cr_expect_eq(c.verdict, i ? TL_VERDICT_OUTSIDE : TL_VERDICT_NO_CLAIM);
        if (i) {
            cr_expect_eq(c.outside, 0);
            cr_expect(fabs(c.excess - 1e-15) < 2e-16, "%g", c.excess);
        }
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
    /* 0.6^2 + 0.8^2 as doubles lies above 1 by less than their rounding: in exact arithmetic it is
     * outside. A centre far away and a subnormal step are exact as well. */
    static const struct {
        double x, y, centre, radius;
        bool inside;
    } rows[] = {{0.6, 0.8, 0, 1, false},
                {0.6, 0.79999999999999993, 0, 1, true},
                {1e16, 0, 1e16, 5e-324, true},
                {3, 4, 0, 5, true},
                {3, 4.0000000000000009, 0, 5, false},
                {5e-324, 0, 0, 5e-324, true},
                {5e-324, 5e-324, 0, 5e-324, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[0,1],"
                  "[1,0]],'V':[[1,0],[0,1]]}]},'tokens':[[%.17g,%.17g]],'domain':{'kind':'ball',"
                  "'radius':%.17g,'centre':[%.17g,0]}}",
                  rows[i].x, rows[i].y, rows[i].radius, rows[i].centre);
        cr_expect_eq(verdict(&problem) != TL_VERDICT_OUTSIDE, rows[i].inside, "row %zu", i);
        tl_problem_clear(&problem);
    }
}

/* {file, key named, keys refuted} */
Test(certify, refuted_formulas)
{
    static const struct {
        const char *file, *key;
        double says;
    } rows[] = {{"lipschitznorm", "lipschitznorm", 1},
                {"released-helper", "released-helper", 1.4142135623730951},
                {"masked-mean-field", "castin-mean-field", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[128];
        tl_problem problem;
        tl_error err = {.text = ""};
        (void)snprintf(path, sizeof path, "experiments/refuted/%s.json", rows[i].file);
        cr_assert_eq(tl_problem_read(path, &problem, &err), TL_OK, "%s", err.text);
        cr_expect_eq(verdict(&problem), TL_VERDICT_CONFIRMED, "%s", path);
        tl_certify_settings named = {.against = rows[i].key};
        tl_certificate c = certify(&problem, &named);
        cr_expect_eq(c.verdict, TL_VERDICT_REFUTES, "%s", path);
        for (size_t j = 0; j < c.bounds; j++) {
            const tl_certified_bound *row = &c.bound[j];
            if (strcmp(row->bound->key, rows[i].key) != 0) {
                cr_expect(row->standing != TL_STANDS_EXCEEDED || !row->counts, "%s",
                          row->bound->key);
                continue;
            }
            cr_expect(row->enclosed && row->standing == TL_STANDS_EXCEEDED, "%s", path);
            cr_expect(row->value.low.value <= rows[i].says * (1 + DBL_EPSILON) &&
                      row->value.high.value >= rows[i].says * (1 - DBL_EPSILON));
            cr_expect(row->value.high.value - row->value.low.value < 1e-12);
            cr_expect_eq(row->outside_hypotheses, i == 2);
        }
        tl_certificate_clear(&c);
        named.against = "no-such-key";
        cr_expect_eq(tl_certify_problem(&problem, &named, &c, NULL), TL_ERR_ARGUMENT);
        tl_problem_clear(&problem);
    }
}

/* Norms of the matrices of a layer, in closed form. */
Test(certify, matrix_norms)
{
    tl_problem problem;

    read_text(&problem,
              "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'Q':[[3,4]],"
              "'K':[[1,0]],'V':[[1,1],[1,1]],'scale':-2},{'A':[[0,2],[0,0]],'V':[[0,0]]}]},"
              "'tokens':[[1,0],[0,1]]}");
    tl_certificate c = certify(&problem, NULL);
    const double a[] = {10, 2}, v[] = {2, 0};
    for (size_t h = 0; h < 2; h++) {
        cr_expect(c.norm_a[h].low.value <= a[h] && c.norm_a[h].high.value >= a[h] &&
                  c.norm_a[h].high.value - c.norm_a[h].low.value <= 1e-14);
        cr_expect(c.norm_v[h].low.value <= v[h] && c.norm_v[h].high.value >= v[h] &&
                  c.norm_v[h].high.value - c.norm_v[h].low.value <= 1e-14);
    }
    tl_certificate_clear(&c);
    tl_problem_clear(&problem);
}

/* A bound that is attained is neither refuted nor left open: A = 0, where the mean-field constant
 * is ||V|| itself. */
Test(certify, attained_is_not_exceeded)
{
    tl_problem problem;
    size_t equal = 0;

    read_text(&problem,
              "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[0]],"
              "'V':[[2]]}]},'tokens':[[0.5],[1]],'direction':[[1],[1]]}");
    tl_certificate c = certify(&problem, NULL);
    cr_expect_eq(c.verdict, TL_VERDICT_NO_CLAIM, "%s", c.why);
    for (size_t j = 0; j < c.bounds; j++) {
        cr_expect_neq(c.bound[j].standing, TL_STANDS_EXCEEDED, "%s", c.bound[j].bound->key);
        cr_expect_neq(c.bound[j].standing, TL_STANDS_OPEN, "%s", c.bound[j].bound->key);
        equal += c.bound[j].standing == TL_STANDS_EQUAL;
    }
    cr_expect(equal >= 1 && c.bits <= 1024, "%zu at %ld bits", equal, c.bits);
    /* The document says the same of every row. */
    json_t *document = tl_certificate_to_json(&c, "w.json");
    const json_t *row;
    size_t k;
    json_array_foreach(json_object_get(document, "bounds"), k, row)
    {
        const char *standing = json_string_value(json_object_get(row, "standing"));
        cr_expect_eq(strcmp(standing, "equal") == 0, c.bound[k].standing == TL_STANDS_EQUAL);
        cr_expect_eq(strcmp(standing, "above") == 0, c.bound[k].standing == TL_STANDS_ABOVE);
    }
    cr_expect_eq(k, c.bounds);
    json_decref(document);
    tl_certificate_clear(&c);
    tl_problem_clear(&problem);
}
