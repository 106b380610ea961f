/* The norm of a whole layer with many tokens: iteration over panels of rows.
 *
 *   layer D HEADS N none|causal SEED REPEATS [FILE]
 *
 * draws weights and tokens of the sizes of a transformer at its initialisation, writes them to FILE
 * (doubles: x, then Q K V of head after head, then O) for the other side to read, and prints one
 * line for double and one for mixed precision. */
#include <string.h>

#include "bench.h"
#include "tightlip/linalg.h"
#include "tightlip/rng.h"

enum { PEAK = 768, PEAK_ROUNDS = 3 };
static const double STRICT = 1e-9;      /* error of the reference */
static const double VALUE_LIMIT = 1e-6; /* of the value: a miss is not timed */

typedef struct {
    size_t d, heads, n, repeats;
    tl_layer *layer;
    tl_measure *measure;
} bench;

/* Sum of twelve uniforms: close enough to normal here, and the same everywhere. */
static double *normal(gsl_rng *rng, size_t count, double std)
{
    double *x = malloc(count * sizeof *x);
    require(x != NULL, "out of memory");
    for (size_t i = 0; i < count; i++) {
        double sum = -6.0;
        for (int j = 0; j < 12; j++) sum += gsl_rng_uniform(rng);
        x[i] = std * sum;
    }
    return x;
}

static void save(FILE *file, size_t count, const double *x)
{
    if (file) require(fwrite(x, sizeof *x, count, file) == count, "the file cannot be written");
}

static void bench_init(bench *b, tl_mask mask, uint64_t seed, const char *path)
{
    const size_t d = b->d, k = d / b->heads;
    const double std = 1.5 / sqrt((double)d);
    gsl_rng *rng = tl_rng_stream_alloc(seed, d, b->n);
    FILE *file = path ? fopen(path, "wb") : NULL;
    tl_head *head = calloc(b->heads, sizeof *head);
    require(rng && head && (file || !path), "out of memory, or the file cannot be made");
    double *x = normal(rng, b->n * d, 1.0), *O = normal(rng, d * d, std);
    save(file, b->n * d, x);
    for (size_t h = 0; h < b->heads; h++) {
        head[h] = (tl_head){.k = k, .v = k, .scale = 1.0 / sqrt((double)k)};
        save(file, k * d, head[h].Q = normal(rng, k * d, std));
        save(file, k * d, head[h].K = normal(rng, k * d, std));
        save(file, k * d, head[h].V = normal(rng, k * d, std));
    }
    save(file, d * d, O);
    require(!tl_layer_alloc(&b->layer, TL_KIND_DOT, mask, d, b->heads, head, O, d, NULL) &&
                !tl_measure_alloc(&b->measure, b->n, d, x, NULL, NULL, NULL) &&
                (!file || !fclose(file)),
            "no layer");
    tl_heads_clear(head, b->heads);
    free(head);
    free(x);
    free(O);
    gsl_rng_free(rng);
}

/* Multiplications and additions of one product. */
static double operations(const bench *b)
{
    const double n = (double)b->n, d = (double)b->d, width = 3.0 * d;
    const double pairs = b->layer->mask == TL_MASK_CAUSAL ? n * (n + 1.0) / 2.0 : n * n;
    return 2.0 * n * d * (width + d) + 8.0 * pairs * d;
}

/* Seconds that the work would take at the rate of a large product. A step is two products, two more
 * measure the pair in double precision, and images, keys and queries (most of half a product) are
 * made once in every precision in use. */
static double ideal_seconds(const bench *b, bool mixed, const tl_norm_layer_result *found,
                            const double peak[2], double *count)
{
    const double n = (double)b->n, d = (double)b->d;
    const double fine = (double)found->doubles * operations(b) + 6.0 * n * d * d;
    const double all = 2.0 * (double)found->steps + 2.0, made = all - (double)found->doubles;
    const double coarse = mixed ? made * operations(b) + 6.0 * n * d * d : 0.0;
    *count = fine + coarse;
    return fine / peak[0] + coarse / peak[1];
}

static void row(const bench *b, bool mixed, double reference)
{
    const tl_norm_settings settings = {.products = mixed ? TL_PRODUCTS_AUTO : TL_PRODUCTS_DOUBLE};
    double times[16], peak[2] = {0.0, 0.0}, count;
    tl_norm_layer_result found;
    for (size_t i = 0; i < b->repeats; i++) {
        for (int single = 0; single < 2; single++)
            peak[single] = fmax(peak[single], bench_peak(PEAK, PEAK_ROUNDS, single));
        const double start = cpu_seconds();
        require(!tl_norm_layer(b->layer, b->measure, &settings, NULL, &found, NULL), "no norm");
        times[i] = cpu_seconds() - start;
    }
    require(fabs(found.value / reference - 1.0) <= VALUE_LIMIT, "the norm is not the reference");
    require(found.converged, "the norm has not converged");
    const double median = bench_median(b->repeats, times);
    const double ideal = ideal_seconds(b, mixed, &found, peak, &count);
    printf("{\"precision\": \"%s\", \"seconds\": %.6g, \"least\": %.6g, \"most\": %.6g, "
           "\"steps\": %zu, \"double_products\": %zu, \"value\": %.15g, \"reference\": %.15g, "
           "\"residual\": %.3g, \"error\": %.3g, \"kept\": %s, \"bytes\": %zu, "
           "\"operations\": %.6g, \"rate\": %.6g, \"peak\": %.6g, \"peak_single\": %.6g, "
           "\"share\": %.6g}\n",
           mixed ? "mixed" : "double", median, times[0], times[b->repeats - 1], found.steps,
           found.doubles, found.value, reference, found.residual, found.error,
           found.kept ? "true" : "false", found.bytes, count, count / median, peak[0], peak[1],
           ideal / median);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    require(argc == 7 || argc == 8, "expected: layer D HEADS N none|causal SEED REPEATS [FILE]");
    bench_begin(argv);
    tl_mask mask;
    bench b = {.d = strtoul(argv[1], NULL, 10),
               .heads = strtoul(argv[2], NULL, 10),
               .n = strtoul(argv[3], NULL, 10),
               .repeats = strtoul(argv[6], NULL, 10)};
    require(!tl_mask_from_name(argv[4], &mask) && b.heads && b.d >= b.heads && b.n && b.repeats &&
                b.repeats <= 16,
            "expected sizes above 0, mask none or causal, at most 16 repeats");
    bench_init(&b, mask, strtoull(argv[5], NULL, 10), argc == 8 ? argv[7] : NULL);
    const tl_norm_settings strict = {.value = STRICT};
    tl_norm_layer_result reference;
    require(!tl_norm_layer(b.layer, b.measure, &strict, NULL, &reference, NULL) &&
                reference.converged,
            "no reference");
    row(&b, false, reference.value);
    row(&b, true, reference.value);
    tl_layer_free(b.layer);
    tl_measure_free(b.measure);
    return 0;
}
