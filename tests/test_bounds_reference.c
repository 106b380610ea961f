#include <criterion/criterion.h>
#include <math.h>

#include "support/bound_query.h"
#include "support/draws.h"
#include "support/reference_table.h"

Test(bounds_reference, schur_is_the_reference_to_its_digits)
{
    reference_cell cells[REFERENCE_CELLS];
    reference_table_read(cells);
    for (size_t i = 0; i < REFERENCE_CELLS; i++) {
        double relative = exp(plain("schur", cells[i].g, cells[i].n)) / cells[i].schur - 1;
        cr_expect(relative < 5e-6, "g %g n %g: %g above", cells[i].g, cells[i].n, relative);
        cr_expect(relative > -2e-5, "g %g n %g: %g below", cells[i].g, cells[i].n, relative);
    }
}

Test(bounds_reference, every_bound_is_above_the_best_inputs_found)
{
    reference_cell cells[REFERENCE_CELLS];
    reference_table_read(cells);
    for (size_t i = 0; i < REFERENCE_CELLS; i += draw_stride(7))
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
    reference_cell cells[REFERENCE_CELLS];
    reference_table_read(cells);
    double log_ratio = 0;

    for (size_t i = 0; i < REFERENCE_CELLS; i++) {
        double sharp = plain("sharp", cells[i].g, cells[i].n);
        cr_expect(sharp <= plain("schur", cells[i].g, cells[i].n));
        log_ratio += sharp - log(cells[i].found);
        for (size_t b = 0; b < 3; b++) {
            double other = plain(tl_bound_at(b)->key, cells[i].g, cells[i].n);
            cr_expect(!(other < sharp), "%s below sharp at g %g n %g", tl_bound_at(b)->key,
                      cells[i].g, cells[i].n);
        }
    }
    cr_expect(exp(log_ratio / REFERENCE_CELLS) < 1.12, "geometric mean %g",
              exp(log_ratio / REFERENCE_CELLS));
    /* Mean field at large g is solved: the two-Dirac input attains the bound. */
    cr_expect_float_eq(plain("sharp", 8, (double)INFINITY), log(16788.9), 1e-5);
}
