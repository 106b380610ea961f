/* The forward pass of a model in a directory: time and peak memory of the process.
 *
 *   forward MODEL N [double]    ids 0, 7, 14, .. modulo the vocabulary */
#include <string.h>
#include <sys/resource.h>

#include "bench.h"
#include "tightlip/linalg.h"
#include "tightlip/transformer.h"

int main(int argc, char **argv)
{
    require(argc == 3 || argc == 4, "expected: forward MODEL N [double]");
    bench_begin(argv);
    const size_t n = (size_t)strtoull(argv[2], NULL, 10);
    const tl_precision precision = argc == 4 ? TL_PRECISION_DOUBLE : TL_PRECISION_SINGLE;
    tl_transformer *model = NULL;
    tl_transformer_states states;
    struct rusage usage;

    require(!tl_transformer_open(&model, argv[1], NULL), "the model cannot be read");
    const tl_transformer_config *c = tl_transformer_about(model);
    uint32_t *id = malloc((n + 1) * sizeof *id);
    require(id != NULL, "out of memory");
    for (size_t i = 0; i < n; i++) id[i] = (uint32_t)(7 * i % c->vocab);
    const tl_transformer_input input = {.n = n, .id = id};
    const double start = cpu_seconds();
    require(!tl_transformer_run(model, &input, precision, &states, NULL), "the pass failed");
    const double seconds = cpu_seconds() - start;
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("{\"n\": %zu, \"weights\": %zu, \"seconds\": %.6g, \"peak_bytes\": %ld, ", n,
           tl_transformer_weights(model), seconds, 1024 * usage.ru_maxrss);
    print_array("output", 12, states.output + (n - 1) * states.d);
    printf("}\n");
    tl_transformer_states_clear(&states);
    free(id);
    tl_transformer_free(model);
    return 0;
}
