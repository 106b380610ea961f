/* Layers with the weights of an untrained network. */
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "tightlip/rng.h"

enum { WEIGHTS_MAX = 100000000, WEIGHTS_IN_RECORD = 4096 };
/* The matrices of a head, and the columns of the output matrix that belong to it. */
enum { Q, K, V, O, PARTS };

typedef struct {
    long long d, heads, width, head, seed; /* head -1: all */
    double std, output_std;
} spec;

/* "all", or a number; a variable `head` goes first. */
static tl_status read_head(const tl_bindings *b, const config_setting_t *group, spec *r,
                           tl_error *err)
{
    const tl_value *value = tl_bindings_find(b, "head");
    const config_setting_t *at = config_setting_get_member(group, "head");
    const char *word = value && value->kind == TL_VALUE_TEXT ? value->text
                       : at && !value                        ? config_setting_get_string(at)
                                                             : NULL;

    r->head = -1;
    if (word && strcmp(word, "all") == 0) return TL_OK;
    return tl_bindings_integer(b, group, "head", "head", 0, r->heads - 1, &r->head, NULL, err);
}

static tl_status read_std(const tl_bindings *b, const config_setting_t *group, spec *r,
                          tl_error *err)
{
    bool found = false;
    tl_status s = tl_bindings_real(b, group, "std", NULL, &r->std, &found, err);

    if (!s && !found) {
        const config_setting_t *at;
        return tl_config_require(b->experiment, group, "std", &at, err);
    }
    r->output_std = r->std;
    if (!s) s = tl_bindings_real(b, group, "output_std", NULL, &r->output_std, NULL, err);
    if (!s && !(r->std > 0 && r->output_std > 0))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_DOMAIN,
                           "expected std and output_std above 0, found %g and %g", r->std,
                           r->output_std);
    return s;
}

static tl_status read_spec(const tl_bindings *b, const config_setting_t *group, spec *r,
                           tl_error *err)
{
    static const char *const keys[] = {"d", "heads", "width", "std", "output_std", "seed", "head"};
    static const char *const outer[] = {"random"};
    const config_setting_t *at;
    bool found = false;
    tl_status s = tl_layer_keys(b, outer, 1, err);

    *r = (spec){.heads = 1, .seed = 1};
    if (!s) s = tl_config_keys(b->experiment, group, keys, sizeof keys / sizeof *keys, err);
    if (!s) s = tl_bindings_integer(b, group, "d", "d", 1, 100000, &r->d, &found, err);
    if (!s && !found) s = tl_config_require(b->experiment, group, "d", &at, err);
    if (!s) s = tl_bindings_integer(b, group, "heads", NULL, 1, 100000, &r->heads, NULL, err);
    if (!s) s = tl_bindings_integer(b, group, "width", NULL, 1, 100000, &r->width, NULL, err);
    if (!s) s = tl_bindings_integer(b, group, "seed", NULL, 0, INT64_MAX, &r->seed, NULL, err);
    if (!s) s = read_head(b, group, r, err);
    if (!s) s = read_std(b, group, r, err);
    if (!s && r->width == 0 && r->d % r->heads != 0)
        s = tl_config_fail(b->experiment, group, err, TL_ERR_SHAPE,
                           "expected a width, or d = %lld that divides by %lld heads", r->d,
                           r->heads);
    if (s) return s;
    if (r->width == 0) r->width = r->d / r->heads;
    if ((double)r->d * (double)r->heads * (double)r->width * PARTS > WEIGHTS_MAX)
        return tl_config_fail(b->experiment, group, err, TL_ERR_LIMIT,
                              "expected at most %d weights, found more", WEIGHTS_MAX);
    return TL_OK;
}

/* Every matrix has a stream of its own, so that a head alone has the weights it has among all. */
static tl_status draw(const spec *r, size_t h, int part, double std, double *a)
{
    gsl_rng *rng = tl_rng_stream_alloc((uint64_t)r->seed, 1 + h, (uint64_t)part);
    const size_t count = (size_t)r->width * (size_t)r->d;

    if (!rng) return TL_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) a[i] = gsl_ran_gaussian_ziggurat(rng, std);
    gsl_rng_free(rng);
    return TL_OK;
}

/* Head h as number `slot` of `count`; its part of the output matrix stands last in its weights. */
static tl_status draw_head(const spec *r, tl_kind kind, size_t h, size_t slot, size_t count,
                           double *weights, tl_head *head, double *output)
{
    const size_t k = (size_t)r->width, d = (size_t)r->d, size = k * d;
    tl_status s = TL_OK;

    for (int part = Q; !s && part < PARTS; part++)
        s = draw(r, h, part, part == O ? r->output_std : r->std, weights + (size_t)part * size);
    for (size_t i = 0; !s && i < d; i++)
        memcpy(output + (i * count + slot) * k, weights + O * size + i * k, k * sizeof *output);
    *head = (tl_head){.k = k,
                      .v = k,
                      .Q = weights + Q * size,
                      .K = weights + K * size,
                      .V = weights + V * size,
                      .scale = 1 / sqrt((double)k)};
    if (kind == TL_KIND_L2) { /* tied, and the factor belongs to the kind */
        head->K = NULL;
        head->scale = 1;
    }
    if (kind == TL_KIND_COSINE) head->scale = 1; /* tau is in its place */
    return s;
}

tl_status tl_layer_random_read(const tl_bindings *b, tl_layer_spec *out, tl_error *err)
{
    const config_setting_t *group = config_setting_get_member(b->attention, "random");
    spec r;
    tl_status s = read_spec(b, group, &r, err);

    if (s) return s;
    const size_t count = r.head < 0 ? (size_t)r.heads : 1, d = (size_t)r.d;
    const size_t size = PARTS * d * (size_t)r.width;
    tl_head *head = calloc(count, sizeof *head);
    double *weights = calloc(count * size, sizeof *weights);
    double *output = calloc(d * count * (size_t)r.width, sizeof *output);
    tl_error inner = {0};

    s = head && weights && output ? TL_OK : TL_ERR_MEMORY;
    for (size_t i = 0; !s && i < count; i++)
        s = draw_head(&r, out->kind, r.head < 0 ? i : (size_t)r.head, i, count, weights + i * size,
                      &head[i], output);
    if (!s)
        s = tl_layer_alloc(&out->layer, out->kind, out->mask, d, count, head, output, d, &inner);
    if (count * size > WEIGHTS_IN_RECORD)
        out->no_witness = "no witness: the weights are drawn from the seed in the manifest";
    free(head);
    free(weights);
    free(output);
    return s ? tl_config_fail(b->experiment, group, err, s, "%s",
                              inner.text[0] ? inner.text : tl_status_text(s))
             : TL_OK;
}
