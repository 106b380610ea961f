/* The "attention" member of a problem document. */
#include "attention/problem_parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(names) (sizeof(names) / sizeof(names)[0])

/* Member `name` of a head as a matrix; count of rows and columns as for tl_parse_matrix. */
static tl_status head_matrix(const tl_parse *p, const json_t *head, const char *place,
                             const char *name, size_t *rows, size_t cols, double **out)
{
    char at[TL_PLACE_SIZE];

    tl_parse_place(at, "%s.%s", place, name);
    return tl_parse_matrix(p, json_object_get(head, name), at, rows, &cols, out);
}

/* Member `name` as a vector, left NULL when it is not there. */
static tl_status head_bias(const tl_parse *p, const json_t *head, const char *place,
                           const char *name, size_t length, double **out)
{
    const json_t *value = json_object_get(head, name);
    char at[TL_PLACE_SIZE];

    tl_parse_place(at, "%s.%s", place, name);
    return value ? tl_parse_vector(p, value, at, &length, out) : TL_OK;
}

/* The long form: Q, K and scale. */
static tl_status read_query_key(const tl_parse *p, const json_t *value, const char *place, size_t d,
                                tl_head *out)
{
    const json_t *scale = json_object_get(value, "scale");
    char at[TL_PLACE_SIZE];
    tl_status s = head_matrix(p, value, place, "Q", &out->k, d, &out->Q);

    if (!s) s = head_matrix(p, value, place, "K", &out->k, d, &out->K);
    if (!s) s = head_bias(p, value, place, "bq", out->k, &out->bq);
    if (!s) s = head_bias(p, value, place, "bk", out->k, &out->bk);
    if (s) return s;
    out->scale = 1 / sqrt((double)out->k);
    tl_parse_place(at, "%s.scale", place);
    return scale ? tl_parse_number(p, scale, at, &out->scale) : TL_OK;
}

static tl_status read_head(const tl_parse *p, const json_t *value, const char *place, tl_kind kind,
                           size_t d, tl_head *out)
{
    static const char *const names[] = {"A", "V", "Q", "K", "bq", "bk", "bv", "scale"};
    static const char *const long_only[] = {"Q", "K", "bq", "bk", "scale"};
    tl_status s = tl_parse_object(p, value, place, names, COUNT(names));

    if (s) return s;
    if (!json_object_get(value, "A") && !json_object_get(value, "Q"))
        return tl_parse_fail(p, place, "expected A and V, or Q, K and V, found neither A nor Q");
    if (json_object_get(value, "A")) {
        for (size_t i = 0; i < COUNT(long_only); i++)
            if (json_object_get(value, long_only[i]))
                return tl_parse_fail(p, place, "expected A and V, or Q, K and V, found A and %s",
                                     long_only[i]);
        out->k = d;
        out->scale = 1;
        s = head_matrix(p, value, place, "A", &out->k, d, &out->Q);
    } else {
        s = read_query_key(p, value, place, d, out);
        if (kind == TL_KIND_COSINE) out->scale = 1;
    }
    if (!s && kind == TL_KIND_COSINE && json_object_get(value, "scale"))
        return tl_parse_fail(p, place,
                             "expected no scale with kind 'cosine': attention.tau takes "
                             "its place");
    if (!s) s = head_matrix(p, value, place, "V", &out->v, d, &out->V);
    return s ? s : head_bias(p, value, place, "bv", out->v, &out->bv);
}

/* K is there when query and key are not tied. */
static tl_status read_l2_head(const tl_parse *p, const json_t *value, const char *place, size_t d,
                              tl_head *out)
{
    static const char *const names[] = {"Q", "K", "V"};
    tl_status s = tl_parse_object(p, value, place, names, COUNT(names));

    out->scale = 1;
    if (!s) s = head_matrix(p, value, place, "Q", &out->k, d, &out->Q);
    if (!s && json_object_get(value, "K"))
        s = head_matrix(p, value, place, "K", &out->k, d, &out->K);
    return s ? s : head_matrix(p, value, place, "V", &out->v, d, &out->V);
}

static tl_status read_kind(const tl_parse *p, const json_t *value, tl_kind *kind)
{
    const char *name;
    tl_status s = tl_parse_string(p, json_object_get(value, "kind"), "attention.kind", &name);

    if (!s && tl_kind_from_name(name, kind))
        return tl_parse_fail(p, "attention.kind", "expected dot, l2, sigmoid or cosine, found '%s'",
                             name);
    return s;
}

/* The member `name` of the attention, there with one kind alone. */
static tl_status kind_member(const tl_parse *p, const json_t *value, tl_kind kind, tl_kind wanted,
                             const char *name, const json_t **found)
{
    char place[TL_PLACE_SIZE];

    *found = json_object_get(value, name);
    if (!*found || kind == wanted) return TL_OK;
    tl_parse_place(place, "attention.%s", name);
    return tl_parse_fail(p, place, "expected with kind '%s' only, found '%s'", tl_kind_name(wanted),
                         tl_kind_name(kind));
}

