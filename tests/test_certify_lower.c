/* What a certificate at given tokens is about: only atoms with copies split, digits are added until
 * they are known, and the norms reported are those of the layer's own maps. */
#include <criterion/criterion.h>
#include <math.h>

#include "support/witness_text.h"
#include "tightlip/norm.h"

/* Tokens whose own block D_k has norm 2 where the whole Jacobian has 1.34: no token of one copy can
 * be split, and with one of two copies the block counts. */
Test(certify_lower, single_tokens_do_not_split)
{
    static const char *const counts[] = {"[1,1]", "[2,1]", "[1,2]"};
    const tl_certify_settings enclose = {.enclose = true};

    for (size_t i = 0; i < 3; i++) {
        tl_problem problem;
        tl_norm_result norm;
        read_text(
            &problem,
            "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[-3.75]],"
            "'V':[[1]]}]},'tokens':[[2.8125],[0.25]],'multiplicity':%s}",
            counts[i]);
        cr_assert_eq(tl_norm_compute(problem.layer, problem.measure, TL_NORM_2, NULL, &norm, NULL),
                     TL_OK);
        tl_certificate c = certify(&problem, &enclose);
        cr_expect_eq(c.split, norm.split, "row %zu", i);
        cr_expect(fabs(c.norm_at_x.high.value / norm.value - 1) < 1e-12 &&
                      fabs(c.norm_at_x.low.value / norm.value - 1) < 1e-12,
                  "row %zu: [%s, %s], not %.17g", i, c.norm_at_x.low.text, c.norm_at_x.high.text,
                  norm.value);
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
}

/* Two heads that cancel but for e^-62: at 128 bits some forty are left. */
Test(certify_lower, digits_are_added_until_known)
{
    static const struct {
        double second;
        long bits;
    } rows[] = {{0.25, 128}, {1.5, 256}};

    for (size_t i = 0; i < 2; i++) {
        tl_problem problem;
        tl_certified_lower lower;
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[1]],"
                  "'V':[[1]]},{'A':[[%g]],'V':[[1]]}],'output':[[1,-1]]},'tokens':[[-5.625],"
                  "[5.625]],'direction':[[1],[0]]}",
                  rows[i].second);
        cr_assert_eq(tl_certify_lower(&problem, &lower, NULL), TL_OK);
        cr_expect_eq(lower.bits, rows[i].bits, "row %zu: %ld bits", i, lower.bits);
        tl_certificate c = certify(&problem, NULL);
        cr_expect_geq(c.bits, rows[i].bits, "row %zu: %ld bits", i, c.bits);
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
}

/* A = Q'Q/sqrt(k): 25/sqrt(2) for a Q of two rows, 5^2 for one. */
Test(certify_lower, norm_of_a_of_kind_l2)
{
    const double expected[] = {25 / sqrt(2), 25};
    tl_problem problem;

    read_text(&problem,
              "{'schema':'tightlip/problem/1','attention':{'kind':'l2','heads':[{'Q':[[3,0],[4,0]],"
              "'V':[[1,0]]},{'Q':[[3,4]],'V':[[0,1]]}]},'tokens':[[1,0],[0,0.5]]}");
    tl_certificate c = certify(&problem, NULL);
    for (size_t h = 0; h < 2; h++)
        cr_expect(fabs(c.norm_a[h].low.value - expected[h]) < 1e-13 &&
                      fabs(c.norm_a[h].high.value - expected[h]) < 1e-13,
                  "head %zu: [%s, %s]", h, c.norm_a[h].low.text, c.norm_a[h].high.text);
    tl_certificate_clear(&c);
    tl_problem_clear(&problem);
}
