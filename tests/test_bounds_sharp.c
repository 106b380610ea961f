/* sharp: its table, two tokens, and the branch and bound behind it. README section 6. */
#include <criterion/criterion.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/internal.h"
#include "support/bound_query.h"
#include "support/reference_table.h"
#include "support/tent.h"

Test(bounds_sharp, table_is_reached_and_improved)
{
    reference_cell cells[REFERENCE_CELLS];
    reference_table_read(cells);
    double log_ratio = 0;

    for (size_t i = 0; i < REFERENCE_CELLS; i++) {
        const reference_cell *c = &cells[i];
        double sharp = plain("sharp", c->g, c->n);
        cr_expect(sharp >= log(c->found) - 5e-6, "g %g n %g: %g", c->g, c->n, exp(sharp));
        /* Six digits are printed. */
        cr_expect(sharp <= log(c->proven) + 5e-6, "g %g n %g: %g", c->g, c->n, exp(sharp));
        log_ratio += sharp - log(c->found);
    }
    cr_expect(exp(log_ratio / REFERENCE_CELLS) < 1.086, "geometric mean %.6f",
              exp(log_ratio / REFERENCE_CELLS));
}

/* g, n, and the same bound with Theorem 6.4 on a fine grid: not certified there. */
Test(bounds_sharp, merging_with_both_norms_of_a_row)
{
    static const double table[][3] = {
        {0.25, 3, 1.35516}, {0.4, 8, 1.65644}, {0.75, 16, 2.63108}, {1, 3, 2.76882},
        {1, 4, 2.99831},    {1, 8, 3.45612},   {1, 64, 3.64793},    {1.5, 16, 6.01886},
        {1.5, 64, 6.97473}, {2, 16, 7.50073},  {2, 64, 12.4571},    {2, (double)INFINITY, 13.4079}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        double sharp = exp(plain("sharp", table[i][0], table[i][1]));
        cr_expect(sharp < 1.006 * table[i][2], "g %g n %g: %g", table[i][0], table[i][1], sharp);
        cr_expect(sharp > 0.98 * table[i][2], "g %g n %g: %g", table[i][0], table[i][1], sharp);
    }
}

Test(bounds_sharp, two_tokens)
{
    /* x = e_1, -e_1 and A a quarter turn: logits 0, ||J|| = 2g. */
    for (double g = 2; g <= 8; g += 1.5) {
        double sharp = plain("sharp", g, 2);
        cr_expect(sharp >= log(2 * g), "g %g", g);
        cr_expect(sharp <= log(2 * g) + 1e-3, "g %g: %g", g, exp(sharp) / (2 * g));
    }
    cr_expect_float_eq(plain("sharp", 0.1, 2), log(1.09900663), 2e-4);
    cr_expect_float_eq(plain("sharp", 0.25, 2), log(1.23500371), 5e-4);
    /* The maximum over three angles is the norm found by search, or 2g: never below. */
    static const double found[][2] = {{0.4, 1.34225551}, {0.54, 1.41325870}, {0.6, 1.44344},
                                      {0.75, 1.5516},    {0.8, 1.61886},     {1, 2}};
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        double ratio = exp(plain("sharp", found[i][0], 2)) / found[i][1];
        cr_expect(ratio >= 1 - 1e-6 && ratio < 1.14, "g %g: %g", found[i][0], ratio);
    }
}

/* 2 - (x - 1/3)^2 - (k - 3)^2 over [0, 1] x {0, .., 9}: 2. */
static double bowl(const void *context, const double *lo, const double *hi)
{
    const double third = 1.0 / 3, *top = context;
    double x = fmin(fmax(third, lo[0]), hi[0]) - third, k = fmin(fmax(3, lo[1]), hi[1]) - 3;

    return *top - x * x - k * k + (hi[0] - lo[0]) + (hi[1] - lo[1]);
}

Test(bounds_sharp, branch_and_bound)
{
    const double top = 2;
    tl_bounds_box_problem problem = {.dim = 2,
                                     .hi = {1, 9},
                                     .whole = {false, true},
                                     .context = &top,
                                     .upper = bowl,
                                     .ceiling = (double)INFINITY,
                                     .tolerance = 1e-9};
    double before = (double)INFINITY;

    for (problem.budget = 0; problem.budget < 5000; problem.budget = 2 * problem.budget + 1) {
        double bound = tl_bounds_box_max(&problem);
        cr_expect(bound >= top && bound <= before, "budget %zu: %.17g", problem.budget, bound);
        before = bound;
    }
    cr_expect_float_eq(before, top, 1e-5);
    problem.tolerance = 0.5;
    cr_expect(tl_bounds_box_max(&problem) >= top, "boxes thrown away count");
    problem.ceiling = 1.5;
    cr_expect(tl_bounds_box_max(&problem) >= 1.5, "a ceiling ends early and still bounds");
    problem.ceiling = (double)INFINITY;
    problem.floor = 3;
    cr_expect_float_eq(tl_bounds_box_max(&problem), 3, 1.5);
}

/* Wherever the top is, right beside a middle too, no split leaves it out. */
Test(bounds_sharp, no_place_is_passed_over)
{
    static const double numbers[] = {0, 0.3, 0.5, 0.5 + 0x1p-13, 0.75 - 0x1p-15, 1};

    for (int i = 0; i < 60; i++) {
        const double top[2] = {numbers[i % 6], i / 6};
        tl_bounds_box_problem problem = {.dim = 2,
                                         .hi = {1, 9},
                                         .whole = {false, true},
                                         .context = top,
                                         .upper = tent,
                                         .ceiling = (double)INFINITY,
                                         .tolerance = 1e-9};
        double bound = 0;
        for (problem.budget = 0; problem.budget < 200; problem.budget = 2 * problem.budget + 1) {
            bound = tl_bounds_box_max(&problem);
            cr_expect_geq(bound, 2, "(%g, %g), budget %zu: %.17g", top[0], top[1], problem.budget,
                          bound);
        }
        cr_expect_leq(bound, 2 + 1e-6, "(%g, %g): %.17g", top[0], top[1], bound);
    }
}
