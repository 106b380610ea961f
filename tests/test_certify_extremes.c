/* Degenerate and huge inputs decide, or the reason is named. */
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

Test(certify, degenerate_inputs_decide)
{
    /* {attention's head, rest, norm} in width 1 */
    static const struct {
        const char *head, *rest;
        double norm;
    } rows[] = {
        {"'A':[[0]],'V':[[0]]", "'tokens':[[1],[2]]", 0},
        {"'A':[[0]],'V':[[3]]", "'tokens':[[1],[2]]", 3},
        {"'A':[[7]],'V':[[-2]]", "'tokens':[[0.25]]", 2},
        {"'A':[[7]],'V':[[-2]]", "'tokens':[[0.5],[0.5],[0.5]]", 2},
        {"'A':[[1]],'V':[[1]]", "'tokens':[[0.5],[0.5]],'log_mass':[-1e-300,-690]", 1},
        {"'A':[[-1]],'V':[[1]]", "'tokens':[[0]],'multiplicity':[1000000000000]", 1},
        {"'A':[[1]],'V':[[1]]", "'tokens':[[1e-300],[-1e-300]]", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_problem problem;
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{%s}]},%s}",
                  rows[i].head, rows[i].rest);
        for (int n = 0; n < 3; n++) {
            static const tl_norm norms[] = {TL_NORM_2, TL_NORM_INF, TL_NORM_1};
            tl_certify_settings enclose = {.enclose = true};
            problem.has_norm = true;
            problem.norm = norms[n];
            tl_certificate c = certify(&problem, &enclose);
            cr_expect_eq(c.verdict, TL_VERDICT_NO_CLAIM, "row %zu: %s", i, c.why);
            cr_expect(c.norm_at_x.low.value <= rows[i].norm &&
                          c.norm_at_x.high.value >= rows[i].norm &&
                          c.norm_at_x.high.value - c.norm_at_x.low.value <= 1e-9,
                      "row %zu, norm %s: [%s, %s]", i, tl_norm_name(norms[n]), c.norm_at_x.low.text,
                      c.norm_at_x.high.text);
            tl_certificate_clear(&c);
        }
        tl_problem_clear(&problem);
    }
}

/* R = ||A|| = 10^3 and far beyond: one-hot rows, norms whose logarithm is all there is. */
Test(certify, huge_inputs_decide)
{
    tl_problem problem;
    tl_certified_lower lower;

    read_text(&problem, PAIR, ",'direction':[[0.8],[0.6]]");
    problem.layer->head[0].Q[0] = -1000;
    problem.measure->x[0] = -1000;
    problem.measure->x[1] = 1000;
    problem.domain->radius = 1000;
    cr_expect_eq(verdict(&problem), TL_VERDICT_NO_CLAIM);
    cr_assert_eq(tl_certify_lower(&problem, &lower, NULL), TL_OK);
    /* Everything attends to the other side: the square is 99 0.6^2 + 0.8^2 / 99. */
    const double expected = sqrt(99 * 0.36 + 0.64 / 99);
    cr_expect(fabs(lower.lower.value - expected) < 1e-14 * expected, "%s", lower.lower.text);
    tl_problem_clear(&problem);
    /* A rare mass e^(-2g)/3 at g = 10^6: about 0.65 g e^g, far past the double range. */
    read_text(&problem,
              "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[-1]],"
              "'V':[[1]]}]},'tokens':[[-1000],[1000]],'log_mass':[0,-2000001.0986122887],"
              "'direction':[[0.0009],[1]],'domain':{'kind':'ball','radius':1000}}");
    tl_certificate c = certify(&problem, NULL);
    cr_expect_eq(c.verdict, TL_VERDICT_NO_CLAIM, "%s", c.why);
    cr_expect(fabs(c.norm_at_x.low.log10 * log(10) - 1e6 - log(0.65e6)) < 1, "%.17g",
              c.norm_at_x.low.log10);
    cr_expect_eq(c.norm_at_x.low.value, DBL_MAX);
    cr_expect(strstr(c.norm_at_x.low.text, "e+4343") != NULL, "%s", c.norm_at_x.low.text);
    tl_certificate_clear(&c);
    tl_problem_clear(&problem);
}

/* Finite numbers whose products leave the double range: the norm is certified, the bounds say why
 * not. */
Test(certify, past_the_double_range)
{
    tl_problem problem;

    read_text(&problem, PAIR, ",'direction':[[0.8],[0.6]]");
    problem.layer->head[0].Q[0] = -1e300;
    problem.measure->x[0] = -1e10;
    problem.measure->x[1] = 1e10;
    problem.domain->radius = 1e10;
    tl_certificate c = certify(&problem, NULL);
    const double expected = sqrt(99 * 0.36 + 0.64 / 99);
    cr_expect_eq(c.verdict, TL_VERDICT_NO_CLAIM, "%s", c.why);
    cr_expect(fabs(c.norm_at_x.low.value - expected) < 1e-14 * expected);
    for (size_t i = 0; i < c.bounds; i++)
        cr_expect(c.bound[i].applicable || strlen(c.bound[i].why) > 0, "%s", c.bound[i].bound->key);
    tl_certificate_clear(&c);
    tl_problem_clear(&problem);
}

