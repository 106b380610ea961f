#include <criterion/criterion.h>
#include <math.h>

#include "support/bound_query.h"

/* g, n, largest norm found by search (d up to 4, gradient ascent with restarts, R = 1, V = I), and
 * the first-version Schur bound of an independent implementation whose b ran over a grid: at most a
 * few 1e-5 above the true minimum over b. */
typedef struct {
    double g, n, found, schur;
} cell;

static const cell cells[] = {
    {0.25, 2, 1.235, 1.4001},
    {0.25, 3, 1.20333, 1.45013},
    {0.25, 4, 1.235, 1.47773},
    {0.25, 8, 1.235, 1.52294},
    {0.25, 16, 1.235, 1.5475},
    {0.25, 64, 1.235, 1.56689},
    {0.25, 256, 1.235, 1.57187},
    {0.25, 1024, 1.235, 1.57312},
    {0.25, 10000, 1.235, 1.5735},
    {0.25, 1e+06, 1.235, 1.57354},
    {0.25, 1e+09, 1.235, 1.57354},
    {0.25, (double)INFINITY, 1.235, 1.57354},
    {1, 2, 2, 2.78091},
    {1, 3, 2.00807, 3.173},
    {1, 4, 2.20946, 3.38535},
    {1, 8, 2.87413, 3.86641},
    {1, 16, 3.06377, 4.24976},
    {1, 64, 3.06377, 4.66562},
    {1, 256, 3.06849, 4.79714},
    {1, 1024, 3.06866, 4.83229},
    {1, 10000, 3.06868, 4.843},
    {1, 1e+06, 3.06868, 4.84422},
    {1, 1e+09, 3.06868, 4.84423},
    {1, (double)INFINITY, 3.06868, 4.84423},
    {2, 2, 4, 4.62869},
    {2, 3, 3.99683, 5.21948},
    {2, 4, 4.00607, 5.71753},
    {2, 8, 4.60698, 7.25738},
    {2, 16, 6.33898, 9.43506},
    {2, 64, 11.8379, 14.1889},
    {2, 256, 12.9949, 17.0243},
    {2, 1024, 12.9949, 18.1063},
    {2, 10000, 12.9963, 18.4783},
    {2, 1e+06, 12.9963, 18.522},
    {2, 1e+09, 12.9963, 18.5224},
    {2, (double)INFINITY, 12.9963, 18.5224},
    {8, 2, 16, 16.5217},
    {8, 3, 16.2996, 18.4369},
    {8, 4, 16.7742, 20.0515},
    {8, 8, 18.6848, 25.0434},
    {8, 16, 23.4019, 32.103},
    {8, 64, 45.2464, 56.206},
    {8, 256, 89.1442, 104.412},
    {8, 1024, 172.928, 200.824},
    {8, 10000, 489.835, 610.575},
    {8, 1e+06, 4461.08, 6033.75},
    {8, 1e+09, 16788.6, 23935.2},
    {8, (double)INFINITY, 16788.9, 24041.3},
    {16, 2, 32, 32.5095},
    {16, 3, 32.6382, 36.2199},
    {16, 4, 33.6451, 39.3479},
    {16, 8, 38.6248, 49.019},
    {16, 16, 49.0279, 62.6959},
    {16, 64, 91.4015, 109.392},
    {16, 256, 181.444, 202.783},
    {16, 1024, 362.696, 389.567},
    {16, 10000, 1132.98, 1183.4},
    {16, 1e+06, 11162.3, 11690},
    {16, 1e+09, 307463, 369179},
    {16, (double)INFINITY, 9.62081e+07, 1.42455e+08},
    {64, 2, 128, 128.503},
    {64, 3, 133.502, 143},
    {64, 4, 140.395, 155.221},
    {64, 8, 165.608, 193.006},
    {64, 16, 207.276, 246.442},
    {64, 64, 374.924, 428.883},
    {64, 256, 726.78, 793.767},
    {64, 1024, 1448.33, 1523.53},
    {64, 10000, 4525.95, 4625.04},
    {64, 1e+06, 45260.4, 45674.4},
    {64, 1e+09, 1.43126e+06, 1.44239e+06},
    {64, (double)INFINITY, 2.61893e+29, 3.99098e+29},
};
enum { CELLS = sizeof cells / sizeof cells[0] };

Test(bounds_reference, schur_is_the_reference_to_its_digits)
{
    for (size_t i = 0; i < CELLS; i++) {
        double relative = exp(plain("schur", cells[i].g, cells[i].n)) / cells[i].schur - 1;
        cr_expect(relative < 5e-6, "g %g n %g: %g above", cells[i].g, cells[i].n, relative);
        cr_expect(relative > -2e-5, "g %g n %g: %g below", cells[i].g, cells[i].n, relative);
    }
}

Test(bounds_reference, every_bound_is_above_the_best_inputs_found)
{
    for (size_t i = 0; i < CELLS; i++)
        for (size_t b = 0; b < tl_bound_count(); b++) {
            const tl_bound *bound = tl_bound_at(b);
            double log_value = plain(bound->key, cells[i].g, cells[i].n);
            if (bound->norm != TL_NORM_2 || isnan(log_value)) continue;
            /* Six digits are printed. */
            cr_expect(log_value >= log(cells[i].found) - 5e-6, "%s g %g n %g: %g < %g", bound->key,
                      cells[i].g, cells[i].n, exp(log_value), cells[i].found);
        }
}

Test(bounds_reference, sharp_is_the_smallest_and_nearly_attained)
{
    double log_ratio = 0;

    for (size_t i = 0; i < CELLS; i++) {
        double sharp = plain("sharp", cells[i].g, cells[i].n);
        cr_expect(sharp <= plain("schur", cells[i].g, cells[i].n));
        log_ratio += sharp - log(cells[i].found);
        for (size_t b = 0; b < 3; b++) {
            double other = plain(tl_bound_at(b)->key, cells[i].g, cells[i].n);
            cr_expect(!(other < sharp), "%s below sharp at g %g n %g", tl_bound_at(b)->key,
                      cells[i].g, cells[i].n);
        }
    }
    cr_expect(exp(log_ratio / CELLS) < 1.12, "geometric mean %g", exp(log_ratio / CELLS));
    /* Mean field at large g is solved: the two-Dirac input attains the bound. */
    cr_expect_float_eq(plain("sharp", 8, (double)INFINITY), log(16788.9), 1e-5);
}
