/* The local norm of one attention head at given tokens, and the best proven bound on their ball.
 *
 *   cc local_norm.c $(pkg-config --cflags --libs tightlip) -lm -o local_norm
 */
#include <math.h>
#include <stdio.h>
#include <tightlip/bounds.h>
#include <tightlip/norm.h>

int main(void)
{
    const double A[] = {-1, 0, 0, -1}, V[] = {1, 0, 0, 1};
    const double x[] = {2, 0, -1, 1, 0, -2}; /* three tokens of width 2 */
    const double radius = 2;
    tl_layer *layer = NULL;
    tl_measure *tokens = NULL;
    tl_head_facts head;
    tl_bound_query query;
    tl_norm_result norm;
    tl_error error = {0};

    if (tl_layer_alloc_av(&layer, 2, 2, A, V) ||
        tl_measure_alloc(&tokens, 3, 2, x, NULL, NULL, &error) ||
        tl_norm_compute(layer, tokens, TL_NORM_2, NULL, &norm, &error) ||
        tl_bound_query_init(&query, &head, layer, tokens, NULL, radius, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    printf("norm %.12g\n", norm.value);
    for (size_t i = 0; i < tl_bound_count(); i++) {
        const tl_bound *bound = tl_bound_at(i);
        tl_bound_value value;
        if (tl_bound_evaluate(bound, &query, &value, &error) == TL_OK && value.applicable &&
            bound->norm == TL_NORM_2 && bound->provenance == TL_PROVENANCE_PROVEN)
            printf("%-16s %.6g\n", bound->key, exp(value.log_value));
    }
    tl_measure_free(tokens);
    tl_layer_free(layer);
    return 0;
}
