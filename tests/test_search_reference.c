/* The best values known over the (g, n) table, A searched, d = 4: reached to 2e-3, and none above
 * the proven bound beside it. A sample of the cells here, all of them with TIGHTLIP_SOAK. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "support/draws.h"
#include "support/reference_table.h"
#include "tightlip/search.h"

enum { WIDTH = 4, SAMPLE_STRIDE = 9 };

static double found(double g, double n, size_t evaluations)
{
    double A[WIDTH * WIDTH] = {0}, V[WIDTH * WIDTH] = {0};
    tl_layer *layer = NULL;
    tl_domain *domain = NULL;
    for (size_t i = 0; i < WIDTH; i++) {
        A[i * WIDTH + i] = -1.0;
        V[i * WIDTH + i] = 1.0;
    }
    cr_assert_eq(tl_layer_alloc_av(&layer, WIDTH, WIDTH, A, V), TL_OK);
    cr_assert_eq(tl_domain_alloc_ball(&domain, WIDTH, sqrt(g), NULL, NULL), TL_OK);
    const tl_search_problem problem = {.layer = layer,
                                       .worst_a = true,
                                       .norm_a = 1.0,
                                       .domain = domain,
                                       .n = isinf(n) ? 0 : (uint64_t)n,
                                       .atoms = 4,
                                       .log_mass_ratio = (double)NAN,
                                       .norm = TL_NORM_2};
    tl_search_settings settings;
    tl_search_result best;
    tl_error err = {0};
    tl_search_defaults(&settings);
    settings.evaluations = evaluations;
    cr_assert_eq(tl_search_run(&problem, &settings, &best, &err), TL_OK, "%s", err.text);
    const double log_value = best.norm.log_value;
    tl_search_result_clear(&best);
    tl_layer_free(layer);
    tl_domain_free(domain);
    return log_value;
}

Test(search_reference, best_known_values_are_reached)
{
    const bool all = getenv("TIGHTLIP_SOAK") != NULL;
    const size_t first = all ? 0 : 4, stride = all ? 1 : SAMPLE_STRIDE * draw_stride(8);
    reference_cell cells[REFERENCE_CELLS];
    reference_table_read(cells);
    for (size_t i = first; i < REFERENCE_CELLS; i += stride) {
        const reference_cell *c = &cells[i];
        const double log_value = found(c->g, c->n, 4000);
        cr_expect(log_value >= log(c->found) - 2e-3, "g = %g, n = %g: found %.8g, known %.8g", c->g,
                  c->n, exp(log_value), c->found);
        cr_expect(log_value <= log(c->proven) + 1e-5, "g = %g, n = %g: found %.8g above %.8g", c->g,
                  c->n, exp(log_value), c->proven);
    }
}
