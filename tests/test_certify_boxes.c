/* Maxima over boxes in ball arithmetic against those of tightlip/bounds.h: over sizes and numbers
 * of tokens, each by its own search. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/witness_text.h"

/* log of the bound `key` of a row by both writings; false where it does not apply. */
static bool both(const tl_certificate *balls, const tl_certificate *doubles, const char *key,
                 double *ball, double *plain)
{
    for (size_t i = 0; i < balls->bounds; i++) {
        if (strcmp(balls->bound[i].bound->key, key) != 0 || !balls->bound[i].applicable) continue;
        cr_expect(balls->bound[i].enclosed && !doubles->bound[i].enclosed, "%s", key);
        *ball = balls->bound[i].value.high.log10 * log(10);
        *plain = doubles->bound[i].value.high.log10 * log(10);
        return true;
    }
    return false;
}

/* A is `a` times a quarter turn, two tokens with copies in the unit ball. */
static const struct {
    double a;
    const char *copies, *mask;
} rows[] = {
    {0.2, "[1,1]", "none"}, {1, "[1,1]", "none"},        {5, "[1,1]", "none"},
    {0.5, "[1,2]", "none"}, {3, "[2,6]", "none"},        {1.5, "[1,999]", "none"},
    {6, "[3,100]", "none"}, {12, "[1,1000000]", "none"}, {2, "[1,1]", "causal"},
};

Test(certify_boxes, two_searches_agree)
{
    static const char *const keys[] = {"sharp", "row-fro", "numerical-range"};
    size_t seen[3] = {0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tl_certify_settings boxes = {.boxes = true};
        tl_problem problem;
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{'kind':'dot','mask':'%s',"
                  "'heads':[{'A':[[0,%g],[%g,0]],'V':[[1,0],[0,1]]}]},'tokens':[[1,0],[0,-1]],"
                  "'multiplicity':%s,'domain':{'kind':'ball','radius':1}}",
                  rows[i].mask, rows[i].a, -rows[i].a, rows[i].copies);
        tl_certificate balls = certify(&problem, &boxes), doubles = certify(&problem, NULL);
        for (size_t k = 0; k < 3; k++) {
            double ball = 0, plain = 0;
            if (!both(&balls, &doubles, keys[k], &ball, &plain)) continue;
            seen[k]++;
            /* Either search may have gone further; neither much. */
            cr_expect(ball > plain - 0.02 && ball < plain + 0.06,
                      "row %zu, %s: %.9g, by doubles %.9g", i, keys[k], ball, plain);
            cr_expect_geq(ball, log(balls.norm_at_x.low.value),
                          "row %zu, %s below the norm at a token", i, keys[k]);
        }
        tl_certificate_clear(&doubles);
        tl_certificate_clear(&balls);
        tl_problem_clear(&problem);
    }
    for (size_t k = 0; k < 3; k++) cr_expect_geq(seen[k], 3, "%s", keys[k]);
}

/* Behind a norm of unequal gains: logits half of what the deviations of the values allow. A row
 * that takes one for the other comes out lower than it may. */
Test(certify_boxes, rows_whose_logits_are_smaller)
{
    static const char *const copies[] = {"[100,200]", "[1000,2000]"};
    const tl_certify_settings boxes = {.boxes = true};

    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        double ball = 0, plain = 0;
        tl_problem problem;
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':["
                  "{'A':[[0,0],[4,0]],'V':[[1,0]]}]},'tokens':[[1,0],[0,0]],'multiplicity':%s,"
                  "'domain':{'kind':'rms-norm','gain':[1,0.5],'eps':1}}",
                  copies[i]);
        tl_certificate balls = certify(&problem, &boxes), doubles = certify(&problem, NULL);
        cr_assert(both(&balls, &doubles, "ellipsoid", &ball, &plain));
        cr_expect(ball > plain - 5e-4 && ball < plain + 0.03, "row %zu: %.9g, by doubles %.9g", i,
                  ball, plain);
        tl_certificate_clear(&doubles);
        tl_certificate_clear(&balls);
        tl_problem_clear(&problem);
    }
}
