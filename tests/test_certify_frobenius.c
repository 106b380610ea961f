/* Frobenius bounds in ball arithmetic against doubles: sums over causal rows, output maps that
 * change |V|_F / ||V||, masks under which no average over rows may be taken. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/witness_text.h"

/* log10 of the upper end of the bound, NAN where it does not apply. */
static double upper_end(const tl_problem *problem, const tl_certify_settings *settings,
                        const char *key, bool enclosed)
{
    tl_certificate c = certify(problem, settings);
    double value = (double)NAN;

    for (size_t i = 0; i < c.bounds; i++) {
        if (strcmp(c.bound[i].bound->key, key) != 0 || !c.bound[i].applicable) continue;
        cr_expect_eq(c.bound[i].enclosed, enclosed, "%s", key);
        value = c.bound[i].value.high.log10;
    }
    tl_certificate_clear(&c);
    return value;
}

static void expect_both(const tl_problem *problem, const char *key, double apart, const char *what)
{
    const tl_certify_settings doubles = {.lower_only = true}, boxes = {.boxes = true};
    const double ball = upper_end(problem, &boxes, key, true);
    const double plain = upper_end(problem, &doubles, key, false);

    cr_expect(fabs(ball - plain) <= apart, "%s, %s: 10^%.17g, by doubles 10^%.17g", what, key, ball,
              plain);
}

/* One head of width 2: its V of ratio sqrt(37/36), behind the output sqrt(2); and two heads. */
static const char *const layers[] = {
    "'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[6,0],[0,1]]}],'output':[[0.25,0],[0,1.5],[0,0]]",
    "'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[6,0],[0,1]]},{'A':[[1,0],[0,1]],'V':[[1,0],[0,1]]}],"
    "'output':[[0.25,0,3,0],[0,1.5,0,1]]",
    "'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[6,0],[0,1]]}]"};

Test(certify_frobenius, masks_and_outputs)
{
    static const char *const masks[] = {"'none'", "'causal'", "[[1,0,1],[1,1,0],[0,0,1]]"};
    static const char *const kinds[] = {"sigmoid", "dot"};

    for (size_t i = 0; i < 18; i++) {
        const bool sigmoid = i < 9;
        tl_problem problem;
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{'kind':'%s',%s'mask':%s,%s},"
                  "'tokens':[[1,0],[0,-1],[0.5,0.25]]}",
                  kinds[i / 9], sigmoid ? "'bias':-1," : "", masks[i % 3], layers[i / 3 % 3]);
        /* The rows of row-fro are searched for, each writing by itself. */
        expect_both(&problem, sigmoid ? "sigmoid-fro" : "row-fro", sigmoid ? 1e-11 : 0.01,
                    masks[i % 3]);
        tl_problem_clear(&problem);
    }
}

/* So many tokens that the average over rows of no mask is below the largest row. */
Test(certify_frobenius, no_average_under_a_mask)
{
    enum { MANY = 40 };
    char tokens[8 * MANY] = "";
    double value[2];

    for (int i = 0, used = 0; i < MANY; i++)
        used += snprintf(tokens + used, sizeof tokens - (size_t)used, "%s[%d]", i ? "," : "", i);
    for (int i = 0; i < 2; i++) {
        tl_problem problem;
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{'kind':'l2','mask':'%s',"
                  "'heads':[{'Q':[[1]],'V':[[1]]}]},'tokens':[%s]}",
                  i ? "causal" : "none", tokens);
        expect_both(&problem, "l2-fro", 1e-6, i ? "causal" : "none");
        value[i] = upper_end(&problem, &(tl_certify_settings){0}, "l2-fro", true);
        tl_problem_clear(&problem);
    }
    cr_expect(value[1] > value[0] + 0.01, "10^%g without a mask, 10^%g with one", value[0],
              value[1]);
}
