/* Maxima over boxes in ball arithmetic against those of tightlip/bounds.h: over sizes and numbers
 * of tokens, each by its own search. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "certify/boxes.h"
#include "support/tent.h"
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

/* Wherever the top is, no budget leaves it out, nor are boxes forgotten that were thrown away. */
Test(certify_boxes, no_place_is_passed_over)
{
    static const double numbers[] = {0, 0.3, 0.5 + 0x1p-13, 1};

    for (int i = 0; i < 40; i++) {
        const double top[2] = {numbers[i % 4], i / 4};
        tl_certify_boxes problem = {.dim = 2,
                                    .hi = {1, 9},
                                    .whole = {false, true},
                                    .context = top,
                                    .upper = tent,
                                    .ceiling = (double)INFINITY,
                                    .tolerance = 1e-9};
        double bound = 0;
        for (problem.budget = 0; problem.budget < 200; problem.budget = 2 * problem.budget + 1) {
            bound = tl_certify_boxes_max(&problem);
            cr_expect_geq(bound, 2, "(%g, %g), budget %zu: %.17g", top[0], top[1], problem.budget,
                          bound);
        }
        cr_expect_leq(bound, 2 + 1e-6, "(%g, %g): %.17g", top[0], top[1], bound);
        problem.tolerance = 0.5;
        cr_expect_geq(tl_certify_boxes_max(&problem), 2);
        problem.ceiling = 1.5;
        cr_expect_geq(tl_certify_boxes_max(&problem), 1.5);
        problem.floor = 3;
        cr_expect_eq(tl_certify_boxes_max(&problem), 3);
    }
}

/* Balls that are wide, or not numbers, by their ends. */
Test(certify_boxes, ends_of_balls)
{
    static const double products[][3] = {
        {0.125, 0.25, 0.1875}, {0.75, 0.875, 0.1875}, {0.25, 0.625, 0.25}, {0.5, 0.5, 0.25}};
    arb_t x, y, product;

    arb_init(x);
    arb_init(y);
    arb_init(product);
    arb_one(x);
    mag_set_ui_2exp_si(arb_radref(x), 1, -2);
    cr_expect(tl_certify_up(x) >= 1.25 && tl_certify_up(x) < 1.25 + 1e-8);
    cr_expect(tl_certify_down(x) <= 0.75 && tl_certify_down(x) > 0.75 - 1e-8);
    cr_expect_eq(tl_certify_mid(x), 1);
    arb_set_ui(x, 1);
    arb_div_ui(x, x, 3, TL_CERTIFY_BOX_BITS);
    cr_expect_eq(tl_certify_up(x), nextafter(1.0 / 3, 1)); /* 1.0 / 3 is below */
    cr_expect_eq(tl_certify_down(x), 1.0 / 3);
    arb_zero_pm_inf(x);
    cr_expect(tl_certify_up(x) > 0 && isinf(tl_certify_up(x)));
    cr_expect(tl_certify_down(x) < 0 && isinf(tl_certify_down(x)));
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        arb_set_d(x, products[i][0]);
        arb_set_d(y, products[i][1]);
        tl_certify_product_max(product, x, y, TL_CERTIFY_BOX_BITS);
        cr_expect_eq(tl_certify_mid(product), products[i][2], "row %zu", i);
    }
    arb_clear(product);
    arb_clear(y);
    arb_clear(x);
}
