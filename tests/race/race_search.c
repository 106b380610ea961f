/* The parallel search under ThreadSanitizer: a plain driver, since the unit test runner forks. */
#include <math.h>
#include <stdio.h>

#include "tightlip/search.h"

int main(void)
{
    const double A[4] = {-1, 0, 0, -1}, V[4] = {1, 0, 0, 1};
    tl_layer *layer = NULL;
    tl_domain *domain = NULL;
    if (tl_layer_alloc_av(&layer, 2, 2, A, V) || tl_domain_alloc_ball(&domain, 2, 2.0, NULL, NULL))
        return 1;
    double values[2] = {0.0, 0.0};
    for (int i = 0; i < 2; i++) {
        const tl_search_problem problem = {.layer = layer,
                                           .worst_a = true,
                                           .norm_a = 1.0,
                                           .domain = domain,
                                           .n = 20,
                                           .atoms = 3,
                                           .log_mass_ratio = (double)NAN,
                                           .norm = TL_NORM_2};
        tl_search_settings settings;
        tl_search_result best;
        tl_search_defaults(&settings);
        settings.restarts = 16;
        settings.evaluations = 60;
        if (tl_search_run(&problem, &settings, &best, NULL)) return 1;
        values[i] = best.norm.value;
        tl_search_result_clear(&best);
    }
    tl_layer_free(layer);
    tl_domain_free(domain);
    printf("race_search: %.17g twice\n", values[0]);
    return values[0] < values[1] || values[0] > values[1];
}
