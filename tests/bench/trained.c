/* The local norm of a trained block by Lanczos, and at few tokens against the dense twin: the token
 * Jacobian written out, singular values by LAPACK.
 *
 *   trained DIRECTORY BLOCK N [dense]    weights and tokens as in experiments/data/svtr */
#include <string.h>

#include "bench.h"
#include "tightlip/linalg.h"
#include "tightlip/model.h"

static const double VALUE_LIMIT = 1e-9;

static double *read_tokens(const char *directory, const char *block, const char *n, size_t *rows,
                           size_t *cols)
{
    char path[512], name[64];
    tl_weights *file = NULL;
    double *x = NULL;
    snprintf(path, sizeof path, "%s/svtr_tokens.safetensors", directory);
    snprintf(name, sizeof name, "block%s.n%s.s0", block, n);
    require(!tl_weights_open(&file, path, NULL) &&
                !tl_weights_read(file, name, &x, rows, cols, NULL),
            "the tokens cannot be read");
    tl_weights_close(file);
    return x;
}

static tl_layer *read_layer(const char *directory, const char *block)
{
    char path[512], prefix[64];
    tl_weights *file = NULL;
    tl_layer *layer = NULL;
    snprintf(path, sizeof path, "%s/svtr_attention.safetensors", directory);
    snprintf(prefix, sizeof prefix, "block%s.attn", block);
    const tl_module_spec spec = {.prefix = prefix, .heads = 8, .head = -1};
    require(!tl_weights_open(&file, path, NULL) && !tl_model_layer(file, &spec, &layer, NULL),
            "the weights cannot be read");
    tl_weights_close(file);
    return layer;
}

/* Processor seconds of the full SVD; checks its largest value against `value`. */
static double dense_seconds(const tl_layer *layer, const tl_measure *mu, double value)
{
    const size_t rows = mu->m * layer->out, cols = mu->m * layer->d;
    double *M = malloc(rows * cols * sizeof *M), norm = 0.0;
    require(M != NULL, "out of memory");
    const double start = cpu_seconds();
    require(!tl_jacobian_tokens_dense(layer, mu, M, NULL) && !tl_norm2_dense(rows, cols, M, &norm),
            "no dense norm");
    const double seconds = cpu_seconds() - start;
    free(M);
    require(fabs(value - norm) <= VALUE_LIMIT * norm, "the Lanczos norm is not the dense one");
    return seconds;
}

int main(int argc, char **argv)
{
    require(argc == 4 || argc == 5, "expected: trained DIRECTORY BLOCK N [dense]");
    bench_begin(argv);
    size_t n, d;
    tl_measure *mu = NULL;
    tl_norm_result norm;
    double *x = read_tokens(argv[1], argv[2], argv[3], &n, &d);
    tl_layer *layer = read_layer(argv[1], argv[2]);
    require(!tl_measure_alloc(&mu, n, d, x, NULL, NULL, NULL), "out of memory");
    const double start = cpu_seconds();
    require(!tl_norm_compute(layer, mu, TL_NORM_2, NULL, &norm, NULL), "no norm");
    const double seconds = cpu_seconds() - start;
    printf("{\"n\": %zu, \"value\": %.12g, \"residual\": %.3g, \"converged\": %s, \"dense\": %s, "
           "\"seconds\": %.6g, \"dense_seconds\": ",
           n, norm.value, norm.residual, norm.converged ? "true" : "false",
           norm.dense ? "true" : "false", seconds);
    if (argc == 5)
        printf("%.6g}\n", dense_seconds(layer, mu, norm.value));
    else
        printf("null}\n");
    tl_measure_free(mu);
    tl_layer_free(layer);
    free(x);
    return 0;
}