static tl_status kind_number(const tl_parse *p, const json_t *value, tl_kind kind, tl_kind wanted,
                             const char *name, double *out)
{
    char place[TL_PLACE_SIZE];
    const json_t *found;
    tl_status s = kind_member(p, value, kind, wanted, name, &found);

    tl_parse_place(place, "attention.%s", name);
    return s || !found ? s : tl_parse_number(p, found, place, out);
}

/* What belongs to one kind: bias; value_factor; nu and tau (1 unless given) and eps. */
static tl_status read_constants(const tl_parse *p, const json_t *value, tl_kind kind, tl_layer *out)
{
    const json_t *factor;
    tl_status s = kind_number(p, value, kind, TL_KIND_SIGMOID, "bias", &out->bias);

    if (!s) s = kind_number(p, value, kind, TL_KIND_COSINE, "nu", &out->nu);
    if (!s) s = kind_number(p, value, kind, TL_KIND_COSINE, "tau", &out->tau);
    if (!s) s = kind_number(p, value, kind, TL_KIND_COSINE, "eps", &out->eps);
    if (!s) s = kind_member(p, value, kind, TL_KIND_L2, "value_factor", &factor);
    if (s) return s;
    if (factor && !json_is_boolean(factor))
        return tl_parse_fail(p, "attention.value_factor", "expected true or false, found %s",
                             tl_parse_type(factor));
    out->value_factor = !factor || json_is_true(factor);
    if (kind != TL_KIND_COSINE) return TL_OK;
    if (!json_object_get(value, "eps"))
        return tl_parse_fail(p, "attention.eps", "expected a positive number, found nothing");
    if (!(out->eps > 0))
        return tl_parse_fail(p, "attention.eps", "expected a positive number, found %.17g",
                             out->eps);
    if (out->nu < 0 || out->tau < 0)
        return tl_parse_fail(p, out->nu < 0 ? "attention.nu" : "attention.tau",
                             "expected at least 0, found %.17g", out->nu < 0 ? out->nu : out->tau);
    return TL_OK;
}

static tl_status read_heads(const tl_parse *p, const json_t *array, tl_kind kind, size_t d,
                            size_t heads, tl_head *head)
{
    tl_status s = TL_OK;

    for (size_t h = 0; h < heads && !s; h++) {
        char place[TL_PLACE_SIZE];
        tl_parse_place(place, "attention.heads[%zu]", h);
        const json_t *value = json_array_get(array, h);
        s = kind == TL_KIND_L2 ? read_l2_head(p, value, place, d, &head[h])
                               : read_head(p, value, place, kind, d, &head[h]);
    }
    return s;
}

/* Heads and output. */
static tl_status read_maps(const tl_parse *p, const json_t *value, tl_kind kind, tl_mask mask,
                           size_t d, tl_layer **out)
{
    const json_t *array = json_object_get(value, "heads"), *output;
    size_t heads = json_array_size(array), values = 0, rows = 0;
    double *O = NULL;
    tl_head *head;
    tl_status s;

    if (heads == 0)
        return tl_parse_fail(p, "attention.heads",
                             "expected an array of at least one head, found %s",
                             json_is_array(array) ? "an empty one" : tl_parse_type(array));
    head = calloc(heads, sizeof *head);
    if (!head) return tl_fail(p->err, TL_ERR_MEMORY, "%s: out of memory", p->document);
    s = read_heads(p, array, kind, d, heads, head);
    for (size_t h = 0; h < heads; h++) values += head[h].v;
    output = json_object_get(value, "output");
    if (!s && output) s = tl_parse_matrix(p, output, "attention.output", &rows, &values, &O);
    if (!s) {
        s = tl_layer_alloc(out, kind, mask, d, heads, head, O, rows, p->err);
        if (s) tl_error_prefix(p->err, "%s: attention", p->document);
    }
    tl_heads_clear(head, heads);
    free(head);
    free(O);
    return s;
}

tl_status tl_parse_layer(const tl_parse *p, const json_t *value, size_t tokens, size_t d,
                         tl_layer **out)
{
    static const char *const names[] = {"kind",         "mask", "heads", "output", "bias",
                                        "value_factor", "nu",   "tau",   "eps"};
    const json_t *rows;
    tl_layer constants = {.nu = 1, .tau = 1, .eps = 1};
    tl_kind kind;
    tl_mask mask;
    tl_status s = tl_parse_object(p, value, "attention", names, COUNT(names));

    rows = json_object_get(value, "mask");
    if (!s) s = read_kind(p, value, &kind);
    if (!s) s = tl_parse_mask_word(p, rows, &mask);
    if (!s) s = read_constants(p, value, kind, &constants);
    if (!s) s = read_maps(p, value, kind, mask, d, out);
    if (s) return s;
    (*out)->bias = constants.bias;
    (*out)->value_factor = constants.value_factor;
    (*out)->nu = constants.nu;
    (*out)->tau = constants.tau;
    (*out)->eps = constants.eps;
    s = tl_parse_mask_rows(p, rows, tokens, *out);
    if (s) {
        tl_layer_free(*out);
        *out = NULL;
    }
    return s;
}