Test(certify, refusals_name_the_reason)
{
    static const struct {
        const char *rest, *fragment;
        tl_norm norm;
        tl_status status;
    } rows[] = {
        {"'mask':'causal','heads':[{'A':[[1]],'V':[[1]]}]},'tokens':[[1]],'multiplicity':[2]",
         "mask", TL_NORM_2, TL_ERR_UNSUPPORTED},
        {"'mask':'none','heads':[{'A':[[1]],'V':[[1]]}]},'tokens':[[1]],'log_mass':[0]", "fro",
         TL_NORM_FRO, TL_ERR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_problem problem;
        tl_certificate c;
        tl_certified_lower lower;
        tl_error err = {.text = ""};
        read_text(&problem, "{'schema':'tightlip/problem/1','attention':{'kind':'dot',%s}",
                  rows[i].rest);
        problem.has_norm = true;
        problem.norm = rows[i].norm;
        cr_expect_eq(tl_certify_problem(&problem, NULL, &c, &err), rows[i].status, "row %zu", i);
        cr_expect(strstr(err.text, rows[i].fragment) != NULL, "row %zu: %s", i, err.text);
        cr_expect_neq(tl_certify_lower(&problem, &lower, &err), TL_OK, "row %zu", i);
        tl_problem_clear(&problem);
    }
}

/* Two singular values so close that iteration cannot tell them apart: the certificate must. */
Test(certify, nearly_equal_singular_values)
{
    const double h = 0x1p-43;
    const tl_certify_settings enclose = {.enclose = true};
    tl_problem problem;

    read_text(
        &problem,
        "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[0,0],[0,0]],"
        "'V':[[1,%.17g],[%.17g,1]]}]},'tokens':[[1,0]],'direction':[[1,0]]}",
        h, h);
    tl_certificate c = certify(&problem, &enclose);
    cr_expect(c.norm_at_x.low.value <= 1 + h && c.norm_at_x.high.value >= 1 + h, "[%s, %s]",
              c.norm_at_x.low.text, c.norm_at_x.high.text);
    cr_expect(c.norm_at_x.high.value - c.norm_at_x.low.value < 1e-8);
    tl_certificate_clear(&c);
    tl_problem_clear(&problem);
}

/* The heads of the row cancel but for e^-8192: no precision within the cap tells it from zero. */
Test(certify, the_cap_is_named)
{
    tl_problem problem;
    tl_certified_lower lower;
    tl_error err = {.text = ""};

    read_text(&problem,
              "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[1]],"
              "'V':[[1]]},{'A':[[1.5]],'V':[[1]]}],'output':[[1,-1]]},'tokens':[[-64],[64]],"
              "'direction':[[1],[0]]}");
    tl_certificate c = certify(&problem, NULL);
    cr_expect_eq(c.verdict, TL_VERDICT_UNDECIDED);
    cr_expect_eq(c.bits, TL_CERTIFY_MOST_BITS);
    cr_expect(strstr(c.why, "the norm") != NULL, "%s", c.why);
    tl_certificate_clear(&c);
    cr_expect_eq(tl_certify_lower(&problem, &lower, &err), TL_ERR_LIMIT);
    cr_expect(strstr(err.text, "4096 bits") != NULL, "%s", err.text);
    tl_certify_settings more = {.most_bits = 1 << 14};
    c = certify(&problem, &more);
    cr_expect_eq(c.verdict, TL_VERDICT_NO_CLAIM);
    cr_expect(c.norm_at_x.low.log10 < -3500 && c.norm_at_x.low.log10 > -3600);
    tl_certificate_clear(&c);
    problem.has_value = true;
    problem.value = 1;
    cr_expect_eq(verdict(&problem), TL_VERDICT_BELOW);
    tl_problem_clear(&problem);
}

/* The norm alone: as without the setting, and nothing else is looked at. */
Test(certify, the_norm_alone)
{
    tl_problem problem;

    read_text(&problem, PAIR, "");
    const tl_certify_settings alone = {.norm_only = true};
    tl_certificate c = certify(&problem, &alone), whole = certify(&problem, NULL);
    cr_expect_str_eq(c.norm_at_x.low.text, whole.norm_at_x.low.text);
    cr_expect(c.verdict == TL_VERDICT_NO_CLAIM && c.heads == 0 && whole.heads == 1);
    for (size_t i = 0; i < c.bounds; i++) {
        cr_expect_eq(c.bound[i].bound, tl_bound_at(i));
        cr_expect(!c.bound[i].applicable && strcmp(c.bound[i].why, "left out for this layer") == 0);
    }
    tl_certificate_clear(&c);
    tl_certificate_clear(&whole);
    tl_problem_clear(&problem);
}
