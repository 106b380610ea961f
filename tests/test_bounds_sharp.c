/* sharp: its table, two tokens, and the branch and bound behind it. README section 6. */
#include <criterion/criterion.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/internal.h"
#include "support/bound_query.h"

/* g, n, largest norm found by search, and the bound of an independent implementation (numpy, its
 * branch and bound ended a few 1e-3 above the maximum). R = 1, V = I. */
typedef struct {
    double g, n, found, proven;
} cell;

static const cell cells[] = {
    {0.25, 2, 1.235, 1.36054},
    {0.25, 3, 1.20333, 1.36054},
    {0.25, 4, 1.235, 1.36054},
    {0.25, 8, 1.235, 1.36054},
    {0.25, 16, 1.235, 1.36054},
    {0.25, 64, 1.235, 1.36054},
    {0.25, 256, 1.235, 1.36054},
    {0.25, 1024, 1.235, 1.36054},
    {0.25, 10000, 1.235, 1.36054},
    {0.25, 1e+06, 1.235, 1.36054},
    {0.25, 1e+09, 1.235, 1.36054},
    {0.25, (double)INFINITY, 1.235, 1.36054},
    {1, 2, 2, 2.59183},
    {1, 3, 2.00807, 2.87321},
    {1, 4, 2.20946, 3.10329},
    {1, 8, 2.87413, 3.54704},
    {1, 16, 3.06377, 3.74485},
    {1, 64, 3.06377, 3.74485},
    {1, 256, 3.06849, 3.74485},
    {1, 1024, 3.06866, 3.74485},
    {1, 10000, 3.06868, 3.74485},
    {1, 1e+06, 3.06868, 3.74485},
    {1, 1e+09, 3.06868, 3.74485},
    {1, (double)INFINITY, 3.06868, 3.74485},
    {2, 2, 4, 4.37144},
    {2, 3, 3.99683, 4.76008},
    {2, 4, 4.00607, 5.10189},
    {2, 8, 4.60698, 6.10408},
    {2, 16, 6.33898, 7.61871},
    {2, 64, 11.8379, 12.4571},
    {2, 256, 12.9949, 13.5578},
    {2, 1024, 12.9949, 13.5578},
    {2, 10000, 12.9963, 13.5578},
    {2, 1e+06, 12.9963, 13.5578},
    {2, 1e+09, 12.9963, 13.5578},
    {2, (double)INFINITY, 12.9963, 13.5578},
    {8, 2, 16, 16.1049},
    {8, 3, 16.2996, 17.3554},
    {8, 4, 16.7742, 18.4541},
    {8, 8, 18.6848, 22.0594},
    {8, 16, 23.4019, 27.6124},
    {8, 64, 45.2464, 48.5243},
    {8, 256, 89.1442, 92.6787},
    {8, 1024, 172.928, 180.813},
    {8, 10000, 489.835, 543.523},
    {8, 1e+06, 4461.08, 4791.88},
    {8, 1e+09, 16788.6, 16801.4},
    {8, (double)INFINITY, 16788.9, 16801.4},
    {16, 2, 32, 32.0616},
    {16, 3, 32.6382, 34.5296},
    {16, 4, 33.6451, 36.6982},
    {16, 8, 38.6248, 43.8396},
    {16, 16, 49.0279, 54.8154},
    {16, 64, 91.4015, 96.2561},
    {16, 256, 181.444, 184.639},
    {16, 1024, 362.696, 365.131},
    {16, 10000, 1132.98, 1136.95},
    {16, 1e+06, 11162.3, 11279.6},
    {16, 1e+09, 307463, 330015},
    {16, (double)INFINITY, 9.62081e+07, 9.62798e+07},
    {64, 2, 128, 128.056},
    {64, 3, 133.502, 137.893},
    {64, 4, 140.395, 146.532},
    {64, 8, 165.608, 174.979},
    {64, 16, 207.276, 218.704},
    {64, 64, 374.924, 383.775},
    {64, 256, 726.78, 735.988},
    {64, 1024, 1448.33, 1455.34},
    {64, 10000, 4525.95, 4532.32},
    {64, 1e+06, 45260.4, 45311.2},
    {64, 1e+09, 1.43126e+06, 1.43286e+06},
    {64, (double)INFINITY, 2.61893e+29, 2.62089e+29},
};
enum { CELLS = sizeof cells / sizeof cells[0] };

Test(bounds_sharp, table_is_reached_and_improved)
{
    double log_ratio = 0;

    for (size_t i = 0; i < CELLS; i++) {
        const cell *c = &cells[i];
        double sharp = plain("sharp", c->g, c->n);
        cr_expect(sharp >= log(c->found) - 5e-6, "g %g n %g: %g", c->g, c->n, exp(sharp));
        /* Six digits are printed. */
        cr_expect(sharp <= log(c->proven) + 5e-6, "g %g n %g: %g", c->g, c->n, exp(sharp));
        log_ratio += sharp - log(c->found);
    }
    cr_expect(exp(log_ratio / CELLS) < 1.086, "geometric mean %.6f", exp(log_ratio / CELLS));
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
